"""The order of answers: BM25 over the pool, exact cosine, the blends, and the weighted sum."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.recall.bm25 import lexical_scores, statistics
from wellkept.core.recall.rank import LEXICAL_SHARE, SEMANTIC_SHARE, activation, blends, hybrid, recency
from wellkept.core.recall.reordering import newer_first
from wellkept.types import HybridWeights, Memory

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def bm25(query: list[str], documents: list[list[str]]) -> list[float]:
    """As recall asks for it: with word statistics of the pool alone (S2-4)."""
    return lexical_scores(query, documents, statistics(documents))


def memory(**fields: object) -> Memory:
    made = {"created_at": NOW - timedelta(days=10), "updated_at": NOW, **fields}
    return Memory(id="m1", namespace="n", content="x", **made)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "documents", "order"),
    [
        (["pr_441"], [["fix", "pr_440"], ["fix", "pr_441"]], [1, 0]),  # S2-14
        (["use", "ruff"], [["use", "black"], ["use", "ruff"]], [1, 0]),  # the rare word decides
        (["ruff"], [["ruff"] + ["filler"] * 40, ["ruff"]], [1, 0]),  # the shorter text
        (["ruff"], [["ruff", "and", "rust"], ["ruff", "ruff", "rust"]], [1, 0]),  # said more often
    ],
)
def test_the_better_match_of_words_comes_first(query, documents, order):
    scores = bm25(query, documents)
    assert sorted(range(len(documents)), key=lambda at: -scores[at]) == order


def test_scores_lie_between_0_and_1_and_the_best_is_1():
    """S2-4: normalised, with word statistics of the pool alone."""
    scores = bm25(["a", "b"], [["a", "b"], ["a"], ["c"]])
    assert max(scores) == 1.0 and scores[2] == 0.0 and 0.0 < scores[1] < 1.0


@pytest.mark.parametrize("documents", [[], [[]], [[], []], [["other"]]])
def test_nothing_in_common_is_0_and_no_error(documents):
    """S2-8."""
    assert bm25(["word"], documents) == [0.0] * len(documents)
    assert bm25([], documents) == [0.0] * len(documents)


def test_a_repeated_query_word_counts_once():
    documents = [["a", "x"], ["b", "y"]]
    assert bm25(["a", "a", "a", "b"], documents) == bm25(["a", "b"], documents)


@pytest.mark.parametrize(
    ("cosine", "lexical", "score"),
    [
        (0.5, 0.5, 0.5),
        (1.0, 0.0, SEMANTIC_SHARE),
        (0.0, 1.0, LEXICAL_SHARE),
        (-0.5, 1.0, LEXICAL_SHARE),  # opposite is no worse than unrelated
        (None, 0.8, 0.8),  # without vectors the words decide alone
    ],
)
def test_a_score_is_shared_between_meaning_and_words(cosine, lexical, score):
    assert blends([cosine, None], [lexical, 0.25]) == [pytest.approx(score), 0.25]


def test_the_shares_add_up_to_one():
    assert SEMANTIC_SHARE + LEXICAL_SHARE == pytest.approx(1.0)


# --------------------------------------------------------------------------------------------
# Freshness


@pytest.mark.parametrize(
    ("fields", "basis", "days"),
    [
        ({}, "accessed", 10),  # never used: since it was stored
        ({"last_accessed_at": NOW - timedelta(days=2)}, "accessed", 2),
        ({"last_accessed_at": NOW - timedelta(days=2)}, "created", 10),
        ({"event_time": NOW - timedelta(days=40)}, "event", 40),
        ({}, "event", 10),
        ({"last_accessed_at": NOW + timedelta(days=2)}, "accessed", 0),  # S2-11
        ({"created_at": NOW + timedelta(days=2)}, "created", 0),
        ({"event_time": NOW + timedelta(days=2)}, "event", 0),
    ],
)
def test_freshness_fades_with_the_days_since_the_chosen_time(fields, basis, days):
    """S2-3, B-20."""
    weights = HybridWeights(recency_basis=basis)
    assert recency(memory(**fields), weights, NOW) == pytest.approx(math.exp(-0.1 * days))


def test_a_rate_of_zero_lets_nothing_fade():
    assert recency(memory(), HybridWeights(decay_rate=0.0), NOW) == 1.0


# --------------------------------------------------------------------------------------------
# The weighted sum

parts = st.fixed_dictionaries(
    {name: st.none() | st.floats(0, 1) for name in ("cosine", "lexical", "recency", "importance")}
)


@given(parts=parts)
def test_weights_of_missing_parts_are_spread_and_the_sum_stays_the_same(parts):
    """D2: scores with and without words stay on one scale."""
    score, counted = hybrid(parts, HybridWeights())
    held = [value for value in parts.values() if value is not None]
    assert set(counted) == {name for name, value in parts.items() if value is not None}
    if held:
        assert sum(counted.values()) == pytest.approx(1.0)
        assert min(held) - 1e-9 <= score <= max(held) + 1e-9
    else:
        assert score == 0.0


def test_a_part_without_a_weight_does_not_count():
    weights = HybridWeights(recency=0.0, importance=0.0)
    score, counted = hybrid({"cosine": 0.4, "lexical": 0.0, "recency": 1.0, "importance": 1.0}, weights)
    assert score == pytest.approx(0.55 * 0.4) and set(counted) == {"cosine", "lexical"}


def test_where_only_missing_parts_have_weights_nothing_is_worth_more_than_another():
    only_words = HybridWeights(cosine=0.0, lexical=1.0, recency=0.0, importance=0.0)
    assert hybrid({"cosine": 0.9, "lexical": None}, only_words) == (0.0, {})


def test_polarity_and_confidence_are_parts_on_request():
    weights = HybridWeights(polarity=0.05, confidence=0.1)
    score, _ = hybrid({"cosine": 0.0, "lexical": 0.0, "recency": 0.0, "importance": 0.0, "polarity": -1.0,
                       "confidence": 0.5}, weights)  # fmt: skip
    assert score == pytest.approx(-0.05 + 0.05)


# --------------------------------------------------------------------------------------------
# Activation


def test_what_is_nearer_to_a_good_answer_gets_more_of_it():
    passed = activation({"a": 1.0, "b": 0.0, "c": 0.0, "d": 0.0}, [("a", "b"), ("b", "c")])
    assert passed["b"] == 1.0 > passed["c"] > passed["d"] == 0.0


@pytest.mark.parametrize(
    ("seeds", "links"),
    [({}, []), ({"a": 1.0}, []), ({"a": 1.0}, [("a", "a")]), ({"a": -1.0, "b": 0.0}, [("a", "b")]),
     ({"a": 1.0}, [("a", "gone"), ("gone", "a")])],
)  # fmt: skip
def test_nothing_is_passed_on_without_links_or_worth(seeds, links):
    assert activation(seeds, links) == dict.fromkeys(seeds, 0.0)


def test_the_order_of_links_and_their_direction_do_not_matter():
    """I4: to the last digit."""
    seeds = {"a": 0.7, "b": 0.1, "c": 0.3, "d": 0.2}
    links = [("a", "b"), ("c", "a"), ("b", "d"), ("d", "c")]
    assert activation(seeds, links) == activation(seeds, [(dst, src) for src, dst in reversed(links)])


@pytest.mark.parametrize(
    ("scores", "pairs", "order"),
    [
        ({"a": 0.9, "x": 0.8, "b": 0.7}, [("a", "b")], "bax"),
        ({"b": 0.9, "x": 0.8, "a": 0.7}, [("a", "b")], "bxa"),  # it is first already
        ({"a": 0.9, "x": 0.8, "b": 0.1}, [("a", "b")], "axb"),  # too far behind
        ({"a": 0.9, "x": 0.8}, [("a", "b"), ("b", "a")], "ax"),  # one of the two is no answer
        ({"a": 0.9, "b": 0.8, "c": 0.7}, [("a", "b"), ("b", "c")], "cba"),
    ],
)
def test_of_two_that_contradict_each_other_the_newer_one_comes_first(scores, pairs, order):
    assert newer_first(scores, pairs) == list(order)
