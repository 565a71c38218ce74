"""A write waits for few answers of the server, which a coordinator of a cluster pays for one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import wellkept
from postgres.proxy import Proxy
from wellkept.errors import InvalidText
from wellkept.storage.port import Stale
from wellkept.storage.postgres import PostgresStorage
from wellkept.testing.checks.world import NS, World, entry, memory
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import AliasChange, Filter, MemoryChange

MOST = {"created": 7, "duplicate": 7}
"""Trips of a writing transaction, its begin and its commit included."""
FIRST = "The left gauge is read at noon."
Act = Callable[[wellkept.MemoryStore], str]
WRITES: dict[str, Act] = {
    "created": lambda store: store.remember("The pump in bay 4 drips.", subject="pump", tags=["bay"]).outcome,
    "duplicate": lambda store: store.remember(FIRST).outcome,
}
"""A duplicate is looked for by each of its hashes, and its vector is read again."""


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    made = Proxy(url)
    yield made
    made.stop()


@pytest.mark.parametrize("outcome", WRITES)
def test_a_write_waits_for_few_answers_under_its_lock(proxy: Proxy, outcome: str) -> None:
    with wellkept.open(proxy.url, embedder=FakeEmbedder(dim=64), relation_model="none") as store:
        store.remember(FIRST)
        assert WRITES[outcome](store) == outcome
        assert 3 < proxy.trips <= MOST[outcome], "3 would be the begin, one statement and the commit"
        assert store.verify() == ()


def test_many_rows_of_one_entry_take_no_more_trips_than_one(proxy: Proxy) -> None:
    world = World(PostgresStorage(proxy.url))
    trips = []
    for start, count in ((0, 1), (1, 40)):
        with world.store.begin(NS, write=True) as tx:
            made = [memory(f"m{start + at}") for at in range(count)]
            aliases = [AliasChange(one.id, "h", present=True) for one in made]
            tx.apply(entry(*(MemoryChange(None, one) for one in made), *aliases))
        trips.append(proxy.trips)
    assert trips[1] <= trips[0] and len(world.ids(Filter())) == 41
    world.store.close()


def test_a_row_that_is_refused_on_its_way_keeps_nothing_and_leaves_the_store_usable(url: str) -> None:
    """The rows of an entry are sent together; what one of them breaks is told by the entry that has it."""
    world = World(PostgresStorage(url))
    world.add(memory("m1"))
    with pytest.raises(InvalidText), world.store.begin(NS, write=True) as tx:
        tx.apply(entry(MemoryChange(None, memory("m2")), run_id="half \ud800"))
    with pytest.raises(Stale), world.store.begin(NS, write=True) as tx:
        tx.apply(entry(MemoryChange(None, memory("m3")), idempotency_key="k"))
        tx.apply(entry(MemoryChange(None, memory("m4")), idempotency_key="k"))
    with world.store.begin(NS, write=True) as tx:
        tx.note_asking("kept, although no statement follows")
    with world.store.begin(NS, write=False) as tx:
        assert tx.asking() == "kept, although no statement follows"
    assert world.ids(Filter()) == ["m1"]
    world.store.close()
