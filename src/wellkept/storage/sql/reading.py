"""The reading transaction of the SQL backends: one snapshot of one namespace.

The meaning of a query is defined here and in its named statement. A backend implements the differences between
databases in the methods that are marked as such.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from wellkept.core.records.codec import DAMAGE
from wellkept.core.text.forms import slot_key
from wellkept.errors import Corrupt
from wellkept.storage.journal_codec import changed_ids, first_before, unpacked
from wellkept.storage.memory_rows import (
    common_above,
    conflict_of,
    entry_of,
    links_of,
    memories_of,
    micros,
    vectors_of,
)
from wellkept.storage.reading_only import ReadingOnly
from wellkept.storage.sql.connection import Session
from wellkept.storage.vectors.matrices import VectorIndex
from wellkept.storage.vectors.rows import Block, Row, Stamp
from wellkept.types import (
    ALL_STATUSES,
    Census,
    Conflict,
    Filter,
    JournalEntry,
    Json,
    Link,
    Memory,
    Neighbours,
    Status,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellkept.storage.sql.word_ranks import WordRanks
    from wellkept.storage.vectors.index import Space
    from wellkept.types import Vector

    Places: TypeAlias = Sequence[int] | NDArray[np.int64]

_ROWS_AT_ONCE = 4096
"""Rows per block while a matrix is loaded: 3 MB of vectors."""


_MOST = 2**63 - 1
"""The highest number in a column; a query for a higher one finds nothing."""


class Opened(NamedTuple):
    """The state of the store at the start of a transaction.

    Attributes:
        store_id: Id of the store.
        model: Number of the current embedder.
        dim: Dimension of its vectors; 0 without an embedder.
        newest_model: The highest number of an embedder; 1 means that there is none yet.
        ns: The namespace's number.
        seq: The number of its newest journal entry; 0 for none.
        head: The start of that entry's record.
    """

    store_id: str
    model: int
    dim: int
    newest_model: int
    ns: int
    seq: int
    head: str


class ReadTx(ReadingOnly, ABC):
    """One snapshot; the methods are those of `storage.port.Tx`.

    Args:
        session: A connection inside a transaction.
        namespace: The namespace of all methods.
        index: The vector matrices of this process.
        snapshot: Opens a connection on the last committed state; gives None if there is none.
    """

    foreign = False
    """Whether the store uses another embedder than this process."""

    _asking: str | None = None
    """What the namespace remembers of its questions, once it was read."""

    _newest = False
    """Whether this transaction's snapshot is certainly the newest state."""

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
        found = self._opened()
        self.seq = self._committed = found.seq
        self._head = found.head
        self._ns = found.ns
        self._model = found.model
        self._dim = found.dim
        self._mixed = found.newest_model > 2
        self._stamp = Stamp(found.store_id, found.model, found.dim)
        self._uncommitted: dict[str, Row | None] = {}
        self._own: Space | None = None

    # ---- implemented by a backend ----

    @abstractmethod
    def _opened(self) -> Opened:
        """Read the state at the start; `namespace` and `_session` are already set."""

    @abstractmethod
    def _bring_up(self, space: Space) -> None:
        """Load the matrix, or apply the changes that other transactions committed before this one began."""

    @abstractmethod
    def _listed(self, terms: Sequence[str], most: int) -> Mapping[str, Places]:
        """The rows that contain each term, each row once, without the terms that more rows than this contain."""

    @abstractmethod
    def _counts(self, terms: Sequence[str]) -> Iterable[tuple[int, str]]:
        """Number of rows of the namespace that contain each term."""

    @abstractmethod
    def _places(self, term: str) -> Places:
        """All rows that contain a term, each row once."""

    def _find_parts(self, where: Filter, parts: list[str]) -> list[str]:
        """The statements that `find` is composed of, in the form that suits the filter."""
        return parts

    def _journal_from(self, *, narrow: bool) -> str:
        """Name of the first statement of `journal`; `narrow`: a more selective condition follows."""
        return "journal"

    @property
    def model(self) -> int:
        """Number of the embedder whose vectors this snapshot uses."""
        return self._model

    # ---- memories ----

    def find(self, where: Filter, *, limit: int | None = None) -> list[Memory]:
        """See `Tx.find`; `ids=()` matches nothing."""
        if where.ids is not None and not where.ids or limit is not None and limit < 1:
            return []
        conditions = [*_key_conditions(where), *_state_conditions(where)]
        names = [name for name, _ in conditions]
        parameters = {name: value for _, given in conditions for name, value in given.items()}
        parameters |= {"ns": self._ns, "model": self._model, "limit": None if where.ids else limit}
        backwards = where.before is not None and not where.ids
        parts = self._find_parts(where, ["find", *names, "find.backwards" if backwards else "find.order"])
        rows = self._session.composed(parts, parameters)
        if backwards:
            rows.reverse()
        if where.ids and len(rows) > 1:
            places = {memory_id: place for place, memory_id in reversed(list(enumerate(where.ids)))}
            rows.sort(key=lambda row: places[row[0]])
        return memories_of([row[1:] for row in (rows if limit is None else rows[:limit])])

    # ---- vectors ----

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """See `Tx.nearest`; exact, in the namespace's matrix in memory."""
        import numpy as np

        from wellkept.storage.vectors.index import Space

        if self.foreign:
            return [Neighbours((), np.zeros((0, queries.shape[-1]), dtype=np.float32)) for _ in np.atleast_2d(queries)]
        if self._own is not None:
            return self._own.nearest(queries, limit=limit, kinds=kinds, statuses=statuses, overlay=self._uncommitted)
        with (
            self._index.use(self.namespace) as space,
            space.lock.looking(ready=lambda: self._is_current(space), prepare=lambda: self._bring_up(space)),
        ):
            stale = space.changed_since(self._committed) if space.seq > self._committed else frozenset()
            if stale is None or not self._is_current(space):
                # The snapshot is too old for the shared matrix or has uncommitted rows, so it gets its own matrix.
                space = self._own = Space()
                self._load(space, self._session)
                stale = frozenset()
            overlay: dict[str, Row | None] = dict.fromkeys(stale)
            if stale:
                overlay |= self._index_rows(stale, self._session)
            overlay |= self._uncommitted
            return space.nearest(queries, limit=limit, kinds=kinds, statuses=statuses, overlay=overlay)

    def _is_current(self, space: Space) -> bool:
        return space.stamp == self._stamp and space.seq >= self._committed and self._is_kin(space)

    def _is_kin(self, space: Space) -> bool:
        """Whether the matrix and this snapshot are of the same history.

        They are not if the store was replaced by an older copy, even if as many entries were written since: the entry
        up to which the matrix is complete is then a different one or missing.
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
        with self._snapshot() as session:  # the snapshot is older, so the last committed state is checked
            return session is not None and self._begins(session, space)

    def _begins(self, session: Session, space: Space) -> bool:
        row = session.row("journal.head", {"ns": self._ns, "seq": space.seq})
        return bool(space.head == (row[0] if row else ""))

    def _catch_up(self, space: Space, session: Session) -> None:
        if space.stamp != self._stamp or not self._is_kin(space):
            self._load(space, session)
            return
        moved: set[str] = set()
        for _, ids in session.rows("journal.moved", {"ns": self._ns, "after": space.seq}):
            moved.update(ids.split())
        if len(moved) > 1000 + len(space) // 4:
            self._load(space, session)
            return
        changed: dict[str, Row | None] = dict.fromkeys(moved)
        if moved:
            changed |= self._index_rows(moved, session)
        space.advance(self._committed, changed, head=self._head)

    def _load(self, space: Space, session: Session) -> None:
        if not self._dim:
            space.load(self._stamp, self._committed, (), head=self._head)
            return
        count = session.row("memory.count", {"ns": self._ns})[0]
        # Spare room, so that the first new row does not copy the whole matrix.
        room = count + count // 16 + 64
        space.load(self._stamp, self._committed, self._blocks(session), room=room, head=self._head)

    def _blocks(self, session: Session) -> Iterator[Block]:
        """All rows with a vector, in blocks, so that memory holds no second copy of everything."""
        size = session.vector_size(self._dim)
        for rows in session.blocks("vector.all", {"ns": self._ns, "model": self._model}, _ROWS_AT_ONCE):
            sound = [row for row in rows if len(row[3]) == size]
            if sound:
                ids, kinds, statuses, blobs = zip(*sound, strict=True)
                yield Block(ids, kinds, statuses, session.vector_bytes(blobs))

    def _index_rows(self, ids: Iterable[str], session: Session) -> dict[str, Row]:
        rows = session.rows("vector.rows", {"ns": self._ns, "model": self._model, "ids": list(ids)})
        usable = self._usable([row[3] for row in rows])
        return {row[0]: Row(row[1], row[2], vector) for row, vector in zip(rows, usable, strict=True)}

    def _usable(self, sent: Sequence[bytes | None]) -> list[Vector | None]:
        """The vectors in the answer of a query; None for a missing one, and for one of another length."""
        size = self._session.vector_size(self._dim)
        blobs = self._session.vector_bytes([one for one in sent if one is not None and len(one) == size])
        found = iter(vectors_of(blobs, self._dim))
        return [next(found) if one is not None and len(one) == size else None for one in sent]

    def vectors(self, hashes: Iterable[str]) -> dict[str, Vector]:
        """See `Tx.vectors`."""
        asked = list(hashes)
        found: dict[str, Vector] = {}
        for name, given in self._vectors_of(asked):
            found = self._usable_vectors(self._session.rows(name, given))
        return {digest: found[digest] for digest in asked if digest in found}

    def _vectors_of(self, hashes: Collection[str]) -> list[tuple[str, Mapping[str, Any]]]:
        """The query of vectors by hash; none if there are none of the store's embedder."""
        if self.foreign or not hashes:
            return []
        return [("vector.get", {"ns": self._ns, "model": self._model, "hashes": list(hashes)})]

    def _usable_vectors(self, rows: Sequence[Any]) -> dict[str, Vector]:
        """The vectors in the answer, by hash."""
        found = zip(rows, self._usable([sent for _, sent in rows]), strict=True)
        return {digest: vector for (digest, _), vector in found if vector is not None}

    # ---- full text ----

    def match(self, terms: Sequence[str], *, limit: int, kinds: Sequence[str] = ()) -> list[str]:
        """See `Tx.match`; rows with rarer terms come first, then rows stored later.

        Terms that are in almost every row are searched only when rarer ones find too few rows.
        """
        wanted = list(dict.fromkeys(term for term in terms if term))
        if not wanted or limit < 1 or not self._ns:
            return []
        from wellkept.storage.sql.word_ranks import WordRanks

        listed = self._listed(wanted, common_above(self.seq))
        rare = sorted((len(places), term) for term, places in listed.items() if len(places))
        ranks = WordRanks([(listed[term], self._weight(count)) for count, term in rare])
        common = [term for term in wanted if term not in listed]
        found = self._best_of(ranks, limit, kinds) if len(ranks) >= limit or not common else []
        if not common or len(found) == limit:
            return found
        # Counting the rows of a common term walks through all of them.
        for count, term in sorted(self._counts(common)):
            ranks.add(self._places(term), self._weight(count))
            if len(ranks) >= limit and len(found := self._best_of(ranks, limit, kinds)) == limit:
                return found
        return self._best_of(ranks, limit, kinds)

    def _weight(self, count: int) -> float:
        """The weight of a term; it is counted in this namespace only, the database's own ranking would use all."""
        return math.log1p((self.seq + 1) / count)

    def _best_of(self, ranks: WordRanks, limit: int, kinds: Sequence[str]) -> list[str]:
        found: list[str] = []
        looked, most = 0, max(64, 2 * limit) if kinds else limit
        while len(found) < limit and looked < len(ranks):
            part = ranks.best(most)[looked:]
            rows = self._session.rows("words.memories", {"ns": self._ns, "places": list(part)})
            told = {place: memory_id for place, memory_id, kind in rows if not kinds or kind in kinds}
            found += [told[place] for place in part if place in told]
            looked, most = most, 2 * most
        return found[:limit]

    # ---- links and conflicts ----

    def asking(self) -> str:
        """See `Tx.asking`."""
        if self._asking is None:
            row = self._session.row("namespace.asking", {"ns": self._ns})
            self._asking = str(row[0]) if row is not None else ""
        return self._asking

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

    def outcomes_by_day(self) -> dict[tuple[str, str], int]:
        """See `Tx.outcomes_by_day`."""
        rows = self._session.rows("census.days", {"ns": self._ns})
        return {(day, outcome): count for outcome, day, count in rows}

    def entries_with(self, outcome: str) -> list[int]:
        """See `Tx.entries_with`."""
        listed = self._session.row("journal.numbers", {"ns": self._ns, "outcome": outcome})[0]
        return sorted(map(int, (listed or "").split()))

    def links(self, ids: Iterable[str] | None = None) -> list[Link]:
        """See `Tx.links`."""
        if ids is None:
            rows = self._session.rows("link.all", {"ns": self._ns})
        else:
            rows = self._session.rows("link.of", {"ns": self._ns, "ids": list(ids)})
        return links_of(rows)

    def conflicts(self, *, ids: Iterable[str] | None = None, keys: Iterable[str] | None = None) -> list[Conflict]:
        """See `Tx.conflicts`; with both ids and keys, conflicts that match either."""
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
        """See `Tx.journal`; an entry must meet all conditions."""
        parts = [self._journal_from(narrow=memory_ids is not None or seqs is not None or bool(key))]
        parameters: dict[str, Any] = {"ns": self._ns, "after": max(0, min(after, _MOST))}
        parameters["limit"] = None if newest is None else max(0, newest)
        if memory_ids is not None:
            parts.append("journal.memory_ids")
            parameters["ids"] = list(memory_ids)
        if seqs is not None:
            parts.append("journal.seqs")
            numbers: Iterable[object] = seqs  # a value that is no number matches nothing
            asked = [seq for seq in numbers if isinstance(seq, int) and 0 < seq <= _MOST]
            parameters["seqs"] = asked
        if key:
            parts.append("journal.key")
            parameters["key"] = key
        if run_id:
            parts.append("journal.run")
            parameters["run"] = run_id
        rows = self._session.composed([*parts, "journal.newest_first"], parameters)
        rows.reverse()
        try:
            return self._entries({seq: entry_of(record) for seq, record in rows})
        except DAMAGE as error:
            raise Corrupt(
                f"a journal entry cannot be read: {error}", where=self._session.where, todo="Run `wellkept verify`"
            ) from error

    def _entries(self, plains: dict[int, Json]) -> list[JournalEntry]:
        """Unpack entries with the states in later entries or in the current rows."""
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
            given = {"ns": self._ns, "seqs": list(missing)}
            for seq, record in self._session.rows("journal.packed", given):
                others[seq] = entry_of(record)
        last = [memory_id for _, memory_id, later in wanted if later is None]
        present = {memory.id: memory for memory in self.find(Filter(ids=tuple(last), statuses=ALL_STATUSES))}
        left: defaultdict[int, dict[str, Memory | None]] = defaultdict(dict)
        for seq, memory_id, later in wanted:
            left[seq][memory_id] = present.get(memory_id) if later is None else first_before(others[later], memory_id)
        return [unpacked(plain, seq, left[seq]) for seq, plain in plains.items()]


def _key_conditions(where: Filter) -> Iterator[tuple[str, dict[str, Any]]]:
    if where.ids and len(where.ids) == 1:
        yield "find.id", {"id": where.ids[0]}
    elif where.ids:
        yield "find.ids", {"ids": list(where.ids)}
    if where.id_end:
        yield "find.id_end", {"id_end": where.id_end}
    if where.id_prefix:
        yield "find.id_prefix", {"id_prefix": where.id_prefix, "id_prefix_end": where.id_prefix + "\U0010ffff"}
    for name, several in (("hashes", where.hashes), ("kinds", where.kinds)):
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
