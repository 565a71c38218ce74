"""A first pass over a third of the numbers that never loses a neighbour.

Rows are turned so that their first components hold most of their length (the eigenvectors of what
the namespace holds). For a query q and a row x with first parts q1, x1 and rests q2, x2

    q·x = q1·x1 + q2·x2 <= q1·x1 + |q2| |x2|        (Cauchy and Schwarz)

so a row whose bound stays below the limit-th best cosine found so far cannot be among the best. Only
the others are compared whole. The result is that of a scan of everything; SLACK covers what single
precision can lose on the way, at its worst and not as it usually is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_ROWS = 16384
"""Below this a scan of everything takes less time than the detour."""
MIN_DIM, MAX_DIM = 192, 512
SLACK = 2e-3
"""Above the worst case for unit rows of at most 512 components in single precision: a turned
component errs by at most 512 eps = 3.1e-5, the 170 of them by 4e-4 in length, once for the row and once
for the query; the sums add less than 1e-4. `_REST` covers the same error in the squares of the rests."""
_REST = 1e-3
_SAMPLE = 4096
_BLOCK = 64
_TOO_MANY = 8
"""When more than one row in so many survives, a scan of everything is faster."""
_PATIENCE = 16


def dots(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Row by row products. One thread: BLAS would wake another one, which costs more when it is busy."""
    vecdot = getattr(np, "vecdot", None)
    result: NDArray[np.float32] = rows @ query if vecdot is None else vecdot(rows, query)
    return result


class Sieve:
    """The first parts of all rows, and the lengths of their rests.

    Args:
        rows: The rows to begin with, of unit length; enough of them to know the namespace by.

    Attributes:
        built_at: How many rows there were; when there are many times more, a new one sieves better.
    """

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self.built_at = len(rows)
        sample = rows[:: max(1, len(rows) // _SAMPLE)].astype(np.float64)
        _, vectors = np.linalg.eigh(sample.T @ sample)
        self._turn: NDArray[np.float32] = np.ascontiguousarray(vectors[:, ::-1][:, : rows.shape[1] // 3], np.float32)
        self._first = rows @ self._turn
        self._rest = _rests(self._first)
        self._disappointed = 0

    @property
    def nbytes(self) -> int:
        """Memory the arrays take."""
        return self._first.nbytes + self._rest.nbytes

    @property
    def worthwhile(self) -> bool:
        """False when too many rows came through too often: these vectors have no main directions."""
        return self._disappointed < _PATIENCE

    def columns(self) -> tuple[NDArray[Any], ...]:
        """The arrays, one place a row."""
        return (self._first, self._rest)

    def put(self, at: int, vector: NDArray[np.float32]) -> None:
        """Keep a row at a place, which may be the next one after the last."""
        if at == len(self._first):
            room = max(64, at * 2)
            first = np.empty((room, self._first.shape[1]), dtype=np.float32)
            first[:at] = self._first
            self._first, self._rest = first, np.resize(self._rest, room)
        self._first[at] = vector @ self._turn
        self._rest[at] = _rests(self._first[at : at + 1])[0]

    def survivors(
        self,
        matrix: NDArray[np.float32],
        query: NDArray[np.float32],
        limit: int,
        shut: NDArray[np.bool_] | None,
    ) -> NDArray[np.intp] | None:
        """Places of all rows that can be among the `limit` best; None when there are too many to be of use.

        Args:
            matrix: The whole rows, as many as there are.
            query: What to compare with.
            limit: How many are asked for.
            shut: True for rows that do not count.
        """
        count = len(matrix)
        length = float(np.sqrt(query.astype(np.float64) @ query))
        if not 1e-6 < length < 1e6 or limit * _BLOCK > count // 4:
            return None
        asked = (query / np.float32(length)).astype(np.float32)
        first = asked @ self._turn
        bounds = dots(self._first[:count], first)
        bounds += _rests(first[None, :])[0] * self._rest[:count]
        if shut is not None:
            bounds[shut] = -np.inf
        # The rows of the highest bounds are compared whole; the limit-th of them is what others must reach.
        likely = _highest(bounds, 3 * limit)
        if likely.size < limit:
            return likely
        exact = dots(matrix[likely], asked)
        least = np.partition(exact, exact.size - limit)[exact.size - limit]
        found = np.flatnonzero(bounds >= least - np.float32(SLACK))
        if found.size > count // _TOO_MANY:
            self._disappointed += 1
            return None
        self._disappointed = max(0, self._disappointed - 1)
        return found


def _rests(first: NDArray[np.float32]) -> NDArray[np.float32]:
    """Upper bounds of the lengths of what is left of unit rows."""
    squares = 1.0 - np.einsum("ij,ij->i", first, first, dtype=np.float64)
    rests: NDArray[np.float32] = np.sqrt(np.maximum(squares, 0.0) + _REST).astype(np.float32)
    return rests


def _highest(bounds: NDArray[np.float32], wanted: int) -> NDArray[np.intp]:
    """Places of high bounds, at least as many as wanted if there are so many open rows."""
    whole = bounds.size // _BLOCK * _BLOCK
    peaks = bounds[:whole].reshape(-1, _BLOCK).max(axis=1)
    wanted = min(wanted, peaks.size)
    least = np.partition(peaks, peaks.size - wanted)[peaks.size - wanted]
    return np.flatnonzero(bounds >= max(least, np.float32(-2.0)))
