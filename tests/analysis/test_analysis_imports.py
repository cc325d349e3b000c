"""What importing the analysis loads: no library, and no Ray."""

from __future__ import annotations

import subprocess
import sys


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
