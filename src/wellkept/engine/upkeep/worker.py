"""Worker: takes a due job of some namespace from the queue, does it, and takes the next one.

Any number of workers, on any number of machines, share a queue. When a worker is killed, its lease expires and
another worker takes the job; steps already applied are recognised. The lease only avoids duplicate work; each
write's own transaction keeps two workers from harming each other.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from wellkept.core.records.codec import DAMAGE
from wellkept.engine.base.background import running
from wellkept.engine.base.context import Context
from wellkept.engine.upkeep.job_queue import LONGEST_LEASE
from wellkept.engine.upkeep.jobs import Errand, Outcome
from wellkept.engine.upkeep.lease import holder_name
from wellkept.engine.upkeep.rounds import Stop
from wellkept.errors import InvalidField, StorageError, WellkeptError
from wellkept.frozen import frozen
from wellkept.storage.port import JobQueue
from wellkept.types import Json
from wellkept.types.jobs import QueuedJob

log = logging.getLogger("wellkept")

MOST_ATTEMPTS = 5
"""Attempts of a failing job; then it is not retried until someone requests it."""
HELD_SECONDS = 300.0
"""How soon a job stopped by the kill switch is tried again."""
WorkState: TypeAlias = Literal["done", "failed", "gave_up", "given_back", "lost", "held"]


@frozen(kw_only=True)
class Pace:
    """Timing of a worker, in seconds.

    Attributes:
        lease: How long a job's lease lasts without renewal; a running worker renews it three times in that time.
        look: Interval at which a worker searches all namespaces for due jobs.
        pause: Waiting time when there is nothing to do.
        retry: Delay after the first failed attempt; four times as long after each further one.
        longest: Maximum delay.

    Raises:
        InvalidField: The lease is longer than a queue accepts.
    """

    lease: float = 120.0
    look: float = 60.0
    pause: float = 5.0
    retry: float = 30.0
    longest: float = 3_600.0

    def __post_init__(self) -> None:
        if not 0 < self.lease <= LONGEST_LEASE.total_seconds():
            raise InvalidField("is not between 1s and 1h", where="lease", todo="A worker renews it while it works")

    def after(self, attempts: int) -> float | None:
        """Seconds until the next attempt after this many failed ones; None when there is none.

        Example:
            >>> [Pace().after(attempts) for attempts in (1, 2, 3, 4, 5)]
            [30.0, 120.0, 480.0, 1920.0, None]
        """
        if attempts >= MOST_ATTEMPTS:
            return None
        return min(self.longest, self.retry * 4.0 ** max(0, attempts - 1))


@frozen
class WorkReport:
    """The result of a job that was taken.

    Attributes:
        state: `failed` is retried, `gave_up` is not; `given_back` when the worker was stopped, `lost` when
            another worker has taken the job, `held` when the kill switch prevents it.
    """

    job: str
    namespace: str
    state: WorkState
    seconds: float
    attempt: int
    report: Mapping[str, Json] = field(default_factory=dict)
    error: str = ""


def work(
    ctx: Context,
    queue: JobQueue,
    errands: Sequence[Errand],
    *,
    stop: Stop,
    once: bool = False,
    only: str = "",
    pace: Pace | None = None,
) -> Iterator[WorkReport]:
    """Take and do jobs until stopped; yields a report for each.

    Args:
        ctx: The store.
        queue: The job queue.
        errands: The kinds of jobs that this worker does.
        stop: Stops it: the current job is given back at its next step, or finished if that was the last one.
        once: Do what is due now, then end.
        only: The only namespace to work for; all when empty.
        pace: Its timing.

    Raises:
        StorageError: With `once`, the store cannot be reached; otherwise the worker waits for it.

    Example:
        >>> import threading, wellkept
        >>> from wellkept.engine.upkeep.jobs import errands
        >>> from wellkept.engine.upkeep.job_queue import queue_of
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     _ = store.remember("Tea is upstairs.")
        ...     told = list(work(store._ctx, queue_of(store._ctx), errands(), stop=threading.Event(), once=True))
        >>> [(one.job, one.state) for one in told][:3]
        [('expire', 'done'), ('sweep', 'done'), ('consolidate', 'done')]
    """
    pace = pace if pace is not None else Pace()
    worker = _Worker(ctx, queue, {errand.kind: errand for errand in errands}, pace=pace, stop=stop, only=only)
    looked: float | None = None
    while not stop.is_set():
        try:
            if looked is None or (not once and time.monotonic() - looked >= pace.look):
                looked = time.monotonic()
                queue.look([errand.cadence for errand in errands])
            job = worker.claimed()
        except StorageError as error:
            if once:
                raise
            log.warning("No job could be taken: %s", error)
            looked, job = None, None
        if job is not None:
            yield worker.done(job)
        elif once:
            return
        else:
            stop.wait(pace.pause)


class _EndedError(Exception):
    """Ends the current job: a stop was requested, or another worker has the job."""


class _Worker:
    """One worker: its name, and how it does a job."""

    def __init__(
        self, ctx: Context, queue: JobQueue, errands: Mapping[str, Errand], *, pace: Pace, stop: Stop, only: str
    ) -> None:
        self._ctx = ctx
        self._queue = queue
        self._errands = errands
        self._pace = pace
        self._stop = stop
        self._only = only
        self._name = holder_name(ctx.new_id)

    def claimed(self) -> QueuedJob | None:
        """The next job, with a lease."""
        return self._queue.claim(
            tuple(self._errands), holder=self._name, seconds=self._pace.lease, namespace=self._only
        )

    def done(self, job: QueuedJob) -> WorkReport:
        """Do a job and report the result to the queue, whatever happens."""
        began = time.monotonic()
        if job.attempts > MOST_ATTEMPTS:  # taken that often without ever finishing: no further attempt
            why = f"{job.attempts - 1} workers that took it ended without a word{_last(job)}"
            state, outcome = self._left(job, None, why), Outcome(failed=why)
        else:
            state, outcome = self._tried(job)
        spent = round(time.monotonic() - began, 3)
        error = outcome.failed or outcome.held
        return WorkReport(job.kind, job.namespace, state, spent, job.attempts, outcome.report, error)

    def _tried(self, job: QueuedJob) -> tuple[WorkState, Outcome]:
        ctx = replace(self._ctx, namespace=job.namespace)
        with _kept(self._queue, job, self._pace.lease) as hold:

            def step(how_far: str) -> None:
                hold.progress = how_far
                if hold.lost.is_set() or self._stop.is_set():
                    raise _EndedError

            errand, seen = self._errands[job.kind], job.seq
            try:
                if errand.changes_memories and (held := ctx.held()):
                    outcome = Outcome(held=held)
                else:
                    with ctx.storage.begin(job.namespace, write=False) as tx:
                        seen = tx.seq
                    outcome = errand.run(ctx, step)
            except _EndedError:
                return self._left(job, 0.0, job.error, counted=False, state="given_back"), Outcome()
            except (WellkeptError, OSError) as error:
                outcome = Outcome(failed=f"{type(error).__name__}: {error}")
            except DAMAGE as error:  # damage in one namespace must not stop the others
                log.exception("The job %s of %r failed", job.kind, job.namespace)
                outcome = Outcome(failed=f"{type(error).__name__}: {error}")
            except KeyboardInterrupt:
                self._left(job, 0.0, job.error, counted=False)
                raise
            except BaseException as error:  # a programming error: recorded in the job before this worker ends
                self._left(job, self._pace.after(job.attempts), f"{type(error).__name__}: {error}")
                raise
        return self._told(job, outcome, seen), outcome

    def _told(self, job: QueuedJob, outcome: Outcome, seen: int) -> WorkState:
        if outcome.failed:
            return self._left(job, self._pace.after(job.attempts), outcome.failed)
        if outcome.held:
            return self._left(job, HELD_SECONDS, outcome.held, counted=False, state="held")
        try:
            # Entries written by others in the meantime are behind this number, so they count for the next pass.
            ours = self._queue.finish(job, seq=seen + outcome.entries, report=outcome.report)
        except StorageError as error:
            return self._unsaid(job, error)
        return "done" if ours else "lost"

    def _left(
        self, job: QueuedJob, after: float | None, why: str, *, counted: bool = True, state: WorkState | None = None
    ) -> WorkState:
        if state is None:
            state = "gave_up" if after is None else "failed"
        try:
            return state if self._queue.leave(job, after=after, error=why, counted=counted) else "lost"
        except StorageError as error:
            return self._unsaid(job, error)

    def _unsaid(self, job: QueuedJob, error: StorageError) -> WorkState:
        """The queue cannot be reached: when the lease expires, another worker checks the job."""
        log.warning("What became of the job %s of %s could not be kept: %s", job.kind, job.namespace, error)
        return "lost"


def _last(job: QueuedJob) -> str:
    return f"; before that: {job.error}" if job.error else ""


@dataclass(slots=True)
class _Hold:
    """State shared by the working thread and the renewing thread."""

    lost: threading.Event = field(default_factory=threading.Event)
    progress: str = ""


@contextmanager
def _kept(queue: JobQueue, job: QueuedJob, seconds: float) -> Iterator[_Hold]:
    """Renew the lease while the block runs."""
    hold = _Hold()

    def renew(over: threading.Event) -> None:
        last = time.monotonic()
        while not over.wait(seconds / 3):
            try:
                if not queue.renew(job, seconds=seconds, progress=hold.progress):
                    hold.lost.set()
                    return
                last = time.monotonic()
            except StorageError:  # perhaps temporary; once the lease has expired, another worker may have the job
                if time.monotonic() - last >= seconds:
                    hold.lost.set()
                    return

    with running(renew, name="wellkept-lease"):
        yield hold
