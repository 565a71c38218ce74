"""Side effects of undoing an answer: its question opens again, and its lesson is removed.

What was learned can be forgotten as a whole. That is an entry too, whose undo brings it back. An answer from before
such an entry teaches nothing more: taken back after it, it changes only what the undo of the entry brings back. The
lessons of an import are an entry as well.
"""

from __future__ import annotations

from wellkept.core.asking.budget import opened
from wellkept.core.asking.learning import (
    BRINGS,
    FORGETS,
    Forgetting,
    Lesson,
    added,
    forgotten_again,
    remembered,
    taught,
)
from wellkept.core.asking.state import Asking, state_of, state_text
from wellkept.errors import UndoBlocked
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import JournalEntry


@frozen
class Act:
    """What an entry adds or undoes: an answer, a reset of what was learned, or the lessons of an import.

    Attributes:
        entry: The entry that made it first.
        stands: Whether it stands after the entry.
    """

    entry: JournalEntry
    stands: bool


def behind(tx: Tx, entry: JournalEntry) -> Act | None:
    """The answer, the forgetting or the lessons that an entry is about; None for another entry."""
    stands = True
    while entry.undoes and not _is_act(entry):
        found = _entry(tx, entry.undoes)
        if found is None:
            return None
        entry, stands = found, not stands
    return Act(entry, stands) if _is_act(entry) else None


def lesson_in(entry: JournalEntry) -> Lesson | Forgetting | None:
    """The lessons of an answer or of an import."""
    for one in entry.reasons:
        if one.rule == "teaches":
            return Lesson.of(one.detail)
        if one.rule == BRINGS:
            return Forgetting.of(one.detail)
    return None


def learned(state: Asking, lesson: Lesson | Forgetting, *, times: int = 1) -> Asking:
    """The state after what `lesson_in` gives; `times` is -1 when it is taken back."""
    return (
        taught(state, lesson, times=times) if isinstance(lesson, Lesson) else added(state, lesson.checked, times=times)
    )


def forgetting_in(entry: JournalEntry) -> Forgetting | None:
    """What an entry has forgotten."""
    return next((Forgetting.of(one.detail) for one in entry.reasons if one.rule == FORGETS), None)


def refuse_if_blocked(tx: Tx, entry: JournalEntry) -> None:
    """Raise when something else was forgotten since.

    Raises:
        UndoBlocked: Names the entry that has forgotten it.
    """
    act = behind(tx, entry)
    known = forgetting_in(act.entry) if act is not None else None
    if act is None or known is None:
        return
    state = state_of(tx.asking())
    if state.forgotten != (act.entry.seq if act.stands else known.since):
        later = [state.forgotten] if state.forgotten > entry.seq else []
        raise UndoBlocked(
            f"entry {later[0]} has forgotten more since" if later else "what was forgotten before it is known again",
            entries=later,
            where=f"entry {entry.seq}",
            todo="Undo that one first" if later else "Forget the lessons anew",
        )


def taken_back(tx: Tx, entry: JournalEntry) -> None:
    """Bring questions and lessons to the state after the undo of an entry; call it after the undo is applied."""
    act = behind(tx, entry)
    if act is None:
        return
    state, known = state_of(tx.asking()), forgetting_in(act.entry)
    if known is not None:
        known = _with_changes(tx, act.entry, known)
        state = remembered(state, known) if act.stands else forgotten_again(state, known, act.entry.seq)
    else:
        state = _unanswered(tx, state, act)
    tx.note_asking(state_text(state))


def _unanswered(tx: Tx, state: Asking, act: Act) -> Asking:
    """The state when the answer that stands is taken back, or the one that was taken back stands again."""
    lesson, answers = lesson_in(act.entry), act.entry.answers
    if lesson is not None and act.entry.seq > state.forgotten:
        state = learned(state, lesson, times=-1 if act.stands else 1)
    if not answers:
        return state
    if not act.stands:
        return state.without(answers)
    asking = _entry(tx, answers)
    record = asking.asks if asking is not None else None
    return state.with_question(opened(record, answers)) if record is not None and record.chances else state


def _with_changes(tx: Tx, forgets: JournalEntry, known: Forgetting) -> Forgetting:
    """The lessons that an entry removed: without answers undone since then, and with answers restored since then."""
    changed: dict[int, Act] = {}
    for entry in tx.journal(after=forgets.seq):
        act = behind(tx, entry) if entry.undoes else None
        if act is not None and known.since < act.entry.seq < forgets.seq and lesson_in(act.entry) is not None:
            if changed.pop(act.entry.seq, None) is None:  # twice is never
                changed[act.entry.seq] = act
    state = Asking(checked=known.checked)
    for act in changed.values():
        lesson = lesson_in(act.entry)
        if lesson is not None:
            state = learned(state, lesson, times=1 if act.stands else -1)
    return Forgetting(state.checked, known.since)


def _is_act(entry: JournalEntry) -> bool:
    return bool(entry.answers) or lesson_in(entry) is not None or forgetting_in(entry) is not None


def _entry(tx: Tx, seq: int) -> JournalEntry | None:
    return next((one for one in tx.journal(seqs=(seq,)) if one.seq == seq), None)
