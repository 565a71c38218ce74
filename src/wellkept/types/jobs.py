"""Jobs: what is to be done in the namespaces of a store by whichever worker comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.types.words import Json

QueueState: TypeAlias = Literal["idle", "due", "running", "failed"]
"""`idle` waits for changes or for its time, `failed` has been given up until somebody asks for it again."""
QUEUE_STATES: tuple[QueueState, ...] = ("idle", "due", "running", "failed")
WHOLE_STORE = "/"
"""Stands for a namespace where a job is the store's own. No namespace can be called so, and no worker meets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """When a job of a kind is due in a namespace.

    A namespace that never had one is due at once. One whose journal has become shorter was put back to an
    older state, and is due too.

    Attributes:
        kind: Which one.
        changes: Due after so many journal entries since the last pass; 0 for not by changes.
        every: Due so many seconds after the last pass; None for not by time.
        idle: Whether time alone is enough; otherwise something must have changed since.
    """

    kind: str
    changes: int = 0
    every: float | None = None
    idle: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """A job of a namespace: there is one of each kind, and it keeps what the last pass told.

    Attributes:
        namespace / kind: Which one.
        state: Where it stands.
        due: From when on a worker may take it; while one has it, when its lease ends.
        holder: Who has it; empty when nobody does.
        turn: Of how manieth taking this is; whoever takes it after the lease has ended has another one.
        attempts: How often it was taken since it last came to its end.
        seq: The journal entry up to which the last pass has seen everything.
        finished: When the last pass came to its end.
        error: Why the last attempt failed.
        progress: How far whoever has it is, in words.
        report: The figures of the last pass.
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
