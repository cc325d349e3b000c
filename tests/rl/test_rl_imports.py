"""What importing the package of reinforcement learning loads."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_package_loads_no_library():
    """The package itself is the standard library alone."""
    script = "import sys; import emberbench_dist.rl; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert not {"numpy", "gymnasium", "pettingzoo", "ray"} & set(loaded)
