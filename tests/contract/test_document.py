"""The cursor into a parsed document: what each rule takes, and what its error says."""

from __future__ import annotations

import pytest
from builders import case_id

from emberbench_dist.contract.document import Node, shown
from emberbench_dist.errors import ManifestError, ScenarioError

HUGE = 10**5000


class Unprintable:
    """A value whose representation raises."""

    def __repr__(self):
        """Raise."""
        raise RuntimeError("no text for you")


def node(value):
    """Return the root node of a document."""
    return Node(value, "file.json", ScenarioError)


def refusal(require):
    """Return the message of the ScenarioError that a call raises."""
    with pytest.raises(ScenarioError) as caught:
        require()
    return str(caught.value)


def test_an_error_names_source_path_and_rule():
    """The message is the source, the path in the document and the broken rule."""
    exit_list = node({"map": {"exits": [{"id": 1}]}}).at("map").at("exits")
    assert exit_list.path == "$.map.exits"
    message = refusal(exit_list.at(0).at("id").text)
    assert message == "file.json: $.map.exits[0].id: must be text, got 1"


def test_an_error_is_of_the_documents_own_class():
    """A document raises the error class it was given."""
    with pytest.raises(ManifestError, match=r"^m\.json: \$: must be text, got null$"):
        Node(None, "m.json", ManifestError).text()


def test_an_odd_key_is_quoted_in_the_path():
    """A key that is no plain name stands quoted in brackets."""
    assert node({"a b": {"c": 0}}).at("a b").at("c").path == "$['a b'].c"


def test_members_come_in_the_order_asked():
    """An object of exactly these keys gives its members in the order of the call."""
    first, second = node({"b": 2, "a": 1}).members("a", "b")
    assert (first.value, first.path) == (1, "$.a")
    assert (second.value, second.path) == (2, "$.b")


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ({"a": 1}, "missing key 'b'"),
        ({"a": 1, "b": 2, "c": 3}, "unknown key 'c'; the keys are a, b"),
        ({}, "missing key 'a'"),
        ([1, 2], "must be an object, got [1, 2]"),
        (None, "must be an object, got null"),
    ],
)
def test_other_members_are_refused(value, rule):
    """A missing key, an unknown key, or no object at all is named."""
    assert refusal(lambda: node(value).members("a", "b")) == f"file.json: $: {rule}"


def test_entries_are_named_members():
    """The entries of an object are its members under their names."""
    assert [(name, item.path) for name, item in node({"Pa": 1, "P b": 2}).entries()] == [
        ("Pa", "$.Pa"),
        ("P b", "$['P b']"),
    ]


@pytest.mark.parametrize(
    ("value", "rule"),
    [([], "must be an object, got []"), ({1: 2}, "must have text keys, got 1")],
)
def test_other_entries_are_refused(value, rule):
    """Entries need an object with text keys."""
    assert refusal(lambda: list(node(value).entries())) == f"file.json: $: {rule}"


def test_items_have_a_least_number():
    """A list must be one, and be long enough."""
    assert [item.path for item in node(["x", "y"]).items(least=2)] == ["$[0]", "$[1]"]
    assert node([]).items() == []
    assert refusal(lambda: node([]).items(least=1)).endswith("$: must have at least 1 item")
    assert refusal(lambda: node(["x"]).items(least=2)).endswith("$: must have at least 2 items")
    assert refusal(lambda: node({}).items()).endswith("$: must be a list, got {}")
    assert refusal(lambda: node("xy").items()).endswith("$: must be a list, got 'xy'")


@pytest.mark.parametrize("value", [0, 3, 2**64 - 1])
def test_integers_in_bounds(value):
    """Both bounds belong to the range."""
    assert node(value).integer(0, 2**64 - 1) == value


@pytest.mark.parametrize(
    "value", [-1, 2**64, True, False, 1.0, "1", None, [1], HUGE, -HUGE], ids=case_id
)
def test_other_integers_are_refused(value):
    """A bool, a float, a text or a number out of bounds is not such an integer."""
    message = refusal(lambda: node(value).integer(0, 2**64 - 1))
    assert message.startswith("file.json: $: must be an integer from 0 to 18446744073709551615")


def test_integers_may_be_unbounded_above():
    """Without an upper bound any size will do."""
    assert node(10**30).integer(1) == 10**30
    assert refusal(lambda: node(0).integer(1)).endswith("$: must be an integer >= 1, got 0")


@pytest.mark.parametrize("value", [0, 1, "true", None, []])
def test_only_true_and_false_are_booleans(value):
    """An integer is never a boolean."""
    assert node(True).boolean() is True
    assert node(False).boolean() is False
    assert "must be true or false, got " in refusal(node(value).boolean)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, 0.5, 5e-324, 1 - 2**-53])
def test_probabilities_become_floats(value):
    """A number in [0, 1], however written, is a float after the check."""
    found = node(value).probability()
    assert found == value
    assert type(found) is float


def test_minus_zero_is_zero():
    """-0.0 equals 0.0, so it must not keep a text of its own."""
    assert str(node(-0.0).probability()) == "0.0"
    assert str(node(-0.0).probability(exact=True)) == "0.0"


@pytest.mark.parametrize(
    "value",
    [
        -5e-324,
        1.0000000000000002,
        -1,
        2,
        True,
        False,
        "0.5",
        None,
        [0.5],
        float("nan"),
        float("inf"),
        float("-inf"),
        HUGE,
    ],
    ids=case_id,
)
def test_other_probabilities_are_refused(value):
    """Anything but a finite number in [0, 1] is refused, whether it must be a float or not."""
    assert "$: must be a finite number in [0, 1], got " in refusal(node(value).probability)
    assert "$: must be " in refusal(lambda: node(value).probability(exact=True))


@pytest.mark.parametrize("value", [0, 1])
def test_an_exact_probability_is_written_as_a_float(value):
    """Where the text is canonical already, an integer is not the text of a probability."""
    assert "$: must be " in refusal(lambda: node(value).probability(exact=True))


@pytest.mark.parametrize("value", [[0, 0], [1, 4], [0, 4], [1, 0]])
def test_positions_inside_the_grid(value):
    """A position is [row, col]: the row is below the height, the column below the width."""
    assert node(value).position(width=5, height=2) == tuple(value)


@pytest.mark.parametrize("value", [[-1, 0], [2, 0], [0, -1], [0, 5], [4, 1], [0, 10**30]])
def test_positions_outside_the_grid(value):
    """The error for a position off the grid says how large the grid is."""
    message = refusal(lambda: node(value).position(width=5, height=2))
    assert message == f"file.json: $: {value} is outside the grid of 2 rows and 5 columns"


@pytest.mark.parametrize("value", [[HUGE, 0], [0, HUGE], [0, -HUGE]], ids=case_id)
def test_positions_outside_any_grid(value):
    """A coordinate too long to print is outside the grid like any other."""
    message = refusal(lambda: node(value).position(width=5, height=2))
    assert message.endswith("is outside the grid of 2 rows and 5 columns")
    assert len(message) < 200


@pytest.mark.parametrize(
    "value",
    [[], [0], [0, 0, 0], (0, 0), {}, "00", None, 0, [0.0, 0], [0, True], ["0", 0], [None, 0]],
)
def test_other_positions_are_refused(value):
    """A position is a list of exactly two integers."""
    message = refusal(lambda: node(value).position(width=5, height=2))
    assert message.startswith("file.json: $: must be [row, col], two integers, got ")


def test_positions_are_sorted_and_unique():
    """A list of positions comes back row-major; a second one is named where it stands."""
    assert node([[1, 0], [0, 4], [0, 1]]).positions(5, 2) == ((0, 1), (0, 4), (1, 0))
    message = refusal(lambda: node([[1, 0], [0, 4], [1, 0]]).positions(5, 2))
    assert message == "file.json: $[2]: position [1, 0] is here twice"


@pytest.mark.parametrize("name", ["x", "x" * 64, "P é 😀", " "])
def test_identifiers(name):
    """An id is 1 to 64 printable characters, of any script."""
    assert node(name).identifier() == name


@pytest.mark.parametrize(
    "name", ["", "x" * 65, "a\nb", "a\tb", "\x7f", "a\u200bb", "\u00a0", "\ud800", "\ufeff"]
)
def test_other_identifiers_are_refused(name):
    """An id that is empty, too long or not printable is refused, in a printable message."""
    message = refusal(node(name).identifier)
    assert message.startswith("file.json: $: must be 1 to 64 printable characters, got ")
    assert message.isprintable()


@pytest.mark.parametrize("value", ["c", "A", "", None, 1, ["a"], True])
def test_a_choice_is_one_of_its_options(value):
    """Only the options themselves are taken; they are all named."""
    assert node("a").choice(("a", "b")) == "a"
    message = refusal(lambda: node(value).choice(("a", "b")))
    assert message.startswith("file.json: $: must be 'a' or 'b', got ")


@pytest.mark.parametrize("value", ["", "ab1", "ab\n", "é", 1, None])
def test_a_match_covers_the_whole_text(value):
    """A pattern must match from the first character to the last."""
    assert node("ab").match("[a-z]{1,3}") == "ab"
    assert refusal(lambda: node(value).match("[a-z]{1,3}")).startswith("file.json: $: must ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1, "1"),
        (0.5, "0.5"),
        ("None", "'None'"),
        ("a\né\ud800", r"'a\n\xe9\ud800'"),
        ((0, 1), "[0, 1]"),
        ([0, 1], "[0, 1]"),
        ("x" * 59, "'" + "x" * 59 + "…"),
        ("x" * 58, "'" + "x" * 58 + "'"),
        (HUGE, "a value of type int"),
        (Unprintable(), "a value of type Unprintable"),
    ],
    ids=case_id,
)
def test_values_are_shown_short_in_one_line(value, text):
    """An error message shows any value, even one that cannot be printed, as JSON has it."""
    assert shown(value) == text
