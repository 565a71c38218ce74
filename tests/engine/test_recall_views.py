"""How many views of the store a recall opens: one, unless a model is asked in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

import wellkept
from wellkept.models.hashing import HashingEmbedder
from wellkept.storage.memory import DictStorage
from wellkept.storage.port import Tx


class Counted(DictStorage):
    """Counts the views that are opened, and those that are open."""

    opened = 0
    open_now = 0

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[Tx]:
        with super().begin(namespace, write=write) as tx:
            self.opened += not write
            self.open_now += 1
            try:
                yield tx
            finally:
                self.open_now -= 1


class Plain:
    """A reranker that keeps the order and notes how many views are open while it is asked."""

    id = "plain"

    def __init__(self, storage: Counted) -> None:
        self.storage, self.seen = storage, list[int]()

    def rerank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        self.seen.append(self.storage.open_now)
        return [0.5 for _ in texts]


@pytest.mark.parametrize(
    ("options", "with_reranker", "views"),
    [({}, False, 1), ({"rerank": False}, True, 1), ({}, True, 3), ({"grouped": True}, False, 3)],
    ids=["nothing is asked", "the reranker is not wanted", "a reranker", "the relation model"],
)
def test_a_recall_opens_one_view_unless_a_model_is_asked_in_between(
    options: dict[str, Any], views: int, *, with_reranker: bool
) -> None:
    storage = Counted()
    reranker = Plain(storage)
    store = wellkept.open(
        storage, embedder=HashingEmbedder(), relation_model="none", reranker=reranker if with_reranker else None
    )
    for text in ("Tea is served at four.", "The kettle for the tea is in the kitchen."):
        store.remember(text, kind="note")
    before = storage.opened
    assert len(store.recall("When is tea served?", touch=False, **options)) == 2
    assert storage.opened - before == views
    assert set(reranker.seen) <= {0}
