"""Verification: true results pass, and of any other the first wrong place is named, never more."""

from __future__ import annotations

import json
from collections import deque
from contextlib import closing, contextmanager
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import played

from emberbench_dist.agents.baselines import Greedy
from emberbench_dist.artifacts.artifact import write_artifact
from emberbench_dist.artifacts.ledger import Ledger
from emberbench_dist.contract.canonical import canonical_json
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


def edited(line, place, value):
    """Return a line in canonical form with another value at a place such as `people.0.step`."""
    document = json.loads(line)
    *above, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    parent = document
    for key in above:
        parent = parent[key]
    parent[last] = value
    return canonical_json(document).encode() + b"\n"


def sealed(lines):
    """Return an artifact whose footer has the hash of what stands before it."""
    *body, footer = lines
    digest = sha256(b"".join(body)).hexdigest()
    return [*body, edited(footer, "body_sha256", digest)]


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
        ledger.commit(played(manifest, [*range(count), *range(count + 1, COUNT)]))
        with files[0].open("wb") as artifact, files[1].open("wb") as traces:
            write_artifact(manifest, ledger, artifact, traces)
    verified = verify_files(manifest, *files, in_this_process(manifest))
    assert (verified.episodes, verified.complete) == (count, False)


def replaced(number, make):
    """Return how to replace a line of the artifact and seal it again."""
    return lambda lines, traces: (
        sealed([*lines[:number], make(lines[number]), *lines[number + 1 :]]),
        traces,
    )


def retraced(number, make):
    """Return how to replace a line of the traces."""
    return lambda lines, traces: (
        lines,
        [*traces[:number], make(traces[number]), *traces[number + 1 :]],
    )


def swapped(lines, first, second):
    """Return lines with two of them exchanged."""
    lines = list(lines)
    lines[first], lines[second] = lines[second], lines[first]
    return lines


def with_steps(lines, traces, make):
    """Return a result whose episode 4 has its actions in another form, with the hash of that."""
    document = json.loads(traces[4])
    actions = make(document["actions"])
    digest = sha256(canonical_json({"actions": actions}).encode()).hexdigest()
    lines = [*lines[:5], edited(lines[5], "trace_sha256", digest), *lines[6:]]
    return sealed(lines), [*traces[:4], edited(traces[4], "actions", actions), *traces[5:]]


A, T = r"artifact\.jsonl: line {}", r"traces\.jsonl: line {}"
EPISODE_4 = r"artifact\.jsonl: line 6 \(episode 4\): "
TAMPERING = {
    "metric": (
        replaced(5, lambda line: edited(line, "metrics.moved", 99)),
        EPISODE_4 + r"metrics\.moved is 99, but the replay gives \d+$",
    ),
    "rate": (
        replaced(5, lambda line: edited(line, "metrics.evacuation_rate", 0.5)),
        EPISODE_4 + r"metrics\.evacuation_rate is 0\.5, but the replay gives [01]\.0$",
    ),
    "missing metric": (
        replaced(5, lambda line: line.replace(b'"moved":', b'"mowed":')),
        EPISODE_4 + r"metrics\.moved is null, but the replay gives \d+$",
    ),
    "person": (
        replaced(5, lambda line: edited(line, "people.0.status", "casualty")),
        EPISODE_4 + r"people\[0\]\.status is 'casualty', but the replay gives '\w+'$",
    ),
    "position": (
        replaced(8, lambda line: edited(line, "people.1.position", [0, 0])),
        r"line 9 \(episode 7\): people\[1\]\.position\[\d\] is 0, but the replay gives \d+$",
    ),
    "one person less": (
        replaced(8, lambda line: edited(line, "people", json.loads(line)["people"][:1])),
        r"line 9 \(episode 7\): people is .{1,70}, but the replay gives .{1,70}$",
    ),
    "seed": (
        replaced(1, lambda line: edited(line, "seed", 1)),
        A.format(2) + r" \(episode 0\): seed is 1, but the replay gives 18446744073709551615$",
    ),
    "final state": (
        replaced(5, lambda line: edited(line, "final_state_sha256", "0" * 64)),
        EPISODE_4 + "final_state_sha256 is '0",
    ),
    "trace hash": (
        replaced(5, lambda line: edited(line, "trace_sha256", "0" * 64)),
        EPISODE_4 + "trace_sha256 is '0",
    ),
    "white space": (
        replaced(5, lambda line: line.replace(b":", b": ", 2).replace(b": ", b":", 1)),
        EPISODE_4 + "the line is not in canonical form$",
    ),
    "carriage return": (
        replaced(5, lambda line: line[:-1] + b"\r\n"),
        EPISODE_4 + "the line is not in canonical form$",
    ),
    "float for an integer": (
        replaced(5, lambda line: line.replace(b'"blocked_wall":0', b'"blocked_wall":0.0')),
        EPISODE_4 + "the line is not in canonical form$",
    ),
    "no JSON": (replaced(5, lambda _: b'{"episode":4\n'), EPISODE_4 + "the line is not JSON$"),
    "deep JSON": (
        replaced(5, lambda _: b'{"episode":' + b"[" * 10**5 + b"\n"),
        EPISODE_4 + "the line is not JSON$",
    ),
    "swapped lines": (
        lambda lines, traces: (sealed(swapped(lines, 5, 6)), traces),
        EPISODE_4 + "episode is 5, but the replay gives 4$",
    ),
    "swapped traces": (
        lambda lines, traces: (lines, swapped(traces, 4, 5)),
        EPISODE_4 + "the trace cannot be read: it is of episode 5$",
    ),
    "swapped both": (
        lambda lines, traces: (sealed(swapped(lines, 5, 6)), swapped(traces, 4, 5)),
        EPISODE_4 + "the trace cannot be read: it is of episode 5$",
    ),
    "line twice": (
        lambda lines, traces: (sealed([*lines[:6], *lines[5:]]), [*traces[:5], *traces[4:]]),
        A.format(7) + r" \(episode 5\): the trace cannot be read: it is of episode 4$",
    ),
    "line gone": (
        lambda lines, traces: (sealed([*lines[:5], *lines[6:]]), traces),
        EPISODE_4 + "episode is 5, but the replay gives 4$",
    ),
    "trace gone": (
        lambda lines, traces: (lines, traces[:-1]),
        T.format(16) + ": is missing or cut off$",
    ),
    "extra trace": (
        lambda lines, traces: (lines, [*traces, b"{}\n"]),
        T.format(17) + ": the artifact has no such episode$",
    ),
    "extra episode": (
        lambda lines, traces: (
            sealed([*lines[:-1], lines[-2].replace(b":15,", b":16,", 1), lines[-1]]),
            [*traces, traces[-1].replace(b":15}", b":16}")],
        ),
        A.format(18) + ": the manifest has fewer episodes$",
    ),
    "cut within a line": (
        lambda lines, traces: ([*lines[:5], lines[5][:-9]], traces),
        A.format(6) + ": is cut off$",
    ),
    "cut trace": (
        lambda lines, traces: (lines, [*traces[:4], traces[4][:-1]]),
        T.format(5) + ": is missing or cut off$",
    ),
    "no footer": (
        lambda lines, traces: (lines[:-1], traces),
        A.format(18) + ": is not a footer$",
    ),
    "cut footer": (
        lambda lines, traces: ([*lines[:-1], lines[-1][:-9]], traces),
        A.format(18) + ": is not a footer$",
    ),
    "footer without its newline": (
        lambda lines, traces: ([*lines[:-1], lines[-1][:-1]], traces),
        A.format(18) + ": the footer is not canonical$",
    ),
    "deep footer": (
        lambda lines, traces: ([*lines[:-1], b"[" * 10**5], traces),
        A.format(18) + ": is not a footer$",
    ),
    "list for a footer": (
        lambda lines, traces: ([*lines[:-1], b"[]\n"], traces),
        A.format(18) + ": is not a footer$",
    ),
    "after the footer": (
        lambda lines, traces: ([*lines, b"\n"], traces),
        A.format(18) + ": is no episode and not the last$",
    ),
    "two footers": (
        lambda lines, traces: ([*lines, lines[-1]], traces),
        A.format(18) + ": is no episode and not the last$",
    ),
    "empty line": (
        lambda lines, traces: (sealed([*lines[:5], b"\n", *lines[5:]]), traces),
        A.format(6) + ": is no episode and not the last$",
    ),
    "header": (
        replaced(0, lambda line: edited(line, "simulator_version", "0.1.0")),
        A.format(1) + ": is not the header of manifest test under this version$",
    ),
    "header key": (
        replaced(0, lambda line: edited(line, "agent", "me")),
        A.format(1) + ": is not the header of manifest test under this version$",
    ),
    "header space": (
        replaced(0, lambda line: b" " + line),
        A.format(1) + ": is not the header of manifest test under this version$",
    ),
    "nothing": (lambda *_: ([], []), A.format(1) + ": is not the header"),
    "hash": (
        lambda lines, traces: ([*lines[:-1], edited(lines[-1], "body_sha256", "0" * 64)], traces),
        A.format(18) + ": the footer is wrong in body_sha256$",
    ),
    "total": (
        lambda lines, traces: ([*lines[:-1], edited(lines[-1], "totals.moved", 1)], traces),
        A.format(18) + ": the footer is wrong in totals$",
    ),
    "mean": (
        lambda lines, traces: (
            [*lines[:-1], edited(lines[-1], "totals.mean_episode_evacuation_rate", 0.5)],
            traces,
        ),
        A.format(18) + ": the footer is wrong in totals$",
    ),
    "complete": (
        lambda lines, traces: ([*lines[:-1], edited(lines[-1], "complete", False)], traces),
        A.format(18) + ": the footer is wrong in complete$",
    ),
    "committed": (
        lambda lines, traces: ([*lines[:-1], edited(lines[-1], "committed", 15)], traces),
        A.format(18) + ": the footer is wrong in committed$",
    ),
    "extra key": (
        lambda lines, traces: ([*lines[:-1], edited(lines[-1], "agent", "me")], traces),
        A.format(18) + ": the footer is not canonical$",
    ),
    "footer space": (
        lambda lines, traces: ([*lines[:-1], lines[-1].replace(b":", b": ")], traces),
        A.format(18) + ": the footer is not canonical$",
    ),
    "other steps": (
        retraced(4, lambda line: edited(line, "actions.0", ".")),
        EPISODE_4 + r"(final_state_sha256 is|the trace cannot be replayed: )",
    ),
    "unknown action": (
        retraced(4, lambda line: edited(line, "actions.0", "x")),
        EPISODE_4 + "the trace cannot be replayed: ",
    ),
    "too many actions": (
        retraced(4, lambda line: edited(line, "actions.0", "nn")),
        EPISODE_4 + "the trace cannot be replayed: step 0: the trace has 2 actions for 1 active",
    ),
    "a step too many": (
        retraced(4, lambda line: line.replace(b"]", b',""]')),
        EPISODE_4 + "the trace cannot be replayed: ",
    ),
    "a step too few": (
        retraced(4, lambda line: edited(line, "actions", json.loads(line)["actions"][:-1])),
        EPISODE_4 + r"the trace cannot be replayed: step \d: the trace ends before the episode$",
    ),
    "a number for a step": (
        retraced(4, lambda line: edited(line, "actions.0", 1)),
        EPISODE_4 + "the trace cannot be read: it is not a list of texts$",
    ),
    "a text for all steps, and its hash": (
        lambda lines, traces: with_steps(lines, traces, "".join),
        EPISODE_4 + "the trace cannot be read: it is not a list of texts$",
    ),
    "an object for all steps, and its hash": (
        lambda lines, traces: with_steps(lines, traces, dict.fromkeys),
        EPISODE_4 + "the trace cannot be read: it is not a list of texts$",
    ),
    "a number for all steps": (
        retraced(4, lambda line: edited(line, "actions", 7)),
        EPISODE_4 + "the trace cannot be read: ",
    ),
    "no steps": (
        retraced(4, lambda _: b'{"episode":4}\n'),
        EPISODE_4 + "the trace cannot be read: 'actions'$",
    ),
    "no trace": (retraced(4, lambda _: b"\n"), EPISODE_4 + "the trace cannot be read: "),
    "deep trace": (
        retraced(4, lambda _: b"[" * 10**5 + b"\n"),
        EPISODE_4 + "the trace cannot be read: ",
    ),
    "trace of bytes": (
        retraced(4, lambda _: b"\xff\xfe\n"),
        EPISODE_4 + "the trace cannot be read: ",
    ),
    "trace of surrogates": (
        retraced(4, lambda line: edited(line, "actions.0", "\ud800")),
        EPISODE_4 + "the trace cannot be replayed: ",
    ),
    "trace space": (
        retraced(4, lambda line: line.replace(b":", b": ")),
        EPISODE_4 + "the trace line is not in canonical form$",
    ),
    "trace key": (
        retraced(4, lambda line: edited(line, "agent", "me")),
        EPISODE_4 + "the trace line is not in canonical form$",
    ),
}


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
