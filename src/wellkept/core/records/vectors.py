"""Vector arithmetic: the one cosine of the library, and vector storage.

Backends propose candidates with their own arithmetic. The cosine behind every threshold is computed here, from the
stored components, in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from wellkept.types import Vector

COMPARISON_DIMS = 512
"""Leading components that are compared: Matryoshka vectors keep their meaning in the prefix; shorter vectors are used
whole.
"""

_STORED = np.dtype("<f2")
_SAME = 2.0**-22
"""Components that differ less, differ by the rounding of float32 only."""


def cosine(a: NDArray[Any], b: NDArray[Any], *, dims: int = COMPARISON_DIMS) -> float:
    """Cosine of two vectors, from -1 to 1.

    Args:
        a: One vector.
        b: The other vector.
        dims: Compare only this many leading components.

    Returns:
        The cosine, not rounded; 0.0 when a vector is zero.

    Raises:
        ValueError: The compared parts differ in length, are not vectors or are not finite. The caller skips this
            candidate.
    """
    left, right = _prefix(a, dims), _prefix(b, dims)
    if left.shape != right.shape:
        raise ValueError(f"cannot compare vectors of {left.size} and {right.size} components")
    # Equal vectors give exactly 1.0, without rounding errors of two square roots.
    lengths = float(np.sqrt(float(left @ left) * float(right @ right)))
    if lengths == 0.0:
        return 0.0
    return min(1.0, max(-1.0, float(left @ right) / lengths))


def cosines(query: NDArray[Any], matrix: NDArray[Any], *, dims: int = COMPARISON_DIMS) -> NDArray[np.float64]:
    """Cosine of a query with every row of a matrix; zero rows give 0.

    Raises:
        ValueError: Lengths differ after truncation, the shapes are wrong, or a component is not finite.
    """
    left = _prefix(query, dims)
    rows = np.asarray(matrix, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"expected a matrix of row vectors, got {rows.ndim} dimensions")
    rows = rows[:, :dims]
    if rows.shape[1] != left.size:
        raise ValueError(f"cannot compare vectors of {left.size} and {rows.shape[1]} components")
    if not np.isfinite(rows).all():
        raise ValueError("a vector holds components that are not finite")
    lengths = np.sqrt((left @ left) * np.einsum("ij,ij->i", rows, rows))
    dots = rows @ left
    result: NDArray[np.float64] = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0.0)
    return np.clip(result, -1.0, 1.0, out=result)


def unit(v: NDArray[Any]) -> Vector:
    """The vector scaled to length 1, as float32; a zero vector stays zero.

    Raises:
        ValueError: Not a vector, or a component is not finite.
    """
    values = _finite(v)
    # Dividing by the largest component first avoids overflow and underflow of the squares.
    largest = float(np.max(np.abs(values)))
    if largest == 0.0:
        return np.zeros(values.size, dtype=np.float32)
    values = values / largest
    result: Vector = (values / np.sqrt(float(values @ values))).astype(np.float32)
    return result


def quantise(v: NDArray[Any]) -> bytes:
    """A unit vector as stored bytes: little-endian float16.

    A vector that `restore` gave is stored as it was, so a copy of a store has the vectors of the store. Rounding alone
    does not do that: the rounded components of a sparse vector may all be too large or too small, and their length 1
    is made anew when they are read.

    Raises:
        ValueError: Not a vector, not finite, or longer than 1.
    """
    values = _finite(v)
    at = int(np.argmax(np.abs(values)))
    if abs(values[at]) > 1.001:
        raise ValueError("only vectors of unit length are stored")
    rounded = values.astype(_STORED)
    nearest = rounded[at]
    if not nearest:
        return bytes(rounded.tobytes())
    # Rounding changes the length by less than one step of the largest component, so one of three was stored.
    for largest in (nearest, np.nextafter(nearest, _STORED.type(2)), np.nextafter(nearest, _STORED.type(-2))):
        stored = (values * (float(largest) / values[at])).astype(_STORED)
        if np.max(np.abs(unit(stored) - values)) < _SAME:
            return bytes(stored.tobytes())
    return bytes(rounded.tobytes())


def restore(blob: bytes | bytearray | memoryview) -> Vector:
    """Decode a vector stored by `quantise` to unit length, as float32.

    Raises:
        ValueError: The bytes are no such vector (empty, odd length, not finite).
    """
    size = memoryview(blob).nbytes
    if size == 0 or size % _STORED.itemsize:
        raise ValueError(f"{size} bytes are not a stored vector")
    return unit(np.frombuffer(blob, dtype=_STORED))


def _finite(v: NDArray[Any]) -> NDArray[np.float64]:
    values = np.asarray(v, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"expected a vector, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("a vector holds components that are not finite")
    return values


def _prefix(v: NDArray[Any], dims: int) -> NDArray[np.float64]:
    if dims < 1:
        raise ValueError(f"cannot compare {dims} components")
    return _finite(v)[:dims]
