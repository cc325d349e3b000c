"""Committed episodes, played again from their traces: what every picture of an episode shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.artifacts.repair import kept_manifest
from emberbench_dist.artifacts.run_folder import RunFolder
from emberbench_dist.contract.actions import Action
from emberbench_dist.contract.canonical import sha256_hex
from emberbench_dist.contract.document import Position
from emberbench_dist.contract.observation import PersonView, Status
from emberbench_dist.contract.scenario import Scenario
from emberbench_dist.errors import EmberBenchError, ReplayError, RunFolderError
from emberbench_dist.evaluation.episode import EpisodeResult, replay
from emberbench_dist.evaluation.lines import state_text
from emberbench_dist.evaluation.manifest import Episode, Manifest
from emberbench_dist.evaluation.metrics import Metrics, Tally
from emberbench_dist.simulator.movement import Outcome
from emberbench_dist.simulator.simulator import Simulator
from emberbench_dist.simulator.state import Cause, SimulationState, StepRecord

Labelled = tuple[str, Path]  # a run folder, and how it is called
Deed = tuple[Action, Outcome]

_MOVES = tuple(action for action in Action if action is not Action.STAY)
_BLOCKED = tuple(outcome for outcome in Outcome if outcome.value.startswith("blocked_"))
# Everything that a person can do in a step: at most 29 deeds, so that one letter names each.
DEEDS: tuple[Deed, ...] = (
    (Action.STAY, Outcome.STAYED),
    *((move, Outcome.MOVED) for move in _MOVES),
    *((move, blocked) for blocked in _BLOCKED for move in _MOVES),
)


@dataclass(frozen=True, slots=True)
class Playback:
    """One episode of one run, step by step; index 0 is the initial state.

    `people[s]` is everybody after step s, `deeds[s - 1]` what the active people did in it, in id
    order. `ignited`, `trapped`, `evacuated` and `lost` tell since which step a cell burns and a
    person is trapped, out (by which exit) or a casualty (by which cause).
    """

    label: str
    episode: Episode
    scenario: Scenario
    metrics: Metrics
    people: tuple[tuple[PersonView, ...], ...]
    deeds: tuple[tuple[Deed, ...], ...]
    ignited: dict[Position, int]
    trapped: dict[str, int]
    evacuated: dict[str, tuple[int, str]]
    lost: dict[str, tuple[int, Cause]]

    @property
    def steps(self) -> int:
        """Return the number of steps."""
        return len(self.deeds)

    @property
    def title(self) -> str:
        """Return what tells this episode from all others."""
        episode = self.episode
        return f"{episode.scenario_id}, seed {episode.seed} (episode {episode.index})"

    def at(self, step: int) -> tuple[PersonView, ...]:
        """Return everybody after a step; after the end of the episode, as they were then."""
        return self.people[min(step, self.steps)]

    def is_trapped(self, person: PersonView, step: int) -> bool:
        """Say whether somebody is active, with no way to an exit that does not burn."""
        return person.status is Status.ACTIVE and self.trapped.get(person.id, step + 1) <= step

    def counts(self, step: int) -> tuple[int, int, int, int]:
        """Return how many people are active, trapped (some of the active), out, and lost."""
        people = self.at(step)
        statuses = [person.status for person in people]
        return (
            statuses.count(Status.ACTIVE),
            sum(self.is_trapped(person, step) for person in people),
            statuses.count(Status.EVACUATED),
            statuses.count(Status.CASUALTY),
        )


def fire_of(plays: Sequence[Playback]) -> dict[Position, int]:
    """Return since which step each cell burns: the same in all plays, told by the longest."""
    return max(plays, key=lambda play: play.steps).ignited


def playbacks(runs: Sequence[Labelled], episodes: Iterable[int]) -> Iterator[tuple[Playback, ...]]:
    """Yield each episode as every run played it; nothing is kept of it afterwards.

    Raises `LedgerError` for a folder without a sound ledger, `ManifestError` for an episode that
    is not planned, `RunFolderError` for one that is not committed and for runs of different
    manifests, `ReplayError` where a trace does not lead to the recorded end.
    """
    with ExitStack() as stack:
        sources = []
        for label, folder in runs:
            ledger = stack.enter_context(Ledger.reading(RunFolder(folder).ledger))
            manifest = kept_manifest(ledger, str(RunFolder(folder).ledger))
            sources.append(_Source(label, folder, ledger, manifest))
        for source in sources[1:]:
            source.require_same_manifest(sources[0])
        for episode in episodes:
            yield tuple([source.playback(episode) for source in sources])


@dataclass(frozen=True, slots=True)
class _Source:
    """A run folder, open for reading."""

    label: str
    folder: Path
    ledger: Ledger
    manifest: Manifest

    def require_same_manifest(self, other: _Source) -> None:
        if self.manifest.manifest_hash != other.manifest.manifest_hash:
            raise RunFolderError(
                f"{self.folder}: is a run of another manifest than {other.folder}; "
                "side by side only the same episodes can be shown"
            )

    def playback(self, number: int) -> Playback:
        episode = self.manifest.episode(number)
        result = self.ledger.result(number)
        if result is None:
            raise RunFolderError(f"{self.folder}: episode {number} is not committed")
        scenario = self.manifest.scenarios[episode.scenario_id]
        try:
            return _replayed(self.label, episode, scenario, result)
        except EmberBenchError as error:
            raise ReplayError(f"{self.folder}: episode {number}: {error}") from error


def _replayed(label: str, episode: Episode, scenario: Scenario, result: EpisodeResult) -> Playback:
    simulator = Simulator(scenario, episode.seed)
    recorded = json.loads(result.line)
    film = _Film(label, episode, scenario, recorded["metrics"], simulator.state)
    for record in replay(simulator, json.loads(result.trace)["actions"]):
        film.add(record)
    if sha256_hex(state_text(simulator.state)) != recorded["final_state_sha256"]:
        raise ReplayError("its trace does not lead to the final state that was recorded")
    return film.playback()


class _Film:
    """A playback in the making."""

    def __init__(
        self,
        label: str,
        episode: Episode,
        scenario: Scenario,
        metrics: Metrics,
        initial: SimulationState,
    ) -> None:
        self._named = (label, episode, scenario, metrics)
        self._people = [initial.people]
        self._deeds: list[tuple[Deed, ...]] = []
        self._ignited = dict.fromkeys(initial.burning, 0)
        self._trapped = dict.fromkeys(initial.trapped, 0)
        self._tally = Tally(initial)

    def add(self, record: StepRecord) -> None:
        """Take one step in."""
        step = record.step
        self._tally.add(record)
        self._people.append(record.state.people)
        self._deeds.append(tuple(zip(record.choices, record.outcomes, strict=True)))
        self._ignited.update(dict.fromkeys(record.ignitions, step))
        for person in record.state.trapped:
            self._trapped.setdefault(person, step)

    def playback(self) -> Playback:
        """Return what was taken in."""
        return Playback(
            *self._named,
            tuple(self._people),
            tuple(self._deeds),
            self._ignited,
            self._trapped,
            self._tally.evacuated,
            self._tally.lost,
        )
