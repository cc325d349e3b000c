"""Mistakes in a SPEC, and in what it leads to: each is an `AgentSpecError` in one line."""

from __future__ import annotations

import pytest
from builders import case_id

from emberbench_dist.agents.registry import load_agent


@pytest.mark.parametrize("spec", [":", "mine:", ":Agent", "mine.py:"])
def test_half_a_spec_is_refused(refusal, spec):
    """Both sides of the colon are needed."""
    assert refusal(spec) == f"{spec!r} must be module:factory or file.py:factory"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("none.py:Agent", "there is no agent file 'none.py'"),
        ("sub/none.py:Agent", "there is no agent file 'sub/none.py'"),
        ("folder.py:Agent", "there is no agent file 'folder.py'"),
        (".py:Agent", "there is no agent file '.py'"),
        ("a\0b.py:Agent", "there is no agent file 'a\\x00b.py'"),
    ],
    ids=case_id,
)
def test_a_missing_file_is_named(folder, refusal, spec, message):
    """What is no file, a folder for instance, is named."""
    (folder / "folder.py").mkdir()
    assert refusal(spec) == message


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
        ("nowhere.inner", "ModuleNotFoundError: No module named 'nowhere'"),
        ("json.nowhere", "ModuleNotFoundError: No module named 'json.nowhere'"),
        ("os.path.join", "ModuleNotFoundError: No module named 'os.path.join'"),
        ("a:b", "ModuleNotFoundError: No module named 'a:b'"),
        ("mine.txt", "ModuleNotFoundError: No module named 'mine'"),
        ("sub/mine", "ModuleNotFoundError: No module named 'sub/mine'"),
        ("..mine", "TypeError: the 'package' argument is required to perform a relative import"),
        ("a\0b", "ModuleNotFoundError: No module named 'a\\x00b'"),
    ],
)
def test_a_module_that_is_not_there_is_named(refusal, target, error):
    """The import's own error is told, in one line."""
    spec = f"{target}:Agent"
    assert refusal(spec).startswith(f"agent {spec!r} cannot be imported: {error}")


@pytest.mark.parametrize("attribute", ["Nothing", "Agent.Nothing", "Agent.act.x", ".Agent", "A b"])
@pytest.mark.parametrize("target", ["mine", "mine.py"])
def test_an_attribute_that_is_not_there_is_named(write, refusal, target, attribute):
    """A typo in the factory's name is told with the module it was looked for in."""
    write("mine.py")
    message = refusal(f"{target}:{attribute}")
    assert message.startswith(f"agent '{target}:{attribute}': mine")
    assert message.endswith(f" has no {attribute!r}")


def test_a_module_that_answers_oddly_is_an_error_too(write, refusal):
    """A module whose own `__getattr__` raises does not end the program."""
    write("mine.py", "def __getattr__(name):\n    raise RuntimeError(name)\n")
    assert "'mine.py:Agent'" in refusal("mine.py:Agent")


@pytest.mark.parametrize(
    ("value", "kind"),
    [("3", "int"), ("'text'", "str"), ("{}", "dict"), ("__import__('sys')", "module")],
)
def test_what_cannot_be_called_is_no_factory(write, refusal, value, kind):
    """The error names the attribute and its type."""
    write("mine.py", f"thing = {value}\n")
    expected = f"agent 'mine.py:thing': 'thing' is {kind}, not a factory"
    assert refusal("mine.py:thing") == expected


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("def make(model): ...", "model"),
        ("def make(a=1, *, model): ...", "model"),
        ("make = lambda model: None", "model"),
        ("class make:\n    def __init__(self, model): ...", "model"),
        ("class make:\n    def __new__(cls, model): ...", "model"),
        ("class A:\n    def act(self, seen): ...\nmake = A.act", "self"),
        ("class A:\n    def act(self, seen): ...\nmake = A().act", "seen"),
        ("import functools\nmake = functools.partial(lambda a, model: 1, 2)", "model"),
    ],
)
def test_a_factory_with_required_arguments_is_refused(write, refusal, code, missing):
    """A factory is called without arguments; the one that is missing is named."""
    write("mine.py", code + "\n")
    assert refusal("mine.py:make") == (
        "agent 'mine.py:make': the factory is called without arguments, "
        f"but missing a required argument: {missing!r}"
    )


RAISES = {
    "RuntimeError: no key": "raise RuntimeError('no key')",
    "SystemExit: 3": "raise SystemExit(3)",
    "GeneratorExit": "raise GeneratorExit",
    "Odd: x": "class Odd(BaseException): ...\nraise Odd('x')",
    "ZeroDivisionError: division by zero": "1 / 0",
    "ImportError: cannot import name 'nothing' from 'json'": "from json import nothing",
    "ModuleNotFoundError: No module named 'nothing'": "import nothing",
    "MemoryError: x": "raise MemoryError('x')",
    "StopIteration": "next(iter(()))",
}


@pytest.mark.parametrize("target", ["mine", "mine.py"])
@pytest.mark.parametrize("error", RAISES)
def test_whatever_an_import_raises_is_told_with_its_place(write, refusal, target, error):
    """Any exception of the user's module becomes one line that names file and line."""
    path = write("mine.py", RAISES[error] + "\n")
    message = refusal(f"{target}:Agent")
    assert message.startswith(f"agent '{target}:Agent' cannot be imported: {error}")
    assert f"{path}, line {len(RAISES[error].splitlines())}" in message


@pytest.mark.parametrize("target", ["mine", "mine.py"])
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x = 1\ndef (:\n", "SyntaxError: invalid syntax (mine.py, line 2)"),
        ("x = 1\n\tif\n", "IndentationError: unexpected indent (mine.py, line 2)"),
        (b"x = 1\ny = '\xff'\n", "SyntaxError: (unicode error) 'utf-8' codec can't decode"),
        (b"x = '\0'\n", "SyntaxError: source code string cannot contain null bytes"),
    ],
    ids=case_id,
)
def test_a_file_that_is_no_python_is_told_with_its_line(write, refusal, target, text, error):
    """A syntax error is told in one line."""
    write("mine.py", text)
    message = refusal(f"{target}:Agent")
    assert message.startswith(f"agent '{target}:Agent' cannot be imported: {error}")


@pytest.mark.parametrize(
    "code",
    [
        "class E(Exception):\n    def __str__(self): raise RuntimeError('no text')\nraise E",
        "class E(Exception):\n    def __str__(self): raise SystemExit(3)\nraise E",
        "class E(Exception):\n    def __str__(self): return None\nraise E",
        r"raise ValueError('a\nb\rc\x0bd\x0ce\x1cf\x85g\u2028h\u2029i')",
        "raise ValueError('x' * 10**7)",
    ],
)
def test_an_exception_with_a_hostile_text_is_still_one_line(write, refusal, code):
    """Neither a text that raises, nor line breaks of any kind, nor megabytes get through."""
    write("mine.py", code + "\n")
    message = refusal("mine.py:Agent")
    assert message.startswith("agent 'mine.py:Agent' cannot be imported: ")
    assert len(message) < 10_000


@pytest.mark.parametrize("target", ["mine", "mine.py"])
def test_ctrl_c_during_an_import_is_not_the_agents_fault(write, target):
    """Who interrupts a slow import interrupts the program."""
    write("mine.py", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_agent(f"{target}:Agent")
