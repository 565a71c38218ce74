"""Clients fetch complete lists in pages, and split input that is too large for one request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wellkept
from surfaces.rest.serving import rest_app, served
from wellkept import Filter, MemoryStore
from wellkept.client import AsyncClient, Client, pages
from wellkept.engine.base.inputs import MAX_BATCH

COUNT = 7


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[MemoryStore, str]]:
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as store:
        ids = [store.remember(f"Item {word} is stored.").id for word in "abcdefg"]
        for other in ids[1:]:
            store.link(ids[0], other)
        store.revise(ids[0], importance=0.9)
        store.revise(ids[0], importance=0.8)
        for value in ("0.85", "0.9", "0.95"):
            store.remember(f"The limit is {value}.", kind="lesson")
        for word in "hij":
            store.queue.remember(f"Thesis {word}.", kind="thesis")
        with served(rest_app(store)) as url:
            yield store, url


def first(store: Any) -> str:
    return str(store.list(limit=1)[0].id)


def place(store: Any) -> Filter:
    row = store.list(limit=6)[-1]
    return Filter(before=(row.created_at, row.id))


ASKED: tuple[Callable[[Any], Any], ...] = (
    lambda s: s.list(),
    lambda s: s.list(limit=5),
    lambda s: s.list(limit=0),
    lambda s: s.list(place(s)),
    lambda s: s.list(place(s), limit=3),
    lambda s: s.list(Filter(ids=tuple(row.id for row in s.list())[::-1])),
    lambda s: s.journal(),
    lambda s: s.journal(newest=5),
    lambda s: s.journal(after=3),
    lambda s: s.history(first(s)),
    lambda s: s.conflicts(),
    lambda s: s.neighbors(first(s)),
    lambda s: s.queue.pending(),
)


def test_a_list_is_whole_however_many_pages_it_takes(
    pair: tuple[MemoryStore, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, url = pair
    monkeypatch.setattr(pages, "MAX_LIMIT", 2)
    with Client(url) as client:
        for number, asked in enumerate(ASKED):
            expected = asked(store)
            assert asked(client) == expected, number
            assert number == 2 or len(expected) >= 3

    async def awaited() -> Any:
        async with AsyncClient(url) as several:
            return await several.list(), await several.journal()

    assert asyncio.run(awaited()) == (store.list(), store.journal())


def test_a_large_batch_is_sent_in_several_and_told_as_one(
    pair: tuple[MemoryStore, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = pair
    monkeypatch.setattr(pages, "MAX_BATCH", 2)
    items: list[Any] = ["One is here.", "Two is here.", {"content": ""}, "Three is here.", {"content": "x", "kind": 3}]
    with Client(url, namespace="batch") as client:
        told = client.remember_many(items)
        assert [error.index for error in told.errors] == [2, 4]
        assert [result is not None for result in told.results] == [True, True, False, True, False]
        assert told.counts == {"created": 3}
        again = client.remember_many(items)
        assert [result.id for result in again.results if result] == [result.id for result in told.results if result]
        assert len(client.list()) == 3
        assert client.remember_many([]).results == ()


@pytest.mark.parametrize(
    ("item", "most"),
    [({"content": "x"}, MAX_BATCH), ({"content": "x" * 100_000}, 8), ({"metadata": {"a": [1] * 10_000}}, 3)],
    ids=["by number", "by size", "by values"],
)
def test_a_batch_is_no_larger_than_a_server_takes(item: Any, most: int) -> None:
    made = list(pages.parts([item] * 2_500 if most == MAX_BATCH else [item] * 20))
    assert sum(map(len, made)) == (2_500 if most == MAX_BATCH else 20)
    assert max(map(len, made)) == most
    assert all(len(json.dumps({"items": batch})) < 1 << 20 for batch in made)
