"""One namespace in plain dicts, and a transaction that reads it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from wellkept.core.records.effects import touched
from wellkept.core.records.fits import misfit
from wellkept.core.records.vectors import COMPARISON_DIMS, cosines
from wellkept.storage.journal_codec import concerned_ids, is_common
from wellkept.storage.memory_rows import searched
from wellkept.storage.reading_only import ReadingOnly
from wellkept.types import (
    SEARCHED,
    AliasChange,
    Census,
    Conflict,
    ConflictChange,
    Effect,
    Filter,
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

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


@dataclass(slots=True)
class Contents:
    """All data of one namespace.

    Attributes:
        terms: Full-text terms of each memory or wording, by id.
        stored: Insertion number of each memory, by id; it orders the results of `match`.
        inserted: Number of insertions so far.
        aliases: Memory ids of each alias, by hash.
        vectors: Embedder id and vector, by hash of the text.
    """

    memories: dict[str, Memory] = field(default_factory=dict)
    terms: dict[str, frozenset[str]] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    inserted: int = 0
    aliases: dict[str, frozenset[str]] = field(default_factory=dict)
    links: dict[tuple[str, str, str], Link] = field(default_factory=dict)
    conflicts: dict[str, Conflict] = field(default_factory=dict)
    vectors: dict[str, tuple[str, Vector]] = field(default_factory=dict)
    journal: list[JournalEntry] = field(default_factory=list)

    def copy(self) -> Contents:
        """A copy that can change independently; the records are shared, because they are immutable."""
        return replace(
            self,
            memories=dict(self.memories),
            terms=dict(self.terms),
            stored=dict(self.stored),
            aliases=dict(self.aliases),
            links=dict(self.links),
            conflicts=dict(self.conflicts),
            vectors=dict(self.vectors),
            journal=list(self.journal),
        )

    def take_over(self, effect: Effect) -> None:
        """Store the `after` state of an effect without comparing its `before` with the stored state."""
        match effect:
            case MemoryChange(before, after):
                memory = after or before
                if memory is not None:
                    self.store(memory.id, after)
            case AliasChange(memory_id, digest, present):
                ids = self.aliases.get(digest, frozenset()) - {memory_id}
                _set(self.aliases, digest, ids | {memory_id} if present else ids or None)
            case LinkChange(former, later):
                link = later or former
                if link is not None:
                    _set(self.links, (link.src, link.dst, link.rel), later)
            case ConflictChange(open_before, open_after):
                conflict = open_after or open_before
                if conflict is not None:
                    _set(self.conflicts, conflict.key, open_after)

    def store(self, memory_id: str, memory: Memory | None) -> None:
        """Insert, replace or remove a memory; an inserted one is last in the insertion order."""
        _set(self.memories, memory_id, memory)
        if memory is not None and memory_id not in self.stored:
            self.inserted += 1
            self.stored[memory_id] = self.inserted
        elif memory is None:
            self.stored.pop(memory_id, None)
        is_found = memory is not None and memory.status in SEARCHED
        _set(self.terms, memory_id, frozenset(searched(memory)) if memory is not None and is_found else None)


def _set(held: dict[_Key, _Value], key: _Key, value: _Value | None) -> None:
    if value is None:
        held.pop(key, None)
    else:
        held[key] = value


class ReadTx(ReadingOnly):
    """A reading transaction; see `storage.port.Tx`.

    Args:
        namespace: The namespace.
        contents: The data of the namespace.
        embedder: Id of the embedder in use; vectors of other embedders are ignored.
        dim: Dimension of its vectors.
    """

    def __init__(self, namespace: str, contents: Contents, embedder: str, dim: int) -> None:
        self.namespace = namespace
        self.seq = len(contents.journal)
        self.contents = contents
        self._embedder = embedder
        self._dim = dim

    def find(self, where: Filter, *, limit: int | None = None) -> list[Memory]:
        """See `Tx.find`."""
        rows = self._candidates(where)
        if where.ids is None:
            rows.sort(key=lambda row: (row.created_at, row.id))
        unfit = misfit(where)
        found = [row for row in rows if not unfit(row) and self._has_what_is_stored_apart(row, where)]
        if limit is None:
            return found
        backwards = where.before is not None and where.ids is None
        return found[max(0, len(found) - max(0, limit)) :] if backwards else found[: max(0, limit)]

    def _candidates(self, where: Filter) -> list[Memory]:
        """A superset of the matching rows; in the order of `ids`, if given."""
        if where.ids is None and not where.hashes:
            return list(self.contents.memories.values())
        ids = where.ids if where.ids is not None else self._pointed_at(where.hashes)
        return [row for one in dict.fromkeys(ids) if (row := self.contents.memories.get(one)) is not None]

    def _has_what_is_stored_apart(self, row: Memory, where: Filter) -> bool:
        """Whether the row's aliases and vector, which are not part of the record, match the filter."""
        if where.hashes and row.id not in self._pointed_at(where.hashes):
            return False
        return where.embedded is None or (self._vector(row.embedding) is not None) is where.embedded

    def _pointed_at(self, hashes: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*(self.contents.aliases.get(digest, ()) for digest in hashes))

    def _vector(self, digest: str) -> Vector | None:
        embedder, vector = self.contents.vectors.get(digest, ("", None))
        return vector if embedder == self._embedder else None

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """See `Tx.nearest`; scans every row of the scope."""
        asked = np.atleast_2d(queries)
        rows = [
            (row.id, vector)
            for row in self.contents.memories.values()
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
        """See `Tx.match`; rows with rarer terms come first, then rows stored later."""
        holders = {
            term: [memory_id for memory_id, held in self.contents.terms.items() if term in held]
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
        fitting = [one for one in scores if not kinds or self.contents.memories[one].kind in kinds]
        fitting.sort(key=lambda one: (-scores[one], -self.contents.stored[one]))
        return fitting[: max(0, limit)]

    def census(self) -> Census:
        """See `Tx.census`."""
        rows = list(self.contents.memories.values())
        active = [row for row in rows if row.status == "active"]
        return Census(
            statuses=dict(Counter(row.status for row in rows)),
            kinds=dict(Counter(row.kind for row in active)),
            outcomes=dict(Counter(entry.outcome for entry in self.contents.journal)),
            links=len(self.contents.links),
            unchecked=sum(not row.checked for row in active),
            unembedded=sum(not row.embedding for row in active),
        )

    def links(self, ids: Iterable[str] | None = None) -> list[Link]:
        """See `Tx.links`."""
        wanted = None if ids is None else set(ids)
        found = [link for link in self.contents.links.values() if wanted is None or {link.src, link.dst} & wanted]
        return sorted(found, key=lambda link: (link.src, link.dst, link.rel))

    def conflicts(self, *, ids: Iterable[str] | None = None, keys: Iterable[str] | None = None) -> list[Conflict]:
        """See `Tx.conflicts`; with both ids and keys, conflicts that match either."""
        found = list(self.contents.conflicts.values())
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
        """See `Tx.journal`; an entry must meet all conditions."""
        found = self.contents.journal[max(0, after) :]
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
        pairs = ((digest, memory_id) for digest, ids in self.contents.aliases.items() for memory_id in ids)
        found = sorted(pair for pair in pairs if pair > after)
        return found if limit is None else found[: max(0, limit)]
