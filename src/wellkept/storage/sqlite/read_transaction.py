"""The reading transaction of SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from wellkept.storage.sql import reading
from wellkept.storage.sql.reading import Opened
from wellkept.types import Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellkept.storage.vectors.index import Space


class ReadTx(reading.ReadTx):
    """One snapshot; see `storage.sql.reading.ReadTx`."""

    def _opened(self) -> Opened:
        store_id, model, dim, ns, seq, newest, head = self._session.row("tx.open", {"name": self.namespace})
        # No namespace has the number 0, so an unknown namespace is empty.
        return Opened(store_id, model, dim, newest, ns or 0, seq or 0, head or "")

    def _find_order(self, where: Filter) -> str:
        # Sorting the few rows of a key is faster than an ordered scan of the namespace.
        by_key = bool(where.ids or where.hashes or where.id_prefix or where.subject)
        return "find.order_by_key" if by_key else "find.order"

    def _journal_from(self, *, narrow: bool) -> str:
        # With a more selective condition, the bound must not make SQLite scan the whole journal.
        return "journal.narrow" if narrow else "journal"

    def _bring_up(self, space: Space) -> None:
        if self._is_current(space):
            return  # another reader has done it in the meantime
        if not self._uncommitted and self.seq == self._committed:
            self._catch_up(space, self._session)
            return
        # This transaction has uncommitted rows, which must not get into the shared matrix. It holds the
        # write lock, so the last committed state is the one at its start.
        with self._snapshot() as session:
            if session is not None:
                self._catch_up(space, session)

    def _counts(self, terms: Sequence[str]) -> Iterable[tuple[int, str]]:
        for term in terms:
            row = self._session.row("words.count", {"term": f"{self._ns}_{term}"})
            if row is not None:
                yield row[0], term

    def _places(self, terms: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        import numpy as np

        found = {}
        for term in terms:
            listed = self._session.row("words.listed", {"query": f'"{self._ns}_{term}"'})[0]
            found[term] = np.fromstring(listed or "", dtype=np.int64, sep=" ")
        return found
