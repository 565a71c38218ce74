"""Lists the open questions, and says how this store asks and how often its automatic acts were wrong."""

from __future__ import annotations

from collections.abc import Mapping

from wellkept.core.asking.candidates import is_expired, question_of
from wellkept.core.asking.learning import forgotten, shifts_of
from wellkept.core.asking.state import ACTS, Asking, state_of, state_text
from wellkept.engine.base.context import Context
from wellkept.engine.lookup.read import at_most
from wellkept.storage.port import Tx
from wellkept.types import ALL_STATUSES, AskingReport, Filter, JournalEntry, Memory, Question


def questions(ctx: Context, *, limit: int | None) -> tuple[Question, ...]:
    """The open questions, the most valuable first."""
    most = at_most("limit", limit)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        found = open_ones(ctx, tx, state_of(tx.asking()))
    return tuple(found[:most])


def report(ctx: Context) -> AskingReport:
    """How the namespace asks."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        state = state_of(tx.asking())
        count = len(open_ones(ctx, tx, state))
    return AskingReport(
        open=count,
        checked={act: state.checked[act].audited for act in ACTS},
        wrong={act: state.checked[act].wrong for act in ACTS},
        shifts={act: shift for act, shift in shifts_of(state).items()},
    )


def forget_lessons(ctx: Context) -> None:
    """Forget what answers have taught; questions and answers stay."""
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        tx.note_asking(state_text(forgotten(state_of(tx.asking()))))


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
