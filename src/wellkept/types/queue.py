"""Writes that wait in the queue, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from wellkept.types.results import WriteResult
from wellkept.types.words import Json, OnConflict


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedWrite:
    """One write that was put off: what was said, by whom, for which conversation, and what kept it waiting.

    Attributes:
        id: Its name in the queue; no memory has it.
        store: The store it was said to.
        namespace: Where it will be written.
        session: The conversation it was said in; empty outside one.
        lot: The `deferred` block it was collected in; empty outside one.
        actor: Who said it, for the journal.
        at: When it was said.
        statement: The fields of the `NewMemory`, as JSON has them.
        on_conflict: What the call asked for; None for what the policy says.
        attempts: How often it could not be written.
        error: Why not, the last time; empty when it was not tried.
    """

    id: str
    store: str
    namespace: str
    session: str = ""
    lot: str = ""
    actor: str = ""
    at: datetime
    statement: Mapping[str, Json]
    on_conflict: OnConflict | None = None
    attempts: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Flushed:
    """What became of the writes that had waited, in the order in which they were said.

    Attributes:
        results: What the gate made of each that was written.
        failed: Those that could not be written; they stay in the queue and are tried again.
    """

    results: tuple[WriteResult, ...] = ()
    failed: tuple[QueuedWrite, ...] = ()
