"""Relevance: what is compared with the floor of recall. Languages: English, German, Chinese, Korean, Polish."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.recall.bm25 import document_terms, query_terms, statistics
from wellkept.core.recall.relevance import ELSEWHERE, matches, relevances, trust_in, word_shares

SHARE = st.floats(0, 1)


def shares(query: str, *texts: str) -> list[float]:
    told = [document_terms(text) for text in texts]
    return [round(share, 2) for share in word_shares(query_terms(query), told, statistics(told))]


@pytest.mark.parametrize(
    ("query", "text", "least", "most"),
    [
        ("capital of France", "The backup runs at night", 0, 0),
        ("node version", "We use Node 18", 0.3, 0.5),
        ("what became of PR-441 in the last release", "PR #441 is blocked", 1, 1),
        ("who wrote pay_v2 and why", "pay_v2 is frozen", 1, 1),
        ("what happened in 1998", "The contract dates from 1998", 0.3, 0.7),  # a number is no identifier
        ("LÄUFT", "Die Prüfdatenbank läuft", 1, 1),
        ("Wo sind die Torsionswaagen?", "Die Torsionswaage steht unten", 0.8, 0.8),
        ("数据库端口", "数据库的端口是 5433", 0.5, 1),
    ],
)
def test_a_document_has_a_share_of_the_words_of_a_query(query: str, text: str, least: float, most: float) -> None:
    assert least <= shares(query, text)[0] <= most


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    texts = ["the service is slow", "the service is down", "the service is new", "Celery is old"]
    assert shares("celery service", *texts)[3] > shares("celery service", *texts)[0] > 0


@pytest.mark.parametrize(
    ("query", "trust"),
    [
        ("What is the capital of France?", 1.0),
        ("When is Aunt Gertrude's knee operation?", 1.0),
        ("node version", 1.0),
        ("PR-441", 1.0),
        ("Was ist die Hauptstadt von Frankreich?", ELSEWHERE),
        ("法国的首都是哪里？", ELSEWHERE),
        ("프랑스의 수도는 어디인가요?", ELSEWHERE),
        ("Jaka jest stolica Francji?", ELSEWHERE),
    ],
)
def test_a_similarity_counts_in_full_only_in_the_languages_of_the_embedder(query: str, trust: float) -> None:
    assert trust_in(query, frozenset({"en"})) == trust
    assert trust_in(query, None) == 1.0
    assert trust_in(query, frozenset()) == 0.0


@pytest.mark.parametrize(
    ("similarity", "share", "trust", "least", "most"),
    [
        (0.0, 0.0, 1.0, 0.0, 0.0),
        (0.5, 0.0, 1.0, 0.5, 0.5),
        (-0.4, 0.0, 1.0, 0.0, 0.0),
        (0.0, 1.0, 1.0, 0.6, 0.6),
        (0.7, 0.0, 0.0, 0.0, 0.0),
        (0.7, 0.3, 0.0, 0.7, 0.8),
        (0.7, 0.0, 0.7, 0.49, 0.49),
        (0.7, 0.3, 0.7, 0.7, 0.8),
        (None, 0.0, 1.0, 0.0, 0.0),
        (None, 0.3, 0.0, 1.0, 1.0),
    ],
)
def test_a_match_is_similarity_and_words(
    similarity: float | None, share: float, trust: float, least: float, most: float
) -> None:
    assert least <= round(matches([similarity], [share], trust=trust)[0], 4) <= most


def test_in_a_language_without_reliable_similarity_one_memory_with_words_speaks_for_the_others() -> None:
    with_words, without = matches([0.6, 0.6], [0.4, 0.0], trust=0.0)
    assert with_words > without == 0.6


@given(st.dictionaries(st.sampled_from("abcdef"), SHARE, min_size=1))
def test_the_best_memory_has_its_own_match_and_the_order_stays(matched: dict[str, float]) -> None:
    found = relevances(matched)
    best = max(matched, key=matched.__getitem__)
    assert found[best] == pytest.approx(matched[best], abs=1e-4) and max(found.values()) == found[best]
    assert all(found[a] <= found[b] for a in matched for b in matched if matched[a] <= matched[b])
    assert all(0 <= matched[key] - 1e-4 <= found[key] <= 1 for key in matched if matched[key] > 1e-4)
