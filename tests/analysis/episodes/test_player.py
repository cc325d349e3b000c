"""The player's fragment: complete, safe in any page, small, and the same bytes every time."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from html.parser import HTMLParser

import pytest
from truth import ODD_IDS, SEEDS

from emberbench_dist.analysis.episodes.playback import DEEDS, playbacks
from emberbench_dist.analysis.episodes.player import pack, page_of, player_section
from emberbench_dist.errors import EvaluationError, ManifestError


class Elements(HTMLParser):
    """The elements of a page, their attributes, and the texts of its scripts."""

    def __init__(self, text):
        """Read a page to its end."""
        super().__init__()
        self.found, self.open, self.scripts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Note an element."""
        self.found.append((tag, dict(attrs)))
        if tag not in ("input", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Require that the innermost element ends first."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Note what a script holds."""
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def unpacked(text):
    """Return what is behind compressed data."""
    return json.loads(zlib.decompress(b64decode(text)))


def test_a_fragment_is_whole(runs):
    """Every element is closed, and ids of people end no script and start no comment."""
    elements = Elements(player_section(runs, [2]))
    assert elements.open == []
    assert [tag for tag, _ in elements.found].count("script") == 2
    data, program = elements.scripts
    (episode,) = json.loads(data)["episodes"]
    assert episode["scenario"] == "odd-hall"
    assert "</" not in program
    assert "<!--" not in data + program


def test_a_fragment_refers_to_nothing(runs):
    """No attribute and no style leads out of the page."""
    text = player_section(runs, range(3))
    for _, attributes in Elements(text).found:
        assert not {"src", "href", "action", "srcset", "id"} & attributes.keys()
    assert "url(" not in text
    assert "@import" not in text
    assert "http" not in text


def test_people_keep_their_ids(runs):
    """Whatever is allowed in an id arrives as it is."""
    data = pack(playbacks(runs, [2]))
    world = unpacked(data["worlds"]["odd-hall"])
    assert [name for name, _ in world["people"]] == sorted(ODD_IDS)


def test_labels_are_data(runs):
    """A label of a run cannot end the script either."""
    odd = [("</script><script>alert(1)</script>", folder) for _, folder in runs]
    elements = Elements(player_section(odd, [2]))
    assert json.loads(elements.scripts[0])["runs"] == [label for label, _ in odd]


def test_the_same_runs_give_the_same_bytes(runs):
    """Nothing of time or chance is in a fragment; an episode named twice is there once."""
    assert player_section(runs, [2, 0]) == player_section(runs, [2, 0, 2])
    assert player_section(runs, [2, 0]) != player_section(runs, [0, 2])


def test_seeds_are_exact(runs):
    """A seed that JavaScript cannot count to arrives as text."""
    data = pack(playbacks(runs, [0, 1]))
    assert [episode["seed"] for episode in data["episodes"]] == [str(seed) for seed in SEEDS]


def test_headlines_are_the_metrics(runs):
    """Each run's numbers are those of its artifact line."""
    data = pack(playbacks(runs, [1]))
    (plays,) = playbacks(runs, [1])
    (episode,) = data["episodes"]
    for play, result in zip(plays, episode["results"], strict=True):
        told = dict(zip(data["headlines"], result, strict=True))
        assert told == {name: play.metrics[name] for name in data["headlines"]}


def test_maps_and_fires_are_shared(runs):
    """A map is stored once a scenario, the fire once an episode, whatever the number of runs."""
    data = pack(playbacks(runs, range(3)))
    assert data["worlds"].keys() == {"labyrinth", "odd-hall"}
    for episode in data["episodes"]:
        scenes = unpacked(episode["data"])
        assert scenes.keys() == {"fire", "plays"}
        assert len(scenes["plays"]) == len(runs)
    alone = [pack(playbacks([run], [0]))["episodes"][0]["data"] for run in runs]
    together = pack(playbacks(runs, [0]))["episodes"][0]["data"]
    assert len(together) < 0.9 * sum(map(len, alone))


def test_a_letter_tells_each_deed():
    """Action and outcome fit in one letter that JSON does not escape."""
    assert len(set(DEEDS)) == len(DEEDS) == 29
    letters = [chr(ord("a") + number) for number in range(len(DEEDS))]
    assert json.dumps("".join(letters)) == f'"{"".join(letters)}"'


def test_an_episode_that_is_not_there_is_refused(runs):
    """The fragment raises what the playback raises."""
    with pytest.raises(ManifestError, match="there is no episode 9"):
        player_section(runs, [0, 9])


def test_a_player_needs_an_episode(runs):
    """Without any episode there is nothing to play."""
    with pytest.raises(EvaluationError, match="needs an episode"):
        player_section(runs, [])


def test_a_page_of_its_own_is_a_document(runs):
    """The page has a language, a title and a viewport, and the fragment once."""
    elements = Elements(page_of(playbacks(runs, [0])))
    assert ("html", {"lang": "en"}) in elements.found
    assert [tag for tag, _ in elements.found].count("section") == 1
    assert any(attributes.get("name") == "viewport" for _, attributes in elements.found)
