"""SplitMix64, its streams and its Bernoulli draws."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from emberbench_dist.contract.rng import SplitMix64, stream_seed, success_bound

GAMMA = 0x9E3779B97F4A7C15
U64 = 2**64
TOP_DRAW = 2**53 - 1

REFERENCE_SEED = 1234567
REFERENCE_OUTPUTS = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]

EDGES = [
    0.0,
    5e-324,
    2.0**-1022,
    2.0**-54,
    2.0**-53,
    math.nextafter(2.0**-53, 1),
    0.1,
    1 / 3,
    math.nextafter(0.5, 0),
    0.5,
    math.nextafter(0.5, 1),
    0.9,
    1 - 2.0**-53,
    1.0,
]

probabilities = st.sampled_from(EDGES) | st.floats(min_value=0, max_value=1)
states = st.integers(min_value=0, max_value=U64 - 1)


def state_before(output: int) -> int:
    """Return the state whose next output is `output`: the mixing function, backwards."""
    z = output ^ (output >> 31) ^ (output >> 62)
    z = z * pow(0x94D049BB133111EB, -1, U64) % U64
    z = z ^ (z >> 27) ^ (z >> 54)
    z = z * pow(0xBF58476D1CE4E5B9, -1, U64) % U64
    z = z ^ (z >> 30) ^ (z >> 60)
    return (z - GAMMA) % U64


def test_reference_outputs():
    """The outputs for seed 1234567 are those of the reference implementation."""
    generator = SplitMix64(REFERENCE_SEED)
    assert [generator.next_u64() for _ in REFERENCE_OUTPUTS] == REFERENCE_OUTPUTS


@pytest.mark.parametrize("output", [0, 1, 2**63, U64 - 1, *REFERENCE_OUTPUTS])
def test_the_generator_run_backwards(output):
    """Any output can be had next, so the boundary tests below start where they mean to."""
    assert SplitMix64(state_before(output)).next_u64() == output


@given(states)
def test_the_state_is_its_whole_position(state):
    """Each draw adds one constant to the state, modulo 2**64."""
    generator = SplitMix64(state)
    assert generator.state == state
    assert 0 <= generator.next_u64() < U64
    assert generator.state == (state + GAMMA) % U64


@pytest.mark.parametrize(
    ("seed", "label", "expected"),
    [
        (0, "fire", 0x559E1B27CD86A235),
        (1, "fire", 0x09A716BDEEEF2578),
        (7, "fire", 0x0FB37E3DDFBDEC97),
        (2**64 - 1, "fire", 0x725796A9BF450F94),
        (7, "smoke", 0x7CD49A89C6526241),
    ],
)
def test_stream_seed_is_pinned(seed, label, expected):
    """These stream seeds never change."""
    assert stream_seed(seed, label) == expected


@given(states, st.text(max_size=8).filter(lambda label: label.isascii()))
def test_stream_seed_is_the_head_of_a_hash(seed, label):
    """A stream seed is the first eight bytes of the labelled SHA-256, big-endian."""
    digest = hashlib.sha256(b"emberbench/v1/%d/%s" % (seed, label.encode())).digest()
    assert stream_seed(seed, label) == int.from_bytes(digest[:8], "big")


@given(probabilities)
@example(0)
@example(1)
def test_exactly_the_ceiling_of_the_draws_succeeds(p):
    """Of the 2**53 draws exactly ceil(p * 2**53) succeed, in exact arithmetic."""
    assert success_bound(p) == math.ceil(Fraction(p) * 2**53)


@pytest.mark.parametrize("p", EDGES)
@pytest.mark.parametrize("low_bits", [0, 2**11 - 1])
def test_the_boundary_draw(p, low_bits):
    """The draw below ceil(p * 2**53) succeeds, the draw at it fails; low bits do not count."""
    bound = math.ceil(Fraction(p) * 2**53)
    for draw in {0, bound - 1, bound, bound + 1, TOP_DRAW}:
        if not 0 <= draw <= TOP_DRAW:
            continue
        state = state_before((draw << 11) | low_bits)
        assert SplitMix64(state).bernoulli(p) is (Fraction(draw, 2**53) < Fraction(p))


@pytest.mark.parametrize("p", EDGES)
@pytest.mark.parametrize("lane", [0, 1, 127, 128, 129])
def test_the_boundary_draw_among_many(p, lane):
    """The boundary is exact wherever the draw stands among the draws taken at once."""
    bound = math.ceil(Fraction(p) * 2**53)
    for draw in {0, bound - 1, bound, TOP_DRAW}:
        if not 0 <= draw <= TOP_DRAW:
            continue
        start = (state_before(draw << 11) - lane * GAMMA) % U64
        assert SplitMix64(start).bernoulli_many(p, lane + 1)[lane] == (draw < bound)


@given(states, probabilities)
def test_a_draw_is_always_consumed(state, p):
    """One Bernoulli draw moves the state by one step, also for p = 0 and p = 1."""
    generator = SplitMix64(state)
    assert generator.bernoulli(p) is (Fraction(SplitMix64(state).next_u64() >> 11, 2**53) < p)
    assert generator.state == (state + GAMMA) % U64


@given(states, probabilities, st.integers(min_value=0, max_value=400))
@example(0, 0.5, 0)
@example(0, 0.5, 1)
@example(U64 - 1, 0.5, 127)
@example(U64 - 1, 0.5, 128)
@example(U64 - 1, 0.5, 129)
@example(U64 - 1, 0.0, 400)
@example(U64 - 1, 1.0, 400)
@example(U64 - 1, 0, 256)
@example(U64 - 1, 1, 257)
@example(REFERENCE_SEED, 5e-324, 400)
@example(REFERENCE_SEED, 1 - 2.0**-53, 400)
def test_many_draws_equal_single_draws(state, p, count):
    """Many draws at once give the results, and leave the state, of as many single draws."""
    at_once, one_by_one = SplitMix64(state), SplitMix64(state)
    assert at_once.bernoulli_many(p, count) == bytes(one_by_one.bernoulli(p) for _ in range(count))
    assert at_once.state == one_by_one.state == (state + count * GAMMA) % U64


@given(states, probabilities, st.lists(st.integers(min_value=0, max_value=150), max_size=4))
def test_draws_can_be_taken_in_any_portions(state, p, counts):
    """A stream gives the same draws however they are portioned."""
    in_portions, at_once = SplitMix64(state), SplitMix64(state)
    taken = b"".join(in_portions.bernoulli_many(p, count) for count in counts)
    assert taken == at_once.bernoulli_many(p, sum(counts))
    assert in_portions.state == at_once.state


@pytest.mark.parametrize("count", [1, 128, 400])
def test_certain_draws(count):
    """With p = 0 nothing succeeds and with p = 1 everything does."""
    assert SplitMix64(REFERENCE_SEED).bernoulli_many(0.0, count) == bytes(count)
    assert SplitMix64(REFERENCE_SEED).bernoulli_many(1.0, count) == b"\x01" * count
