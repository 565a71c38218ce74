"""Exact nearest neighbours inside one namespace, in a matrix held in memory.

No approximate index: below some hundred thousand rows a scan is fast enough, and a near-duplicate
that is not found is a duplicate that is stored. The matrix is only ever a copy of what
the database holds at a stated sequence number; dropping it costs nothing but the next load.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records.vectors import COMPARISON_DIMS
from wellkept.storage.vectors import scan, sieve
from wellkept.storage.vectors.sharing import Sharing
from wellkept.types import ALL_STATUSES, Neighbours, Status

if TYPE_CHECKING:
    from wellkept.types import Vector

_STATUS = {status: code for code, status in enumerate(ALL_STATUSES)}
_SCORES_AT_ONCE = 1 << 24
_MAX_LOG = 4096
_BYTES_OF_ID = 220
"""What Python takes for an id of 36 letters, its place, and their share of the list and the dict."""
SIEVED_FROM = 3
"""At which search the first pass is begun: whoever asks once does not pay for those who ask again."""


@dataclass(frozen=True, slots=True)
class Row:
    """A memory as the index sees it; without a vector it is never proposed."""

    kind: str
    status: Status
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a matrix was made from; with another stamp it is rebuilt."""

    store_id: str
    model: int
    dim: int


@dataclass(frozen=True, slots=True)
class Block:
    """Some stored rows, column by column; `blob` holds their vectors end to end."""

    ids: Sequence[str]
    kinds: Sequence[str]
    statuses: Sequence[Status]
    blob: bytes


class Space:
    """The matrix of one namespace.

    Attributes:
        lock: Shared by those who search, and held alone while the matrix is changed.
        stamp: What it was made from; None before the first load.
        seq: The journal entry up to which it is complete.
        head: How that entry begins, where the backend says so: a store that was put back to an older state
            and written on has other entries under the same numbers.
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
        self._matrix: NDArray[np.float32] = np.empty((room, dim), dtype=np.float32)
        self._lengths: NDArray[np.float32] = np.ones(room if dim > COMPARISON_DIMS else 0, dtype=np.float32)
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
        """Memory the arrays and the ids take."""
        first = self._sieve.nbytes if self._sieve is not None else 0
        arrays = self._matrix.nbytes + self._lengths.nbytes + self._kind.nbytes + self._status.nbytes
        return first + arrays + _BYTES_OF_ID * len(self._ids)

    # ---- contents ----

    def load(self, stamp: Stamp, seq: int, blocks: Iterable[Block], *, room: int = 0, head: str = "") -> None:
        """Replace everything.

        Args:
            stamp: What the rows belong to.
            seq: The journal entry up to which they are complete.
            blocks: The rows; each block is turned into rows of the matrix before the next one is read.
            room: How many rows will come at most, where that is known.
            head: How the entry `seq` begins.
        """
        self.stamp = None  # until all is here: a load that fails leaves nothing that looks complete
        self._clear(stamp.dim, room)
        for block in blocks:
            start, end = len(self._ids), len(self._ids) + len(block.ids)
            if end > len(self._matrix):
                self._resize(max(end, 2 * start))
            stored = np.frombuffer(block.blob, dtype="<f2").reshape(-1, stamp.dim)
            scan.fill(self._matrix[start:end], stored)
            if stamp.dim > COMPARISON_DIMS:
                self._lengths[start:end] = scan.lengths(self._matrix[start:end])
            self._kind[start:end] = [self._code(kind) for kind in block.kinds]
            self._status[start:end] = [_STATUS[status] for status in block.statuses]
            self._ids += block.ids
        if len(self._matrix) > len(self._ids) + len(self._ids) // 4:
            self._resize(len(self._ids))
        self._at = {memory_id: at for at, memory_id in enumerate(self._ids)}
        self.stamp, self.seq, self.head, self._log_from = stamp, seq, head, seq
        self._heads = {seq: hash(head)}

    def advance(self, seq: int, changed: Mapping[str, Row | None], *, head: str = "") -> None:
        """Bring the matrix from `self.seq` to `seq`; None stands for a row that is gone."""
        for memory_id, row in changed.items():
            if row is None:
                self.drop(memory_id)
            else:
                self.put(memory_id, row.kind, row.status, row.vector)
            self._log.append((seq, memory_id))
        if len(self._log) > _MAX_LOG:
            # Whole numbers only: a reader needs all changes behind its snapshot or none.
            self._log_from = self._log[len(self._log) // 2][0]
            self._log = [change for change in self._log if change[0] > self._log_from]
        self.seq, self.head = seq, head
        self._heads[seq] = hash(head)
        if len(self._heads) > _MAX_LOG:
            self._heads = dict(list(self._heads.items())[_MAX_LOG // 2 :])

    def passed(self, seq: int, head: str) -> bool | None:
        """Whether this was once complete up to the entry `seq` that begins so; None where that is not known."""
        known = self._heads.get(seq)
        return None if known is None else known == hash(head)

    def changed_since(self, seq: int) -> frozenset[str] | None:
        """Ids whose rows changed after `seq`; None when that is too long ago to tell."""
        if seq < self._log_from:
            return None
        return frozenset(memory_id for at, memory_id in self._log if at > seq)

    def put(self, memory_id: str, kind: str, status: Status, vector: Vector | None) -> None:
        """Add or replace a row; without a vector the row goes."""
        if vector is None:
            self.drop(memory_id)
            return
        at = self._at.get(memory_id)
        if at is None:
            at = len(self._ids)
            if at == len(self._matrix):
                self._resize(max(64, at + at // 2))
            self._ids.append(memory_id)
            self._at[memory_id] = at
        self._matrix[at] = vector
        if self._dim > COMPARISON_DIMS:
            self._lengths[at] = scan.lengths(self._matrix[at : at + 1])[0]
        if self._sieve is not None:
            self._sieve.put(at, self._matrix[at])
        self._kind[at] = self._code(kind)
        self._status[at] = _STATUS[status]

    def drop(self, memory_id: str) -> None:
        """Remove a row; unknown ids are ignored. The last row takes its place."""
        at = self._at.pop(memory_id, None)
        if at is None:
            return
        last = self._ids.pop()
        end = len(self._ids)
        if last != memory_id:
            self._ids[at] = last
            self._at[last] = at
            for column in self._columns():
                column[at] = column[end]
        if self._sieve is not None:
            if last != memory_id:
                self._sieve.put(at, self._matrix[at])
            self._sieve.cut(end)

    def _columns(self) -> tuple[NDArray[Any], ...]:
        lengths = (self._lengths,) if self._dim > COMPARISON_DIMS else ()
        return (self._matrix, self._kind, self._status, *lengths)

    def _resize(self, room: int) -> None:
        count = min(room, len(self._ids))
        self._matrix = _moved(self._matrix, count, room)
        self._kind = _moved(self._kind, count, room)
        self._status = _moved(self._status, count, room)
        if self._dim > COMPARISON_DIMS:
            self._lengths = _moved(self._lengths, count, room)

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
        """For each query the `limit` most similar rows of these kinds and statuses, best first.

        Args:
            queries: One query a row, or a single one.
            limit: Most rows to propose for each.
            kinds: Only these; all for an empty sequence.
            statuses: Only these; all for an empty sequence.
            overlay: Rows that hold instead of the matrix's own: a transaction's uncommitted
                changes, or an older snapshot's state of rows that changed since.

        Returns:
            Neighbours by falling cosine, rounded to six decimals; ties by id.
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
        if len(towards) == 1:
            return [self._best(towards[0], self._one(towards[0], limit, shut), limit, extra)]
        found: list[Neighbours] = []
        step = max(1, _SCORES_AT_ONCE // max(1, len(self._ids)))
        for start in range(0, len(towards), step):
            part = towards[start : start + step]
            for query, scores in zip(part, self._scores(part), strict=True):
                if shut is not None:
                    scores[shut] = -np.inf
                found.append(self._best(query, scan.top(scores, limit), limit, extra))
        return found

    def _one(self, asked: NDArray[np.float32], limit: int, shut: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Places that hold the best for a single query, which is what every write asks for."""
        matrix = self._matrix[: len(self._ids)]
        first = self._sieved()
        places = first.survivors(matrix, asked, limit, shut) if first is not None else None
        if places is not None:
            return places[scan.top(scan.dots(matrix[places], asked), limit)]
        scores = scan.dots(matrix[:, :COMPARISON_DIMS], asked)
        if self._dim > COMPARISON_DIMS:
            scores /= self._lengths[: len(scores)]
        if shut is not None:
            scores[shut] = -np.inf
        return scan.top(scores, limit)

    def _sieved(self) -> sieve.Sieve | None:
        """The sieve, once it holds every row; made step by step, and anew when there are many times more rows."""
        count = len(self._ids)
        if count < sieve.MIN_ROWS or not sieve.MIN_DIM <= self._dim <= sieve.MAX_DIM:
            return None
        self._searches += 1
        if self._searches >= SIEVED_FROM and self._making.acquire(blocking=False):
            # Searches run beside each other: one of them makes it, the others go on without.
            try:
                if self._sieve is None or count > 4 * self._sieve.built_at:
                    self._sieve = sieve.Sieve(self._matrix[:count])
                if len(self._sieve) < count and self._sieve.worthwhile:
                    self._sieve.extend(self._matrix[:count])
            finally:
                self._making.release()
        first = self._sieve
        return first if first is not None and len(first) == count and first.worthwhile else None

    def _shut(self, kinds: Sequence[str], statuses: Sequence[Status], hidden: list[int]) -> NDArray[np.bool_] | None:
        """True for rows that may not be proposed; None when all may."""
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

    def _scores(self, asked: NDArray[np.float32]) -> NDArray[np.float32]:
        count = len(self._ids)
        scores: NDArray[np.float32] = asked @ self._matrix[:count, :COMPARISON_DIMS].T
        if self._dim > COMPARISON_DIMS:
            scores /= self._lengths[:count]
        return scores

    def _best(
        self, asked: NDArray[np.float32], places: NDArray[np.intp], limit: int, extra: list[tuple[str, Vector]]
    ) -> Neighbours:
        """Of the rows that can be among the best, those that are: by the one number that decides."""
        ids = [self._ids[at] for at in places]
        keys = scan.keys(self._matrix, places, asked)
        if extra:
            ids += [memory_id for memory_id, _ in extra]
            added = np.stack([vector for _, vector in extra]).astype(np.float32)
            keys = np.concatenate([keys, scan.keys(added, np.arange(len(extra)), asked)])
        told = keys.tolist()
        order = sorted(range(len(ids)), key=lambda at: (-told[at], ids[at]))[:limit]
        if not order:
            return _none(self._dim)
        rows = [self._matrix[places[at]] if at < places.size else added[at - places.size] for at in order]
        return Neighbours(tuple(ids[at] for at in order), np.stack(rows))


def _none(dim: int) -> Neighbours:
    return Neighbours((), np.zeros((0, dim), dtype=np.float32))


def _moved(column: NDArray[Any], count: int, room: int) -> NDArray[Any]:
    fresh = np.zeros((room, *column.shape[1:]), dtype=column.dtype)
    fresh[:count] = column[:count]
    return fresh
