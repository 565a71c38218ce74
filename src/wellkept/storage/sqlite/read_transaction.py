"""The reading transaction of SQLite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.storage.memory_rows import common_above
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

    def _counts(self, terms: Sequence[str]) -> list[tuple[int, str]]:
        counted: list[tuple[int, str]] = []
        self._listed: dict[str, NDArray[np.int64]] = {}
        most = common_above(self.seq)
        for term in filter(_TOKEN.fullmatch, terms):
            # Counting the rows walks through all of them, so those of a term that is not common are read at once.
            places = self._list(term, most + 1)
            if places.size <= most:
                self._listed[term] = places
                counted.append((places.size, term))
            else:
                counted.append((self._session.row("words.count", {"term": f"{self._ns}_{term}"})[0], term))
        return counted

    def _places(self, terms: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        return {term: self._listed[term] if term in self._listed else self._list(term, -1) for term in terms}

    def _list(self, term: str, most: int) -> NDArray[np.int64]:
        """The rows that contain a term, at most so many; all for -1."""
        import numpy as np

        listed = self._session.row("words.listed", {"query": f'"{self._ns}_{term}"', "most": most})[0]
        return np.fromstring(listed or "", dtype=np.int64, sep=" ")
