"""Stemmed terms, meaning and words in one score, and neighbours in a conversation (S2-4, S2-14, S2-16)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.recall import bm25, scoring

SHARES = st.floats(0, 1)
KEYS = "abcdefgh"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Did she paint sunsets?", "A painting of the sunset"),
        ("Welche Hunde hat er?", "Sein Hund heißt Rex."),
        ("Где лежат книги?", "Книга лежит на столе."),
        ("数据库在哪里?", "数据库在柏林"),
        ("What is PR #441?", "Merged PR#441 today"),
    ],
)
def test_a_word_of_the_query_is_found_in_another_form_in_any_script(asked: str, told: str) -> None:
    assert set(bm25.query_terms(asked)) & set(bm25.document_terms(told))  # I10


@pytest.mark.parametrize(
    ("one", "other"), [("1.5", "15"), ("C++", "C"), ("v2", "v3"), ("parse_url", "parse"), ("don", "donkeys")]
)
def test_stems_do_not_make_different_things_one(one: str, other: str) -> None:
    assert bm25.document_terms(one)[0] != bm25.document_terms(other)[0]  # I10


@pytest.mark.parametrize(
    ("query", "gone", "kept"),
    [
        ("What did Ana buy?", {"what", "did"}, {"ana"}),
        ("Was hat Ana für die Reise gekauft?", {"hat", "die"}, {"ana"}),
        ("die or live", {"or"}, {"die"}),  # an article in German, a word in English
    ],
)
def test_a_query_loses_the_function_words_of_its_own_language(query: str, gone: set[str], kept: set[str]) -> None:
    terms = set(bm25.query_terms(query))
    assert not terms & gone
    assert kept <= terms


def test_a_query_of_function_words_alone_keeps_them() -> None:
    assert bm25.query_terms("Who is it?") == ["who", "is", "it"]
    assert bm25.query_terms("") == []


def test_a_rare_word_weighs_more_by_the_whole_namespace_than_by_the_pool() -> None:
    pool = [["ruff", "lint"], ["lint", "code"]]
    everything = [*pool, *([["code"]] * 20)]
    by_pool = bm25.lexical_scores(["lint", "code"], pool, bm25.statistics(pool))  # S2-4
    by_all = bm25.lexical_scores(["lint", "code"], pool, bm25.statistics(everything))
    assert by_all[0] > by_pool[0]
    assert by_pool[1] == by_all[1] == 1.0


def test_terms_that_the_statistics_have_never_seen_are_rare_and_nothing_breaks() -> None:
    old = bm25.statistics([["tea"]])
    assert bm25.lexical_scores(["ruff"], [["ruff"], ["tea"]], old) == [1.0, 0.0]
    assert bm25.lexical_scores(["ruff"], [], bm25.statistics([])) == []
    assert bm25.lexical_scores(["ruff"], [["tea"], []], old) == [0.0, 0.0]


def test_the_shorter_of_two_texts_with_the_word_is_first() -> None:
    pool = [["ruff", *"abcdefgh"], ["ruff"]]
    long, short = bm25.lexical_scores(["ruff"], pool, bm25.statistics(pool))
    assert short > long


@given(st.lists(st.tuples(st.floats(-1, 1), SHARES), max_size=8))
def test_with_one_weight_the_order_is_that_of_the_one_signal(pairs: list[tuple[float, float]]) -> None:
    cosines, words = [cosine for cosine, _ in pairs], [share for _, share in pairs]
    assert scoring.fused(cosines, words, meaning=0.0) == words  # S2-16, and the property of issue 5
    assert scoring.fused(cosines, words, meaning=1.0) == [max(0.0, cosine) for cosine in cosines]


def test_without_any_vector_the_words_decide_alone() -> None:
    assert scoring.fused([None, None], [0.2, 0.9]) == [0.2, 0.9]  # I7
    assert scoring.fused([None, 0.5], [1.0, 0.0]) == pytest.approx([1 - scoring.MEANING, scoring.MEANING / 2])


def test_what_was_told_in_another_sitting_is_no_neighbour() -> None:
    beside = scoring.told_beside([["a", "b"], ["c"]])
    assert beside == {"a": (("b", 1),), "b": (("a", 1),), "c": ()}


def test_a_far_neighbour_counts_less_and_one_out_of_reach_nothing() -> None:
    told = ["hit", "near", "next", "third", "far"]
    raised = scoring.in_context({"hit": 1.0, **dict.fromkeys(told[1:], 0.0)}, scoring.told_beside([told]))
    assert raised["hit"] == 1.0
    assert raised["near"] > raised["next"] > raised["third"] > 0
    assert raised["far"] == 0.0


def test_an_answer_is_lifted_over_a_stranger_by_what_it_was_told_after() -> None:
    scores = {"I have moved.": 0.8, "To Lisbon!": 0.2, "Ana likes moving pictures.": 0.4}
    beside = scoring.told_beside([["I have moved.", "To Lisbon!"], ["Ana likes moving pictures."]])
    raised = scoring.in_context(scores, beside)
    assert sorted(raised, key=lambda key: -raised[key]) == ["I have moved.", "To Lisbon!", "Ana likes moving pictures."]


@given(st.lists(SHARES, min_size=1, max_size=8), SHARES)
def test_context_lowers_no_score_and_moves_no_score_beyond_the_best(scores: list[float], context: float) -> None:
    given_scores = dict(zip(KEYS, scores, strict=False))
    raised = scoring.in_context(given_scores, scoring.told_beside([tuple(given_scores)]), context=context)
    assert all(raised[key] >= score for key, score in given_scores.items())
    assert math.isclose(max(raised.values()), max(scores))
    assert list(raised) == list(given_scores)


@given(st.lists(SHARES, min_size=1, max_size=8))
def test_without_neighbours_or_without_their_share_nothing_changes(scores: list[float]) -> None:
    given_scores = dict(zip(KEYS, scores, strict=False))
    assert scoring.in_context(given_scores, {}) == given_scores
    beside = scoring.told_beside([tuple(given_scores)])
    assert scoring.in_context(given_scores, beside, context=0.0) == given_scores
