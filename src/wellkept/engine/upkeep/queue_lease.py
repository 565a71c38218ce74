"""The lease of a store shared by several machines: a row in the job queue of its database.

One row, without a namespace, is taken, renewed and released like a job; its `turn` shows a holder that was
suspended that another one has taken over. Further rows record when each job of each namespace last finished.
Only the database's clock decides when the lease ends and when a job ran.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from pathlib import Path

from wellkept.core.records.codec import iso
from wellkept.engine.base.context import Clock, Context, NewId
from wellkept.engine.upkeep.lease import LEASE_SECONDS, FileLease, Lease, holder_name
from wellkept.errors import StorageError
from wellkept.storage.port import JobQueue, Queueing
from wellkept.types.jobs import WHOLE_STORE, QueuedJob

KIND = "upkeep"
"""The kind of the lease row."""
_RAN = "ran "
"""Prefix of the kind of rows that record when a job finished."""
_PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28)
"""Seconds between the attempts to claim a row that another process has locked for a statement."""


def lease_of(ctx: Context, file: Path | None = None) -> Lease | None:
    """The lease of a store: in its database, else in this file; None without either.

    Args:
        ctx: The store.
        file: Where the lease is kept when the backend has no job queue.

    Raises:
        NotPermitted: The login may not use the job queue.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     lease_of(store._ctx) is None
        True
    """
    if isinstance(ctx.storage, Queueing):
        return QueueLease(ctx.storage.queue(), clock=ctx.clock, new_id=ctx.new_id)
    return None if file is None else FileLease(file, clock=ctx.clock, new_id=ctx.new_id)


class QueueLease:
    """A lease in a job queue.

    Args:
        queue: The job queue.
        clock: The clock of this process, used for the results of `ran`.
        new_id: Makes the holder name unique.
        seconds: How long the lease lasts without renewal.

    Example:
        >>> import wellkept
        >>> from wellkept.engine.upkeep.job_queue import queue_of
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     ctx, queue = store._ctx, queue_of(store._ctx)
        ...     ours, theirs = (QueueLease(queue, clock=ctx.clock, new_id=ctx.new_id) for _ in range(2))
        ...     ours.take(), theirs.take()[:8], ours.release(), theirs.take()
        ('', 'held by ', None, '')
    """

    def __init__(self, queue: JobQueue, *, clock: Clock, new_id: NewId, seconds: float = LEASE_SECONDS) -> None:
        self.seconds = seconds
        self._queue = queue
        self._clock = clock
        self._holder = holder_name(new_id)
        self._job: QueuedJob | None = None
        self._ahead = timedelta()
        """How far the queue's clock is ahead of the clock of this process, measured when the lease was taken."""

    def take(self) -> str:
        """See `Lease.take`."""
        if self._job is not None:
            if self._queue.renew(self._job, seconds=self.seconds):
                return ""
            # Another holder had the lease in the meantime: a suspended holder must not continue.
            held = _held(self._row())
            self._job = None  # only after reading the row: if that fails, the next call must detect the loss as well
            return held or "another process has held it meanwhile"
        for pause in (*_PAUSES, 0.0):
            asked = self._clock()
            job = self._queue.claim([KIND], holder=self._holder, seconds=self.seconds, namespace=WHOLE_STORE)
            if job is not None:
                self._job = job
                # Measured before the call, so that a job that just ran never seems to run in the future.
                self._ahead = job.due - timedelta(seconds=self.seconds) - asked
                return ""
            row = self._row()
            if held := _held(row):
                return held
            if row is None or row.state != "due":
                # Even a `put` that changes nothing locks the row, and a claim skips a locked row: of many who ask at
                # once, the last to put it must find it unlocked.
                self._queue.put(KIND, [WHOLE_STORE])
            else:  # a claim or a `put` of another process has locked the row and is not committed
                time.sleep(pause)
        return "others take it and give it up at this moment"

    def release(self) -> None:
        """See `Lease.release`."""
        job, self._job = self._job, None
        if job is None:
            return
        try:
            self._queue.finish(job, seq=0, report={})
        except StorageError:  # the work is done, and the lease expires by itself
            return

    def ran(self) -> dict[str, datetime]:
        """See `Lease.ran`; in this process's clock, if the lease was taken."""
        rows = self._queue.jobs(namespace=WHOLE_STORE)
        return {
            job.kind.removeprefix(_RAN): job.finished - self._ahead
            for job in rows
            if job.finished is not None and job.kind.startswith(_RAN)
        }

    def advance(self, job: str, at: datetime) -> None:
        """See `Lease.advance`; the shared clock of the queue is used in place of `at`."""
        self._queue.note(_RAN + job, WHOLE_STORE)

    def _row(self) -> QueuedJob | None:
        rows = self._queue.jobs(kinds=[KIND], namespace=WHOLE_STORE)
        return rows[0] if rows else None


def _held(row: QueuedJob | None) -> str:
    if row is None or row.state != "running":
        return ""
    return f"held by {row.holder} until {iso(row.due)}"
