"""Commands that maintain a store: verify, repair, sweep, reembed, maintain."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.groups import flag, option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.types import Json, Plan

if TYPE_CHECKING:
    from wellkept.engine.base.context import Context
    from wellkept.engine.upkeep.repairing import RepairReport
    from wellkept.engine.upkeep.rounds import Planner, Round
    from wellkept.engine.verbs.store import MemoryStore

POLL_SECONDS = 0.25
_LEASE = ".upkeep"


def plans() -> Mapping[str, Planner]:
    """The planners that `maintain` runs without applying their plans, by name, in order."""
    return {"consolidate": _consolidation, "decay": _decay}


def _consolidation(ctx: Context) -> dict[str, Json]:
    from wellkept.engine.consolidation.planning import plan

    return _planned(plan(ctx))


def _decay(ctx: Context) -> dict[str, Json]:
    from wellkept.engine.consolidation.decay import decay

    report = decay(ctx)
    return {"faded": len(report.transitions), **_planned(report.plan)}


def _planned(plan: Plan) -> dict[str, Json]:
    return {
        "planned": len(plan.actions),
        "plan_id": plan.plan_id,
        "actions": {k: n for k, n in plan.planned.items() if n},
    }


def verify(run: Session) -> int:
    """Check the store for problems; each is listed with its remedy."""
    store = run.store(writes=False, model=False)
    with run.busy("Checking the store"):
        problems = store.verify()
    rows = [(problem.where, problem.what, problem.todo) for problem in problems]
    run.show(
        {"problems": problems},
        lambda: [render.rows_of(("where", "what", "todo"), rows) if rows else "No problems found"],
    )
    return exits.FINDINGS if problems else exits.OK


def repair(
    run: Session,
    *,
    execute: bool = flag("--execute", help="Repair; without it, only show what would be done."),
) -> int:
    """Repair what `verify` finds, where that is safe; each repair is a journal entry that `undo` reverts."""
    store = run.store(writes=False, model=execute)
    with run.progress("Computing vectors", None) as done:
        report = store.repair(dry_run=not execute, progress=done)
    run.show(report, lambda: _repaired(report))
    if report.dry_run:
        return exits.FINDINGS if report.mends or report.left else exits.OK
    return exits.FINDINGS if report.left else exits.OK


def sweep(run: Session) -> int:
    """Catch up after outages in every namespace: compute missing vectors, check what was stored unchecked."""
    store = run.store(writes=False)
    counts: Counter[str] = Counter()
    outages: list[str] = []

    def act(store: MemoryStore, done: Callable[[int, int], None]) -> None:
        made = store.sweep(done)
        counts.update({key: getattr(made, key) for key in _FIGURES})
        outages.extend([made.outage] if made.outage else [])

    unread = _in_each_namespace(run, store, "Sweeping", act)
    outage = outages[0] if outages else ""
    run.show({**counts, "outage": outage, "unread": unread}, lambda: [render.counted(counts, 0)])
    if outage:
        run.note(f"Not finished: {outage}. Run it again when the model answers; {counts['left']} remain")
    return exits.FINDINGS if outage or unread else exits.OK


def _in_each_namespace(
    run: Session, store: MemoryStore, doing: str, act: Callable[[MemoryStore, Callable[[int, int], None]], None]
) -> list[str]:
    """Run `act` in every namespace; report and return the namespaces whose rows cannot be read."""
    from wellkept.errors import Corrupt

    unread = []
    for name in store.namespaces() or (store.namespace,):
        try:
            with run.progress(f"{doing} {one_line(name, limit=40)}", None) as done:
                act(store.in_namespace(name), done)
        except Corrupt as error:
            unread.append(name)
            run.note(f"{one_line(name, limit=40)} was skipped: {one_line(str(error))}")
    return unread


_FIGURES = ("embedded", "checked", "superseded", "conflicts", "links", "left")


def reembed(run: Session) -> int:
    """Recompute all vectors with the configured embedder, and check what was stored unchecked."""
    from wellkept.cli.terminal.opening import open_for_reembedding
    from wellkept.errors import ModelError

    store = run.closing(open_for_reembedding(run.settings))
    counts: Counter[str] = Counter()
    failures: list[ModelError] = []

    def act(store: MemoryStore, done: Callable[[int, int], None]) -> None:
        batches: list[int] = []

        def went(at: int, whole: int) -> None:
            batches.append(at)
            done(at, whole)

        try:
            counts.update(store.reembed(went))
        except ModelError as error:
            if not batches:
                raise  # the embedder reads nothing, in no namespace
            failures.append(error)  # texts of other namespaces may need no broken part

    unread = _in_each_namespace(run, store, "Embedding", act)
    if failures:
        raise failures[0]
    run.show({**counts, "unread": unread}, lambda: [render.counted(counts, 0)])
    return exits.FINDINGS if unread else exits.OK


def maintain(
    run: Session,
    *,
    every: str | None = option(metavar="SPAN", show_default="6h in a loop", help="Interval: 30s, 15m, 6h, 2d."),
    once: bool = flag("--once", help="One pass, for cron; with --every only what is due."),
) -> int:
    """Maintain the store: expire conflicts, sweep, plan, verify. Runs until stopped; only one at a time."""
    from wellkept.engine.upkeep.queue_lease import lease_of
    from wellkept.engine.upkeep.rounds import duration, standard_jobs
    from wellkept.engine.upkeep.rounds import maintain as rounds
    from wellkept.errors import InvalidField

    try:
        span = duration(every) if every is not None else None if once else duration("6h")
    except InvalidField as error:
        raise typer.BadParameter(str(error), param_hint="--every") from error
    store = run.store(writes=False)
    ctx, file = store._ctx, run.settings.file
    lease = lease_of(ctx, file.with_name(file.name + _LEASE) if file is not None and file.exists() else None)
    given = run.given_option("namespace")
    names = (store.namespace,) if given is not None else ()
    jobs = standard_jobs(plans(), namespaces=names)
    code = exits.OK
    with stop_on_signal() as stop:
        for done in rounds(ctx, jobs=jobs, stop=stop, every=span, lease=lease, namespaces=names, once=once):
            run.show(done, lambda report=done: _round(report))  # type: ignore[misc]
            sys.stdout.flush()  # a reader of a pipe sees each round at once
            # A stopped loop exits with 0, whatever its rounds found; a single round sets the exit code.
            code = exits.FINDINGS if once and _found(done) else exits.OK
    return code


class StopFlag:
    """Set by a signal, or when its condition becomes true.

    This is a plain flag that is polled: a signal handler that sets a `threading.Event` can deadlock with the thread
    that waits for it.

    Args:
        condition: A further reason to stop.
    """

    def __init__(self, condition: Callable[[], bool] = bool) -> None:
        self._is_set = False
        self._condition = condition

    def set(self) -> None:
        """Request the stop."""
        self._is_set = True

    def is_set(self) -> bool:
        """See `Stop.is_set`."""
        return self._is_set or self._condition()

    def wait(self, timeout: float) -> bool:
        """See `Stop.wait`."""
        until = time.monotonic() + timeout
        while not self.is_set() and (left := until - time.monotonic()) > 0:
            time.sleep(min(POLL_SECONDS, left))
        return self.is_set()


@contextmanager
def stop_on_signal(condition: Callable[[], bool] = bool) -> Iterator[StopFlag]:
    """Stop after the current job on SIGTERM or SIGINT; a second SIGINT stops at once."""
    flag = StopFlag(condition)

    def handle(number: int, _: FrameType | None) -> None:
        flag.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    former = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield flag
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _found(done: Round) -> bool:
    return bool(done.failed) or any(job.report.get("problems") for job in done.jobs)


def _repaired(report: RepairReport) -> Iterator[Any]:
    if not report.mends and not report.left:
        yield "No problems found"
        return
    rows = [
        (mend.where, mend.what, mend.mend, f"entry {mend.entry}" if mend.entry else mend.state) for mend in report.mends
    ]
    if rows:
        yield render.rows_of(("where", "what", "mend", ""), rows)
    if report.left:
        yield "Left unchanged:"
        yield render.rows_of(("where", "what", "todo"), [(one.where, one.what, one.todo) for one in report.left])
    if report.outage:
        yield f"No vectors were made: {one_line(report.outage)}"
    if report.dry_run and report.mends:
        yield "Nothing was written; `wellkept repair --execute` applies it"


def _round(done: Round) -> Iterator[Any]:
    if done.held:
        yield f"Nothing done: another upkeep is running, {one_line(done.held)}"
        return
    if not done.jobs:
        yield "Nothing is due"
        return
    rows = [
        (one.namespace, one.job, one.state, one.error or figures(one.report), f"{one.seconds:.1f} s")
        for one in done.jobs
    ]
    yield f"{render.when(done.at)}{'  stopped early' if done.stopped else ''}"
    yield render.rows_of(("namespace", "job", "state", "what", "time"), rows)


def figures(report: Mapping[str, Any]) -> str:
    """The counts of a report that are not zero, in words."""
    counts = [f"{key} {value}" for key, value in report.items() if isinstance(value, int) and value]
    return ", ".join(counts) or "nothing to do"
