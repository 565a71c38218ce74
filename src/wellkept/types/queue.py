"""Queued writes and the result of flushing them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from wellkept.frozen import frozen
from wellkept.types.results import WriteResult
from wellkept.types.words import Json, OnConflict


@frozen(kw_only=True)
class QueuedWrite:
    """A write that waits in the queue.

    Attributes:
        id: Id of the queue entry; not the id of a memory.
        store: The store it is for.
        namespace: The namespace it will be written to.
        session: The session it was made in; empty outside one.
        lot: The `deferred` block it was collected in; empty outside one.
        actor: Who made the write, for the journal.
        at: When the write was queued.
        statement: The fields of the `NewMemory`, as JSON.
        on_conflict: The `on_conflict` of the call; None for the policy's.
        attempts: Number of failed attempts.
        error: The error of the last attempt; empty when there was none.
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


@frozen
class Flushed:
    """The result of flushing the queue, in the order of the calls.

    Attributes:
        results: The write result of each entry written.
        failed: Entries that could not be written; they stay in the queue for the next attempt.
    """

    results: tuple[WriteResult, ...] = ()
    failed: tuple[QueuedWrite, ...] = ()
