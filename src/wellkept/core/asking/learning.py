"""What a store learns from answers: how much the least probability of an act moves here.

An answer that overrules an automatic act makes the act stricter, whoever found it. Only acts that were drawn at random
say how often the act is right, so only they make it looser, and only many of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Self

from wellkept.core.asking.state import ACTS, MOST_COUNTED, Asking, Checked
from wellkept.core.judging.risk_bounds import Bounds, upper_bound
from wellkept.core.records.conflicts import key_of
from wellkept.frozen import frozen
from wellkept.types import AnswerPart, AutomaticAct, QuestionRecord

LEAST_CHECKED, CONFIDENCE = 50, 0.95
ACCEPTED = 0.10
"""Share of wrong acts, at the upper end of its interval, below which an act may become looser."""
STRICTER_BY, STRICTEST = 0.02, 0.15
LOOSEST = 0.05
FORGETS = "forget_lessons"
"""Verb and reason of a journal entry that forgets what was learned."""
BRINGS = "lessons"
"""Reason of a journal entry that takes over what another store has learned."""


def shift_of(checked: Checked) -> float:
    """How much the least probability of an act moves; above 0 is stricter.

    Example:
        >>> shift_of(Checked(audited=10, wrong=1)), shift_of(Checked(audited=49)), shift_of(Checked(audited=200))
        (0.02, 0.0, -0.043)
    """
    wrong = checked.wrong + checked.others_wrong
    right = checked.audited - checked.wrong
    few = right < LEAST_CHECKED or checked.wrong > ACCEPTED * checked.audited
    high = 1.0 if few else upper_bound(checked.wrong, checked.audited, CONFIDENCE)
    looser = LOOSEST * max(0.0, ACCEPTED - high) / ACCEPTED if checked.others_wrong == 0 else 0.0
    if looser:
        return round(-looser, 3)
    expected = ACCEPTED / 5 * right
    return round(min(STRICTEST, STRICTER_BY * max(0.0, wrong - int(expected))), 3)


def shifts_of(state: Asking) -> Mapping[AutomaticAct, float]:
    """The shift of each act."""
    return {act: shift_of(state.checked[act]) for act in ACTS}


def shifted(bounds: Bounds, state: Asking) -> Bounds:
    """The bounds of this store: those of the model, moved by what answers have taught."""
    shifts = shifts_of(state)
    fold, mark = bounds.fold, bounds.mark
    if fold is not None and shifts["fold"]:
        fold = replace(fold, english=fold.english + shifts["fold"], other=fold.other + shifts["fold"])
    if mark is not None and shifts["mark"]:
        mark = replace(mark, english=mark.english + shifts["mark"], other=mark.other + shifts["mark"])
    return bounds if fold is bounds.fold and mark is bounds.mark else replace(bounds, fold=fold, mark=mark)


@frozen
class Lesson:
    """What one answer says of an automatic act.

    Attributes:
        act: The act.
        right: Whether the answer agrees with it.
        audited: Whether the act was drawn at random.
    """

    act: AutomaticAct
    right: bool
    audited: bool

    def __str__(self) -> str:
        return f"{self.act} {'right' if self.right else 'wrong'} {'drawn' if self.audited else 'seen'}"

    @classmethod
    def of(cls, text: str) -> Self | None:
        """The lesson that a journal entry names; None for another text."""
        every = (cls(act, right, audited) for act in ACTS for right in (True, False) for audited in (True, False))
        return next((made for made in every if str(made) == text), None)


def lesson_of(record: QuestionRecord, parts: Sequence[AnswerPart], marked: Collection[str]) -> Lesson | None:
    """What an answer says of the act that its question checks, or of a mark that the gate has set.

    A mark on a memory of which a part is outdated is neither right nor wrong.

    Args:
        record: The question.
        parts: The answer.
        marked: Keys of the conflicts and marks of the write.
    """
    first = [one.memory_id for one in record.chances if one.number == 1]
    repeated, replaced, in_part = (
        {number for part in parts if part.verb == verb for number in part.numbers}
        for verb in ("repeats", "replaces", "replaces part of")
    )
    if record.audited == "fold":
        if record.worth:
            return None  # a return to an outdated value was asked about because of its worth, not drawn at random
        return Lesson("fold", bool(first) and 1 in repeated, audited=True)
    kept = [
        one.number in replaced
        for one in record.chances
        if key_of(one.memory_id, record.memory_id, "outdated") in marked and one.number not in in_part
    ]
    if not kept or (not record.audited and all(kept)):
        return None
    return Lesson("mark", all(kept), audited=bool(record.audited))


def taught(state: Asking, lesson: Lesson, *, times: int = 1) -> Asking:
    """The state after a lesson; `times` is -1 when the answer is taken back."""
    wrong = int(not lesson.right)
    one = Checked(audited=1, wrong=wrong) if lesson.audited else Checked(others_wrong=wrong)
    return replace(state, checked={**state.checked, lesson.act: _sum(state.checked[lesson.act], one, times)})


@frozen
class Forgetting:
    """What a journal entry has forgotten, or brought along from another store.

    Attributes:
        checked: What was known until then.
        since: The entry that had forgotten what was known before; 0 for none.

    Example:
        >>> known = Forgetting({"fold": Checked(audited=60, wrong=1), "mark": Checked(others_wrong=2)}, since=17)
        >>> str(known), Forgetting.of(str(known)) == known
        ('fold 60 1 0, mark 0 0 2, since 17', True)
    """

    checked: Mapping[AutomaticAct, Checked]
    since: int

    def __str__(self) -> str:
        counts = (f"{act} {one.audited} {one.wrong} {one.others_wrong}" for act, one in self.checked.items())
        return ", ".join([*counts, f"since {self.since}"])

    @classmethod
    def of(cls, text: str) -> Self | None:
        """The counts in a detail of a journal entry; None for another text."""
        found = _FORGETTING.fullmatch(text)
        if found is None:
            return None
        counts = [min(int(one), MOST_COUNTED) for one in found.groups()[:-1]]
        checked = {act: Checked(*counts[3 * at : 3 * at + 3]) for at, act in enumerate(ACTS)}
        return cls(checked, since=int(found.groups()[-1]))


_COUNT = "([0-9]{1,6})"
_FORGETTING = re.compile(", ".join([*(f"{act} {_COUNT} {_COUNT} {_COUNT}" for act in ACTS), "since ([0-9]{1,18})"]))


def forgotten(state: Asking, entry: int) -> Asking:
    """The state without what was learned before an entry."""
    return replace(state, checked={act: Checked() for act in ACTS}, forgotten=entry)


def remembered(state: Asking, known: Forgetting) -> Asking:
    """The state when what was forgotten is known again, beside what was learned since."""
    return replace(added(state, known.checked), forgotten=known.since)


def forgotten_again(state: Asking, known: Forgetting, entry: int) -> Asking:
    """The state when the same is forgotten as before by this entry."""
    return replace(added(state, known.checked, times=-1), forgotten=entry)


def added(state: Asking, checked: Mapping[AutomaticAct, Checked], *, times: int = 1) -> Asking:
    """The state with the lessons of another store; `times` is -1 when they are taken back."""
    return replace(state, checked={act: _sum(state.checked[act], checked[act], times) for act in ACTS})


def _sum(one: Checked, other: Checked, times: int) -> Checked:
    return Checked(
        audited=_count(one.audited, times * other.audited),
        wrong=_count(one.wrong, times * other.wrong),
        others_wrong=_count(one.others_wrong, times * other.others_wrong),
    )


def _count(before: int, change: int) -> int:
    return min(MOST_COUNTED, max(0, before + change))
