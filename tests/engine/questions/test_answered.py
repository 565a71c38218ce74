"""What an answer does to a store, and what its undo brings back."""

from __future__ import annotations

from typing import Any

import pytest

from asked import NEW, OLD, THIRD, Drawn, Made, Unsure, asked, many, opened, policy, relate, stands, state, text
from stores import Desk
from wellkept.core.asking.state import Checked
from wellkept.errors import AlreadyAnswered, InvalidAnswer, InvalidField, NotFound, UndoBlocked, WellkeptError
from wellkept.types import Move, Question

ANSWERS: list[tuple[str, dict[str, str], list[str]]] = [
    ("new", {OLD: "active", NEW: "active"}, []),
    ("repeats 1", {OLD: "active", NEW: "wording"}, []),
    ("replaces 1", {OLD: "active", NEW: "active"}, ["outdated"]),
    ("replaces part of 1", {OLD: "active", NEW: "active"}, []),
    ("outdated by 1", {OLD: "active", NEW: "active"}, ["outdated"]),
    ("adds to 1", {OLD: "active", NEW: "active"}, []),
    ("keep both 1", {OLD: "active", NEW: "active"}, []),
    ("not worth keeping", {OLD: "active", NEW: "archived"}, []),
]


@pytest.mark.parametrize(("said", "statuses", "listed"), ANSWERS)
@pytest.mark.parametrize("by", ["agent", "model", "person"])
def test_each_answer_by_each_hand_is_one_entry_that_can_be_taken_back(
    table: Desk, said: str, statuses: dict[str, str], listed: list[str], by: Any
) -> None:
    question = asked(table)
    before = stands(table)
    answered = table.store.answer(question.id, said.upper() + ".", by=by)
    assert (answered.answer, answered.by, answered.entry, answered.question) == (said, by, 3, question.id)
    if by == "person" and said == "replaces 1":
        statuses, listed = {**statuses, OLD: "superseded"}, []
    if by == "person" and said == "outdated by 1":
        statuses, listed = {**statuses, NEW: "superseded"}, []
    rows = {row.content: row.status for row in table.snapshot()[0]}
    assert rows == statuses
    assert [one.kind for one in table.store.conflicts()] == listed
    assert opened(table) == []
    assert table.store.verify() == ()
    (entry,) = table.store.journal(newest=1)
    assert (entry.verb, entry.answers, entry.outcome) == ("answer", 2, said.removesuffix(" 1"))
    assert answered.memory == next(row for row in table.snapshot()[0] if row.id == question.memory.id)
    table.store.undo(answered.entry)
    assert stands(table) == before
    assert opened(table) == [question.id]
    table.store.undo(4)
    assert {row.content: row.status for row in table.snapshot()[0]} == statuses
    assert opened(table) == []
    table.store.undo(5)
    assert stands(table) == before
    assert opened(table) == [question.id]
    assert table.store.answer(question.id, "new").entry == 7


def test_an_answer_may_supersede_where_the_policy_says_so(make: Made) -> None:
    table = make(policy=policy(answers="supersede"))
    table.store.answer(asked(table).id, "replaces 1")
    assert table.rows("superseded") == [OLD]


@pytest.mark.parametrize("said", [one[0] for one in ANSWERS])
def test_the_same_answer_again_changes_nothing_and_another_is_refused(table: Desk, said: str) -> None:
    question = asked(table)
    first = table.store.answer(question.id, said, by="person")
    before = (table.snapshot(), text(table.store))
    again = table.store.answer(question.id, f" {said.upper()} ")
    assert (again.entry, again.answer, again.by, again.memory) == (0, said, "person", first.memory)
    other = "new" if said != "new" else "repeats 1"
    with pytest.raises(AlreadyAnswered, match=f"was answered '{said}'.*Undo entry 3"):
        table.store.answer(question.id, other)
    assert (table.snapshot(), text(table.store)) == before


WRONG: list[tuple[str, str, type[WellkeptError]]] = [
    ("q2", "yes", InvalidAnswer),
    ("q2", "repeats 2", InvalidAnswer),
    ("q2", "", InvalidAnswer),
    ("q2", "new" * 999, InvalidAnswer),
    ("q1", "new", NotFound),
    ("q9", "new", NotFound),
    ("q999999999999999999", "new", NotFound),
    ("2", "new", InvalidField),
    ("", "new", InvalidField),
    ("q" + "9" * 900, "new", InvalidField),
]


@pytest.mark.parametrize(("question", "said", "error"), WRONG)
def test_a_wrong_answer_changes_nothing(table: Desk, question: str, said: str, error: type[WellkeptError]) -> None:
    asked(table)
    before = (table.snapshot(), text(table.store))
    with pytest.raises(error):
        table.store.answer(question, said)
    with pytest.raises(InvalidField):
        table.store.answer("q2", "new", by="cat")  # type: ignore[arg-type]
    assert (table.snapshot(), text(table.store)) == before


def test_an_undone_write_takes_its_answer_that_changed_nothing_with_it(table: Desk) -> None:
    """`new` changes no memory, so it does not block; nothing is left to answer, and the answer can be taken back."""
    question = asked(table)
    answer = table.store.answer(question.id, "new").entry
    assert not table.store.journal(newest=1)[0].effects or table.store.undo(answer)
    table.store.undo(2)
    with pytest.raises(AlreadyAnswered):
        table.store.answer(question.id, "new")
    assert opened(table) == []
    table.store.undo(table.store.journal(newest=1)[0].seq)
    assert [row.content for row in table.snapshot()[0]] == [OLD, NEW]


def test_an_older_write_can_be_undone_whatever_is_asked_about_it(table: Desk) -> None:
    """What blocks is what the newer write has changed; asking changes nothing."""
    texts = ("Room 4 has a red door.", "The door of room 4 is blue.")
    relate(table, table.options["relation_model"], texts, conflict=0.09)
    table.store.remember(texts[0], kind="fact")
    question = table.store.remember(texts[1], kind="fact").question
    assert question is not None
    assert table.snapshot()[1] == ()
    table.store.undo(1)
    assert table.rows() == [texts[1]]
    assert opened(table) == []
    with pytest.raises(AlreadyAnswered):
        table.store.answer(question.id, "new")
    assert table.store.verify() == ()
    table.store.undo(3)
    assert opened(table) == [question.id]


def test_the_undo_of_an_older_write_takes_the_guesses_about_it_along(table: Desk) -> None:
    question = asked(table)
    before = stands(table)
    assert [link.rel for link in before[1]] == ["may_update"]
    gone = table.store.undo(1)
    assert (table.rows(), stands(table)[1], opened(table)) == ([NEW], (), [])
    assert table.store.verify() == ()
    with pytest.raises(UndoBlocked) as blocked:
        table.store.undo(2)
    assert tuple(blocked.value.entries) == (gone,)
    table.store.undo(gone)
    assert (stands(table), opened(table)) == (before, [question.id])
    table.store.undo(2)
    table.store.undo(1)
    assert stands(table) == ((), (), ())


def test_the_undo_of_a_new_text_takes_the_guesses_about_it_along_and_keeps_the_others(table: Desk) -> None:
    relate(table, table.options["relation_model"], (OLD, THIRD), conflict=0.09)
    first = table.store.remember("Somebody leads billing.", kind="fact").id
    table.store.revise(first, content=OLD)
    table.store.remember(THIRD, kind="fact")
    table.store.remember(NEW, kind="fact")
    before = stands(table)
    assert {link.dst for link in before[1] if link.rel == "may_update"} > {first}
    undone = table.store.undo(2)
    assert first not in {link.dst for link in stands(table)[1]}
    assert len(stands(table)[1]) == len(before[1]) - 1
    assert table.store.verify() == ()
    table.store.undo(undone)
    assert stands(table) == before


def test_a_wrong_write_is_undone_newest_first_through_its_answer(table: Desk) -> None:
    question = asked(table)
    table.store.answer(question.id, "repeats 1")
    with pytest.raises(UndoBlocked):
        table.store.undo(2)
    for entry in (3, 2, 1):
        table.store.undo(entry)
    assert stands(table) == ((), (), ())
    assert opened(table) == []


def test_what_is_left_after_an_erasure_can_be_answered(make: Made) -> None:
    table = make()
    table.store.remember(OLD, kind="fact")
    table.store.remember(THIRD, kind="fact")
    question = table.store.remember(NEW, kind="fact").question
    assert question is not None or table.store.asking().open == 1
    if question is None:
        return
    gone = question.candidates[0].memory.id
    table.store.erase(gone)
    (now,) = table.store.questions()
    assert [one.number for one in now.candidates] == [2]
    with pytest.raises(AlreadyAnswered, match="no longer current"):
        table.store.answer(question.id, "replaces 1")
    assert table.store.answer(question.id, "replaces 2").entry
    assert table.store.verify() == ()


def test_nothing_comes_back_with_the_answer_about_an_erased_memory(table: Desk) -> None:
    question = asked(table)
    entry = table.store.answer(question.id, "replaces 1").entry
    table.store.erase(question.memory.id)
    before = stands(table)
    assert table.store.undo_answers().undone == (entry,)
    assert stands(table) == before
    assert opened(table) == []
    assert table.store.verify() == ()


def test_answers_are_taken_back_by_time_and_by_hand(make: Made) -> None:
    table = make(relation_model=Unsure())
    texts = many(table)
    table.store.remember_many([{"content": one, "kind": "fact"} for one in texts])
    before = stands(table)
    ids = sorted(opened(table), key=lambda one: int(one[1:]))
    assert len(ids) == 5
    for place, one in enumerate(ids):
        table.clock.advance(minutes=1)
        table.store.answer(one, "replaces 1", by="person" if place % 2 else "agent")
    late = table.clock()
    assert len(table.store.undo_answers(since=late).undone) == 1
    assert len(table.store.undo_answers(by="person").undone) == 2
    assert len(table.store.undo_answers(by="model").undone) == 0
    assert len(table.store.undo_answers().undone) == 2
    assert table.store.undo_answers().undone == ()
    assert stands(table) == before
    assert sorted(opened(table), key=lambda one: int(one[1:])) == ids


# ---- a part of it is outdated ----

ROUTE = "Ana drives the van on Mondays, and the van stands behind the mill."
MOVED = "The van stands in the yard now."
QUERY = "Where does Ana go on Mondays?"


def in_part(table: Desk) -> Question:
    """A question about a text that replaces one of two things that an older one says."""
    relate(table, table.options["relation_model"], (ROUTE, MOVED))
    table.near(MOVED, QUERY, 0.5)
    table.near(ROUTE, QUERY, 0.9)
    table.store.remember(ROUTE, kind="fact")
    found = table.store.remember(MOVED, kind="fact").question
    assert found is not None
    return found


def recalled(table: Desk) -> list[str]:
    return [hit.memory.content for hit in table.store.recall(QUERY, touch=False)]


@pytest.mark.parametrize("by", ["agent", "person"])
def test_what_is_outdated_in_part_stays_as_it_is_and_comes_after_the_newer(table: Desk, by: Any) -> None:
    question = in_part(table)
    before = stands(table)
    assert recalled(table) == [ROUTE, MOVED]
    answered = table.store.answer(question.id, "replaces part of 1", by=by)
    assert "replaces a part of" in str(answered) and "the rest holds" in str(answered)
    assert table.rows("active") == [ROUTE, MOVED]
    assert (table.store.conflicts(), table.store.verify()) == ((), ())
    hits = table.store.recall(QUERY, touch=False)
    assert [hit.memory.content for hit in hits] == [MOVED, ROUTE]
    assert hits[0].moved == Move(question.candidates[0].memory.id, "updates_part")
    assert table.store.answer(question.id, "Replaces part of 1.").entry == 0
    table.store.undo(answered.entry)
    assert (stands(table), recalled(table)) == (before, [ROUTE, MOVED])


def test_the_newer_is_found_with_what_it_replaces_in_part(table: Desk) -> None:
    """Its own words do not fit the query well enough for one hit."""
    table.store.answer(in_part(table).id, "replaces part of 1")
    (hit,) = table.store.recall(QUERY, limit=1, touch=False)
    assert hit.memory.content == MOVED


@pytest.mark.parametrize("which", [ROUTE, MOVED])
def test_a_text_that_is_rewritten_is_no_longer_outdated_in_part(table: Desk, which: str) -> None:
    question = in_part(table)
    table.store.answer(question.id, "replaces part of 1")
    (one,) = (row for row in table.store.list() if row.content == which)
    table.store.revise(one.id, content=f"{which} Really.")
    assert [link.rel for link in table.snapshot()[1]] == []


def test_what_was_settled_in_part_is_not_asked_about_again(table: Desk) -> None:
    table.store.answer(in_part(table).id, "replaces part of 1")
    table.store.execute(table.store.plan())
    table.store.sweep()
    assert (opened(table), table.store.conflicts()) == ([], ())


def test_a_mark_on_what_is_outdated_in_part_goes_and_teaches_nothing(make: Made) -> None:
    table = make(new_id=Drawn())
    table.options["relation_model"].declare(OLD, NEW, conflict=0.95)
    question = asked(table)
    assert [one.kind for one in table.store.conflicts()] == ["outdated"]
    answered = table.store.answer(question.id, "replaces part of 1")
    assert table.store.conflicts() == ()
    assert state(table.store).checked["mark"] == Checked()
    table.store.undo(answered.entry)
    assert [one.kind for one in table.store.conflicts()] == ["outdated"]
