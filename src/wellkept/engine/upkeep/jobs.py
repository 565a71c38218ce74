"""Maintenance jobs of a worker: planned and applied step by step, safe to interrupt.

Every step is a transaction of its own. An interrupted job has done its first steps, and the next worker plans
again for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from datetime import timedelta
from typing import TypeAlias

from wellkept.core.consolidation.reflection import Reflection
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.consolidation.upkeep_rules import Aging
from wellkept.engine.asking.answering_with import NOT_ASKED, Questioning
from wellkept.engine.base.context import Context
from wellkept.engine.consolidation.decay import decay
from wellkept.engine.consolidation.one_pass import Wish, passed
from wellkept.engine.consolidation.planning import plan
from wellkept.engine.consolidation.reflect import reflect
from wellkept.engine.upkeep import reembed as vectors
from wellkept.engine.upkeep.housekeeping import expire_conflicts
from wellkept.engine.upkeep.judging_thread import Judged, judge_waiting
from wellkept.errors import InvalidField
from wellkept.frozen import frozen
from wellkept.types import Json, ModelAnswers, Plan, Question
from wellkept.types.jobs import Cadence

Step: TypeAlias = Callable[[str], None]
"""Called between two steps with the progress; raises to stop the work."""

KINDS = ("expire", "judge", "sweep", "consolidate", "decay", "reflect", "answer")
"""Names of all jobs."""
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CHANGES = 50
_AT_ONCE = 100
"""Journal entries after which maintenance of a namespace is due early."""


@frozen
class Outcome:
    """The result of a job.

    Attributes:
        report: Figures.
        entries: Journal entries made by the job itself; they do not make it due again.
        failed: The error message; empty on success.
        held: Why the job could not run, such as a model that is down; it is postponed, and no attempt is counted.
    """

    report: Mapping[str, Json] = field(default_factory=dict)
    entries: int = 0
    failed: str = ""
    held: str = ""


@frozen
class Errand:
    """A kind of job.

    Attributes:
        cadence: Its name, and when it is due.
        run: The function that does it.
        changes_memories: Whether it merges, archives or creates memories; such jobs run only on request.
    """

    cadence: Cadence
    run: Callable[[Context, Step], Outcome]
    changes_memories: bool = False

    @property
    def kind(self) -> str:
        """Its name."""
        return self.cadence.kind


@frozen(kw_only=True)
class Answering:
    """A model that answers open questions.

    Attributes:
        model: Makes the model for one run, so that its budget counts for this run alone.
        limit: Most questions of a run; None for all.
    """

    model: Callable[[], Callable[[Sequence[Question]], ModelAnswers]]
    limit: int | None = None


@frozen(kw_only=True)
class Settings:
    """Settings of the jobs.

    Args:
        consolidation / aging / reflection: Rules and thresholds of each.
        answering: The model that answers questions; without one there is no such job.
        changes: Journal entries after which maintenance of a namespace is due early.
        every: Time after the last pass at which a job is due; None for the default of each kind.
        later: Whether writes wait to be judged, so that there is a job that judges them.
    """

    consolidation: Consolidation = field(default_factory=Consolidation)
    aging: Aging = field(default_factory=Aging)
    reflection: Reflection = field(default_factory=Reflection)
    answering: Answering | None = None
    changes: int = CHANGES
    every: timedelta | None = None
    later: bool = False


def errands(settings: Settings | None = None) -> tuple[Errand, ...]:
    """The kinds of jobs, in the order in which they are checked; `answer` only with a model, `judge` only where
    writes wait to be judged.

    Example:
        >>> [errand.kind for errand in errands()]
        ['expire', 'sweep', 'consolidate', 'decay', 'reflect']
    """
    given = settings if settings is not None else Settings()

    def cadence(kind: str, usual: timedelta, *, changes: int = 0, idle: bool = False) -> Cadence:
        every = given.every if given.every is not None else usual
        return Cadence(kind=kind, changes=changes, every=every.total_seconds(), idle=idle)

    def consolidating(ctx: Context, step: Step) -> Outcome:
        made = plan(ctx, given.consolidation, progress=lambda name, done, whole: step(f"{name} {done}/{whole}"))
        return _applied(ctx, made, step)

    def decaying(ctx: Context, step: Step) -> Outcome:
        report = decay(ctx, given.aging)
        told = _applied(ctx, report.plan, step)
        return Outcome({"faded": len(report.transitions), **told.report}, told.entries, told.failed, told.held)

    def reflecting(ctx: Context, step: Step) -> Outcome:
        made = reflect(ctx, given.reflection, progress=lambda name, done, whole: step(f"{name} {done}/{whole}"))
        return _applied(ctx, made, step)

    def answering(ctx: Context, step: Step) -> Outcome:
        return _answered(ctx, given.answering, step) if given.answering is not None else Outcome()

    usual = (
        Errand(cadence("expire", DAY, idle=True), _expire),
        Errand(cadence("sweep", HOUR), _sweep),
        Errand(cadence("consolidate", DAY, changes=given.changes), consolidating, changes_memories=True),
        Errand(cadence("decay", DAY, idle=True), decaying, changes_memories=True),
        Errand(cadence("reflect", DAY, changes=given.changes), reflecting, changes_memories=True),
    )
    asking = Errand(cadence("answer", DAY, changes=given.changes), answering, changes_memories=True)
    judging = Errand(cadence("judge", HOUR, changes=1), _judge)
    return (
        *usual[:1],
        *((judging,) if given.later else ()),
        *usual[1:],
        *((asking,) if given.answering is not None else ()),
    )


def kinds(names: Sequence[str]) -> tuple[str, ...]:
    """The names of these jobs, in their usual order.

    Raises:
        InvalidField: A name is not the name of a job.
    """
    for name in names:
        if name not in KINDS:
            raise InvalidField(f"{name[:40]!r} is not a job", where="jobs", todo=f"Use {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in names)


def chosen(names: Sequence[str], *, among: Sequence[Errand]) -> tuple[Errand, ...]:
    """The jobs with these names, in their usual order.

    Raises:
        InvalidField: A name is not the name of a job, or the job needs a model that is not given.
    """
    known = [errand.kind for errand in among]
    if missing := [name for name in kinds(names) if name not in known]:
        raise InvalidField(f"{missing[0]!r} needs a model", where="jobs", todo="Name the model, or omit the job")
    return tuple(errand for errand in among if errand.kind in names)


def _expire(ctx: Context, step: Step) -> Outcome:
    step("settling conflicts")
    settled = expire_conflicts(ctx)
    return Outcome({"expired": settled}, settled)


def _sweep(ctx: Context, step: Step) -> Outcome:
    step("looking for what is missing")
    swept = vectors.sweep(ctx, lambda done, whole: step(f"embed {done}/{whole}"))
    figures = {item.name: getattr(swept, item.name) for item in fields(swept) if item.name != "outage"}
    return Outcome(figures, failed=swept.outage)


def _judge(ctx: Context, step: Step) -> Outcome:
    step("judging what waits")
    told = Judged()
    while not told.outage:
        now = judge_waiting(ctx, limit=_AT_ONCE)
        told = Judged(judged=told.judged + now.judged, changed=told.changed + now.changed, outage=now.outage)
        if not now.judged:
            break
        step(f"judged {told.judged}")
    # A write that was marked made one entry, a write that was taken back and written again two.
    return Outcome({"judged": told.judged, "changed": told.changed}, told.judged + told.changed, held=told.outage)


def _answered(ctx: Context, how: Answering, step: Step) -> Outcome:
    """Let a model answer open questions; where its budget did not allow all, its answers make the job due again."""
    model = how.model()
    asking = Questioning(ctx, model, limit=how.limit)
    while batch := asking.batch():
        step(f"answer {len(asking.report().answered)}, then {len(batch)} more")
        asking.take(batch, model(batch))
    told = asking.report()
    count = len(told.answered)
    figures: dict[str, Json] = {"answered": count, "left": len(told.left), "tokens": told.tokens or 0}
    return Outcome(figures, 0 if NOT_ASKED in told.left.values() else count)


def _applied(ctx: Context, made: Plan, step: Step) -> Outcome:
    """Execute a plan; stale actions count as changes, so that the job is due again."""
    figures: dict[str, Json] = {"plan_id": made.plan_id, "planned": len(made.actions)}
    if not made.actions:
        return Outcome(figures)
    if held := ctx.held():
        return Outcome(figures, held=held)
    step(f"apply 0/{len(made.actions)}")
    run = passed(ctx, made, Wish(execute=True), progress=lambda done, whole: step(f"apply {done}/{whole}"))
    if run.forced:
        return Outcome(figures, held=run.forced)
    figures |= {"run_id": run.run_id, "executed": run.executed, "skipped": run.skipped, "errors": run.errors}
    failed = next((result.why for result in run.results if result.state == "failed"), "")
    return Outcome(figures, run.executed, failed)
