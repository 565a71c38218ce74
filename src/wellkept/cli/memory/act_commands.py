"""Commands that change stored memories: supersede, forget, restore, split, erase, undo, link and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import typer

from wellkept.cli.cleaning import plan_tables
from wellkept.cli.terminal import exits, questions, render
from wellkept.cli.terminal.fields import IdArgument, resolution, resolutions
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.engine.base.inputs import moment
from wellkept.operations.undone import Change, changes_of, stored
from wellkept.types import Answerer, Rightness
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore


def supersede(
    run: Session,
    old_id: str = argument(metavar="OLD", help="Id of the memory that no longer holds."),
    new_id: str = argument(metavar="NEW", help="Id of the memory that replaces it."),
) -> None:
    """Replace one memory by another: the old one is hidden, and `restore` brings it back."""
    entry = run.store(model=False).supersede(old_id, new_id)
    run.show({"entry": entry}, lambda: [f"Superseded; `wellkept undo {entry}` undoes this"])


def forget(run: Session, memory_id: IdArgument) -> None:
    """Archive a memory: hidden, kept, restorable."""
    entry = run.store(model=False).forget(memory_id)
    run.show({"entry": entry}, lambda: [f"Forgotten; `wellkept undo {entry}` or `wellkept restore` brings it back"])


def restore(run: Session, memory_id: IdArgument) -> None:
    """Make a superseded, forgotten or archived memory active again, or store a text that the gate dropped."""
    changed = run.store().restore(memory_id)
    run.show({"restored": changed}, lambda: ["Restored" if changed else "Nothing changed"])


def split(run: Session, memory_id: IdArgument) -> None:
    """Make a wording a memory of its own, because it says something else than its head."""
    entry = run.store(model=False).split(memory_id)
    run.show({"entry": entry}, lambda: [f"Split; `wellkept undo {entry}` undoes this"])


def judge(
    run: Session,
    entry: int = argument(metavar="ENTRY", min=1, help="Number of the journal entry that decided a write."),
    verdict: Rightness = argument(metavar="VERDICT", help="right, wrong or unsure."),
) -> None:
    """Say whether a past decision was right; the page shows the error rate that follows."""
    made = run.store(model=False).judge(entry, verdict)
    run.show({"entry": made}, lambda: ["Stored" if made else "That stands already"])


def erase(
    run: Session,
    memory_id: IdArgument,
    *,
    yes: bool = flag("--yes", "-y", help="Do not ask for confirmation."),
) -> int:
    """Remove the content of a memory and of its wordings permanently, everywhere. This cannot be undone."""
    from wellkept.engine.lookup.wordings_and_marks import standing  # imports the engine, which the help does not load

    store = run.store(model=False)
    memory = store.get(memory_id, touch=False)
    behind = standing(store._ctx, [memory]).wordings.get(memory.id, ())
    for wording in behind:
        run.note(f"Its wording goes with it: {one_line(wording.content, limit=120)!r}")
    more = f" and its {count_of(len(behind), 'wording')}" if behind else ""
    question = f"Erase permanently:  {one_line(memory.content, limit=80)!r}{more}?"
    if not (yes or run.confirmed(question, to="erase permanently")):
        run.note("Nothing erased")
        return exits.ERROR
    entry = store.erase(memory.id)
    run.show({"entry": entry}, lambda: ["Erased permanently" if entry else "It was already erased"])
    return exits.OK


def undo(
    run: Session,
    entry: int | None = argument(
        default=None, metavar="ENTRY", min=1, show_default=False, help="Number of the journal entry."
    ),
    *,
    run_id: str | None = option("--run", metavar="ID", help="Undo a whole run; `wellkept runs` lists them."),
    last: bool = flag("--last-run", help="Undo the last import, consolidation or other run."),
    force_except: bool = flag("--force-except", help="For a run: skip what later changes depend on, undo the rest."),
    by: Literal["answers", "person", "agent", "model"] | None = option(
        show_default=False, help="Undo the answers to questions: all of them, or those of a person, agents or models."
    ),
    since: str | None = option(metavar="TIME", help="With --by: only answers from this time on, as ISO 8601."),
) -> int:
    """Undo a journal entry, a whole run, or answers; the undo is an entry too and can itself be undone."""
    run_id = "last" if last and run_id is None else run_id
    if [entry, run_id, by].count(None) != 2 or (last and run_id != "last"):
        raise typer.BadParameter(
            "Give one: the number of an entry, --run ID, --last-run, or --by answers", param_hint="ENTRY"
        )
    if since is not None and by is None:
        raise typer.BadParameter("It needs --by", param_hint="--since")
    store = run.store(model=False)
    if by is not None:
        return _undo_answers(run, store, None if by == "answers" else by, since)
    if run_id is not None:
        report = store.undo_run(run_id, force_except=force_except)
        if last:
            undone = next(line for line in store.runs() if line.run_id == report.run_id)
            run.note(f"The last run that changed something: {undone.verb} of {undone.started_at:%Y-%m-%d %H:%M}")
        run.show(report, lambda: plan_tables.run_undone(report))
        return exits.FINDINGS if report.blocked else exits.OK
    if force_except:
        raise typer.BadParameter("It needs --run", param_hint="--force-except")
    number = entry or 0
    made = store.undo(number)
    changes = changes_of(store, made)
    run.show({"entry": made, "undone": number, "changes": changes}, lambda: _undone(number, made, changes))
    return exits.OK


def link(
    run: Session,
    src: str = argument(metavar="FROM", help="Id the link starts from."),
    dst: str = argument(metavar="TO", help="Id it leads to."),
    rel: str = argument(default="related", metavar="RELATION", help="Such as refines or derived_from."),
    *,
    strict: bool = flag("--strict", help="Refuse ids that do not exist."),
) -> None:
    """Link two memories; repeating a link changes nothing."""
    store = run.store(model=False)
    made = store.link(src, dst, rel, strict=strict)
    for end in (made.src, made.dst):
        if stored(store, end) is None:
            run.note(f"There is no memory {end} yet; the link is kept and works once it exists")
    run.show(made, lambda: [one_line(f"{made.src} -{made.rel}-> {made.dst}")])


def unlink(
    run: Session,
    src: str = argument(metavar="FROM", help="Id the link starts from."),
    dst: str = argument(metavar="TO", help="Id it leads to."),
    rel: str | None = argument(default=None, metavar="RELATION", show_default=False, help="Only this relation."),
) -> None:
    """Remove the links from one memory to another."""
    removed = run.store(model=False).unlink(src, dst, rel)
    run.show({"removed": removed}, lambda: [f"{removed} removed"])


def conflicts(
    run: Session,
    memory_id: str | None = argument(
        default=None, metavar="ID", show_default=False, help="Only conflicts of this memory."
    ),
    *,
    settled: bool = flag("--settled", help="Include resolved and expired conflicts."),
    threshold: float = option(default=0.0, min=0.0, max=1.0, help="Minimum similarity, 0 to 1."),
    exit_code: bool = flag("--exit-code", help="Exit with status 3 if any conflict is listed."),
) -> int:
    """Open conflicts, oldest first: both texts with their differences marked, and how to resolve them."""
    found = run.store(writes=False, model=False).conflicts(memory_id, settled=settled, threshold=threshold)
    run.show_each(found, lambda: render.conflicts(found))
    return exits.FINDINGS if found and exit_code else exits.OK


def resolve(
    run: Session,
    key: str = argument(metavar="KEY", help="The key of the conflict."),
    how: str = argument(
        metavar="RESOLUTION", autocompletion=resolutions, help="keep-new, keep-old, keep-both, merge or dismissed."
    ),
) -> None:
    """Resolve a conflict."""
    wanted = resolution(how)
    settled = run.store().resolve(key, wanted)
    run.show(settled, lambda: render.conflicts([settled]))


def _undo_answers(run: Session, store: MemoryStore, by: Answerer | None, since: str | None) -> int:
    report = store.undo_answers(since=moment("--since", since), by=by)
    numbers = {*report.undone, *report.blocked}
    entries = store.journal(after=min(numbers) - 1) if numbers else ()
    run.show(report, lambda: questions.taken_back(report, [one for one in entries if one.seq in numbers]))
    return exits.FINDINGS if report.blocked else exits.OK


def _undone(entry: int, made: int, changes: Sequence[Change]) -> list[str]:
    lines = [f"Undid entry {entry}; `wellkept undo {made}` redoes it"]
    for change in changes:
        if change.after is not None:
            lines.append(f"  {change.after.status:<9} {one_line(change.after.content, limit=120)}")
        elif change.before is not None:
            lines.append(f"  gone      {one_line(change.before.content, limit=120)}")
    return lines
