"""The families of generated places: each a function of a size and draws that returns a canvas.

On `:` people may stand; exits go into the outer wall beside `.`, or beside any floor where there
are too few such places. The floor need not be connected: only its largest part is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emberbench_dist.authoring.draws import Draws
from suite.canvas import Canvas
from suite.families.bands import mall, office
from suite.families.halls import hall, stadium
from suite.families.maze import maze
from suite.families.rooms import rooms
from suite.families.scatter import scatter


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of place."""

    about: str
    draw: Callable[[int, Draws], Canvas]


FAMILIES = {
    "rooms": Family("Rooms that open into each other", rooms),
    "office": Family("Offices along corridors", office),
    "maze": Family("A maze with some loops", maze),
    "hall": Family("A hall of pillars", hall),
    "stadium": Family("A stadium with tiers around its field", stadium),
    "mall": Family("A mall of shops along wide promenades", mall),
    "random": Family("A floor strewn with obstacles", scatter),
}
