"""What a store learns from answers, and automatic acts that are checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from asked import NEW, OLD, THIRD, Drawn, Made, asked, note, opened, stands, state
from letter import to_the_letter
from stores import Desk
from wellkept.core.asking.state import Checked, state_text
from wellkept.errors import UndoBlocked
from wellkept.types import Question


def test_a_wrong_mark_teaches_and_the_lesson_goes_with_its_answer(make: Made) -> None:
    """A mark beside the undecided candidate; the answer overrules it."""
    table = make()
    table.options["relation_model"].declare(OLD, NEW, conflict=0.95)
    table.store.remember(OLD, kind="fact")
    table.store.remember(THIRD, kind="fact")
    for one in opened(table):
        table.store.answer(one, "new")
    question = table.store.remember(NEW, kind="fact").question
    assert question is not None
    assert [one.kind for one in table.store.conflicts()] == ["outdated"]
    entry = table.store.answer(question.id, "new").entry
    assert table.store.conflicts() == ()
    assert state(table.store).checked["mark"] == Checked(others_wrong=1)
    assert table.store.asking().shifts["mark"] > 0
    table.store.undo(entry)
    assert state(table.store).checked["mark"] == Checked()
    table.store.undo(entry + 1)
    assert state(table.store).checked["mark"] == Checked(others_wrong=1)
    table.store.forget_lessons()
    assert table.store.asking().shifts == {"fold": 0.0, "mark": 0.0}


def taught(make: Made) -> tuple[Desk, int]:
    """A store that knows one lesson, and the entry of the answer that taught it."""
    table = make(new_id=Drawn())
    table.options["relation_model"].declare(OLD, NEW, conflict=0.95)
    return table, table.store.answer(asked(table).id, "new").entry


def known(table: Desk) -> tuple[Checked, int]:
    return state(table.store).checked["mark"], state(table.store).forgotten


ONE, NONE = Checked(audited=1, wrong=1), Checked()
# What is done after a lesson was taught by entry 3, and what is known then.
FORGOTTEN: dict[str, tuple[tuple[int, ...], tuple[Checked, int]]] = {
    "forgotten": ((0,), (NONE, 4)),
    "nothing is left to forget": ((0, 0), (NONE, 4)),
    "known again": ((0, 4), (ONE, 0)),
    "forgotten again": ((0, 4, 5), (NONE, 4)),
    "the answer is taken back": ((0, 3), (NONE, 4)),
    "known again without the answer": ((0, 3, 4), (NONE, 0)),
    "and with it": ((0, 3, 4, 5), (ONE, 0)),
    "the answer stands again, and is forgotten all the same": ((0, 3, 5), (NONE, 4)),
    "all is as it was": ((0, 3, 5, 4), (ONE, 0)),
    "known again, taken back, and forgotten again": ((0, 4, 3, 5), (NONE, 4)),
    "and stands, though it is forgotten": ((0, 4, 3, 5, 6), (NONE, 4)),
    "and is known": ((0, 4, 3, 5, 6, 7), (ONE, 0)),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_what_was_forgotten_is_an_entry_that_can_be_taken_back(make: Made, what: str) -> None:
    """A step is the entry that is undone; 0 forgets the lessons."""
    table, answer = taught(make)
    assert (answer, known(table)) == (3, (ONE, 0))
    steps, expected = FORGOTTEN[what]
    for step in steps:
        table.store.undo(step) if step else table.store.forget_lessons()
    assert known(table) == expected
    assert [entry.verb for entry in table.store.journal()].count("forget_lessons") == 1
    assert table.store.verify() == ()


def test_lessons_that_were_forgotten_twice_come_back_newest_first(make: Made) -> None:
    table, _ = taught(make)
    table.store.forget_lessons()
    table.store.undo(3)
    table.store.answer("q2", "replaces 1")
    assert known(table) == (Checked(audited=1), 4)
    table.store.forget_lessons()
    with pytest.raises(UndoBlocked) as blocked:
        table.store.undo(4)
    assert tuple(blocked.value.entries) == (7,)
    table.store.undo(7)
    assert known(table) == (Checked(audited=1), 4)
    table.store.undo(4)
    assert known(table) == (Checked(audited=1), 0)
    with pytest.raises(UndoBlocked):
        table.store.undo(8)


def test_a_lesson_moves_the_bound_of_the_next_write(make: Made) -> None:
    table = make()
    texts = ("The red lamp is lit.", "The red lamp is out now.")
    table.near(*texts, 0.8)
    table.options["relation_model"].declare(*texts, conflict=0.905)
    assert table.store.check(texts[1], kind="fact").outcome == "created"
    table.store.remember(texts[0], kind="fact")
    marks = table.store.check(texts[1], kind="fact").conflicts
    now = state(table.store)
    note(table.store, state_text(replace(now, checked={"fold": Checked(), "mark": Checked(others_wrong=2)})))
    stricter = table.store.check(texts[1], kind="fact").conflicts
    assert [one.kind for one in marks] == ["outdated"]
    assert stricter == ()


def checked_fold(make: Made, **options: Any) -> tuple[Desk, Question]:
    table = make(new_id=Drawn(), **options)
    table.options["relation_model"].declare(OLD, NEW, same=0.96)
    table.store.remember(OLD, kind="fact")
    written = table.store.remember(NEW, kind="fact")
    assert (written.outcome, table.rows("wording")) == ("restated", [NEW])
    assert written.question is not None
    return table, written.question


def test_a_drawn_fold_is_checked_and_stands_meanwhile(make: Made) -> None:
    table, question = checked_fold(make)
    assert (question.audited, question.memory.content) == ("fold", NEW)
    assert [one.memory.content for one in question.candidates] == [OLD]
    assert opened(table) == [question.id]


@pytest.mark.parametrize(
    ("said", "status", "right"),
    [("repeats 1", "wording", True), ("new", "active", False), ("replaces 1", "active", False),
     ("not worth keeping", "archived", False)],
)  # fmt: skip
def test_an_answer_to_a_checked_fold_leaves_it_or_splits_it(make: Made, said: str, status: str, *, right: bool) -> None:
    table, question = checked_fold(make)
    before = stands(table)
    entry = table.store.answer(question.id, said).entry
    assert table.rows(status)[-1] == NEW
    assert state(table.store).checked["fold"] == Checked(audited=1, wrong=int(not right))
    assert table.store.asking().checked == {"fold": 1, "mark": 0}
    assert table.store.verify() == ()
    table.store.undo(entry)
    assert stands(table) == before
    assert state(table.store).checked["fold"] == Checked()
    assert opened(table) == [question.id]


def test_a_checked_fold_is_closed_by_a_split(make: Made) -> None:
    table, question = checked_fold(make)
    table.store.split(question.memory.id)
    assert opened(table) == []


def test_a_checked_mark_teaches_whether_it_was_right(make: Made) -> None:
    table = make(new_id=Drawn())
    table.options["relation_model"].declare(OLD, NEW, conflict=0.95)
    question = asked(table)
    assert question.audited == "mark"
    table.store.answer(question.id, "replaces 1")
    assert state(table.store).checked["mark"] == Checked(audited=1)
    assert [one.probability for one in table.store.conflicts()] == [1.0]


def test_a_text_that_returns_to_an_outdated_value_is_asked_about_first(make: Made) -> None:
    """It stays a wording of the outdated memory; the answer `replaces` makes it the current one."""
    table = make()
    table.options["relation_model"].declare(OLD, NEW, conflict=0.95)
    table.options["relation_model"].declare(OLD, THIRD, same=0.96)
    table.store.remember(OLD, kind="fact")
    table.store.remember(NEW, kind="fact")
    written = table.store.remember(THIRD, kind="fact")
    question = written.question
    assert written.outcome == "restated"
    assert question is not None
    assert (question.audited, question.worth) == ("fold", 1.0)
    assert [one.memory.content for one in question.candidates] == [OLD, NEW]
    table.store.answer(question.id, "replaces 2")
    assert sorted(table.rows("active")) == sorted([OLD, NEW, THIRD])
    assert {(one.a, one.b) for one in table.store.conflicts()} >= {
        (question.candidates[1].memory.id, question.memory.id)
    }
    assert table.store.verify() == ()


def test_kinds_to_the_letter_of_the_sources_are_not_asked_about(make: Made) -> None:
    table = make(policy=replace(to_the_letter(), ask=100))
    table.store.remember(OLD, kind="fact")
    assert table.store.remember(NEW, kind="fact").question is None
