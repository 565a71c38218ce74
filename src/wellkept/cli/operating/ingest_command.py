"""`wellkept ingest`: take in what was said in conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wellkept.cli.operating.extract_options import ExtractOptions, extraction, unsent
from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.fields import KindOption
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.frozen import frozen

if TYPE_CHECKING:
    from wellkept.adapters.transcripts import Format
    from wellkept.engine.ingest.choosing import Heard
    from wellkept.engine.ingest.harvest import Harvest
    from wellkept.engine.ingest.import_rows import Origin
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.models.answering.extractor import ChatExtractor
    from wellkept.types import ImportReport

_SHOWN = 10
_COMPARED = 200
"""New statements up to which a plan compares them without being asked to."""
_KIND = "note"


@frozen(kw_only=True)
class TranscriptOptions:
    """Options for reading a transcript."""

    format: str = option(default="", metavar="NAME", show_default="detected", help="Format of the transcript.")
    kind: KindOption = None
    speaker: list[str] | None = option(metavar="NAME", help="Only what this speaker says; repeatable.")
    since: str = option(default="", metavar="TIME", help="Only what was said from this time on, as ISO 8601.")
    limit: int | None = option("--limit", "-n", min=1, help="Read at most this many turns.")
    known_as: str | None = option(
        "--source", show_default="its path", help="Name of the source, for formats whose conversations have no ids."
    )

    def heard(self, path: Path, format: str) -> Heard:
        """The turns of a transcript that the options select."""
        from wellkept.adapters.transcripts import read
        from wellkept.engine.ingest.choosing import heard
        from wellkept.engine.ingest.harvest import selected

        found = heard(read(path, format))
        turns = selected(found.turns, speakers=self.speaker or (), since=self.since, limit=self.limit)
        return replace(found, turns=turns)

    def origin(self, path: Path, format: Format) -> Origin:
        """Where the transcript comes from."""
        from wellkept.engine.ingest.import_rows import Origin

        name = self.known_as or ("" if format.is_placed else str(path.resolve()))
        return Origin(format=format.name, name=name, kind=self.kind or _KIND)


def ingest(
    run: Session,
    source: Path = argument(metavar="SOURCE", help="A file, a folder, or a zip archive."),
    *,
    how: TranscriptOptions,
    model: ExtractOptions,
    apply: bool = flag("--apply", help="Store it, through the gate; without it, only show what would be stored."),
    compare: bool | None = option(
        "--compare/--no-compare",
        show_default=f"up to {_COMPARED} new ones",
        help="In a plan: rehearse what the gate would do with each statement, which takes as long as storing them.",
    ),
) -> int:
    """Take in conversations: statements worth keeping, with speaker and date, or the facts that a model extracts.

    Chat lines, exports of ChatGPT, Claude and Slack, session logs of Claude Code and Codex, and Markdown diaries
    are read.
    """
    from wellkept.adapters.transcripts import recognise
    from wellkept.engine.ingest.harvest import taken_in

    format = recognise(source, how.format)
    heard = how.heard(source, format.name)
    chat = model.chat(run)
    if chat is not None and model.dry_run:
        requests = [chat.request(passage) for passage in unsent(chat, heard.turns)]
        run.show({"host": chat.endpoint.host, "model": chat.id, "requests": requests}, lambda: requests)
        return exits.OK
    store = _store(run, apply=apply)
    harvest = _harvest(run, store, heard, how.origin(source, format), chat)
    with run.progress("Storing" if apply else "Comparing", len(harvest.rows), of="memories") as done:
        if apply:
            report: ImportReport | None = taken_in(store._ctx, harvest, progress=done)
        else:
            report = _rehearsal(run, store, harvest, done, compare=compare)
    said = _as_keys(source, format, harvest, report, apply=apply)
    run.show(said, lambda: _view(source, format, harvest, report, apply=apply))
    return exits.OK if harvest.is_whole else exits.FINDINGS


def _harvest(run: Session, store: MemoryStore, heard: Heard, origin: Origin, chat: ChatExtractor | None) -> Harvest:
    """The facts that the model extracts, or the statements worth keeping if there is none."""
    from wellkept.engine.ingest.extracting import facts_of
    from wellkept.engine.ingest.harvest import statements_of

    if chat is not None:
        return facts_of(store._ctx, heard, extraction(run, chat, heard.turns), origin)
    with run.progress("Reading", None, of="statements") as bar:
        return statements_of(store._ctx, heard, origin, progress=bar)


def _store(run: Session, *, apply: bool) -> MemoryStore:
    """The store to write to; for a plan about a store that does not exist yet, an empty one."""
    from wellkept.cli.terminal.opening import open_scratch

    file = run.settings.file
    if apply or file is None or file.exists():
        return run.store(writes=apply)
    return run.closing(open_scratch(run.settings))


def _rehearsal(
    run: Session, store: MemoryStore, harvest: Harvest, done: Callable[[int], None], *, compare: bool | None
) -> ImportReport | None:
    """What storing it would do; None where that is not to be found out."""
    from wellkept.cli.terminal.opening import open_scratch
    from wellkept.engine.ingest.rehearsal import rehearsed

    most = None if compare else 0 if compare is False else _COMPARED
    with open_scratch(run.settings, like=store) as scratch:
        return rehearsed(store._ctx, scratch._ctx, harvest.rows, most=most, progress=done)


def _as_keys(
    source: Path, format: Format, harvest: Harvest, report: ImportReport | None, *, apply: bool
) -> Mapping[str, Any]:
    kept = [row.new for row in harvest.rows if row.new is not None]
    return {
        "source": str(source),
        "format": format.name,
        "turns": harvest.turns,
        "kept": harvest.kept,
        "left_out": harvest.left_out,
        "unread": [str(row.error) for row in harvest.rows if row.error is not None],
        "degraded": harvest.degraded,
        "applied": apply,
        "report": report,
        "statements": [{"content": new.content, "recorded_at": new.recorded_at, **new.metadata} for new in kept],
    }


def _view(source: Path, format: Format, harvest: Harvest, report: ImportReport | None, *, apply: bool) -> Iterator[Any]:
    yield render.styled(f"{one_line(str(source))}: {format.what}", "bold")
    yield render.rows_of(("what", "count>"), _counts(harvest))
    if harvest.degraded:
        yield render.styled(f"  degraded  {', '.join(harvest.degraded)}", "yellow")
    if apply and report is not None:
        yield render.styled("Stored", "bold")
        yield from render.imported(report)
        if set(report.counts) - {"replayed"}:
            yield render.styled(f"  undo      wellkept undo --run {report.run_id}", "dim")
        return
    yield from _plan(harvest, report)


def _counts(harvest: Harvest) -> Iterator[tuple[str, str]]:
    yield "turns", str(harvest.turns)
    yield "kept", str(harvest.kept)
    for why, count in sorted(harvest.left_out.items(), key=lambda one: -one[1]):
        yield f"  left out: {why}", str(count)
    if unread := len(harvest.rows) - harvest.kept:
        yield "not read", str(unread)


def _plan(harvest: Harvest, report: ImportReport | None) -> Iterator[Any]:
    kept = [row.new for row in harvest.rows if row.new is not None]
    if report is None:
        yield render.styled("Not compared with what is stored; --compare does it", "yellow")
    elif kept:
        yield render.styled("It would become", "bold")
        outcomes = [(word, str(count)) for word, count in sorted(report.counts.items())]
        yield render.rows_of(("outcome", "statements>"), [*outcomes, ("conflicts opened", str(report.conflicts))])
    if kept:
        yield render.styled("The first ones" if len(kept) > _SHOWN else "The statements", "bold")
    for new in kept[:_SHOWN]:
        day = f"{new.recorded_at:%Y-%m-%d}" if new.recorded_at is not None else " " * 10
        yield f"  {day}  {one_line(new.content, limit=160)}"
    if errors := [row.error for row in harvest.rows if row.error is not None]:
        yield render.styled("Not read", "bold")
        for error in errors[: render.SHOWN_ERRORS]:
            yield render.styled(f"  {one_line(str(error), limit=300)}", "yellow")
    yield render.styled("Nothing is written; --apply stores it", "dim")
