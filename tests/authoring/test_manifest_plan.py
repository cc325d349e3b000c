"""Seeds of a manifest: written as people write them, or drawn from a secret."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from builders import corridor

from emberbench_dist.authoring.plan import (
    manifest_document,
    manifest_page,
    parse_seeds,
    secret_seeds,
)
from emberbench_dist.contract.canonical import canonical_json
from emberbench_dist.contract.scenario import parse_scenario
from emberbench_dist.errors import ManifestError
from emberbench_dist.evaluation.manifest import parse_manifest

SECRET = b"correct horse battery"


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("7", [7]),
        ("3,1, 18446744073709551615", [3, 1, 2**64 - 1]),
        ("1..10000000", {"first": 1, "count": 10_000_000}),
        ("5..5", {"first": 5, "count": 1}),
        ("18446744073709551614..18446744073709551615", {"first": 2**64 - 2, "count": 2}),
    ],
)
def test_seeds_are_read(text, seeds):
    """A list stays a list, and a range with both ends stays a range."""
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "'' is no seed"),
        ("1,,2", "'' is no seed"),
        ("-1", "'-1' is no seed"),
        ("1.5", "'1.5' is no seed"),
        ("18446744073709551616", "'18446744073709551616' is no seed"),
        ("1...3", "'.3' is no seed"),
        ("1..", "'' is no seed"),
        ("\u0661", "is no seed"),
        ("3..1", "3 is after 1"),
    ],
)
def test_what_is_no_seed_is_refused(text, told):
    """Anything else is an error that shows what was given."""
    with pytest.raises(ManifestError) as caught:
        parse_seeds(text)
    assert str(caught.value).startswith(f"seeds {text!r}: ")
    assert told in str(caught.value)


def test_secret_seeds_are_what_the_page_says():
    """Seed i is the first eight bytes of the HMAC of label and index."""
    digest = hmac.new(SECRET, b"mine/corridor/2", hashlib.sha256).digest()
    seeds = secret_seeds(SECRET, "mine/corridor", 3)
    assert seeds[2] == int.from_bytes(digest[:8], "big")
    assert seeds == secret_seeds(SECRET, "mine/corridor", 5)[:3]
    assert not set(seeds) & set(secret_seeds(SECRET, "mine/hall", 3))
    assert not set(seeds) & set(secret_seeds(SECRET + b"!", "mine/corridor", 3))


def test_a_seed_is_drawn_once(monkeypatch):
    """A seed that comes again is left out, and the next takes its place."""
    drawn = iter([b"\0" * 8, b"\0" * 8, b"\0" * 7 + b"\1"])

    class Repeating:
        def digest(self):
            return next(drawn)

    monkeypatch.setattr(hmac, "new", lambda *_: Repeating())
    assert secret_seeds(SECRET, "mine", 2) == [0, 1]


@pytest.mark.parametrize("secret", [b"", b"x" * 15])
def test_a_secret_is_long_enough(secret):
    """A secret that can be tried out is refused, without being shown."""
    with pytest.raises(ManifestError) as caught:
        secret_seeds(secret, "mine", 1)
    assert str(caught.value).startswith(f"the secret has {len(secret)} bytes;")
    assert "xx" not in str(caught.value)


def test_a_plan_is_a_manifest(tmp_path):
    """The document of scenarios and blocks is a manifest with these episodes."""
    scenario = parse_scenario(corridor())
    (tmp_path / "a.json").write_text(canonical_json(corridor()))
    name = scenario.scenario_id
    blocks = [(name, [3, 2**64 - 1]), (name, {"first": 10, "count": 10_000_000})]
    text = manifest_page(manifest_document("mine", "All.", {"a.json": scenario}, blocks))
    manifest = parse_manifest(text.encode(), tmp_path, source="mine.json")
    assert len(manifest) == 10_000_002
    assert [manifest.episode(index).seed for index in (0, 1, 2)] == [3, 2**64 - 1, 10]
    assert (manifest.manifest_id, manifest.description) == ("mine", "All.")
