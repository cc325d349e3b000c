"""`dist-eval scenario`: drawings and maps become documents, and documents are checked and drawn."""

from __future__ import annotations

import json
import re
from io import BytesIO, TextIOWrapper

import pytest
from builders import corridor, crossroads, edited
from commands import dist_eval

from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.scenario import load_scenario

ROOM = "#E###\n#P.*#\n#..P#\n#####\n"
MAP = "type octile\nheight 6\nwidth 8\nmap\n" + "........\n" * 5 + "...@....\n"
SCEN = "version 1\n" + "".join(
    f"0\tm.map\t8\t6\t{x}\t{y}\t0\t0\t1\n" for x, y in [(3, 2), (4, 4), (3, 2), (5, 1)]
)


@pytest.fixture
def piped(monkeypatch):
    """Return a function that puts text on standard input."""
    return lambda text: monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))


@pytest.fixture
def room(tmp_path):
    """Return the file of a drawing."""
    path = tmp_path / "a room.txt"
    path.write_text(ROOM)
    return path


@pytest.fixture
def terrain(tmp_path):
    """Return the file of a map."""
    path = tmp_path / "open.map"
    path.write_text(MAP)
    return path


def test_a_drawing_becomes_a_scenario(room, tmp_path):
    """The printed and the written document are the same, named after the file."""
    printed = dist_eval("scenario", "new", "--rows", room)
    written = dist_eval("scenario", "new", "--rows", room, "--out", tmp_path / "room.json")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert written == (0, "", "")
    assert (tmp_path / "room.json").read_text() == printed.stdout
    scenario = load_scenario(tmp_path / "room.json")
    assert scenario.to_dict() == json.loads(printed.stdout)
    assert scenario.scenario_id == "a-room"
    assert [person.position for person in scenario.people] == [(1, 1), (2, 3)]
    rules = scenario.rules
    assert (rules.fire_model, rules.spread_probability) == ("stochastic", 0.25)
    assert (rules.spread_interval, rules.max_steps) == (1, 36)
    assert (rules.enter_fire, rules.exits_flammable) == ("casualty", False)


def test_every_rule_is_an_option(room):
    """Each option is found again in the document."""
    about = "--id", "lobby", "--description", "Mine.", "--development-seed", 2**64 - 1
    fire = "--fire-model", "deterministic", "--interval", "3", "--exits-flammable"
    rest = "--enter-fire", "blocked", "--max-steps", "9"
    done = dist_eval("scenario", "new", "--rows", room, *about, *fire, *rest)
    document = json.loads(done.stdout)
    assert document["scenario_id"] == "lobby"
    assert document["description"] == "Mine."
    assert document["development_seed"] == 2**64 - 1
    assert document["fire"] == {
        "model": "deterministic",
        "ignitions": [[1, 3]],
        "spread_interval": 3,
        "spread_probability": None,
        "exits_flammable": True,
    }
    assert document["movement"]["enter_fire"] == "blocked"
    assert document["termination"] == {"max_steps": 9}
    certain = dist_eval("scenario", "new", "--rows", room, "--probability", "0")
    assert json.loads(certain.stdout)["fire"]["spread_probability"] == 0.0


def test_a_scenario_is_drawn_as_it_was(room, tmp_path, monkeypatch):
    """What is shown is the drawing, without colour where there is no terminal."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    path = tmp_path / "room.json"
    dist_eval("scenario", "new", "--rows", room, "--out", path)
    assert dist_eval("scenario", "show", path) == (0, ROOM, "")


def test_a_drawing_is_read_from_standard_input(room, piped):
    """`-` is standard input, for the drawing as for a map."""
    named = "--id", "room"
    piped(ROOM)
    assert dist_eval("scenario", "new", "--rows", "-", *named) == dist_eval(
        "scenario", "new", "--rows", room, *named
    )
    piped(MAP)
    done = dist_eval("scenario", "import", "-")
    assert (done.returncode, json.loads(done.stdout)["map"]["width"]) == (0, 8)


def test_a_terminal_shows_colours(room, tmp_path, monkeypatch):
    """On a terminal each kind of cell has its colour, and a row is never broken."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "3")
    path = tmp_path / "room.json"
    dist_eval("scenario", "new", "--rows", room, "--out", path)
    shown = dist_eval("scenario", "show", path).stdout
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == ROOM
    colours = {symbol: re.search(rf"(\x1b\[[\d;]+m)[{symbol}]", shown)[1] for symbol in "#.EP*"}
    assert len(set(colours.values())) == 5


@pytest.mark.parametrize("side", [1, 400])
def test_a_picture_is_a_png(tmp_path, side):
    """A picture of any size is written, the same each time."""
    document = edited(crossroads(), "map.width", 5 * side)
    path = tmp_path / "room.json"
    path.write_text(canonical_json(document))
    pictures = []
    for name in ("one.png", "other.PNG"):
        assert dist_eval("scenario", "show", path, "--out", tmp_path / name) == (0, "", "")
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0].startswith(b"\x89PNG")
    assert pictures[0] == pictures[1]


def test_every_broken_rule_is_told(tmp_path):
    """Each is a line with file and place; right files are told as well, and the code is 2."""
    right, wrong, broken = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    right.write_text(canonical_json(corridor()))
    document = edited(corridor(), "map.obstacles", [[0, 0], [0, 4]])
    wrong.write_text(canonical_json(document | {"development_seed": -1}))
    broken.write_text("{")
    done = dist_eval("scenario", "check", right, wrong, broken, tmp_path / "none.json")
    assert done.returncode == 2
    digest = load_scenario(right).scenario_hash
    syntax = "is not JSON: Expecting property name enclosed in double quotes"
    summary = "corridor-5x1, 5 by 1, people 1, exits 1, ignitions 1"
    assert done.stdout == f"{right}: {summary}, {digest}\n"
    assert done.stderr.splitlines() == [
        f"{wrong}: $.map.exits[0].position: [0, 4] is on an obstacle",
        f"{wrong}: $.development_seed: must be an integer from 0 to 18446744073709551615, got -1",
        f"{wrong}: $.people[0].position: [0, 0] is on an obstacle",
        f"{broken}: {syntax} (line 1, column 2)",
        f"{tmp_path / 'none.json'}: cannot be read: No such file or directory",
    ]
    assert dist_eval("scenario", "check", right).returncode == 0


def test_a_map_is_imported(terrain, tmp_path):
    """The document is printed or written, the choices are told, and the seed makes them."""
    done = dist_eval("scenario", "import", terrain, "--people", 5, "--exits", 2, "--seed", 3)
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["scenario_id"] == "open"
    assert document["development_seed"] == 3
    assert document["map"]["obstacles"] == [[5, 3]]
    assert (len(document["people"]), len(document["map"]["exits"])) == (5, 2)
    told = done.stderr.splitlines()
    assert told[0] == f"{terrain}: 8 by 6, 47 cells of floor, 47 of them in use"
    for line, places in zip(
        told[1:],
        (
            [exit["position"] for exit in document["map"]["exits"]],
            [person["position"] for person in document["people"]],
            document["fire"]["ignitions"],
        ),
        strict=True,
    ):
        assert line.endswith(", ".join(map(str, places)))
    out = tmp_path / "open.json"
    again = ["scenario", "import", terrain, "--people", 5, "--exits", 2, "--out", out]
    assert dist_eval(*again, "--seed", 3) == (0, "", done.stderr)
    assert out.read_text() == done.stdout
    dist_eval(*again, "--seed", 4)
    assert out.read_text() != done.stdout


def test_people_come_from_starts(terrain, tmp_path):
    """With --scen people stand where its lines begin, each cell once."""
    scen = tmp_path / "open.scen"
    scen.write_text(SCEN)
    done = dist_eval("scenario", "import", terrain, "--scen", scen)
    people = json.loads(done.stdout)["people"]
    assert [person["position"] for person in people] == [[1, 5], [2, 3], [4, 4]]
    assert "people: 3 from open.scen, not 0 with no way out and 1 repeated: [1, 5]" in done.stderr
    fewer = dist_eval("scenario", "import", terrain, "--scen", scen, "--people", 2)
    people = json.loads(fewer.stdout)["people"]
    assert [person["position"] for person in people] == [[2, 3], [4, 4]]


def test_what_was_put_right_is_told(terrain):
    """A note about the map is a line like the choices."""
    terrain.write_text(MAP[:-3])
    done = dist_eval("scenario", "import", terrain)
    assert done.returncode == 0
    assert f"{terrain}: line 10: the last row has 6 of 8 columns;" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["new", "--rows", "none.txt"], "Could not open file 'none.txt': No such file"),
        (["new", "--rows", "odd.txt"], "odd.txt: line 1, column 3: '?' means nothing"),
        (["new", "--rows", "binary.txt"], "binary.txt: is not UTF-8 (byte 0)"),
        (["new", "--rows", "no-exit.txt"], "no-exit.txt: $.map.exits: must have at least 1 item"),
        (["new", "--rows", "burning.txt"], "$.fire.ignitions[0]: [0, 0] is on an exit, and exits"),
        (["new", "--rows", "room.txt", "--id", "a b"], "$.scenario_id: must match"),
        (["new", "--rows", "room.txt", "--probability", "2"], "2.0 is not in the range"),
        (["new", "--rows", "room.txt", "--probability", "nan"], "$.fire.spread_probability"),
        (
            ["new", "--rows", "room.txt", "--fire-model", "deterministic", "--probability", "1"],
            "--probability is for the stochastic fire model",
        ),
        (["new", "--rows", "room.txt", "--out", "none/a.json"], "none/a.json: cannot be written"),
        (["import", "odd.txt"], "odd.txt: line 1, column 1: 'E.?' is no key"),
        (["import", "open.map", "--scen", "odd.txt"], "odd.txt: line 1, column 1: the first line"),
        (["import", "open.map", "--exits", "99"], "open.map: there is no room for 99 exits"),
        (["show", "none.json"], "none.json: cannot be read"),
        (["show", "right.json", "--out", "a.gif"], "--out ends with .png, not '.gif'"),
        (["show", "right.json", "--out", "none/a.png"], "none/a.png: cannot be written"),
    ],
)
def test_bad_input_is_told(tmp_path, monkeypatch, arguments, told):
    """Every mistake ends with code 2 and a line that says what to do, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "room.txt": ROOM.encode(),
        "open.map": MAP.encode(),
        "odd.txt": b"E.?\n",
        "binary.txt": b"\xff",
        "no-exit.txt": b"P.\n",
        "burning.txt": b"XP\n",
        "right.json": canonical_json(corridor()).encode(),
    }.items():
        (tmp_path / name).write_bytes(content)
    before = sorted(tmp_path.iterdir())
    done = dist_eval("scenario", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_difficulty_is_told(room, tmp_path):
    """Files and built-in ids, in order, in a table and as JSON, with null for never."""
    path = tmp_path / "room.json"
    dist_eval("scenario", "new", "--rows", room, "--id", "mine", "--out", path)
    quiet = tmp_path / "quiet.json"
    quiet.write_text(canonical_json(edited(corridor(), "fire.ignitions", [])))
    done = dist_eval("scenario", "measure", path, "flat-14x10", quiet, "--json")
    first, flat, calm = json.loads(done.stdout)
    assert (done.returncode, done.stderr, first["scenario_id"]) == (0, "", "mine")
    assert flat == {
        "scenario_id": "flat-14x10",
        "people": 7,
        "shortest_evacuation": 16,
        "exit_capacity": 16,
        "nearest_exits": 16,
        "least_lead": -6,
        "median_lead": -4,
        "late": 5,
        "difficulty": "hard",
    }
    assert (calm["least_lead"], calm["median_lead"], calm["late"]) == (None, None, 0)
    table = dist_eval("scenario", "measure", "flat-14x10", quiet).stdout
    rows = [re.findall(r"[^\s│]+", line) for line in table.splitlines() if line.startswith("│")]
    assert rows == [
        ["flat-14x10", "7", "16", "16", "16", "-6", "-4", "5", "hard"],
        ["corridor-5x1", "1", "4", "4", "4", "-", "-", "0", "easy"],
    ]


def test_what_cannot_be_measured_is_told(tmp_path):
    """No file, no scenario, none at all: exit code 2 and no traceback."""
    (tmp_path / "x.json").write_text("{}")
    for names in ([], ["nowhere"], [tmp_path / "x.json"]):
        done = dist_eval("scenario", "measure", *names)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
