"""Every way in asks under one budget; upkeep and consolidation ask later; a damaged state stops nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from asked import NEW, OLD, THIRD, Made, Unsure, asked, flag, flagged, many, note, opened, policy, state, text
from stores import Desk
from wellkept.core.asking.state import state_text
from wellkept.errors import AlreadyAnswered, ModelError, NotFound

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
    flag(table, question)
    note(table.store, state_text(replace(state(table.store), tokens=3.0)))
    table.store.execute(table.store.plan())
    assert opened(table) == [question.id]
