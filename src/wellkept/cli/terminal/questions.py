"""Terminal output of questions: the new text, its numbered candidates, what the gate thinks, and how to answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.cli.terminal.render import day, styled
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.word_diffs import WordDiff, word_diff_of
from wellkept.core.asking.question_text import HOW, opinion_words
from wellkept.core.records.explain import chance
from wellkept.types import Answered, Conflict, Memory, Question, UndoReport
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from wellkept.cli.terminal.render import Parts
    from wellkept.types import JournalEntry

_TEXT = 600
_CHECKED = {
    "fold": "To check: it was kept as another wording of number 1. Does it say the same?",
    "mark": "To check: it was taken for an update, and an older memory was marked as outdated. Is that right?",
}


def listed(found: Sequence[Question], marks: Sequence[Conflict], *, more: int) -> Parts:
    """The questions with the words that answer them, and how many are not shown."""
    if not found:
        yield "No open questions"
        return
    for question in found:
        yield from shown(question, marks)
        yield styled(f"  wellkept answer {question.id} {HOW}", "dim")
        yield ""
    yield styled("`wellkept answer` goes through them, one key an answer", "dim")
    if more:
        yield styled(f"… and {more} more; --limit shows them", "dim")


def shown(question: Question, marks: Sequence[Conflict], *, differences: bool = False) -> Parts:
    """One question.

    Args:
        question: The question.
        marks: The open conflicts of the namespace; those that mark a candidate as outdated are told.
        differences: Whether to show the words in which each candidate differs.
    """
    until = f"  until {question.expires_at:%Y-%m-%d}" if question.expires_at is not None else ""
    yield styled(question.id, "bold").append(f"  {_about(question.memory)}{until}", "dim not bold")
    yield styled(f"  {_text(question.memory)}")
    if question.audited:
        yield styled(f"  {_CHECKED[question.audited]}", "yellow")
    names = {one.memory.id: f"number {one.number}" for one in question.candidates} | {question.memory.id: "it"}
    for one in question.candidates:
        yield styled(f"  {one.number}", "bold").append(
            f"  {_about(one.memory)}  {opinion_words(one.opinion)}", "dim not bold"
        )
        yield styled(f"     {_text(one.memory)}")
        for row in one.also:
            yield styled(f"     also: {_text(row)}", "dim")
        for mark in marks:
            if mark.kind == "outdated" and mark.a == one.memory.id and mark.b in names:
                yield styled(f"     marked as outdated by {names[mark.b]}{chance(mark.probability)}", "yellow")
        pieces = word_diff_of(one.memory.content, question.memory.content) if differences else None
        if pieces is not None:
            yield _beneath(pieces)


def _beneath(pieces: WordDiff) -> RenderableType:
    from rich.padding import Padding

    return Padding(pieces, (0, 0, 0, 3))


def _about(row: Memory) -> str:
    return f"{day(row)}  {one_line(row.kind, limit=40)}"


def _text(row: Memory) -> str:
    return one_line(row.content, limit=_TEXT)


def taken_back(report: UndoReport, entries: Sequence[JournalEntry]) -> Parts:
    """The result of taking answers back.

    Args:
        report: The result.
        entries: The entries of the answers, in any order.
    """
    if not report.undone and not report.blocked:
        yield "There are no answers to undo"
        return
    count = len(report.undone)
    again = {0: "", 1: "; its question is open again"}.get(count, "; their questions are open again")
    yield f"Undid {count_of(count, 'answer')}{again}"
    known = {entry.seq: entry for entry in entries}
    for number in report.undone:
        yield styled(f"  undone    {_answer(number, known)}")
    for number, later in sorted(report.blocked.items()):
        why = f"changed since by entry {', '.join(map(str, later))}" if later else "it was changed since"
        yield styled(f"  left      {_answer(number, known)}: {why}", "yellow")


def _answer(number: int, known: dict[int, JournalEntry]) -> str:
    entry = known.get(number)
    if entry is None:
        return f"entry {number}"
    details = {reason.rule: reason.detail for reason in entry.reasons}
    by = f" by {details['answered_by']}" if "answered_by" in details else ""
    return one_line(f"entry {number}, q{entry.answers} {details.get('answer', '')}{by}")


def done(answered: Answered) -> Parts:
    """What an answer has done, and how to take it back."""
    yield one_line(answered.message, limit=1_000)
    if answered.entry:
        yield styled(f"  `wellkept undo {answered.entry}` undoes this", "dim")
