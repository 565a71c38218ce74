"""Synthetic sentence vectors, the same on every machine, and bulk filling of a store with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wellkept.storage.port import Storage
from wellkept.storage.sqlite import SqliteStorage
from wellkept.types import JournalEntry, Memory, MemoryChange

DIM = 384
NAMESPACE = "bench"
EMBEDDER = "bench/spectrum"
_TOPICS = 400
_TWINS = 0.06
_AT_ONCE = 1000
_START = datetime(2026, 1, 1, tzinfo=UTC)


def sentences(count: int, *, seed: int) -> NDArray[np.float32]:
    """Unit vectors with the spectrum of MiniLM on chat sentences, where 128 of 384 directions hold 87 %.

    Some topics are frequent and most are rare; 6 % of the vectors are near duplicates of another one.

    Args:
        count: Number of vectors.
        seed: Seed of the vectors; the topics are the same for every seed.
    """
    place = np.arange(DIM)
    spread = np.sqrt((place + 1.0) ** -0.8 * np.exp(-place / 220)).astype(np.float32)
    topics = np.random.default_rng(5).standard_normal((_TOPICS, DIM), dtype=np.float32) * spread
    turn = np.linalg.qr(np.random.default_rng(6).standard_normal((DIM, DIM)))[0].astype(np.float32)
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, _TOPICS + 1)
    rows = np.empty((count, DIM), dtype=np.float32)
    for start in range(0, count, 50_000):
        part = rows[start : start + 50_000]
        of = rng.choice(_TOPICS, len(part), p=frequency / frequency.sum())
        part[:] = 0.8 * topics[of] + rng.standard_normal(part.shape, dtype=np.float32) * spread
        part /= np.linalg.norm(part, axis=1, keepdims=True)
        twins = int(_TWINS * len(part))
        near = rng.uniform(0.1, 0.6, (twins, 1)).astype(np.float32)
        other = rng.standard_normal((twins, DIM), dtype=np.float32) * spread
        part[:twins] = part[twins : 2 * twins] + near * other / np.linalg.norm(other, axis=1, keepdims=True)
        part[:] = part @ turn
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return rows


def row(number: int) -> Memory:
    """A memory with a short text; its vector's hash is `vector-NUMBER`."""
    made = _START + timedelta(seconds=number)
    return Memory(
        id=f"00000000-0000-7000-8000-{number:012}",
        namespace=NAMESPACE,
        content=f"entry {number}",
        created_at=made,
        updated_at=made,
        embedding=f"vector-{number}",
        chunks=1,
    )


def fill(path: Path, vectors: NDArray[np.float32]) -> None:
    """Create a store with these vectors in one namespace through the storage port, a thousand per journal entry."""
    store = SqliteStorage(path, durability="relaxed")
    store.configure(embedder=EMBEDDER, dim=DIM, policy="bench")
    for start in range(0, len(vectors), _AT_ONCE):
        append(store, start, vectors[start : start + _AT_ONCE])
    store.close()


def append(store: Storage, first: int, vectors: NDArray[np.float32]) -> None:
    """Add rows in one transaction and one journal entry."""
    rows = [row(first + number) for number in range(len(vectors))]
    entry = JournalEntry(
        at=_START,
        verb="remember",
        outcome="created",
        effects=tuple(MemoryChange(None, one) for one in rows),
        memory_ids=tuple(one.id for one in rows),
    )
    with store.begin(NAMESPACE, write=True) as tx:
        tx.apply(entry, vectors={one.embedding: vector for one, vector in zip(rows, vectors, strict=True)})
