"""The candidates of a question: numbered when it is asked, and as they are when it is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from wellkept.types import Chance, JournalEntry, Link, Memory, Question, QuestionCandidate, QuestionRecord

MOST_SHOWN = 4


def numbered(chances: Sequence[Chance], same: Iterable[Link]) -> tuple[Chance, ...]:
    """The best candidates with their numbers; those that say the same have one number.

    Args:
        chances: The candidates, best first.
        same: Links between candidates that probably say the same.

    Example:
        >>> found = [Chance("a", 0.6, 0.1), Chance("b", 0.5, 0.0), Chance("c", 0.1, 0.2)]
        >>> [(one.memory_id, one.number) for one in numbered(found, [Link("b", "a", "may_restate")])]
        [('a', 1), ('b', 1), ('c', 2)]
    """
    first: dict[str, str] = {one.memory_id: one.memory_id for one in chances}
    order = {one.memory_id: place for place, one in enumerate(chances)}
    for link in same:
        if link.src in first and link.dst in first:
            ends = sorted((first[link.src], first[link.dst]), key=order.__getitem__)
            first = {one: ends[0] if head == ends[1] else head for one, head in first.items()}
    numbers: dict[str, int] = {}
    for one in chances:
        numbers.setdefault(first[one.memory_id], len(numbers) + 1)
    found = (replace(one, number=numbers[first[one.memory_id]]) for one in chances)
    return tuple(sorted((one for one in found if one.number <= MOST_SHOWN), key=lambda one: one.number))


def question_of(record: QuestionRecord, entry: JournalEntry, rows: Mapping[str, Memory]) -> Question | None:
    """The question as it is now; None if nothing is left to ask.

    Args:
        record: The question that the entry asks.
        entry: The journal entry, with its number.
        rows: The memory and the candidates by id, as they are now.
    """
    memory = rows.get(record.memory_id)
    wanted = "wording" if record.audited == "fold" else "active"
    if memory is None or memory.status != wanted:
        return None
    groups: dict[int, list[tuple[Memory, Chance]]] = {}
    for chance in record.chances:
        row = rows.get(chance.memory_id)
        if row is not None and row.status == "active":
            groups.setdefault(chance.number, []).append((row, chance))
    if not groups or (record.audited == "fold" and memory.superseded_by not in rows):
        return None
    return Question(
        id=id_of(entry.seq),
        memory=memory,
        candidates=tuple(
            QuestionCandidate(number, found[0][0], found[0][1], tuple(row for row, _ in found[1:]))
            for number, found in sorted(groups.items())
        ),
        worth=record.worth,
        asked_at=entry.at,
        expires_at=record.expires_at,
        audited=record.audited,
    )


def is_expired(record: QuestionRecord, now: datetime) -> bool:
    """Whether the question has expired."""
    return record.expires_at is not None and record.expires_at <= now


def id_of(entry: int) -> str:
    """The id of the question that a journal entry asks."""
    return f"q{entry}"
