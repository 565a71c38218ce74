"""A reranker orders the best answers and decides nothing else (S2-18); how a store ranks by default (S2-56)."""

from __future__ import annotations

import pytest

import wellkept
from wellkept.errors import ConfigError, InvalidField, ModelUnavailable
from wellkept.testing.clock import FrozenClock
from wellkept.types import HybridWeights

TEXTS = ("Remark about apples", "Remark about bridges", "Remark about candles")


class Told:
    """A reranker that says what a test wants said."""

    id = "told"

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def rerank(self, query, texts):
        self.asked.append((query, list(texts)))
        if isinstance(self.answers, Exception):
            raise self.answers
        if callable(self.answers):
            return self.answers(texts)
        return [self.answers.get(text) for text in texts]


def shelf(make, reranker, **options):
    table = make(reranker=reranker, **options)
    for text, cosine in zip(TEXTS, (0.6, 0.4, 0.2), strict=True):
        table.near(text, "the question", cosine)
        table.store.remember(text)
        table.clock.advance(hours=1)
    return table


def order(hits):
    return [hit.memory.content for hit in hits]


@pytest.mark.parametrize("mode", ["default", "hybrid"])
def test_the_best_answers_are_put_in_its_order_and_it_tells_what_it_said(make, mode):
    told = Told({TEXTS[0]: 0.1, TEXTS[1]: 0.9, TEXTS[2]: 0.5})
    table = shelf(make, told)
    plain = table.store.recall("the question", mode=mode, rerank=False, touch=False)
    hits = table.store.recall("the question", mode=mode, touch=False)
    assert order(plain) == list(TEXTS) and order(hits) == [TEXTS[1], TEXTS[2], TEXTS[0]]
    assert [hit.parts["rerank"] for hit in hits] == [0.9, 0.5, 0.1]
    assert [(hit.rank, hit.scored_rank) for hit in hits] == [(1, 2), (2, 3), (3, 1)]
    # Scores and what they are made of stay as they were.
    assert {hit.memory.id: hit.score for hit in hits} == {hit.memory.id: hit.score for hit in plain}
    assert all("rerank" not in hit.weights for hit in hits)
    assert told.asked == [("the question", list(TEXTS))]


def test_semantic_stays_the_plain_order_of_the_cosines(make):
    """S2-10."""
    told = Told({text: 0.5 for text in TEXTS})
    table = shelf(make, told)
    assert order(table.store.recall("the question", mode="semantic")) == list(TEXTS)
    assert told.asked == []


def test_what_it_cannot_read_stands_behind_what_it_can(make):
    table = shelf(make, Told({TEXTS[2]: 0.0}))
    hits = table.store.recall("the question")
    assert order(hits) == [TEXTS[2], TEXTS[0], TEXTS[1]]
    assert [("rerank" in hit.parts) for hit in hits] == [True, False, False]


def test_only_the_first_answers_are_read(make):
    told = Told(lambda texts: [0.5 for _ in texts])
    table = make(reranker=told)
    for number in range(30):
        table.store.remember(f"Remark about item{number}")
    hits = table.store.recall("remark", limit=30)
    assert len(hits) == 30 and [len(texts) for _, texts in told.asked] == [20]


def test_one_answer_needs_no_order(make):
    told = Told({})
    table = make(reranker=told)
    table.store.remember(TEXTS[0])
    assert order(table.store.recall("remark")) == [TEXTS[0]] and told.asked == []


@pytest.mark.parametrize(
    "answers",
    [
        ModelUnavailable("it is away"),
        RuntimeError("broken"),
        lambda texts: [0.5],
        lambda texts: ["high" for _ in texts],
        lambda texts: [float("nan") for _ in texts],
        lambda texts: None,
    ],
)
def test_when_it_fails_the_order_stays_and_the_hits_say_so(make, answers):
    """I7."""
    table = shelf(make, Told(answers))
    hits = table.store.recall("the question")
    assert order(hits) == list(TEXTS)
    assert all(hit.degraded == ("reranker",) for hit in hits)


def test_it_lifts_no_older_statement_over_the_newer_one_that_contradicts_it(make):
    """S2-29."""
    texts = ("The limit is 0.85", "The limit is 0.95")
    table = make(reranker=Told({texts[0]: 0.9, texts[1]: 0.8}))
    table.near(*texts, 0.97)
    for text in texts:
        table.store.remember(text, kind="lesson")
        table.clock.advance(days=1)
    hits = table.store.recall("limit")
    assert order(hits) == [texts[1], texts[0]] and hits[0].conflicts


def test_a_path_that_holds_no_model_is_refused_when_the_store_is_opened(tmp_path):
    with pytest.raises(ModelUnavailable):
        wellkept.open("memory:", embedder="hashing", reranker=f"onnx:{tmp_path}")
    with pytest.raises(ConfigError):
        wellkept.open("memory:", embedder="hashing", reranker="magic")


# --------------------------------------------------------------------------------------------
# What a store ranks with


@pytest.mark.parametrize("usual", [HybridWeights(cosine=0.0, lexical=0.0, recency=0.0), "hybrid-created"])
def test_a_store_may_rank_with_weights_of_its_own_that_a_call_overrides(make, usual):
    """S2-56."""
    table = make(hybrid_weights=usual, clock=FrozenClock())
    for text, importance, cosine in zip(TEXTS, (0.2, 0.9, 0.5), (0.6, 0.4, 0.2), strict=True):
        table.near(text, "the question", cosine)
        table.store.remember(text, importance=importance)
    weights = HybridWeights(recency_basis="created") if usual == "hybrid-created" else usual
    [*by_default] = table.store.recall("the question", touch=False)
    [*named] = table.store.recall("the question", mode="hybrid", weights=weights, touch=False)
    assert [(hit.memory.id, hit.score, hit.parts) for hit in by_default] == [
        (hit.memory.id, hit.score, hit.parts) for hit in named
    ]
    assert table.store.recall("the question", mode="hybrid", touch=False) == tuple(by_default)
    assert order(table.store.recall("the question", mode="semantic", touch=False)) == list(TEXTS)
    by_importance = table.store.recall("the question", mode="hybrid", touch=False,
                                       weights=HybridWeights(cosine=0.0, lexical=0.0, recency=0.0))  # fmt: skip
    assert order(by_importance)[0] == TEXTS[1]


@pytest.mark.parametrize("wrong", ["nobody", {"cosine": 1}, 0.5])
def test_weights_of_a_store_that_are_none_are_refused(wrong):
    with pytest.raises(InvalidField) as caught:
        wellkept.open("memory:", embedder="hashing", hybrid_weights=wrong)
    assert caught.value.where == "hybrid_weights"
