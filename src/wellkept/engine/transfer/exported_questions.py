"""Open questions and lessons in an export: written, checked, and asked again by the store that imports them.

An export has no journal. So each open question becomes an entry of its own that asks it, and lessons become one that
takes them over; answers that were given before are in the memories, links and conflicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import get_args

from wellkept.core.asking.budget import name_of, opened
from wellkept.core.asking.candidates import MOST_SHOWN
from wellkept.core.asking.learning import BRINGS, Forgetting
from wellkept.core.asking.state import ACTS, MOST_COUNTED, Asking, Checked, state_of, state_text
from wellkept.core.records.codec import question_from, to_plain
from wellkept.core.records.conflicts import key_of
from wellkept.engine.base.context import Context
from wellkept.engine.lookup.open_questions import still_open
from wellkept.engine.lookup.read import MAX_ID
from wellkept.errors import InvalidField, InvalidInput
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import AutomaticAct, JournalEntry, Json, QuestionRecord, Reason

_MOST_CANDIDATES = 100
_AGAIN = "Export again"


@frozen
class Lessons:
    """What answers have taught a store."""

    checked: Mapping[AutomaticAct, Checked]


def lines_about_questions(ctx: Context, tx: Tx) -> Iterator[dict[str, Json]]:
    """The open questions and the lessons of a view, each as a line of an export."""
    state = state_of(tx.asking())
    numbers = still_open(tx, state.open, ctx.clock()).keys()
    for entry in tx.journal(seqs=sorted(numbers)) if numbers else ():
        if entry.seq in numbers:
            yield {"question": to_plain(entry.asks)}
    if dict(state.checked) != dict(Asking().checked):
        yield {"lessons": {act: [one.audited, one.wrong, one.others_wrong] for act, one in state.checked.items()}}


def question_in(plain: Mapping[str, Json]) -> QuestionRecord:
    """The question of a line.

    Raises:
        InvalidField: It is none that a store can ask.
    """
    record = question_from(plain)
    ids = [record.memory_id, *(one.memory_id for one in record.chances)]
    if any(not 0 < len(one) <= MAX_ID or not one.isprintable() or one != one.strip() for one in ids):
        raise InvalidField("must be ids", where="memory_id", todo=_AGAIN)
    if not 1 < len(ids) <= _MOST_CANDIDATES or len(set(ids)) < len(ids):
        raise InvalidField("must be different candidates", where="chances", todo=_AGAIN)
    if any(not (0 <= one.repeats <= 1 and 0 <= one.replaces <= 1) for one in record.chances):
        raise InvalidField("must be probabilities", where="chances", todo=_AGAIN)
    if any(not 1 <= one.number <= MOST_SHOWN for one in record.chances):
        raise InvalidField(f"must be numbered from 1 to {MOST_SHOWN}", where="chances", todo=_AGAIN)
    if not 0 <= record.worth <= 99:
        raise InvalidField(f"{record.worth!r} is not a worth", where="worth", todo=_AGAIN)
    if record.audited not in ("", *get_args(AutomaticAct)):
        raise InvalidField("names no act", where="audited", todo=_AGAIN)
    return record


def lessons_in(plain: Mapping[str, Json]) -> Lessons:
    """The lessons of a line.

    Raises:
        InvalidField: They are no counts.
    """
    checked: dict[AutomaticAct, Checked] = {}
    for act in ACTS:
        counts = plain.get(act)
        if not isinstance(counts, list) or len(counts) != 3:
            raise InvalidField("must be three counts", where=act, todo=_AGAIN)
        if any(type(one) is not int or not 0 <= one <= MOST_COUNTED for one in counts):
            raise InvalidField("must be three counts", where=act, todo=_AGAIN)
        checked[act] = Checked(*counts)
    return Lessons(checked)


def asked_again(
    ctx: Context, tx: Tx, records: Sequence[QuestionRecord | Lessons], *, run_id: str, known: AbstractSet[str]
) -> int:
    """Ask the questions of an export, and take its lessons over where there are none; returns the number asked.

    A memory that an open question is about is not asked about again, so a second import changes nothing.

    Raises:
        InvalidInput: A question is about a missing memory.
    """
    before = state = state_of(tx.asking())
    count = 0
    for record in records:
        if isinstance(record, Lessons):
            if dict(state.checked) == dict(Asking().checked):
                tx.apply(_taken_over(ctx, record, run_id=run_id))
                state = replace(state, checked=record.checked)
            continue
        ids = (record.memory_id, *(one.memory_id for one in record.chances))
        if not known >= set(ids):
            where = f"question about {record.memory_id}"
            raise InvalidInput("one of its memories does not exist", where=where, todo=_AGAIN)
        if any(one.of == name_of(record.memory_id) for one in state.open):
            continue
        marks = [key_of(one.memory_id, record.memory_id, "outdated") for one in record.chances]
        entry = replace(
            ctx.entry("import", "asked"),
            memory_id=record.memory_id,
            memory_ids=(record.memory_id,),
            run_id=run_id,
            asks=record,
            conflict_keys=tuple(one.key for one in tx.conflicts(keys=marks) if one.resolution is None),
        )
        state = state.with_question(opened(record, tx.apply(entry)))
        count += 1
    if state != before:
        tx.note_asking(state_text(state))
    return count


def _taken_over(ctx: Context, lessons: Lessons, *, run_id: str) -> JournalEntry:
    """The entry of the lessons: a replay knows by it what later decisions knew, and its undo takes them back."""
    reason = Reason(BRINGS, str(Forgetting(lessons.checked, since=0)))
    return replace(ctx.entry("import", "taught"), run_id=run_id, reasons=(reason,))
