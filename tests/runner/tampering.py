"""Every kind of tampering with a result, and what verification has to say of it."""

from __future__ import annotations

import json
from hashlib import sha256

from emberbench_dist.contract.canonical import canonical_json


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
