"""The ledger against a model in memory: any order of commits, failures, crashes and reopenings."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from rows import failure, synthetic

from emberbench_dist.artifacts.ledger import Ledger

episodes = st.integers(0, 9)
results = st.builds(synthetic, episodes, st.sampled_from(["a", "b"]))


class LedgerMachine(RuleBasedStateMachine):
    """Do to a ledger what drivers do, and to dictionaries the same."""

    @initialize()
    def create(self):
        """Start a run."""
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = Ledger.create(self.folder / "ledger.sqlite", {"manifest_id": "test"})
        self.rows = {}
        self.failures = {}
        self.crashes = {}
        self.sessions = []
        self.agents = ["none"]
        self.begin("greedy")

    @rule(agent=st.sampled_from(["greedy", "stay"]))
    def begin(self, agent):
        """Begin another session."""
        self.ledger.begin_session(agent)
        self.sessions.append(0)
        self.agents.append(agent)

    @rule(committed=st.lists(results, max_size=4))
    def commit(self, committed):
        """Commit some results, old and new, also twice the same."""
        new = {}
        for result in committed:
            if result.episode not in self.rows:
                new.setdefault(result.episode, result)
            self.failures.pop(result.episode, None)
        assert self.ledger.commit(iter(committed)) == len(new)
        self.rows |= new
        self.sessions[-1] += len(new)

    @rule(committed=st.lists(results, max_size=3))
    def fail_to_commit(self, committed):
        """Break off a commit."""

        def broken():
            yield from committed
            raise KeyError

        try:
            self.ledger.commit(broken())
        except KeyError:
            return
        raise AssertionError("the error was swallowed")

    @rule(episode=episodes, message=st.text(st.characters(codec="utf-8"), max_size=5))
    def fail(self, episode, message):
        """Note a failed episode."""
        earlier = self.failures[episode].attempts if episode in self.failures else 0
        self.ledger.commit([], [failure(episode, message=message)])
        known = failure(episode, message=message, attempts=earlier + 1)
        self.failures[episode] = known

    @rule(episode=episodes)
    def crash(self, episode):
        """Note a dead worker."""
        self.ledger.record_crash(episode)
        self.crashes[episode] = self.crashes.get(episode, 0) + 1

    @precondition(lambda self: len(self.sessions) < 9)
    @rule(in_good_order=st.booleans())
    def reopen(self, in_good_order):
        """Go on with the file in another session, after an end in good order or without one."""
        if in_good_order:
            self.ledger.close()
        else:
            self.ledger._connection.close()
        self.ledger = Ledger.open(self.folder / "ledger.sqlite")
        self.begin("shuffle")

    @rule()
    def read(self):
        """See the same as a reader."""
        with Ledger.reading(self.folder / "ledger.sqlite") as reader:
            self.agree(reader)

    @invariant()
    def agrees(self):
        """Agree with the model in all that can be asked."""
        self.agree(self.ledger)

    def agree(self, ledger):
        """Compare a ledger with the model."""
        ledger.check()
        assert list(ledger.results()) == [self.rows[episode] for episode in sorted(self.rows)]
        assert [e for span in ledger.committed() for e in span] == sorted(self.rows)
        assert ledger.prefix() == next(n for n in range(11) if n not in self.rows)
        assert ledger.failures() == [self.failures[episode] for episode in sorted(self.failures)]
        assert ledger.crashes() == self.crashes
        assert [count for _, _, count in ledger.sessions()] == self.sessions
        assert ledger.meta() == {"manifest_id": "test", "agent_spec": self.agents[-1]}

    def teardown(self):
        """Remove the run."""
        if hasattr(self, "ledger"):
            self.ledger.close()
            shutil.rmtree(self.folder)


LedgerMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=20)
TestLedgerMachine = LedgerMachine.TestCase
