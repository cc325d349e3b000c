"""SplitMix64, the only source of chance, and its labelled streams.

The k-th output needs no predecessor: the state grows by a constant. `bernoulli_many` uses
that to make many draws at once, in 128-bit lanes of one Python integer, ahead of their use.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache

_MASK = 2**64 - 1
_GAMMA = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_LANE_BITS = 128
_LANE_BYTES = _LANE_BITS // 8
_BLOCK = 128


def stream_seed(seed: int, label: str) -> int:
    """Return the seed of a labelled stream (contract: Randomness)."""
    digest = hashlib.sha256(f"emberbench/v1/{seed}/{label}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


class SplitMix64:
    """The SplitMix64 generator; `state` is its whole position, an unsigned 64-bit integer."""

    __slots__ = ("_ahead", "_ahead_of", "state")

    def __init__(self, state: int) -> None:
        """Start at `state` (right after seeding: the stream seed)."""
        self.state = state & _MASK
        # Draws from here on that were made already, and the probability and state they are for.
        self._ahead = b""
        self._ahead_of: tuple[float, int] | None = None

    def next_u64(self) -> int:
        """Return the next output, an unsigned 64-bit integer."""
        self.state = z = (self.state + _GAMMA) & _MASK
        z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
        z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
        return z ^ (z >> 31)

    def bernoulli(self, p: float) -> bool:
        """Take one draw; return True with probability `p`."""
        return (self.next_u64() >> 11) < success_bound(p)

    def bernoulli_many(self, p: float, count: int) -> bytes:
        """Take `count` draws in order; return a byte for each: 1 for success, else 0.

        The same as `count` calls of `bernoulli`, several times as fast.
        """
        if self._ahead_of != (p, self.state) or len(self._ahead) < count:
            blocks = range(0, max(count, 1), _BLOCK)
            self._ahead = b"".join([_block(p, self.state + at * _GAMMA) for at in blocks])
        taken, self._ahead = self._ahead[:count], self._ahead[count:]
        self.state = (self.state + count * _GAMMA) & _MASK
        self._ahead_of = (p, self.state)
        return taken


def _block(p: float, state: int) -> bytes:
    """Return the next `_BLOCK` draws after a state: a byte for each."""
    ones, ramp, low, high, bounds = _lanes(p)
    z = (ones * (state & _MASK) + ramp) & low
    z = (((z ^ (z >> 30)) & low) * _MIX_1) & low
    z = (((z ^ (z >> 27)) & low) * _MIX_2) & low
    z = (z ^ (z >> 31)) & high
    # Bit 64 of a lane survives the subtraction exactly where the draw is below the bound.
    return (bounds - z).to_bytes(_BLOCK * _LANE_BYTES, "little")[8::_LANE_BYTES]


def success_bound(p: float) -> int:
    """Return how many of the 2**53 possible draws succeed: ceil(p * 2**53), exactly."""
    return math.ceil(p * 2**53)


@lru_cache(maxsize=64)
def _lanes(p: float) -> tuple[int, int, int, int, int]:
    """Return lanes of: 1, the state's growth, low 64 bits, their high 53, the bound for `p`."""
    shifts = range(0, _BLOCK * _LANE_BITS, _LANE_BITS)
    ones = sum(1 << shift for shift in shifts)
    ramp = sum(((lane * _GAMMA) & _MASK) << shift for lane, shift in enumerate(shifts, start=1))
    bound = 2**64 + ((success_bound(p) - 1) << 11)
    return ones, ramp, ones * _MASK, ones * (2**64 - 2**11), ones * bound
