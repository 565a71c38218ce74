"""An embedder that turns questions towards their answers: what it moves, what it leaves, and what its faults do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wellkept
from wellkept.engine.models.embedding import Embeddings
from wellkept.engine.models.wrapped_embedder import WrappingEmbedder
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import RecallMode, Vector

ANSWER, ALIKE = "Petra signs invoices.", "Somebody asked about signatures on invoices."
QUESTION, STATEMENT = "Who signs the invoices?", "Signatures on the invoices"
Turn = Callable[[str, Vector], Vector]


class Turning(FakeEmbedder):
    """Declares what resembles what; a turned question resembles the answer alone."""

    def __init__(self, turn: Turn | None = None) -> None:
        super().__init__(dim=16)
        self._turn = turn
        self.turned: list[str] = []

    def towards_answers(self, question: str, vector: Vector) -> Vector:
        self.turned.append(question)
        if self._turn is not None:
            return self._turn(question, vector)
        [answer] = self.embed([ANSWER])
        assert answer.vector is not None
        return answer.vector


def near(embedder: FakeEmbedder, query: str = QUESTION) -> FakeEmbedder:
    embedder.relate(query, ALIKE, 0.8)
    embedder.relate(query, ANSWER, 0.5)
    return embedder


def order(embedder: Any, query: str, mode: RecallMode = "semantic") -> list[str]:
    with wellkept.open("memory:", embedder=embedder, relation_model="none") as store:
        store.remember(ANSWER, kind="fact")
        store.remember(ALIKE, kind="fact")
        return [hit.memory.content for hit in store.recall(query, mode=mode)]


@pytest.mark.parametrize("mode", ["semantic", "default"])
def test_a_question_finds_its_answer_before_what_resembles_it(mode: RecallMode) -> None:
    assert order(near(FakeEmbedder(dim=16)), QUESTION)[0] == ALIKE
    assert order(near(Turning()), QUESTION, mode)[0] == ANSWER


def test_a_query_that_asks_nothing_is_compared_as_it_is() -> None:
    embedder = near(Turning(), STATEMENT)
    assert order(embedder, STATEMENT)[0] == ALIKE
    assert embedder.turned == []  # type: ignore[attr-defined]


def test_a_turn_of_a_conversation_is_compared_with_the_question_as_it_was_asked() -> None:
    said = f"[10:12] Ana: {ANSWER}"
    embedder = Turning()
    embedder.relate(QUESTION, said, 0.7)
    embedder.relate(QUESTION, ALIKE, 0.6)
    with wellkept.open("memory:", embedder=embedder, relation_model="none") as store:
        store.remember(said, kind="fact")
        store.remember(ALIKE, kind="fact")
        hits = store.recall(QUESTION, mode="semantic", min_score=0)
    assert [(hit.memory.content, round(hit.parts["cosine"], 2)) for hit in hits] == [(said, 0.7), (ALIKE, 0.0)]


def test_a_wrapped_embedder_turns_too() -> None:
    assert order(WrappingEmbedder(near(Turning())), QUESTION)[0] == ANSWER


def test_the_floor_is_measured_by_the_question_as_it_was_asked() -> None:
    """An unanswerable question that the map moves near to some text gets nothing."""
    assert order(Turning(), "Who was Bolívar?", "default") == []


def _fails(question: str, vector: Vector) -> Vector:
    raise RuntimeError(question)


@pytest.mark.parametrize(
    "turn",
    [
        _fails,
        lambda question, vector: vector[:3],
        lambda question, vector: vector * 0,
        lambda question, vector: vector * np.float32(np.nan),
        lambda question, vector: None,
        lambda question, vector: vector.fill(0),
        lambda question, vector: vector.astype(np.float64) * np.inf,
    ],
)
def test_a_turn_that_fails_leaves_the_question_as_it_is(turn: Any) -> None:
    assert order(near(Turning(turn)), QUESTION)[0] == ALIKE


@pytest.mark.parametrize("length", [1e39, 1e-200])
def test_a_turned_question_of_any_length_is_one_of_length_one(length: float) -> None:
    def turn(question: str, vector: Vector) -> Any:
        [answer] = FakeEmbedder.embed(embedder, [ANSWER])
        return answer.vector.astype(np.float64) * length  # type: ignore[union-attr]

    embedder = near(Turning(turn))
    assert order(embedder, QUESTION)[0] == ANSWER


def test_a_turn_that_changes_what_it_was_given_leaves_the_floor() -> None:
    def turn(question: str, vector: Vector) -> Vector:
        [answer] = FakeEmbedder.embed(embedder, [ANSWER])
        vector[:] = answer.vector
        return vector

    embedder = Turning(turn)
    assert order(embedder, "Who was Bolívar?", "default") == []


def test_a_question_without_a_vector_is_not_turned() -> None:
    embedder = Turning()
    embedder.fail_with = wellkept.errors.ModelError("down")
    vectors = Embeddings(embedder)
    vectors.fetch([QUESTION])
    assert (vectors.towards_answers(QUESTION), embedder.turned) == (None, [])
