"""A worker: takes a job of some namespace from the queue, does it, and takes the next one.

Any number of workers share a queue, on as many machines as one likes. A worker that is killed loses nothing:
its lease ends, another worker takes the job, and what was applied is found applied. The lease only spares
work that would be done twice; that two do no harm to each other is guarded by each write's own transaction.
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
from wellkept.engine.base.context import Context
from wellkept.engine.upkeep.job_queue import LONGEST_LEASE
from wellkept.engine.upkeep.jobs import Errand, Outcome
from wellkept.engine.upkeep.lease import holder_name
from wellkept.engine.upkeep.rounds import Stop
from wellkept.errors import InvalidField, StorageError, WellkeptError
from wellkept.storage.port import JobQueue
from wellkept.types import Json
from wellkept.types.jobs import QueuedJob

log = logging.getLogger("wellkept")

MOST_ATTEMPTS = 5
"""How often a job is tried before it is given up until somebody asks for it."""
HELD_SECONDS = 300.0
"""How soon a job is looked at again that the kill switch has stopped."""
WorkState: TypeAlias = Literal["done", "failed", "gave_up", "given_back", "lost", "held"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a worker keeps time, in seconds.

    Attributes:
        lease: How long a job stays with a worker that says nothing more; a living one renews it three times in it.
        look: How often a worker looks in all namespaces for what has become due.
        pause: How long it waits when there is nothing to do.
        retry: How long after the first failed attempt the next one follows; four times as long each time.
        longest: The longest such wait.

    Raises:
        InvalidField: The lease is longer than a queue may believe it to be.
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
        """Seconds until the next attempt after so many failed ones; None when there is none.

        Example:
            >>> [Pace().after(attempts) for attempts in (1, 2, 3, 4, 5)]
            [30.0, 120.0, 480.0, 1920.0, None]
        """
        if attempts >= MOST_ATTEMPTS:
            return None
        return min(self.longest, self.retry * 4.0 ** max(0, attempts - 1))


@dataclass(frozen=True, slots=True)
class WorkReport:
    """What became of a job that was taken.

    Attributes:
        state: `failed` is tried again, `gave_up` is not; `given_back` when the worker was told to stop, `lost` when
            somebody else has taken it over, `held` when the kill switch forbids it.
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
    """Take jobs and do them, until told to stop; each is given out when it is done.

    Args:
        ctx: The store.
        queue: Where the jobs are.
        errands: The kinds that this worker does.
        stop: Ends it: the job in hand is given back at its next step, or done if that was the last one.
        once: Look once, do what is due, and end.
        only: The one namespace to work for; all when empty.
        pace: How it keeps time.

    Raises:
        StorageError: With `once`, the store cannot be reached; otherwise it is waited for.

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
    """The work ends here: it was asked for, or somebody else has the job."""


class _Worker:
    """One worker: what it is called, and what it does with a job it has taken."""

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
        """The next job, ours for the time of a lease."""
        return self._queue.claim(
            tuple(self._errands), holder=self._name, seconds=self._pace.lease, namespace=self._only
        )

    def done(self, job: QueuedJob) -> WorkReport:
        """Do a job and tell the queue; whatever happens to it is told."""
        began = time.monotonic()
        if job.attempts > MOST_ATTEMPTS:  # taken that often, and nobody ever came back: do not try once more
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
            except DAMAGE as error:  # what one namespace holds must not end the work for all others
                log.exception("The job %s of %r failed", job.kind, job.namespace)
                outcome = Outcome(failed=f"{type(error).__name__}: {error}")
            except KeyboardInterrupt:
                self._left(job, 0.0, job.error, counted=False)
                raise
            except BaseException as error:  # a mistake of ours, told where the job is kept before this worker ends
                self._left(job, self._pace.after(job.attempts), f"{type(error).__name__}: {error}")
                raise
        return self._told(job, outcome, seen), outcome

    def _told(self, job: QueuedJob, outcome: Outcome, seen: int) -> WorkState:
        if outcome.failed:
            return self._left(job, self._pace.after(job.attempts), outcome.failed)
        if outcome.held:
            return self._left(job, HELD_SECONDS, outcome.held, counted=False, state="held")
        try:
            # Whatever others wrote meanwhile lies behind this number, so that it counts for the next pass.
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
        """The queue cannot be reached: when the lease ends, somebody looks at the job again and finds it done."""
        log.warning("What became of the job %s of %s could not be kept: %s", job.kind, job.namespace, error)
        return "lost"


def _last(job: QueuedJob) -> str:
    return f"; before that: {job.error}" if job.error else ""


@dataclass(slots=True)
class _Hold:
    """What the one who works and the one who renews tell each other."""

    lost: threading.Event = field(default_factory=threading.Event)
    progress: str = ""


@contextmanager
def _kept(queue: JobQueue, job: QueuedJob, seconds: float) -> Iterator[_Hold]:
    """Renew the lease while the block runs."""
    hold, over = _Hold(), threading.Event()

    def renew() -> None:
        last = time.monotonic()
        while not over.wait(seconds / 3):
            try:
                if not queue.renew(job, seconds=seconds, progress=hold.progress):
                    hold.lost.set()
                    return
                last = time.monotonic()
            except StorageError:  # for a moment, perhaps; once the lease has ended it may be somebody else's
                if time.monotonic() - last >= seconds:
                    hold.lost.set()
                    return

    beat = threading.Thread(target=renew, name="wellkept-lease", daemon=True)
    beat.start()
    try:
        yield hold
    finally:
        over.set()
        beat.join()
