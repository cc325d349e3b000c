"""Steps per second of POGEMA; run by the Python of its own environment, so it imports nothing else.

Arguments: size, agents, steps. Resetting is not measured.
"""

from __future__ import annotations

import random
import sys
import time

from pogema import GridConfig, pogema_v0


def main() -> None:
    """Print the steps of one second of CPU time."""
    size, agents, steps = map(int, sys.argv[1:])
    config = GridConfig(
        size=size,
        num_agents=agents,
        density=0.2,
        seed=1,
        max_episode_steps=10**9,
        on_target="nothing",
        collision_system="soft",
        observation_type="MAPF",
    )
    world = pogema_v0(config)
    world.reset()
    rng = random.Random(1)
    script = [[rng.randrange(5) for _ in range(agents)] for _ in range(steps)]
    start = time.process_time()
    for actions in script:
        world.step(actions)
    print(steps / (time.process_time() - start))


if __name__ == "__main__":
    main()
