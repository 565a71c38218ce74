"""Nearest stored memories for a run of writes: the backend is asked once, then kept true to the run itself.

A batch sees its own predecessors (S4-15): rows that the run has written or changed since the backend
was asked are compared beside the backend's answer, with the same exact cosine (I9).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wellkept.core.vectors import cosines
from wellkept.storage.port import Tx
from wellkept.types import Memory, Neighbours, Vector

FIRST_ASK = 24
LAST_ASK = 1536


class Nearby:
    """Answers "who is near item i?" for the items of one run, inside one transaction.

    Args:
        tx: The transaction.
        queries: Kind and vector of each item; None for items without a vector.
    """

    def __init__(self, tx: Tx, queries: Sequence[tuple[str, Vector] | None]) -> None:
        self._tx = tx
        self._queries = queries
        self._asked: dict[int, Neighbours] = {}
        self._written: dict[str, tuple[str, Vector | None]] = {}
        self._rows: dict[str, tuple[list[str], list[Vector]]] = {}

    def of(self, index: int, limit: int) -> list[tuple[str, float]]:
        """At least the `limit` nearest memories of an item's kind with their cosines, nearest first.

        Fewer than `limit` means that there are no more.
        """
        query = self._queries[index]
        if query is None:
            return []
        kind, vector = query
        stored = self._stored(index, kind, vector, limit)
        found = {}
        if stored.ids:
            found = dict(zip(stored.ids, cosines(vector, stored.vectors), strict=True))
        for written in self._written:
            found.pop(written, None)
        if kind in self._rows:
            ids, rows = self._rows[kind]
            found.update(zip(ids, cosines(vector, np.stack(rows)), strict=True))
        return sorted(((key, float(value)) for key, value in found.items()), key=lambda pair: (-pair[1], pair[0]))

    def wrote(self, memory: Memory, vector: Vector | None) -> None:
        """A memory was written or changed by this run; without a vector, or inactive, it is near nobody."""
        self._written[memory.id] = (memory.kind, vector if memory.status == "active" else None)
        self._rows = {}
        for key, (kind, row) in self._written.items():
            if row is not None:
                ids, rows = self._rows.setdefault(kind, ([], []))
                ids.append(key)
                rows.append(row)

    def _stored(self, index: int, kind: str, vector: Vector, limit: int) -> Neighbours:
        if limit > FIRST_ASK:
            return self._ask(np.asarray([vector]), kind, limit)[0]
        if index not in self._asked:
            same = [
                (place, query[1])
                for place, query in enumerate(self._queries)
                if query is not None and query[0] == kind and place >= index
            ]
            answers = self._ask(np.asarray([row for _, row in same]), kind, FIRST_ASK)
            self._asked.update(zip((place for place, _ in same), answers, strict=True))
        return self._asked[index]

    def _ask(self, rows: np.ndarray, kind: str, limit: int) -> list[Neighbours]:
        return self._tx.nearest(rows.astype(np.float32, copy=False), limit=limit, kinds=(kind,), statuses=("active",))
