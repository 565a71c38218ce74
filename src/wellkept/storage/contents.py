"""One namespace in plain dicts, and a transaction that reads it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.core.records.codec import iso
from wellkept.core.records.effects import touched
from wellkept.core.records.fits import matching
from wellkept.core.records.vectors import COMPARISON_DIMS, cosines
from wellkept.storage.journal_codec import concerned_ids
from wellkept.storage.layered_mapping import Layers
from wellkept.storage.memory_rows import common_above, searched
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


@dataclass(slots=True)
class Contents:
    """All data of one namespace.

    Attributes:
        terms: Full-text terms of each memory or wording, by id.
        stored: Insertion number of each memory, by id; it orders the results of `match`.
        inserted: Number of insertions so far.
        seq: Number of the newest journal entry.
        asking: What is remembered of questions, as `Tx.note_asking` was given it.
        aliases: By hash, the ids it points at.
        vectors: By hash of the text, the id of the embedder and the vector it made.
    """

    memories: Layers[str, Memory] = field(default_factory=Layers)
    terms: Layers[str, frozenset[str]] = field(default_factory=Layers)
    stored: Layers[str, int] = field(default_factory=Layers)
    inserted: int = 0
    seq: int = 0
    asking: str = ""
    aliases: Layers[str, frozenset[str]] = field(default_factory=Layers)
    links: Layers[tuple[str, str, str], Link] = field(default_factory=Layers)
    conflicts: Layers[str, Conflict] = field(default_factory=Layers)
    vectors: Layers[str, tuple[str, Vector]] = field(default_factory=Layers)
    journal: Layers[int, JournalEntry] = field(default_factory=Layers)

    def copy(self) -> Contents:
        """A copy that can change independently; this one must not change afterwards."""
        made = replace(self)
        for name, held in self.layers().items():
            setattr(made, name, held.copy())
        return made

    def settle(self, *, whole: bool = False) -> None:
        """Join layers before a copy is made; as a whole, so that nothing is left of what was replaced."""
        for held in self.layers().values():
            held.all() if whole else held.settle()

    def layers(self) -> dict[str, Layers[Any, Any]]:
        """The mappings by name."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Layers)}

    def take_over(self, effect: Effect) -> None:
        """Store the `after` state of an effect without comparing its `before` with the stored state."""
        match effect:
            case MemoryChange(before, after):
                memory = after or before
                if memory is not None:
                    self.store(memory.id, after)
            case AliasChange(memory_id, digest, present):
                ids = (self.aliases.get(digest) or frozenset()) - {memory_id}
                self.aliases.put(digest, ids | {memory_id} if present else ids or None)
            case LinkChange(former, later):
                link = later or former
                if link is not None:
                    self.links.put((link.src, link.dst, link.rel), later)
            case ConflictChange(open_before, open_after):
                conflict = open_after or open_before
                if conflict is not None:
                    self.conflicts.put(conflict.key, open_after)

    def store(self, memory_id: str, memory: Memory | None) -> None:
        """Insert, replace or remove a memory; an inserted one is the last in the order of `match`."""
        self.memories.put(memory_id, memory)
        if memory is None:
            self.stored.put(memory_id, None)
        elif memory_id not in self.stored:
            self.inserted += 1
            self.stored.put(memory_id, self.inserted)
        is_found = memory is not None and memory.status in SEARCHED
        self.terms.put(memory_id, frozenset(searched(memory)) if memory is not None and is_found else None)


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
        self.seq = contents.seq
        self.contents = contents
        self._embedder = embedder
        self._dim = dim

    def find(self, where: Filter, *, limit: int | None = None) -> list[Memory]:
        """See `Tx.find`."""
        rows = self._candidates(where)
        if where.ids is None:
            rows.sort(key=lambda row: (row.created_at, row.id))
        return matching((row for row in rows if self._has_what_is_stored_apart(row, where)), where, limit=limit)

    def _candidates(self, where: Filter) -> list[Memory]:
        """A superset of the matching rows; in the order of `ids`, if given."""
        if where.ids is None and not where.hashes:
            return list(self.contents.memories.all().values())
        ids = where.ids if where.ids is not None else self._pointed_at(where.hashes)
        return [row for one in dict.fromkeys(ids) if (row := self.contents.memories.get(one)) is not None]

    def _has_what_is_stored_apart(self, row: Memory, where: Filter) -> bool:
        """Whether the row's aliases and vector, which are not part of the record, match the filter."""
        if where.hashes and row.id not in self._pointed_at(where.hashes):
            return False
        return where.embedded is None or (self._vector(row.embedding) is not None) is where.embedded

    def _pointed_at(self, hashes: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*(self.contents.aliases.get(digest) or () for digest in hashes))

    def _vector(self, digest: str) -> Vector | None:
        embedder, vector = self.contents.vectors.get(digest) or ("", None)
        return vector if embedder == self._embedder else None

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """See `Tx.nearest`; scans every row of the scope."""
        asked = np.atleast_2d(queries)
        rows = [
            (row.id, vector)
            for row in self.contents.memories.all().values()
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
            term: [memory_id for memory_id, held in self.contents.terms.all().items() if term in held]
            for term in dict.fromkeys(terms)
        }
        scores: defaultdict[str, float] = defaultdict(float)
        for count, term in sorted((len(ids), term) for term, ids in holders.items() if ids):
            if count > common_above(self.seq) and len(found := self._best_of(scores, limit, kinds)) == limit:
                return found
            for memory_id in holders[term]:
                scores[memory_id] += math.log1p((self.seq + 1) / count)
        return self._best_of(scores, limit, kinds)

    def _best_of(self, scores: Mapping[str, float], limit: int, kinds: Sequence[str]) -> list[str]:
        fitting = [one for one in scores if not kinds or self.contents.memories[one].kind in kinds]
        fitting.sort(key=lambda one: (-scores[one], -self.contents.stored[one]))
        return fitting[: max(0, limit)]

    def asking(self) -> str:
        """See `Tx.asking`."""
        return self.contents.asking

    def census(self) -> Census:
        """See `Tx.census`."""
        rows = list(self.contents.memories.all().values())
        active = [row for row in rows if row.status == "active"]
        return Census(
            statuses=dict(Counter(row.status for row in rows)),
            kinds=dict(Counter(row.kind for row in active)),
            outcomes=dict(Counter(entry.outcome for entry in self.journal())),
            links=len(self.contents.links.all()),
            unchecked=sum(not row.checked for row in active),
            unembedded=sum(not row.embedding for row in active),
        )

    def outcomes_by_day(self) -> dict[tuple[str, str], int]:
        """See `Tx.outcomes_by_day`."""
        return dict(Counter((iso(entry.at)[:10], entry.outcome) for entry in self.journal()))

    def entries_with(self, outcome: str) -> list[int]:
        """See `Tx.entries_with`."""
        return [entry.seq for entry in self.journal() if entry.outcome == outcome]

    def links(self, ids: Iterable[str] | None = None) -> list[Link]:
        """See `Tx.links`."""
        wanted = None if ids is None else set(ids)
        found = [link for link in self.contents.links.all().values() if wanted is None or {link.src, link.dst} & wanted]
        return sorted(found, key=lambda link: (link.src, link.dst, link.rel))

    def conflicts(self, *, ids: Iterable[str] | None = None, keys: Iterable[str] | None = None) -> list[Conflict]:
        """See `Tx.conflicts`; with both ids and keys, those that fit either."""
        found = list(self.contents.conflicts.all().values())
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
        found = [self.contents.journal[number] for number in range(max(0, after) + 1, self.contents.seq + 1)]
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
        pairs = ((digest, memory_id) for digest, ids in self.contents.aliases.all().items() for memory_id in ids)
        found = sorted(pair for pair in pairs if pair > after)
        return found if limit is None else found[: max(0, limit)]
