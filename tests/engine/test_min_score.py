"""The floor of recall and pack: what is left out, what stays, and what explain says of it."""

from __future__ import annotations

import pytest

from wellkept import HybridWeights
from wellkept.errors import InvalidField, ModelUnavailable
from wellkept.types import Filter

ASKED = "the question"
MODES = ("default", "semantic", "hybrid")


def found(table, query=ASKED, **options):
    return [hit.memory.content for hit in table.store.recall(query, **options)]


def shelf(table, **cosines):
    for name, cosine in cosines.items():
        table.near(f"Remark: {name}", ASKED, cosine)
        table.store.remember(f"Remark: {name}")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (None, ["good", "fair"]),  # .5 and .21 beside .5 = .32
        (0, ["good", "fair", "poor"]),
        (0.1, ["good", "fair", "poor"]),
        (0.4, ["good"]),
        (0.51, []),
        (1, []),
    ],
)
def test_what_lies_below_the_floor_is_left_out_in_every_mode(make, mode, least, expected):
    table = make()
    shelf(table, good=0.5, fair=0.21, poor=0.08)
    assert found(table, mode=mode, min_score=least) == [f"Remark: {name}" for name in expected]
    block = table.store.pack(ASKED, min_score=least).text if mode == "default" else ""
    assert mode != "default" or [name for name in ("good", "fair", "poor") if name in block] == expected


def test_a_question_without_an_answer_counts_nothing_as_used_and_gives_an_empty_pack(make):
    table = make()
    shelf(table, a=0.2, b=0.1)
    assert table.store.recall(ASKED) == ()
    assert table.store.pack(ASKED).ids == ()
    assert [row.access_count for row in table.store.list()] == [0, 0]


def test_a_weak_match_stays_beside_a_strong_one_but_not_alone(make):
    table = make()
    shelf(table, weak=0.2)
    assert found(table) == []
    shelf(table, strong=0.6)
    assert found(table) == ["Remark: strong", "Remark: weak"]


def test_explain_lists_what_the_floor_left_out_with_the_reason(make):
    table = make()
    shelf(table, good=0.5, poor=0.08)
    answer = table.store.recall(ASKED, explain=True)
    assert [hit.parts["relevance"] for hit in answer] == [0.5]
    [low] = answer.left_out
    assert (low.memory.content, low.why) == ("Remark: poor", "relevance 0.2000, below the min_score of 0.3")
    assert low.parts["relevance"] == 0.2 and low.score == pytest.approx(0.056)
    assert table.store.recall(ASKED).left_out == ()
    alone = table.store.recall(ASKED, explain=True, min_score=1)
    assert {item.memory.content for item in alone.left_out} == {"Remark: good", "Remark: poor"}


def test_age_and_importance_lift_nothing_over_the_floor(make):
    table = make()
    table.near("Remark: grave", ASKED, 0.1)
    table.store.remember("Remark: grave", importance=1.0)
    for weights in (None, HybridWeights(cosine=0.1, lexical=0.0, recency=0.0, importance=1.0)):
        assert found(table, mode="hybrid", weights=weights) == []


def test_weights_without_meaning_and_words_have_no_floor_unless_one_is_named(make):
    table = make()
    table.near("Remark: grave", ASKED, 0.1)
    table.store.remember("Remark: grave", importance=1.0)
    weights = HybridWeights(cosine=0.0, lexical=0.0, recency=0.0, importance=1.0)
    assert found(table, mode="hybrid", weights=weights) == ["Remark: grave"]
    assert found(table, mode="hybrid", weights=weights, min_score=0.3) == []


def test_the_newer_of_a_contradiction_stays_although_it_has_other_words(make):
    table = make()
    old, new = "Use ruff for linting", "Use flake8 for linting"
    table.near(old, new, 0.85)
    table.near(old, ASKED, 0.5)
    table.near(new, ASKED, 0.16)
    table.near("Remark: poor", ASKED, 0.16)
    for text in (old, new, "Remark: poor"):
        table.store.remember(text)
    assert len(table.store.conflicts()) == 1
    assert found(table) == [new, old]


def test_what_replaced_a_relevant_memory_is_relevant(make):
    table = make()
    table.near("Lunch is at noon", ASKED, 0.5)
    table.near("Food comes at two", ASKED, 0.05)
    old, new = (table.store.remember(text).memory for text in ("Lunch is at noon", "Food comes at two"))
    assert found(table) == ["Lunch is at noon"]
    table.store.supersede(old.id, new.id)
    assert found(table) == ["Food comes at two"]


def test_a_neighbour_in_the_sitting_carries_a_short_answer_over_the_floor(make):
    table = make()
    for text, cosine in (("Ana has moved at last", 0.9), ("To Lisbon", 0.02)):
        table.near(text, ASKED, cosine)
        table.store.remember(text, source="chat 7")
    assert found(table) == ["Ana has moved at last", "To Lisbon"]


def test_the_past_and_a_filter_have_the_floor_too(make):
    table = make()
    shelf(table, good=0.5, poor=0.08)
    then = table.clock()
    table.clock.advance(days=1)
    assert found(table, as_of=then) == found(table, where=Filter(min_importance=0.1)) == ["Remark: good"]
    assert len(found(table, as_of=then, min_score=0)) == 2


def test_without_an_embedder_any_word_of_the_query_is_enough(make):
    table = make()
    table.store.remember("The test database listens on port 5433")
    table.fake.fail_with = ModelUnavailable("down")
    assert found(table, "database of the tests in the other office building") != []
    assert found(table, "capital of France") == []


@pytest.mark.parametrize("value", [-0.1, 1.1, True, "0.3", float("nan"), [0.3]])
def test_a_floor_is_a_number_from_0_to_1(make, value):
    table = make()
    for verb in (table.store.recall, table.store.pack):
        with pytest.raises(InvalidField) as caught:
            verb(ASKED, min_score=value)
        assert caught.value.where == "min_score"


def test_another_option_of_pack_is_refused(make):
    with pytest.raises(InvalidField, match="min_score"):
        make().store.pack(ASKED, minscore=0.1)
