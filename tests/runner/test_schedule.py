"""The schedule in simulated time: everything once, in order, blame where it belongs, no idling."""

from __future__ import annotations

import random

import pytest
from fleet import Fleet
from hypothesis import given, settings
from hypothesis import strategies as st

from emberbench_dist.runner.schedule import (
    MAX_BATCH,
    MAX_CRASHES,
    SLICE_SECONDS,
    Batch,
    Crash,
    Schedule,
)

seconds = st.sampled_from([0.0, 0.0001, 0.02, 0.3, 5.0])


@st.composite
def spans(draw):
    """Draw ascending ranges with gaps between them, as a resumed run leaves them."""
    ranges, at = [], 0
    for gap, length in draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 25)), min_size=1, max_size=5)
    ):
        start = at + gap + (at > 0)
        ranges.append(range(start, start + length))
        at = start + length
    return ranges


def some_of(episodes):
    """Draw a few episodes."""
    return st.sets(st.sampled_from(episodes), max_size=4)


def uniform(count, seconds, workers, *, concurrency=1, **options):
    """Return a fleet that played episodes of equal length."""
    schedule = Schedule([range(count)], concurrency=concurrency)
    durations = dict.fromkeys(range(count), seconds)
    return Fleet(schedule, durations, workers, concurrency=concurrency, **options).play()


def batch_sizes(fleet):
    """Return the sizes of a fleet's batches."""
    return [len(batch.episodes) for batch in fleet.batches]


@settings(max_examples=300)
@given(st.data())
def test_every_episode_below_the_lowest_failure_is_finished_once(data):
    """The lowest failure decides and all below it is finished once, by the rules of `Fleet`."""
    pending = data.draw(spans())
    episodes = [episode for span in pending for episode in span]
    poison, failing = data.draw(some_of(episodes)), data.draw(some_of(episodes))
    failing -= poison
    at_once = data.draw(st.sampled_from([1, 1, 2, 5]))
    most = data.draw(st.sampled_from([1, 3, 1000]))
    first_size = data.draw(st.sampled_from([1, 1, 4, 100]))
    fleet = Fleet(
        Schedule(pending, first_size=first_size, concurrency=at_once, max_in_flight=most),
        {episode: data.draw(seconds) for episode in episodes},
        data.draw(st.integers(1, 4)),
        poison=poison,
        failing=failing,
        losses=data.draw(st.lists(st.booleans(), max_size=12)),
        concurrency=at_once,
        most=most,
    ).play()
    lowest = min(poison | failing, default=max(episodes) + 1)
    assert fleet.limit == (lowest if poison | failing else float("inf"))
    assert fleet.schedule.limit == (lowest if poison | failing else None)
    below = [episode for episode in episodes if episode < lowest]
    assert [fleet.finished[episode] for episode in below] == [1] * len(below)
    assert set(fleet.finished.values()) <= {1}
    assert all(times <= MAX_CRASHES for times in fleet.charges.values())
    assert fleet.charges.keys() <= poison
    if lowest in poison:
        assert fleet.charges[lowest] == MAX_CRASHES


@given(st.integers(1, 4), st.integers(0, 49), st.integers(1, 50))
def test_one_poisonous_episode_is_found_and_its_neighbours_are_not_blamed(workers, poison, size):
    """One episode that kills its workers is tried three times alone, and all below it are done."""
    schedule = Schedule([range(50)], first_size=size)
    fleet = Fleet(schedule, dict.fromkeys(range(50), 0.001), workers, poison={poison}).play()
    assert fleet.charges == {poison: MAX_CRASHES}
    assert set(range(poison)) <= fleet.finished.keys()
    assert fleet.failed == {poison}


def test_losing_nodes_again_and_again_blames_nobody():
    """Workers that go with their nodes are never charged, and everything is finished."""
    fleet = uniform(40, 0.1, 2, losses=[True] * 30)
    assert fleet.charges == {}
    assert fleet.finished == dict.fromkeys(range(40), 1)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_short_episodes_travel_in_few_calls(workers):
    """Ten thousand episodes of 1 ms take about as many calls as there are slices of time."""
    fleet = uniform(10_000, 0.001, workers)
    assert len(fleet.finished) == 10_000
    slices = 10_000 * 0.001 / SLICE_SECONDS
    assert len(fleet.batches) <= 2 * slices + 20 * workers
    assert fleet.seconds <= 1.05 * 10_000 * 0.001 / workers


def test_batches_do_not_outgrow_their_bound():
    """However short episodes are, batches start with one, grow fourfold, and stay bounded."""
    sizes = batch_sizes(uniform(20_000, 0.0, 1))
    assert sizes[0] == 1
    assert all(size <= 4 * max(sizes[:at]) for at, size in enumerate(sizes) if at)
    assert max(sizes) == MAX_BATCH


def test_slow_episodes_go_one_at_a_time_to_whoever_is_free():
    """Ten slow episodes keep five workers equally busy: none waits in a queue behind another."""
    fleet = uniform(10, 10.0, 5)
    assert batch_sizes(fleet) == [1] * 10
    assert fleet.seconds == 20.0


@pytest.mark.parametrize(("count", "rounds"), [(256, 1), (512, 2), (600, 3), (2560, 10)])
def test_slow_episodes_keep_every_thread_busy(count, rounds):
    """Of episodes of one second, 4 workers with 64 threads play 256 a second, to the last."""
    assert uniform(count, 1.0, 4, concurrency=64).seconds == rounds


@pytest.mark.parametrize(("most", "seconds"), [(1, 60.0), (5, 12.0), (7, 9.0), (100, 8.0)])
def test_a_bound_on_what_is_in_flight_is_used_up(most, seconds):
    """As many episodes as are allowed are in play all the time, over all workers together."""
    schedule = Schedule([range(60)], concurrency=2, max_in_flight=most)
    durations = dict.fromkeys(range(60), 1.0)
    assert Fleet(schedule, durations, 4, concurrency=2, most=most).play().seconds == seconds


def test_mixed_episodes_do_not_let_threads_wait_for_each_other():
    """A thread that is done goes on, whatever the other threads of its worker still play."""
    durations = {episode: 4.0 if episode % 8 == 0 else 1.0 for episode in range(256)}
    schedule = Schedule([range(256)], concurrency=8)
    fleet = Fleet(schedule, durations, 2, concurrency=8).play()
    assert fleet.seconds <= sum(durations.values()) / 16 + 4.0


def test_a_worker_has_as_many_batches_as_it_works_on():
    """Before anything is measured each thread has one batch and none waits; the idlest is first."""
    schedule = Schedule([range(1000)], concurrency=3)
    schedule.join(0)
    assert [schedule.assign(0).episodes for _ in range(3)] == [range(n, n + 1) for n in range(3)]
    assert schedule.assign(0) is None
    schedule.join(1)
    assert schedule.workers == [1, 0]
    schedule.finished(0, 1, 1)
    assert schedule.assign(0).episodes == range(3, 7)
    assert schedule.begun(0, {4}) == [0, 2, 3, 4]
    assert schedule.begun(0, set()) == [0, 2]
    assert schedule.begun(9, {4}) == []


def test_a_death_with_several_in_play_charges_none():
    """All that were in play are tried alone, each in a process of its own, and the rest goes on."""
    schedule = Schedule([range(1000)], first_size=10, concurrency=2)
    schedule.join(0)
    for first in (0, 10, 20):
        assert schedule.assign(0) == Batch(range(first, first + 10))
    assert schedule.lost(0, charged=True, playing={3, 14, 999}) is None
    schedule.join(1)
    schedule.join(2)
    assert schedule.assign(1) == Batch(range(3, 4), alone=True)
    assert schedule.assign(1) is None, "it has its process for itself"
    assert schedule.assign(2) == Batch(range(14, 15), alone=True)
    schedule.finished(1, 1)
    rest = [schedule.assign(1).episodes for _ in range(2)]
    assert rest == [range(3), range(4, 10)]
    assert schedule.lost(2, charged=True, playing={14}) == Crash(14, final=False)
    assert schedule.lost(1, charged=False, playing={1}) is None


def test_nothing_waits_behind_an_episode_of_unknown_length():
    """Before anything is measured no worker is given a second batch."""
    schedule = Schedule([range(100)])
    for worker in range(3):
        schedule.join(worker)
    first = [schedule.assign(worker) for worker in range(3)]
    assert first == [Batch(range(n, n + 1)) for n in range(3)]
    assert [schedule.assign(worker) for worker in range(3)] == [None] * 3


def test_nothing_waits_behind_a_slow_episode():
    """Once an episode took a whole slice no worker is given a second batch behind the next."""
    schedule = Schedule([range(1000)], first_size=2)
    schedule.join(0)
    assert schedule.assign(0) == Batch(range(2))
    assert schedule.assign(0) == Batch(range(2, 4))
    schedule.finished(0, 1)
    assert schedule.assign(0) is None
    schedule.finished(0, 1)
    assert schedule.assign(0) is not None
    assert schedule.assign(0) is None


def test_no_slow_episode_is_started_after_a_failure():
    """What was handed out before a failure was known is under way, and is not only begun then."""

    class Watched(Fleet):
        late = 0

        def _start(self, worker, batch):
            self.late += batch.episodes[0] > self.limit
            super()._start(worker, batch)

    durations = dict.fromkeys(range(100), 10.0)
    fleet = Watched(Schedule([range(100)]), durations, 5, failing={50}).play()
    assert fleet.failed == {50}
    assert fleet.late == 0


def test_short_episodes_have_a_second_batch_ready():
    """Where batches are short a worker has one to play and one to go on with, and no third."""
    schedule = Schedule([range(1000)], first_size=10)
    schedule.join(0)
    assert schedule.assign(0) == Batch(range(10))
    assert schedule.assign(0) == Batch(range(10, 20))
    assert schedule.assign(0) is None


def test_batches_shrink_towards_the_end():
    """The last batches are small, so that all workers end together, but worth a call."""
    fleet = uniform(4000, 0.001, 2)
    sizes = batch_sizes(fleet)
    slice_of_time = round(SLICE_SECONDS / 0.001)
    assert max(sizes) > 0.8 * slice_of_time
    assert max(sizes[-5:]) <= 0.2 * slice_of_time
    assert min(sizes[-8:-1]) >= 0.1 * slice_of_time
    assert fleet.seconds <= 4000 * 0.001 / 2 + 0.2 * SLICE_SECONDS


def test_slow_episodes_are_not_held_together_at_the_end():
    """Where one episode is as long as what a call is worth, the last ones go one by one."""
    fleet = uniform(100, 0.05, 2)
    assert batch_sizes(fleet)[-4:] == [1] * 4
    assert fleet.seconds <= 100 * 0.05 / 2 + 0.05


def test_a_batch_that_came_back_shrinks_the_next():
    """What did not fit into a slice sets the size: a quarter more than was played."""
    schedule = Schedule([range(10_000)], first_size=100)
    schedule.join(0)
    assert schedule.assign(0) == Batch(range(100))
    assert schedule.assign(0) == Batch(range(100, 200))
    schedule.finished(0, 8)
    assert schedule.assign(0) == Batch(range(8, 18))


def test_after_a_batch_that_was_played_the_next_is_four_times_as_long():
    """Where nothing comes back, batches grow fast."""
    schedule = Schedule([range(10_000)], first_size=8)
    schedule.join(0)
    schedule.assign(0)
    schedule.finished(0, 8)
    assert schedule.assign(0) == Batch(range(8, 40))


def test_what_comes_back_is_played_first():
    """Unplayed episodes of a batch go before later ones, so that the prefix grows."""
    schedule = Schedule([range(100)], first_size=10)
    schedule.join(0)
    schedule.join(1)
    assert schedule.assign(0) == Batch(range(10))
    assert schedule.assign(1) == Batch(range(10, 20))
    schedule.finished(0, 3)
    assert schedule.assign(0) == Batch(range(3, 7))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.3, 0.5])
@pytest.mark.parametrize("shortest", [0.001, 0.01, 0.1])
def test_mixed_episodes_keep_two_workers_busy(seed, share, shortest):
    """Episodes that differ a hundredfold end within a tenth of the best that is possible."""
    rng = random.Random(seed)
    durations = {e: shortest * (100 if rng.random() < share else 1) for e in range(200)}
    fleet = Fleet(Schedule([range(200)]), durations, 2).play()
    assert fleet.seconds <= 1.10 * max(sum(durations.values()) / 2, *durations.values())


@pytest.mark.parametrize("slow", [0, 50, 100, 150, 199])
def test_one_very_slow_episode_holds_up_few(slow):
    """A slow episode costs little more than if each worker took one episode at a time."""
    durations = dict.fromkeys(range(200), 0.01) | {slow: 1.0}
    free = [0.0, 0.0]
    for episode in range(200):
        free = [min(free) + durations[episode], max(free)]
    fleet = Fleet(Schedule([range(200)]), durations, 2).play()
    assert fleet.seconds <= 1.15 * max(free)


def test_a_failure_stops_what_is_above_and_nothing_below():
    """After a failure batches end below it; a lower failure lowers the limit, a higher does not."""
    schedule = Schedule([range(100)], first_size=10)
    schedule.join(0)
    schedule.join(1)
    assert schedule.assign(0) == Batch(range(10))
    assert schedule.assign(1) == Batch(range(10, 20))
    schedule.fail(25)
    schedule.fail(22)
    schedule.fail(23)
    assert schedule.limit == 22
    schedule.finished(0, 10)
    assert schedule.assign(0) == Batch(range(20, 22))
    assert schedule.assign(0) is None
    assert not schedule.done
    schedule.finished(1, 10)
    assert schedule.assign(1) is None
    schedule.finished(0, 2)
    assert schedule.done


def test_a_death_makes_suspects_of_a_batch_and_of_no_other():
    """What shared the batch is tried alone; what only waited behind it is not suspected."""
    schedule = Schedule([range(1000)], first_size=2)
    for worker in range(3):
        schedule.join(worker)
    assert schedule.assign(0) == Batch(range(2))
    assert schedule.assign(0) == Batch(range(2, 4))
    assert schedule.lost(0, charged=True) is None
    assert schedule.workers == [1, 2]
    assert schedule.assign(1) == Batch(range(1), alone=True)
    assert schedule.assign(2) == Batch(range(1, 2), alone=True)
    schedule.finished(2, 1)
    assert schedule.assign(2).episodes.start == 2
    assert schedule.lost(1, charged=True) == Crash(0, final=False)
    for final in (False, True):
        schedule.join(7)
        assert schedule.assign(7) == Batch(range(1), alone=True)
        assert schedule.lost(7, charged=True) == Crash(0, final=final)


def test_a_suspect_waits_until_a_worker_comes_to_rest():
    """A worker that has something to do is not given a suspect on top."""
    schedule = Schedule([range(1000)], first_size=10)
    schedule.join(0)
    schedule.join(1)
    schedule.assign(0)
    schedule.assign(1)
    schedule.lost(0, charged=True)
    assert schedule.assign(1) is None
    schedule.finished(1, 10)
    assert schedule.assign(1) == Batch(range(1), alone=True)


def test_a_suspect_stays_one_when_its_node_is_lost():
    """A node that goes with a suspect says nothing about it: it is tried alone again."""
    schedule = Schedule([range(1000)], first_size=10)
    schedule.join(0)
    schedule.assign(0)
    schedule.lost(0, charged=True)
    schedule.join(1)
    assert schedule.assign(1) == Batch(range(1), alone=True)
    assert schedule.lost(1, charged=False) is None
    schedule.join(2)
    assert schedule.assign(2) == Batch(range(1), alone=True)


def test_nothing_waits_behind_a_suspect():
    """The last suspect too has its process for itself."""
    schedule = Schedule([range(1000)], first_size=2)
    schedule.join(0)
    schedule.assign(0)
    schedule.lost(0, charged=True)
    for worker in (1, 2):
        schedule.join(worker)
        assert schedule.assign(worker).alone
    assert schedule.assign(1) is None
    assert schedule.assign(2) is None


def test_a_death_between_two_batches_blames_nobody():
    """A worker that dies with nothing to do is just gone."""
    schedule = Schedule([range(3)])
    schedule.join(0)
    assert schedule.lost(0, charged=True) is None
    assert schedule.lost(7, charged=True) is None
    assert schedule.workers == []
    assert not schedule.done


def test_crashes_of_an_earlier_session_count():
    """An episode that already crashed twice has one try left."""
    schedule = Schedule([range(1)], crashes={0: MAX_CRASHES - 1})
    schedule.join(0)
    schedule.assign(0)
    assert schedule.lost(0, charged=True) == Crash(0, final=True)


def test_nothing_pending_is_done():
    """A schedule of nothing is done and hands nothing out."""
    schedule = Schedule([])
    schedule.join(0)
    assert schedule.done
    assert schedule.assign(0) is None
