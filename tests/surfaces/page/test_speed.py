"""How fast the rooms are in a large store, in time of the processor, which other work does not lengthen."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import wellkept
from surfaces.page.visitors import Browser, browsing
from wellkept.types import JournalEntry, Memory, MemoryChange

MEMORIES = 100_000
_AT_ONCE = 5_000
_LOOKS = 7


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A store as a large import leaves it: one entry of the journal and one vector for each memory."""
    path: Path = tmp_path_factory.mktemp("large") / "page.db"
    with wellkept.open(str(path), embedder="hashing", relation_model="none") as store:
        store.remember("Tea is upstairs.", kind="note")
        storage, chance = store._ctx.storage, np.random.default_rng(1)
        for begin in range(0, MEMORIES, _AT_ONCE):
            vectors = chance.standard_normal((_AT_ONCE, 384)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            with storage.begin(store.namespace, write=True) as tx:
                for number, vector in enumerate(vectors, start=begin):
                    row = _row(store.namespace, number)
                    entry = JournalEntry(
                        at=row.created_at, verb="import", outcome="created", memory_id=row.id, memory_ids=(row.id,),
                        effects=(MemoryChange(None, row),),
                    )  # fmt: skip
                    tx.apply(entry, vectors={row.embedding: vector})
        with browsing(store) as browser:
            yield browser


def _row(namespace: str, number: int) -> Memory:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    what = ("tea", "coffee", "rice", "salt")[number % 4]
    return Memory(
        id=f"01940000-0000-7000-8000-{number:012d}", namespace=namespace, kind="note", created_at=at, updated_at=at,
        content=f"Shelf {number} in hall {number % 97} holds box {number * 7 + 3} of {what}.",
        embedding=f"{number:064d}", chunks=1,
    )  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("room", ["inbox", "memories", "journal", "ask", "health", "errors"])
def test_a_room_of_a_large_store_is_there_within_100_ms(large: Browser, room: str) -> None:
    large.get(room)
    times = []
    for _ in range(_LOOKS):
        before = time.process_time()
        large.get(room)
        times.append(1_000 * (time.process_time() - before))
    sys.stdout.write(f"{room} of {MEMORIES:,} memories: {statistics.median(times):.0f} ms\n")
    assert statistics.median(times) <= 100
