"""Frozen values that are made by the million."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

Value = TypeVar("Value")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[Value]) -> type[Value]:
    """Make a class a frozen, slotted dataclass without defaults that is built twice as fast.

    The standard one looks every slot up by name to set it; this one knows the slots' setters.
    """
    made: Any = dataclass(frozen=True, slots=True)(cls)
    names = [field.name for field in fields(made)]
    scope = {f"set_{name}": getattr(made, name).__set__ for name in names}
    lines = [f"    set_{name}(self, {name})" for name in names]
    exec("\n".join([f"def __init__(self, {', '.join(names)}):", *lines]), scope)  # noqa: S102 - as dataclasses do
    made.__init__ = scope["__init__"]
    return made  # type: ignore[no-any-return]
