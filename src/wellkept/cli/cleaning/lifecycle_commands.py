"""Commands that summarise and archive old memories: reflect, decay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from wellkept.cli.cleaning import lifecycle_tables
from wellkept.cli.cleaning.consolidate_commands import MemoryOptions, exit_code, written_plan
from wellkept.cli.terminal.groups import flag, option
from wellkept.cli.terminal.session import Session
from wellkept.frozen import frozen
from wellkept.types import Json, Plan, RunReport

if TYPE_CHECKING:
    from wellkept.core.consolidation.upkeep_rules import DecayReport
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.models.port import Summariser

_HOW, _FILES = "Action", "Files"
_NEVER = "never"


@frozen(kw_only=True)
class PlanOptions:
    """Whether the plan is applied, and where it is written."""

    execute: bool = flag("--execute/--dry-run", panel=_HOW, help="Apply the plan, or only show it.")
    plan: Path | None = option(metavar="PATH", panel=_FILES, help="Write the plan, for `wellkept apply`.")
    show: int = option(default=lifecycle_tables.SHOWN, min=0, panel=_HOW, help="Actions to print.")


@frozen(kw_only=True)
class ReflectionOptions:
    """Options for summarising memories."""

    consolidate: Literal["default", "hard", "keep"] = option(
        default="default", panel=_HOW, help="Supersede the sources by the summary, archive them, or keep them."
    )
    min_size: int = option(default=2, min=2, panel=_HOW, help="Minimum number of memories per summary.")
    similarity: float = option(
        default=0.75, min=0.0, max=1.0, panel=_HOW, help="Minimum similarity to the most important one."
    )
    max_level: int = option(default=1, min=1, panel=_HOW, help="Maximum depth of summaries of summaries.")
    summariser: str | None = option(
        metavar="URL", show_default="extractive", panel=_HOW, help="A chat endpoint that writes the summaries."
    )


def reflect(run: Session, *, which: MemoryOptions, how: ReflectionOptions, act: PlanOptions) -> int:
    """Summarise groups of related memories; the sources are kept. A dry run without --execute."""
    from wellkept.core.consolidation.reflection import Reflection

    config = Reflection(
        similarity=how.similarity, min_size=how.min_size, max_level=how.max_level, consolidate=how.consolidate
    )
    summariser = _summariser(run, how.summariser)
    store = run.store(writes=False)
    with run.phases("Summarising") as done:
        plan = store.reflect(config, which.scope(), summariser=summariser, progress=done)
    return _finish(run, store, plan, act, extra={"consolidate": how.consolidate})


def decay(
    run: Session,
    *,
    which: MemoryOptions,
    act: PlanOptions,
    ttl: list[str] | None = option(
        metavar="KIND=DAYS|host",
        panel=_HOW,
        help="Archive a kind after DAYS without a change, or never; `host` is a set: "
        "decision 90, summary 7, temp_note 1, lesson never. Repeatable.",
    ),
    days: float = option(default=1.0, min=0.0, max=36_500.0, help="Also list memories that faded in the last DAYS."),
) -> int:
    """Show how far each kind has decayed, and what would be archived. `restore` brings a memory back."""
    from wellkept.core.consolidation.upkeep_rules import Aging

    aging = Aging(ttl=_ttl(ttl or ()), days=days)
    store = run.store(writes=False, model=False)
    report = store.decay(aging, which.scope())
    return _finish(run, store, report.plan, act, decay=report)


# --------------------------------------------------------------------------------------------


def _finish(
    run: Session,
    store: MemoryStore,
    plan: Plan,
    act: PlanOptions,
    *,
    decay: DecayReport | None = None,
    extra: Mapping[str, Json] | None = None,
) -> int:
    """Write the plan and apply it, each when requested, then print the report."""
    file = "" if act.plan is None else written_plan(run, plan, act.plan)
    with run.progress("Applying" if act.execute else "Reporting", len(plan.actions)) as done:
        report = store.execute(plan, dry_run=not act.execute, progress=done)
    run.show(
        {**_plain(report, file), **(extra or {}), **(_faded(decay) if decay else {})},
        lambda: lifecycle_tables.report_view(report, plan_file=file, show=act.show, decay=decay),
    )
    return exit_code(report)


def _plain(report: RunReport, plan_file: str) -> dict[str, Any]:
    """The JSON output: ids, counters, and each action with its memories."""
    plan = report.plan
    results = {result.action_id: result for result in report.results}
    actions = []
    for action in plan.actions:
        result = results.get(action.id)
        entry: dict[str, Any] = {
            "id": action.id,
            "type": action.type,
            "state": "planned" if result is None else result.state,
            "why": "" if result is None else result.why,
            "rule": action.rationale.rule,
            "targets": action.targets,
            "reasons": action.rationale.reasons,
        }
        if action.summary:
            entry |= {"similarity": action.rationale.similarity, "summary": action.summary}
        actions.append(entry)
    return {
        "plan_id": plan.plan_id,
        "run_id": report.run_id,
        "mode": report.mode,
        "forced": report.forced,
        "namespace": plan.namespace,
        "scope": plan.scope,
        "memories": plan.detected.memories,
        "degraded": plan.degraded,
        "planned": plan.planned,
        "executed": report.executed,
        "skipped": report.skipped,
        "errors": report.errors,
        "actions": actions,
        "plan": plan_file,
    }


def _faded(report: DecayReport) -> dict[str, Any]:
    return {"kinds": report.kinds, "transitions": report.transitions, "since": report.since}


def _ttl(given: list[str] | tuple[str, ...]) -> dict[str, float | None]:
    """Days by kind, parsed from the options."""
    from wellkept.core.consolidation.upkeep_rules import TTL_DAYS

    found: dict[str, float | None] = {}
    for text in given:
        if text == "host":
            found |= TTL_DAYS
            continue
        kind, equals, days = text.partition("=")
        if not kind.strip() or not equals:
            raise typer.BadParameter(f"{text!r} is not KIND=DAYS", param_hint="--ttl")
        try:
            found[kind.strip()] = None if days.strip().lower() == _NEVER else float(days)
        except ValueError:
            raise typer.BadParameter(f"{days!r} is neither a number of days nor {_NEVER}", param_hint="--ttl") from None
    return found


def _summariser(run: Session, given: str | None) -> Summariser | None:
    from wellkept.models.summarise.endpoint import load_summariser

    settings = run.settings
    return load_summariser(given if given is not None else settings.summariser, api_key=settings.summariser_key or None)
