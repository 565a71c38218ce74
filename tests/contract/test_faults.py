"""A failure at any call across the port leaves the store as it was before the transaction (I3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wellkept.errors import Full
from wellkept.storage.memory import DictStorage
from wellkept.storage.port import Storage
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.checks.world import DIM, EMBEDDER, NS, changed, entry, memory, vector
from wellkept.testing.faults import FaultyStorage
from wellkept.types import ALL_STATUSES, Filter, Link, LinkChange, MemoryChange

CALLS = ["begin", "find", "nearest", "apply", "links", "apply", "touch", "journal", "commit"]


def make(backend: str, folder: Path) -> Storage:
    return DictStorage() if backend == "dict" else SqliteStorage(folder / "store.db", durability="relaxed")


def work(store: Storage) -> None:
    with store.begin(NS, write=True) as tx:
        kept = tx.find(Filter())[0]
        tx.nearest(vector(1)[None, :], limit=3, statuses=("active",))
        tx.apply(entry(MemoryChange(None, memory("m2", embedding="e2"))), vectors={"e2": vector(2)})
        tx.links()
        tx.apply(entry(changed(kept, content="changed"), LinkChange(None, Link("m1", "m2"))))
        tx.touch({"m1": (1, kept.created_at, None)})
        tx.journal(newest=1)


def seen(store: Storage) -> tuple[object, ...]:
    with store.begin(NS, write=False) as tx:
        near = tx.nearest(vector(2)[None, :], limit=9, statuses=("active",))[0]
        rows, entries = tx.find(Filter(statuses=ALL_STATUSES)), tx.journal()
        words = tx.match(["content", "changed"], limit=9)
        return rows, entries, tx.links(), words, near.ids, np.round(near.vectors, 6).tolist()


@pytest.mark.parametrize("number", range(1, len(CALLS) + 1), ids=lambda n: f"{n}-{CALLS[n - 1]}")
@pytest.mark.parametrize("backend", ["dict", "sqlite"])
def test_a_failure_at_any_call_leaves_nothing_behind(backend: str, number: int, tmp_path: Path) -> None:
    store = FaultyStorage(make(backend, tmp_path), error=Full("no space is left"))
    store.configure(embedder=EMBEDDER, dim=DIM, policy="p")
    with store.begin(NS, write=True) as tx:
        tx.apply(entry(MemoryChange(None, memory("m1", embedding="e1"))), vectors={"e1": vector(1)})
    before = seen(store)

    store.fail_at(number)
    with pytest.raises(Full):
        work(store)
    assert store.calls == CALLS[:number]

    store.fail_at(0)
    assert seen(store) == before
    work(store)
    assert store.calls[-len(CALLS) :] == CALLS
    assert len(seen(store)[0]) == 2
    store.close()
