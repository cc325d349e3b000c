"""All checks, in the order in which they are told, each on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emberbench_dist.doctor import cluster, disk, machine
from emberbench_dist.doctor.finding import PROBLEM, Asked, Check, Finding

CHECKS: tuple[Check, ...] = (
    machine.python,
    machine.package,
    machine.pyarrow,
    machine.extras,
    machine.cpus,
    machine.memory,
    machine.shared_memory,
    machine.open_files,
    machine.temporary_folder,
    machine.surroundings,
    disk.sqlite,
    disk.disk,
    cluster.ray,
)


def examine(asked: Asked, checks: Sequence[Check] = CHECKS) -> Iterator[Finding]:
    """Yield what each check finds; one that fails itself is a problem, and the others go on."""
    for check in checks:
        name = check.__name__.replace("_", " ")
        try:
            yield from check(asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other checks go on
            told = " ".join(f"{type(error).__name__}: {error}".split())
            yield Finding(name, PROBLEM, f"the check itself failed: {told}", "report it")
