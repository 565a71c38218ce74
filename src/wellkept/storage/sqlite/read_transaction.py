"""A reading transaction on a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wellkept.storage.sql import reading
from wellkept.storage.sql.reading import Opened
from wellkept.storage.vectors.index import Space
from wellkept.types import Filter


class ReadTx(reading.ReadTx):
    """One snapshot; see `storage.sql.reading.ReadTx`."""

    def _opened(self) -> Opened:
        store_id, model, dim, ns, seq, newest, head = self._session.row("tx.open", {"name": self.namespace})
        # No namespace has the number 0: an unknown one is simply empty.
        return Opened(store_id, model, dim, newest, ns or 0, seq or 0, head or "")

    def _find_order(self, where: Filter) -> str:
        # Few rows of a key are sorted sooner than the namespace is walked in order.
        by_key = bool(where.ids or where.hashes or where.id_prefix or where.subject)
        return "find.order_by_key" if by_key else "find.order"

    def _journal_from(self, *, narrow: bool) -> str:
        # Beside a narrower condition the bound must not tempt SQLite to walk the whole journal.
        return "journal.narrow" if narrow else "journal"

    def _bring_up(self, space: Space) -> None:
        if self._is_current(space):
            return  # another reader has done it meanwhile
        if not self._uncommitted and self.seq == self._committed:
            self._catch_up(space, self._session)
            return
        # This transaction has written; what it sees is not yet what others may see. It holds the
        # write lock, so the last committed state is the one it began with.
        with self._snapshot() as session:
            if session is not None:
                self._catch_up(space, session)

    def _counts(self, terms: Sequence[str]) -> Iterable[tuple[int, str]]:
        for term in terms:
            row = self._session.row("words.count", {"term": f"{self._ns}_{term}"})
            if row is not None:
                yield row[0], term

    def _places(self, terms: Sequence[str]) -> dict[str, Sequence[int]]:
        return {
            term: [place for (place,) in self._session.rows("words.places", {"query": f'"{self._ns}_{term}"'})]
            for term in terms
        }
