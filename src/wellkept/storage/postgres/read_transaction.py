"""The reading transaction of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wellkept.errors import Corrupt, NotPermitted
from wellkept.storage.port import Closed
from wellkept.storage.postgres.approximate import Searcher
from wellkept.storage.postgres.rows import number_of, prefixed
from wellkept.storage.postgres.server.isolation import READ
from wellkept.storage.postgres.session import Session
from wellkept.storage.sql import reading
from wellkept.storage.sql.reading import Opened
from wellkept.storage.vectors.index import Space
from wellkept.types import Neighbours, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ReadTx(reading.ReadTx):
    """One snapshot; see `storage.sql.reading.ReadTx`."""

    _session: Session
    closed: Closed

    def _opened(self) -> Opened:
        ns = number_of(self.namespace)
        seq, (store_id, model, dim, newest, head, indexed) = self._begun(ns)
        self._searcher = Searcher(self._session, ns, model, dim) if indexed == model else None
        return Opened(store_id, model, dim, newest, ns, seq, head or "")

    def _begun(self, ns: int) -> tuple[int, Any]:
        """The number of the newest entry, and the row of `tx.header`."""
        found, header = self._session.batch([("tx.namespace", {"ns": ns}), ("tx.header", {"ns": ns})])
        return self._checked(next(iter(found.rows), None)), header.rows[0]

    def _checked(self, row: tuple[int, str, str, str, str] | None) -> int:
        seq, name, self._asking, moving, moved = row or (0, self.namespace, "", "", "")
        self.closed = Closed(moving=moving, moved=moved)
        if name != self.namespace:  # hash collision of two names; see `rows.number_of`
            raise Corrupt(
                f"the names {name!r} and {self.namespace!r} have the same number",
                where=self._session.where,
                todo="Give the namespace another name",
            )
        return seq

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """See `Tx.nearest`; exact, unless the namespace has an index."""
        if self._searcher is not None and not self.foreign:
            return self._searcher.nearest(queries, limit=limit, kinds=kinds, statuses=statuses)
        return super().nearest(queries, limit=limit, kinds=kinds, statuses=statuses)

    def _bring_up(self, space: Space) -> None:
        if self._is_current(space) or self._uncommitted or self.seq != self._committed:
            # Another reader has done it in the meantime; or this transaction has written, and its uncommitted rows
            # must not get into the shared matrix.
            return
        self._catch_up(space, self._session)
        try:
            self._session.enter(self.namespace, READ)
        except NotPermitted:
            space.stamp = None  # a token revoked in the meantime sees no rows, but others share this matrix
            raise

    _counted: Mapping[str, int]
    """Of the terms that were listed last, the number of rows of each."""

    def _listed(self, terms: Sequence[str], most: int) -> dict[str, Sequence[int]]:
        asked = {"ns": self._ns, "terms": prefixed(terms, self._ns)}
        self._counted = {terms[at - 1]: count for at, count in self._session.rows("words.counts", asked)}
        return self._all_places([term for term, count in self._counted.items() if count <= most])

    def _counts(self, terms: Sequence[str]) -> Iterable[tuple[int, str]]:
        return [(self._counted[term], term) for term in terms]

    def _places(self, term: str) -> Sequence[int]:
        return self._all_places([term])[term]

    def _all_places(self, terms: Sequence[str]) -> dict[str, Sequence[int]]:
        if not terms:
            return {}
        asked = {"ns": self._ns, "terms": prefixed(terms, self._ns)}
        return {terms[at - 1]: found or () for at, found in self._session.rows("words.places", asked)}
