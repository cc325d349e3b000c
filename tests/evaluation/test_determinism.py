"""The bytes of an evaluation depend on manifest and behaviour, and on nothing around them."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys

import pytest

from emberbench_dist.agents.baselines import Counting, Greedy, Shuffle, Stay
from emberbench_dist.agents.registry import known_agents, load_agent
from emberbench_dist.evaluation.suites import find_manifest
from emberbench_dist.runner.evaluate import evaluate

SMOKE = find_manifest("smoke-v1")
# SHA-256 of artifact and traces of smoke-v1: the same on every platform and Python version.
PINNED = {
    "counting": (
        "34281cf1c92328e2b6f3d72d401afb6926978940cde93a448056881cec93f446",
        "a1625cdf02dd48423e24ca36779e5c487e53fe20ba31329961e857724c418d38",
    ),
    "fire-aware": (
        "3f4f3c90693d0d5fcdf9a2b915bea5ee76e45876f5d2b2c3793329a866be3cf8",
        "7b0dc35c0487ddf13a18d4d39ecdc852eeef2569aee1c88b686b4594bcab52ff",
    ),
    "flow": (
        "44ac975e23310f8a56f8e1bfaf61163f7b3ea5e9788d363c528a92c2ba4c5592",
        "a1a9d5eb22d1f48e90c6d86ee23f0e7dc0358840433a3c086020eb2a991baa14",
    ),
    "greedy": (
        "7bbdba23d01a37bb3ea9d7e91326d316a8e33907d240151b37cb8992b0358419",
        "eabecc2ccf93de71e2fc4758449ecd60ce585a78e167a8620e8bc95c7e0ee876",
    ),
    "lookahead": (
        "55f766709a4852cc0e348ea62b8b78bb206833901e70915f4bf3a8cb82fb67dc",
        "0fc5a6cc5af848fe28e17e21e07a8bcb1c772a67b2c5f23a46535ef6c4c1a6d3",
    ),
    "reserve": (
        "9f7b663ba9201f3d1c2bca30ff9437edce4b57a6a63f96e32d18c814ab80fc6b",
        "7afb89dbbb131c4b6138adfbac91525d100b7d4addbc9b870328bad716d1e756",
    ),
    "shuffle": (
        "b5dc8c7d8eae47066d8e49f0e11ec7d6639bbb448cc053309d0cb9c1cfe5173a",
        "f95452bc8e9c23a8a3e98f703e57d2bf248e518d8cfbd285c884e6fcb1e2931d",
    ),
    "stay": (
        "16f49f09155947086e22b2feb8cc1d5036eafb4e8e398bac5952240ccf927791",
        "826ce8d5a846a14c2f1a37970b392dfa0d9f41a8c129990bb66c7e37df804a1d",
    ),
}
PRINT_DIGESTS = """
import sys
from hashlib import sha256
from emberbench_dist.agents.registry import load_agent
from emberbench_dist.runner.evaluate import evaluate
for name in sys.argv[2:]:
    result = evaluate(sys.argv[1], load_agent(name))
    print(name, sha256(result.artifact).hexdigest(), sha256(result.traces).hexdigest())
"""


def digests(factory):
    """Return the SHA-256 of artifact and traces of smoke-v1."""
    result = evaluate(SMOKE, factory)
    return tuple(hashlib.sha256(data).hexdigest() for data in (result.artifact, result.traces))


@pytest.mark.parametrize("name", PINNED)
def test_the_bytes_of_the_baselines_are_pinned(name):
    """Each baseline gives the bytes that it has always given."""
    assert digests(load_agent(name)) == PINNED[name]


@pytest.mark.parametrize("agent", [Stay, Greedy, Counting, Shuffle])
def test_disturbed_global_generators_change_nothing(agent):
    """An agent may seed and draw from the global generator: nothing else ever uses it."""

    class Disturbing(agent):
        def __init__(self):
            random.seed(4)
            super().__init__()

        def act(self, observation):
            random.seed(observation.step)
            random.random()
            return super().act(observation)

    random.seed(11)
    assert digests(Disturbing) == PINNED[agent.__name__.lower()]


def test_the_global_generator_is_left_alone():
    """An evaluation neither draws from the global generator nor seeds it."""
    random.seed(5)
    before = random.getstate()
    evaluate(SMOKE, Shuffle)
    assert random.getstate() == before


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "4294967295", "TZ": "Pacific/Kiritimati"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "TZ": "America/St_Johns"},
        {"LC_ALL": "tr_TR.UTF-8", "PYTHONOPTIMIZE": "2"},
    ],
    ids=str,
)
def test_any_environment_gives_the_same_bytes(tmp_path, environment):
    """Hash seed, time zone, locale, optimisation and working folder show nowhere."""
    done = subprocess.run(
        [sys.executable, "-c", PRINT_DIGESTS, SMOKE, *PINNED],
        env={**os.environ, **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [
        word for name, pinned in PINNED.items() for word in (name, *pinned)
    ]


def test_every_built_in_agent_is_pinned():
    """No baseline is left out above."""
    assert set(PINNED) == set(known_agents())
