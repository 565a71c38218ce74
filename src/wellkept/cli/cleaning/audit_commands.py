"""Command that analyses the store of another tool and can import it: audit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wellkept.cli.operating.import_commands import _local, _refuse_own_store, _refuse_unknown
from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.fields import pair
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.errors import StorePathError
from wellkept.frozen import frozen
from wellkept.types import ImportReport, Plan

if TYPE_CHECKING:
    from wellkept.adapters import Source
    from wellkept.engine.transfer.audit import Audit, Example, Owned
    from wellkept.engine.transfer.import_lines import ImportSpec

_STDIN = "stdin"
_TITLES = {
    "exact": "Exact duplicates, spelling variants included",
    "near": "Paraphrases",
    "conflict": "Conflicts",
    "stale": "Stale: replaced by a later one",
    "junk": "Junk",
}


@frozen(kw_only=True)
class SourceOptions:
    """Options for reading a source."""

    format: str = option(default="", metavar="NAME", show_default="detected", help="Format of the source.")
    mapping: list[str] | None = option(
        "--map", metavar="FIELD=KEY", help="Map a field to this key of the source (dots for nested keys); repeatable."
    )
    lines: bool = flag("--lines", help="Each line is plain text, not JSON.")
    limit: int | None = option("--limit", "-n", min=1, help="Read at most this many memories.")
    known_as: str | None = option(
        "--source",
        show_default="its path",
        help="Name of the source; a repeated import under the same name adds nothing twice.",
    )
    namespace_from: str = option(default="owner", metavar="KEY", help="Key that holds the owner of a memory.")
    together: bool = flag(
        "--together", help="Compare across owners, in one namespace; otherwise each owner separately."
    )

    def spec(self, name: str) -> ImportSpec:
        """The options as an import specification."""
        from wellkept.engine.transfer.import_lines import ImportSpec

        mapping = dict(pair("--map", item) for item in self.mapping or ())
        _refuse_unknown("--map", mapping)
        return ImportSpec(source=self.known_as or name, mapping=mapping, plain=self.lines, limit=self.limit)

    def rows(self, source: Source, run: Session) -> Iterator[Owned]:
        """The rows of a source, each with its target namespace."""
        from wellkept.adapters import rows_of
        from wellkept.engine.transfer.audit import owned

        settings = run.settings
        rows = rows_of(source, self.spec(_STDIN if source.path.name == f"{_STDIN}.jsonl" else ""), settings.policy)
        return owned(rows, settings.namespace, key="" if self.together else self.namespace_from)


def audit(
    run: Session,
    source: str = argument(metavar="SOURCE|-", help="A file or folder; - reads JSON lines."),
    *,
    how: SourceOptions,
    take: bool = flag("--import", help="Import it into the store, through the gate."),
    plan: Path | None = option(metavar="FILE", help="Write a plan that would clean it to this file."),
    force: bool = flag("--force", help="Overwrite the file."),
) -> int:
    """Audit the memories of another tool: duplicates, conflicts, stale memories, and a plan to clean them.

    The source is never written. JSON lines, mem0, mcp-memory-service, the MCP reference server's
    memory.jsonl, Chroma and folders of Markdown notes are read.
    """
    from wellkept.adapters import recognise

    if plan is not None:
        _refuse_target(plan, run, force=force)
    found = recognise(_local(source, run), format=how.format, plain=how.lines)
    report = _looked_at(found, how, run)
    written = _written(report.plans, plan)
    taken = _taken_over(found, how, run) if take else None
    shown: dict[str, Any] = {"source": source, "format": found.format.name, **_as_keys(report), "plan_files": written}
    if taken is not None:
        shown["import"] = taken
    run.show(shown, lambda: _view(source, found, report, (written, taken)))
    return exits.OK if report.clean else exits.FINDINGS


def _looked_at(source: Source, how: SourceOptions, run: Session) -> Audit:
    """Audit the source in a scratch store, with the configured models."""
    from wellkept.cli.terminal.opening import open_scratch

    with open_scratch(run.settings) as scratch, run.phases("Auditing") as done:
        return scratch.audit(how.rows(source, run), in_order=source.format.in_order, progress=done)


def _taken_over(source: Source, how: SourceOptions, run: Session) -> ImportReport:
    store = run.store()
    with run.busy("Importing"):
        return store.take_over(how.rows(source, run))


def _refuse_target(target: Path, run: Session, *, force: bool) -> None:
    _refuse_own_store(target, run)
    if target.exists() and not force:
        raise StorePathError("the file exists", where=str(target), todo="Pass --force to overwrite it")


def _written(plans: tuple[Plan, ...], target: Path | None) -> list[str]:
    """Write the plans: the first to the given file, each further namespace's to a file next to it."""
    from wellkept.core.consolidation.plan_file import plan_text
    from wellkept.engine.base.files import replacing

    names = []
    for number, plan in enumerate(plans if target is not None else (), start=1):
        assert target is not None
        path = target if number == 1 else target.with_name(f"{target.stem}-{number}{target.suffix}")
        with replacing(path) as out:
            out.write(plan_text(plan))
        names.append(str(path))
    return names


def _as_keys(report: Audit) -> dict[str, Any]:
    """The report as JSON. Plans are written to files, so only their sizes are included."""
    kept = {name: getattr(report, name) for name in report.__dataclass_fields__ if name != "plans"}
    plans = [{"namespace": plan.namespace, "plan_id": plan.plan_id, "planned": plan.planned} for plan in report.plans]
    return {**kept, "plans": plans}


def _view(source: str, found: Source, report: Audit, done: tuple[list[str], ImportReport | None]) -> render.Parts:
    written, taken = done
    yield render.styled(f"{one_line(source)}: {found.format.what}", "bold")
    yield render.rows_of(("what", "count>"), [(what, str(count)) for what, count in _counts(report)])
    for topic, title in _TITLES.items():
        yield from _examples(title, [one for one in report.examples if one.topic == topic])
    if report.unreadable:
        yield render.styled("Not read", "bold")
        yield from render.item_errors(report.unreadable, len(report.unreadable))
    if report.degraded:
        yield render.styled(f"  degraded  {', '.join(report.degraded)}: their findings are missing", "yellow")
    yield render.styled(_plan_words(report), "bold")
    for path in written:
        yield render.styled(f"  plan      {one_line(path)}", "dim")
    if taken is None:
        yield render.styled("  The source is unchanged; --import imports it into the store", "dim")
    else:
        yield render.styled("Imported", "bold")
        yield from render.imported(taken)


def _counts(report: Audit) -> Iterator[tuple[str, int]]:
    yield "memories", report.memories
    if len(report.namespaces) > 1:
        yield from ((f"  of {namespace}", count) for namespace, count in report.namespaces.items())
    yield "exact duplicates", report.exact
    yield "paraphrases", report.near
    yield "conflicts", report.conflicts
    yield "  of these, stale", report.stale
    yield "junk", report.junk
    if report.unreadable:
        yield "not read", len(report.unreadable)


def _examples(title: str, examples: list[Example]) -> render.Parts:
    if not examples:
        return
    yield render.styled(title, "bold")
    for one in examples:
        for at, (name, text) in enumerate(zip(one.ids, one.texts, strict=True)):
            mark = "-" if not at else " "
            yield render.styled(f"  {mark} {one_line(text, limit=120)}  ").append(
                f"[{one_line(name, limit=40)}]", "dim"
            )
        yield render.styled(f"    {one_line(one.why, limit=200)}", "yellow")


def _plan_words(report: Audit) -> str:
    merges = sum(plan.planned["merge"] for plan in report.plans)
    flags = sum(plan.planned["flag_contradiction"] for plan in report.plans)
    if not merges and not flags:
        return "Plan: nothing to merge and nothing to flag"
    return f"Plan: clusters to merge {merges}, conflicts to flag {flags}"
