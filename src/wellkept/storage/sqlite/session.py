"""One connection, which runs named statements and raises typed errors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wellkept.storage.sql import connection as common
from wellkept.storage.sql.connection import Answer, Parameters
from wellkept.storage.sqlite.failures import translated
from wellkept.storage.sqlite.sql import queries


class Session(common.Session):
    """A connection in which named statements begin and end every transaction.

    Args:
        path: The store's file; absolute, so that no name is parsed as a URI.
        busy_seconds: Maximum wait for another process, in seconds.
    """

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        self.where = str(path)
        self._queries = queries()
        try:
            self._connection = sqlite3.connect(
                self.where,
                timeout=busy_seconds,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
        except sqlite3.Error as error:
            raise translated(error, self.where) from error

    def text(self, *names: str) -> str:
        """The statement that consists of the parts with these names."""
        return "\n".join([self._queries[name] for name in names])

    def run(self, name: str, parameters: Parameters = None) -> int:
        """Run a statement; return the number of changed rows."""
        return self.execute(self._queries[name], parameters).rowcount

    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement for each row."""
        try:
            self._connection.executemany(self._queries[name], map(_bound, rows))
        except sqlite3.IntegrityError:
            raise
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise translated(error, self.where) from error

    put = many

    def batch(self, asked: Sequence[tuple[str, Parameters]]) -> list[Answer]:
        """Run several statements."""
        answers = []
        for name, parameters in asked:
            cursor = self.execute(self._queries[name], parameters)
            answers.append(Answer(cursor.rowcount, cursor.fetchall()))
        return answers

    def select(self, sql: str, parameters: Parameters = None) -> list[Any]:
        """All rows of a query given as text."""
        try:
            return self._connection.execute(sql, _bound(parameters)).fetchall()
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise translated(error, self.where) from error

    def blocks(self, name: str, parameters: Parameters, size: int) -> Iterator[list[Any]]:
        """The rows of a query in blocks of `size`, for results too large for memory."""
        cursor = self.execute(self._queries[name], parameters)
        try:
            while rows := cursor.fetchmany(size):
                yield rows
        except sqlite3.Error as error:
            raise translated(error, self.where) from error
        finally:
            cursor.close()

    def execute(self, sql: str, parameters: Parameters = None) -> sqlite3.Cursor:
        """Run a statement given as text.

        Raises:
            sqlite3.IntegrityError: A unique key is taken; the caller handles it.
            StorageError: Any other error of SQLite.
        """
        try:
            return self._connection.execute(sql, _bound(parameters))
        except sqlite3.IntegrityError:
            raise
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise translated(error, self.where) from error

    def pragma(self, text: str) -> Any:
        """The value of a pragma, or None; `text` never comes from input."""
        rows = self.select(f"PRAGMA {text}")
        return rows[0][0] if rows else None

    def rollback(self) -> None:
        """Roll back an open transaction; a full disk may have done so already."""
        if self._connection.in_transaction:
            self.run("rollback")

    def vector(self, blob: bytes) -> bytes:
        """A vector as a parameter, unchanged."""
        return blob

    def vector_bytes(self, sent: Sequence[bytes]) -> bytes:
        """Vectors of one dimension from a query, concatenated."""
        return b"".join(sent)

    def vector_size(self, dim: int) -> int:
        """Bytes of a vector of this dimension."""
        return 2 * dim

    def copy_to(self, path: Path) -> None:
        """Write a complete, consistent copy of the store to a file."""
        try:
            target = sqlite3.connect(str(path))
            try:
                self._connection.backup(target)
            finally:
                target.close()
        except sqlite3.Error as error:
            raise translated(error, str(path)) from error

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._connection.close()


def _bound(parameters: Any) -> Any:
    """The parameters, with each list as a JSON array for `json_each`."""
    if not isinstance(parameters, dict) or list not in map(type, parameters.values()):
        return parameters or ()
    return {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
        for name, value in parameters.items()
    }
