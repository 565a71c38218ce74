"""An embedder of which a part is broken: what becomes of a text does not depend on those that are written with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import wellkept
from wellkept.core.reading.language_detection import is_english
from wellkept.engine.models.embedding import Embeddings
from wellkept.engine.upkeep.reembed import sweep
from wellkept.errors import ModelUnavailable
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.port import Embedded, PartUnavailable
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Filter, NewMemory

TEXTS = ("Tea at four.", "Tee um vier Uhr nachmittags.", "Lunch is at one.")


class EnglishOnly(MiniLmEmbedder):
    """The packaged embedder without its second network."""

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        places = [place for place, text in enumerate(texts) if not is_english(text)]
        if places:
            raise PartUnavailable(ModelUnavailable("the second network is lost"), places)
        return super().embed(texts)


class Careless(MiniLmEmbedder):
    """Says that a part is missing, and of which texts it does not say."""

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        raise PartUnavailable(ModelUnavailable("something is lost"), [len(texts) + 7])


def test_only_the_texts_that_need_the_broken_part_have_no_vector() -> None:
    with wellkept.open("memory:", embedder=EnglishOnly(), relation_model="none") as store:
        told = store.remember_many([NewMemory(content=text) for text in TEXTS]).results
        later = store.remember("Dinner is at seven.")
    assert ["embedding" in result.degraded for result in told if result] == [False, True, False]
    assert "embedding" not in later.degraded


def test_where_the_policy_says_so_only_the_texts_that_need_it_fail() -> None:
    policy = Policy(kinds={**DEFAULT_KINDS, "lesson": replace(DEFAULT_KINDS["lesson"], on_error="raise")})
    with wellkept.open("memory:", embedder=EnglishOnly(), relation_model="none", policy=policy) as store:
        told = store.remember_many([NewMemory(content=text, kind="lesson") for text in TEXTS])
    assert [result is None for result in told.results] == [False, True, False]
    assert [error.error for error in told.errors] == ["ModelUnavailable"]


def test_later_texts_of_the_same_call_are_embedded_and_the_others_are_not_asked_again() -> None:
    vectors = Embeddings(EnglishOnly())
    vectors.fetch(TEXTS[:2])
    vectors.fetch(TEXTS)
    assert [vectors.get(text) is not None for text in TEXTS] == [True, False, True]
    assert [vectors.outage_of(text) is None for text in TEXTS] == [True, False, True]


def test_another_embedder_makes_the_vectors_that_it_can_and_says_what_it_could_not() -> None:
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as store:
        store.remember_many(TEXTS)
        whole = replace(store._ctx, embedder=MiniLmEmbedder())
        store._ctx = replace(whole, embedder=EnglishOnly())
        with pytest.raises(ModelUnavailable, match="the second network is lost"):
            store.reembed()
        assert [row.content for row in store.list(Filter(embedded=False))] == [TEXTS[1]]
        store._ctx = whole
        assert store.reembed()["embedded"] == 1
        assert store.verify() == ()


def test_a_sweep_leaves_the_texts_that_need_the_broken_part_unchecked() -> None:
    with wellkept.open("memory:", embedder=EnglishOnly(), relation_model="none") as store:
        store.remember_many(TEXTS)
        waiting = sweep(store._ctx)
        assert (waiting.left, waiting.checked, waiting.outage != "") == (1, 0, True)
        store._ctx = replace(store._ctx, embedder=MiniLmEmbedder())
        mended = sweep(store._ctx)
        assert (mended.left, mended.embedded, mended.checked, mended.outage) == (0, 1, 1, "")


def test_what_waits_is_judged_past_a_text_that_needs_the_broken_part() -> None:
    model, policy = FakeRelationModel(), Policy(judging="later")
    with wellkept.open("memory:", embedder=MiniLmEmbedder(), relation_model=model, policy=policy) as store:
        store.remember_many(TEXTS)
        store._ctx = replace(store._ctx, embedder=EnglishOnly())
        told = sweep(store._ctx)
        assert (told.checked, told.left, "second network" in told.outage) == (1, 1, True)
        store._ctx = replace(store._ctx, embedder=MiniLmEmbedder())
        assert store.judge_waiting().left == 0


@pytest.mark.parametrize("text", TEXTS)
def test_an_embedder_that_names_no_text_is_down_for_all(text: str) -> None:
    vectors = Embeddings(Careless())
    vectors.fetch(TEXTS)
    assert vectors.get(text) is None
    assert isinstance(vectors.outage_of(text), ModelUnavailable)
