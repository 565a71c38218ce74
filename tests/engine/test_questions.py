"""Questions about undecided writes on a real store: raised, answered, taken back, and closed by what happens else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wellkept
from asked import NEW, OLD, THIRD, Drawn, Unsure, note, policy, relate, state, text, unsure
from letter import to_the_letter
from stores import BACKENDS, LASTING, Desk
from wellkept.core.asking.budget import opened as opened_question
from wellkept.core.asking.state import Asking, Checked, state_text
from wellkept.core.judging.compare import compare
from wellkept.core.records import conflicts as flags
from wellkept.engine.gate import acts
from wellkept.errors import (
    AlreadyAnswered,
    InvalidAnswer,
    InvalidField,
    ModelError,
    NotFound,
    UndoBlocked,
    WellkeptError,
)
from wellkept.types import Chance, ConflictChange, Memory, Question, QuestionRecord

Made = Callable[..., Desk]


@pytest.fixture(params=BACKENDS)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Made]:
    opened: list[Desk] = []

    def factory(**options: Any) -> Desk:
        opened.append(unsure(request.param, tmp_path, **options))
        return opened[-1]

    yield factory
    for made in opened:
        made.store.close()


@pytest.fixture
def table(make: Made) -> Desk:
    return make()


def asked(table: Desk) -> Question:
    """The question about the second of two texts."""
    table.store.remember(OLD, kind="fact")
    found = table.store.remember(NEW, kind="fact").question
    assert found is not None
    return found


def stands(table: Desk) -> Any:
    """Rows, links and conflicts: what an undo brings back."""
    return table.snapshot()[:3]


def opened(table: Desk) -> list[str]:
    return [one.id for one in table.store.questions()]


# ---- raised ----


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
    table.store.resolve(_flag(table, question), word)
    assert opened(table) == []
    with pytest.raises(AlreadyAnswered):
        table.store.answer(question.id, "new")
    assert table.store.verify() == ()


def _flag(table: Desk, question: Question) -> str:
    """An open conflict between the memory in question and its candidate."""
    return flagged(table, question.candidates[0].memory, question.memory)


def flagged(table: Desk, old: Memory, new: Memory) -> str:
    """An open contradiction between two memories, as an upkeep job lists it."""
    ctx = table.store._ctx
    comparison = compare(new, old, cosine=None, similarity=None, opposites=ctx.policy.opposites)
    made = flags.between(old, new, comparison, kind="contradiction", moment=(ctx.clock(), 30.0))
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        acts.apply(ctx, tx, (ConflictChange(None, made),), verb="sweep", outcome="flagged", memory_id=new.id)
    return made.key


# ---- answered ----

ANSWERS: list[tuple[str, dict[str, str], list[str]]] = [
    ("new", {OLD: "active", NEW: "active"}, []),
    ("repeats 1", {OLD: "active", NEW: "wording"}, []),
    ("replaces 1", {OLD: "active", NEW: "active"}, ["outdated"]),
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
    relate(table, table.options["relation_model"], texts, conflict=0.15)
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
    relate(table, table.options["relation_model"], (OLD, THIRD), conflict=0.15)
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


# ---- several hands ----


@pytest.mark.parametrize("same", [True, False])
def test_of_two_answers_at_once_one_counts(make: Made, *, same: bool) -> None:
    table = make()
    question = asked(table)
    said = ["replaces 1"] * 8 if same else ["replaces 1", "new"] * 4
    got: list[Any] = []
    gate = threading.Barrier(len(said))

    def answer(one: str) -> None:
        gate.wait()
        try:
            got.append(table.store.answer(question.id, one).entry)
        except WellkeptError as error:
            got.append(type(error))

    threads = [threading.Thread(target=answer, args=(one,)) for one in said]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert len([entry for entry in got if entry == 3]) == 1
    assert set(got) <= ({3, 0} if same else {3, 0, AlreadyAnswered})
    assert len(table.store.journal()) == 3
    assert len([entry for entry in table.store.journal() if entry.answers]) == 1


def test_an_answer_from_another_store_object_is_seen(tmp_path: Path) -> None:
    first = unsure(LASTING, tmp_path)
    question = asked(first)
    second = unsure(LASTING, tmp_path)
    try:
        assert second.store.answer(question.id, "repeats 1").entry == 3
        assert opened(first) == []
        assert first.store.answer(question.id, "repeats 1").entry == 0
        assert first.store.undo_answers().undone == (3,)
        assert opened(second) == [question.id]
    finally:
        first.store.close()
        second.store.close()


# ---- every way in, one budget ----

MANY = tuple(
    text
    for team in ("billing", "search", "mail", "maps", "chat")
    for text in (f"Ana leads {team}.", f"{team.title()} is run by Bo.", f"Carl heads the {team} team.")
)


def many(table: Desk) -> list[str]:
    model = table.options["relation_model"]
    for start in range(0, len(MANY), 3):
        relate(table, model, MANY[start : start + 3])
    return list(MANY)


WAYS: dict[str, Callable[[Desk, list[str]], object]] = {
    "one by one": lambda table, texts: [table.store.remember(text, kind="note") for text in texts],
    "a batch": lambda table, texts: table.store.remember_many([{"content": one, "kind": "note"} for one in texts]),
    "an import": lambda table, texts: table.store.import_(_lines(table, texts)),
    "a queue": lambda table, texts: _queued(table, texts),
}


def _lines(table: Desk, texts: list[str]) -> Path:
    path = table.folder / "lines.jsonl"
    path.write_text("".join(json.dumps({"text": one, "kind": "note"}) + "\n" for one in texts), "utf-8")
    return path


def _queued(table: Desk, texts: list[str]) -> None:
    with table.store.deferred():
        assert {table.store.remember(one, kind="note").outcome for one in texts} == {"queued"}


@pytest.mark.parametrize(("ask", "most"), [(100, 15), (10, 2), (0, 0)])
def test_every_way_in_asks_under_the_same_budget(make: Made, ask: float, most: int) -> None:
    asks = {}
    for place, (name, way) in enumerate(WAYS.items()):
        table = make(ask=ask, name=f"{place}.db", relation_model=Unsure())
        way(table, many(table))
        asks[name] = [entry.asks.worth for entry in table.store.journal() if entry.asks is not None]
        assert table.store.asking().open == len(asks[name])
        assert table.store.verify() == ()
    assert len({tuple(found) for found in asks.values()}) == 1, asks
    assert bool(asks["one by one"]) == bool(ask)
    assert len(asks["one by one"]) <= most


def test_a_namespace_has_its_own_questions(table: Desk) -> None:
    question = asked(table)
    other = table.store.in_namespace("other")
    assert other.questions() == ()
    with pytest.raises(NotFound):
        other.answer(question.id, "new")
    assert opened(table) == [question.id]


# ---- a state that cannot be read ----


@pytest.mark.parametrize("damage", ["{", "null", '{"open":[[1,2]]}', "x" * 9_000])
def test_a_state_that_cannot_be_read_is_told_and_made_anew_and_stops_nothing(
    table: Desk, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    question = asked(table)
    note(table.store, damage)
    assert (opened(table), table.store.asking().open) == ([], 0)
    with pytest.raises(AlreadyAnswered):
        table.store.answer(question.id, "new")
    assert table.store.remember(THIRD, kind="fact").outcome == "created"
    assert caplog.text.count("begun anew") == 1
    assert json.loads(text(table.store))["scores"]
    assert table.store.asking().open == 1


# ---- answers taken back together, and lessons ----


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


# ---- automatic acts that are checked ----


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


# ---- later: the sweep, and consolidation ----


def test_a_write_that_is_judged_after_an_outage_is_asked_about_then(make: Made) -> None:
    table = make()
    model = table.options["relation_model"]
    table.store.remember(OLD, kind="fact")
    model.failure = ModelError("down", where="relations", todo="Wait")
    assert table.store.remember(NEW, kind="fact").question is None
    model.failure = None
    table.store.sweep()
    (question,) = table.store.questions()
    assert (question.memory.content, question.candidates[0].memory.content) == (NEW, OLD)
    assert table.store.answer(question.id, "repeats 1").entry
    assert table.store.verify() == ()
    before = table.snapshot()
    table.store.sweep()
    assert table.snapshot() == before


def listed(make: Made, count: int) -> Desk:
    """A store with open contradictions from before it asked."""
    table = make(policy=policy(0))
    for number in range(count):
        old, new = (table.store.remember(f"Hall {number} was {one}.").memory for one in ("built by Ana", "sold twice"))
        assert old is not None
        assert new is not None
        flagged(table, old, new)
    return table


def asking_now(table: Desk, ask: float) -> None:
    """Open the same store under another budget."""
    object.__setattr__(table.store._ctx, "policy", policy(ask))


def test_open_conflicts_of_an_older_store_are_asked_about_only_by_consolidation(make: Made) -> None:
    table = listed(make, 3)
    conflicts = table.store.conflicts()
    asking_now(table, 10)
    plan = table.store.plan()
    assert opened(table) == []
    table.store.execute(plan)
    (question,) = table.store.questions()
    assert (question.memory.id, question.candidates[0].memory.id) in {(one.b, one.a) for one in conflicts}
    assert table.store.verify() == ()
    table.store.execute(table.store.plan())
    assert len(opened(table)) == 1  # the budget is used up
    table.store.answer(question.id, "replaces 1", by="person")
    assert len(table.store.conflicts()) == 2
    assert opened(table) == []


def test_consolidation_asks_nothing_without_a_budget(make: Made) -> None:
    table = listed(make, 1)
    before = table.snapshot()
    table.store.execute(table.store.plan())
    assert (table.snapshot(), text(table.store)) == (before, "")


def test_a_conflict_that_a_question_is_about_is_not_asked_about_again(make: Made) -> None:
    table = make()
    question = asked(table)
    _flag(table, question)
    note(table.store, state_text(replace(state(table.store), tokens=3.0)))
    table.store.execute(table.store.plan())
    assert opened(table) == [question.id]


ANSWERING = """
import sys, wellkept
from wellkept.errors import AlreadyAnswered
store = wellkept.open(sys.argv[1], embedder="hashing", relation_model="none")
print("ready", flush=True)
sys.stdin.readline()
try:
    print(store.answer("q3", sys.argv[2]).entry)
except AlreadyAnswered:
    print("refused")
store.close()
"""


@pytest.mark.skipif(LASTING != "sqlite", reason="the processes share a file")
def test_of_two_processes_that_answer_at_once_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with wellkept.open(path, embedder="hashing", relation_model="none") as store:
        old, new = store.remember("The hall was built by Ana.").memory, store.remember("Bo has the keys.").memory
        assert old is not None
        assert new is not None
        record = QuestionRecord(memory_id=new.id, chances=(Chance(old.id, 0.4, 0.2, 1),), worth=0.4)
        with store._ctx.storage.begin("default", write=True) as tx:
            first = tx.journal(seqs=(2,))[0]
            tx.apply(replace(first, seq=0, effects=(), asks=record, idempotency_key=""))
            tx.note_asking(state_text(Asking().with_question(opened_question(record, 3))))
    command = [sys.executable, "-c", ANSWERING, str(path)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    said = ("repeats 1", "replaces 1", "new")
    running = [
        subprocess.Popen([*command, one], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        for one in said
    ]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    got = sorted(one.communicate(timeout=120)[0].strip() for one in running)
    assert got == ["4", "refused", "refused"]
    with wellkept.open(path, embedder="hashing", relation_model="none") as store:
        assert len([entry for entry in store.journal() if entry.answers]) == 1
        assert store.verify() == ()
