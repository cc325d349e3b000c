"""The error tree: a leaf that every layer may import."""

from __future__ import annotations

__all__ = [
    "AgentSpecError",
    "AgentTimeoutError",
    "ArtifactError",
    "ClusterError",
    "DiskFullError",
    "EmberBenchError",
    "EpisodeFailedError",
    "EvaluationError",
    "InvalidActionError",
    "LedgerError",
    "ManifestError",
    "MapError",
    "ModelOutputError",
    "ObservationFormatError",
    "PublishError",
    "RemoteAgentError",
    "ReplayError",
    "RunFolderError",
    "ScenarioError",
    "SimulationError",
    "UploadError",
]


class EmberBenchError(Exception):
    """Any error of this package; its message says what, where and what to do."""


class ScenarioError(EmberBenchError):
    """A scenario document that breaks a rule."""


class MapError(EmberBenchError):
    """A drawing or a map of another format that cannot become a scenario."""


class ManifestError(EmberBenchError):
    """An evaluation manifest that breaks a rule."""


class ObservationFormatError(EmberBenchError):
    """An observation text or object that is not in canonical form."""


class SimulationError(EmberBenchError):
    """A simulator used after its end, or a fire model that broke its contract."""


class InvalidActionError(EmberBenchError):
    """Actions that are not exactly one legal action per active person."""


class ModelOutputError(InvalidActionError):
    """Output of a decision model that the simulator would not accept."""


class ReplayError(EmberBenchError):
    """A run record that replay does not reproduce."""

    def __init__(self, message: str, step: int | None = None) -> None:
        """Keep the first diverging step (0: the initial state; None: the header)."""
        super().__init__(message)
        self.step = step


class EvaluationError(EmberBenchError):
    """An evaluation that broke the agent lifecycle or could not be set up."""


class AgentSpecError(EvaluationError):
    """An agent SPEC that does not lead to an agent factory."""


class RemoteAgentError(EvaluationError):
    """A program or a server that plays, and did not answer as one that can be asked."""


class AgentTimeoutError(RemoteAgentError, TimeoutError):
    """A program or a server that took longer to answer than it may."""


class EpisodeFailedError(EvaluationError):
    """An agent that failed in a worker process; carries what was known there."""

    def __init__(self, message: str, *, failure: object = None) -> None:
        """Keep the `Failure` record: episode, scenario, seed, step, type, message, traceback."""
        super().__init__(message)
        self.failure = failure


class RunFolderError(EmberBenchError):
    """A run folder that is missing, in use, of another run, or not writable."""


class DiskFullError(RunFolderError):
    """A disk or quota that is full: what is committed is safe, the run can be resumed."""


class LedgerError(RunFolderError):
    """A ledger that is corrupt, foreign, or of another schema."""


class ArtifactError(EmberBenchError):
    """An artifact or a table that cannot be written or read."""


class ClusterError(EmberBenchError):
    """Workers that could not be started, or were lost too often."""


class PublishError(EmberBenchError):
    """A place that a run cannot be published to: its URL, its store, or what it holds."""


class UploadError(PublishError):
    """A publication that was begun and did not come to its end; it can be repeated."""
