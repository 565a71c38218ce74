"""Answers a question: one transaction, one journal entry, which can be undone like every other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from wellkept.core.asking.answer_effects import Material, effects_of
from wellkept.core.asking.answer_text import answer_of, standard_form
from wellkept.core.asking.candidates import id_of, is_expired, question_of
from wellkept.core.asking.learning import lesson_of, taught
from wellkept.core.asking.state import state_of, state_text
from wellkept.core.records.effects import touched
from wellkept.core.records.explain import answered
from wellkept.engine.base.context import Context
from wellkept.engine.base.retry import writing
from wellkept.engine.gate.acts import with_vector
from wellkept.engine.history.journal import is_undone
from wellkept.engine.lookup.wordings_and_marks import wordings_behind
from wellkept.engine.models.embedding import Embeddings
from wellkept.errors import AlreadyAnswered, InvalidField, NotFound
from wellkept.storage.port import Tx
from wellkept.types import (
    ALL_STATUSES,
    Answered,
    Answerer,
    AnswerPart,
    Effect,
    Filter,
    JournalEntry,
    Memory,
    MemoryChange,
    Question,
    QuestionRecord,
    Reason,
    Vector,
)

_ID = re.compile(r"q([1-9][0-9]{0,17})")


def entry_of(question_id: str) -> int:
    """The number of the journal entry that asks a question.

    Raises:
        InvalidField: The text is not the id of a question.
    """
    found = _ID.fullmatch(str(question_id).strip().casefold())
    if found is None:
        raise InvalidField(f"{str(question_id)[:40]!r} is no question", where="question", todo="Use an id such as q17")
    return int(found[1])


def answer(ctx: Context, question_id: str, text: str, by: Answerer, *, model: str = "") -> Answered:
    """Answer a question; the first answer counts, and the same answer again changes nothing.

    Args:
        ctx: The store.
        question_id: Such as `q17`.
        text: The answer.
        by: Who answers.
        model: Names the model and its prompt, for the journal; empty for none.

    Raises:
        InvalidAnswer: The text is none of the answers.
        AlreadyAnswered: The question was answered in another way, or is no longer open.
        NotFound: There is no such question.
    """
    entry, vectors = entry_of(question_id), Embeddings(ctx.embedder)
    return writing(ctx, lambda tx: _answer(ctx, tx, entry, text=text, by=by, model=model, vectors=vectors))


def _answer(ctx: Context, tx: Tx, number: int, *, text: str, by: Answerer, model: str, vectors: Embeddings) -> Answered:
    asking = next((one for one in tx.journal(seqs=(number,)) if one.seq == number), None)
    record = asking.asks if asking is not None else None
    if asking is None or record is None:
        raise NotFound(f"no question {id_of(number)}", where=ctx.namespace, todo="List the questions to see their ids")
    rows = _rows(tx, record)
    parts = answer_of(text, {one.number for one in record.chances})
    said = standard_form(parts)
    earlier = _earlier(tx, record, number)
    if earlier is not None:
        memory = rows.get(record.memory_id)
        if memory is None:
            raise _closed(asking)
        return _again(earlier, asking, memory, said)
    question = _open(ctx, tx, asking, rows)
    effects, made = _effects(ctx, tx, question, parts, by=by, vectors=vectors)
    reasons = [Reason("answer", said), Reason("answered_by", by)]
    if model:
        reasons.append(Reason("answered_with", model))
    lesson = lesson_of(record, parts, asking.conflict_keys)
    state = state_of(tx.asking()).without(number)
    if lesson is not None:
        state = taught(state, lesson)
        reasons.append(Reason("teaches", str(lesson)))
    if (reader := ctx.reader) is not None:
        reasons.append(Reason("bounds", reader.id))
    entry = replace(
        ctx.entry("answer", parts[0].verb),
        memory_id=record.memory_id,
        memory_ids=tuple(dict.fromkeys((record.memory_id, *touched(effects)))),
        reasons=tuple(reasons),
        effects=effects,
        answers=number,
    )
    seq = tx.apply(entry, vectors=made)
    tx.note_asking(state_text(state))
    memory = _rows(tx, record)[record.memory_id]
    message = answered(parts, question, hides=_hides(effects))
    return Answered(question=question.id, answer=said, by=by, memory=memory, entry=seq, message=message)


def _hides(effects: Iterable[Effect]) -> bool:
    """Whether a memory is superseded."""
    changes = (one.after for one in effects if isinstance(one, MemoryChange))
    return any(row is not None and row.status == "superseded" for row in changes)


def _rows(tx: Tx, record: QuestionRecord) -> dict[str, Memory]:
    ids = (record.memory_id, *(one.memory_id for one in record.chances))
    return {row.id: row for row in tx.find(Filter(ids=ids, statuses=ALL_STATUSES))}


def _earlier(tx: Tx, record: QuestionRecord, number: int) -> JournalEntry | None:
    """The answer that stands."""
    later = tx.journal(memory_ids=(record.memory_id,), after=number)
    return next((one for one in later if one.answers == number and not is_undone(tx, one.seq)), None)


def _again(earlier: JournalEntry, asking: JournalEntry, memory: Memory, said: str) -> Answered:
    """The result of the same answer again; another answer is an error."""
    details = {reason.rule: reason.detail for reason in earlier.reasons}
    known, by = details.get("answer", ""), details.get("answered_by", "")
    if known != said:
        raise AlreadyAnswered(
            f"{id_of(asking.seq)} was answered {known!r} at {earlier.at:%Y-%m-%d %H:%M} by {earlier.actor or by}",
            where="answer",
            todo=f"Undo entry {earlier.seq} to answer again",
        )
    who: Answerer = "person" if by == "person" else "model" if by == "model" else "agent"
    return Answered(
        question=id_of(asking.seq),
        answer=said,
        by=who,
        memory=memory,
        entry=0,
        message=f"{id_of(asking.seq)} was answered like this before; nothing was changed.",
    )


def _open(ctx: Context, tx: Tx, asking: JournalEntry, rows: dict[str, Memory]) -> Question:
    """The question, if it is still open."""
    record = asking.asks
    question = question_of(record, asking, rows) if record is not None else None
    listed = any(one.entry == asking.seq for one in state_of(tx.asking()).open)
    if record is None or question is None or not listed or is_expired(record, ctx.clock()):
        raise _closed(asking)
    return question


def _closed(asking: JournalEntry) -> AlreadyAnswered:
    return AlreadyAnswered(
        f"{id_of(asking.seq)} is no longer open",
        where="answer",
        todo="List the questions to see the open ones; what it was about can still be revised, resolved or undone",
    )


def _effects(
    ctx: Context, tx: Tx, question: Question, parts: tuple[AnswerPart, ...], *, by: Answerer, vectors: Embeddings
) -> tuple[tuple[Effect, ...], dict[str, Vector]]:
    """The effects of the answer, and the vectors of the texts that it makes."""
    numbers = {one.number: (one.memory, *one.also) for one in question.candidates}
    gone = next((number for part in parts for number in part.numbers if number not in numbers), None)
    if gone is not None:
        raise AlreadyAnswered(
            f"candidate {gone} of {question.id} is no longer current", where="answer", todo="List the questions again"
        )
    memory = question.memory
    ids = (memory.id, *(row.id for rows in numbers.values() for row in rows))
    heads = tx.find(Filter(ids=(memory.superseded_by,))) if memory.superseded_by else []
    wordings = wordings_behind(tx, (memory.id,)).get(memory.id, ())
    effects = effects_of(
        parts,
        Material(
            memory=memory,
            head=heads[0] if heads else None,
            numbers=numbers,
            wordings=wordings,
            links=tuple(tx.links((*ids, *(row.id for row in wordings)))),
            conflicts=tuple(tx.conflicts(ids=ids)),
            policy=ctx.policy.for_kind(memory.kind),
            supersedes=by == "person" or ctx.policy.answers == "supersede",
            opposites=ctx.policy.opposites,
            now=ctx.clock(),
        ),
    )
    made: dict[str, Vector] = {}
    whole: list[Effect] = []
    for effect in effects:
        after = effect.after if isinstance(effect, MemoryChange) else None
        if isinstance(effect, MemoryChange) and after is not None and not after.embedding and effect.before is not None:
            if effect.before.content != after.content:
                grown, vector = with_vector(after, vectors)
                made |= vector
                effect = replace(effect, after=grown)
        whole.append(effect)
    return tuple(whole), made
