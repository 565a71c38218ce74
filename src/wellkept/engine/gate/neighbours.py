"""Nearest stored memories for a run of writes: the backend is queried once, then updated with the run's own writes.

A batch sees its own predecessors: rows that the run has written or changed since the query are compared in
addition to the backend's answer, with the same exact cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records.vectors import COMPARISON_DIMS, cosines
from wellkept.storage.port import Tx
from wellkept.types import SEARCHED, Memory, Neighbours, Vector

FIRST_ASK = 24
LAST_ASK = 1536
_ROUGH = 1e-3
"""Upper bound of the difference between a single-precision product and the exact cosine."""


Query = tuple[tuple[str, ...], Vector] | None
"""Kinds to search, and the vector."""


class Nearby:
    """Finds the nearest memories for the items of one run.

    A run may need several transactions, because an evolved text is embedded between two of them. Answers from
    one stay valid in the next as long as nobody else wrote in between.

    Args:
        count: Number of items in the run.
        query: Kinds to search and vector of an item, by index; None for an item without a vector.
        hidden: Ids of memories that are neighbours of nothing.
    """

    def __init__(self, count: int, query: Callable[[int], Query], hidden: Collection[str] = ()) -> None:
        self._count = count
        self._query = query
        self._hidden = hidden
        self._seq = -1
        self._forget()

    def enter(self, tx: Tx) -> None:
        """Continue inside this transaction."""
        self._tx = tx
        if tx.seq != self._seq:
            self._forget()
            self._seq = tx.seq

    def _forget(self) -> None:
        self._asked: dict[int, Neighbours] = {}
        self._written: dict[str, _Rows] = {}
        self._rows: dict[str, _Rows] = {}

    def of(self, index: int, *, limit: int, floor: float) -> tuple[dict[str, float], bool]:
        """Memories of an item's kinds with a cosine of at least `floor`, nearest first.

        Returns:
            Their cosines by id, and whether these are all: False when the `limit` nearest stored memories
            all reach the floor, so that there may be more.
        """
        query = self._query(index)
        if query is None:
            return {}, True
        kinds, vector = query
        stored = self._stored(index, kinds, vector, limit)
        found = _near(vector, stored.ids, stored.vectors, floor)
        complete = len(found) < limit
        for changed in found.keys() & self._written.keys():
            del found[changed]
        for later in [one for one in found if one in self._hidden]:
            del found[later]
        for kind in kinds:
            rows = self._rows.get(kind)
            if rows is not None:
                found |= _near(vector, rows.ids, rows.vectors, floor)
        found.pop("", None)
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))), complete

    def applied(self, seq: int) -> None:
        """Record a journal entry written by this run."""
        self._seq = seq

    def wrote(self, memory: Memory, vector: Vector | None) -> None:
        """Record a memory written or changed by this run; without a vector, or inactive, it is no neighbour."""
        former = self._written.get(memory.id)
        if former is not None:
            former.leave(memory.id)
        rows = self._written[memory.id] = self._rows.setdefault(memory.kind, _Rows())
        if vector is not None and memory.status in SEARCHED:
            rows.enter(memory.id, vector)

    def _stored(self, index: int, kinds: tuple[str, ...], vector: Vector, limit: int) -> Neighbours:
        if limit > FIRST_ASK:
            return self._ask(np.asarray([vector]), kinds, limit)[0]
        if index not in self._asked:
            rest = ((place, self._query(place)) for place in range(index, self._count))
            same = [(place, query[1]) for place, query in rest if query is not None and query[0] == kinds]
            answers = self._ask(np.asarray([row for _, row in same]), kinds, FIRST_ASK)
            self._asked.update(zip((place for place, _ in same), answers, strict=True))
        return self._asked[index]

    def _ask(self, rows: np.ndarray, kinds: tuple[str, ...], limit: int) -> list[Neighbours]:
        return self._tx.nearest(rows.astype(np.float32, copy=False), limit=limit, kinds=kinds, statuses=SEARCHED)


class _Rows:
    """Vectors written by this run, of one kind; a position without an id is free.

    Attributes:
        ids: Id of the vector at each position.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._matrix: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """One row per position in `ids`."""
        return self._matrix[: len(self.ids)]

    def enter(self, memory_id: str, vector: Vector) -> None:
        """Add a row."""
        count = len(self.ids)
        if count == len(self._matrix):
            grown = np.zeros((max(16, 2 * count), vector.size), dtype=np.float32)
            if count:
                grown[:count] = self._matrix
            self._matrix = grown
        self._matrix[count] = vector
        self.ids.append(memory_id)

    def leave(self, memory_id: str) -> None:
        """Free the row of a memory, if it has one."""
        if memory_id in self.ids:
            self.ids[self.ids.index(memory_id)] = ""


def _near(vector: Vector, ids: Sequence[str], rows: NDArray[np.float32], floor: float) -> dict[str, float]:
    """Exact cosines of the rows that reach the floor.

    Most rows are far away: for unit vectors, one product in single precision excludes those, and only the
    others need exact arithmetic.
    """
    if not ids:
        return {}
    if vector.size > COMPARISON_DIMS:
        places = list(range(len(ids)))
    else:
        places = np.flatnonzero(rows @ vector >= floor - _ROUGH).tolist()
    if not places:
        return {}
    exact = cosines(vector, rows[places]).tolist()
    return {ids[at]: value for at, value in zip(places, exact, strict=True) if value >= floor}
