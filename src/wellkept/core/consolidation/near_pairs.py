"""Finds pairs of near vectors by blocked matrix products with bounded memory.

Single-precision products only select candidates. Returned cosines are recomputed in double precision, so row order and
block shape do not matter.
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
_EXACT_AT_ONCE = 16_384


def near_pairs(rows: NDArray[np.float32], *, floor: float, all_from: float, nearest: int) -> Pairs:
    """Pairs of sufficiently near rows.

    Args:
        rows: One non-zero vector per row, oldest first.
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
    count = len(unit)
    for top in range(0, count, _ROWS):
        rows = unit[top : top + _ROWS]
        for left in range(top, count, _COLUMNS):
            scores = rows @ unit[left : left + _COLUMNS].T
            near = scores >= np.float32(floor)
            if left < top + len(rows):
                near &= np.arange(left, left + scores.shape[1]) > np.arange(top, top + len(rows))[:, None]
            places = np.flatnonzero(near)  # several times as fast as `nonzero` of a table
            if len(places) > most * sum(scores.shape):
                places = np.flatnonzero(near & _best_of(scores, near, most))
            if len(places):
                first, second = np.divmod(places, scores.shape[1])
                yield first + top, second + left, scores.ravel()[places].astype(np.float64)


def _best_of(scores: NDArray[np.float32], near: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """The nearest of each row and column of a dense tile, to limit memory.

    Sort keys combine four decimals and the position, so that ties are stable and rounding errors do not matter. A dense
    tile is larger than `most` in both dimensions.
    """
    tens = np.where(near, np.rint(scores * 10_000), -1).astype(np.int64)
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
    for start in range(0, len(first), _EXACT_AT_ONCE):
        a = part[first[start : start + _EXACT_AT_ONCE]].astype(np.float64)
        b = part[second[start : start + _EXACT_AT_ONCE]].astype(np.float64)
        dots = np.einsum("ij,ij->i", a, b)
        lengths = np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
        values[start : start + _EXACT_AT_ONCE] = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return first, second, np.clip(values, -1.0, 1.0)
