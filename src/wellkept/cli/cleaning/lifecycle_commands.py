"""Commands for a store that grows old: reflect, decay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from wellkept.cli.cleaning import lifecycle_tables
from wellkept.cli.terminal import exits
from wellkept.cli.terminal.fields import kinds
from wellkept.cli.terminal.session import Session, command
from wellkept.types import Json, Plan, RunReport, Scope

if TYPE_CHECKING:
    from wellkept.core.consolidation.upkeep_rules import DecayReport
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.models.port import Summariser

_PANEL = "Operate"
_WHICH, _HOW, _FILES = "Filter", "Action", "Files"
_NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which memories are looked at."""

    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", "-k", metavar="KIND", help="Of this kind; repeatable.",
            autocompletion=kinds, rich_help_panel=_WHICH,
        ),
    ] = None  # fmt: skip
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", metavar="TAG", help="With this tag; repeatable.", rich_help_panel=_WHICH),
    ] = None

    def scope(self) -> Scope:
        """The scope of the library."""
        return Scope(kinds=tuple(self.kind or ()), tags=tuple(self.tag or ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Whether the plan is applied, and where it is written."""

    execute: Annotated[
        bool,
        typer.Option("--execute/--dry-run", help="Apply the plan, or only show it.", rich_help_panel=_HOW),
    ] = False
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="PATH", help="Write the plan, for `wellkept apply`.", rich_help_panel=_FILES),
    ] = None
    show: Annotated[int, typer.Option("--show", min=0, help="Actions to print.", rich_help_panel=_HOW)] = (
        lifecycle_tables.SHOWN
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How memories are summed up."""

    consolidate: Annotated[
        Literal["default", "hard", "keep"],
        typer.Option(help="Supersede the sources by the summary, archive them, or keep them.", rich_help_panel=_HOW),
    ] = "default"
    min_size: Annotated[
        int, typer.Option("--min-size", min=2, help="Minimum number of memories per summary.", rich_help_panel=_HOW)
    ] = 2
    similarity: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Minimum similarity to the most important one.", rich_help_panel=_HOW),
    ] = 0.75
    max_level: Annotated[
        int, typer.Option("--max-level", min=1, help="Maximum depth of summaries of summaries.", rich_help_panel=_HOW)
    ] = 1
    summariser: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="A chat endpoint that writes the summaries.", show_default="extractive",
            rich_help_panel=_HOW,
        ),
    ] = None  # fmt: skip


def reflect(run: Session, *, which: Which, how: How, act: Act) -> int:
    """Summarise groups of related memories; the sources are kept. A dry run without --execute."""
    from wellkept.core.consolidation.reflection import Reflection

    config = Reflection(
        similarity=how.similarity, min_size=how.min_size, max_level=how.max_level, consolidate=how.consolidate
    )
    summariser = _summariser(run, how.summariser)
    store = run.store(writes=False)
    with run.progress("Summarising", None) as done:
        plan = store.reflect(
            config, which.scope(), summariser=summariser, progress=lambda _, part, whole: done(part, whole)
        )
    return _finish(run, store, plan, act, extra={"consolidate": how.consolidate})


def decay(
    run: Session,
    *,
    which: Which,
    act: Act,
    ttl: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=DAYS|host", help="Archive a kind after DAYS without a change, or never; `host` is a set: "
            "decision 90, summary 7, temp_note 1, lesson never. Repeatable.", rich_help_panel=_HOW,
        ),
    ] = None,
    days: Annotated[
        float, typer.Option("--days", min=0.0, max=36_500.0, help="Also list memories that faded in the last DAYS.")
    ] = 1.0,
) -> int:  # fmt: skip
    """Show how far each kind has decayed, and what would be archived. `restore` brings a memory back."""
    from wellkept.core.consolidation.upkeep_rules import Aging

    aging = Aging(ttl=_ttl(ttl or ()), days=days)
    store = run.store(writes=False, model=False)
    report = store.decay(aging, which.scope())
    return _finish(run, store, report.plan, act, decay=report)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    command(app, "reflect", panel=_PANEL)(reflect)
    command(app, "decay", panel=_PANEL)(decay)


# --------------------------------------------------------------------------------------------


def _finish(
    run: Session,
    store: MemoryStore,
    plan: Plan,
    act: Act,
    *,
    decay: DecayReport | None = None,
    extra: Mapping[str, Json] | None = None,
) -> int:
    """Write the plan where asked, apply it where asked, and tell."""
    from wellkept.engine.base.files import refuse_store
    from wellkept.engine.consolidation.reports import write_plan

    file = ""
    if act.plan is not None:
        refuse_store(act.plan, run.settings.file)
        file = str(write_plan(plan, act.plan))
    with run.progress("Applying" if act.execute else "Reporting", len(plan.actions)) as done:
        report = store.execute(plan, dry_run=not act.execute, progress=done)
    run.show(
        {**_plain(report, file), **(extra or {}), **(_faded(decay) if decay else {})},
        lambda: lifecycle_tables.told(report, plan_file=file, show=act.show, decay=decay),
    )
    stale = any(result.state == "stale" for result in report.results)
    return exits.FINDINGS if report.errors or stale or report.forced else exits.OK


def _plain(report: RunReport, plan_file: str) -> dict[str, Any]:
    """What scripts read: ids, counters, and each action with what it is about."""
    plan = report.plan
    results = {result.action_id: result for result in report.results}
    actions = []
    for action in plan.actions:
        result = results.get(action.id)
        told: dict[str, Any] = {
            "id": action.id,
            "type": action.type,
            "state": "planned" if result is None else result.state,
            "why": "" if result is None else result.why,
            "rule": action.rationale.rule,
            "targets": action.targets,
            "reasons": action.rationale.reasons,
        }
        if action.summary:
            told |= {"similarity": action.rationale.similarity, "summary": action.summary}
        actions.append(told)
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
    """Days by kind, as the options say them."""
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
