"""The reference backend: dicts in layers, no index, nothing clever.

What it answers is what every backend must answer; the conformance kit compares. A transaction works on a copy of its
namespace, so that readers keep their snapshot and a rollback is a copy not kept. A copy shares what does not change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from wellkept.core.records.codec import USAGE
from wellkept.core.records.effects import scrubbed, tombstone
from wellkept.core.records.vectors import restore
from wellkept.errors import Busy, EmbedderMismatch, InvalidField, StorageError
from wellkept.storage.contents import Contents, ReadTx
from wellkept.storage.journal_codec import ends_of, is_done, same_link, usage_of
from wellkept.storage.memory_rows import vector_blob
from wellkept.storage.port import Stale, Usage
from wellkept.types import (
    AliasChange,
    ConflictChange,
    Effect,
    Header,
    JournalEntry,
    LinkChange,
    Memory,
    MemoryChange,
)

if TYPE_CHECKING:
    from wellkept.types import Vector

_SCHEMA = 3
_START = datetime(1970, 1, 1, tzinfo=UTC)


class _WriteTx(ReadTx):
    """Works on a copy of the namespace, which replaces the original at commit."""

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """See `Tx.apply`. An effect that changes nothing is not journaled."""
        for digest, vector in (vectors or {}).items():
            self._keep_vector(digest, vector)
        kept: list[Effect] = []
        for effect in entry.effects:
            if isinstance(effect, MemoryChange):
                self._change_memory(effect)
            elif self._is_change(effect):
                self.contents.take_over(effect)
            else:
                continue
            kept.append(effect)
        return self._append(replace(entry, effects=tuple(kept)))

    def _keep_vector(self, digest: str, vector: Vector) -> None:
        if vector.shape != (self._dim,):
            raise EmbedderMismatch(f"a vector has {vector.size} components, the store's embedder {self._dim}")
        # Quantised and restored, so that all backends compute with the same numbers.
        self.contents.vectors.put(digest, (self._embedder, restore(vector_blob(digest, vector))))

    def _change_memory(self, effect: MemoryChange) -> None:
        before, after = effect.before, effect.after
        memory = after or before
        if memory is None:
            return
        self._check_own(memory)
        stored = self.contents.memories.get(memory.id)
        if (stored and (stored.version, stored.status)) != (before and (before.version, before.status)):
            raise Stale(f"memory {memory.id} is not what it was")
        if after is not None and stored is not None and before is not None and usage_of(before) == usage_of(after):
            after = replace(after, **dict(zip(USAGE, usage_of(stored), strict=True)))
        self.contents.store(memory.id, after)

    def _check_own(self, memory: Memory) -> None:
        if memory.namespace != self.namespace:
            raise InvalidField(
                "a memory of another namespace cannot be written here", where=f"{memory.namespace!r}, {memory.id}"
            )

    def _is_change(self, effect: AliasChange | LinkChange | ConflictChange) -> bool:
        """Whether an effect changes what is stored.

        Raises:
            Stale: Its `before` differs from the stored state.
        """
        stored: object
        match effect:
            case AliasChange(memory_id, digest):
                return not is_done(effect, memory_id in (self.contents.aliases.get(digest) or ()))
            case LinkChange(old, new):
                link = new or old
                stored = self.contents.links.get((link.src, link.dst, link.rel)) if link else None
                if link is None or is_done(effect, stored):
                    return False
                if not same_link(old, stored):
                    raise Stale(f"link {link.src} {link.dst} {link.rel} is not what it was")
            case ConflictChange(before, after):
                conflict = after or before
                stored = self.contents.conflicts.get(conflict.key) if conflict else None
                if conflict is None or is_done(effect, stored):
                    return False
                if stored != before:
                    raise Stale(f"conflict {conflict.key} is not what it was")
        return True

    def _append(self, entry: JournalEntry) -> int:
        if entry.idempotency_key and self.journal(key=entry.idempotency_key):
            raise Stale(f"idempotency key {entry.idempotency_key!r} is already used")
        self.seq = self.contents.seq = self.seq + 1
        self.contents.journal.put(self.seq, replace(entry, seq=self.seq))
        return self.seq

    def restore(
        self,
        entries: Iterable[JournalEntry],
        *,
        loose: Iterable[Effect] = (),
        vectors: Mapping[str, Vector] | None = None,
        afresh: bool = False,
    ) -> int:
        """See `Moving.restore`."""
        if afresh:
            self.contents, self.seq = Contents(), 0
        for digest, vector in (vectors or {}).items():
            self._keep_vector(digest, vector)
        for entry in entries:
            if entry.seq != self.seq + 1:
                raise Stale(f"entry {entry.seq} does not follow entry {self.seq}")
            self._take_over(entry.effects)
            self._append(entry)
        self._take_over(loose)
        return self.seq

    def _take_over(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            memory = (effect.after or effect.before) if isinstance(effect, MemoryChange) else None
            if memory is not None:
                self._check_own(memory)
            self.contents.take_over(effect)

    def note_asking(self, text: str) -> None:
        """See `Tx.note_asking`."""
        self.contents.asking = text

    def touch(self, usage: Mapping[str, Usage]) -> None:
        """See `Tx.touch`."""
        for memory_id, used in usage.items():
            memory = self.contents.memories.get(memory_id)
            if memory is not None:
                values: dict[str, Any] = dict(zip(USAGE, used, strict=True))
                self.contents.memories.put(memory_id, replace(memory, **values))

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """See `Tx.erase`."""
        gone, held = frozenset(ids), self.contents
        entries = self.journal()
        hashes = {end.embedding for one in entries for end in ends_of(one.effects) if end.id in gone}
        # Of a refused text the words are erased together with those of the memory that already said them.
        for one in entries:
            clean = scrubbed(one, gone)
            if clean is not one and one.dropped is not None and clean.dropped != one.dropped:
                hashes.add(one.dropped.embedding)
            held.journal.put(clean.seq, clean)
        for memory in [row for one in gone if (row := held.memories.get(one)) is not None]:
            hashes.add(memory.embedding)
            held.store(memory.id, tombstone(memory, at=entry.at))
        for digest, former in [pair for pair in held.aliases.all().items() if pair[1] & gone]:
            held.aliases.put(digest, former - gone or None)
        for link in self.links(gone):
            held.links.put((link.src, link.dst, link.rel), None)
        for conflict in self.conflicts(ids=gone):
            held.conflicts.put(conflict.key, None)
        for digest in hashes - {memory.embedding for memory in held.memories.all().values()}:
            held.vectors.put(digest, None)
        number = self._append(scrubbed(entry, gone))
        held.settle(whole=True)
        return number


class DictStorage:
    """A store in the memory of this process; see `storage.port.Storage`.

    Args:
        busy_seconds: How long a writer waits for another thread.
        created_at: Creation time for the header; the backend reads no clock.
    """

    def __init__(self, *, busy_seconds: float = 30.0, created_at: datetime = _START) -> None:
        self._busy_seconds = busy_seconds
        self._header = Header("dict", _SCHEMA, "", 0, "", created_at)
        self._namespaces: dict[str, Contents] = {}
        self._lock = threading.Lock()
        self._writing_thread: int | None = None
        self._closed = False

    def __repr__(self) -> str:
        return "DictStorage()"

    def header(self) -> Header:
        """See `Storage.header`."""
        self._check_open()
        return replace(self._header, namespaces=tuple(sorted(self._namespaces)))

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """See `Storage.configure`."""
        self._check_open()
        if embedder == self._header.embedder and dim != self._header.dim and embedder:
            raise EmbedderMismatch(f"embedder {embedder!r} made vectors of {self._header.dim} components, now {dim}")
        self._header = replace(self._header, embedder=embedder, dim=dim, policy=policy)

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[ReadTx]:
        """See `Storage.begin`."""
        self._check_open()
        if not write:
            contents = self._namespaces.get(namespace) or Contents()
            yield ReadTx(namespace, contents, self._header.embedder, self._header.dim)
            return
        if self._writing_thread == threading.get_ident():
            raise Busy("this thread is already writing", todo="End its transaction first")
        if not self._lock.acquire(timeout=self._busy_seconds):
            raise Busy("another thread holds the store", todo="Repeat the call as it is")
        try:
            self._writing_thread = threading.get_ident()
            contents = (self._namespaces.get(namespace) or Contents()).copy()
            tx = _WriteTx(namespace, contents, self._header.embedder, self._header.dim)
            yield tx
            if tx.contents.seq:
                tx.contents.settle()
                self._namespaces[namespace] = tx.contents
        finally:
            self._writing_thread = None
            self._lock.release()

    def verify(self) -> list[str]:
        """See `Storage.verify`; always empty."""
        self._check_open()
        return []

    def close(self) -> None:
        """See `Storage.close`."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the store is closed", todo="Open it again")
