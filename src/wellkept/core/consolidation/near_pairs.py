"""Finds pairs of near vectors by blocked matrix products with bounded memory.

Single-precision products only select candidates. Returned cosines are recomputed in double precision, so row order and
block shape do not matter. Of many rows, half of the components rule out most pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records.vectors import COMPARISON_DIMS

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Positions of both rows of each pair, first < second, and exact cosines."""

MOST_NEAR = 24
"""Most pairs per row above `all_from`, so that near-copies do not cost quadratic space."""
_ROWS, _COLUMNS = 1024, 8192
_MARGIN = 1e-3
_SPARE = 8
_MANY = 3_000_000
_FAR = -20_000
"""Stands for a pair that is not near, in ten thousandths of a cosine: less than every cosine."""
_AT_ONCE = 16_384
_SIEVED_FROM = 16_384
"""Rows from which half of the components are looked at first; of fewer all are."""
_SAMPLE = 4096
_PASSING = 150
"""Where more than one pair in so many passes the sieve, all components at once are faster."""
_PATIENCE = 3
"""Tiles in which the sieve may be of no use before it is given up, unless it is of use in as many others."""


def near_pairs(rows: NDArray[np.float32], *, floor: float, all_from: float, nearest: int) -> Pairs:
    """Pairs of sufficiently near rows.

    Args:
        rows: One finite, non-zero vector per row, oldest first.
        floor: Least cosine of a pair.
        all_from: From this cosine up to `MOST_NEAR` pairs per row with older and with newer rows are kept; below it,
            `nearest` of each.
        nearest: Number of neighbours per row.

    Returns:
        The pairs by position; a pair is included if it is among the nearest of either row. Cosines are ranked to four
        decimals; ties go to the rows closest in age.

    Example:
        >>> import numpy as np
        >>> rows = np.array([[1, 0], [0.6, 0.8], [1, 0.1]], dtype=np.float32)
        >>> first, second, cosine = near_pairs(rows, floor=0.9, all_from=0.95, nearest=4)
        >>> [(int(a), int(b), round(float(c), 3)) for a, b, c in zip(first, second, cosine)]
        [(0, 2, 0.995)]
    """
    part = np.ascontiguousarray(rows[:, :COMPARISON_DIMS], dtype=np.float32)
    limits = (nearest + _SPARE, MOST_NEAR + _SPARE)
    found: list[Pairs] = []
    held = 0
    for tile in _tiles(units_of(part), floor - _MARGIN, limits[1]):
        found.append(tile)
        held += len(tile[0])
        if held > _MANY:
            found = [_nearest(_joined(found), all_from - _MARGIN, *limits)]
            held = len(found[0][0])
    pairs = _nearest(_joined(found), all_from - _MARGIN, *limits)
    exact = _exact(part, pairs)
    kept = exact[2] >= floor
    pairs = _nearest((exact[0][kept], exact[1][kept], exact[2][kept]), all_from, nearest, MOST_NEAR)
    order = np.lexsort((pairs[1], pairs[0]))
    return pairs[0][order], pairs[1][order], pairs[2][order]


def units_of(part: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to length 1 in single precision; zero rows stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", part, part, dtype=np.float64))
    units: NDArray[np.float32] = (part / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(np.float32)
    return units


def _tiles(unit: NDArray[np.float32], floor: float, most: int) -> Iterator[Pairs]:
    """Pairs above the floor in the upper triangle, tile by tile."""
    sieve = _Sieve(unit) if len(unit) >= _SIEVED_FROM else None
    for top in range(0, len(unit), _ROWS):
        for left in range(top, len(unit), _COLUMNS):
            rows, columns = unit[top : top + _ROWS], unit[left : left + _COLUMNS]
            places = sieve.places(top, left, floor) if sieve is not None and sieve.is_of_use else None
            if places is None:
                places, scores = _above(rows, columns, floor, most, left - top)
            else:
                first, second = np.divmod(places, len(columns))
                scores = _dots(rows, columns, first, second)
                places, scores = places[scores >= floor], scores[scores >= floor]
            if len(places):
                first, second = np.divmod(places, len(columns))
                yield first + top, second + left, scores.astype(np.float64)


def _above(
    rows: NDArray[np.float32], columns: NDArray[np.float32], floor: float, most: int, ahead: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The places in a tile above the floor, and their scores.

    Args:
        most: Number of places per row and column above which only the nearest of each are taken.
        ahead: By how much the first column is ahead of the first row.
    """
    scores = rows @ columns.T
    near = _beyond_diagonal(scores >= np.float32(floor), ahead)
    places = np.flatnonzero(near)  # several times as fast as `nonzero` of a table
    if len(places) > most * sum(scores.shape):
        places = np.flatnonzero(near & _best_of(scores, near, most))
    return places, scores.ravel()[places]


def _dots(
    rows: NDArray[np.float32], columns: NDArray[np.float32], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float32]:
    scores = np.empty(len(first), dtype=np.float32)
    for start in range(0, len(first), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        np.einsum("ij,ij->i", rows[first[part]], columns[second[part]], out=scores[part])
    return scores


def _beyond_diagonal(near: NDArray[np.bool_], ahead: int) -> NDArray[np.bool_]:
    """Only the pairs whose column is newer than their row."""
    height, width = near.shape
    if ahead < height:
        near &= np.arange(ahead, ahead + width) > np.arange(height)[:, None]
    return near


class _Sieve:
    """Upper bounds of cosines from half of the components.

    The rows are turned so that these hold most of their length (by the eigenvectors of a sample). For rows x and y with
    first parts x1 and y1 and rests x2 and y2, x·y <= x1·y1 + |x2| |y2| (Cauchy and Schwarz). The length of the rest
    stands beside the first part, so that one product gives the bound.
    """

    def __init__(self, unit: NDArray[np.float32]) -> None:
        sample = unit[:: max(1, len(unit) // _SAMPLE)].astype(np.float64)
        _, turn = np.linalg.eigh(sample.T @ sample)
        half = -(-unit.shape[1] // 2)
        self._part: NDArray[np.float32] = np.empty((len(unit), half + 1), dtype=np.float32)
        np.matmul(unit, turn[:, ::-1][:, :half].astype(np.float32), out=self._part[:, :half])
        held = np.einsum("ij,ij->i", self._part[:, :half], self._part[:, :half], dtype=np.float64)
        self._part[:, half] = np.sqrt(np.maximum(1.0 - held, 0.0) + 1e-6)  # more than single precision loses
        self._useful = self._useless = 0

    @property
    def is_of_use(self) -> bool:
        """Whether it has ruled out most pairs often enough."""
        return self._useless < max(_PATIENCE, self._useful)

    def places(self, top: int, left: int, floor: float) -> NDArray[np.int64] | None:
        """The places in a tile that may be above the floor; None if they are too many."""
        bounds = self._part[top : top + _ROWS] @ self._part[left : left + _COLUMNS].T
        places = np.flatnonzero(_beyond_diagonal(bounds >= np.float32(floor), left - top))
        if len(places) * _PASSING > bounds.size:
            self._useless += 1
            return None
        self._useful += 1
        return places


def _best_of(scores: NDArray[np.float32], near: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """The nearest of each row and column of a dense tile, to limit memory.

    Sort keys combine four decimals and the position, so that ties are stable and rounding errors do not matter. A dense
    tile is larger than `most` in both dimensions.
    """
    tens = np.where(near, np.rint(scores * 10_000), _FAR).astype(np.int64)
    height, width = scores.shape
    kept = np.zeros(scores.shape, dtype=np.bool_)
    keys = tens * width + np.arange(width - 1, -1, -1)  # per row, the next newer ones first
    best = np.argpartition(keys, width - most, axis=1)[:, width - most :]
    np.put_along_axis(kept, best, values=True, axis=1)
    keys = tens * height + np.arange(height)[:, None]  # per column, the next older ones first
    best = np.argpartition(keys, height - most, axis=0)[height - most :]
    np.put_along_axis(kept, best, values=True, axis=0)
    return kept


def _joined(parts: Sequence[Pairs]) -> Pairs:
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0)
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
    )


def _nearest(pairs: Pairs, all_from: float, nearest: int, most: int) -> Pairs:
    """Pairs among the nearest of either end: `nearest` per row, or `most` from `all_from` on."""
    first, second, values = pairs
    if not len(first):
        return pairs
    allowed = np.where(values >= all_from, most, nearest)
    decimals = np.rint(values * 10_000)
    kept = np.zeros(len(first), dtype=np.bool_)
    for end, other in ((first, second), (second, -first)):
        order = np.lexsort((other, -decimals, end))
        sorted_ends = end[order]
        starts = np.searchsorted(sorted_ends, sorted_ends)
        rank = np.arange(len(order)) - starts
        kept[order] |= rank < allowed[order]
    return first[kept], second[kept], values[kept]


def _exact(part: NDArray[np.float32], pairs: Pairs) -> Pairs:
    """The same pairs with cosines in double precision."""
    first, second, _ = pairs
    values = np.zeros(len(first))
    for start in range(0, len(first), _AT_ONCE):
        a = part[first[start : start + _AT_ONCE]].astype(np.float64)
        b = part[second[start : start + _AT_ONCE]].astype(np.float64)
        dots = np.einsum("ij,ij->i", a, b)
        lengths = np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
        values[start : start + _AT_ONCE] = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return first, second, np.clip(values, -1.0, 1.0)
