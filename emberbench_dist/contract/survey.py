"""A cursor that goes on after a broken rule, so that the strict reader tells of all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import count
from typing import NoReturn

from emberbench_dist.contract.document import Node, Position, T
from emberbench_dist.errors import EmberBenchError

_ABSENT = object()


class _BrokenError(Exception):
    """A value that is of no use; what asked for it goes on with another."""


class _Notes:
    """What the cursors of one document share."""

    def __init__(self) -> None:
        self.findings: dict[str, None] = {}
        self.useless: set[str] = set()
        self.fresh = count(1)

    @property
    def count(self) -> int:
        """Grow with every rule that is broken, also by what is not there."""
        return len(self.findings) + len(self.useless)


class Survey(Node):
    """A cursor that notes a broken rule and goes on.

    In the place of a value that is of no use it gives one that breaks no other rule: the widest
    bound, an empty text or list, an id or a position that nothing else has.
    """

    __slots__ = ("_notes",)
    _notes: _Notes

    @classmethod
    def of(cls, document: object) -> Survey:
        """Return a cursor on a whole document."""
        survey = cls(document, "", EmberBenchError)
        survey._notes = _Notes()
        return survey

    @property
    def findings(self) -> list[str]:
        """Return each broken rule after its place, in the order in which they were met."""
        return list(self._notes.findings)

    def fail(self, rule: str) -> NoReturn:
        """Note the first rule that makes a value useless, and leave the method that checks it."""
        self.breaks(rule)
        self._notes.useless.add(self.path)
        raise _BrokenError

    def breaks(self, rule: str) -> None:
        """Note a broken rule of a value that is of use."""
        if self.value is not _ABSENT and self.path not in self._notes.useless:
            self._notes.findings[f"{self.path}: {rule}"] = None

    def attempt(self, read: Callable[[], T]) -> T | None:
        """Return what `read` returns, or None where a rule is broken meanwhile."""
        before = self._notes.count
        found = self._or(None, read)
        return found if self._notes.count == before else None

    def at(self, step: str | int) -> Survey:
        """Stand on a member; on nothing, of which nothing is noted, where there is none."""
        if isinstance(step, str) and not (isinstance(self.value, dict) and step in self.value):
            member = Survey(_ABSENT, "", EmberBenchError, f"{self.path}.{step}")
        else:
            found = super().at(step)
            member = Survey(found.value, "", EmberBenchError, found.path)
        member._notes = self._notes
        return member

    def _or(self, instead: T, read: Callable[[], T]) -> T:
        try:
            return read()
        except _BrokenError:
            return instead

    def members(self, *keys: str) -> tuple[Node, ...]:
        """Return a cursor for each of `keys`."""
        nothing = tuple(self.at(key) for key in keys)
        return self._or(nothing, lambda: super(Survey, self).members(*keys))

    def items(self, least: int = 0) -> list[Node]:
        """Return the items of a list."""
        return self._or([], lambda: super(Survey, self).items(least))

    def text(self) -> str:
        """Return a text, or an empty one."""
        return self._or("", super().text)

    def choice(self, options: Collection[str]) -> str:
        """Return one of `options`, or an empty text."""
        return self._or("", lambda: super(Survey, self).choice(options))

    def match(self, pattern: str) -> str:
        """Return text that matches, or an empty one."""
        return self._or("", lambda: super(Survey, self).match(pattern))

    def identifier(self) -> str:
        """Return an id, or one that nothing else has."""
        return self._or(f"\0{next(self._notes.fresh)}", super().identifier)

    def integer(self, low: int, high: int | None = None) -> int:
        """Return an integer within the bounds, or the widest."""
        widest = low if high is None else high
        return self._or(widest, lambda: super(Survey, self).integer(low, high))

    def boolean(self) -> bool:
        """Return a boolean, or true."""
        return self._or(True, super().boolean)

    def probability(self, *, exact: bool = False) -> float:
        """Return a probability, or 0."""
        return self._or(0.0, lambda: super(Survey, self).probability(exact=exact))

    def position(self, width: int, height: int) -> Position:
        """Return a position, or one off the grid that nothing else has."""
        nowhere = (-1, -next(self._notes.fresh))
        return self._or(nowhere, lambda: super(Survey, self).position(width, height))
