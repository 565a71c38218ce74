"""Exact nearest neighbours inside one namespace, in a matrix held in memory.

No approximate index: below some hundred thousand rows a scan is fast enough, and a near-duplicate
that is not found is a duplicate that is stored (design §10). The matrix is only ever a copy of what
the database holds at a stated sequence number; dropping it costs nothing but the next load.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wellkept.core.vectors import COMPARISON_DIMS
from wellkept.storage import sieve
from wellkept.types import ALL_STATUSES, Neighbours, Status

if TYPE_CHECKING:
    from wellkept.types import Vector

_STATUS = {status: code for code, status in enumerate(ALL_STATUSES)}
_TIE = 1e-6
"""Scores closer than this are one score: the last bits of a product depend on the row's place."""
_BLOCK = 64
_SCORES_AT_ONCE = 1 << 24
_ROWS_AT_ONCE = 1024
_MAX_LOG = 4096


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


def rows_of(blob: bytes, dim: int) -> NDArray[np.float32]:
    """Stored vectors, laid end to end, as rows: each is what `core.vectors.restore` makes of it."""
    stored = np.frombuffer(blob, dtype="<f2").reshape(-1, dim)
    rows = np.empty(stored.shape, dtype=np.float32)
    for start in range(0, len(stored), _ROWS_AT_ONCE):
        part = stored[start : start + _ROWS_AT_ONCE].astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", part, part))
        rows[start : start + _ROWS_AT_ONCE] = part / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return rows


class Space:
    """The matrix of one namespace.

    Attributes:
        lock: Held while the matrix is read or changed, and while it is brought up to date.
        stamp: What it was made from; None before the first load.
        seq: The journal entry up to which it is complete.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.stamp: Stamp | None = None
        self.seq = 0
        self._clear(0, 0)

    def _clear(self, dim: int, room: int) -> None:
        self._dim = dim
        self._ids: list[str] = []
        self._at: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._matrix: NDArray[np.float32] = np.zeros((room, dim), dtype=np.float32)
        self._lengths: NDArray[np.float32] = np.ones(room if dim > COMPARISON_DIMS else 0, dtype=np.float32)
        self._kind: NDArray[np.int16] = np.zeros(room, dtype=np.int16)
        self._status: NDArray[np.int8] = np.zeros(room, dtype=np.int8)
        self._sieve: sieve.Sieve | None = None
        self._log: list[tuple[int, str]] = []
        self._log_from = 0

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Memory the arrays take."""
        first = self._sieve.nbytes if self._sieve is not None else 0
        return first + self._matrix.nbytes + self._lengths.nbytes + self._kind.nbytes + self._status.nbytes

    # ---- contents ----

    def load(
        self, stamp: Stamp, seq: int, ids: Sequence[str], kinds: Sequence[str], statuses: Sequence[Status], blob: bytes
    ) -> None:
        """Replace everything: `blob` holds the stored vectors of the ids, end to end."""
        rows = rows_of(blob, stamp.dim) if ids else np.zeros((0, stamp.dim), dtype=np.float32)
        self._clear(stamp.dim, 0)
        self._ids = list(ids)
        self._at = {memory_id: at for at, memory_id in enumerate(self._ids)}
        self._matrix = rows
        if stamp.dim > COMPARISON_DIMS:
            self._lengths = _lengths(rows)
        self._kind = np.fromiter((self._code(kind) for kind in kinds), dtype=np.int16, count=len(ids))
        self._status = np.fromiter((_STATUS[status] for status in statuses), dtype=np.int8, count=len(ids))
        self.stamp, self.seq, self._log_from = stamp, seq, seq

    def advance(self, seq: int, changed: Mapping[str, Row | None]) -> None:
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
        self.seq = seq

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
                self._grow(max(64, at * 2))
            self._ids.append(memory_id)
            self._at[memory_id] = at
        self._matrix[at] = vector
        if self._dim > COMPARISON_DIMS:
            self._lengths[at] = _lengths(self._matrix[at : at + 1])[0]
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
        if last != memory_id:
            end = len(self._ids)
            self._ids[at] = last
            self._at[last] = at
            for column in self._columns():
                column[at] = column[end]

    def _columns(self) -> tuple[NDArray[Any], ...]:
        lengths = (self._lengths,) if self._dim > COMPARISON_DIMS else ()
        first = self._sieve.columns() if self._sieve is not None else ()
        return (self._matrix, self._kind, self._status, *lengths, *first)

    def _grow(self, room: int) -> None:
        matrix = np.empty((room, self._dim), dtype=np.float32)
        matrix[: len(self._matrix)] = self._matrix
        self._matrix = matrix
        self._kind = np.resize(self._kind, room) if self._kind.size else np.zeros(room, dtype=np.int16)
        self._status = np.resize(self._status, room) if self._status.size else np.zeros(room, dtype=np.int8)
        if self._dim > COMPARISON_DIMS:
            self._lengths = np.resize(self._lengths, room) if self._lengths.size else np.ones(room, dtype=np.float32)

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
            Neighbours by falling cosine, ties by id.
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
        if len(asked) == 1:
            return [self._one(asked[0], limit, shut, extra)]
        found: list[Neighbours] = []
        step = max(1, _SCORES_AT_ONCE // max(1, len(self._ids)))
        for start in range(0, len(asked), step):
            part = asked[start : start + step]
            for query, scores in zip(part, self._scores(part), strict=True):
                if shut is not None:
                    scores[shut] = -np.inf
                found.append(self._best(query, _top(scores, limit), limit, extra))
        return found

    def _one(
        self,
        query: NDArray[np.float32],
        limit: int,
        shut: NDArray[np.bool_] | None,
        extra: list[tuple[str, Vector]],
    ) -> Neighbours:
        """The best for a single query, which is what every write asks for."""
        matrix = self._matrix[: len(self._ids)]
        first = self._sieved()
        places = first.survivors(matrix, query, limit, shut) if first is not None else None
        if places is not None:
            return self._best(query, places[_top(sieve.dots(matrix[places], query), limit)], limit, extra)
        scores = sieve.dots(matrix[:, :COMPARISON_DIMS], query[:COMPARISON_DIMS])
        if self._dim > COMPARISON_DIMS:
            scores /= self._lengths[: len(scores)]
        if shut is not None:
            scores[shut] = -np.inf
        return self._best(query, _top(scores, limit), limit, extra)

    def _sieved(self) -> sieve.Sieve | None:
        """The sieve, made when there are enough rows and anew when there are many times more."""
        count = len(self._ids)
        if count < sieve.MIN_ROWS or not sieve.MIN_DIM <= self._dim <= sieve.MAX_DIM:
            return None
        if self._sieve is None or count > 4 * self._sieve.built_at:
            self._sieve = sieve.Sieve(self._matrix[:count])
        return self._sieve if self._sieve.worthwhile else None

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

    def _scores(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        count = len(self._ids)
        rows = self._matrix[:count, :COMPARISON_DIMS]
        asked = queries[:, :COMPARISON_DIMS]
        scores: NDArray[np.float32] = asked @ rows.T
        if self._dim > COMPARISON_DIMS:
            scores /= self._lengths[:count]
        return scores

    def _best(
        self, query: NDArray[np.float32], chosen: NDArray[np.intp], limit: int, extra: list[tuple[str, Vector]]
    ) -> Neighbours:
        ids = [self._ids[at] for at in chosen] + [memory_id for memory_id, _ in extra]
        if not ids:
            return _none(self._dim)
        rows = self._matrix[chosen]
        if extra:
            rows = np.concatenate([rows, np.stack([vector for _, vector in extra]).astype(np.float32)])
        # One way of summing for every row, so that equal vectors have equal scores and the id decides.
        exact = np.einsum("ij,j->i", rows[:, :COMPARISON_DIMS], query[:COMPARISON_DIMS])
        if self._dim > COMPARISON_DIMS:
            exact = exact / _lengths(rows)
        keys = np.round(exact.astype(np.float64), 6).tolist()
        order = sorted(range(len(ids)), key=lambda at: (-keys[at], ids[at]))[:limit]
        return Neighbours(tuple(ids[at] for at in order), rows[order])


def _none(dim: int) -> Neighbours:
    return Neighbours((), np.zeros((0, dim), dtype=np.float32))


def _lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lengths of the compared prefixes, never zero."""
    prefix = rows[:, :COMPARISON_DIMS]
    lengths = np.sqrt(np.einsum("ij,ij->i", prefix, prefix, dtype=np.float64))
    return np.where(lengths > 0.0, lengths, 1.0).astype(np.float32)


def _top(scores: NDArray[np.float32], limit: int) -> NDArray[np.intp]:
    """Places of the `limit` highest scores and of all that tie with the last of them."""
    least = np.float32(-2.0)  # masked rows stand at minus infinity
    places: NDArray[np.intp] | None = None
    if scores.size > max(_BLOCK * limit, 4096):
        # The limit-th highest block maximum bounds the limit-th highest score from below, at the
        # price of one pass; only what reaches it is sorted.
        whole = scores.size // _BLOCK * _BLOCK
        peaks = scores[:whole].reshape(-1, _BLOCK).max(axis=1)
        bound = np.partition(peaks, peaks.size - limit)[peaks.size - limit]
        places = np.flatnonzero(scores >= max(bound - _TIE, least))
    kept = scores if places is None else scores[places]
    if kept.size > limit:
        least = max(np.partition(kept, kept.size - limit)[kept.size - limit] - _TIE, least)
    inside = np.flatnonzero(kept >= least)
    return inside if places is None else places[inside]


class VectorIndex:
    """The matrices of the namespaces in use, within a bound of memory.

    Args:
        max_bytes: When the matrices take more, the least recently used ones are dropped; the one
            in use stays, whatever its size.
    """

    def __init__(self, *, max_bytes: int = 1 << 30) -> None:
        self._max_bytes = max_bytes
        self._spaces: OrderedDict[str, Space] = OrderedDict()
        self._lock = threading.Lock()

    def space(self, namespace: str) -> Space:
        """The matrix of a namespace, empty and without a stamp at first."""
        with self._lock:
            space = self._spaces.get(namespace)
            if space is None:
                space = self._spaces[namespace] = Space()
            self._spaces.move_to_end(namespace)
            total = sum(one.nbytes for one in self._spaces.values()) if len(self._spaces) > 1 else 0
            while total > self._max_bytes and len(self._spaces) > 1:
                _, gone = self._spaces.popitem(last=False)
                total -= gone.nbytes
            return space

    def loaded(self, namespace: str) -> Space | None:
        """The matrix of a namespace if there is one with contents."""
        with self._lock:
            space = self._spaces.get(namespace)
        return space if space is not None and space.stamp is not None else None

    def clear(self) -> None:
        """Drop every matrix."""
        with self._lock:
            self._spaces.clear()
