"""The public names of `rl`: each resolves, and is imported when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from emberbench_dist import rl


@pytest.mark.parametrize("name", sorted(rl.__all__))
def test_every_public_name_resolves(name):
    """A public name is what its home calls by that name."""
    home = __import__(f"emberbench_dist.rl.{rl._HOME[name]}", fromlist=[name])
    assert getattr(rl, name) is getattr(home, name)


@pytest.mark.parametrize("home", sorted(set(rl._HOME.values())))
def test_no_name_is_hidden_by_a_module(home):
    """A module of a public name would stand in its place once anybody imports it."""
    assert home not in rl.__all__


def test_public_names_are_listed():
    """The names are those that `dir` tells; another one is an attribute error."""
    assert dir(rl) == sorted(rl.__all__)
    with pytest.raises(AttributeError, match="no attribute 'aec_env'"):
        rl.aec_env  # noqa: B018 - the look-up is what is tested


def test_importing_the_package_loads_no_library():
    """The package itself is the standard library alone."""
    script = "import sys; import emberbench_dist.rl; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert not {"numpy", "gymnasium", "pettingzoo", "ray"} & set(loaded)
