"""Takes answers back, newest first."""

from __future__ import annotations

from datetime import datetime

from wellkept.engine.base.context import Context
from wellkept.engine.history.journal import is_undone, undo
from wellkept.errors import IllegalTransition, UndoBlocked
from wellkept.types import Answerer, JournalEntry, UndoReport

RUN = "answers"


def undo_answers(ctx: Context, *, since: datetime | None, by: Answerer | None) -> UndoReport:
    """Undo the answers that stand; an answer that later changes depend on is kept and named.

    Args:
        ctx: The store.
        since: Only answers from this time on; None for all.
        by: Only answers by them; None for all.
    """
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        found = [
            entry
            for entry in tx.journal()
            if entry.answers and (since is None or entry.at >= since) and by in (None, _who(entry))
            if not is_undone(tx, entry.seq)
        ]
    undone: list[int] = []
    blocked: dict[int, tuple[int, ...]] = {}
    for entry in reversed(found):
        try:
            undo(ctx, entry.seq)
            undone.append(entry.seq)
        except UndoBlocked as error:
            blocked[entry.seq] = error.entries
        except IllegalTransition:
            blocked[entry.seq] = ()
    return UndoReport(run_id=RUN, undone=tuple(undone), blocked=blocked)


def _who(entry: JournalEntry) -> str:
    return next((reason.detail for reason in entry.reasons if reason.rule == "answered_by"), "")
