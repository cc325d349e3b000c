"""What a place holds at every instant of a publication, and what its list says of it."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from emberbench_dist.artifacts.publishing.copying import PUBLISHED, claim, copy, local_file
from emberbench_dist.errors import PublishError, UploadError

NAMES = ("artifact.jsonl", "traces.jsonl", "steps.parquet", "run.json")
RUN = {"manifest_id": "m", "agent_spec": "a", "started": "then", "host": "here"}
OTHER = {**RUN, "started": "earlier"}


class Shelf:
    """A store in memory that looks at its own list after each change, and may fail."""

    def __init__(self, files=(), fails_at=None):
        """Hold some files; fail once, at an operation of this number."""
        self.files = dict(files)
        self.puts = []
        self.is_private = True
        self._fails_at = fails_at
        self._operations = 0

    def size(self, name):
        """Return the size of a file; None where there is none."""
        self._operate()
        return len(self.files[name]) if name in self.files else None

    def read(self, name):
        """Yield a file."""
        self._operate()
        yield self.files[name]

    def put(self, name, chunks):
        """Keep a file."""
        content = b"".join(chunks)
        self._operate()
        self.files[name] = content
        self.puts.append(name)
        if self.is_private:
            self.require_truth()

    def remove(self, name):
        """Forget a file."""
        self._operate()
        del self.files[name]
        self.require_truth()

    def listed(self):
        """Return the files of the list."""
        return json.loads(self.files[PUBLISHED])["files"] if PUBLISHED in self.files else {}

    def require_truth(self):
        """Everything that is listed is there, as it is listed."""
        for name, told in self.listed().items():
            content = self.files[name]
            assert told == {"sha256": sha256(content).hexdigest(), "size": len(content)}

    def _operate(self):
        self._operations += 1
        if self._operations == self._fails_at:
            raise PublishError("the store is gone")


@pytest.fixture
def files(tmp_path):
    """Write three files of a run; it has no steps."""
    for name in ("artifact.jsonl", "traces.jsonl", "run.json"):
        (tmp_path / name).write_text(f"this is {name}\n")
    return [local_file(tmp_path / name, print) for name in NAMES if (tmp_path / name).exists()]


def publish(store, files, run=RUN, *, overwrite=False):
    """Claim the place and copy, as a publication does."""
    claim(store, run, NAMES, overwrite=overwrite)
    return copy(store, run, files, NAMES, lambda _: None)


def contents(files):
    """Return what is to be there."""
    return {file.name: file.path.read_bytes() for file in files}


def test_the_list_comes_last(files):
    """Every file is there before the list that names it, which is truthful all the time."""
    store = Shelf()
    assert publish(store, files) == [file.name for file in files]
    assert store.puts[2:] == [*(file.name for file in files), PUBLISHED]
    assert store.listed().keys() == contents(files).keys()
    assert {name: store.files[name] for name in store.listed()} == contents(files)


def test_what_is_there_is_left(files):
    """The second time nothing is copied, and the list stays as it is."""
    store = Shelf()
    publish(store, files)
    before, store.puts = dict(store.files), []
    assert publish(store, files) == []
    assert (store.files, store.puts) == (before, [PUBLISHED])


def test_what_has_changed_of_the_same_run_is_copied(files):
    """A file that the run has written anew is replaced, and only that."""
    store = Shelf()
    publish(store, files)
    store.puts = []
    files[-1].path.write_text("another session\n")
    again = [*files[:-1], local_file(files[-1].path, print)]
    assert publish(store, again) == ["run.json"]
    assert store.puts == [PUBLISHED, PUBLISHED, "run.json", PUBLISHED]
    assert store.files["run.json"] == b"another session\n"


def test_a_changed_copy_of_the_same_size_is_found(files):
    """What is there is read back, not believed by its size."""
    store = Shelf()
    publish(store, files)
    store.files["traces.jsonl"] = store.files["traces.jsonl"].upper()
    store.is_private = False
    assert publish(store, files) == ["traces.jsonl"]
    assert store.files["traces.jsonl"] == contents(files)["traces.jsonl"]


def test_a_publication_may_end_anywhere(files):
    """After a failure at any operation the list is truthful, and the next one completes it."""
    for operation in range(1, 100):
        store = Shelf(fails_at=operation)
        try:
            publish(store, files)
            break
        except PublishError:
            store.require_truth()
            publish(store, files)
        assert {name: store.files[name] for name in store.listed()} == contents(files)
    assert 15 < operation < 99


def test_what_arrives_otherwise_is_not_listed(files):
    """A store that changes a byte is found out, and its file is not listed."""

    class Liar(Shelf):
        def put(self, name, chunks):
            flipped = name == "traces.jsonl"
            super().put(name, [chunk.swapcase() if flipped else chunk for chunk in chunks])

    store = Liar()
    with pytest.raises(UploadError, match=r"traces\.jsonl: arrived otherwise"):
        publish(store, files)
    assert store.listed() == {}


def test_another_run_is_left_alone(files):
    """A place that lists another run, or is being filled by one, is refused by its name."""
    store = Shelf()
    publish(store, files, OTHER)
    before = dict(store.files)
    for run in (RUN, None):
        with pytest.raises(PublishError, match=r"a run of m with a \(begun earlier on here\)"):
            claim(store, run, NAMES)
    assert store.files == before


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ({"traces.jsonl": b"mine"}, r"a traces\.jsonl is there already; .* --overwrite"),
        ({PUBLISHED: b"[]"}, "did not write"),
        ({PUBLISHED: b"\xff"}, "did not write"),
        ({PUBLISHED: b'{"published_version":"2.0","run":null,"files":{}}'}, "did not write"),
    ],
)
def test_files_of_somebody_else_are_left_alone(there, told):
    """What no list of ours speaks of is not replaced."""
    store = Shelf(there)
    with pytest.raises(PublishError, match=told):
        claim(store, RUN, NAMES)
    assert store.files == there
    assert publish(store, [], overwrite=True) == []
    assert store.listed() == {}


def test_a_place_that_was_only_tried_is_free(files):
    """The check before a run leaves a list of nothing, which keeps nobody out."""
    store = Shelf()
    claim(store, None, NAMES)
    assert store.files.keys() == {PUBLISHED}
    claim(store, None, NAMES)
    assert publish(store, files)


def test_overwriting_replaces_another_run_and_what_it_had_more(files):
    """With `overwrite` the place holds this run alone; other files stay."""
    store = Shelf({"steps.parquet": b"of another", "artifact.jsonl": b"other", "README": b"kept"})
    publish(store, files, overwrite=True)
    assert store.files.keys() - {PUBLISHED} == {*contents(files), "README"}
    with pytest.raises(PublishError, match="is there already"):
        publish(store, files, OTHER)
    publish(store, files, OTHER, overwrite=True)
    assert json.loads(store.files[PUBLISHED])["run"] == OTHER
