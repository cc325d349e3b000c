"""The Moving AI formats: as they are found, and where they are malformed."""

from __future__ import annotations

import pytest

from emberbench_dist.authoring.moving_ai import read_map, read_starts
from emberbench_dist.errors import MapError

ROWS = ("..#", "#..")
HEADER = "type octile\nheight 2\nwidth 3\nmap\n"
SCEN = "version 1\n0\tm.map\t3\t2\t1\t1\t0\t0\t2.41421356\n"


def read(text):
    """Read a map's text."""
    return read_map(text.encode(), "m.map")


def starts(text):
    """Read the text of starts on the small map."""
    return read_starts(text.encode(), "m.scen", ROWS)


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADER}..@\n@..\n",
        f"{HEADER}..@\n@..",
        f"{HEADER}..@\n@..\n\n \n\n",
        f"{HEADER}..@\n@..\n".replace("\n", "\r\n"),
        f"{HEADER}..@\n@..\n".replace("\n", "\r"),
        "\ufeff" + f"{HEADER}..@\n@..\n",
        f"{HEADER}..@  \n@..\t\n",
        "width 3\n\nheight\t2\ntype tile\n map \n..@\n@..\n",
        f"{HEADER}GSO\nT.G\n",
        f"{HEADER}.SW\nW..\n",
    ],
)
def test_a_map_is_read_as_it_is_found(text):
    """Line ends, blank lines, order of keys and kinds of terrain are no matter."""
    assert read(text).rows == ROWS
    assert read(text).notes == ()


@pytest.mark.parametrize(
    ("last", "row", "columns"),
    [("@.", "#.#", 2), ("@", "###", 1), ("@...", "#..", 4), ("@..x\x1a", "#..", 5)],
)
def test_a_last_row_of_another_length_is_put_right_and_told(last, row, columns):
    """What lacks in the last row is wall, what is too much is left out, and a note says so."""
    terrain = read(f"{HEADER}..@\n{last}\n")
    assert terrain.rows == (ROWS[0], row)
    (note,) = terrain.notes
    assert note.startswith(f"line 6: the last row has {columns} of 3 columns")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1, column 1: the file ends before its line `map`"),
        ("hello\n", "line 1, column 1: 'hello' is no key"),
        ("type octile\nheight 2\nwidth 3\n", "line 4, column 1: the file ends before"),
        (
            "type octile\nheight 2\nmap\n...\n",
            "line 3, column 1: the map begins, but there was no w",
        ),
        ("map\n...\n", "line 1, column 1: the map begins, but there was no type and no height"),
        ("height 2\nheight 2\nmap\n", "line 2, column 1: height is here twice"),
        ("height 2 3\nmap\n", "line 1, column 10: height has one value, not 2"),
        ("height\nmap\n", "line 1, column 7: height has one value, not 0"),
        ("height -2\nmap\n", "line 1, column 8: height must be from 1 to 2048, got '-2'"),
        ("width  0\nmap\n", "line 1, column 8: width must be from 1 to 2048, got '0'"),
        ("width 2049\nmap\n", "line 1, column 7: width must be from 1 to 2048"),
        ("width 3.0\nmap\n", "line 1, column 7: width must be from 1 to 2048"),
        ("width \u0663\nmap\n", "line 1, column 7: width must be from 1 to 2048"),
        (f"width {'9' * 5000}\nmap\n", "line 1, column 7: width must be from 1 to 2048"),
        ("type hex\nmap\n", "line 1, column 6: the type must be octile or tile, got 'hex'"),
        (f"{HEADER}..\n...\n", "line 5, column 3: the row has 2 of 3 columns"),
        (f"{HEADER}....\n...\n", "line 5, column 4: the row has 4 of 3 columns"),
        (f"{HEADER}\n...\n", "line 5, column 1: the row has 0 of 3 columns"),
        (f"{HEADER}.x.\n...\n", "line 5, column 2: 'x' is no terrain; there are . G S @ O T W"),
        (f"{HEADER}...\n..\u20ac\n", "line 6, column 3: '\u20ac' is no terrain"),
        (f"{HEADER}. .\n...\n", "line 5, column 2: ' ' is no terrain"),
        (f"{HEADER}...\n", "line 6, column 1: the file ends after 1 of 2 rows"),
        (f"{HEADER}...\n\n\n", "line 6, column 1: the file ends after 1 of 2 rows"),
        (f"{HEADER}...\n...\n...\n", "line 7, column 1: there is more after the 2 rows"),
        (f"{HEADER}...\n...\n\nend\n", "line 7, column 1: there is more after the 2 rows"),
    ],
)
def test_a_malformed_map_is_refused_where_it_is(text, told):
    """An error names file, line and column."""
    with pytest.raises(MapError) as caught:
        read(text)
    assert str(caught.value).startswith(f"m.map: {told}")


def test_bytes_that_are_no_text_are_no_terrain():
    """A binary file is refused like any other."""
    with pytest.raises(MapError, match="line 1, column 1"):
        read_map(b"\xff\xfe\x00", "m.map")


@pytest.mark.parametrize("version", ["version 1", "version 1.0", "version  1"])
def test_starts_are_read_in_order(version):
    """Each different start is given once, in the file's order, x being the column."""
    lines = ["0\tm.map\t3\t2\t2\t1\t0\t0\t2", "7 other/m.map 3 2 1 1 0 0 1e0", ""]
    text = "\r\n".join([version, *lines, lines[0], ""])
    found = starts(text)
    assert found.positions == ((1, 2), (1, 1))
    assert found.repeated == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1, column 1: the first line must be `version 1`"),
        ("version 2\n", "line 1, column 1: the first line must be `version 1`"),
        (SCEN.partition("\n")[2], "line 1, column 1: the first line must be `version 1`"),
        ("version 1\n", "line 2, column 1: there is no start in it"),
        (f"{SCEN}0\tm.map\t3\n", "line 3, column 10: a line has 9 columns, this one 3"),
        (SCEN.replace("0\tm", "a\tm"), "line 2, column 1: the bucket must be a whole number"),
        (SCEN.replace("\t3\t2", "\t4\t2"), "line 2, column 9: the width is 4, but the map's is 3"),
        (
            SCEN.replace("\t3\t2", "\t3\t1"),
            "line 2, column 11: the height is 1, but the map's is 2",
        ),
        (SCEN.replace("\t3\t2", "\t3\tx"), "line 2, column 11: the height must be a whole number"),
        (SCEN.replace("\t1\t1", "\t3\t1"), "line 2, column 13: the start's x must be from 0 to 2"),
        (SCEN.replace("\t1\t1", "\t1\t-1"), "line 2, column 15: the start's y must be from 0 to 1"),
        (SCEN.replace("\t1\t1", "\t0\t1"), "line 2, column 13: the start at x 0, y 1 is in a wall"),
        (SCEN.replace("\t0\t0", "\t2\t0"), "line 2, column 17: the goal at x 2, y 0 is in a wall"),
        (SCEN.replace("\t0\t0", "\t0\t2"), "line 2, column 19: the goal's y must be from 0 to 1"),
        (SCEN.replace("2.4", "nan"), "line 2, column 21: the length must be a number"),
    ],
)
def test_malformed_starts_are_refused_where_they_are(text, told):
    """An error names file, line and column."""
    with pytest.raises(MapError) as caught:
        starts(text)
    assert str(caught.value).startswith(f"m.scen: {told}")
