"""A reading transaction: one snapshot of one namespace."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.core.records.codec import DAMAGE
from wellkept.core.text.forms import slot_key
from wellkept.errors import Corrupt, NotPermitted, ReadOnly
from wellkept.storage.journal_codec import changed_ids, first_before, is_common, unpacked
from wellkept.storage.memory_rows import conflict_of, entry_of, link_of, memory_of, micros, vector_of
from wellkept.storage.postgres.approximate import Searcher
from wellkept.storage.postgres.rows import number_of, prefixed
from wellkept.storage.postgres.server.isolation import READ
from wellkept.storage.postgres.session import Session, half_of, halves_of, sent_size
from wellkept.storage.postgres.sql import queries
from wellkept.storage.vectors.index import Block, Row, Space, Stamp
from wellkept.storage.vectors.matrices import VectorIndex
from wellkept.types import (
    ALL_STATUSES,
    Census,
    Conflict,
    Effect,
    Filter,
    JournalEntry,
    Json,
    Link,
    Memory,
    Neighbours,
    Status,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wellkept.types import Vector

_ROWS_AT_ONCE = 4096
"""Rows read at once while a matrix is loaded: 3 MB of vectors."""


_MOST = 2**63 - 1
"""The highest number a column holds; whoever asks for a higher one finds nothing."""


class ReadTx:
    """One snapshot; the methods are those of `storage.port.Tx`.

    Args:
        session: A connection inside a transaction.
        namespace: The namespace all methods are bound to.
        index: The vector matrices of this process.
        snapshot: Gives a connection on the last committed state, and takes it back; None where there is none.
    """

    foreign = False
    """Whether the store has moved on to another embedder than the one this process makes vectors with."""

    _newest = False
    """Whether nothing newer than this transaction's view can exist."""

    def __init__(
        self,
        session: Session,
        namespace: str,
        index: VectorIndex,
        snapshot: Callable[[], AbstractContextManager[Session | None]],
    ) -> None:
        self.namespace = namespace
        self._session = session
        self._index = index
        self._snapshot = snapshot
        self._ns = number_of(namespace)
        self.seq: int = self._begun()
        asked = {"ns": self._ns, "seq": self.seq}
        store_id, model, dim, newest_model, head, indexed = session.row("tx.header", asked)
        self._model: int = model
        self._dim: int = dim
        self._head: str = head or ""
        self._mixed = newest_model > 2  # 1 stands for "no embedder yet"
        self._searcher = Searcher(session, self._ns, model, dim) if indexed == model else None
        self._stamp = Stamp(store_id, self._model, self._dim)
        self._committed = self.seq
        self._uncommitted: dict[str, Row | None] = {}
        self._own: Space | None = None

    def _begun(self) -> int:
        """The number of the newest entry."""
        return self._checked(self._session.row("tx.namespace", {"ns": self._ns}))

    def _checked(self, row: tuple[int, str] | None) -> int:
        seq, name = row or (0, self.namespace)
        if name != self.namespace:  # two names of one number; see `rows.number_of`
            raise Corrupt(
                f"the names {name!r} and {self.namespace!r} have the same number",
                where=self._session.where,
                todo="Give the namespace another name",
            )
        return seq

    @property
    def model(self) -> int:
        """Number of the embedder whose vectors this view holds."""
        return self._model

    # ---- memories ----

    def find(self, where: Filter, *, limit: int | None = None) -> list[Memory]:
        """See `Tx.find`. Tags fit when any of them is there; `ids=()` fits nothing."""
        if where.ids is not None and not where.ids or limit is not None and limit < 1:
            return []
        names, parameters = _conditions(where)
        parameters |= {"ns": self._ns, "model": self._model, "limit": None if where.ids else limit}
        backwards = where.before is not None and not where.ids
        names = ["find", *names, "find.backwards" if backwards else "find.order"]
        sql = "\n".join([self._session.text(name) for name in names])
        rows = self._session.select(sql, parameters)
        if backwards:
            rows.reverse()
        if where.ids and len(rows) > 1:
            places = {memory_id: place for place, memory_id in reversed(list(enumerate(where.ids)))}
            rows.sort(key=lambda row: places[row[0]])
        return [memory_of(*row[1:]) for row in (rows if limit is None else rows[:limit])]

    # ---- vectors ----

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """See `Tx.nearest`; exact, in the matrix of the namespace that this process keeps, unless it has an index."""
        if self.foreign:
            return [Neighbours((), np.zeros((0, queries.shape[-1]), dtype=np.float32)) for _ in np.atleast_2d(queries)]
        if self._searcher is not None:
            return self._searcher.nearest(queries, limit=limit, kinds=kinds, statuses=statuses)
        if self._own is not None:
            return self._own.nearest(queries, limit=limit, kinds=kinds, statuses=statuses, overlay=self._uncommitted)
        with (
            self._index.use(self.namespace) as space,
            space.lock.looking(ready=lambda: self._is_current(space), prepare=lambda: self._bring_up(space)),
        ):
            stale = space.changed_since(self._committed) if space.seq > self._committed else frozenset()
            if stale is None or not self._is_current(space):
                # This snapshot is too old for the shared matrix, or has been written to; it gets one of its own.
                space = self._own = Space()
                self._load(space)
                stale = frozenset()
            overlay: dict[str, Row | None] = dict.fromkeys(stale)
            if stale:
                overlay |= self._index_rows(stale)
            overlay |= self._uncommitted
            return space.nearest(queries, limit=limit, kinds=kinds, statuses=statuses, overlay=overlay)

    def _is_current(self, space: Space) -> bool:
        return space.stamp == self._stamp and space.seq >= self._committed and self._is_kin(space)

    def _is_kin(self, space: Space) -> bool:
        """Whether the matrix is of the history that this view is of.

        It is not when an older copy was put in the store's place, even if as much was written since: the
        entry up to which the matrix is complete is then another one, or is not there.
        """
        if space.seq == self._committed:
            return space.head == self._head
        if space.seq < self._committed:
            return self._begins(self._session, space)
        if self._newest:
            return False
        passed = space.passed(self._committed, self._head)
        if passed is not None:
            return passed
        with self._snapshot() as session:  # this view is an older one, so the last committed state has to tell
            return session is not None and self._begins(session, space)

    def _begins(self, session: Session, space: Space) -> bool:
        row = session.row("journal.head", {"ns": self._ns, "seq": space.seq})
        return bool(space.head == (row[0] if row else ""))

    def _bring_up(self, space: Space) -> None:
        """Load the matrix, or catch up with what other transactions committed before this one began."""
        if self._is_current(space) or self._uncommitted or self.seq != self._committed:
            # Another reader has done it meanwhile; or this transaction has written, and what it sees is
            # not yet what others may see.
            return
        self._catch_up(space)
        try:
            self._session.enter(self.namespace, READ)
        except NotPermitted:
            space.stamp = None  # a token that was revoked meanwhile saw no rows, and others search this matrix
            raise

    def _catch_up(self, space: Space) -> None:
        if space.stamp != self._stamp or not self._is_kin(space):
            self._load(space)
            return
        moved: set[str] = set()
        for _, ids in self._session.rows("journal.moved", {"ns": self._ns, "after": space.seq}):
            moved.update(ids)
        if len(moved) > 1000 + len(space) // 4:
            self._load(space)
            return
        changed: dict[str, Row | None] = dict.fromkeys(moved)
        if moved:
            changed |= self._index_rows(moved)
        space.advance(self._committed, changed, head=self._head)

    def _load(self, space: Space) -> None:
        if not self._dim:
            space.load(self._stamp, self._committed, (), head=self._head)
            return
        count = self._session.row("memory.count", {"ns": self._ns})[0]
        # Room for what is written next: else the first new row would have the whole matrix copied.
        room = count + count // 16 + 64
        space.load(self._stamp, self._committed, self._blocks(), room=room, head=self._head)

    def _blocks(self) -> Iterator[Block]:
        """All rows with a vector, a few thousand at a time, so that no second copy of everything is held."""
        size = sent_size(self._dim)
        for rows in self._session.blocks("vector.all", {"ns": self._ns, "model": self._model}, _ROWS_AT_ONCE):
            sound = [row for row in rows if len(row[3]) == size]
            if sound:
                ids, kinds, statuses, blobs = zip(*sound, strict=True)
                yield Block(ids, kinds, statuses, halves_of(blobs))

    def _index_rows(self, ids: Iterable[str]) -> dict[str, Row]:
        rows = self._session.rows("vector.rows", {"ns": self._ns, "model": self._model, "ids": list(ids)})
        return {row[0]: Row(row[1], row[2], self._usable(row[3])) for row in rows}

    def _usable(self, sent: bytes | None) -> Vector | None:
        return None if sent is None else vector_of(half_of(sent), self._dim)

    def vectors(self, hashes: Iterable[str]) -> dict[str, Vector]:
        """See `Tx.vectors`."""
        asked = list(hashes)
        if self.foreign or not asked:
            return {}
        rows = self._session.rows("vector.get", {"ns": self._ns, "model": self._model, "hashes": asked})
        found = {digest: self._usable(blob) for digest, blob in rows}
        return {digest: vector for digest in asked if (vector := found.get(digest)) is not None}

    # ---- full text ----

    def match(self, terms: Sequence[str], *, limit: int, kinds: Sequence[str] = ()) -> list[str]:
        """See `Tx.match`; best is what holds the rarest of the terms, then what was stored last.

        Words that stand almost everywhere are asked for only when rarer ones find too few rows.
        """
        wanted = list(dict.fromkeys(term for term in terms if term))
        if not wanted or limit < 1:
            return []
        kept = prefixed(wanted, self._ns)
        counts = self._session.rows("words.counts", {"ns": self._ns, "terms": kept})
        counted = sorted((count, wanted[at - 1], kept[at - 1]) for at, count in counts if count)
        rare = [word for count, _, word in counted if not is_common(count, self.seq)]
        places = self._places(rare)
        scores: defaultdict[int, float] = defaultdict(float)
        for count, _, word in counted:
            if is_common(count, self.seq) and len(scores) >= limit:
                found = self._best_of(scores, limit, kinds)
                if len(found) == limit:
                    return found
            weight = math.log1p((self.seq + 1) / count)
            for place in places[word] if word in places else self._places([word])[word]:
                scores[place] += weight
        return self._best_of(scores, limit, kinds)

    def _places(self, words: Sequence[str]) -> dict[str, Sequence[int]]:
        if not words:
            return {}
        rows = self._session.rows("words.places", {"ns": self._ns, "terms": list(words)})
        return {words[at - 1]: found or () for at, found in rows}

    def _best_of(self, scores: Mapping[int, float], limit: int, kinds: Sequence[str]) -> list[str]:
        ranked = sorted(scores, key=lambda place: (-scores[place], -place))
        found: list[str] = []
        step = max(64, 2 * limit)
        for start in range(0, len(ranked), step):
            part = ranked[start : start + step]
            rows = self._session.rows("words.memories", {"ns": self._ns, "places": part})
            told = {place: memory_id for place, memory_id, kind in rows if not kinds or kind in kinds}
            found += [told[place] for place in part if place in told]
            if len(found) >= limit:
                break
        return found[:limit]

    # ---- links and conflicts ----

    def census(self) -> Census:
        """See `Tx.census`."""
        ns = {"ns": self._ns}
        rows = self._session.rows("census.memories", ns)
        active = [row for row in rows if row[0] == "active"]
        statuses: Counter[str] = Counter()
        for status, _, count, _, _ in rows:
            statuses[status] += count
        return Census(
            statuses=dict(statuses),
            kinds={kind: count for _, kind, count, _, _ in active},
            outcomes=dict(self._session.rows("census.outcomes", ns)),
            links=self._session.row("census.links", ns)[0],
            unchecked=sum(row[3] for row in active),
            unembedded=sum(row[4] for row in active),
        )

    def links(self, ids: Iterable[str] | None = None) -> list[Link]:
        """See `Tx.links`."""
        if ids is None:
            rows = self._session.rows("link.all", {"ns": self._ns})
        else:
            rows = self._session.rows("link.of", {"ns": self._ns, "ids": list(ids)})
        return [link_of(*row) for row in rows]

    def conflicts(self, *, ids: Iterable[str] | None = None, keys: Iterable[str] | None = None) -> list[Conflict]:
        """See `Tx.conflicts`; with both ids and keys, those that fit either."""
        if ids is None and keys is None:
            rows = self._session.rows("conflict.all", {"ns": self._ns})
        else:
            asked = {"ns": self._ns, "ids": list(ids or ()), "keys": list(keys or ())}
            rows = self._session.rows("conflict.of", asked)
        return [conflict_of(record) for (record,) in rows]

    def aliases(self, *, after: tuple[str, str] = ("", ""), limit: int | None = None) -> list[tuple[str, str]]:
        """See `Moving.aliases`."""
        most = None if limit is None else max(0, limit)
        asked = {"ns": self._ns, "after_hash": after[0], "after_id": after[1], "limit": most}
        return self._session.rows("alias.pairs", asked)

    # ---- journal ----

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
        parts = ["journal"]
        parameters: dict[str, Any] = {"ns": self._ns, "after": max(0, min(after, _MOST))}
        parameters["limit"] = None if newest is None else max(0, newest)
        if memory_ids is not None:
            parts.append("journal.memory_ids")
            parameters["ids"] = list(memory_ids)
        if seqs is not None:
            parts.append("journal.seqs")
            numbers: Iterable[object] = seqs  # whoever asks for what is no number finds nothing
            parameters["seqs"] = [seq for seq in numbers if isinstance(seq, int) and 0 < seq <= _MOST]
        if key:
            parts.append("journal.key")
            parameters["key"] = key
        if run_id:
            parts.append("journal.run")
            parameters["run"] = run_id
        sql = "\n".join([queries()[name] for name in [*parts, "journal.newest_first"]])
        rows = self._session.select(sql, parameters)
        rows.reverse()
        try:
            return self._entries({seq: entry_of(record) for seq, record in rows})
        except DAMAGE as error:
            raise Corrupt(
                f"a journal entry cannot be read: {error}", where=self._session.where, todo="Run `wellkept verify`"
            ) from error

    def _entries(self, plains: dict[int, Json]) -> list[JournalEntry]:
        """Packed entries made whole with what later entries, or the present rows, tell."""
        ids = {memory_id for plain in plains.values() for memory_id in changed_ids(plain)}
        if not ids:
            return [unpacked(plain, seq, {}) for seq, plain in plains.items()]
        changes: defaultdict[str, list[int]] = defaultdict(list)
        asked = {"ns": self._ns, "after": min(plains), "ids": list(ids)}
        for memory_id, number in self._session.rows("journal.changes", asked):
            changes[memory_id].append(number)
        wanted: list[tuple[int, str, int | None]] = []
        for seq, plain in plains.items():
            for memory_id in changed_ids(plain):
                numbers = changes[memory_id]
                at = bisect_right(numbers, seq)
                wanted.append((seq, memory_id, numbers[at] if at < len(numbers) else None))
        others = dict(plains)
        missing = sorted({later for _, _, later in wanted if later is not None and later not in others})
        if missing:
            for seq, record in self._session.rows("journal.packed", {"ns": self._ns, "seqs": missing}):
                others[seq] = entry_of(record)
        last = [memory_id for _, memory_id, later in wanted if later is None]
        present = {memory.id: memory for memory in self.find(Filter(ids=tuple(last), statuses=ALL_STATUSES))}
        left: defaultdict[int, dict[str, Memory | None]] = defaultdict(dict)
        for seq, memory_id, later in wanted:
            left[seq][memory_id] = present.get(memory_id) if later is None else first_before(others[later], memory_id)
        return [unpacked(plain, seq, left[seq]) for seq, plain in plains.items()]

    # ---- writing ----

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


def _conditions(where: Filter) -> tuple[list[str], dict[str, Any]]:
    """Names of the parts of the statement, and their parameters."""
    parts: list[tuple[str, dict[str, Any]]] = [*_key_conditions(where), *_state_conditions(where)]
    values: dict[str, Any] = {}
    for _, given in parts:
        values |= given
    return [name for name, _ in parts], values


def _key_conditions(where: Filter) -> Iterator[tuple[str, dict[str, Any]]]:
    if where.ids:
        yield "find.ids", {"ids": list(where.ids)}
    if where.id_end:
        yield "find.id_end", {"id_end": where.id_end}
    if where.id_prefix:
        yield "find.id_prefix", {"id_prefix": where.id_prefix, "id_prefix_end": where.id_prefix + "\U0010ffff"}
    for name, several in (("hashes", where.hashes), ("kinds", where.kinds), ("tags", where.tags)):
        if several:
            yield f"find.{name}", {name: list(several)}
    if where.subject is not None:
        subject = slot_key(where.subject)
        yield "find.subject" if subject else "find.no_subject", {"subject": subject}
    if where.attribute is not None:
        yield "find.attribute", {"attribute": slot_key(where.attribute)}


def _state_conditions(where: Filter) -> Iterator[tuple[str, dict[str, Any]]]:
    if where.statuses and len(set(where.statuses)) < len(ALL_STATUSES):
        yield "find.statuses", {"statuses": list(where.statuses)}
    if where.ongoing is not None:
        yield "find.ongoing", {"ongoing": where.ongoing}
    if where.created_from is not None:
        yield "find.created_from", {"created_from": micros(where.created_from)}
    if where.unchecked is not None:
        yield "find.unchecked" if where.unchecked else "find.checked", {}
    if where.embedded is not None:
        yield "find.embedded" if where.embedded else "find.not_embedded", {}
    if where.after is not None:
        yield "find.after", {"after_created": micros(where.after[0]), "after_id": where.after[1]}
    if where.before is not None:
        yield "find.before", {"before_created": micros(where.before[0]), "before_id": where.before[1]}
