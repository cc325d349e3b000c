"""The public names of packages: each resolves, and is imported when it is used."""

from __future__ import annotations

from importlib import import_module

import pytest

from emberbench_dist import analysis, rl
from emberbench_dist.agents import remote

PACKAGES = (analysis, remote, rl)
NAMES = [(package, name) for package in PACKAGES for name in sorted(package.__all__)]
HOMES = [(package, home) for package in PACKAGES for home in sorted(set(package._HOME.values()))]


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_every_public_name_resolves(package, name):
    """A public name is what its home calls by that name."""
    home = import_module(f"{package.__name__}.{package._HOME[name]}")
    assert getattr(package, name) is getattr(home, name)


@pytest.mark.parametrize(("package", "home"), HOMES)
def test_no_name_is_hidden_by_a_module(package, home):
    """A module of a public name would stand in its place once anybody imports it."""
    assert home not in package.__all__


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_listed(package):
    """The names are those that `dir` tells; another one is an attribute error."""
    assert dir(package) == sorted(package.__all__)
    told = f"module '{package.__name__}' has no attribute 'everything'"
    with pytest.raises(AttributeError, match=told):
        package.everything  # noqa: B018 - the look-up is what is tested
