"""Commands for the queue of deferred writes of a namespace, across all conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.cli.memory.write_commands import wrote
from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.fields import OnConflictOption, TextOptions, WriteOptions
from wellkept.cli.terminal.groups import argument, flag
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session

if TYPE_CHECKING:
    from wellkept.types.queue import Flushed, QueuedWrite


def remember(run: Session, *, text: TextOptions, on_conflict: OnConflictOption = None, write: WriteOptions) -> int:
    """Queue a text: it is saved durably now, and compared and stored by `queue flush`."""
    content, fields = text.with_fields(write)
    result = run.store().queue.remember(content, on_conflict=on_conflict, **fields)
    return wrote(run, result)


def pending(run: Session) -> object:
    """List the queued texts, oldest first, and why any could not be stored."""
    return run.store(writes=False, model=False).queue.pending()


def flush(
    run: Session,
    *,
    again: bool = flag("--again", help="Also retry writes that failed too often to be retried automatically."),
) -> int:
    """Store the queued texts in order; one that fails stays in the queue and does not stop the others."""
    queue = run.store().queue
    with run.busy("Flushing the queue"):
        flushed = queue.flush(again=again)
    run.show(flushed, lambda: _flushed(flushed))
    return exits.FINDINGS if flushed.failed else exits.OK


def drop(
    run: Session,
    queued_id: str = argument(metavar="ID", help="Its id, as shown by `queue list`."),
    *,
    yes: bool = flag("--yes", "-y", help="Do not ask for confirmation."),
) -> int:
    """Remove a queued text without storing it; its text is printed."""
    from wellkept.operations.queued_writes import queued_write

    store = run.store(writes=False, model=False)
    found = queued_write(store, queued_id)
    if not (yes or run.confirmed(f"Drop {_said(found)!r}?", to="drop it")):
        run.note("Nothing dropped")
        return exits.ERROR
    store.queue.drop(found.id)
    run.show(found, lambda: [f"Dropped: {_said(found)}"])
    return exits.OK


def _said(one: QueuedWrite) -> str:
    return one_line(str(one.statement.get("content", "")), limit=200)


def table(found: Sequence[QueuedWrite]) -> render.Parts:
    """The queued writes, each with the error that prevented storing it, if any."""
    if not found:
        yield "The queue is empty"
        return
    rows = [
        (one.id, render.when(one.at), one.session, _said(one), f"{one.error} ({one.attempts})" if one.attempts else "")
        for one in found
    ]
    yield render.rows_of(("id", "queued", "session", "text", "why"), rows)


def _flushed(flushed: Flushed) -> render.Parts:
    from collections import Counter

    for result in flushed.results:
        yield from render.written(result)
    yield render.counted(Counter(result.outcome for result in flushed.results), 0)
    for one in flushed.failed:
        yield f"Not stored: {_said(one)} ({one_line(one.error)}); `wellkept queue drop {one.id}` discards it"
