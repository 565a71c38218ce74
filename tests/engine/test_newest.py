"""Of two hits about one subject the newer comes first, also without a listed contradiction (S2-15, E-3.8)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from stores import BACKENDS, Desk, desk
from wellkept.core.recall import rank
from wellkept.errors import ModelUnavailable
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Hit

ASKED = "who pays her"
OLD = "Ana works at Acme, her employer"
NEW = "Globex is the new employer"


@dataclass
class Case:
    """Two statements, the better hit first, with the model's opinion and their similarity."""

    conflict: float | None = 0.5
    similarity: float = 0.6
    share: float = 0.6
    old: str = OLD
    new: str = NEW
    old_source: str = ""
    new_source: str = ""


def told(table: Desk, case: Case) -> None:
    """Store both, the better answer first; they are this near to each other and to the question."""
    model = table.options["relation_model"]
    table.near(case.old, case.new, case.similarity)
    table.near(case.old, ASKED, 0.8)
    table.near(case.new, ASKED, 0.8 * case.share)
    for text, source in ((case.old, case.old_source), (case.new, case.new_source)):
        table.clock.advance(hours=3)
        table.store.remember(text, on_conflict="ignore", source=source)
    if case.conflict is not None and isinstance(model, FakeRelationModel):
        model.declare(case.old, case.new, conflict=case.conflict)


def answers(table: Desk, **options: object) -> list[Hit]:
    return list(table.store.recall(ASKED, touch=False, **options))


@pytest.fixture(params=BACKENDS)
def table(request, tmp_path):
    made = desk(request.param, tmp_path, relation_model=FakeRelationModel())
    made.options["relation_model"] = made.store._ctx.relation_model
    yield made
    made.store.close()


@pytest.mark.parametrize(
    ("case", "newer_is_first"),
    [
        pytest.param(Case(), True, id="an update in other words comes first"),
        pytest.param(Case(conflict=rank.UPDATE_AT), True, id="at the least probability"),
        pytest.param(Case(conflict=rank.UPDATE_AT - 0.01), False, id="below it"),
        pytest.param(Case(similarity=0.1), False, id="what speaks of something else is not asked about"),
        pytest.param(Case(share=0.1), False, id="what hardly answers stays behind"),
        pytest.param(Case(old_source="chat", new_source="chat"), False, id="one sitting is one account"),
        pytest.param(Case(old_source="chat", new_source="mail"), True, id="two sources are two accounts"),
        pytest.param(Case(new="Globex, the new employer?"), False, id="a question states nothing"),
        pytest.param(Case(old="雇用主はどこですか？"), False, id="nor does one in another script"),
        pytest.param(Case(conflict=None), False, id="no opinion and not very near"),
        pytest.param(Case(conflict=None, similarity=0.85, share=0.98), True, id="no opinion, but nearly the same"),
        pytest.param(Case(conflict=0.1, similarity=0.85, share=0.98), False, id="an opinion against it counts more"),
    ],
)
def test_what_the_model_takes_for_an_update_comes_before_the_better_answer(table, case, newer_is_first):
    """S2-15: nothing is hidden by an order, so it may rest on less than a listed contradiction."""
    told(table, case)
    assert [hit.memory.content for hit in answers(table)] == (
        [case.new, case.old] if newer_is_first else [case.old, case.new]
    )


@pytest.mark.parametrize(
    ("options", "newer_is_first"),
    [({}, True), ({"mode": "semantic"}, False), ({"mode": "hybrid"}, False), ({"limit": 1}, True)],
)
def test_only_the_default_mode_asks_the_model(table, options, newer_is_first):
    """S2-10: the order of the other modes is that of their weights."""
    told(table, Case())
    assert (answers(table, **options)[0].memory.content == NEW) is newer_is_first


def test_the_time_at_the_beginning_of_a_chat_line_is_not_part_of_what_it_says(table):
    old, new = f"(9:05 am on 3 March, 2024) {OLD}", f"[2024-05-08] {NEW}"
    told(table, Case(conflict=None, old=old, new=new))
    table.options["relation_model"].declare(OLD, NEW, conflict=0.9)
    assert answers(table)[0].memory.content == new


def test_few_pairs_are_asked_about_and_each_once(table):
    for number in range(12):
        table.clock.advance(hours=3)
        text = f"The employer of number {number} is Acme {number}"
        table.near(text, ASKED, 0.8 - number / 100)
        table.store.remember(text, on_conflict="ignore")
    model = table.options["relation_model"]
    model.asked.clear()
    answers(table)
    assert len(model.asked) == len(set(model.asked)) <= rank.MOST_ASKED


def test_a_reviewed_pair_keeps_its_order(table):
    """A review decided that both hold, so the better hit is first, whatever the model's opinion."""
    model = table.options["relation_model"]
    model.declare(OLD, NEW, conflict=0.95)
    table.near(OLD, NEW, 0.9)
    table.near(OLD, ASKED, 0.8)
    table.near(NEW, ASKED, 0.5)
    table.store.remember(OLD)
    table.clock.advance(hours=3)
    (conflict,) = table.store.remember(NEW).conflicts
    assert answers(table)[0].memory.content == NEW
    table.store.resolve(conflict.key, "keep_both")
    assert answers(table)[0].memory.content == OLD


def test_an_outage_of_the_model_is_told_and_leaves_the_order_of_the_scores(table):
    """I7: nothing fails because a model does."""
    told(table, Case())
    table.options["relation_model"].failure = ModelUnavailable("gone", where="model", todo="Install it")
    found = answers(table)
    assert [hit.memory.content for hit in found] == [OLD, NEW]
    assert all("relation" in hit.degraded for hit in found)
