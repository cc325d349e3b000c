"""A strict cursor into a parsed JSON document: a rule is a call, an error names its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from emberbench_dist.errors import EmberBenchError

T = TypeVar("T")
Position = tuple[int, int]

MAX_SIDE = 2048
MAX_ID_LENGTH = 64
_MAX_TEXT = 20_000
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Node:
    """One value of a document, with its path and the error to raise."""

    __slots__ = ("_error", "_source", "path", "value")

    def __init__(
        self, value: Any, source: str, error: type[EmberBenchError], path: str = "$"
    ) -> None:
        """Stand on `value`, found at `path` of the document that `source` names."""
        self.value = value
        self.path = path
        self._source = source
        self._error = error

    def fail(self, rule: str) -> NoReturn:
        """Raise the document's error: source, path and the rule that was broken."""
        raise self._error(f"{self._source}: {self.path}: {rule}")

    def breaks(self, rule: str) -> None:
        """Report a broken rule after which there is something to go on with.

        Reading ends here as with `fail`; a `Survey` goes on.
        """
        self.fail(rule)

    def attempt(self, read: Callable[[], T]) -> T | None:
        """Return what `read` returns; in a `Survey` None where a rule is broken meanwhile."""
        return read()

    def at(self, step: str | int) -> Node:
        """Stand on a member of this object or list."""
        if isinstance(step, int):
            path = f"{self.path}[{step}]"
        else:
            path = f"{self.path}.{step}" if _KEY.fullmatch(step) else f"{self.path}[{step!r}]"
        return Node(self.value[step], self._source, self._error, path)

    def members(self, *keys: str) -> tuple[Node, ...]:
        """Require an object of exactly `keys`; return its members in that order."""
        if not isinstance(self.value, dict):
            self.fail(f"must be an object, got {shown(self.value)}")
        for key in self.value:
            if key not in keys:
                self.breaks(f"unknown key {shown(key)}; the keys are {', '.join(keys)}")
        for key in keys:
            if key not in self.value:
                self.breaks(f"missing key {key!r}")
        return tuple(self.at(key) for key in keys)

    def entries(self) -> Iterator[tuple[str, Node]]:
        """Require an object; yield its members under their names."""
        if not isinstance(self.value, dict):
            self.fail(f"must be an object, got {shown(self.value)}")
        for key in self.value:
            if not isinstance(key, str):
                self.fail(f"must have text keys, got {shown(key)}")
            yield key, self.at(key)

    def items(self, least: int = 0) -> list[Node]:
        """Require a list of `least` or more items; return them."""
        if not isinstance(self.value, list):
            self.fail(f"must be a list, got {shown(self.value)}")
        if len(self.value) < least:
            self.breaks(f"must have at least {least} item{'s' * (least > 1)}")
        return [self.at(index) for index in range(len(self.value))]

    def text(self) -> str:
        """Require a string."""
        if not isinstance(self.value, str):
            self.fail(f"must be text, got {shown(self.value)}")
        return self.value

    def choice(self, options: Collection[str]) -> str:
        """Require one of `options`."""
        if not isinstance(self.value, str) or self.value not in options:
            names = " or ".join(repr(str(option)) for option in options)
            self.fail(f"must be {names}, got {shown(self.value)}")
        return self.value

    def match(self, pattern: str) -> str:
        """Require text that `pattern` matches as a whole."""
        if not re.fullmatch(pattern, self.text()):
            self.fail(f"must match {pattern}, got {shown(self.value)}")
        return self.value  # type: ignore[no-any-return]

    def identifier(self) -> str:
        """Require an id: 1 to 64 printable characters."""
        name = self.text()
        if not (0 < len(name) <= MAX_ID_LENGTH and name.isprintable()):
            self.fail(f"must be 1 to {MAX_ID_LENGTH} printable characters, got {shown(name)}")
        return name

    def integer(self, low: int, high: int | None = None) -> int:
        """Require an integer (never a bool) from `low` to `high`."""
        value = self.value
        bounds = f"from {low} to {high}" if high is not None else f">= {low}"
        if type(value) is not int or value < low or (high is not None and value > high):
            self.fail(f"must be an integer {bounds}, got {shown(value)}")
        return value

    def boolean(self) -> bool:
        """Require true or false."""
        if not isinstance(self.value, bool):
            self.fail(f"must be true or false, got {shown(self.value)}")
        return self.value

    def probability(self, *, exact: bool = False) -> float:
        """Require a finite number in [0, 1] (`exact`: written as a float)."""
        value = self.value
        kinds = (float,) if exact else (int, float)
        if type(value) not in kinds or not 0 <= value <= 1:
            written = ", written as a float" if exact else ""
            self.fail(f"must be a finite number in [0, 1]{written}, got {shown(value)}")
        return float(value) + 0.0  # -0.0 and 0.0 are one value, so one text

    def position(self, width: int, height: int) -> Position:
        """Require [row, col] inside the grid."""
        value = self.value
        if not isinstance(value, list) or [type(item) for item in value] != [int, int]:
            self.fail(f"must be [row, col], two integers, got {shown(value)}")
        if not (0 <= value[0] < height and 0 <= value[1] < width):
            self.fail(f"{shown(value)} is outside the grid of {height} rows and {width} columns")
        return (value[0], value[1])

    def positions(self, width: int, height: int) -> tuple[Position, ...]:
        """Require a list of different positions; return them row-major."""
        found = [item.position(width, height) for item in self.items()]
        self.unique(found)
        return tuple(sorted(found))

    def unique(self, values: Collection[object], what: str = "position") -> None:
        """Require that no two of this list's `values` are equal."""
        if len(set(values)) == len(values):
            return
        seen: set[object] = set()
        for index, value in enumerate(values):
            if value in seen:
                self.at(index).breaks(f"{what} {shown(value)} is here twice")
            seen.add(value)


_name_of = type.__dict__["__name__"].__get__


def class_name(value: object) -> str:
    """Name a value's class without running code of it or of its metaclass."""
    return str(_name_of(type(value)))


def shown(value: object, limit: int = 60) -> str:
    """Return a short one-line form of any value for an error message."""
    try:
        text = ascii(list(value) if isinstance(value, tuple) else value)
    except Exception:  # noqa: BLE001 - a foreign object's own repr, or an integer of thousands of digits
        text = f"a value of type {class_name(value)}"
    text = {"None": "null", "True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= limit else f"{text[:limit]}…"


def plain_text(make: Callable[[], str]) -> str:
    """Return what `make` makes of foreign code's error, whatever that does.

    The text has a bounded length and no character that a terminal or a database refuses.
    """
    try:
        text = str.__str__(make())
    except BaseException as error:  # noqa: BLE001 - a foreign __str__ may raise anything
        text = f"(its text cannot be shown: {class_name(error)})"
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) > _MAX_TEXT:
        text = f"{text[:_MAX_TEXT]}… ({len(text)} characters)"
    return text
