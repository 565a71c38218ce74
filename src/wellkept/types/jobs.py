"""Background jobs: maintenance tasks per namespace that any worker can take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.frozen import frozen
from wellkept.types.words import Json

QueueState: TypeAlias = Literal["idle", "due", "running", "failed"]
"""`idle` waits for changes or its due time; `failed` is not retried until someone requests it."""
QUEUE_STATES: tuple[QueueState, ...] = ("idle", "due", "running", "failed")
WHOLE_STORE = "/"
"""Stands in place of a namespace for jobs of the whole store. No namespace can have this name."""


@frozen(kw_only=True)
class Cadence:
    """When a job of one kind is due in a namespace.

    A namespace where the job never ran is due at once. So is one whose journal is shorter than at the last
    pass, because it was restored to an older state.

    Attributes:
        kind: Kind of the job.
        changes: Due after this many journal entries since the last pass; 0 turns this off.
        every: Due this many seconds after the last pass; None turns this off.
        idle: True when elapsed time is enough; False when there must also be new journal entries.
    """

    kind: str
    changes: int = 0
    every: float | None = None
    idle: bool = False


@frozen(kw_only=True)
class QueuedJob:
    """A job of a namespace, with the result of its last pass. There is one per kind.

    Attributes:
        namespace / kind: Namespace and kind of the job.
        state: State of the job.
        due: Earliest time a worker may take the job; while it is leased, the end of the lease.
        holder: The worker that holds the lease; empty when there is none.
        turn: Number of the lease, counted up each time the job is taken.
        attempts: How often the job was taken since it last finished.
        seq: The last journal entry covered by the last finished pass.
        finished: When the last pass finished.
        error: Error message of the last failed attempt.
        progress: Progress of the running pass, in words.
        report: Figures of the last pass.
    """

    namespace: str
    kind: str
    state: QueueState
    due: datetime
    holder: str = ""
    turn: int = 0
    attempts: int = 0
    seq: int = 0
    finished: datetime | None = None
    error: str = ""
    progress: str = ""
    report: Mapping[str, Json] = field(default_factory=dict)
