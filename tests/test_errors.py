"""The error tree."""

from __future__ import annotations

import inspect

import pytest

from emberbench_dist import errors
from emberbench_dist.errors import EmberBenchError, EpisodeFailedError, ReplayError

TREE = {
    "EmberBenchError": ("Exception",),
    "ScenarioError": ("EmberBenchError",),
    "MapError": ("EmberBenchError",),
    "ManifestError": ("EmberBenchError",),
    "ObservationFormatError": ("EmberBenchError",),
    "SimulationError": ("EmberBenchError",),
    "InvalidActionError": ("EmberBenchError",),
    "ModelOutputError": ("InvalidActionError",),
    "ReplayError": ("EmberBenchError",),
    "EvaluationError": ("EmberBenchError",),
    "AgentSpecError": ("EvaluationError",),
    "RemoteAgentError": ("EvaluationError",),
    "AgentTimeoutError": ("RemoteAgentError", "TimeoutError"),
    "EpisodeFailedError": ("EvaluationError",),
    "RunFolderError": ("EmberBenchError",),
    "DiskFullError": ("RunFolderError",),
    "LedgerError": ("RunFolderError",),
    "ArtifactError": ("EmberBenchError",),
    "ClusterError": ("EmberBenchError",),
    "PublishError": ("EmberBenchError",),
    "UploadError": ("PublishError",),
}


def test_the_tree_is_pinned():
    """Each error class and its bases are exactly these."""
    found = {
        name: tuple(base.__name__ for base in member.__bases__)
        for name, member in vars(errors).items()
        if inspect.isclass(member)
    }
    assert found == TREE


def test_every_error_is_public():
    """The module exports each error, sorted, and nothing else."""
    assert errors.__all__ == sorted(TREE)


@pytest.mark.parametrize("name", sorted(TREE))
def test_one_except_clause_catches_every_error(name):
    """Whatever this package raises is an `EmberBenchError` that shows its message."""
    with pytest.raises(EmberBenchError) as caught:
        raise getattr(errors, name)("what, where and what to do")
    assert str(caught.value) == "what, where and what to do"


def test_replay_error_keeps_the_diverging_step():
    """A replay error carries the first step that diverged, or None for what comes before."""
    assert ReplayError("differs", step=7).step == 7
    assert ReplayError("differs").step is None


def test_episode_failed_error_keeps_the_failure():
    """A failed episode carries what was known in the worker."""
    failure = object()
    assert EpisodeFailedError("failed", failure=failure).failure is failure
    assert EpisodeFailedError("failed").failure is None


@pytest.mark.parametrize("name", sorted(TREE))
def test_every_error_says_when_it_is_raised(name):
    """Each error class has its own docstring."""
    assert getattr(errors, name).__dict__["__doc__"]
