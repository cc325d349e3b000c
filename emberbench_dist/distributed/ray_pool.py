"""The pool on Ray: plain actors, Ray's own restarts and retries off, dead ones replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ray
from ray import exceptions

from emberbench_dist.distributed.worker import Setup, Worker
from emberbench_dist.errors import ClusterError
from emberbench_dist.evaluation.manifest import Episode
from emberbench_dist.runner.pool import Event, Finished, Joined, Lost
from emberbench_dist.runner.schedule import WorkerId

_MAX_FAILED_STARTS = 3
# Lost with its node, not by its own doing: nothing is charged to an episode.
_NODE_LOSS = ("its node has died", "node was terminated", "preempted", "raylet died")


class RayPool:
    """A number of workers, each one actor process on one CPU."""

    def __init__(self, setup: Setup, workers: int) -> None:
        """Ask for `workers` actors; they join as they get ready."""
        self._setup = ray.put(setup)
        self._actor_class = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Worker)
        self._actors: dict[WorkerId, Any] = {}
        self._calls: dict[Any, tuple[WorkerId, bool]] = {}
        self._next_id = 0
        self._failed_starts = 0
        for _ in range(workers):
            self._start()

    def submit(self, worker: WorkerId, episodes: list[Episode], budget: float) -> None:
        """Queue a batch on the worker's actor."""
        call = self._actors[worker].play.remote(episodes, budget)
        self._calls[call] = (worker, True)

    def wait(self, timeout: float) -> list[Event]:
        """Return what became ready; several answers come together where they are there."""
        calls = list(self._calls)
        ready, waiting = ray.wait(calls, num_returns=1, timeout=timeout)
        if waiting and ready:
            more, _ = ray.wait(waiting, num_returns=len(waiting), timeout=0)
            ready += more
        # In the order of submission: answers of one worker come in its order.
        arrived = set(ready)
        in_order = [call for call in calls if call in arrived]
        return [event for call in in_order for event in self._receive(call)]

    def close(self) -> None:
        """End every worker."""
        for actor in self._actors.values():
            ray.kill(actor)
        self._actors.clear()
        self._calls.clear()

    def _start(self) -> None:
        worker, self._next_id = self._next_id, self._next_id + 1
        actor: Any = self._actor_class.remote(self._setup)
        self._actors[worker] = actor
        self._calls[actor.ready.remote()] = (worker, False)

    def _receive(self, call: Any) -> Iterator[Event]:
        """Yield the answer; nothing where the worker was found dead by an earlier call."""
        if call not in self._calls:
            return
        worker, is_batch = self._calls.pop(call)
        try:
            answer = ray.get(call)
        except exceptions.RayError as error:
            yield self._replace(worker, error, started=is_batch)
            return
        if is_batch:
            yield Finished(worker, answer)
        else:
            self._failed_starts = 0
            yield Joined(worker)

    def _replace(self, worker: WorkerId, error: Exception, *, started: bool) -> Lost:
        """Forget a dead worker with all its calls, and start another."""
        reason = _in_one_line(error)
        if not started:
            self._failed_starts += 1
            if self._failed_starts >= _MAX_FAILED_STARTS:
                raise ClusterError(f"workers cannot be started: {reason}") from error
        self._actors.pop(worker, None)
        self._calls = {call: who for call, who in self._calls.items() if who[0] != worker}
        self._start()
        return Lost(worker, reason, charged=started and not _is_node_loss(error))


def _is_node_loss(error: Exception) -> bool:
    lost = (
        exceptions.NodeDiedError,
        exceptions.ObjectLostError,
        exceptions.LocalRayletDiedError,
    )
    return isinstance(error, lost) or any(mark in str(error) for mark in _NODE_LOSS)


def _in_one_line(error: Exception) -> str:
    """Return what happened: the last line of Ray's report, without its list of guesses."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (lines or [type(error).__name__])[-1]
    return text.partition(" Some common causes")[0]
