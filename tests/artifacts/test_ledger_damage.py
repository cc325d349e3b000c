"""Damage to a ledger: every byte that changed is found, and the episode named where it is one."""

from __future__ import annotations

import os
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import LedgerError
from emberbench_dist.evaluation.episode import EpisodeResult, sealed

PARTS = ("line", "trace", "metrics", "people", "steps", "execution")


def distinct(episode):
    """Return a result in which every part has bytes of its own."""
    return sealed(episode, *(b'{"%s of": %d}' % (part.encode(), episode) for part in PARTS))


RESULTS = [distinct(episode) for episode in range(20)]
PLACES = {name: getattr(RESULTS[7], name) for name in (*PARTS, "digest")}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Create a closed ledger of distinct results."""
    path = tmp_path_factory.mktemp("sound") / "ledger.sqlite"
    with closing(Ledger.create(path, {"manifest_id": "test"})) as ledger:
        ledger.begin_session("greedy")
        ledger.commit(RESULTS)
        ledger.check()
    return path


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return where a damaged copy may lie."""
    return tmp_path_factory.mktemp("damaged") / "ledger.sqlite"


def checked(path):
    """Check a ledger as a reader; return its results."""
    with Ledger.reading(path) as ledger:
        ledger.check()
        return list(ledger.results())


@pytest.mark.parametrize("bit", [0, 7])
@pytest.mark.parametrize("content", PLACES.values(), ids=PLACES)
def test_a_flipped_bit_in_any_part_names_the_episode(path, copy, content, bit):
    """One bit that changed in any part of a row is found, and the row's episode is named."""
    data = bytearray(path.read_bytes())
    assert data.count(content) == 1
    data[data.index(content) + len(content) - 1] ^= 1 << bit
    copy.write_bytes(data)
    with pytest.raises(LedgerError) as caught:
        checked(copy)
    assert str(caught.value) == (
        f"{copy}: the row of episode 7 is damaged; `dist-eval repair` drops it, "
        "and resume plays it again"
    )


@pytest.mark.parametrize("part", [*PARTS, "digest"])
@pytest.mark.parametrize("kind", ["x''", "x'00'", "zeroblob(70)"])
def test_each_half_is_checked_when_it_is_read_alone(path, copy, part, kind):
    """Who reads only what the artifact or the tables need meets no damage of that unnoticed."""
    copy.write_bytes(path.read_bytes())
    with closing(Ledger.open(copy)) as ledger:
        ledger._connection.execute(f"UPDATE episodes SET {part} = {kind} WHERE episode = 7")
        halves = {"lines": ledger.lines(20), "counts": ledger.counts([range(20)])}
        read = {"line": ["lines"], "trace": ["lines"], "metrics": halves, "digest": halves}
        for name, blocks in halves.items():
            if name in read.get(part, ["counts"]):
                with pytest.raises(LedgerError, match="the row of episode 7 is damaged"):
                    list(blocks)
            else:
                assert sum(len(block.metrics) for block in blocks) == 20


def test_a_row_that_only_its_index_knows_is_found(path, copy):
    """Where the numbers of the rows tell of one that is not there, it is not passed over."""
    copy.write_bytes(path.read_bytes())
    with closing(Ledger.open(copy)) as ledger:
        ledger.committed = lambda: [range(22)]
        for blocks in (ledger.results(), ledger.counts([range(22)]), ledger.lines(22)):
            with pytest.raises(LedgerError, match="of the episodes 0 to 21 not all can be read"):
                list(blocks)


@given(st.data())
def test_no_changed_byte_goes_unnoticed(path, copy, data):
    """Whatever byte of the file changes: the check fails with our error, or no result changed."""
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    copy.write_bytes(content)
    try:
        found = checked(copy)
    except LedgerError as error:
        assert str(copy) in str(error)  # noqa: PT017 - an error is one of two good ends
    else:
        assert found == RESULTS


@pytest.mark.parametrize("byte", [0x00, 0x41, 0x80, 0xFF])
def test_a_damaged_table_definition_is_found(path, copy, byte):
    """A changed byte in the text of the schema is our error, also where it is no text any more."""
    content = bytearray(path.read_bytes())
    content[content.index(b"NOT NULL, metrics BLOB")] = byte
    copy.write_bytes(content)
    with pytest.raises(LedgerError, match=r"ledger\.sqlite: "):
        checked(copy)


def test_damage_between_the_rows_is_found(path, copy):
    """Where every row is sound and the database is not, the check says what is wrong with it."""
    content = bytearray(path.read_bytes())
    content[36:40] = (3).to_bytes(4, "big")  # the number of free pages, of which there are none
    copy.write_bytes(content)
    with pytest.raises(LedgerError, match=r"(?s)the database is damaged: .*freelist"):
        checked(copy)


@given(st.data())
def test_a_truncated_file_is_found(path, copy, data):
    """A file that lost its end at any byte is an error, never a shorter run."""
    content = path.read_bytes()
    copy.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(LedgerError, match=r"ledger\.sqlite: "):
        checked(copy)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            "DELETE FROM episodes WHERE episode = 7",
            "holds 19 episodes, but its sessions committed 20",
        ),
        ("DELETE FROM episodes", "holds 0 episodes, but its sessions committed 20"),
        ("DELETE FROM sessions", "holds 20 episodes, but its sessions committed 0"),
        (
            "UPDATE episodes SET episode = 77 WHERE episode = 7",
            "the row of episode 77 is damaged",
        ),
        (
            "UPDATE episodes SET people = x'' WHERE episode = 7",
            "the row of episode 7 is damaged",
        ),
        (
            "UPDATE episodes SET (people, steps) = (steps, people) WHERE episode = 7",
            "the row of episode 7 is damaged",
        ),
        (
            "UPDATE episodes SET (line, trace) = (trace, line) WHERE episode = 7",
            "the row of episode 7 is damaged",
        ),
        (
            "UPDATE episodes SET digest = zeroblob(32) WHERE episode = 7",
            "the row of episode 7 is damaged",
        ),
    ],
)
def test_rows_that_were_edited_are_found(path, copy, change, complaint):
    """A row that was removed, moved or exchanged in a sound database is found too."""
    copy.write_bytes(path.read_bytes())
    with closing(Ledger.open(copy)) as ledger:
        ledger._connection.execute(change)
        with pytest.raises(LedgerError) as caught:
            ledger.check()
    assert str(caught.value).startswith(f"{copy}: {complaint}")


def test_the_lowest_damaged_episode_is_named(path, copy):
    """Of several damaged rows the first is told."""
    copy.write_bytes(path.read_bytes())
    with closing(Ledger.open(copy)) as ledger:
        ledger._connection.execute("UPDATE episodes SET steps = x'06' WHERE episode IN (11, 4, 19)")
        with pytest.raises(LedgerError, match="episode 4 is damaged"):
            ledger.check()


def test_a_result_is_sealed_by_its_digest():
    """Sealing the parts of a result again gives the same result."""
    result = RESULTS[3]
    again = sealed(*result[:-1])
    assert again == result
    assert isinstance(again, EpisodeResult)


def test_a_resumed_driver_finds_damage(path, copy):
    """A driver's ledger is checked as a reader's is."""
    data = bytearray(path.read_bytes())
    data[data.index(PLACES["line"])] ^= 1
    copy.write_bytes(data)
    with closing(Ledger.open(copy)) as ledger, pytest.raises(LedgerError, match="episode 7"):
        ledger.check()
    assert os.listdir(copy.parent) == [copy.name]  # noqa: PTH208 - names alone
