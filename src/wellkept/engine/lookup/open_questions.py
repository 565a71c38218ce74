"""The open questions of a view of the store, as they are now."""

from __future__ import annotations

from collections.abc import Mapping

from wellkept.core.asking.candidates import is_expired, question_of
from wellkept.core.asking.state import Asking
from wellkept.engine.base.context import Context
from wellkept.storage.port import Tx
from wellkept.types import ALL_STATUSES, Filter, JournalEntry, Memory, Question


def open_ones(ctx: Context, tx: Tx, state: Asking) -> list[Question]:
    """The open questions of a view, the most valuable first."""
    entries = [one for one in tx.journal(seqs=[one.entry for one in state.open]) if one.asks is not None]
    rows = _rows(tx, entries)
    now = ctx.clock()
    listed = frozenset(one.entry for one in state.open)
    found = [
        question
        for entry in entries
        if entry.asks is not None and entry.seq in listed and not is_expired(entry.asks, now)
        if (question := question_of(entry.asks, entry, rows)) is not None
    ]
    return sorted(found, key=lambda one: (-one.worth, one.asked_at, one.id))


def _rows(tx: Tx, entries: list[JournalEntry]) -> Mapping[str, Memory]:
    records = [entry.asks for entry in entries if entry.asks is not None]
    ids = dict.fromkeys(
        one for record in records for one in (record.memory_id, *(chance.memory_id for chance in record.chances))
    )
    return {row.id: row for row in tx.find(Filter(ids=tuple(ids), statuses=ALL_STATUSES))}
