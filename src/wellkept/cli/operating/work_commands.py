"""Commands for workers and their jobs: `work`, and `jobs` to list, retry and enqueue."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from wellkept.cli.operating.upkeep_commands import POLL_SECONDS, figures, stop_on_signal
from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session, Shared
from wellkept.errors import InvalidField
from wellkept.frozen import frozen
from wellkept.types.jobs import QUEUE_STATES
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from wellkept.engine.upkeep.jobs import Answering, Errand
    from wellkept.engine.upkeep.worker import WorkReport
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.storage.port import JobQueue
    from wellkept.types.jobs import QueuedJob, QueueState

_QUEUE = ".jobs"
_SAFE = ("expire", "sweep")
_JUDGE = "judge"
_ANSWER = "answer"
_USUAL = (*_SAFE, "consolidate", "decay")
_LIMIT = 100
_PANEL = "A model that answers"

KindsOption = Annotated[
    str | None,
    typer.Option(
        "--jobs",
        metavar="LIST",
        help="Types of jobs: expire, judge, sweep, consolidate, decay, reflect, answer.",
        show_default=False,
    ),
]


@frozen(kw_only=True)
class WorkerOptions:
    """Options of a worker."""

    jobs: KindsOption = None
    execute: bool = flag("--execute", help="Also merge, archive and summarise; without it: expire, judge, sweep.")
    ahead: bool = flag("--ahead", help="Only compute vectors of the configured embedder, for a later `reembed`.")
    once: bool = flag("--once", help="Do what is due, then exit.")
    changes: int = option(
        default=50, min=1, help="Number of new journal entries after which a namespace is processed early."
    )
    every: str | None = option(
        metavar="SPAN", show_default="1d; sweep 1h", help="Interval after which each type is due."
    )
    lease: str = option(default="2m", metavar="SPAN", help="How long a job stays reserved for a worker that died.")
    answer_with: str | None = option(
        metavar="URL",
        panel=_PANEL,
        show_default=False,
        help="A chat endpoint for the job answer: it answers questions.",
    )
    answer_model: str | None = option(metavar="NAME", panel=_PANEL, help="The model's name at the endpoint.")
    answer_tokens: int = option(default=20_000, metavar="N", min=1, panel=_PANEL, help="Most tokens of a run.")
    answer_limit: int | None = option(metavar="N", min=1, panel=_PANEL, help="Most questions of a run; all by default.")


def work(
    run: Session,
    *,
    how: WorkerOptions,
    workers: int = option(default=1, min=1, max=64, help="Number of worker processes; each loads the models it needs."),
) -> int:
    """Run due jobs in all namespaces; any number of workers may run in parallel. SIGTERM releases the current job."""
    _errands(run, how)  # an invalid command line is reported once
    if how.ahead and (how.execute or how.jobs or how.answer_with):
        raise typer.BadParameter("It runs on its own: omit --jobs, --execute and --answer-with", param_hint="--ahead")
    if how.answer_with:
        from urllib.parse import urlsplit

        host = urlsplit(how.answer_with).hostname or ""
        run.note(
            f"Sends open questions to {one_line(host)}: at most {how.answer_tokens:,} tokens for each namespace and run"
        )
    if workers == 1:
        return _work(run, how)
    return _several(run, how, workers)


def listed(
    run: Session,
    *,
    state: str | None = option(metavar="LIST", show_default=False, help=f"Of {', '.join(QUEUE_STATES)}."),
    jobs: KindsOption = None,
    limit: int = option(default=_LIMIT, min=1, help="At most this many."),
) -> int:
    """List jobs: waiting, running and failed ones with the reason. Exits with 3 if one was given up."""
    states = tuple(part.strip() for part in (state or "").split(",") if part.strip())
    if unknown := [one for one in states if one not in QUEUE_STATES]:
        raise typer.BadParameter(f"{unknown[0]!r} is not one of {', '.join(QUEUE_STATES)}", param_hint="--state")
    queue = job_queue(run, run.store(writes=False, model=False))
    found = queue.jobs(
        states=cast("tuple[QueueState, ...]", states),
        kinds=_kinds(jobs),
        namespace=run.given_option("namespace") or "",
        limit=limit,
    )
    run.show_each(found, lambda: _table(found))
    return exits.FINDINGS if any(job.state == "failed" for job in found) else exits.OK


def retry(run: Session, *, jobs: KindsOption = None) -> None:
    """Retry jobs that were given up: of the given types and --namespace, otherwise all."""
    queue = job_queue(run, run.store(writes=False, model=False))
    count = queue.again(kinds=_kinds(jobs), namespace=run.given_option("namespace") or "")
    run.show({"due": count}, lambda: [f"{count_of(count, 'job is', 'jobs are')} due again"])


def put(
    run: Session,
    kind: str = argument(metavar="JOB", help="expire, judge, sweep, consolidate, decay, reflect or answer."),
) -> None:
    """Make a job due now, in --namespace or otherwise in all namespaces."""
    store = run.store(writes=False, model=False)
    [known] = _kinds(kind) or ("",)
    given = run.given_option("namespace")
    names = (store.namespace,) if given is not None else store.namespaces()
    job_queue(run, store).put(known, names)
    where = count_of(len(names), "namespace")
    run.show({"job": known, "namespaces": len(names)}, lambda: [f"{known} is due in {where}"])


# --------------------------------------------------------------------------------------------
# Working


def _work(run: Session, how: WorkerOptions, parent: BaseProcess | None = None) -> int:
    from wellkept.engine.upkeep.judging_worker import soon
    from wellkept.engine.upkeep.rounds import duration
    from wellkept.engine.upkeep.worker import Pace
    from wellkept.engine.upkeep.worker import work as worked

    failed = False
    with stop_on_signal(lambda: parent is not None and not parent.is_alive()) as stop:
        store, errands = _ahead(run) if how.ahead else (run.store(writes=False), _errands(run, how))
        lease = duration(how.lease).total_seconds()
        pace = soon(lease=lease) if any(one.kind == _JUDGE for one in errands) else Pace(lease=lease)
        only = store.namespace if run.given_option("namespace") is not None else ""
        queue = job_queue(run, store)
        for done in worked(store._ctx, queue, errands, stop=stop, once=how.once, only=only, pace=pace):
            run.show(done, lambda done=done: [_line(done)])  # type: ignore[misc]
            sys.stdout.flush()  # a reader of a pipe sees each job at once
            failed = failed or done.state in ("failed", "gave_up", "held")
    return exits.FINDINGS if failed and how.once else exits.OK


def _several(run: Session, how: WorkerOptions, workers: int) -> int:
    """Run workers as separate processes; stopping this process stops all of them."""
    context = multiprocessing.get_context("spawn")  # a fork would copy locks held by threads that it does not copy
    started = [context.Process(target=_child, args=(run.shared, how), name=f"worker {n}") for n in range(workers)]
    with stop_on_signal() as stop:
        for one in started:
            one.start()
        while not stop.is_set() and (living := next((one for one in started if one.is_alive()), None)) is not None:
            living.join(POLL_SECONDS)
        for one in started:
            one.terminate()  # no effect on a process that has ended
        for one in started:
            one.join()
    codes = {one.exitcode or 0 for one in started}
    if stop.is_set():
        codes.discard(-signal.SIGTERM)  # terminated before its signal handler was set; it had no job yet
    return exits.ERROR if codes - {exits.OK, exits.FINDINGS} else max(codes, default=exits.OK)


def _child(shared: Shared, how: WorkerOptions) -> None:
    run = Session(shared)
    sys.exit(run.run(lambda: _work(run, how, multiprocessing.parent_process())))


def _errands(run: Session, how: WorkerOptions) -> tuple[Errand, ...]:
    """The requested errands; those that change memories are included only with `--execute`, `answer` with its model."""
    from wellkept.engine.upkeep.jobs import Settings, chosen, errands
    from wellkept.engine.upkeep.rounds import duration

    try:
        every = None if how.every is None else duration(how.every)
        lease = duration(how.lease)
    except InvalidField as error:
        raise typer.BadParameter(str(error), param_hint="--every, --lease") from error
    if not 1 <= lease.total_seconds() <= 3_600:
        raise typer.BadParameter("Use 1s to 1h", param_hint="--lease")
    answering = _answering(run, how)
    later = run.settings.policy.judging == "later"
    usual = (*(_USUAL if how.execute else _SAFE), *((_JUDGE,) if later else ()))
    names = _kinds(how.jobs) or (*usual, *((_ANSWER,) if answering is not None else ()))
    if _ANSWER in names and answering is None:
        raise typer.BadParameter("The job answer needs a model: add --answer-with URL", param_hint="--jobs")
    settings = Settings(changes=how.changes, every=every, answering=answering, later=_JUDGE in names)
    wanted = chosen(names, among=errands(settings))
    if refused := [one.kind for one in wanted if one.changes_memories and not how.execute and one.kind != _ANSWER]:
        raise typer.BadParameter(f"{', '.join(refused)} would change memories: add --execute", param_hint="--jobs")
    return wanted


def _answering(run: Session, how: WorkerOptions) -> Answering | None:
    """The model of the job `answer`; each run gets one with a whole budget.

    Raises:
        ConfigError: The address is no endpoint, or texts would leave this machine without leave.
    """
    if how.answer_with is None:
        return None
    from wellkept.cli.terminal.chat_model import ChatOptions, chat_model, require_permission
    from wellkept.engine.upkeep.jobs import Answering
    from wellkept.models.answering.chat import ChatAnswerer

    options = ChatOptions(model=how.answer_model, tokens=how.answer_tokens)
    made = partial(chat_model, ChatAnswerer, run.settings, how.answer_with, options)
    require_permission(run.settings, made(), "questions")
    return Answering(model=made, limit=how.answer_limit)


def _ahead(run: Session) -> tuple[MemoryStore, tuple[Errand, ...]]:
    """The store with its current embedder, and the errand that computes the vectors of the configured one."""
    from wellkept.cli.terminal.opening import configured_embedder, open_with_its_own
    from wellkept.engine.upkeep.prepare_embedder import making_ahead

    store = run.closing(open_with_its_own(run.settings))
    embedder = configured_embedder(run.settings)
    return store, (making_ahead(store._ctx, embedder),)


def _kinds(given: str | None) -> tuple[str, ...]:
    from wellkept.engine.upkeep.jobs import kinds

    try:
        return kinds(tuple(part.strip() for part in (given or "").split(",") if part.strip()))
    except InvalidField as error:
        raise typer.BadParameter(str(error), param_hint="--jobs") from error


def job_queue(run: Session, store: MemoryStore) -> JobQueue:
    """The queue of jobs of the store: in its database, or in a file beside it."""
    from wellkept.engine.upkeep.job_queue import queue_of

    file = run.settings.file
    beside: Path | None = file.with_name(file.name + _QUEUE) if file is not None and file.exists() else None
    return queue_of(store._ctx, beside)


# --------------------------------------------------------------------------------------------
# Printing


def _line(done: WorkReport) -> str:
    what = done.error or figures(done.report)
    return f"{one_line(done.namespace, limit=60)}  {done.job}  {done.state}  {one_line(what)}  {done.seconds:.1f} s"


def _table(found: Sequence[QueuedJob]) -> render.Parts:
    if not found:
        yield "No jobs"
        return
    rows = [(job.namespace, job.kind, job.state, _since(job), str(job.attempts or ""), _what(job)) for job in found]
    yield render.rows_of(("namespace", "job", "state", "since", "tries", "what"), rows)


def _since(job: QueuedJob) -> Any:
    return render.when(job.finished if job.state == "idle" and job.finished is not None else job.due)


def _what(job: QueuedJob) -> str:
    match job.state:
        case "running":
            return f"{job.progress or 'taken'}, by {job.holder}, lease until the time shown"
        case "failed" | "due":
            return job.error
        case "idle":
            return figures(job.report)
