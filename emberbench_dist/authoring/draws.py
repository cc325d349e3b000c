"""Choices by chance that are the same everywhere: a labelled stream for each kind of choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from emberbench_dist.contract.rng import SplitMix64, stream_seed

Item = TypeVar("Item")


class Draws:
    """The choices of one stream, in order."""

    def __init__(self, seed: int, label: str) -> None:
        """Start the stream of a label."""
        self._stream = SplitMix64(stream_seed(seed, label))

    def below(self, bound: int) -> int:
        """Draw an integer from 0 to below `bound`, all equally likely."""
        limit = 2**64 - 2**64 % bound
        while True:
            value = self._stream.next_u64()
            if value < limit:
                return value % bound

    def between(self, low: int, high: int) -> int:
        """Draw an integer from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def one_of(self, items: Sequence[Item]) -> Item:
        """Draw one of the items."""
        return items[self.below(len(items))]

    def some_of(self, items: Sequence[Item], number: int) -> list[Item]:
        """Draw so many different ones of the items, in the order of the draws."""
        left = list(items)
        for index in range(number):
            other = index + self.below(len(left) - index)
            left[index], left[other] = left[other], left[index]
        return left[:number]
