"""Commands that clean a store: consolidate, apply, runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from wellkept.cli.cleaning import plan_tables
from wellkept.cli.operating.import_commands import _refuse_own_store
from wellkept.cli.terminal import exits
from wellkept.cli.terminal.fields import kinds
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.config import is_server, table_of_places
from wellkept.core.consolidation.rules import DEFAULT_RULES, Consolidation, Rule, rules_from_toml
from wellkept.errors import InvalidRules, StorePathError
from wellkept.frozen import frozen
from wellkept.types import Plan, RunReport, Scope

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

_SCOPE, _HOW, _FILES = "Filter", "Action", "Files"
_NEAR_REPEATS = "R2-near-duplicate-merge"
_MOST_RULES = 1_000_000
_TIME = "ISO 8601; UTC without a zone."


@frozen(kw_only=True)
class MemoryOptions:
    """Options that select memories."""

    kind: list[str] | None = option(
        "--kind", "-k", metavar="KIND", autocompletion=kinds, panel=_SCOPE, help="Of this kind; repeatable."
    )
    tag: list[str] | None = option("--tag", "-t", metavar="TAG", panel=_SCOPE, help="With this tag; repeatable.")

    def scope(self) -> Scope:
        """The options as a scope."""
        return Scope(kinds=tuple(self.kind or ()), tags=tuple(self.tag or ()))


@frozen(kw_only=True)
class ScopeOptions(MemoryOptions):
    """Options that select memories, in full."""

    kind: list[str] | None = option(
        "--kind", "--kinds", "-k", metavar="KIND", autocompletion=kinds, panel=_SCOPE, help="Of this kind; repeatable."
    )
    since: str | None = option(metavar="TIME", panel=_SCOPE, help=f"Stored at or after. {_TIME}")
    until: str | None = option(metavar="TIME", panel=_SCOPE, help="Stored before this time.")
    limit: int | None = option("--limit", "-n", min=1, panel=_SCOPE, help="At most this many, the newest first.")
    all_namespaces: bool = flag("--all-namespaces", panel=_SCOPE, help="All namespaces, one after the other.")

    def scope(self) -> Scope:
        """The options as a scope."""
        from wellkept.engine.base.inputs import moment

        since, until = moment("--since", self.since), moment("--until", self.until)
        if since is not None and until is not None and until <= since:
            raise typer.BadParameter("is before --since", param_hint="--until")
        return replace(MemoryOptions.scope(self), created_from=since, created_to=until, limit=self.limit)


@frozen(kw_only=True)
class RuleOptions:
    """Options that select the rules."""

    threshold: float | None = option(
        min=0.0,
        max=1.0,
        show_default="0.95",
        panel=_HOW,
        help="Similarity from which near duplicates are merged if the relation model agrees.",
    )
    rules: Path | None = option(metavar="FILE", panel=_HOW, help="Rules in TOML; they override the defaults.")
    trigger: Literal["daily", "weekly"] | None = option(panel=_HOW, help="Include the rules of this schedule.")

    def config(self) -> Consolidation:
        """The options as a consolidation configuration.

        Raises:
            InvalidRules, StorePathError: The rules file cannot be used.
        """
        rules = DEFAULT_RULES if self.rules is None else _rules(self.rules)
        if self.threshold is not None:
            rules = tuple(_from_similarity(rule, self.threshold) for rule in rules)
        return Consolidation(rules=rules, trigger=self.trigger)


@frozen(kw_only=True)
class ChoiceOptions:
    """Options that select actions."""

    only: list[str] | None = option(
        metavar="ID|TYPE", panel=_HOW, help="Only this action, or actions of this type; repeatable."
    )
    skip: list[str] | None = option(metavar="ID|TYPE", panel=_HOW, help="Skip this action or type; repeatable.")
    report: Path | None = option(
        metavar="PATH",
        show_default="reports/consolidation next to the store's file, or here",
        panel=_FILES,
        help="File for the report (must not exist), or a folder for it.",
    )
    show: int = option(default=plan_tables.SHOWN, min=0, panel=_HOW, help="Actions of each type to print.")


def consolidate(
    run: Session,
    *,
    scope: ScopeOptions,
    rules: RuleOptions,
    choice: ChoiceOptions,
    execute: bool = flag("--execute/--dry-run", panel=_HOW, help="Apply the plan, or only write it to a file."),
    plan: Path | None = option(
        metavar="PATH", show_default="plan-ID.json next to the report", panel=_FILES, help="File for the plan."
    ),
) -> int:
    """Find duplicates, contradictions and outdated memories; write a plan and a report, apply with --execute."""
    config, where = rules.config(), scope.scope()
    store = run.store(writes=False)
    names = (scope.all_namespaces and store.namespaces()) or (store.namespace,)
    if len(names) > 1:
        for option, path in (("--plan", plan), ("--report", choice.report)):
            if path is not None and not path.is_dir():
                raise typer.BadParameter("must be a folder if there are several namespaces", param_hint=option)
    code = exits.OK
    for name in names:
        bound = store.in_namespace(name) if scope.all_namespaces else store
        with run.phases(f"Looking at {one_line(name, limit=40)}") as done:
            made = bound.plan(config, where, progress=done)
        file = _plan_file(run, made, plan)
        code = max(code, _run_plan(run, bound, made, choice, execute=execute, plan_file=file, fresh=True))
    return code


def apply(
    run: Session,
    plan: Path = argument(metavar="PLAN", help="A file that `wellkept consolidate` wrote."),
    *,
    choice: ChoiceOptions,
    dry_run: bool = flag("--dry-run", panel=_HOW, help="Only show the plan."),
) -> int:
    """Apply a plan made earlier; memories changed since then are skipped and reported."""
    from wellkept.engine.consolidation.reports import read_plan

    made = read_plan(plan)
    store = run.store(writes=False, model=any(action.type == "summarize" for action in made.actions))
    return _run_plan(run, store, made, choice, execute=not dry_run, plan_file=str(plan), fresh=False)


def runs(run: Session) -> object:
    """Imports and consolidations that changed the store, and whether they were undone."""
    return run.store(writes=False, model=False).runs()


# --------------------------------------------------------------------------------------------


def _run_plan(
    run: Session, store: MemoryStore, plan: Plan, choice: ChoiceOptions, *, execute: bool, plan_file: str, fresh: bool
) -> int:
    from wellkept.engine.consolidation.reports import left_out, summary_of

    only, skip = choice.only or (), choice.skip or ()
    out = left_out(plan, only, skip)
    words = "Applying" if execute else "Reporting"
    with run.progress(words, len(plan.actions)) as done:
        report = store.execute(
            plan, only=only, skip=skip, dry_run=not execute, report=_report_target(run, choice), progress=done
        )
    run.show(
        {**summary_of(report), "plan": plan_file, "report": report.path},
        lambda: plan_tables.consolidated(
            replace(report, path=_relative(report.path)),
            plan_file=_relative(plan_file),
            out=out,
            show=choice.show,
            fresh=fresh,
        ),
    )
    return exit_code(report)


def exit_code(report: RunReport) -> int:
    """The exit code of a run: `findings` when an action is stale or failed, or a dry run was forced."""
    stale = any(result.state == "stale" for result in report.results)
    return exits.FINDINGS if report.errors or stale or report.forced else exits.OK


def _relative(path: str) -> str:
    """A path relative to the working directory when it lies below it; otherwise unchanged."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if path and Path(path).is_relative_to(here) else path


def _folder(run: Session) -> Path | None:
    """The folder of plans and reports: next to the store file, or the working directory for a database server.

    None for an in-memory store and for a file that does not exist.
    """
    from wellkept.engine.consolidation.reports import FOLDER

    file = run.settings.file
    lasts = is_server(run.settings.db) or table_of_places(run.settings.db) is not None
    if not (lasts if file is None else file.is_file()):
        return None
    folder = (Path.cwd() if file is None else file.parent) / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorePathError(
            f"the folder of reports cannot be made: {error.strerror}",
            where=str(folder),
            todo="Name other places with --report and --plan",
        ) from error
    return folder


def _report_target(run: Session, choice: ChoiceOptions) -> Path | None:
    if choice.report is None:
        return _folder(run)
    _refuse_own_store(choice.report, run)
    return choice.report


def _plan_file(run: Session, plan: Plan, target: Path | None) -> str:
    """Write the plan. A plan without actions is written only on request."""
    if target is None and plan.actions:
        target = _folder(run)
    return "" if target is None else written_plan(run, plan, target)


def written_plan(run: Session, plan: Plan, target: Path) -> str:
    """Write the plan to a file, or into a folder; returns the file."""
    from wellkept.engine.consolidation.reports import write_plan

    _refuse_own_store(target, run)
    return str(write_plan(plan, target))


def _rules(file: Path) -> tuple[Rule, ...]:
    try:
        if file.stat().st_size > _MOST_RULES:
            raise InvalidRules(f"is larger than {_MOST_RULES} bytes", where=str(file), todo="Name a file of rules")
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise StorePathError(f"cannot be read: {error.strerror}", where=str(file), todo="Check the path") from error
    except UnicodeDecodeError as error:
        raise InvalidRules("is not UTF-8", where=str(file), todo="Save it as UTF-8") from error
    return rules_from_toml(text, origin=str(file))


def _from_similarity(rule: Rule, threshold: float) -> Rule:
    """Apply `--similarity`: it sets the threshold of near duplicates, and other merge rules are raised to it."""
    if rule.action != "merge":
        return rule
    least = threshold if rule.id == _NEAR_REPEATS else max(threshold, rule.when.min_similarity or 0.0)
    return replace(rule, when=replace(rule.when, min_similarity=least))
