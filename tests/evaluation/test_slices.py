"""Slices: all parts together are the manifest, once each, and only one text names a part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.errors import EvaluationError
from emberbench_dist.evaluation.slices import Slice

counts = st.integers(0, 60) | st.integers(0, 10**7) | st.integers(0, 2**63 - 1)


@given(st.integers(0, 200), st.integers(1, 220))
def test_slices_partition_any_manifest(planned, parts):
    """The parts, one after the other, are every episode once, in order."""
    spans = [Slice(part, parts).episodes(planned) for part in range(1, parts + 1)]
    assert [episode for span in spans for episode in span] == list(range(planned))


@given(counts, st.integers(1, 10**9 - 1), st.data())
def test_neighbours_meet(planned, parts, data):
    """Also of the largest manifest, each part begins where the one before it ends."""
    part = data.draw(st.integers(1, parts))
    span = Slice(part, parts).episodes(planned)
    assert span.start == (Slice(part - 1, parts).episodes(planned).stop if part > 1 else 0)
    assert span.stop == planned or part < parts
    assert 0 <= span.start <= span.stop <= planned


@given(counts, st.integers(1, 10**6), st.data())
def test_slices_are_of_equal_size(planned, parts, data):
    """No part has more than one episode more than another."""
    first, second = (Slice(data.draw(st.integers(1, parts)), parts) for _ in range(2))
    sizes = [part.episodes(planned) for part in (first, second)]
    assert abs((sizes[0].stop - sizes[0].start) - (sizes[1].stop - sizes[1].start)) <= 1


def test_the_whole_is_one_slice():
    """Without more said, a slice is all of the manifest."""
    assert Slice() == Slice(1, 1) == Slice.parse("1/1")
    assert Slice().episodes(7) == range(7)


@given(st.integers(1, 10**9 - 1), st.data())
def test_a_slice_reads_back(parts, data):
    """What a slice is written as, it is read from."""
    part = Slice(data.draw(st.integers(1, parts)), parts)
    assert Slice.parse(str(part)) == part


@pytest.mark.parametrize(
    "text",
    [
        *("", "/", "1", "1/", "/1", "0/1", "2/1", "0/0", "1/0", "-1/2", "1/-2", "+1/2", "1.0/2"),
        *(" 1/2", "1/2 ", "1 /2", "1/2\n", "1//2", "1/2/3", "one/two", "1_0/20", "0x1/2", "1e0/2"),
        *("\u0661/\u0662", "\u00b9/\u00b2", "1\\2", "1/1000000000", "9" * 5000 + "/1", "1\x00/2"),
    ],
)
def test_what_is_no_slice_is_refused(text):
    """Any other text is an error that shows it and an example."""
    with pytest.raises(EvaluationError) as caught:
        Slice.parse(text)
    assert str(caught.value) == f"a slice is PART/PARTS, such as 3/16, not {text!r}"


@given(st.text(alphabet="0123456789/ -+.\n", max_size=9))
def test_a_text_is_refused_or_a_part_that_exists(text):
    """Whatever is read is one of its parts."""
    try:
        found = Slice.parse(text)
    except EvaluationError:
        return
    assert 1 <= found.part <= found.parts
    assert text.count("/") == 1
