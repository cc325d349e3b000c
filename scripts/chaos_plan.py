"""What is done to a run: rounds of sessions, each with what ends it, drawn or fixed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

# How a session ends, and the exit codes that the driver may then have; that of the bare signal
# where it comes before the run has begun, or after it has ended.
ENDINGS = {
    "kill -9 of the driver": {-9},
    "SIGINT": {130, -2},
    "SIGTERM": {130, -15},
    "SIGINT twice": {130, -2},
    "kill -9 of the raylet": {3},
    "kill -9 of the GCS": {3},
    "a worker that hangs": {3},
}
_ON_RAY = ("kill -9 of the raylet", "kill -9 of the GCS", "a worker that hangs")


@dataclass(frozen=True)
class Session:
    """One driver: its workers (0: in process), what happens to it, and after how many commits."""

    workers: int
    ending: str
    commits: int = 2
    worker_kills: int = 0
    damage: bool = False

    def __str__(self) -> str:
        """Say it in a few words."""
        words = [f"{self.workers or 'no'} workers", self.ending]
        words += [f"{self.worker_kills} killed"] if self.worker_kills else []
        words += ["damage"] if self.damage else []
        return ", ".join(words)


@dataclass(frozen=True)
class Round:
    """The sessions of each slice of a manifest (one slice: the whole), and who plays the rest."""

    episodes: int
    slices: tuple[tuple[Session, ...], ...]
    workers: int = 0

    def __str__(self) -> str:
        """Say it in one line."""
        slices = (" then ".join(map(str, sessions)) or "undisturbed" for sessions in self.slices)
        return f"{self.episodes} episodes: {' | '.join(slices)}"


QUICK = (
    Round(
        24,
        (
            (
                Session(0, "kill -9 of the driver"),
                Session(0, "SIGINT", damage=True),
                Session(2, "kill -9 of the raylet", worker_kills=1),
            ),
        ),
    ),
    Round(10, ((Session(0, "SIGTERM", 1),), (Session(0, "SIGINT twice", 1),))),
)


def random_round(chance: Random) -> Round:
    """Draw a round."""
    count = chance.choice((1, 1, 1, 2, 3))
    slices = (
        tuple(_random_session(chance) for _ in range(chance.randint(0, 4 // count + 1)))
        for _ in range(count)
    )
    return Round(chance.randint(10, 40), tuple(slices), chance.choice((0, 0, 2)))


def _random_session(chance: Random) -> Session:
    workers = chance.choice((0, 0, 1, 2, 3))
    endings = [ending for ending in ENDINGS if workers or ending not in _ON_RAY]
    return Session(
        workers,
        chance.choice(endings),
        commits=chance.randint(0, 6),
        worker_kills=chance.randint(0, 2) if workers else 0,
        damage=chance.random() < 0.3,
    )
