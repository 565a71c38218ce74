"""Scores and the best of them: a fast approximate pass, and an exact score that decides.

Products in single precision are fast, but their last bits depend on the block of a row, on threads, and on the number
of queries. So they only select candidates, with a margin for their largest error. The final score depends only on row
and query: the sum in double precision, rounded to six decimals, ties by id.

With |fast - true| <= ERROR, let t be the limit-th best fast score. Then `limit` rows have a true score of at least
t - ERROR, so the limit-th best rounded score is at least t - ERROR - 5e-7, and a row that reaches it has a fast score
of at least t - 2 ERROR - 1e-6. TIE is this margin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records.vectors import COMPARISON_DIMS

ERROR = (COMPARISON_DIMS + 16) * 2.0**-24
"""Largest error of the dot product of two unit vectors of 512 components in single precision, in any order."""
TIE = 2 * ERROR + 1e-6
_BLOCK = 64
_SIGN_AND_VALUE = np.int32(-0x70002000)
_BIAS = np.float32(2.0 ** (127 - 15))
_ROWS_AT_ONCE = 1024


def rows_of(blob: bytes, dim: int) -> NDArray[np.float32]:
    """Concatenated stored vectors as rows; each equals the result of `core.records.vectors.restore`."""
    stored = np.frombuffer(blob, dtype="<f2").reshape(-1, dim)
    return restored(stored)


def restored(stored: NDArray[Any]) -> NDArray[np.float32]:
    """Stored vectors as unit rows."""
    rows = np.empty(stored.shape, dtype=np.float32)
    fill(rows, stored)
    return rows


def fill(rows: NDArray[np.float32], stored: NDArray[Any]) -> None:
    """Write stored vectors as unit rows into a matrix of the same shape."""
    for start in range(0, len(stored), _ROWS_AT_ONCE):
        part = stored[start : start + _ROWS_AT_ONCE].astype(np.float64)
        largest = np.maximum(part.max(axis=1), -part.min(axis=1))
        part /= np.where(largest > 0.0, largest, 1.0)[:, None]
        # Stacked products use the same routine as a single vector, so they give the same bits.
        squares = np.matmul(part[:, None, :], part[:, :, None])[:, 0, 0]
        rows[start : start + _ROWS_AT_ONCE] = part / np.sqrt(np.where(squares > 0.0, squares, 1.0))[:, None]


def widened(stored: NDArray[Any]) -> NDArray[np.float32]:
    """Finite stored vectors in single precision, exactly; several times as fast as NumPy's own conversion.

    The bits of exponent and fraction move to their places, and one product corrects the bias of the exponent.
    """
    bits = stored.view("<i2").astype(np.int32)
    bits <<= 13
    bits &= _SIGN_AND_VALUE
    rows = bits.view(np.float32)
    rows *= _BIAS
    return rows


def lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lengths of the compared prefixes, never zero."""
    prefix = rows[:, :COMPARISON_DIMS]
    found = np.sqrt(np.einsum("ij,ij->i", prefix, prefix, dtype=np.float64))
    return np.where(found > 0.0, found, 1.0).astype(np.float32)


def direction(query: NDArray[Any]) -> NDArray[np.float32]:
    """The compared part of a query, scaled to length 1; a zero vector stays zero."""
    part = query[:COMPARISON_DIMS].astype(np.float64)
    largest = float(np.max(np.abs(part), initial=0.0))
    if not 0.0 < largest < np.inf:
        return np.zeros(part.size, dtype=np.float32)
    part /= largest
    result: NDArray[np.float32] = (part / np.sqrt((part * part).sum())).astype(np.float32)
    return result


def dots(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Dot product of each row with the query, in one thread: waking BLAS threads costs more on a busy machine."""
    vecdot = getattr(np, "vecdot", None)
    result: NDArray[np.float32] = rows @ query if vecdot is None else vecdot(rows, query)
    return result


def keys(rows: NDArray[np.float32], asked: NDArray[np.float32]) -> NDArray[np.float64]:
    """The exact rounded scores of unit rows; each depends only on its row and the query."""
    wide = asked.astype(np.float64)
    found = np.empty(len(rows), dtype=np.float64)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE, : wide.size].astype(np.float64)
        # Pairwise sums along a row do not depend on the row's position; matrix products may.
        sums = (part * wide).sum(axis=1)
        if rows.shape[1] > COMPARISON_DIMS:
            squares = (part * part).sum(axis=1)
            sums /= np.sqrt(np.where(squares > 0.0, squares, 1.0))
        found[start : start + _ROWS_AT_ONCE] = sums
    return np.round(found, 6)


def top(scores: NDArray[np.float32], limit: int) -> NDArray[np.intp]:
    """Places of all rows that can be among the `limit` best by exact score."""
    least = -2.0  # masked rows are minus infinity
    places: NDArray[np.intp] | None = None
    if scores.size > max(_BLOCK * limit, 4096):
        # The limit-th highest block maximum is a lower bound of the limit-th highest score, found in one
        # pass; only scores above it are sorted.
        bound = float(peaks(scores, limit))
        places = np.flatnonzero(scores >= max(bound - TIE, least))
    kept = scores if places is None else scores[places]
    if kept.size > limit:
        least = max(float(np.partition(kept, kept.size - limit)[kept.size - limit]) - TIE, least)
    inside = np.flatnonzero(kept >= least)
    return inside if places is None else places[inside]


def peaks(scores: NDArray[np.float32], wanted: int) -> np.float32:
    """The `wanted`-th highest of the block maxima, or the lowest; at least `wanted` scores reach it."""
    whole = scores.size // _BLOCK * _BLOCK
    highest = scores[:whole].reshape(-1, _BLOCK).max(axis=1)
    wanted = min(wanted, highest.size)
    least: np.float32 = np.partition(highest, highest.size - wanted)[highest.size - wanted]
    return least
