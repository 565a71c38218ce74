"""Vector arithmetic: the one cosine of the product, and how a vector is stored.

Every backend proposes candidates by its own arithmetic; the similarity that meets a threshold is
always computed here, from the stored components, in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from wellkept.types import Vector

COMPARISON_DIMS = 512
"""How many leading components are compared: long Matryoshka vectors keep their
meaning in the prefix, and a shorter vector is used whole."""

SIMILARITY_DECIMALS = 4
"""Digits that a cosine or similarity is rounded to before it meets a threshold."""

_STORED = np.dtype("<f2")


def cosine(a: NDArray[Any], b: NDArray[Any], *, dims: int = COMPARISON_DIMS) -> float:
    """How alike two vectors point, from -1 to 1.

    Args:
        a: One vector.
        b: The other one.
        dims: Compare only this many leading components of each.

    Returns:
        The cosine, not rounded; 0.0 when either vector has no length.

    Raises:
        ValueError: The compared parts differ in length, are no vectors or are not finite. The
            caller skips this one candidate and goes on.
    """
    left, right = _prefix(a, dims), _prefix(b, dims)
    if left.shape != right.shape:
        raise ValueError(f"cannot compare vectors of {left.size} and {right.size} components")
    # One text against itself is exactly 1.0, whatever the last bit of a square root says.
    lengths = float(np.sqrt(float(left @ left) * float(right @ right)))
    if lengths == 0.0:
        return 0.0
    return min(1.0, max(-1.0, float(left @ right) / lengths))


def cosines(query: NDArray[Any], matrix: NDArray[Any], *, dims: int = COMPARISON_DIMS) -> NDArray[np.float64]:
    """The cosine of one query with every row of a matrix; rows without length give 0.

    Raises:
        ValueError: Lengths differ after truncation, the shapes are no vector and matrix, or a
            component is not finite.
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
    """The same direction with length 1, as float32; a vector without length stays zero.

    Raises:
        ValueError: It is no vector or a component is not finite.
    """
    values = _finite(v)
    # Dividing by the largest component first keeps squares of huge and tiny numbers in range.
    largest = float(np.max(np.abs(values)))
    if largest == 0.0:
        return np.zeros(values.size, dtype=np.float32)
    values = values / largest
    result: Vector = (values / np.sqrt(float(values @ values))).astype(np.float32)
    return result


def quantise(v: NDArray[Any]) -> bytes:
    """A unit vector as the bytes that are stored: little-endian float16, two bytes a component.

    Raises:
        ValueError: It is no vector, not finite, or too long for half precision.
    """
    values = _finite(v)
    if float(np.max(np.abs(values))) > 1.001:
        raise ValueError("only vectors of unit length are stored")
    return values.astype(_STORED).tobytes()


def restore(blob: bytes | bytearray | memoryview) -> Vector:
    """The vector that `quantise` stored, brought back to unit length as float32.

    Raises:
        ValueError: The bytes are not such a vector (empty, odd length, not finite).
    """
    size = memoryview(blob).nbytes
    if size == 0 or size % _STORED.itemsize:
        raise ValueError(f"{size} bytes are not a stored vector")
    return unit(np.frombuffer(blob, dtype=_STORED))


def rounded(x: float) -> float:
    """A cosine or similarity as it is shown, stored and compared with thresholds."""
    # Adding 0.0 turns -0.0 into 0.0, so that one number has one spelling.
    return round(float(x), SIMILARITY_DECIMALS) + 0.0


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
