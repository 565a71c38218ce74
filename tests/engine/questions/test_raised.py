"""Which writes are asked about, and what closes a question besides an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from asked import NEW, OLD, THIRD, Made, asked, flag, opened, text
from stores import Desk
from wellkept.errors import AlreadyAnswered
from wellkept.types import Question


def test_a_write_that_is_not_decided_asks_and_is_stored(table: Desk) -> None:
    question = asked(table)
    assert question == table.store.questions()[0]
    assert (question.id, question.memory.content) == ("q2", NEW)
    assert [(one.number, one.memory.content) for one in question.candidates] == [(1, OLD)]
    assert table.rows("active") == [OLD, NEW]
    assert table.store.asking().open == 1
    (entry,) = table.store.journal(newest=1)
    assert entry.asks is not None
    assert OLD not in repr(entry.asks)


def test_a_check_asks_nothing_and_counts_nothing(table: Desk) -> None:
    table.store.remember(OLD, kind="fact")
    before = text(table.store)
    assert table.store.check(NEW, kind="fact").question is None
    assert (text(table.store), opened(table)) == (before, [])


def test_without_a_budget_nothing_is_asked_and_nothing_noted(make: Made) -> None:
    table = make(ask=0)
    table.store.remember(OLD, kind="fact")
    assert table.store.remember(NEW, kind="fact").question is None
    assert (text(table.store), opened(table), table.store.asking().open) == ("", [], 0)
    assert all(entry.asks is None for entry in table.store.journal())


def test_nobody_is_asked_twice_about_one_fact_until_the_question_is_closed(table: Desk) -> None:
    question = asked(table)
    assert table.store.remember(THIRD, kind="fact").question is None
    table.store.answer(question.id, "new")
    table.store.undo(table.store.journal()[2].seq)  # the third text
    assert table.store.remember(THIRD, kind="fact").question is not None


def test_a_better_question_about_the_same_fact_takes_the_place_of_the_open_one(table: Desk) -> None:
    """What is read often is worth more."""
    first = asked(table)
    for _ in range(20):
        table.store.get(first.candidates[0].memory.id)
    better = table.store.remember(THIRD, kind="fact").question
    assert better is not None
    assert better.worth > first.worth
    assert opened(table) == [better.id]


CLOSED: dict[str, Callable[[Desk, Question], object]] = {
    "the memory is forgotten": lambda table, one: table.store.forget(one.memory.id),
    "the memory is erased": lambda table, one: table.store.erase(one.memory.id),
    "the only candidate is forgotten": lambda table, one: table.store.forget(one.candidates[0].memory.id),
    "the only candidate is erased": lambda table, one: table.store.erase(one.candidates[0].memory.id),
    "the memory supersedes": lambda table, one: table.store.supersede(one.candidates[0].memory.id, one.memory.id),
    "the memory is superseded": lambda table, one: table.store.supersede(one.memory.id, one.candidates[0].memory.id),
    "the write is undone": lambda table, one: table.store.undo(int(one.id[1:])),
    "it expires": lambda table, one: table.clock.advance(days=31),
}


@pytest.mark.parametrize("why", CLOSED)
def test_a_question_is_closed_by_what_happens(table: Desk, why: str) -> None:
    question = asked(table)
    CLOSED[why](table, question)
    assert opened(table) == []
    assert table.store.asking().open == 0
    before = table.snapshot()
    with pytest.raises(AlreadyAnswered, match="no longer open"):
        table.store.answer(question.id, "new")
    assert table.snapshot() == before
    assert table.store.verify() == ()


@pytest.mark.parametrize("why", [why for why in CLOSED if "memory" in why and "supersede" not in why])
def test_a_closed_question_keeps_nobody_from_being_asked(table: Desk, why: str) -> None:
    """Its place in the list does not count as being asked about the same fact."""
    CLOSED[why](table, asked(table))
    found = table.store.remember(THIRD, kind="fact").question
    assert found is not None
    assert found.candidates[0].memory.content == OLD


@pytest.mark.parametrize("why", ["the memory is forgotten", "the only candidate is forgotten", "the memory supersedes"])
def test_a_question_is_open_again_when_what_closed_it_is_undone(table: Desk, why: str) -> None:
    question = asked(table)
    CLOSED[why](table, question)
    table.store.undo(table.store.journal(newest=1)[0].seq)
    assert opened(table) == [question.id]
    assert table.store.answer(question.id, "replaces 1").entry


@pytest.mark.parametrize("which", ["memory", "candidate"])
def test_a_revised_text_is_asked_about_as_it_is_now(table: Desk, which: str) -> None:
    question = asked(table)
    one = question.memory if which == "memory" else question.candidates[0].memory
    table.store.revise(one.id, content="Something else.")
    (now,) = table.store.questions()
    assert (now.memory if which == "memory" else now.candidates[0].memory).content == "Something else."
    assert table.store.answer(question.id, "new").entry


@pytest.mark.parametrize("word", ["keep_both", "dismissed", "keep_new", "merge"])
def test_resolving_a_conflict_of_the_memory_closes_its_question(table: Desk, word: Any) -> None:
    question = asked(table)
    table.store.resolve(flag(table, question), word)
    assert opened(table) == []
    with pytest.raises(AlreadyAnswered):
        table.store.answer(question.id, "new")
    assert table.store.verify() == ()
