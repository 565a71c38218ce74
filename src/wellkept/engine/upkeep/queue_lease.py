"""The lease of a store that many machines share: a row in the queue of jobs of its database.

One row, of no namespace, is taken, renewed and given up as a worker does with a job; what `turn` says tells a
holder that slept that somebody else has taken over. Beside it stands a row for each job of each namespace that
came to its end. The database's clock alone says when the lease ends and when a job ran.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from wellkept.core.records.codec import iso
from wellkept.engine.base.context import Clock, Context, NewId
from wellkept.engine.upkeep.lease import LEASE_SECONDS, FileLease, Lease, holder_name
from wellkept.errors import StorageError
from wellkept.storage.port import JobQueue, Queueing
from wellkept.types.jobs import WHOLE_STORE, QueuedJob

KIND = "upkeep"
"""The kind of the row that is held."""
_RAN = "ran "
"""Leads the kind of a row that says when a job came to its end."""
_TRIES = 3


def lease_of(ctx: Context, file: Path | None = None) -> Lease | None:
    """The lease of a store: in its database, else in this file; None where there is neither.

    Args:
        ctx: The store.
        file: Where the lease is kept when the backend has no queue of jobs.

    Raises:
        NotPermitted: The login may not use the queue of jobs.

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
    """A lease in a queue of jobs.

    Args:
        queue: Where its rows are.
        clock: The time of this process, in which `ran` answers.
        new_id: Makes the name of this holder unlike that of any other.
        seconds: How long the lease outlives its holder.

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
        """How far the queue's clock is ahead of ours, as the last taking told."""

    def take(self) -> str:
        """See `Lease.take`."""
        if self._job is not None:
            if self._queue.renew(self._job, seconds=self.seconds):
                return ""
            # Somebody had it meanwhile, perhaps to its end: whoever slept may not go on as if nothing had happened.
            held = _held(self._row())
            self._job = None  # not before: were the row not to be had, the next call must find it lost as well
            return held or "another process has held it meanwhile"
        for _ in range(_TRIES):
            asked = self._clock()
            job = self._queue.claim([KIND], holder=self._holder, seconds=self.seconds, namespace=WHOLE_STORE)
            if job is not None:
                self._job = job
                # From before the call: a job that just ran must not seem to run in a time to come.
                self._ahead = job.due - timedelta(seconds=self.seconds) - asked
                return ""
            if held := _held(self._row()):
                return held
            self._queue.put(KIND, [WHOLE_STORE])
        return "others take it and give it up at this moment"

    def release(self) -> None:
        """See `Lease.release`."""
        job, self._job = self._job, None
        if job is None:
            return
        try:
            self._queue.finish(job, seq=0, report={})
        except StorageError:  # the work is done, and the lease ends by itself
            return

    def ran(self) -> dict[str, datetime]:
        """See `Lease.ran`; by this process's clock, if the lease was taken."""
        rows = self._queue.jobs(namespace=WHOLE_STORE)
        return {
            job.kind.removeprefix(_RAN): job.finished - self._ahead
            for job in rows
            if job.finished is not None and job.kind.startswith(_RAN)
        }

    def advance(self, job: str, at: datetime) -> None:
        """See `Lease.advance`; `at` is told by the queue's own clock instead, which all who share it agree on."""
        self._queue.note(_RAN + job, WHOLE_STORE)

    def _row(self) -> QueuedJob | None:
        rows = self._queue.jobs(kinds=[KIND], namespace=WHOLE_STORE)
        return rows[0] if rows else None


def _held(row: QueuedJob | None) -> str:
    if row is None or row.state != "running":
        return ""
    return f"held by {row.holder} until {iso(row.due)}"
