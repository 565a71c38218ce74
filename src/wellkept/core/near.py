"""Pairs of near vectors among many: exact cosines from blocked products, bounded in memory (S1-21).

Products in single precision only choose what is worth the exact arithmetic; every cosine that leaves
here is that of `core.vectors`, so the order of rows and the shape of blocks decide nothing (I4, I9).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wellkept.core.vectors import COMPARISON_DIMS

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Places of the first and the second of each pair, first < second, and their exact cosines."""

MOST_NEAR = 24
"""Pairs of one row above `all_from` that are kept: a store of near-copies must not cost its square."""
_ROWS, _COLUMNS = 2048, 8192
_MARGIN = 1e-3
_SPARE = 8
_MANY = 3_000_000
_EXACT_AT_ONCE = 65_536


def near_pairs(rows: NDArray[np.float32], *, floor: float, all_from: float, nearest: int) -> Pairs:
    """Pairs of rows that are near enough.

    Args:
        rows: One vector a row, of any length but zero.
        floor: Least cosine of any pair.
        all_from: From this cosine on, up to `MOST_NEAR` pairs of each row are kept; below, the
            `nearest` of each.
        nearest: How many neighbours of each row.

    Returns:
        The pairs by place; a pair is there if it is among the nearest of either row.

    Example:
        >>> import numpy as np
        >>> rows = np.array([[1, 0], [0.6, 0.8], [1, 0.1]], dtype=np.float32)
        >>> first, second, cosine = near_pairs(rows, floor=0.9, all_from=0.95, nearest=4)
        >>> [(int(a), int(b), round(float(c), 3)) for a, b, c in zip(first, second, cosine)]
        [(0, 2, 0.995)]
    """
    unit = _units(rows)
    found: list[Pairs] = []
    held = 0
    for part in _tiles(unit, floor - _MARGIN):
        found.append(part)
        held += len(part[0])
        if held > _MANY:
            found = [_nearest(_joined(found), all_from - _MARGIN, nearest + _SPARE, MOST_NEAR + _SPARE)]
            held = len(found[0][0])
    pairs = _nearest(_joined(found), all_from - _MARGIN, nearest + _SPARE, MOST_NEAR + _SPARE)
    exact = _exact(unit, pairs)
    kept = exact[2] >= floor
    pairs = _nearest((exact[0][kept], exact[1][kept], exact[2][kept]), all_from, nearest, MOST_NEAR)
    order = np.lexsort((pairs[1], pairs[0]))
    return pairs[0][order], pairs[1][order], pairs[2][order]


def _units(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    part = np.ascontiguousarray(rows[:, :COMPARISON_DIMS], dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", part, part, dtype=np.float64))
    units: NDArray[np.float32] = (part / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(np.float32)
    return units


def _tiles(unit: NDArray[np.float32], floor: float) -> Iterator[Pairs]:
    """What reaches the floor above the diagonal, tile by tile."""
    count = len(unit)
    for top in range(0, count, _ROWS):
        rows = unit[top : top + _ROWS]
        for left in range(top, count, _COLUMNS):
            scores = rows @ unit[left : left + _COLUMNS].T
            first, second = np.nonzero(scores >= np.float32(floor))
            values = scores[first, second].astype(np.float64)
            first, second = first + top, second + left
            upper = first < second
            if upper.any():
                yield first[upper], second[upper], values[upper]


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
    """Those that are among the nearest of either end: `nearest` of them, or `most` of those from `all_from` on."""
    first, second, values = pairs
    if not len(first):
        return pairs
    allowed = np.where(values >= all_from, most, nearest)
    kept = np.zeros(len(first), dtype=np.bool_)
    for end, other in ((first, second), (second, first)):
        order = np.lexsort((other, -values, end))
        sorted_ends = end[order]
        starts = np.searchsorted(sorted_ends, sorted_ends)
        rank = np.arange(len(order)) - starts
        kept[order] |= rank < allowed[order]
    return first[kept], second[kept], values[kept]


def _exact(unit: NDArray[np.float32], pairs: Pairs) -> Pairs:
    """The same pairs with cosines in double precision."""
    first, second, _ = pairs
    values = np.zeros(len(first))
    for start in range(0, len(first), _EXACT_AT_ONCE):
        a = unit[first[start : start + _EXACT_AT_ONCE]].astype(np.float64)
        b = unit[second[start : start + _EXACT_AT_ONCE]].astype(np.float64)
        dots = np.einsum("ij,ij->i", a, b)
        lengths = np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
        values[start : start + _EXACT_AT_ONCE] = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return first, second, np.clip(values, -1.0, 1.0)
