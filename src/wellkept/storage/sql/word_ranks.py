"""Rows in the order of the words that they share with a query: summed in arrays, and sorted only as far as asked.

A query of a dozen words meets a tenth of a large namespace, of which a few rows are wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_DENSE = 16
"""Places spread over at most this many times their number are summed by position, others by sorting."""


class WordRanks:
    """The sum of the weights of each row, by its place.

    Args:
        known: Rows with their positive weight, as for `add`.

    Example:
        >>> ranks = WordRanks()
        >>> ranks.add([1, 5, 9], 2.0)
        >>> ranks.add([5, 7], 1.0)
        >>> ranks.best(3)
        [5, 9, 1]
    """

    def __init__(self, known: Iterable[tuple[Sequence[int] | Places, float]] = ()) -> None:
        self._places: list[Places] = []
        self._weights: list[float] = []
        self._summed: tuple[Places, NDArray[np.float64]] | None = None
        for places, weight in known:
            self.add(places, weight)

    def add(self, places: Sequence[int] | Places, weight: float) -> None:
        """Add a positive weight to these rows, each of which is named once."""
        self._places.append(np.asarray(places, dtype=np.int64))
        self._weights.append(weight)
        self._summed = None

    def __len__(self) -> int:
        """Number of rows with a weight."""
        return self._sums()[0].size

    def best(self, most: int) -> list[int]:
        """At most this many places: the highest sums first, of equal ones the later place."""
        places, sums = self._sums()
        if most < sums.size:
            least = np.partition(sums, sums.size - most)[sums.size - most]
            inside = np.flatnonzero(sums >= least)
            places, sums = places[inside], sums[inside]
        order = np.lexsort((-places, -sums))[:most]
        ranked: list[int] = places[order].tolist()
        return ranked

    def _sums(self) -> tuple[Places, NDArray[np.float64]]:
        """Each place once, with its sum; the weights are added in the order in which they came."""
        if self._summed is None:
            self._summed = self._added()
        return self._summed

    def _added(self) -> tuple[Places, NDArray[np.float64]]:
        named = np.concatenate(self._places) if self._places else np.zeros(0, dtype=np.int64)
        weights = np.repeat(self._weights, [part.size for part in self._places])
        lowest = int(named.min()) if named.size else 0
        spread = int(named.max()) - lowest + 1 if named.size else 0
        if spread <= _DENSE * named.size:
            sums = _sums_of(named - lowest, weights, spread)
            held = np.flatnonzero(sums)
            return held + lowest, sums[held]
        places, at = np.unique(named, return_inverse=True)
        return places, _sums_of(at, weights, places.size)


def _sums_of(places: Places, weights: NDArray[np.float64], room: int) -> NDArray[np.float64]:
    return np.bincount(places, weights, room).astype(np.float64, copy=False)
