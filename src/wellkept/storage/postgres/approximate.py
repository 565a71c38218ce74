"""Search of a namespace by an index in the database instead of a matrix in memory.

A matrix is exact and takes 1.5 KB per row in every searching process. For some hundred thousand rows in one namespace
that may be too much. Then the owner may build an index of that namespace (HNSW: Malkov and Yashunin, 2016, in
pgvector). It may miss rows, and a duplicate that is not found is stored. So it is opt-in, and building it reports its
recall.

Candidates of the index are compared exactly: more rows are fetched than requested, and the stored vectors decide the
order. If a filter leaves too few of them and not many rows fit it, all those rows are compared instead, so that a rare
kind is found whatever the index proposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.core.records.vectors import COMPARISON_DIMS, quantise
from wellkept.errors import StorageError
from wellkept.frozen import frozen
from wellkept.storage.port import Sampled
from wellkept.storage.postgres.session import Half, Session
from wellkept.storage.postgres.sql import queries
from wellkept.storage.vectors.index import Space
from wellkept.storage.vectors.rows import Block, Stamp
from wellkept.types import ALL_STATUSES, Neighbours, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

FETCHED = 4
"""Factor of rows fetched over rows requested."""
LEAST_FETCHED = 64
MOST_FETCHED = 16_384
"""When a filter leaves too few of the fetched rows, four times as many are fetched, up to this number."""
FEW = 4096
"""So many rows that fit a filter are compared one by one, at about 1 KB each, rather than looked for in the index."""
LEAST_WIDTH, MOST_WIDTH = 200, 1000
"""Bounds of the candidate list of a search (`ef_search`); the second is pgvector's maximum."""
_SAMPLES = 100
_SAMPLE_LIMIT = 10


@frozen
class Searcher:
    """Searches one namespace by its index; numbers written into statements never come from input.

    Args:
        session: A connection inside a transaction; outside one for `build` and `drop`.
        ns: Number of the namespace.
        model: Number of the embedder.
        dim: Dimension of its vectors.
    """

    session: Session
    ns: int
    model: int
    dim: int

    @property
    def name(self) -> str:
        """Name of the index."""
        return f"approximate_{self.ns:x}_{self.model}"

    def _with_numbers(self, name: str, **named: str) -> str:
        return queries()[name].format(index=self.name, compared=self.compared, ns=self.ns, model=self.model, **named)

    @property
    def compared(self) -> str:
        """SQL expression of the indexed part of a vector."""
        if self.dim > COMPARISON_DIMS:
            return f"(subvector(vec, 1, {COMPARISON_DIMS})::halfvec({COMPARISON_DIMS}))"
        return f"(vec::halfvec({self.dim}))"

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str], statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """See `Tx.nearest`; includes rows written by this transaction, and may miss rows."""
        asked = np.atleast_2d(np.asarray(queries, dtype=np.float32))
        if limit < 1 or asked.shape[1] != self.dim:
            return [Neighbours((), np.zeros((0, asked.shape[1]), dtype=np.float32)) for _ in asked]
        return [self._one(query, limit, kinds, statuses) for query in asked]

    def _one(
        self, query: NDArray[np.float32], limit: int, kinds: Sequence[str], statuses: Sequence[Status]
    ) -> Neighbours:
        here = {"ns": self.ns, "model": self.model, "kinds": list(kinds), "statuses": list(statuses or ALL_STATUSES)}
        fetched = max(FETCHED * limit, LEAST_FETCHED)
        counted = False
        while True:
            hashes = self._proposed(query, fetched)
            rows = self.session.rows("approximate.rows", {**here, "hashes": hashes})
            fitting = [row for row in rows if not kinds or row[1] in kinds]
            if len(fitting) >= limit:
                return self._ranked(query, fitting, limit)
            if not counted and self.session.row("approximate.fitting", {**here, "most": FEW + 1})[0] <= FEW:
                return self._ranked(query, self.session.rows("approximate.few", here), limit)
            counted = True
            if len(hashes) < fetched or fetched >= MOST_FETCHED:
                return self._ranked(query, fitting, limit)
            fetched = min(FETCHED * fetched, MOST_FETCHED)

    def _proposed(self, query: NDArray[np.float32], limit: int) -> list[str]:
        width = min(MOST_WIDTH, max(LEAST_WIDTH, 2 * limit))
        self.session.row("approximate.settings", {"ns": self.ns, "width": str(width)})
        return self._by_distance("approximate.search", query, limit)

    def _by_distance(self, name: str, query: NDArray[np.float32], limit: int) -> list[str]:
        # The numbers are literals, so that the planner can match the condition of the partial index.
        sql = self._with_numbers(name)
        asked = Half(quantise(query[:COMPARISON_DIMS]))
        return [row[0] for row in self.session.select(sql, {"asked": asked, "limit": limit})]

    def _ranked(self, query: NDArray[np.float32], rows: Sequence[Any], limit: int) -> Neighbours:
        space = Space()
        ids, kinds, statuses, blobs = zip(*rows, strict=True) if rows else ((), (), (), ())
        space.load(Stamp("", self.model, self.dim), 0, [Block(ids, kinds, statuses, self.session.vector_bytes(blobs))])
        return space.nearest(query, limit=limit)[0]

    # ---- build and drop, outside a transaction ----

    def build(self) -> None:
        """Build the index without blocking writers, and search by it from then on.

        An interrupted build leaves an unused index; a further build replaces it.
        """
        self.drop()
        (table,) = self.session.row("approximate.partition", {"ns": self.ns})
        self.session.script(self._with_numbers("approximate.build", table=table))
        (memories,) = self.session.row("approximate.memories", {"ns": self.ns})
        self.session.script(self._with_numbers("approximate.build_kinds", table=memories))
        self.session.run("approximate.mark", {"ns": self.ns, "model": self.model})

    def drop(self) -> None:
        """Search in memory again and drop the index."""
        self.session.run("approximate.unmark", {"ns": self.ns})
        for (name,) in self.session.rows("approximate.indexes", {"start": f"approximate_{self.ns:x}_"}):
            self.session.script(queries()["approximate.drop"].format(index=name))

    def sampled(self) -> Sampled:
        """Recall of the index, measured with stored vectors as queries against an exact search."""
        here = {"ns": self.ns, "model": self.model}
        blobs = [blob for (blob,) in self.session.rows("approximate.sample", here | {"limit": _SAMPLES})]
        asked = [np.frombuffer(self.session.vector_bytes([blob]), dtype="<f2").astype(np.float32) for blob in blobs]
        proposed = [set(self._proposed(query, _SAMPLE_LIMIT)) for query in asked]
        truly = [set(self._by_distance("approximate.compare", query, _SAMPLE_LIMIT)) for query in asked]
        there = sum(len(nearest) for nearest in truly)
        found = sum(len(one & nearest) for one, nearest in zip(proposed, truly, strict=True))
        return Sampled(
            vectors=self.session.row("approximate.count", here)[0],
            size=self.session.row("approximate.size", {"index": f"wellkept.{self.name}"})[0] or 0,
            samples=len(asked),
            recall=found / there if there else 1.0,
        )


def built(session: Session, ns: int) -> Sampled:
    """Build the index of a namespace and measure its recall.

    Args:
        session: A connection of its own, outside a transaction.
        ns: Number of the namespace.

    Raises:
        StorageError: The store has no embedder yet.
    """
    model, dim = session.row("approximate.header")
    if not dim:
        raise StorageError("the store holds no vectors yet", where=session.where, todo="Store something first")
    searcher = Searcher(session, ns, model, dim)
    searcher.build()
    with session.reading():
        return searcher.sampled()


def dropped(session: Session, ns: int) -> None:
    """Search a namespace exactly again.

    Args:
        session: A connection of its own, outside a transaction.
        ns: Number of the namespace.
    """
    Searcher(session, ns, 0, 0).drop()
