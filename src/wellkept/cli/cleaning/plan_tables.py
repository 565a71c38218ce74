"""Terminal output of consolidation: counts, actions with their reasons, next steps."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from wellkept.cli.terminal.render import ShortIds, rows_of, styled, when
from wellkept.cli.terminal.safe import one_line
from wellkept.types import Action, ActionResult, Json, Plan, RowChange, RunReport, UndoReport
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from wellkept.cli.terminal.render import Parts
    from wellkept.engine.consolidation.run_list import RunLine

SHOWN = 5
"""Number of actions printed by default, per type."""
_ROWS = 6
_STYLES = {"executed": "green", "stale": "yellow", "failed": "red", "left_out": "dim", "done": "dim"}
_FIRST = ("failed", "stale")
_DEGRADED = {
    "relation": "no relation model: only equal texts are merged",
    "lexical": "the embedder only compares spelling: only equal texts are merged",
    "calibration": "the embedder is not calibrated",
}


def consolidated(report: RunReport, *, plan_file: str, out: frozenset[str], show: int, fresh: bool = True) -> Parts:
    """The whole report of one namespace.

    Args:
        report: The executed or planned run.
        plan_file: Path of the plan file; empty when none was written.
        out: Types of actions that are excluded.
        show: Number of actions to print, per type.
        fresh: Whether this command made the plan, so that `--execute` would have applied it.
    """
    plan = report.plan
    yield headline(report, "Consolidation")
    yield from _found(plan)
    if not plan.actions:
        yield "Nothing to do"
    else:
        yield _counts(report, out)
        yield from _actions(report, plan_file, out=out, show=show)
    if plan_file:
        yield _labelled("plan", plan_file)
    if report.path:
        yield _labelled("report", report.path)
    yield from _next(report, plan_file, left=len(plan.actions) - len(out), fresh=fresh)


def run_lines(lines: Sequence[RunLine]) -> Parts:
    """A table of runs."""
    if not lines:
        yield "No runs"
        return
    undone = any(line.undone != "no" for line in lines)
    rows = [
        (
            one_line(line.run_id),
            when(line.started_at),
            *((line.undone,) if undone else ()),
            ", ".join(f"{count} {word}" for word, count in line.counts.items()),
        )
        for line in lines
    ]
    yield rows_of(("run", "when", *(("undone",) if undone else ()), "what"), rows)


def run_undone(report: UndoReport) -> Parts:
    """The result of undoing a run, with the changes that could not be undone."""
    count = len(report.undone)
    yield one_line(
        f"Undid {count_of(count, 'entry')} of the run; "
        f"`wellkept undo --run undo-{report.run_id}` redoes {'it' if count == 1 else 'them'}"
    )
    for entry, later in sorted(report.blocked.items()):
        yield styled(f"  left      entry {entry}: changed since by entry {', '.join(map(str, later))}", "yellow")


# --------------------------------------------------------------------------------------------


def headline(report: RunReport, name: str) -> str:
    """The first line: the operation, the namespace, and whether the plan was applied."""
    what = "executed" if report.mode == "execute" else "dry run, nothing is changed"
    line = f"{name} of {one_line(report.plan.namespace)}: {what}"
    return f"{line} (forced by {one_line(report.forced)})" if report.forced else line


def _found(plan: Plan) -> Iterator[str]:
    found = plan.detected
    parts = [
        f"{count_of(found.memories, 'memory')}",
        f"{count_of(found.exact_groups, 'group')} of equal texts",
        f"{count_of(found.pairs, 'pair')} compared",
        f"{found.contradiction_pairs} in contradiction",
    ]
    news = plan.planned["flag_contradiction"]
    if news < found.contradiction_pairs:
        parts[-1] += f" ({news} to be flagged)"
    if found.asked:
        parts.append(f"{found.asked} read by the relation model")
    yield ", ".join(parts)
    for word in plan.degraded:
        yield f"degraded: {_DEGRADED.get(word, word)}"


def _counts(report: RunReport, out: frozenset[str]) -> Table:
    done: Counter[tuple[str, str]] = Counter((result.type, result.state) for result in report.results)
    left: Counter[str] = Counter(action.type for action in report.plan.actions if action.id in out)
    kinds = [kind for kind, count in report.plan.planned.items() if count]
    planned: Mapping[str, int] = report.plan.planned
    if report.mode == "dry_run":
        headings: tuple[str, ...] = ("action", "planned>", *(("left out>",) if out else ()))
        rows = [(kind, str(planned[kind]), *((str(left[kind]),) if out else ())) for kind in kinds]
    else:
        states = [state for state in ("executed", "done", "stale", "left_out", "failed") if _has_state(report, state)]
        shown = states or ["executed"]
        headings = ("action", "planned>", *(f"{state.replace('_', ' ')}>" for state in shown))
        rows = [(kind, str(planned[kind]), *(str(done[kind, state]) for state in shown)) for kind in kinds]
    return rows_of(headings, rows)


def _has_state(report: RunReport, state: str) -> bool:
    return any(result.state == state for result in report.results)


def _actions(report: RunReport, plan_file: str, *, out: frozenset[str], show: int) -> Parts:
    results = {result.action_id: result for result in report.results}
    plan = report.plan
    for kind, count in plan.planned.items():
        actions = [action for action in plan.actions if action.type == kind]
        actions.sort(key=lambda action: _rank(results.get(action.id)))
        short = ShortIds(one for action in actions[:show] for one in (*action.expect, *action.targets))
        for action in actions[:show]:
            yield ""
            yield from _action(action, results.get(action.id), short, left_out=action.id in out)
        if count > show:
            where = f"all are in {one_line(plan_file)}" if plan_file else f"--show {count} prints them"
            yield ""
            yield styled(f"… and {count - show} more {kind}; {where}", "dim")
    if plan.actions:
        yield ""


def _rank(result: ActionResult | None) -> int:
    return 0 if result is not None and result.state in _FIRST else 1


def heading(action: Action, result: ActionResult | None, *, left_out: bool = False) -> Parts:
    """An action with its state, and the reasons for both."""
    state = result.state if result is not None else "left_out" if left_out else ""
    head = styled(action.type, "bold").append(f"  {action.id}  {one_line(action.rationale.rule, limit=80)}")
    if state:
        head.append(f"  {state.replace('_', ' ')}", style=_STYLES.get(state, ""))
    yield head
    if result is not None and result.why and result.state in _FIRST:
        yield styled(f"  {one_line(result.why)}", _STYLES[result.state])
    for reason in action.rationale.reasons:
        yield styled(f"  {one_line(reason)}")


def _action(action: Action, result: ActionResult | None, short: ShortIds, *, left_out: bool) -> Parts:
    yield from heading(action, result, left_out=left_out)
    for sample in action.samples:
        yield styled(f'    "{one_line(sample, limit=120)}"', "italic")
    hidden = len(action.targets) - len(action.samples)
    if action.samples and hidden > 0:
        yield styled(f"    … and {hidden} more", "dim")
    for row in action.rows[:_ROWS]:
        yield styled(f"  {short(row.memory_id)}  {_change(row)}", "dim")
    if len(action.rows) > _ROWS:
        yield styled(f"  … and {count_of(len(action.rows) - _ROWS, 'more memory')}", "dim")
    for flag in action.flags:
        what = "a conflict is opened" if flag.kind != "outdated" else "the older is marked as outdated"
        yield styled(f"  {short(flag.a)} and {short(flag.b)}: {what}", "dim")


def _change(row: RowChange) -> str:
    """A short form of before and after: `active -> archived; importance 0.5 -> 0.625; tags +infra`."""
    parts = []
    for name, after in sorted(row.after.items(), key=lambda item: item[0] != "status"):
        before = row.before.get(name)
        match after:
            case list():
                news = [item for item in after if item not in (before or [])]
                parts.append(f"{name} " + ", ".join(f"+{_short_value(item)}" for item in news[:5]))
            case Mapping():
                parts.append(_metadata(before if isinstance(before, Mapping) else {}, after))
            case _ if name == "status":
                parts.append(f"{_short_value(before)} -> {_short_value(after)}")
            case _:
                parts.append(f"{name.replace('_', ' ')} {_short_value(before)} -> {_short_value(after)}")
    return one_line("; ".join(part for part in parts if part.strip()), limit=300) or "stays as it is"


def _metadata(before: Mapping[str, Json], after: Mapping[str, Json]) -> str:
    names = [name for name in after if before.get(name) != after[name]]
    merged = after.get("merged_from")
    parts = [f"stands for {len(merged)} more"] if "merged_from" in names and isinstance(merged, list) else []
    rest = [name for name in names if name != "merged_from"]
    return "; ".join([*parts, *([f"metadata {', '.join(map(_short_value, rest[:5]))}"] if rest else [])])


def _short_value(value: Json) -> str:
    from wellkept.core.text.redaction import redacted

    if value is None or value == "":
        return "none"
    return redacted(value, 40) if isinstance(value, str) and len(value) != 36 else str(value)


def _labelled(name: str, text: str) -> Text:
    return styled(f"{name:<8} ", "dim").append(one_line(text, limit=1_000), style="default")


def _next(report: RunReport, plan_file: str, *, left: int, fresh: bool) -> Iterator[str]:
    if report.executed:
        yield one_line(f"`wellkept undo --run {report.run_id}` undoes the whole run", limit=1_000)
    if report.mode == "dry_run" and left and not report.forced:
        if plan_file:
            at_once = ", as does --execute" if fresh else ""
            command = f"`wellkept apply {shlex.quote(plan_file)}`"
            yield one_line(f"{command} applies it{at_once}; --only and --skip select actions", limit=1_000)
        elif fresh:
            yield "--execute applies it; --only and --skip select actions"
