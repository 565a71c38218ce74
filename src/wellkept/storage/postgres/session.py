"""One connection: runs named statements and gives back typed errors."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import numpy as np
import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format, TransactionStatus
from psycopg.types import TypeInfo

from wellkept.storage.postgres.failures import translated
from wellkept.storage.postgres.sql import queries

Parameters = Sequence[Any] | Mapping[str, Any] | None
Connection = psycopg.Connection[tuple[Any, ...]]


_numbers = count()
"""For cursors: two of one name cannot be open at the same time."""


class Half(bytes):
    """A stored vector: little-endian float16, as `core.vectors.quantise` makes it."""


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer:
        return struct.pack(">HH", len(obj) // 2, 0) + np.frombuffer(obj, dtype="<f2").astype(">f2").tobytes()


class _HalfLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return np.frombuffer(bytes(data)[4:], dtype=">f2").astype("<f2").tobytes()


def vector_type(connection: Connection) -> int:
    """The number of the type of vectors in this database; 0 where it has none."""
    info = TypeInfo.fetch(connection, "halfvec")
    return 0 if info is None else info.oid


def know_vectors(connection: Connection, oid: int) -> None:
    """Teach a connection the type of vectors."""
    connection.adapters.register_dumper(Half, type("HalfDumper", (_HalfDumper,), {"oid": oid}))
    connection.adapters.register_loader(oid, _HalfLoader)


class Session:
    """A connection in which every transaction is begun and ended by name.

    Args:
        connection: In autocommit mode: nothing is begun behind our back.
        where: What errors say of the place; never the password.
    """

    def __init__(self, connection: Connection, where: str) -> None:
        self.where = where
        self.connection = connection
        self._queries = queries()

    @property
    def lost(self) -> bool:
        """Whether the connection has ended."""
        return self.connection.closed

    def run(self, name: str, parameters: Parameters = None) -> int:
        """Run a statement; return how many rows it changed."""
        try:
            return self.connection.execute(self._queries[name].encode(), parameters).rowcount
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise translated(error, self.where) from error

    def script(self, text: str) -> None:
        """Run several statements of ours at once."""
        try:
            self.connection.execute(text.encode())
        except psycopg.Error as error:
            raise translated(error, self.where) from error

    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement for each row, without waiting for each answer."""
        given = list(rows)
        if not given:
            return
        if len(given) == 1:
            self.run(name, given[0])
            return
        try:
            with self.connection.cursor() as cursor:
                cursor.executemany(self._queries[name].encode(), given)
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise translated(error, self.where) from error

    def row(self, name: str, parameters: Parameters = None) -> Any:
        """The first row of a query, or None."""
        rows = self.rows(name, parameters)
        return rows[0] if rows else None

    def rows(self, name: str, parameters: Parameters = None) -> list[Any]:
        """All rows of a query."""
        return self.select(self._queries[name], parameters)

    def select(self, sql: str, parameters: Parameters = None) -> list[Any]:
        """All rows of a query that was put together from named parts."""
        try:
            return self.connection.execute(sql.encode(), parameters, binary=True).fetchall()
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise translated(error, self.where) from error

    def blocks(self, name: str, parameters: Parameters, size: int) -> Iterator[list[Any]]:
        """The rows of a query, so many at a time, for results too large to hold at once."""
        try:
            with self.connection.cursor(name=f"wellkept_{next(_numbers)}") as cursor:
                cursor.execute(self._queries[name].encode(), parameters, binary=True)
                while rows := cursor.fetchmany(size):
                    yield rows
        except psycopg.Error as error:
            raise translated(error, self.where) from error

    def rollback(self) -> None:
        """End an open transaction without keeping it; a lost connection has ended it already."""
        if self.connection.closed or self.connection.info.transaction_status == TransactionStatus.IDLE:
            return
        with suppress(psycopg.Error):  # what broke it has been told, and the pool throws it away
            self.connection.execute(self._queries["rollback"].encode())
