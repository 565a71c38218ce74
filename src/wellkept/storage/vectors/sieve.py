"""An exact prefilter that reads a third of the components.

Rows are rotated so that their first components hold most of their length (by the eigenvectors of the namespace's rows).
For a query q and a row x with first parts q1, x1 and rests q2, x2

    q·x = q1·x1 + q2·x2 <= q1·x1 + |q2| |x2|        (Cauchy and Schwarz)

so a row whose bound is below the limit-th best cosine found so far cannot be among the best. Only the other rows are
compared in full. The result equals that of a full scan; SLACK covers the worst-case error of single precision.

It is built in steps, some rows per search, so that no search waits long and a single search does not pay for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wellkept.storage.vectors.scan import dots, peaks

if TYPE_CHECKING:
    from wellkept.storage.vectors.unit_rows import UnitRows

MIN_ROWS = 16384
"""Number of rows below which a full scan is faster."""
MIN_DIM, MAX_DIM = 192, 512
SLACK = 2e-3
"""Margin above the worst-case error for unit rows of at most 512 components in single precision: a rotated component
has an error of at most 512 eps = 3.1e-5, the 170 of them 4e-4 in length, for the row and for the query; the sums add
less than 1e-4, and `scan.TIE` another 1e-4. `_REST` covers the same error in the squares of the rests."""
STEP = 16384
"""Fewest rows rotated per search; takes some tens of milliseconds."""
_STEPS = 8
"""Most searches that rotate a matrix: until all is rotated each compares every row, which takes longer than a step."""
_REST = 1e-3
_SAMPLE = 4096
_BLOCK = 64
_TOO_MANY, _TOO_MANY_STORED = 8, 2
"""If more than one row in this many survives, a full scan is faster; later with stored rows, whose scan is slow."""
_PATIENCE = 16


def rows_a_search(count: int) -> int:
    """Rows of a matrix of this many that one search rotates.

    Example:
        >>> rows_a_search(20_000), rows_a_search(1_000_000)
        (16384, 125000)
    """
    return max(STEP, -(-count // _STEPS))


class Sieve:
    """The rotated first parts of the rows, and the lengths of their rests.

    Args:
        rows: The rows of the matrix. The rotation is computed from a sample of them; `extend` rotates them.
        count: Number of rows in use.

    Attributes:
        built_at: Number of rows at creation; after large growth, a new sieve is more selective.
    """

    def __init__(self, rows: UnitRows, count: int) -> None:
        self.built_at = count
        sample = rows.near(slice(0, count, max(1, count // _SAMPLE))).astype(np.float64)
        _, vectors = np.linalg.eigh(sample.T @ sample)
        self._turn: NDArray[np.float32] = np.ascontiguousarray(vectors[:, ::-1][:, : sample.shape[1] // 3], np.float32)
        room = count + count // 16
        self._first: NDArray[np.float32] = np.empty((room, self._turn.shape[1]), dtype=np.float32)
        self._rest: NDArray[np.float32] = np.empty(room, dtype=np.float32)
        self._done = 0
        self._disappointed = 0

    def __len__(self) -> int:
        """Number of rotated rows, which are the first ones of the matrix."""
        return self._done

    @property
    def nbytes(self) -> int:
        """Memory of the arrays in bytes."""
        return self._first.nbytes + self._rest.nbytes

    @property
    def worthwhile(self) -> bool:
        """False if too many rows survived too often, because the vectors have no dominant directions."""
        return self._disappointed < _PATIENCE

    def extend(self, rows: UnitRows, count: int) -> None:
        """Rotate the next rows of the matrix, which has `count`."""
        start, end = self._done, min(count, self._done + rows_a_search(count))
        if end > len(self._first):
            self._grow(end + end // 2)
        for at in range(start, end, _SAMPLE):
            part = slice(at, min(at + _SAMPLE, end))
            np.matmul(rows.near(part), self._turn, out=self._first[part])
            self._rest[part] = _rests(self._first[part])
        self._done = max(start, end)

    def put(self, at: int, vector: NDArray[np.float32]) -> None:
        """Update an added or changed row; a row that is not rotated yet is left to `extend`."""
        if at > self._done:
            return
        if at == len(self._first):
            self._grow(max(64, at + at // 2))
        self._first[at] = vector @ self._turn
        self._rest[at] = _rests(self._first[at : at + 1])[0]
        self._done = max(self._done, at + 1)

    def cut(self, count: int) -> None:
        """Truncate to the matrix's new number of rows."""
        self._done = min(self._done, count)

    def _grow(self, room: int) -> None:
        first = np.empty((room, self._first.shape[1]), dtype=np.float32)
        rest = np.empty(room, dtype=np.float32)
        first[: self._done], rest[: self._done] = self._first[: self._done], self._rest[: self._done]
        self._first, self._rest = first, rest

    def turned(self, asked: NDArray[np.float32], count: int) -> NDArray[np.float32]:
        """The first parts' share of the cosines of queries of length 1 with the first rows, a row for each query."""
        rows = self._first[:count]
        first: NDArray[np.float32] = asked @ self._turn
        if len(asked) == 1:
            return dots(rows, first[0])[None, :]
        shares: NDArray[np.float32] = np.matmul(first, rows.T)
        return shares

    def survivors(
        self,
        rows: UnitRows,
        asked: NDArray[np.float32],
        bounds: NDArray[np.float32],
        *,
        limit: int,
        shut: NDArray[np.bool_] | None,
    ) -> NDArray[np.intp] | None:
        """Places of all rows that can be among the `limit` best; None if there are too many.

        Args:
            rows: The complete rows, all of them rotated in this sieve.
            asked: The query, of length 1.
            bounds: Its row of `turned`; changed here.
            limit: Number of rows requested.
            shut: Mask of excluded rows.
        """
        count = bounds.size
        most = count // (_TOO_MANY_STORED if rows.stored else _TOO_MANY)
        if limit * _BLOCK > count // 4 or not asked.any():
            return None
        bounds += _rests((asked @ self._turn)[None, :])[0] * self._rest[:count]
        if shut is not None:
            bounds[shut] = -np.inf
        # Rows with the highest bounds are compared in full; the limit-th best of them is the threshold.
        likely = np.flatnonzero(bounds >= max(peaks(bounds, 3 * limit), np.float32(-2.0)))
        if likely.size < limit:
            return np.flatnonzero(bounds >= np.float32(-2.0))
        if likely.size > most:
            self._disappointed += 1
            return None
        exact = rows.scores_at(likely, asked)
        least = np.partition(exact, exact.size - limit)[exact.size - limit]
        found = np.flatnonzero(bounds >= least - np.float32(SLACK))
        if found.size > most:
            self._disappointed += 1
            return None
        self._disappointed = max(0, self._disappointed - 1)
        return found


def _rests(first: NDArray[np.float32]) -> NDArray[np.float32]:
    """Upper bounds of the lengths of the rests of unit rows."""
    squares = 1.0 - np.einsum("ij,ij->i", first, first, dtype=np.float64)
    rests: NDArray[np.float32] = np.sqrt(np.maximum(squares, 0.0) + _REST).astype(np.float32)
    return rests
