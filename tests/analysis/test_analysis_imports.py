"""The public names of the analysis: each resolves, is imported when used, and needs no Ray."""

from __future__ import annotations

import subprocess
import sys

import pytest

from emberbench_dist import analysis


@pytest.mark.parametrize("name", sorted(analysis.__all__))
def test_every_public_name_resolves(name):
    """A public name is what its home calls by that name."""
    home = __import__(f"emberbench_dist.analysis.{analysis._HOME[name]}", fromlist=[name])
    assert getattr(analysis, name) is getattr(home, name)


@pytest.mark.parametrize("home", sorted(set(analysis._HOME.values())))
def test_no_name_is_hidden_by_a_module(home):
    """A module of a public name would stand in its place once anybody imports it."""
    assert home not in analysis.__all__


def test_public_names_are_listed():
    """The names are those that `dir` tells; another one is an attribute error."""
    assert dir(analysis) == sorted(analysis.__all__)
    with pytest.raises(AttributeError, match="no attribute 'load_everything'"):
        analysis.load_everything  # noqa: B018 - the look-up is what is tested


def test_importing_the_analysis_loads_no_library():
    """The package itself is the standard library alone."""
    script = "import sys; import emberbench_dist.analysis; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert not {"pandas", "numpy", "scipy", "pyarrow", "ray"} & set(loaded)


def test_the_analysis_needs_no_ray():
    """Loading and comparing import neither Ray nor what distributes runs."""
    names = "load_episodes, compare, scores"
    script = f"import sys; from emberbench_dist.analysis import {names}; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert not {"ray", "emberbench_dist.distributed"} & set(loaded)
