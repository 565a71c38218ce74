"""A namespace as it was at one entry of its journal, in memory: a scratch store for the gate.

The effects of journal entries are applied one by one, so that the gate sees the store as it was. The real store
is not connected: changes here stay here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records.effects import touched
from wellkept.core.records.vectors import COMPARISON_DIMS, cosines, quantise, restore, unit
from wellkept.core.text.forms import search_terms, slot_key
from wellkept.core.text.titles import headed_text
from wellkept.errors import ReadOnly
from wellkept.storage.port import Tx
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
    Vector,
)

Key = TypeVar("Key")
Value = TypeVar("Value")

_GONE = -1
_FIELDS = tuple(field.name for field in fields(Memory))


class Past:
    """One namespace at one moment: storage and transaction in one, for a single thread.

    Args:
        namespace: The namespace.
        header: The header of the real store.
    """

    def __init__(self, namespace: str, header: Header) -> None:
        self.namespace = namespace
        self.seq = 0
        self.applied: tuple[Effect, ...] = ()
        """Effects that the gate applied last."""
        self.erased: set[str] = set()
        """Memories of this moment that have been erased since."""
        self._header = header
        self._rows: dict[str, Memory] = {}
        self._aliases: dict[str, dict[str, None]] = {}
        self._kinds: dict[str, dict[str, None]] = {}
        self._slots: dict[tuple[str, str], dict[str, None]] = {}
        self._links: dict[tuple[str, str, str], Link] = {}
        self._conflicts: dict[str, Conflict] = {}
        self._vectors: dict[str, Vector] = {}
        self._near = _Matrix(header.dim)

    # -- applying the journal ----------------------------------------------------------------

    def learn(self, vectors: Mapping[str, Vector]) -> None:
        """Add vectors by hash of the text, in stored form."""
        self._vectors.update(vectors)

    def keep(self, vectors: Mapping[str, Vector]) -> None:
        """Add new vectors, converted to the stored form and back, so that they compare like stored ones."""
        self.learn({key: restore(quantise(unit(vector))) for key, vector in vectors.items()})

    def knows(self, key: str) -> bool:
        """Whether the vector of a text is present."""
        return key in self._vectors

    def row(self, memory_id: str) -> Memory | None:
        """A memory at this moment; None when there is none."""
        return self._rows.get(memory_id)

    def active(self) -> int:
        """Number of active memories at this moment."""
        return sum(row.status == "active" for row in self._rows.values())

    def follow(self, effects: Iterable[Effect]) -> None:
        """Apply the effects of an entry."""
        self.seq += 1
        for effect in effects:
            match effect:
                case MemoryChange(before, after):
                    memory = after or before
                    if memory is not None:
                        self._put(memory.id, after)
                case AliasChange(memory_id, digest, present):
                    holders = self._aliases.setdefault(digest, {})
                    if present:
                        holders[memory_id] = None
                    else:
                        holders.pop(memory_id, None)
                case LinkChange(old, new):
                    link = new or old
                    if link is not None:
                        _set(self._links, (link.src, link.dst, link.rel), new)
                case ConflictChange(former, later):
                    conflict = later or former
                    if conflict is not None:
                        _set(self._conflicts, conflict.key, later)

    def adapt(self, effects: Iterable[Effect]) -> list[str]:
        """Apply effects from the original history, where they fit this one.

        Of a changed memory only the changed fields are applied.

        Returns:
            Ids of memories that do not fit: missing, already present, or with another status.
        """
        unfit: list[str] = []
        beside: list[Effect] = []
        for effect in effects:
            if not isinstance(effect, MemoryChange):
                beside.append(effect)
                continue
            before, after = effect.before, effect.after
            memory = after or before
            here = self._rows.get(memory.id) if memory is not None else None
            if (here and here.status) != (before and before.status):
                unfit.append(memory.id if memory is not None else "")
            elif before is None or after is None or here is None:
                self.follow((effect,))
            else:
                changed = {name: getattr(after, name) for name in _FIELDS if _differ(before, after, name)}
                self.follow((MemoryChange(here, replace(here, **changed)),))
        left_out = set(unfit)
        self.follow(effect for effect in beside if not left_out & set(touched((effect,))))
        return unfit

    def _put(self, memory_id: str, memory: Memory | None) -> None:
        former = self._rows.pop(memory_id, None)
        if former is not None:
            self._kinds[former.kind].pop(memory_id)
            self._slots[former.kind, slot_key(former.subject)].pop(memory_id)
            self.erased.discard(memory_id)
        if memory is None:
            self._near.leave(memory_id)
            return
        self._rows[memory_id] = memory
        if memory.status == "erased":
            self.erased.add(memory_id)
        self._kinds.setdefault(memory.kind, {})[memory_id] = None
        self._slots.setdefault((memory.kind, slot_key(memory.subject)), {})[memory_id] = None
        vector = self._vectors.get(memory.embedding) if memory.embedding else None
        if vector is None:
            self._near.leave(memory_id)
        else:
            self._near.enter(memory, vector)

    # -- storage, as far as the gate uses it -----------------------------------------------------

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[Tx]:
        """See `Storage.begin`; there is one view, without other users."""
        yield self

    def header(self) -> Header:
        """See `Storage.header`."""
        return self._header

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """See `Tx.apply`; the effects are kept in `applied`, the entry is not kept."""
        self.keep(vectors or {})
        self.applied = entry.effects
        self.follow(entry.effects)
        return self.seq

    def find(self, where: Filter, *, limit: int | None = None) -> list[Memory]:
        """See `Tx.find`, for the gate's filters: ids, hashes, kinds, slot, statuses, window."""
        if where.id_prefix or where.id_end or where.tags or where.after or where.before:
            raise _not_here("find")
        if where.unchecked is not None or where.embedded is not None:
            raise _not_here("find")
        rows = [row for row in self._candidates(where) if _fits(row, where)]
        if where.ids is None:
            rows.sort(key=lambda row: (row.created_at, row.id))
        return rows if limit is None else rows[: max(0, limit)]

    def _candidates(self, where: Filter) -> list[Memory]:
        ids: Iterable[str]
        if where.ids is not None:
            ids = dict.fromkeys(where.ids)
        elif where.hashes:
            ids = dict.fromkeys(one for digest in where.hashes for one in self._aliases.get(digest, ()))
        elif where.kinds and where.subject is not None:
            subject = slot_key(where.subject)
            ids = [one for kind in where.kinds for one in self._slots.get((kind, subject), ())]
        elif where.kinds:
            ids = [one for kind in where.kinds for one in self._kinds.get(kind, ())]
        else:
            ids = list(self._rows)
        return [row for one in ids if (row := self._rows.get(one)) is not None]

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """See `Tx.nearest`: every row of the scope is compared."""
        return [self._near.nearest(query, limit, kinds, statuses) for query in np.atleast_2d(queries)]

    def vectors(self, hashes: Iterable[str]) -> dict[str, Vector]:
        """See `Tx.vectors`."""
        return {key: self._vectors[key] for key in hashes if key in self._vectors}

    def links(self, ids: Iterable[str] | None = None) -> list[Link]:
        """See `Tx.links`."""
        wanted = None if ids is None else set(ids)
        found = [link for link in self._links.values() if wanted is None or {link.src, link.dst} & wanted]
        return sorted(found, key=lambda link: (link.src, link.dst, link.rel))

    def conflicts(self, *, ids: Iterable[str] | None = None, keys: Iterable[str] | None = None) -> list[Conflict]:
        """See `Tx.conflicts`."""
        found = list(self._conflicts.values())
        if ids is not None or keys is not None:
            of, named = set(ids or ()), set(keys or ())
            found = [one for one in found if {one.a, one.b} & of or one.key in named]
        return sorted(found, key=lambda one: (one.created_at, one.key))

    def journal(self, **conditions: object) -> list[JournalEntry]:
        """Always empty: replayed texts have no idempotency key, so the gate looks none up."""
        return []

    def match(self, terms: Sequence[str], *, limit: int, kinds: Sequence[str] = ()) -> list[str]:
        """See `Tx.match`; every row is read, since this is needed only for texts that name others."""
        wanted = frozenset(terms)
        shared = {
            row.id: len(wanted.intersection(search_terms(headed_text(row))))
            for row in self._candidates(Filter(kinds=tuple(kinds)))
            if row.status == "active"
        }
        found = [one for one, count in shared.items() if count]
        return sorted(found, key=lambda one: (-shared[one], one))[:limit]

    # -- not used by writes ----------------------------------------------------------------------

    def census(self) -> Census:
        """Not supported."""
        raise _not_here("census")

    def touch(self, usage: Mapping[str, tuple[int, datetime, float | None]]) -> None:
        """Not supported."""
        raise _not_here("touch")

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """Not supported."""
        raise _not_here("erase")

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """Not supported."""
        raise _not_here("configure")

    def verify(self) -> list[str]:
        """Not supported."""
        raise _not_here("verify")

    def close(self) -> None:
        """Nothing to close."""


class _Matrix:
    """Vectors of the current memories, row by row, with kind and status."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._keys: list[str] = []
        self._codes: dict[str, int] = {}
        self._vectors = np.zeros((64, dim), dtype=np.float32)
        self._kinds = np.full(64, _GONE, dtype=np.int32)
        self._statuses = np.full(64, _GONE, dtype=np.int32)

    def enter(self, memory: Memory, vector: Vector) -> None:
        """Set vector, kind and status of a memory."""
        place = self._places.get(memory.id)
        if place is None:
            place = self._places[memory.id] = len(self._ids)
            self._ids.append(memory.id)
            self._keys.append("")
            if place == len(self._vectors):
                self._grow()
        if self._keys[place] != memory.embedding:
            self._keys[place] = memory.embedding
            self._vectors[place] = vector
        self._kinds[place] = self._code(memory.kind)
        self._statuses[place] = self._code(memory.status)

    def leave(self, memory_id: str) -> None:
        """Remove a memory."""
        place = self._places.get(memory_id)
        if place is not None:
            self._kinds[place] = self._statuses[place] = _GONE

    def nearest(
        self, query: NDArray[np.float32], limit: int, kinds: Sequence[str], statuses: Sequence[Status]
    ) -> Neighbours:
        """The nearest memories of these kinds and statuses; ties by id."""
        count = len(self._ids)
        fitting = self._statuses[:count] != _GONE
        if kinds:
            fitting &= np.isin(self._kinds[:count], [self._code(kind) for kind in kinds])
        if statuses:
            fitting &= np.isin(self._statuses[:count], [self._code(status) for status in statuses])
        places = np.flatnonzero(fitting)
        if not places.size or limit < 1:
            return Neighbours((), np.zeros((0, self._dim), dtype=np.float32))
        if self._dim <= COMPARISON_DIMS:  # stored vectors have unit length; the core computes the exact cosine
            scores = (self._vectors[:count] @ unit(query))[places].astype(np.float64)
        else:
            scores = cosines(query, self._vectors[places])
        scores = np.round(scores, 6)
        if places.size > limit:
            bound = np.partition(scores, -limit)[-limit]
            near = scores >= bound  # with all ties at the bound, so that ids decide
            places, scores = places[near], scores[near]
        order = sorted(range(places.size), key=lambda at: (-scores[at], self._ids[places[at]]))[:limit]
        chosen = places[order]
        return Neighbours(tuple(self._ids[place] for place in chosen), self._vectors[chosen])

    def _code(self, word: str) -> int:
        return self._codes.setdefault(word, len(self._codes))

    def _grow(self) -> None:
        self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._kinds = np.concatenate([self._kinds, np.full_like(self._kinds, _GONE)])
        self._statuses = np.concatenate([self._statuses, np.full_like(self._statuses, _GONE)])


def _fits(row: Memory, where: Filter) -> bool:
    return (
        (not where.kinds or row.kind in where.kinds)
        and (not where.statuses or row.status in where.statuses)
        and (where.subject is None or slot_key(row.subject) == slot_key(where.subject))
        and (where.attribute is None or slot_key(row.attribute) == slot_key(where.attribute))
        and (where.ongoing is None or (row.ended_at is None) is where.ongoing)
        and (where.created_from is None or row.created_at >= where.created_from)
    )


def _differ(before: Memory, after: Memory, name: str) -> bool:
    return bool(getattr(before, name) != getattr(after, name))


def _set(held: dict[Key, Value], key: Key, value: Value | None) -> None:
    if value is None:
        held.pop(key, None)
    else:
        held[key] = value


def _not_here(what: str) -> ReadOnly:
    return ReadOnly(f"a replay does not serve {what!r}", todo="Report this")
