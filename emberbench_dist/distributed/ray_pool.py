"""The pool on Ray: plain actors, Ray's own restarts and retries off, dead ones replaced."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import ray
from ray import exceptions

from emberbench_dist.distributed.nodes import Nodes, is_node_loss
from emberbench_dist.distributed.places import Places
from emberbench_dist.distributed.watch import Watch
from emberbench_dist.distributed.worker import Setup, Worker
from emberbench_dist.errors import ClusterError
from emberbench_dist.runner.pool import LINGER_SECONDS, Event, Finished, Joined, Lost
from emberbench_dist.runner.schedule import WorkerId

_MAX_FAILED_STARTS = 3
_PATIENCE_SECONDS = 5.0
_LOOK_SECONDS = 3.0
_GLANCE_SECONDS = 0.5
_YIELD_SECONDS = 10.0
_END_SECONDS = 5.0


class RayPool:
    """A number of workers, each one actor process.

    A setup says what each takes of the cluster and how many batches it works on at once. `workers`
    None is as many as there is room for, at least one; where the cluster is `shared`, that follows
    nodes that join and leave, and places are given up, one after the other, that somebody else
    waits for. `fresh` gives every batch a process of its own. `gone` says what of Ray itself has
    died, `nodes` which nodes to keep away from.
    """

    linger = LINGER_SECONDS

    def __init__(
        self,
        setup: Setup,
        workers: int | None,
        *,
        fresh: bool = False,
        shared: bool = False,
        gone: Watch = lambda: "",
        nodes: Nodes | None = None,
    ) -> None:
        """Ask for the actors; they join as they get ready."""
        self._setup = ray.put(setup)
        needs = {"CPU": setup.cpus, "GPU": setup.gpus} if setup.gpus else {"CPU": setup.cpus}
        self._places = Places(needs)
        self._actor_class: Any = ray.remote(max_restarts=0, max_task_retries=0)(Worker)
        self._options: dict[str, Any] = {
            "num_cpus": setup.cpus,
            "num_gpus": setup.gpus,
            # Above 1 each call has a thread of Ray's own; 1 stays in the main thread.
            "max_concurrency": setup.concurrency,
            # A node that is lost takes few workers along.
            "scheduling_strategy": "SPREAD",
        }
        self._fixed = workers if shared else workers or max(1, self._places.in_all())
        self._fresh = fresh
        # A worker that plays many episodes at once is never free to go.
        self._steadfast = bool(self._fixed) or fresh or setup.concurrency > 1
        self._gone = gone
        self._nodes = nodes
        self._avoided = frozenset[str]()
        self._actors: dict[WorkerId, Any] = {}
        # Whose call it is, and, for the first one, since when the worker has been starting.
        self._calls: dict[Any, tuple[WorkerId, float | None]] = {}
        self._next_id = 0
        self._failed_starts = 0
        self._next_look = self._next_yield = 0.0
        self._yields = False
        self._follow()

    def submit(self, worker: WorkerId, items: list[Any], budget: float) -> None:
        """Queue a batch on the worker's actor.

        Batches and answers travel pickled: Ray would ask Python about each of their objects.
        """
        call = self._actors[worker].work.remote(pickle.dumps(items), budget)
        self._calls[call] = (worker, None)

    def wait(self, timeout: float) -> list[Event]:
        """Return what became ready; several answers come together where they are there."""
        self._follow()
        calls = list(self._calls)
        ready, waiting = ray.wait(calls, num_returns=1, timeout=timeout)
        if waiting and ready:
            more, _ = ray.wait(waiting, num_returns=len(waiting), timeout=0)
            ready += more
        # In the order of submission: answers of one worker come in its order. What it answered
        # before it died is not lost with it.
        arrived = set(ready)
        answers = [(call, _answer(call)) for call in calls if call in arrived]
        answers.sort(key=lambda entry: isinstance(entry[1], Exception))
        return [event for call, answer in answers for event in self._receive(call, answer)]

    def note(self) -> str:
        """Say how many workers wait for a place, once they have waited for some seconds."""
        starting, unfit = self._starting(), self._nodes.note() if self._nodes else ""
        if time.monotonic() - min(starting.values(), default=float("inf")) < _PATIENCE_SECONDS:
            return unfit
        total, placed = len(self._actors), len(self._actors) - len(starting)
        self._require_ray()
        return f"{placed} of {total} workers placed: {self._places.lacks()}"

    def require_place(self) -> None:
        """Raise `ClusterError` where nothing but waiting would come of it: no worker fits."""
        if not self._places.in_all():
            raise ClusterError(f"no worker fits on this machine: {self._places.lacks()}")

    def close(self) -> None:
        """End every worker; where Ray dies at the same time, that would wait for a minute."""
        ender = Thread(target=_kill, args=(list(self._actors.values()),), daemon=True)
        ender.start()
        ender.join(_END_SECONDS)
        self._actors.clear()
        self._calls.clear()

    def _follow(self) -> None:
        """Look after the cluster now and then; keep as many actors as it should be."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_SECONDS
        if gone := self._gone():
            self._actors.clear()
            raise ClusterError(f"Ray has died: {gone} is gone")
        wanted, starting = self._fixed or self._room(), list(self._starting())
        for _ in range(wanted - len(self._actors)):
            self._start()
        # The last ones first: the others may have a place, and need long to start.
        for worker in starting[::-1][: max(0, len(self._actors) - wanted)]:
            self._end(worker)
        self._give_way()
        if self._nodes and self._nodes.are_asked():
            self._next_look = time.monotonic() + _GLANCE_SECONDS

    def _require_ray(self) -> None:
        """Raise `ClusterError` where Ray has died: a question to it would not be answered."""
        if gone := self._gone():
            raise ClusterError(f"Ray has died: {gone} is gone")

    def _give_way(self) -> None:
        """Let the next worker that has finished a batch go, where its place is waited for."""
        if self._steadfast or self._starting() or time.monotonic() < self._next_yield:
            return
        if len(self._actors) > 1 and self._places.are_asked_for():
            self._yields = True
            self._next_yield = time.monotonic() + _YIELD_SECONDS

    def _room(self) -> int:
        """Return for how many workers there is room beside what others do on the cluster."""
        starting = len(self._starting())
        ready = len(self._actors) - starting
        places = self._places.in_all(self._closed())
        return max(1, min(places, ready + max(starting, self._places.free())))

    def _closed(self) -> frozenset[str]:
        """Return the nodes that may have no worker, or not yet."""
        if self._nodes is None:
            return frozenset()
        self._require_ray()
        self._nodes.look()
        return self._nodes.closed()

    def _starting(self) -> dict[WorkerId, float]:
        """Return which workers are not ready yet, the oldest first, and since when."""
        return {worker: since for worker, since in self._calls.values() if since is not None}

    def _start(self) -> None:
        worker, self._next_id = self._next_id, self._next_id + 1
        self._avoided = self._closed()
        elsewhere = {"ray.io/node-id": f"!in({','.join(sorted(self._avoided))})"}
        options = self._options | ({"label_selector": elsewhere} if self._avoided else {})
        actor: Any = self._actor_class.options(**options).remote(self._setup, worker)
        self._actors[worker] = actor
        self._calls[actor.ready.remote()] = (worker, time.monotonic())

    def _receive(self, call: Any, answer: Any) -> Iterator[Event]:
        """Tell of an answer; of nothing where the worker was found dead by an earlier call."""
        if call not in self._calls:
            return
        position = self._of(self._calls[call][0]).index(call)
        worker, starting_since = self._calls.pop(call)
        is_batch = starting_since is None
        if isinstance(answer, Exception):
            yield self._replace(worker, answer, started=is_batch)
            return
        if not is_batch:
            self._failed_starts = 0
            yield Joined(worker)
            return
        yield Finished(worker, pickle.loads(answer), position)  # noqa: S301 - from our own worker
        if self._fresh:
            self._end(worker)
            self._start()
            yield Lost(worker, "it has done its one batch", charged=False)
        elif self._yields:
            self._yields = False
            self._end(worker)
            yield Lost(worker, "its place is asked for", charged=False)

    def _replace(self, worker: WorkerId, error: Exception, *, started: bool) -> Lost:
        """Forget a dead worker with all its calls; start another where it has left its place."""
        reason, node_loss = _in_one_line(error), is_node_loss(error)
        # On a node that has just joined, a start may fail before the node is closed.
        if not started and not node_loss and self._closed() <= self._avoided:
            self._failed_starts += 1
            if self._failed_starts >= _MAX_FAILED_STARTS:
                raise ClusterError(f"workers cannot be started: {reason}") from error
        self._forget(worker)
        if self._fixed or not node_loss:
            self._start()
        return Lost(worker, reason, charged=started and not node_loss)

    def _of(self, worker: WorkerId) -> list[Any]:
        """Return the calls of a worker, the oldest first."""
        return [call for call, (whose, _) in self._calls.items() if whose == worker]

    def _end(self, worker: WorkerId) -> None:
        ray.kill(self._actors[worker])
        self._forget(worker)

    def _forget(self, worker: WorkerId) -> None:
        self._actors.pop(worker, None)
        self._calls = {call: who for call, who in self._calls.items() if who[0] != worker}


def _kill(actors: list[Any]) -> None:
    for actor in actors:
        ray.kill(actor)


def _answer(call: Any) -> Any:
    """Return what a call has answered, or the error with which its worker was lost."""
    try:
        return ray.get(call)
    except exceptions.RayError as error:
        return error


def _in_one_line(error: Exception) -> str:
    """Return what happened: the last line of Ray's report, without its list of guesses."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (lines or [type(error).__name__])[-1]
    return text.partition(" Some common causes")[0]
