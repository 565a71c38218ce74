"""Exact nearest neighbour search in one namespace, in a matrix in memory.

It is not an approximate index: below some hundred thousand rows a scan is fast enough, and a duplicate that is not
found is stored. The matrix is a cache of the database at a known journal number; dropping it only costs a reload.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wellkept.storage.vectors import scan, sieve
from wellkept.storage.vectors.rows import Block, Row, Stamp
from wellkept.storage.vectors.sharing import Sharing
from wellkept.storage.vectors.unit_rows import UnitRows
from wellkept.types import ALL_STATUSES, Neighbours, Status

if TYPE_CHECKING:
    from wellkept.types import Vector

_STATUS = {status: code for code, status in enumerate(ALL_STATUSES)}
_FEW = 2
"""Queries that are scored one by one: threads that share a product of matrices cost more than they save."""
_SCORES_AT_ONCE = 1 << 22
_MAX_LOG = 4096
_BYTES_OF_ID = 220
"""Memory of an id of 36 characters, its place, and their share of list and dict, in bytes."""
SIEVED_FROM = 3
"""Number of searches after which the sieve is built, so that a single search does not pay for it."""


class Space:
    """The matrix of one namespace.

    Attributes:
        lock: Held shared by searches and exclusively by changes.
        stamp: Identity of its content; None before the first load.
        seq: Number of the journal entry up to which it is complete.
        head: Start of that entry's record, if the backend gives it. It detects a store that was restored to an older
            state and has other entries under the same numbers.
    """

    def __init__(self) -> None:
        self.lock = Sharing()
        self.stamp: Stamp | None = None
        self.seq = 0
        self.head = ""
        self._making = threading.Lock()
        self._clear(0, 0)

    def _clear(self, dim: int, room: int) -> None:
        self._dim = dim
        self._ids: list[str] = []
        self._at: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._rows = UnitRows(dim, room, stored=room >= sieve.MIN_ROWS and self._sievable)
        self._kind: NDArray[np.int16] = np.zeros(room, dtype=np.int16)
        self._status: NDArray[np.int8] = np.zeros(room, dtype=np.int8)
        self._sieve: sieve.Sieve | None = None
        self._searches = 0
        self._log: list[tuple[int, str]] = []
        self._log_from = 0
        self._heads: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Memory of arrays and ids in bytes."""
        first = self._sieve.nbytes if self._sieve is not None else 0
        return first + self._rows.nbytes + self._kind.nbytes + self._status.nbytes + _BYTES_OF_ID * len(self._ids)

    @property
    def _sievable(self) -> bool:
        return sieve.MIN_DIM <= self._dim <= sieve.MAX_DIM

    # ---- contents ----

    def load(self, stamp: Stamp, seq: int, blocks: Iterable[Block], *, room: int = 0, head: str = "") -> None:
        """Replace everything.

        Args:
            stamp: Identity of the content.
            seq: Number of the journal entry up to which the rows are complete.
            blocks: The rows; each block is copied into the matrix before the next one is read.
            room: Maximum number of rows, if known.
            head: Start of the record of entry `seq`.
        """
        self.stamp = None  # until the end, so that a failed load does not look complete
        self._clear(stamp.dim, room)
        for block in blocks:
            start, end = len(self._ids), len(self._ids) + len(block.ids)
            if end > len(self._rows):
                self._resize(max(end, 2 * start))
            self._rows.fill(start, np.frombuffer(block.blob, dtype="<f2").reshape(-1, stamp.dim))
            self._kind[start:end] = [self._code(kind) for kind in block.kinds]
            self._status[start:end] = [_STATUS[status] for status in block.statuses]
            self._ids += block.ids
        if len(self._rows) > len(self._ids) + len(self._ids) // 4:
            self._resize(len(self._ids))
        if self._rows.stored and len(self._ids) < sieve.MIN_ROWS:
            self._rows = self._rows.widened(len(self._ids))
        self._at = {memory_id: at for at, memory_id in enumerate(self._ids)}
        self.stamp, self.seq, self.head, self._log_from = stamp, seq, head, seq
        self._heads = {seq: hash(head)}

    def advance(self, seq: int, changed: Mapping[str, Row | None], *, head: str = "") -> None:
        """Update the matrix from `self.seq` to `seq`; None means that the row was removed."""
        for memory_id, row in changed.items():
            if row is None:
                self.drop(memory_id)
            else:
                self.put(memory_id, row.kind, row.status, row.vector)
            self._log.append((seq, memory_id))
        if len(self._log) > _MAX_LOG:
            # Complete entries only: a reader needs all changes after its snapshot or none.
            self._log_from = self._log[len(self._log) // 2][0]
            self._log = [change for change in self._log if change[0] > self._log_from]
        self.seq, self.head = seq, head
        self._heads[seq] = hash(head)
        if len(self._heads) > _MAX_LOG:
            self._heads = dict(list(self._heads.items())[_MAX_LOG // 2 :])

    def passed(self, seq: int, head: str) -> bool | None:
        """Whether the matrix was once complete up to entry `seq` with this head; None if unknown."""
        known = self._heads.get(seq)
        return None if known is None else known == hash(head)

    def changed_since(self, seq: int) -> frozenset[str] | None:
        """Ids whose rows changed after `seq`; None if that is too long ago."""
        if seq < self._log_from:
            return None
        return frozenset(memory_id for at, memory_id in self._log if at > seq)

    def put(self, memory_id: str, kind: str, status: Status, vector: Vector | None) -> None:
        """Add or replace a row; without a vector, remove it."""
        if vector is None:
            self.drop(memory_id)
            return
        at = self._at.get(memory_id)
        if at is None:
            at = len(self._ids)
            if at == len(self._rows):
                self._narrow()
                self._resize(max(64, at + at // 2))
            self._ids.append(memory_id)
            self._at[memory_id] = at
        if not self._rows.put(at, vector):
            self._rows = self._rows.widened(len(self._ids))
            self._rows.put(at, vector)
        if self._sieve is not None:
            self._sieve.put(at, vector)
        self._kind[at] = self._code(kind)
        self._status[at] = _STATUS[status]

    def drop(self, memory_id: str) -> None:
        """Remove a row; the last row moves to its place. Unknown ids are ignored."""
        at = self._at.pop(memory_id, None)
        if at is None:
            return
        last = self._ids.pop()
        end = len(self._ids)
        if last != memory_id:
            self._ids[at] = last
            self._at[last] = at
            self._rows.move(end, at)
            self._kind[at], self._status[at] = self._kind[end], self._status[end]
        if self._sieve is not None:
            if last != memory_id:
                self._sieve.put(at, self._rows.near(slice(at, at + 1))[0])
            self._sieve.cut(end)

    def _resize(self, room: int) -> None:
        count = min(room, len(self._ids))
        self._rows = self._rows.resized(count, room)
        self._kind = _moved(self._kind, count, room)
        self._status = _moved(self._status, count, room)

    def _narrow(self) -> None:
        """Hold the rows as they are stored from now on, if a sieve leaves few of them to be compared."""
        if not self._rows.stored and self._sieve is not None and self._sieve.worthwhile:
            self._rows = self._rows.narrowed(len(self._ids)) or self._rows

    def _code(self, kind: str) -> int:
        return self._kinds.setdefault(kind, len(self._kinds))

    # ---- search ----

    def nearest(
        self,
        queries: NDArray[np.float32],
        *,
        limit: int,
        kinds: Sequence[str] = (),
        statuses: Sequence[Status] = (),
        overlay: Mapping[str, Row | None] | None = None,
    ) -> list[Neighbours]:
        """The `limit` most similar rows for each query, of these kinds and statuses, best first.

        Args:
            queries: One query per row, or a single one.
            limit: Maximum number of rows per query.
            kinds: Only these kinds; empty for all.
            statuses: Only these statuses; empty for all.
            overlay: Rows that replace rows of the matrix: uncommitted changes of a transaction, or the state of rows
                in an older snapshot.

        Returns:
            Neighbours by descending cosine, rounded to six decimals; ties by id.
        """
        asked = np.atleast_2d(np.asarray(queries, dtype=np.float32))
        if limit < 1:
            return [_none(self._dim) for _ in asked]
        if self._dim == 0 or asked.shape[1] != self._dim:
            return [_none(asked.shape[1]) for _ in asked]
        over = overlay or {}
        extra = [
            (memory_id, row.vector)
            for memory_id, row in over.items()
            if row is not None
            and row.vector is not None
            and (not kinds or row.kind in kinds)
            and (not statuses or row.status in statuses)
        ]
        hidden = [at for memory_id in over if (at := self._at.get(memory_id)) is not None]
        shut = self._shut(kinds, statuses, hidden)
        towards = np.stack([scan.direction(query) for query in asked])
        found: list[Neighbours] = []
        step = max(1, _SCORES_AT_ONCE // max(1, len(self._ids)))
        for start in range(0, len(towards), step):
            part = towards[start : start + step]
            for query, places in zip(part, self._places(part, limit, shut), strict=True):
                found.append(self._best(query, places, limit, extra))
        return found

    def _places(
        self, asked: NDArray[np.float32], limit: int, shut: NDArray[np.bool_] | None
    ) -> Iterator[NDArray[np.intp]]:
        """For each query, places that include the best rows."""
        rows, count, first = self._rows, len(self._ids), self._sieved()
        if first is None:
            few = len(asked) <= _FEW
            every = np.stack([rows.scores(count, one) for one in asked]) if few else rows.scores_of(count, asked)
            yield from (_top(scores, limit, shut) for scores in every)
            return
        for query, bounds in zip(asked, first.turned(asked, count), strict=True):
            places = first.survivors(rows, query, bounds, limit=limit, shut=shut)
            if places is None:
                yield _top(rows.scores(count, query), limit, shut)
            else:
                yield places[scan.top(rows.scores_at(places, query), limit)]

    def _sieved(self) -> sieve.Sieve | None:
        """The sieve once it covers every row; built in steps, and rebuilt after large growth."""
        count = len(self._ids)
        if count < sieve.MIN_ROWS or not self._sievable:
            return None
        self._searches += 1
        if self._searches >= SIEVED_FROM and self._making.acquire(blocking=False):
            # Of concurrent searches one builds it, and the others go on without.
            try:
                self._prepare(count)
            finally:
                self._making.release()
        first = self._sieve
        return first if first is not None and len(first) == count and first.worthwhile else None

    def _prepare(self, count: int) -> None:
        if self._sieve is None or count > 4 * self._sieve.built_at:
            self._sieve = sieve.Sieve(self._rows, count)
        if self._sieve.worthwhile:
            if len(self._sieve) < count:
                self._sieve.extend(self._rows, count)
        elif self._rows.stored:  # every row is compared from now on, which is faster in single precision
            self._rows = self._rows.widened(count)

    def _shut(self, kinds: Sequence[str], statuses: Sequence[Status], hidden: list[int]) -> NDArray[np.bool_] | None:
        """Mask of rows that the filter excludes; None if it excludes none."""
        count = len(self._ids)
        shut: NDArray[np.bool_] | None = None
        if kinds:
            codes = [self._kinds[kind] for kind in kinds if kind in self._kinds]
            shut = self._kind[:count] != codes[0] if len(codes) == 1 else ~np.isin(self._kind[:count], codes)
        if statuses and len(set(statuses)) < len(ALL_STATUSES):
            codes = [_STATUS[status] for status in statuses]
            bad = self._status[:count] != codes[0] if len(codes) == 1 else ~np.isin(self._status[:count], codes)
            shut = bad if shut is None else shut | bad
        if hidden:
            shut = np.zeros(count, dtype=np.bool_) if shut is None else shut
            shut[hidden] = True
        return shut

    def _best(
        self, asked: NDArray[np.float32], places: NDArray[np.intp], limit: int, extra: list[tuple[str, Vector]]
    ) -> Neighbours:
        """The best rows among the candidates, by their exact scores."""
        ids = [self._ids[at] for at in places]
        told = self._rows.keys(places, asked).tolist()
        if extra:
            ids += [memory_id for memory_id, _ in extra]
            added = np.stack([vector for _, vector in extra]).astype(np.float32)
            told += scan.keys(added, asked).tolist()
        order = sorted(range(len(ids)), key=lambda at: (-told[at], ids[at]))[:limit]
        if not order:
            return _none(self._dim)
        rows = self._rows.exact(places[[at for at in order if at < places.size]])
        if extra:
            own = iter(rows)
            rows = np.stack([next(own) if at < places.size else added[at - places.size] for at in order])
        return Neighbours(tuple(ids[at] for at in order), rows)


def _top(scores: NDArray[np.float32], limit: int, shut: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    if shut is not None:
        scores[shut] = -np.inf
    return scan.top(scores, limit)


def _none(dim: int) -> Neighbours:
    return Neighbours((), np.zeros((0, dim), dtype=np.float32))


def _moved(column: NDArray[Any], count: int, room: int) -> NDArray[Any]:
    fresh = np.zeros((room, *column.shape[1:]), dtype=column.dtype)
    fresh[:count] = column[:count]
    return fresh
