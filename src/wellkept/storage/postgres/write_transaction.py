"""The writing transaction of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wellkept.storage.postgres import rows
from wellkept.storage.postgres.read_transaction import ReadTx
from wellkept.storage.sql import writing
from wellkept.storage.sql.writing import Held
from wellkept.types import SEARCHED, Memory

PLACES_OF_AN_ENTRY = 1 << 20
"""Rows per journal entry in `place`, which orders insertions without a counter: entry number, then row number."""


class WriteTx(ReadTx, writing.WriteTx):
    """The only writer of its namespace; see `storage.sql.writing.WriteTx`."""

    _mark: str | None = None

    def _begun(self, ns: int) -> tuple[int, Any]:
        """Lock the namespace against other writers by incrementing its number."""
        bounds = self._session.bounds
        if bounds.elsewhere:
            self._session.put("lock.patience", [{"ns": ns, "wait": f"{bounds.lock}ms"}])
        taken, header = self._session.batch([("namespace.take", {"ns": ns}), ("tx.header", {"ns": ns})])
        row = next(iter(taken.rows), None)
        if row is None:
            row = self._session.row("namespace.make", {"ns": ns, "name": self.namespace})
            header = self._session.batch([("tx.header", {"ns": ns})])[0]  # another writer may have been first
        seq = self._checked(row)
        self._taken = seq + 1
        return seq, header.rows[0]

    def finish(self) -> None:
        """Before the commit, set the namespace's number to that of the newest entry."""
        if self._taken != self.seq:
            self._session.run("namespace.set_seq", {"ns": self._ns, "seq": self.seq})

    def _insert_entry(self, values: dict[str, Any]) -> bool:
        marked = self._session.row("journal.insert", values)
        if marked is None:
            return False
        self._mark = marked[0]
        return True

    @property
    def wrote(self) -> bool:
        """Whether an entry was appended."""
        return self._mark is not None

    def has(self, other: WriteTx) -> bool:
        """Whether the journal contains the newest entry of another transaction in this namespace."""
        asked = {"ns": self._ns, "seq": other.seq, "mark": other._mark}
        return other._mark is not None and self._session.row("journal.marked", asked) is not None

    def _first_place(self) -> int:
        # Rows without an entry come after all existing rows.
        return (self.seq + 1) * PLACES_OF_AN_ENTRY

    def _columns(self, memory: Memory) -> tuple[Any, ...]:
        return rows.columns(memory)

    # ---- full text ----

    def _write_words(self, held: Iterable[Held]) -> None:
        changed = list(held)
        shown = [(row.place, row.after) for row in changed if row.after is not None and row.after.status in SEARCHED]
        places = {place for place, _ in shown}
        stale = [row.former for row in changed if row.former is not None and row.former not in places]
        if stale:
            self._session.put("words.delete", [{"ns": self._ns, "places": stale}])
        words = [(self._ns, place, memory.id, rows.words_of(memory, self._ns)) for place, memory in shown]
        self._session.put("words.put", words)

    def _clear_words(self) -> None:
        self._session.run("clear.words", {"ns": self._ns})
