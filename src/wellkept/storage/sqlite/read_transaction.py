"""The reading transaction of SQLite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.storage.sql import reading
from wellkept.storage.sql.reading import Opened
from wellkept.types import Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellkept.storage.vectors.index import Space


_TOKEN = re.compile(r"[^\x00-/:-^`{-\x7f]+")
"""What the tokenizer of the full text makes one token of: in ASCII a-z, 0-9 and "_". No row has any other term."""
_BY_KEY = {name: f"{name}_by_key" for name in ("find.kinds", "find.statuses", "find.order")}


class ReadTx(reading.ReadTx):
    """One snapshot; see `storage.sql.reading.ReadTx`."""

    def _opened(self) -> Opened:
        store_id, model, dim, ns, seq, newest, head = self._session.row("tx.open", {"name": self.namespace})
        # No namespace has the number 0, so an unknown namespace is empty.
        return Opened(store_id, model, dim, newest, ns or 0, seq or 0, head or "")

    def _find_parts(self, where: Filter, parts: list[str]) -> list[str]:
        # Few rows have a key. SQLite would rather read all rows of a kind and status, or scan the namespace in order.
        by_key = bool(where.ids or where.hashes or where.id_prefix or where.subject)
        return [_BY_KEY.get(part, part) for part in parts] if by_key else parts

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

    def _listed(self, terms: Sequence[str], most: int) -> dict[str, NDArray[np.int64]]:
        found = {term: self._places(term, most + 1) for term in terms}
        return {term: places for term, places in found.items() if places.size <= most}

    def _counts(self, terms: Sequence[str]) -> list[tuple[int, str]]:
        return [(self._session.row("words.count", {"term": f"{self._ns}_{term}"})[0], term) for term in terms]

    def _places(self, term: str, most: int = -1) -> NDArray[np.int64]:
        """The rows that contain a term, at most so many; all for -1."""
        import numpy as np

        if not _TOKEN.fullmatch(term):
            return np.zeros(0, dtype=np.int64)
        listed = self._session.row("words.listed", {"query": f'"{self._ns}_{term}"', "most": most})[0]
        return np.fromstring(listed or "", dtype=np.int64, sep=" ")
