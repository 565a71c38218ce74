"""What answers look like in a journal and in messages, and how a question survives its journal entry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from wellkept.core.asking.answer_text import answer_of
from wellkept.core.asking.error_rate import interval
from wellkept.core.asking.learning import Checked, shifted
from wellkept.core.asking.state import Asking
from wellkept.core.judging.list_head import Head
from wellkept.core.judging.risk_bounds import NEVER, Bounds
from wellkept.core.records.codec import dumps, entry_from
from wellkept.core.records.explain import answered, told
from wellkept.types import Chance, JournalEntry, Memory, Question, QuestionCandidate, QuestionRecord, Reason

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


def memory(name: str) -> Memory:
    return Memory(id=name, namespace="n", kind="fact", content=f"Text of {name}.", created_at=DAY, updated_at=DAY)


QUESTION = Question(
    id="q7",
    memory=memory("new"),
    candidates=tuple(
        QuestionCandidate(number, memory(name), Chance(name, 0.1, 0.2)) for number, name in ((1, "a"), (2, "b"))
    ),
    worth=0.5,
    asked_at=DAY,
)
SAID = [
    ("new", False, "q7: it stays a memory of its own."),
    ("replaces 1", True, 'q7: it replaces "Text of a." (a).'),
    ("replaces 1", False, 'q7: it is marked as the update of "Text of a." (a).'),
    ("outdated by 2", False, 'q7: it is marked as outdated by "Text of b." (b).'),
    ("repeats 1,2", False, 'q7: it is another wording of "Text of a." (a) and "Text of b." (b).'),
    ("not worth keeping", True, "q7: it is archived; `restore` brings it back."),
]


@pytest.mark.parametrize(("answer", "hides", "message"), SAID)
def test_a_message_says_what_an_answer_has_done(answer: str, hides: bool, message: str) -> None:  # noqa: FBT001
    assert answered(answer_of(answer, (1, 2)), QUESTION, hides=hides) == message


TOLD = [
    ((Reason("answer", "new"), Reason("answered_by", "agent")), "the answer: new; by an agent"),
    ((Reason("answer", "repeats 1"), Reason("answered_by", "model")), "the answer: repeats 1; by a model"),
    ((Reason("teaches", "mark right seen"), Reason("bounds", "relation@1")), "the mark was right"),
    ((Reason("answer", ""),), "somebody answered the question about it"),
    ((Reason("expired", ""), Reason("expired", "again")), "nobody decided in time"),
]


@pytest.mark.parametrize(("reasons", "line"), TOLD)
def test_a_journal_line_gives_an_answer_in_its_own_words(reasons: Sequence[Reason], line: str) -> None:
    assert told(reasons) == line


def test_a_question_and_an_answer_come_back_from_their_journal_entries() -> None:
    record = QuestionRecord("m", (Chance("a", 0.5, 0.25, 1),), 0.75, DAY, "mark")
    for entry in (
        JournalEntry(seq=3, at=DAY, verb="remember", outcome="created", asks=record),
        JournalEntry(seq=4, at=DAY, verb="answer", outcome="replaces", answers=3),
    ):
        assert entry_from(json.loads(dumps(entry))) == entry


def test_a_share_of_nothing_may_be_anything() -> None:
    assert interval(0, 0) == (0.0, 1.0)
    assert interval(2, 2)[1] == 1.0


def test_lessons_move_the_bound_of_their_own_act_alone() -> None:
    head = Head((), 0.0, 0.5, 0.6)
    bounds = Bounds(1, 1, 1, 1, 1, fold=head, mark=head)
    for act in ("fold", "mark"):
        state = Asking()
        moved = shifted(bounds, Asking(checked={**state.checked, act: Checked(audited=3, wrong=2)}))
        fold, mark = moved.fold, moved.mark
        assert fold is not None and mark is not None
        changed, other = (fold, mark) if act == "fold" else (mark, fold)
        assert (round(changed.english, 2), round(changed.other, 2), other) == (0.54, 0.64, head)
    assert shifted(bounds, Asking()) is bounds
    assert shifted(NEVER, Asking(checked={"fold": Checked(3, 2), "mark": Checked(3, 2)})) is NEVER
