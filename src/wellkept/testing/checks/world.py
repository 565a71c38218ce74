"""The environment of the checks: a store, memories with fixed ids, vectors with fixed directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.core.records.effects import touched
from wellkept.storage.port import Storage, Tx
from wellkept.types import (
    AliasChange,
    Conflict,
    Effect,
    Filter,
    JournalEntry,
    Memory,
    MemoryChange,
)

if TYPE_CHECKING:
    from wellkept.types import Vector

T0 = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DIM = 64
NS = "acme/alice"
EMBEDDER = "kit/one"


def at(minutes: float) -> datetime:
    """A time this many minutes after the start of the kit."""
    return T0 + timedelta(minutes=minutes)


def memory(memory_id: str, content: str = "", *, namespace: str = NS, **fields: Any) -> Memory:
    """A memory; its time follows the number in its id unless given."""
    digits = "".join(char for char in memory_id if char.isdigit())
    made = fields.pop("created_at", at(int(digits or 0)))
    return Memory(
        id=memory_id,
        namespace=namespace,
        content=content or f"content of {memory_id}",
        created_at=made,
        updated_at=fields.pop("updated_at", made),
        **fields,
    )


def vector(seed: int) -> Vector:
    """A unit vector that depends on the seed."""
    values = np.random.default_rng(seed).standard_normal(DIM)
    return (values / np.linalg.norm(values)).astype(np.float32)


def changed(old: Memory, **fields: Any) -> MemoryChange:
    """The memory with changed fields, as the next version."""
    return MemoryChange(old, replace(old, version=old.version + 1, **fields))


def conflict(key: str, a: str, b: str, *, minutes: float = 0, **fields: Any) -> Conflict:
    """An open contradiction."""
    kind = fields.pop("kind", "contradiction")
    return Conflict(key=key, a=a, b=b, kind=kind, reason="value_diff", similarity=0.9, created_at=at(minutes), **fields)


def entry(*effects: Effect, **fields: Any) -> JournalEntry:
    """A journal entry of these effects."""
    ids = touched(effects)
    fields = {"at": T0, "verb": "remember", "outcome": "created", "memory_id": ids[0] if ids else "", **fields}
    return JournalEntry(effects=effects, memory_ids=fields.pop("memory_ids", ids), **fields)


class World:
    """A store under test.

    Args:
        store: An empty store; it is configured here.
        reopen: Closes the store and opens it again.
    """

    def __init__(self, store: Storage, reopen: Callable[[Storage], Storage] | None = None) -> None:
        self.store = store
        self.fresh = store.header()
        self._reopen = reopen
        store.configure(embedder=EMBEDDER, dim=DIM, policy="p1")

    def reopen(self) -> None:
        """Close the store and open it again."""
        if self._reopen is None:
            raise AssertionError("this backend cannot be opened again")
        self.store = self._reopen(self.store)

    def apply(
        self,
        *effects: Effect,
        vectors: Mapping[str, Vector] | None = None,
        namespace: str = NS,
        **fields: Any,
    ) -> int:
        """Apply effects in a separate transaction."""
        with self.store.begin(namespace, write=True) as tx:
            return tx.apply(entry(*effects, **fields), vectors=vectors)

    def add(self, new: Memory, *, seed: int | None = None, hashes: Iterable[str] = ()) -> Memory:
        """Store a memory, optionally with a vector and aliases."""
        if seed is not None:
            new = replace(new, embedding=new.embedding or f"text-of-{new.id}", chunks=1)
        aliases = [AliasChange(new.id, digest, present=True) for digest in hashes]
        vectors = {} if seed is None else {new.embedding: vector(seed)}
        self.apply(MemoryChange(None, new), *aliases, vectors=vectors, namespace=new.namespace)
        return new

    def get(self, memory_id: str, *, namespace: str = NS) -> Memory:
        """A stored memory of any status."""
        with self.store.begin(namespace, write=False) as tx:
            return one(tx, memory_id)

    def ids(self, where: Filter, *, limit: int | None = None, namespace: str = NS) -> list[str]:
        """Ids that a filter finds."""
        with self.store.begin(namespace, write=False) as tx:
            return [row.id for row in tx.find(where, limit=limit)]

    def near(self, seed: int, *, limit: int = 10, namespace: str = NS, **fields: Any) -> list[str]:
        """Ids of the nearest active memories."""
        fields.setdefault("statuses", ("active",))
        with self.store.begin(namespace, write=False) as tx:
            return list(tx.nearest(vector(seed)[None, :], limit=limit, **fields)[0].ids)

    def match(self, *terms: str, limit: int = 10, namespace: str = NS, kinds: tuple[str, ...] = ()) -> list[str]:
        """Ids that full-text search finds."""
        with self.store.begin(namespace, write=False) as tx:
            return tx.match(terms, limit=limit, kinds=kinds)

    def journal(self, *, namespace: str = NS, **fields: Any) -> list[JournalEntry]:
        """Journal entries."""
        with self.store.begin(namespace, write=False) as tx:
            return tx.journal(**fields)


def one(tx: Tx, memory_id: str) -> Memory:
    """The only memory with this id."""
    rows = tx.find(Filter(ids=(memory_id,), statuses=()))
    equal([row.id for row in rows], [memory_id], "the memory is there once")
    return rows[0]


def equal(got: object, expected: object, what: str) -> None:
    """Fail unless both are equal."""
    if got != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {got!r}")


def expect(holds: object, what: str) -> None:
    """Fail unless it holds."""
    if not holds:
        raise AssertionError(what)


def refuses(error: type[BaseException], act: Callable[[], object], what: str) -> None:
    """Fail unless the call raises this error."""
    try:
        act()
    except error:
        return
    raise AssertionError(f"{what}: {error.__name__} was not raised")
