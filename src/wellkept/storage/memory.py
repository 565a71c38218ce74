"""The reference backend: plain dicts, no index, nothing clever.

What it answers is what every backend must answer; the conformance kit compares. A transaction works
on a copy of its namespace, so that readers keep their snapshot and a rollback is a copy not kept.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.core.records.codec import USAGE
from wellkept.core.records.effects import scrubbed, tombstone, touched
from wellkept.core.records.vectors import COMPARISON_DIMS, cosines, quantise, restore, unit
from wellkept.core.text.forms import slot_key
from wellkept.errors import Busy, EmbedderMismatch, InvalidField, ReadOnly, StorageError
from wellkept.storage.journal_codec import concerned_ids, is_common, is_done, same_link, usage_of
from wellkept.storage.memory_rows import searched
from wellkept.storage.port import Stale
from wellkept.types import (
    AliasChange,
    Census,
    Conflict,
    ConflictChange,
    Effect,
    Filter,
    Header,
    JournalEntry,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    Neighbours,
    Status,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellkept.types import Vector

_SCHEMA = 2
_START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class _Space:
    """Everything one namespace holds; `stored` counts insertions, for the order of `match`."""

    memories: dict[str, Memory] = field(default_factory=dict)
    terms: dict[str, frozenset[str]] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    inserted: int = 0
    aliases: set[tuple[str, str]] = field(default_factory=set)
    links: dict[tuple[str, str, str], Link] = field(default_factory=dict)
    conflicts: dict[str, Conflict] = field(default_factory=dict)
    vectors: dict[tuple[str, str], Vector] = field(default_factory=dict)
    journal: list[JournalEntry] = field(default_factory=list)

    def copy(self) -> _Space:
        return replace(
            self,
            memories=dict(self.memories),
            terms=dict(self.terms),
            stored=dict(self.stored),
            aliases=set(self.aliases),
            links=dict(self.links),
            conflicts=dict(self.conflicts),
            vectors=dict(self.vectors),
            journal=list(self.journal),
        )

    def clear(self) -> None:
        for held in (self.memories, self.terms, self.stored, self.aliases, self.links, self.conflicts):
            held.clear()
        self.vectors.clear()
        self.journal.clear()


class _ReadTx:
    """A snapshot; see `storage.port.Tx`."""

    def __init__(self, namespace: str, space: _Space, embedder: str, dim: int) -> None:
        self.namespace = namespace
        self.seq = len(space.journal)
        self._space = space
        self._embedder = embedder
        self._dim = dim

    def find(self, where: Filter, *, limit: int | None = None) -> list[Memory]:
        """See `Tx.find`."""
        if where.ids is not None:
            held = self._space.memories
            rows = [held[memory_id] for memory_id in dict.fromkeys(where.ids) if memory_id in held]
        else:
            rows = sorted(self._space.memories.values(), key=lambda row: (row.created_at, row.id))
        tests = list(self._tests(where))
        fitting = [row for row in rows if all(test(row) for test in tests)]
        if limit is None:
            return fitting
        backwards = where.before is not None and where.ids is None
        return fitting[max(0, len(fitting) - max(0, limit)) :] if backwards else fitting[: max(0, limit)]

    def _tests(self, where: Filter) -> Iterator[Callable[[Memory], bool]]:
        if where.id_end:
            yield lambda row: row.id.endswith(where.id_end)
        if where.id_prefix:
            yield lambda row: row.id.startswith(where.id_prefix)
        if where.hashes:
            pointed = {memory_id for digest, memory_id in self._space.aliases if digest in where.hashes}
            yield lambda row: row.id in pointed
        if where.kinds:
            yield lambda row: row.kind in where.kinds
        if where.statuses:
            yield lambda row: row.status in where.statuses
        if where.subject is not None:
            subject = slot_key(where.subject)
            yield lambda row: slot_key(row.subject) == subject
        if where.attribute is not None:
            attribute = slot_key(where.attribute)
            yield lambda row: slot_key(row.attribute) == attribute
        if where.tags:
            yield lambda row: any(tag in where.tags for tag in row.tags)
        if where.ongoing is not None:
            yield lambda row: (row.ended_at is None) is where.ongoing
        yield from self._more_tests(where)

    def _more_tests(self, where: Filter) -> Iterator[Callable[[Memory], bool]]:
        if where.created_from is not None:
            since = where.created_from
            yield lambda row: row.created_at >= since
        if where.unchecked is not None:
            yield lambda row: row.checked is not where.unchecked
        if where.embedded is not None:
            yield lambda row: (self._vector(row.embedding) is not None) is where.embedded
        if where.after is not None:
            last = where.after
            yield lambda row: (row.created_at, row.id) > last
        if where.before is not None:
            first = where.before
            yield lambda row: (row.created_at, row.id) < first

    def _vector(self, digest: str) -> Vector | None:
        return self._space.vectors.get((digest, self._embedder)) if digest else None

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """See `Tx.nearest`: every row of the scope is looked at."""
        asked = np.atleast_2d(queries)
        rows = [
            (row.id, vector)
            for row in self._space.memories.values()
            if (not kinds or row.kind in kinds)
            and (not statuses or row.status in statuses)
            and (vector := self._vector(row.embedding)) is not None
        ]
        if not rows or limit < 1 or asked.shape[1] != self._dim:
            empty = np.zeros((0, asked.shape[1]), dtype=np.float32)
            return [Neighbours((), empty) for _ in asked]
        matrix = np.stack([vector for _, vector in rows])
        found = []
        for query in asked:
            scores = np.round(cosines(query, matrix, dims=COMPARISON_DIMS), 6).tolist()
            order = sorted(range(len(rows)), key=lambda at: (-scores[at], rows[at][0]))[:limit]
            found.append(Neighbours(tuple(rows[at][0] for at in order), matrix[order]))
        return found

    def match(self, terms: Sequence[str], *, limit: int, kinds: Sequence[str] = ()) -> list[str]:
        """See `Tx.match`; best is what holds the rarest of the terms, then what was stored last."""
        holders = {
            term: [memory_id for memory_id, held in self._space.terms.items() if term in held]
            for term in dict.fromkeys(terms)
        }
        scores: defaultdict[str, float] = defaultdict(float)
        for count, term in sorted((len(ids), term) for term, ids in holders.items() if ids):
            if is_common(count, self.seq) and len(found := self._best_of(scores, limit, kinds)) == limit:
                return found
            for memory_id in holders[term]:
                scores[memory_id] += math.log1p((self.seq + 1) / count)
        return self._best_of(scores, limit, kinds)

    def _best_of(self, scores: Mapping[str, float], limit: int, kinds: Sequence[str]) -> list[str]:
        fitting = [one for one in scores if not kinds or self._space.memories[one].kind in kinds]
        fitting.sort(key=lambda one: (-scores[one], -self._space.stored[one]))
        return fitting[: max(0, limit)]

    def census(self) -> Census:
        """See `Tx.census`."""
        rows = list(self._space.memories.values())
        active = [row for row in rows if row.status == "active"]
        return Census(
            statuses=dict(Counter(row.status for row in rows)),
            kinds=dict(Counter(row.kind for row in active)),
            outcomes=dict(Counter(entry.outcome for entry in self._space.journal)),
            links=len(self._space.links),
            unchecked=sum(not row.checked for row in active),
            unembedded=sum(not row.embedding for row in active),
        )

    def links(self, ids: Iterable[str] | None = None) -> list[Link]:
        """See `Tx.links`."""
        wanted = None if ids is None else set(ids)
        found = [link for link in self._space.links.values() if wanted is None or {link.src, link.dst} & wanted]
        return sorted(found, key=lambda link: (link.src, link.dst, link.rel))

    def conflicts(self, *, ids: Iterable[str] | None = None, keys: Iterable[str] | None = None) -> list[Conflict]:
        """See `Tx.conflicts`; with both ids and keys, those that fit either."""
        found = list(self._space.conflicts.values())
        if ids is not None or keys is not None:
            of, named = set(ids or ()), set(keys or ())
            found = [one for one in found if {one.a, one.b} & of or one.key in named]
        return sorted(found, key=lambda one: (one.created_at, one.key))

    def journal(
        self,
        *,
        memory_ids: Iterable[str] | None = None,
        after: int = 0,
        seqs: Iterable[int] | None = None,
        key: str = "",
        run_id: str = "",
        newest: int | None = None,
    ) -> list[JournalEntry]:
        """See `Tx.journal`; conditions are joined by "and"."""
        found = self._space.journal[max(0, after) :]
        if memory_ids is not None:
            ids = set(memory_ids)
            found = [entry for entry in found if not ids.isdisjoint(concerned_ids(entry, touched(entry.effects)))]
        if seqs is not None:
            numbers = set(seqs)
            found = [entry for entry in found if entry.seq in numbers or (entry.undoes and entry.undoes in numbers)]
        if key:
            found = [entry for entry in found if entry.idempotency_key == key]
        if run_id:
            found = [entry for entry in found if entry.run_id == run_id]
        return found if newest is None else found[len(found) - min(len(found), max(0, newest)) :]

    def vectors(self, hashes: Iterable[str]) -> dict[str, Vector]:
        """See `Tx.vectors`."""
        return {digest: vector for digest in hashes if (vector := self._vector(digest)) is not None}

    def aliases(self, *, after: tuple[str, str] = ("", ""), limit: int | None = None) -> list[tuple[str, str]]:
        """See `Moving.aliases`."""
        found = sorted(pair for pair in self._space.aliases if pair > after)
        return found if limit is None else found[: max(0, limit)]

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """A reading transaction refuses."""
        raise _reading()

    def restore(
        self,
        entries: Iterable[JournalEntry],
        *,
        loose: Iterable[Effect] = (),
        vectors: Mapping[str, Vector] | None = None,
        afresh: bool = False,
    ) -> int:
        """A reading transaction refuses."""
        raise _reading()

    def touch(self, usage: Mapping[str, tuple[int, datetime, float | None]]) -> None:
        """A reading transaction refuses."""
        raise _reading()

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """A reading transaction refuses."""
        raise _reading()


def _reading() -> ReadOnly:
    return ReadOnly("this transaction only reads", todo="Begin it with write=True")


class _WriteTx(_ReadTx):
    """Works on a copy of the namespace, which the storage keeps when the block ends well."""

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """See `Tx.apply`. An effect that is already so changes nothing and is not journaled."""
        for digest, vector in (vectors or {}).items():
            self._keep_vector(digest, vector)
        kept: list[Effect] = []
        for effect in entry.effects:
            match effect:
                case MemoryChange():
                    self._change_memory(effect)
                    kept.append(effect)
                case AliasChange() | LinkChange() | ConflictChange():
                    if self._change(effect):
                        kept.append(effect)
        return self._append(replace(entry, effects=tuple(kept)))

    def _keep_vector(self, digest: str, vector: Vector) -> None:
        if vector.shape != (self._dim,):
            raise EmbedderMismatch(f"a vector has {vector.size} components, the store's embedder {self._dim}")
        try:
            direction = unit(vector)
            if not direction.any():
                raise ValueError("it has no length")
            # Through the stored form and back, so that all backends answer from the same numbers.
            kept = restore(quantise(direction))
        except ValueError as error:
            raise InvalidField(f"a vector cannot be stored: {error}", where=digest) from error
        for former in [one for one in self._space.vectors if one[0] == digest]:
            del self._space.vectors[former]
        self._space.vectors[digest, self._embedder] = kept

    def _change_memory(self, effect: MemoryChange) -> None:
        before, after = effect.before, effect.after
        memory = after or before
        if memory is None:
            return
        self._check_own(memory)
        stored = self._space.memories.get(memory.id)
        if (stored and (stored.version, stored.status)) != (before and (before.version, before.status)):
            raise Stale(f"memory {memory.id} is not what it was")
        if after is not None and stored is not None and before is not None and usage_of(before) == usage_of(after):
            after = replace(after, **dict(zip(USAGE, usage_of(stored), strict=True)))
        self._store(memory.id, after)

    def _check_own(self, memory: Memory) -> None:
        if memory.namespace != self.namespace:
            raise InvalidField(
                "a memory of another namespace cannot be written here", where=f"{memory.namespace!r}, {memory.id}"
            )

    def _store(self, memory_id: str, memory: Memory | None) -> None:
        """Put the row there, or take it away; a new one is the last that was stored."""
        if memory is None:
            self._space.memories.pop(memory_id, None)
            self._space.terms.pop(memory_id, None)
            return
        if memory_id not in self._space.memories:
            self._space.inserted += 1
            self._space.stored[memory_id] = self._space.inserted
        self._put(memory)

    def _put(self, memory: Memory) -> None:
        self._space.memories[memory.id] = memory
        if memory.status == "active":
            self._space.terms[memory.id] = frozenset(searched(memory))
        else:
            self._space.terms.pop(memory.id, None)

    def _change(self, effect: AliasChange | LinkChange | ConflictChange) -> bool:
        """Apply an effect; False when it is already so."""
        match effect:
            case AliasChange(memory_id, digest, present):
                pair = (digest, memory_id)
                if is_done(effect, pair in self._space.aliases):
                    return False
                (self._space.aliases.add if present else self._space.aliases.remove)(pair)
            case LinkChange(old, new):
                link = new or old
                at = (link.src, link.dst, link.rel) if link else ("", "", "")
                held = self._space.links.get(at)
                if link is None or is_done(effect, held):
                    return False
                if not same_link(old, held):
                    raise Stale(f"link {' '.join(at)} is not what it was")
                _set(self._space.links, at, new)
            case ConflictChange(before, after):
                conflict = after or before
                stored = self._space.conflicts.get(conflict.key) if conflict else None
                if conflict is None or is_done(effect, stored):
                    return False
                if stored != before:
                    raise Stale(f"conflict {conflict.key} is not what it was")
                _set(self._space.conflicts, conflict.key, after)
        return True

    def _append(self, entry: JournalEntry) -> int:
        if entry.idempotency_key and self.journal(key=entry.idempotency_key):
            raise Stale(f"idempotency key {entry.idempotency_key!r} is already used")
        self.seq += 1
        self._space.journal.append(replace(entry, seq=self.seq))
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
            self._space.clear()
            self.seq = 0
        for digest, vector in (vectors or {}).items():
            self._keep_vector(digest, vector)
        for entry in entries:
            if entry.seq != self.seq + 1:
                raise Stale(f"entry {entry.seq} does not follow entry {self.seq}")
            for effect in entry.effects:
                self._take_over(effect)
            self._append(entry)
        for effect in loose:
            self._take_over(effect)
        return self.seq

    def _take_over(self, effect: Effect) -> None:
        """Put in force what an effect leaves, whatever is there."""
        space = self._space
        match effect:
            case MemoryChange(before, after):
                memory = after or before
                if memory is not None:
                    self._check_own(memory)
                    self._store(memory.id, after)
            case AliasChange(memory_id, digest, present):
                (space.aliases.add if present else space.aliases.discard)((digest, memory_id))
            case LinkChange(before_link, after_link):
                link = after_link or before_link
                if link is not None:
                    _set(space.links, (link.src, link.dst, link.rel), after_link)
            case ConflictChange(before_conflict, after_conflict):
                conflict = after_conflict or before_conflict
                if conflict is not None:
                    _set(space.conflicts, conflict.key, after_conflict)

    def touch(self, usage: Mapping[str, tuple[int, datetime | None, float | None]]) -> None:
        """See `Tx.touch`."""
        for memory_id, used in usage.items():
            memory = self._space.memories.get(memory_id)
            if memory is not None:
                values: dict[str, Any] = dict(zip(USAGE, used, strict=True))
                self._space.memories[memory_id] = replace(memory, **values)

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """See `Tx.erase`."""
        gone, space = frozenset(ids), self._space
        hashes = {end.embedding for one in space.journal for end in _ends(one) if end.id in gone}
        # Of a refused text the words go with those of the memory that already said them.
        for at, one in enumerate(space.journal):
            clean = scrubbed(one, gone)
            if clean is not one and one.dropped is not None and clean.dropped != one.dropped:
                hashes.add(one.dropped.embedding)
            space.journal[at] = clean
        for memory_id in gone & space.memories.keys():
            hashes.add(space.memories[memory_id].embedding)
            self._put(tombstone(space.memories[memory_id], at=entry.at))
        space.aliases = {pair for pair in space.aliases if pair[1] not in gone}
        space.links = {at: one for at, one in space.links.items() if not gone & {one.src, one.dst}}
        space.conflicts = {key: one for key, one in space.conflicts.items() if not gone & {one.a, one.b}}
        used = {memory.embedding for memory in space.memories.values()}
        space.vectors = {at: one for at, one in space.vectors.items() if at[0] in used or at[0] not in hashes}
        return self._append(scrubbed(entry, gone))


def _ends(entry: JournalEntry) -> list[Memory]:
    changes = [effect for effect in entry.effects if isinstance(effect, MemoryChange)]
    return [end for effect in changes for end in (effect.before, effect.after) if end is not None]


def _set(held: dict[Any, Any], key: object, value: object) -> None:
    if value is None:
        held.pop(key, None)
    else:
        held[key] = value


class DictStorage:
    """A store that lives as long as this object; see `storage.port.Storage`.

    Args:
        busy_seconds: How long a writer waits for another thread.
        created_at: What its header says; it reads no clock.
    """

    def __init__(self, *, busy_seconds: float = 30.0, created_at: datetime = _START) -> None:
        self._busy_seconds = busy_seconds
        self._header = Header("dict", _SCHEMA, "", 0, "", created_at)
        self._spaces: dict[str, _Space] = {}
        self._lock = threading.Lock()
        self._writing_thread: int | None = None
        self._closed = False

    def __repr__(self) -> str:
        return "DictStorage()"

    def header(self) -> Header:
        """See `Storage.header`."""
        self._check_open()
        return replace(self._header, namespaces=tuple(sorted(self._spaces)))

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """See `Storage.configure`."""
        self._check_open()
        if embedder == self._header.embedder and dim != self._header.dim and embedder:
            raise EmbedderMismatch(f"embedder {embedder!r} made vectors of {self._header.dim} components, now {dim}")
        self._header = replace(self._header, embedder=embedder, dim=dim, policy=policy)

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[_ReadTx]:
        """See `Storage.begin`."""
        self._check_open()
        if not write:
            space = self._spaces.get(namespace) or _Space()
            yield _ReadTx(namespace, space, self._header.embedder, self._header.dim)
            return
        if self._writing_thread == threading.get_ident():
            raise Busy("this thread is already writing", todo="End its transaction first")
        if not self._lock.acquire(timeout=self._busy_seconds):
            raise Busy("another thread holds the store", todo="Repeat the call as it is")
        try:
            self._writing_thread = threading.get_ident()
            space = (self._spaces.get(namespace) or _Space()).copy()
            yield _WriteTx(namespace, space, self._header.embedder, self._header.dim)
            if space.journal:
                self._spaces[namespace] = space
        finally:
            self._writing_thread = None
            self._lock.release()

    def verify(self) -> list[str]:
        """Dicts do not rot; nothing is ever found."""
        self._check_open()
        return []

    def close(self) -> None:
        """See `Storage.close`."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the store is closed", todo="Open it again")
