"""The open questions of a view: listed in the namespace's state, not expired, and with something left to ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from wellkept.core.asking.candidates import is_expired, question_of
from wellkept.core.asking.state import Asking, OpenQuestion
from wellkept.storage.port import Tx
from wellkept.types import ALL_STATUSES, Filter, JournalEntry, Memory, Question


def open_ones(tx: Tx, state: Asking, now: datetime) -> list[Question]:
    """The open questions, the most valuable first."""
    found = still_open(tx, state.open, now).values()
    return sorted(found, key=lambda one: (-one.worth, one.asked_at, one.id))


def still_open(tx: Tx, listed: Sequence[OpenQuestion], now: datetime) -> dict[int, Question]:
    """Those of these questions that are open now, by the number of their journal entry.

    What happens to a memory closes its questions without a note in the state, so that undoing it opens them again.
    """
    numbers = frozenset(one.entry for one in listed)
    entries = [one for one in tx.journal(seqs=sorted(numbers)) if one.asks is not None and one.seq in numbers]
    rows = _rows(tx, entries)
    found: dict[int, Question] = {}
    for entry in entries:
        question = question_of(entry.asks, entry, rows) if entry.asks and not is_expired(entry.asks, now) else None
        if question is not None:
            found[entry.seq] = question
    return found


def _rows(tx: Tx, entries: Sequence[JournalEntry]) -> Mapping[str, Memory]:
    records = [entry.asks for entry in entries if entry.asks is not None]
    ids = dict.fromkeys(
        one for record in records for one in (record.memory_id, *(chance.memory_id for chance in record.chances))
    )
    return {row.id: row for row in tx.find(Filter(ids=tuple(ids), statuses=ALL_STATUSES))}
