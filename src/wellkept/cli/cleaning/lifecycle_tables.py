"""Terminal output of reflection and decay: current state, planned actions with reasons, next steps."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from wellkept.cli.cleaning.plan_tables import heading, headline
from wellkept.cli.terminal.render import ShortIds, rows_of, styled
from wellkept.cli.terminal.safe import one_line, safe
from wellkept.types import Action, ActionResult, RunReport

if TYPE_CHECKING:
    from wellkept.cli.terminal.render import Parts
    from wellkept.core.consolidation.upkeep_rules import DecayReport

SHOWN = 10
"""Number of actions printed by default."""
_MOVED = 5
_DEGRADED = {
    "summariser": "the summariser's answer could not be used everywhere; sentences were selected instead",
    "lexical": "the embedder only compares spelling: similarity is by words only",
    "calibration": "the embedder is not calibrated",
}


def report_view(report: RunReport, *, plan_file: str, show: int, decay: DecayReport | None = None) -> Parts:
    """The whole report of one namespace.

    Args:
        report: The executed or planned run.
        plan_file: Path of the plan file; empty when none was written.
        show: Number of actions to print.
        decay: The decay report, for a decay pass.
    """
    yield headline(report, "Decay" if decay else "Reflection")
    for word in report.plan.degraded:
        yield f"degraded: {_DEGRADED.get(word, word)}"
    if decay is not None:
        yield from _faded(decay)
    results = {result.action_id: result for result in report.results}
    short = ShortIds(one for action in report.plan.actions[:show] for one in action.targets)
    for action in report.plan.actions[:show]:
        yield ""
        yield from _action(action, results.get(action.id), short)
    if len(report.plan.actions) > show:
        yield styled(f"… and {len(report.plan.actions) - show} more; --show prints them", "dim")
    if not report.plan.actions:
        yield "Nothing to do"
    yield from _next(report, plan_file)


def _faded(report: DecayReport) -> Parts:
    if report.kinds:
        rows = [(one_line(one.kind), str(one.active), str(one.weak), str(one.dormant)) for one in report.kinds]
        yield rows_of(("kind", "ACTIVE>", "WEAK>", "DORMANT>"), rows)
    else:
        yield "No memories"
    short = ShortIds(one.memory_id for one in report.transitions[:_MOVED])
    for one in report.transitions[:_MOVED]:
        yield f"{short(one.memory_id)} ({one_line(one.kind)}) has faded from {one.before} to {one.after}"
    if len(report.transitions) > _MOVED:
        yield styled(f"… and {len(report.transitions) - _MOVED} more have faded a stage", "dim")


def _action(action: Action, result: ActionResult | None, short: ShortIds) -> Parts:
    yield from heading(action, result)
    if action.summary:
        for line in safe(str(action.summary.get("content", "")), lines=True).splitlines():
            yield styled(f"    {line}", "italic")
    for at, memory_id in enumerate(action.targets[: len(action.samples)]):
        yield styled(f"  {short(memory_id)}  {one_line(action.samples[at], limit=120)}", "dim")
    hidden = len(action.targets) - len(action.samples)
    if hidden > 0:
        yield styled(f"  … and {hidden} more", "dim")


def _next(report: RunReport, plan_file: str) -> Iterator[str]:
    if plan_file:
        yield one_line(f"plan {plan_file}", limit=1_000)
    if report.executed:
        yield one_line(f"`wellkept undo --run {report.run_id}` undoes the whole run", limit=1_000)
    elif report.mode == "dry_run" and report.plan.actions and not report.forced:
        if plan_file:
            yield one_line(f"`wellkept apply {shlex.quote(plan_file)}` does it", limit=1_000)
        else:
            yield "--execute applies it"
