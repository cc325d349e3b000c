"""Verification: true results pass, and of any other the first wrong place is named, never more."""

from __future__ import annotations

from collections import deque
from contextlib import closing, contextmanager
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import played
from tampering import TAMPERING, edited

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.artifact import write_artifact
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.errors import ArtifactError
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.evaluation.verify import Verifier
from emberbench_dist.runner.evaluate import evaluate
from emberbench_dist.runner.pool import Finished, InProcessPool, Joined
from emberbench_dist.runner.verify import Verified, verify_files
from manifests import hall, write_manifest

COUNT = 16


@pytest.fixture(scope="module")
def true(manifest):
    """Return artifact and traces of an undisturbed run, as lines with their newlines."""
    result = evaluate(manifest, Greedy)
    return result.artifact.splitlines(keepends=True), result.traces.splitlines(keepends=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return where artifact and traces are written."""
    folder = tmp_path_factory.mktemp("verified")
    return folder / "artifact.jsonl", folder / "traces.jsonl"


def in_this_process(manifest):
    """Return how to open a pool of this process."""

    @contextmanager
    def open_pool():
        with closing(InProcessPool(Verifier(manifest.scenarios).verify)) as pool:
            yield pool

    return open_pool


def verify(manifest, files, artifact, traces, **options):
    """Write both files and verify them."""
    for path, lines in zip(files, (artifact, traces), strict=True):
        path.write_bytes(lines if isinstance(lines, bytes) else b"".join(lines))
    return verify_files(manifest, *files, in_this_process(manifest), **options)


def test_a_true_result_is_verified(manifest, files, true):
    """An artifact with its traces passes; count, completeness and hash are told."""
    done = []
    verified = verify(manifest, files, *true, report=done.append)
    assert verified == Verified(COUNT, complete=True, sha256=sha256(b"".join(true[0])).hexdigest())
    assert done[-1] == COUNT


@pytest.mark.parametrize("count", [0, 1, 7, 15])
def test_an_incomplete_result_is_verified(manifest, files, count):
    """The prefix of an interrupted run passes, an empty one too, and is told as incomplete."""
    with closing(Ledger.create(None, {})) as ledger:
        ledger.begin_session("any")
        ledger.commit(played(manifest, [*range(count), *range(count + 1, COUNT)]))
        with files[0].open("wb") as artifact, files[1].open("wb") as traces:
            write_artifact(manifest, ledger, artifact, traces)
    verified = verify_files(manifest, *files, in_this_process(manifest))
    assert (verified.episodes, verified.complete) == (count, False)


@pytest.mark.parametrize(("tamper", "told"), TAMPERING.values(), ids=TAMPERING)
def test_tampering_is_named(manifest, files, true, tamper, told):
    """Whatever is changed in either file, the first place where it shows is named in one line."""
    with pytest.raises(ArtifactError, match=told) as caught:
        verify(manifest, files, *tamper(*true))
    assert str(caught.value).startswith(str(files[0].parent))
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 500


@given(st.data())
def test_no_changed_byte_goes_unnoticed(manifest, files, true, data):
    """Any one byte that changes in either file is found, by our error, which names the file."""
    texts = [b"".join(lines) for lines in true]
    which = data.draw(st.integers(0, 1))
    place = data.draw(st.integers(0, len(texts[which]) - 1))
    flip = data.draw(st.integers(1, 255))
    texts[which] = (
        texts[which][:place] + bytes([texts[which][place] ^ flip]) + texts[which][place + 1 :]
    )
    with pytest.raises(ArtifactError, match=r"(artifact|traces)\.jsonl: line \d+"):
        verify(manifest, files, *texts)


@given(st.data())
def test_no_cut_goes_unnoticed(manifest, files, true, data):
    """A file without its end is never taken for a shorter result."""
    texts = [b"".join(lines) for lines in true]
    which = data.draw(st.integers(0, 1))
    texts[which] = texts[which][: data.draw(st.integers(0, len(texts[which]) - 1))]
    with pytest.raises(ArtifactError, match=r"(artifact|traces)\.jsonl: line \d+"):
        verify(manifest, files, *texts)


@given(st.binary(max_size=200), st.binary(max_size=200), st.booleans())
def test_garbage_is_refused(manifest, files, true, artifact, traces, headed):
    """Any bytes at all are an error of ours, also behind a true header."""
    with pytest.raises(ArtifactError):
        verify(manifest, files, (true[0][0] if headed else b"") + artifact, traces)


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Return a manifest of more episodes than one batch has, with a true result."""
    manifest = load_manifest(
        write_manifest(
            tmp_path_factory.mktemp("long"),
            [(hall("small", people=1, steps=4), {"first": 1, "count": 230})],
        )
    )
    result = evaluate(manifest, Greedy)
    lines = result.artifact.splitlines(keepends=True), result.traces.splitlines(keepends=True)
    return manifest, *lines


def test_of_several_wrong_places_the_first_is_named(files, long):
    """However far apart they are: the first wrong line is named, not what ends the file later."""
    manifest, lines, traces = long
    for later in (lambda lines: lines[:-1], lambda lines: [*lines, b"{}\n"], lambda lines: lines):
        wrong = {number: edited(lines[number], "seed", 0) for number in (7, 90, 200)}
        forged = later([wrong.get(number, line) for number, line in enumerate(lines)])
        with pytest.raises(ArtifactError, match=r"line 8 \(episode 6\): seed is 0"):
            verify(manifest, files, forged, traces)


class Backwards:
    """Two workers, of whom the later one always answers first."""

    def __init__(self, job):
        """Do `job` here."""
        self._job = job
        self._queues = {0: deque(), 1: deque()}
        self._events = [Joined(0), Joined(1)]

    def submit(self, worker, items, budget):
        """Keep the batch."""
        self._queues[worker].append((items, budget))

    def wait(self, timeout):
        """Answer the oldest batch of the later worker that has one."""
        assert timeout > 0
        events, self._events = self._events, []
        if events:
            return events
        worker = max(worker for worker, queue in self._queues.items() if queue)
        return [Finished(worker, self._job(*self._queues[worker].popleft()))]


def test_the_order_of_answers_does_not_show(files, long):
    """Whoever answers first: the result is the same, and so is the place that is named."""
    manifest, lines, traces = long
    verifier = Verifier(manifest.scenarios)

    @contextmanager
    def backwards():
        yield Backwards(verifier.verify)

    files[0].write_bytes(b"".join(lines))
    files[1].write_bytes(b"".join(traces))
    assert verify_files(manifest, *files, backwards).episodes == 230
    wrong = {number: edited(lines[number], "seed", 0) for number in (60, 140, 200)}
    files[0].write_bytes(b"".join(wrong.get(number, line) for number, line in enumerate(lines)))
    with pytest.raises(ArtifactError, match=r"line 61 \(episode 59\): seed is 0"):
        verify_files(manifest, *files, backwards)


def test_another_manifest_is_refused(files, long, true):
    """A result is verified only against its own manifest."""
    with pytest.raises(ArtifactError, match="line 1: is not the header of manifest test"):
        verify(long[0], files, *true)


@pytest.mark.parametrize("which", [0, 1])
def test_a_file_that_cannot_be_read_is_named(manifest, tmp_path, which):
    """A missing file, or a folder in its place, is an error that names it."""
    files = [tmp_path / "artifact.jsonl", tmp_path / "traces.jsonl"]
    for path in files:
        path.write_bytes(b"")
    files[which].unlink()
    with pytest.raises(ArtifactError, match=rf"{files[which]}: cannot be read: No such file"):
        verify_files(manifest, *files, in_this_process(manifest))
    files[which].mkdir()
    with pytest.raises(ArtifactError, match=rf"{files[which]}: cannot be read: Is a directory"):
        verify_files(manifest, *files, in_this_process(manifest))


def test_verifying_takes_no_longer_than_it_may(manifest, true):
    """A worker gives back what it did not get to within its time, after one claim at the least."""
    from emberbench_dist.evaluation.verify import Claim

    claims = [
        Claim(manifest.episode(index), true[0][index + 1][:-1], true[1][index][:-1])
        for index in range(COUNT)
    ]
    verifier = Verifier(manifest.scenarios)
    assert [verdict.episode for verdict in verifier.verify(claims, 0.0)] == [0]
    verdicts = verifier.verify(claims, float("inf"))
    assert [(verdict.episode, verdict.wrong) for verdict in verdicts] == [
        (index, "") for index in range(COUNT)
    ]
