"""The vectors of a matrix as rows of length 1: in single precision, or as they are stored, in half the memory."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records.vectors import COMPARISON_DIMS, quantise
from wellkept.storage.vectors import scan

_BLOCK = 1024
"""Stored rows that are widened together, so that they stay in the cache until they are compared."""
_MANY = 4096


class UnitRows:
    """Rows that are proposed by fast scores and compared by their exact components.

    Stored rows are those of the database, of about length 1. Their fast scores take longer, as NumPy has no product of
    half precision, so they suit a matrix of which a sieve leaves few rows. Their exact components are the same.

    Args:
        dim: Components of a row.
        room: Number of rows, all zero at first.
        stored: Whether to hold the rows as they are stored.
    """

    def __init__(self, dim: int, room: int, *, stored: bool = False) -> None:
        self.stored = stored
        self._dim = dim
        self._rows: NDArray[Any] = np.zeros((room, dim), dtype="<f2" if stored else np.float32)
        self._lengths: NDArray[np.float32] = np.ones(room if self._measured else 0, dtype=np.float32)

    @property
    def _measured(self) -> bool:
        """Whether the compared parts have other lengths than 1."""
        return self.stored or self._dim > COMPARISON_DIMS

    def __len__(self) -> int:
        """The room, not the number of rows in use."""
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays in bytes."""
        return self._rows.nbytes + self._lengths.nbytes

    # ---- contents ----

    def fill(self, start: int, rows: NDArray[Any]) -> None:
        """Set rows in the stored form, from this place on."""
        end = start + len(rows)
        if self.stored:
            self._rows[start:end] = rows
        else:
            scan.fill(self._rows[start:end], rows)
        self._measure(start, end)

    def put(self, at: int, vector: NDArray[np.float32]) -> bool:
        """Set one row to a restored vector; False if the stored form does not give these very components."""
        if self.stored:
            row = np.frombuffer(quantise(vector), dtype="<f2")
            self._rows[at] = row
            self._measure(at, at + 1)
            return bool((self.exact(np.array([at]))[0] == vector).all())
        self._rows[at] = vector
        self._measure(at, at + 1)
        return True

    def _measure(self, start: int, end: int) -> None:
        for at in range(start, end if self._measured else start, _MANY):
            to = min(at + _MANY, end)
            self._lengths[at:to] = scan.lengths(self._wide(slice(at, to)))

    def move(self, origin: int, to: int) -> None:
        """Copy a row to another place."""
        self._rows[to] = self._rows[origin]
        if self._measured:
            self._lengths[to] = self._lengths[origin]

    def resized(self, count: int, room: int) -> Self:
        """The first rows with other room."""
        fresh = type(self)(self._dim, room, stored=self.stored)
        fresh._rows[:count] = self._rows[:count]
        if self._measured:
            fresh._lengths[:count] = self._lengths[:count]
        return fresh

    def widened(self, count: int) -> Self:
        """The same rows in single precision."""
        fresh = type(self)(self._dim, len(self))
        fresh.fill(0, self._rows[:count])
        return fresh

    def narrowed(self, count: int) -> Self | None:
        """The same rows as they are stored; None if some would change."""
        fresh = type(self)(self._dim, len(self), stored=True)
        for start in range(0, count, _MANY):
            rows = self._rows[start : min(start + _MANY, count)]
            fresh.fill(start, rows.astype("<f2"))
            for at in np.flatnonzero((fresh.exact(np.arange(start, start + len(rows))) != rows).any(axis=1)):
                if not fresh.put(start + int(at), rows[at]):
                    return None
        return fresh

    # ---- scores ----

    def exact(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """The rows at these places, each to the last bit that of `core.records.vectors.restore`."""
        rows: NDArray[np.float32] = self._rows[places]
        if self.stored:
            return scan.restored(rows)
        return rows

    def keys(self, places: NDArray[np.intp], asked: NDArray[np.float32]) -> NDArray[np.float64]:
        """The exact rounded scores of the rows at these places."""
        if places.size <= _MANY:
            return scan.keys(self.exact(places), asked)
        parts = [places[at : at + _MANY] for at in range(0, places.size, _MANY)]
        return np.concatenate([scan.keys(self.exact(part), asked) for part in parts])

    def near(self, places: NDArray[np.intp] | slice) -> NDArray[np.float32]:
        """These rows, which are compared whole, of length 1 but for the rounding of single precision."""
        rows = self._wide(places)
        if self.stored:
            rows /= self._lengths[places, None]
        return rows

    def scores(self, count: int, asked: NDArray[np.float32]) -> NDArray[np.float32]:
        """Fast scores of the first rows with one query."""
        if self.stored:
            return self.scores_at(np.arange(count), asked)
        found = scan.dots(self._wide(slice(count)), asked)
        if self._measured:
            found /= self._lengths[:count]
        return found

    def scores_at(self, places: NDArray[np.intp], asked: NDArray[np.float32]) -> NDArray[np.float32]:
        """Fast scores of the rows at these places with one query."""
        parts = [places[at : at + _BLOCK] for at in range(0, max(1, places.size), _BLOCK)]
        found = np.concatenate([scan.dots(self._wide(part), asked) for part in parts])
        if self._measured:
            found /= self._lengths[places]
        return found

    def scores_of(self, count: int, asked: NDArray[np.float32]) -> NDArray[np.float32]:
        """Fast scores of the first rows with several queries, one row for each query."""
        found = np.empty((len(asked), count), dtype=np.float32)
        for start in range(0, count, _MANY if self.stored else max(1, count)):
            part = slice(start, min(start + _MANY, count) if self.stored else count)
            np.matmul(asked, self._wide(part).T, out=found[:, part])
        if self._measured:
            found /= self._lengths[:count]
        return found

    def _wide(self, places: NDArray[np.intp] | slice) -> NDArray[np.float32]:
        """The compared parts of rows in single precision, of the length that they have."""
        rows: NDArray[Any] = self._rows[places]
        return scan.widened(rows[:, :COMPARISON_DIMS]) if self.stored else rows[:, :COMPARISON_DIMS]
