"""A state of an episode as text and as a picture."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from emberbench_dist.contract.observation import Observation, Status
from emberbench_dist.rl.encoding import BURNING, EXIT, OTHER, WALL, planes_of

SYMBOLS: Final = ".#E*x@"
_FLOOR, _WALL, _EXIT, _FIRE, _CASUALTY, _ACTIVE = range(len(SYMBOLS))
_COLOURS: Final = np.array(
    [
        (255, 255, 255),
        (60, 60, 60),
        (0, 158, 115),
        (213, 94, 0),
        (0, 0, 0),
        (0, 114, 178),
    ],
    np.uint8,
)
_LONGEST_SIDE, _LARGEST_CELL = 512, 16  # pixels


def as_text(observation: Observation) -> str:
    """Return counts, then the map: `SYMBOLS` are floor, wall, exit, fire, casualty, active."""
    counts = Counter(person.status for person in observation.people)
    title = (
        f"step {observation.step}: active {counts[Status.ACTIVE]}, "
        f"out {counts[Status.EVACUATED]}, lost {counts[Status.CASUALTY]}"
    )
    rows = ["".join([SYMBOLS[kind] for kind in row]) for row in _kinds(observation)]
    return "\n".join([title, *rows])


def as_image(observation: Observation) -> NDArray[np.uint8]:
    """Return a picture of square cells: uint8, (height * n, width * n, 3)."""
    kinds = _kinds(observation)
    size = max(1, min(_LARGEST_CELL, _LONGEST_SIDE // max(kinds.shape)))
    return _COLOURS[kinds.repeat(size, axis=0).repeat(size, axis=1)]


def _kinds(observation: Observation) -> NDArray[np.uint8]:
    """Return what is to be seen of each cell; what hides the rest comes last."""
    planes = planes_of(observation)
    kinds = np.zeros(planes.shape[1:], np.uint8)
    for plane, kind in ((WALL, _WALL), (EXIT, _EXIT), (BURNING, _FIRE)):
        kinds[planes[plane] > 0] = kind
    for person in observation.people:
        if person.status is Status.CASUALTY:
            kinds[person.position] = _CASUALTY
    kinds[planes[OTHER] > 0] = _ACTIVE
    return kinds
