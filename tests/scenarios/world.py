"""A store with everything around it that a test decides: time, ids, cosines; and a picture of all it holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import wellkept
from wellkept.core.records.codec import USAGE
from wellkept.core.records.merge import aliases, segments
from wellkept.policy import Policy
from wellkept.storage.memory import DictStorage
from wellkept.storage.port import Storage
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import (
    ALL_STATUSES,
    AliasChange,
    Effect,
    Filter,
    JournalEntry,
    Memory,
    MemoryChange,
)

BACKENDS = ("memory", "sqlite", "postgres")
Item = str | Mapping[str, Any]


@dataclass(frozen=True)
class World:
    """A store, and the clock and embedder behind it."""

    store: wellkept.MemoryStore
    embedder: FakeEmbedder
    clock: FrozenClock
    folder: Path

    def write(self, item: Item, **more: Any) -> wellkept.WriteResult:
        """One `remember`."""
        given = {"content": item} if isinstance(item, str) else dict(item)
        return self.store.remember(given.pop("content"), **given, **more)

    def check(self, item: Item) -> wellkept.WriteResult:
        """One `check`."""
        given = {"content": item} if isinstance(item, str) else dict(item)
        return self.store.check(given.pop("content"), **given)

    def batch(self, items: Iterable[Item]) -> wellkept.BatchResult:
        """One `remember_many`."""
        return self.store.remember_many(items)

    def file(self, items: Iterable[Item], name: str = "source.jsonl") -> Path:
        """The items as a file of JSON lines."""
        path = self.folder / name
        rows = [{"content": item} if isinstance(item, str) else dict(item) for item in items]
        path.write_text("".join(json.dumps(row, default=_iso) + "\n" for row in rows), "utf-8")
        return path

    def rows(self, *statuses: str) -> tuple[Memory, ...]:
        """Memories of these statuses, the active ones by default."""
        return self.store.list(Filter(statuses=statuses or ("active",)))


def make(
    backend: str,
    folder: Path,
    cosines: Mapping[Any, float] | None = None,
    *,
    policy: Policy | None = None,
    embedder: FakeEmbedder | None = None,
    name: str = "store.db",
) -> World:
    """A fresh world on one of the backends."""
    clock = FrozenClock()
    fake = embedder if embedder is not None else FakeEmbedder(cosines)
    store = wellkept.open(
        _place(backend, folder / name),
        policy=policy,
        embedder=fake,
        clock=clock,
        new_id=CountingIds(),
        relation_model=FakeRelationModel(),  # exact cosines speak for themselves (B-30)
        actor="tester",
    )
    return World(store, fake, clock, folder)


def _place(backend: str, path: Path) -> Storage | str:
    match backend:
        case "memory":
            return DictStorage()
        case "postgres":
            from postgres.server import shelf

            return shelf.open(path)
        case _:
            return str(path)


@dataclass(frozen=True)
class Snapshot:
    """All data of a namespace; no reader can distinguish two equal snapshots.

    Attributes:
        memories: Every row of every status, usage included.
        aliases: For every hash ever used, the rows it points at.
        journal: The entries, each in a form that two backends share.
    """

    memories: tuple[Memory, ...]
    links: tuple[tuple[Any, ...], ...]
    conflicts: tuple[wellkept.Conflict, ...]
    aliases: tuple[tuple[str, tuple[str, ...]], ...]
    journal: tuple[Any, ...]

    def without_journal(self) -> Snapshot:
        """The same but for the journal, which every act lengthens."""
        return Snapshot(self.memories, self.links, self.conflicts, self.aliases, ())

    def texts(self) -> dict[str, Memory]:
        """The rows by their text."""
        return {row.content: row for row in self.memories}


def snapshot(store: wellkept.MemoryStore, *, journal: bool = True) -> Snapshot:
    """A picture of the store's namespace, read past every verb that could count as a use."""
    ctx = store._ctx
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        rows = tuple(tx.find(Filter(statuses=ALL_STATUSES)))
        entries = tx.journal()
        hashes = {effect.hash for entry in entries for effect in entry.effects if isinstance(effect, AliasChange)}
        hashes |= {alias for row in rows for text in segments(row) for alias in aliases(text)}
        pointing = (
            (one, tuple(row.id for row in tx.find(Filter(hashes=(one,), statuses=ALL_STATUSES)))) for one in hashes
        )
        return Snapshot(
            memories=rows,
            links=tuple((link.src, link.dst, link.rel, link.created_at) for link in tx.links()),
            conflicts=tuple(tx.conflicts()),
            aliases=tuple(sorted(pair for pair in pointing if pair[1])),
            journal=tuple(plain(entry) for entry in entries) if journal else (),
        )


def plain(entry: JournalEntry) -> tuple[Any, ...]:
    """A journal entry as a value; of a memory's usage the journal promises nothing, so it is left out."""
    told = tuple(getattr(entry, item.name) for item in fields(JournalEntry) if item.name not in ("effects", "dropped"))
    dropped = _record(entry.dropped) if entry.dropped is not None else None
    return (*told, dropped, tuple(_effect(effect) for effect in entry.effects))


def _effect(effect: Effect) -> Any:
    if not isinstance(effect, MemoryChange):
        return effect
    return tuple(None if side is None else _record(side) for side in (effect.before, effect.after))


def _record(memory: Memory) -> tuple[Any, ...]:
    if memory.status == "erased":  # of a memory without content the journal need not tell which version it was
        return (memory.id, "erased")
    return tuple(getattr(memory, item.name) for item in fields(Memory) if item.name not in USAGE)


def found_anywhere(store: wellkept.MemoryStore, text: str) -> bool:
    """Whether a text is still in a row, in a former version of one, or in the journal as dropped (I1)."""
    ctx = store._ctx
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        if any(text in segments(row) for row in tx.find(Filter(statuses=ALL_STATUSES))):
            return True
        for entry in tx.journal():
            if entry.dropped is not None and entry.dropped.content == text:
                return True
            for effect in entry.effects:
                sides = (effect.before, effect.after) if isinstance(effect, MemoryChange) else ()
                if any(side is not None and text in segments(side) for side in sides):
                    return True
    return False


def _iso(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in a file of lines")
