"""Maintenance rounds: jobs run repeatedly, in one process at a time, until stopped.

A failed job is reported, does not stop other jobs and stays due; a job that only plans counts as done. A stop
takes effect between two jobs.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields, replace
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeAlias

from wellkept.core.records.codec import DAMAGE
from wellkept.engine.base.background import running
from wellkept.engine.base.context import Context
from wellkept.engine.upkeep.housekeeping import expire_conflicts
from wellkept.engine.upkeep.lease import Lease
from wellkept.engine.upkeep.reembed import sweep
from wellkept.engine.upkeep.verifying import verify
from wellkept.errors import Busy, InvalidField, WellkeptError
from wellkept.frozen import frozen
from wellkept.types import Json

JobState: TypeAlias = Literal["done", "failed"]
Planner: TypeAlias = Callable[[Context], Mapping[str, Json]]
"""Makes a plan without applying it; returns it as JSON values."""

RETRY = timedelta(minutes=5)
"""Retry delay of a failed job whose interval is longer."""
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"(?:[0-9]{1,9}[smhd])+")
_LONGEST = timedelta(days=366)


def duration(text: str) -> timedelta:
    """Parse a duration: `30s`, `15m`, `6h`, `2d`, or several as in `1h30m`.

    Raises:
        InvalidField: Not a duration, or below a second or above a year.

    Example:
        >>> duration("1h30m")
        datetime.timedelta(seconds=5400)
    """
    wanted = text.strip().lower()
    if not _DURATION.fullmatch(wanted):
        raise InvalidField(
            f"{text[:40]!r} is not a duration",
            where="duration",
            todo="Use a number with a unit, as in 30s, 15m, 6h or 2d",
        )
    span = timedelta()
    for amount, unit in re.findall(r"([0-9]+)([smhd])", wanted):
        span += timedelta(**{_UNITS[unit]: min(int(amount), 10**8)})
    if not timedelta(seconds=1) <= span <= _LONGEST:
        raise InvalidField(f"{text[:40]!r} is not between 1s and 366d", where="duration", todo="Choose another one")
    return span


class Stop(Protocol):
    """Stop signal; a `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether a stop was requested."""

    def wait(self, timeout: float) -> bool:
        """Wait for a stop, at most this many seconds; returns whether it was requested."""


@frozen
class JobResult:
    """The result of a job: figures, and the error message (empty on success)."""

    report: Mapping[str, Json] = field(default_factory=dict)
    failed: str = ""


@frozen
class Job:
    """A job that is repeated in each namespace of a store.

    Attributes:
        name: Name in reports and in the schedule.
        run: The function that does it.
        every: Its interval; None for the interval of the loop.
    """

    name: str
    run: Callable[[Context], JobResult]
    every: timedelta | None = None


@frozen
class JobReport:
    """The result of a job in one namespace."""

    job: str
    namespace: str
    state: JobState
    seconds: float
    report: Mapping[str, Json] = field(default_factory=dict)
    error: str = ""


@frozen
class Round:
    """One round.

    Attributes:
        at: Start time.
        jobs: The jobs that were due, in order.
        stopped: True when it was stopped before all of them had run.
        held: The other holder of the lease, when nothing was done because of it.
    """

    at: datetime
    seconds: float
    jobs: tuple[JobReport, ...] = ()
    stopped: bool = False
    held: str = ""

    @property
    def failed(self) -> tuple[JobReport, ...]:
        """The jobs that failed."""
        return tuple(job for job in self.jobs if job.state == "failed")


def standard_jobs(plans: Mapping[str, Planner] | None = None, *, namespaces: Sequence[str] = ()) -> tuple[Job, ...]:
    """The standard jobs: expire conflicts, sweep, make each of these plans without applying it, verify.

    Args:
        plans: Planners by name, such as consolidation and decay, in running order.
        namespaces: As given to `maintain`; together with the first one the storage itself is verified.
    """
    planned = [Job(name, _as_plan(plan)) for name, plan in (plans or {}).items()]
    return (Job("expire", _expire), Job("sweep", _sweep), *planned, Job("verify", _verifying(tuple(namespaces))))


def maintain(
    ctx: Context,
    *,
    jobs: Sequence[Job],
    stop: Stop,
    every: timedelta | None = None,
    lease: Lease | None = None,
    namespaces: Sequence[str] = (),
    once: bool = False,
) -> Iterator[Round]:
    """Run due jobs, round after round; yields each round when it is done.

    Args:
        ctx: The store.
        jobs: The jobs to run in every namespace, in this order.
        stop: Stops it between two jobs, or while it waits.
        every: Interval of each job; None makes all of them due at once, which is allowed only with `once`.
        lease: Prevents a second maintenance process, and records job runs; None for a store of this process.
        namespaces: Only these; all namespaces with data when empty.
        once: One round instead of a loop; when another process holds the lease, it reports that and does nothing.

    Raises:
        Busy: Another process maintains this store; only in a loop.

    Example:
        >>> import threading, wellkept
        >>> from wellkept.engine.upkeep.rounds import maintain, standard_jobs
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     _ = store.remember("Tea is upstairs.")
        ...     [done] = maintain(store._ctx, jobs=standard_jobs(), stop=threading.Event(), once=True)
        >>> [(job.job, job.state) for job in done.jobs]
        [('expire', 'done'), ('sweep', 'done'), ('verify', 'done')]
    """
    if every is None and not once:
        raise InvalidField("a loop needs a span of time", where="every", todo="Say how often, as in 6h")
    held = lease.take() if lease is not None else ""
    if held and once:
        yield Round(ctx.clock(), 0.0, held=held)
        return
    if held:
        raise _busy(held)
    schedule = _Schedule(lease, every)
    with _kept(lease) as lost:
        while True:
            done = _round(ctx, jobs, stop=_Either(stop, lost), schedule=schedule, namespaces=namespaces)
            if done.jobs or once:
                yield done
            if lost.is_set():
                raise _busy("it was lost while this process slept")
            if once or stop.is_set():
                return
            stop.wait(schedule.pause(ctx, jobs, _names(ctx, namespaces)))
            if stop.is_set():
                return


def _busy(held: str) -> Busy:
    return Busy(f"another process keeps this store up: {held}", where="maintain", todo="Let it, or stop it first")


def _names(ctx: Context, namespaces: Sequence[str]) -> tuple[str, ...]:
    return tuple(namespaces) or ctx.storage.header().namespaces or (ctx.namespace,)


class _Schedule:
    """When each job of each namespace is due."""

    def __init__(self, lease: Lease | None, every: timedelta | None) -> None:
        self._lease = lease
        self._every = every
        self._ran = lease.ran() if lease is not None else {}
        self._failed: dict[str, datetime] = {}

    def is_due(self, job: Job, namespace: str, now: datetime) -> bool:
        return self._due_at(job, namespace, now) <= now

    def note(self, job: Job, namespace: str, *, at: datetime, failed: bool) -> None:
        """Record a run; a failed job stays due and is retried soon."""
        key = _key(job, namespace)
        if failed:
            self._failed[key] = at
            return
        self._failed.pop(key, None)
        self._ran[key] = at
        if self._lease is not None:
            self._lease.advance(key, at)

    def pause(self, ctx: Context, jobs: Sequence[Job], names: Sequence[str]) -> float:
        """Seconds until the next job is due."""
        now = ctx.clock()
        waits = [(self._due_at(job, name, now) - now).total_seconds() for job in jobs for name in names]
        return max(1.0, min(waits, default=RETRY.total_seconds()))

    def _due_at(self, job: Job, namespace: str, now: datetime) -> datetime:
        span, key = job.every or self._every, _key(job, namespace)
        if span is None:
            return now
        if key in self._failed:
            return self._failed[key] + min(span, RETRY)
        # A time in the future is from a wrong clock; it must not delay the job.
        last = self._ran.get(key)
        return now if last is None or last > now else last + span


def _key(job: Job, namespace: str) -> str:
    return f"{job.name} {namespace}"


def _round(
    ctx: Context, jobs: Sequence[Job], *, stop: _Either, schedule: _Schedule, namespaces: Sequence[str]
) -> Round:
    at, began = ctx.clock(), time.monotonic()
    told: list[JobReport] = []
    stopped = False
    for name in _names(ctx, namespaces):
        for job in jobs:
            if not schedule.is_due(job, name, at):
                continue
            if stop.is_set():
                stopped = True
                break
            report = _run(job, replace(ctx, namespace=name))
            schedule.note(job, name, at=ctx.clock(), failed=report.state == "failed")
            told.append(report)
    return Round(at, round(time.monotonic() - began, 3), tuple(told), stopped)


def _run(job: Job, ctx: Context) -> JobReport:
    began = time.monotonic()
    try:
        result = job.run(ctx)
    except (WellkeptError, OSError, *DAMAGE) as error:  # reported in the round; the other jobs continue
        result = JobResult(failed=f"{type(error).__name__}: {error}")
    spent = round(time.monotonic() - began, 3)
    state: JobState = "failed" if result.failed else "done"
    return JobReport(job.name, ctx.namespace, state, spent, result.report, result.failed)


# --------------------------------------------------------------------------------------------
# The lease while jobs run


class _Either:
    """Set when either of two events is set."""

    def __init__(self, asked: Stop, lost: threading.Event) -> None:
        self._asked = asked
        self._lost = lost

    def is_set(self) -> bool:
        return self._asked.is_set() or self._lost.is_set()


@contextmanager
def _kept(lease: Lease | None) -> Iterator[threading.Event]:
    """Renew the lease while the block runs; the event is set when another process has taken it."""
    lost = threading.Event()
    if lease is None:
        yield lost
        return

    def renew(over: threading.Event) -> None:
        while not over.wait(lease.seconds / 3):
            try:
                if lease.take():
                    lost.set()
                    return
            except WellkeptError:  # a temporary disk error; the lease outlasts two such failures
                continue

    try:
        with running(renew, name="wellkept-lease"):
            yield lost
    finally:
        lease.release()


# --------------------------------------------------------------------------------------------
# The jobs


def _expire(ctx: Context) -> JobResult:
    return JobResult({"expired": expire_conflicts(ctx)})


def _sweep(ctx: Context) -> JobResult:
    swept = sweep(ctx)
    figures = {item.name: getattr(swept, item.name) for item in fields(swept) if item.name != "outage"}
    return JobResult(figures, failed=swept.outage)


def _as_plan(plan: Planner) -> Callable[[Context], JobResult]:
    def run(ctx: Context) -> JobResult:
        return JobResult(dict(plan(ctx)))

    return run


def _verifying(namespaces: Sequence[str]) -> Callable[[Context], JobResult]:
    """The verify job: the storage itself is checked once per round, with the first namespace."""

    def run(ctx: Context) -> JobResult:
        problems = verify(ctx, whole=ctx.namespace == _names(ctx, namespaces)[0])
        shown = [{"where": one.where, "what": one.what, "todo": one.todo} for one in problems[:20]]
        return JobResult({"problems": len(problems), **({"first": shown} if shown else {})})

    return run
