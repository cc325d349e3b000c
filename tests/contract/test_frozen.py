"""Frozen values behave as the standard frozen dataclass does."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, fields, replace

import pytest

from emberbench_dist.contract.frozen import frozen


@frozen
class Point:
    """A value with a property and a method."""

    name: str
    at: tuple[int, int]

    @property
    def row(self):
        """Return the first coordinate."""
        return self.at[0]


@dataclass(frozen=True, slots=True)
class Standard:
    """What it is compared with."""

    name: str
    at: tuple[int, int]


def test_it_is_a_frozen_slotted_dataclass():
    """Fields, order, text, equality and hash are those of the standard dataclass."""
    point, twin = Point("a", (1, 2)), Standard("a", (1, 2))
    assert [field.name for field in fields(Point)] == [field.name for field in fields(Standard)]
    assert repr(point) == repr(twin).replace("Standard", "Point")
    assert (asdict(point), hash(point)) == (asdict(twin), hash(twin))
    assert point == Point(at=(1, 2), name="a") != Point("a", (2, 1))
    assert point.row == 1
    assert not hasattr(point, "__dict__")


@pytest.mark.parametrize("name", ["name", "at", "other"])
def test_nothing_can_be_set(name):
    """Neither a field nor anything else can be set or deleted."""
    point = Point("a", (1, 2))
    with pytest.raises((FrozenInstanceError, TypeError)):
        setattr(point, name, None)
    with pytest.raises((FrozenInstanceError, TypeError)):
        delattr(point, name)
    assert point == Point("a", (1, 2))


@pytest.mark.parametrize("arguments", [(), ("a",), ("a", (1, 2), 3)])
def test_every_field_is_given(arguments):
    """A field that is missing, or one too many, is a TypeError."""
    with pytest.raises(TypeError):
        Point(*arguments)


def test_it_can_be_replaced_copied_and_pickled():
    """Values travel and change as dataclasses do."""
    point = Point("a", (1, 2))
    assert replace(point, at=(3, 4)) == Point("a", (3, 4))
    assert copy.deepcopy(point) == point == pickle.loads(pickle.dumps(point))
