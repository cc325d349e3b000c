"""The loop with a pool that answers in any order: what is played, kept, told and given up."""

from __future__ import annotations

import random
from contextlib import closing
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import failure, played

from emberbench_dist.artifacts.artifact import write_artifact
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.evaluation.episode import Failure
from emberbench_dist.runner.drive import Controls, Drive, Progress
from emberbench_dist.runner.pool import Finished, Joined, Lost
from emberbench_dist.runner.run import missing
from emberbench_dist.runner.schedule import MAX_CRASHES, SLICE_SECONDS, Schedule

COUNT = 16


class Deck:
    """A pool whose workers answer in a random order, several at a time.

    `outcomes` are the episodes' outcomes by number; where one is missing the worker's process
    dies, and `losses` times a worker goes with its node instead of answering. Answers may be held
    until nothing is under way, or not at all.
    """

    def __init__(self, outcomes, rng, workers=2, losses=0):
        """Let the workers join one after the other."""
        self.outcomes, self.rng, self.losses = outcomes, rng, losses
        self.linger = rng.choice([0.0, float("inf")])
        self.queues = {}
        self.submitted = []
        self.budgets = set()
        self.joining = list(range(workers))
        self.next = workers

    def submit(self, worker, episodes, budget):
        """Keep a batch."""
        self.queues[worker].append(episodes)
        self.submitted += [episode.index for episode in episodes]
        self.budgets.add(budget)

    def wait(self, timeout):
        """Tell of some workers."""
        assert timeout > 0
        events = [Joined(self._join()) for _ in self.joining[:1]]
        busy = [worker for worker, queue in self.queues.items() if queue]
        some = self.rng.sample(busy, self.rng.randint(min(len(busy), 1), len(busy)))
        return events + [self._answer(worker) for worker in some]

    def _join(self):
        worker = self.joining.pop(0)
        self.queues[worker] = []
        return worker

    def _answer(self, worker):
        if self.losses and self.rng.random() < 0.5:
            self.losses -= 1
            return self._lost(worker, "its node has died", charged=False)
        outcomes = []
        for episode in self.queues[worker].pop(0)[: self.rng.randint(1, 9)]:
            if episode.index not in self.outcomes:
                return self._lost(worker, "exit code 7", charged=True)
            outcomes.append(self.outcomes[episode.index])
            if isinstance(outcomes[-1], Failure):
                break
        return Finished(worker, outcomes)

    def _lost(self, worker, reason, *, charged):
        del self.queues[worker]
        self.joining.append(self.next)
        self.next += 1
        return Lost(worker, reason, charged)

    def note(self):
        """Lack nothing."""
        return ""

    def close(self):
        """Do nothing."""


class Silent(Deck):
    """A pool whose workers join and never answer."""

    def wait(self, timeout):
        """Tell of nothing but joining workers."""
        assert timeout > 0
        return [Joined(self._join()) for _ in self.joining[:1]]


@pytest.fixture(scope="module")
def outcomes(manifest):
    """Play all episodes; return the results by number."""
    return dict(enumerate(played(manifest, range(COUNT))))


def drive_of(manifest, ledger, **controls):
    """Return the next session's loop over what a ledger lacks."""
    ledger.begin_session("any")
    pending = missing(ledger.committed(), range(len(manifest)))
    committed = len(manifest) - sum(map(len, pending))
    return Drive(
        manifest, ledger, Schedule(pending), len(manifest), committed, Controls(**controls)
    )


def ledger_with(results=()):
    """Return a ledger in memory that holds some results, to be closed."""
    ledger = Ledger.create(None, {})
    ledger.begin_session("before")
    ledger.commit(results)
    return closing(ledger)


def bytes_of(manifest, ledger):
    """Return the artifact of a ledger."""
    artifact = BytesIO()
    write_artifact(manifest, ledger, artifact, BytesIO())
    return artifact.getvalue()


@given(st.data())
def test_a_session_plays_exactly_what_is_missing(manifest, outcomes, data):
    """Whatever is committed: the rest is played once, in full, and counted."""
    before = data.draw(st.sets(st.integers(0, COUNT - 1)))
    pool = Deck(outcomes, random.Random(data.draw(st.integers())), data.draw(st.integers(1, 4)))
    with ledger_with([outcomes[episode] for episode in before]) as ledger:
        drive = drive_of(manifest, ledger)
        drive.run(pool)
        assert list(ledger.results()) == list(outcomes.values())
        assert [count for _, _, count in ledger.sessions()] == [len(before), COUNT - len(before)]
    # What was given back is submitted again, so a set and not a list.
    assert set(pool.submitted) == set(range(COUNT)) - before
    assert (drive.played, drive.committed) == (COUNT - len(before), len(before))
    assert (drive.failure, drive.interrupted, drive.stalled) == (None, False, "")
    assert pool.budgets <= {SLICE_SECONDS}


@given(st.data())
def test_the_same_failure_in_any_order_of_events(manifest, outcomes, data):
    """The lowest failure decides: it and the artifact do not depend on who answers when."""
    failing = data.draw(st.sets(st.integers(0, COUNT - 1), min_size=1, max_size=4))
    deadly = data.draw(st.sets(st.integers(0, COUNT - 1), max_size=2)) - failing
    dealt = {n: outcome for n, outcome in outcomes.items() if n not in deadly}
    dealt |= {n: failure(n) for n in failing}
    lowest = min(failing | deadly)
    rng = random.Random(data.draw(st.integers()))
    pool = Deck(dealt, rng, data.draw(st.integers(1, 4)), data.draw(st.integers(0, 5)))
    with ledger_with() as ledger, ledger_with(list(outcomes.values())[:lowest]) as expected:
        drive = drive_of(manifest, ledger)
        drive.run(pool)
        assert bytes_of(manifest, ledger) == bytes_of(manifest, expected)
        assert ledger.prefix() == lowest
        assert ledger.failures()[0] == drive.failure
        ledger.check()
    assert drive.failure.episode == lowest
    assert drive.failure.kind == ("agent" if lowest in failing else "crash")


@given(st.data())
def test_a_resumed_run_ends_with_the_same_bytes(manifest, outcomes, data):
    """What a failed or interrupted session left, the next completes to the undisturbed bytes."""
    rng = random.Random(data.draw(st.integers()))
    failing = data.draw(st.sets(st.integers(0, COUNT - 1), max_size=2))
    asked = iter(data.draw(st.lists(st.just(value=False), max_size=9)))
    stop = data.draw(st.sampled_from([lambda: False, lambda: next(asked, True)]))
    with ledger_with() as ledger, ledger_with(outcomes.values()) as expected:
        broken = outcomes | {n: failure(n) for n in failing}
        drive_of(manifest, ledger, stop=stop).run(Deck(broken, rng))
        rows = list(ledger.results())
        pool = Deck(outcomes, rng, workers=3)
        drive_of(manifest, ledger).run(pool)
        assert bytes_of(manifest, ledger) == bytes_of(manifest, expected)
        assert ledger.failures() == []
        assert [row for row in ledger.results() if row in rows] == rows
    assert not set(pool.submitted) & {row.episode for row in rows}


@pytest.mark.parametrize("deadly", [0, 7, COUNT - 1])
def test_an_episode_that_kills_its_workers_ends_the_run_by_name(manifest, outcomes, deadly):
    """After three deaths alone an episode is given up; the failure names it and the reason."""
    dealt = {n: outcome for n, outcome in outcomes.items() if n != deadly}
    with ledger_with() as ledger:
        drive = drive_of(manifest, ledger)
        drive.run(Deck(dealt, random.Random(1)))
        assert ledger.crashes() == {deadly: MAX_CRASHES}
        assert ledger.prefix() == deadly
        assert ledger.failures() == [drive.failure]
    episode = manifest.episode(deadly)
    assert (drive.failure.episode, drive.failure.kind) == (deadly, "crash")
    assert (drive.failure.scenario_id, drive.failure.seed) == (episode.scenario_id, episode.seed)
    assert "exit code 7" in str(drive.failure)


def test_lost_nodes_are_nobodys_crash(manifest, outcomes):
    """Workers that go with their nodes are told of, charged to nothing, and the run completes."""
    with ledger_with() as ledger:
        drive = drive_of(manifest, ledger)
        drive.run(Deck(outcomes, random.Random(3), losses=9))
        assert ledger.crashes() == {}
        assert list(ledger.results()) == list(outcomes.values())
    assert drive.failure is None


class Counting(Ledger):
    """A ledger in memory that notes the episodes of each commit."""

    def __init__(self):
        """Begin a session."""
        super().__init__(Ledger.create(None, {})._connection, "memory")
        self.begin_session("any")
        self.commits = []

    def commit(self, results, failures=()):
        """Note, and commit."""
        self.commits.append([result.episode for result in results])
        return super().commit(results, failures)


class Dealt:
    """A pool of one worker that tells what a list says, and then that nothing happened."""

    def __init__(self, *events, linger=float("inf")):
        """Keep the events of each wait."""
        self.events, self.linger = [[Joined(0)], *events], linger
        self.submitted, self.timeouts = [], []

    def submit(self, worker, episodes, budget):
        """Note the episodes."""
        self.submitted.append([episode.index for episode in episodes])

    def wait(self, timeout):
        """Tell what is next."""
        self.timeouts.append(timeout)
        return self.events.pop(0) if self.events else []

    def note(self):
        """Lack nothing."""
        return ""


def test_answers_of_a_short_while_are_one_commit(manifest, outcomes):
    """While others are under way results wait for each other; the last ones wait for nobody."""
    answers = [[Finished(0, [outcomes[number]])] for number in range(COUNT)]
    with closing(Counting()) as ledger:
        drive = Drive(manifest, ledger, Schedule([range(COUNT)]), COUNT, 0)
        drive.run(Dealt(*answers))
        assert ledger.commits == [list(range(COUNT))]
        assert list(ledger.results()) == list(outcomes.values())
    assert drive.played == COUNT


def test_answers_are_committed_at_once_after_a_while_without_any(manifest, outcomes):
    """A result that comes later than the pool's linger after the last commit is not held."""
    answers = [[Finished(0, [outcomes[number]])] for number in range(COUNT)]
    with closing(Counting()) as ledger:
        Drive(manifest, ledger, Schedule([range(COUNT)]), COUNT, 0).run(Dealt(*answers, linger=0.0))
        assert ledger.commits == [[number] for number in range(COUNT)]


def test_what_is_held_counts_when_it_is_durable(manifest, outcomes):
    """Progress tells of no episode before its commit, and of every one after it."""
    told = []
    with closing(Counting()) as ledger:
        answers = [[Finished(0, [outcomes[number]])] for number in range(COUNT)]
        controls = Controls(
            report=lambda progress: told.append((progress, sum(map(len, ledger.committed()))))
        )
        Drive(manifest, ledger, Schedule([range(COUNT)]), COUNT, 0, controls).run(Dealt(*answers))
    assert all(progress.played == committed for progress, committed in told)
    assert told[-1][1] == COUNT


def test_the_next_batch_is_handed_out_before_the_disk_is_waited_for(manifest, outcomes):
    """When a commit begins, the worker that brought the result has something to do already."""
    seen = []

    class Watching(Counting):
        def commit(self, results, failures=()):
            seen.append(len(pool.submitted))
            return super().commit(results, failures)

    pool = Dealt(*([Finished(0, [outcomes[number]])] for number in range(COUNT)), linger=0.0)
    with closing(Watching()) as ledger:
        Drive(manifest, ledger, Schedule([range(COUNT)]), COUNT, 0).run(pool)
    assert seen == [*range(2, COUNT + 1), COUNT]


def test_a_failure_is_committed_at_once_with_what_is_held(manifest, outcomes):
    """A failure waits for nothing, and takes the results before it along."""
    events = [[Finished(0, [outcomes[0]])], [Finished(0, [failure(1)])]]
    with closing(Counting()) as ledger:
        drive = Drive(manifest, ledger, Schedule([range(COUNT)]), COUNT, 0)
        drive.run(Dealt(*events))
        assert ledger.commits == [[0]]
        assert ledger.failures() == [drive.failure] == [failure(1)]


def test_what_is_held_is_committed_when_the_pool_breaks(manifest, outcomes):
    """An error or an interruption that ends the loop loses no result that came before it."""

    class Breaking(Dealt):
        def wait(self, timeout):
            if not self.events:
                raise KeyboardInterrupt
            return super().wait(timeout)

    with closing(Counting()) as ledger:
        drive = Drive(manifest, ledger, Schedule([range(COUNT)]), COUNT, 0)
        with pytest.raises(KeyboardInterrupt):
            drive.run(Breaking([Finished(0, [outcomes[0]])], [Finished(0, [outcomes[1]])]))
        assert ledger.commits == [[0, 1]]
    assert drive.played == 2


def test_the_loop_waits_no_longer_than_results_may_be_held(manifest, outcomes):
    """With results in hand the pool is asked for no longer than its linger."""
    pool = Dealt([Finished(0, [outcomes[0]])], [], [Finished(0, [failure(1)])], linger=1e9)
    with closing(Counting()) as ledger:
        Drive(manifest, ledger, Schedule([range(COUNT)]), COUNT, 0).run(pool)
    assert pool.timeouts[2:] == [1e9] * 2
    assert max(pool.timeouts[:2]) < 1e9


def test_a_result_that_is_committed_already_is_not_counted(manifest, outcomes):
    """A result that comes twice changes nothing and is not progress."""
    with ledger_with([outcomes[0]]) as ledger:
        drive = Drive(manifest, ledger, Schedule([range(1)]), len(manifest), 1)
        drive.run(Dealt([Finished(0, [outcomes[0]])]))
        assert list(ledger.results()) == [outcomes[0]]
    assert drive.played == 0


def test_an_interruption_before_the_start_plays_nothing(manifest, outcomes):
    """Who asks to stop at once gets nothing played."""
    pool = Deck(outcomes, random.Random(1))
    with ledger_with() as ledger:
        drive = drive_of(manifest, ledger, stop=lambda: True)
        drive.run(pool)
        assert ledger.committed() == []
    assert pool.submitted == []
    assert (drive.interrupted, drive.played, drive.seconds) == (True, 0, 0.0)


@pytest.mark.parametrize("after", range(1, 8))
def test_an_interruption_hands_out_nothing_new_and_keeps_what_comes(manifest, outcomes, after):
    """After the request nothing is started; what was under way is waited for and committed."""
    asked, at_the_request = [], []

    def stop():
        asked.append(len(pool.submitted))
        if len(asked) == after:
            at_the_request.extend(pool.submitted)
        return len(asked) >= after

    pool = Deck(outcomes, random.Random(after))
    with ledger_with() as ledger:
        drive = drive_of(manifest, ledger, stop=stop, grace_seconds=float("inf"))
        drive.run(pool)
        assert drive.played == sum(map(len, ledger.committed()))
    assert pool.submitted == at_the_request
    assert drive.interrupted
    assert drive.schedule.in_flight == 0
    assert len(asked) == after, "once is enough to ask"


def test_an_interruption_waits_no_longer_than_its_grace(manifest, outcomes):
    """Workers that do not answer in time are left, and nothing of theirs is committed."""
    waits = []

    class Watched(Silent):
        def wait(self, timeout):
            waits.append(timeout)
            return super().wait(timeout)

    with ledger_with() as ledger:
        drive = drive_of(manifest, ledger, stop=lambda: len(waits) >= 4, grace_seconds=0.0)
        drive.run(Watched(outcomes, random.Random(1)))
        assert ledger.committed() == []
    assert drive.interrupted
    assert drive.schedule.in_flight > 0
    assert len(waits) == 4


def test_progress_tells_planned_committed_played_and_failed(manifest, outcomes):
    """Progress counts up to the end, from what earlier sessions committed."""
    told = []
    before = [outcomes[0], outcomes[5]]
    dealt = outcomes | {COUNT - 1: failure(COUNT - 1)}
    with ledger_with(before) as ledger:
        drive = drive_of(manifest, ledger, report=told.append)
        drive.run(Deck(dealt, random.Random(1)))
    assert all(progress.planned == COUNT for progress in told)
    assert all(progress.committed == progress.played + 2 for progress in told)
    assert told[0] == Progress(planned=COUNT, committed=2, played=0, failed=0, seconds=0.0)
    last = told[-1]
    assert (last.committed, last.played, last.failed) == (COUNT - 1, COUNT - 3, 1)
    assert last.seconds == drive.seconds > 0.0
    for name in ("committed", "played", "failed", "seconds"):
        values = [getattr(progress, name) for progress in told]
        assert values == sorted(values)


def test_batches_are_episodes_of_the_manifest(manifest, outcomes):
    """A worker gets episodes with scenario and seed, in manifest order."""
    batches = []

    class Watched(Deck):
        def submit(self, worker, episodes, budget):
            batches.append(list(episodes))
            super().submit(worker, episodes, budget)

    with ledger_with() as ledger:
        drive_of(manifest, ledger).run(Watched(outcomes, random.Random(1)))
    for batch in batches:
        first = batch[0].index
        assert batch == [manifest.episode(first + offset) for offset in range(len(batch))]
