"""The writing transaction of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from wellkept.storage import memory_rows
from wellkept.storage.sql import writing
from wellkept.storage.sql.writing import Held
from wellkept.storage.sqlite.read_transaction import ReadTx
from wellkept.types import SEARCHED, JournalEntry, Memory

_ROWS_AT_ONCE = 1000


def words_of(memory: Memory, ns: int) -> str:
    """The terms of a memory as an FTS5 row: distinct, space-separated, each prefixed with the namespace's number."""
    return " ".join([f"{ns}_{term}" for term in dict.fromkeys(memory_rows.searched(memory))])


class WriteTx(ReadTx, writing.WriteTx):
    """The only writer of the store; see `storage.sql.writing.WriteTx`.

    Attributes:
        erased: Whether content was erased, so that the log must be wiped after the commit.
    """

    erased = False

    def _open(self) -> None:
        if not self._ns:
            self._session.run("namespace.add", {"name": self.namespace})
            self._ns = self._session.row("tx.open", {"name": self.namespace})[3]

    def _insert_entry(self, values: dict[str, Any]) -> bool:
        try:
            self._session.run("journal.insert", values)
        except sqlite3.IntegrityError:
            return False
        self._session.run("namespace.set_seq", values)
        return True

    def _columns(self, memory: Memory) -> tuple[Any, ...]:
        return memory_rows.columns(memory)

    # ---- full text ----

    def _write_words(self, held: Iterable[Held]) -> None:
        rows = list(held)
        self._unword([(row.former, row.found_by) for row in rows if row.found_by is not None])
        shown = [(row.place, row.after) for row in rows if row.after is not None and row.after.status in SEARCHED]
        self._session.many("words.insert", [(place, words_of(memory, self._ns)) for place, memory in shown])

    def _unword(self, rows: Sequence[tuple[int | None, str]]) -> None:
        """Remove rows from the full text; FTS5 needs exactly the terms that were inserted."""
        stored = [(place, memory_rows.memory_of(record)) for place, record in rows]
        self._session.many("words.delete", [(place, words_of(memory, self._ns)) for place, memory in stored])

    def _clear_words(self) -> None:
        for rows in self._session.blocks("clear.words", {"ns": self._ns}, _ROWS_AT_ONCE):
            self._unword(rows)
        self._session.run("words.optimize")  # otherwise removed terms stay in the index segments

    # ---- erasure ----

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """See `Tx.erase`."""
        self.erased = True
        seq = super().erase(ids, entry)
        self._session.run("words.optimize")
        return seq

    def _empty(self) -> None:
        super()._empty()
        self._session.run("namespace.set_seq", {"ns": self._ns, "seq": 0})
        self.erased = True
