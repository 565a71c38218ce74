"""One connection: runs named statements and gives back typed errors."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

import numpy as np
import psycopg
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format, TransactionStatus

from wellkept.errors import NotPermitted
from wellkept.storage.postgres.failures import translated
from wellkept.storage.postgres.sql import queries

Parameters = Sequence[Any] | Mapping[str, Any] | None
Connection = psycopg.Connection[tuple[Any, ...]]


_BEGINNINGS = ("begin.read", "begin.write")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long the server may take in one transaction.

    Attributes:
        lock: Milliseconds to wait for a lock that somebody else has, 1 or more.
        statement: Milliseconds for one statement; 0 for as many as it needs.
    """

    lock: int = 30_000
    statement: int = 0


USUAL = Bounds()
MOMENT = Bounds(lock=100, statement=10_000)
"""For what is asked beside a read: it is left rather than waited for."""


class Begun(Protocol):
    """Gives a connection inside of a transaction that was begun by the statement of that name."""

    def __call__(self, name: str, bounds: Bounds | None = None) -> AbstractContextManager[Session]:
        """The connection; what is still open at the end of the block is rolled back."""
        ...


_numbers = count()
"""For cursors: two of one name cannot be open at the same time."""


_BEFORE = 4
"""Bytes before the components of a vector that is sent: their number, and nothing."""


class Half(bytes):
    """A stored vector: little-endian float16, as `core.records.vectors.quantise` makes it."""


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer:
        return struct.pack(">HH", len(obj) // 2, 0) + np.frombuffer(obj, dtype="<f2").astype(">f2").tobytes()


def know_vectors(connection: Connection) -> None:
    """Teach a connection how vectors are sent."""
    connection.adapters.register_dumper(Half, _HalfDumper)


class Session:
    """A connection in which every transaction is begun and ended by name.

    Args:
        connection: In autocommit mode: nothing is begun behind our back.
        where: What errors say of the place; never the password.
        key: Of the token for which every transaction is begun; empty for whoever the login is.
        bounds: For every transaction that is begun.
    """

    def __init__(self, connection: Connection, where: str, key: str = "", *, bounds: Bounds = USUAL) -> None:
        self.where = where
        self.connection = connection
        self.key = key
        self.bounds = bounds
        self._queries = queries()

    @property
    def lost(self) -> bool:
        """Whether the connection has ended."""
        return self.connection.closed

    def run(self, name: str, parameters: Parameters = None) -> int:
        """Run a statement; return how many rows it changed. A transaction is begun with the bounds of this session."""
        if name in _BEGINNINGS:
            self._begin(name)
            return 0
        try:
            return self.connection.execute(self.text(name).encode(), parameters).rowcount
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise translated(error, self.where, committing=name == "commit") from error

    def _begin(self, name: str) -> None:
        text = self.text(name).format(lock=self.bounds.lock, statement=self.bounds.statement)
        try:
            self.connection.execute(text.encode(), prepare=False)  # several at once, in one message
        except psycopg.Error as error:
            raise translated(error, self.where) from error
        if self.key:
            self.enter("")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A transaction of its own that only reads."""
        self.run("begin.read")
        try:
            yield
        finally:
            self.rollback()

    def text(self, name: str) -> str:
        """The statement of a name; for a token some are said otherwise.

        Under a rule an index can only be asked what the server holds to be harmless; see `0002_isolation.sql`.
        """
        return (self._queries.get(f"isolation.{name}") if self.key else None) or self._queries[name]

    def enter(self, namespace: str, needed: int = 0) -> None:
        """Act in a namespace for the token, if there is one, until the transaction ends.

        Set by each transaction for itself, so that it holds behind a pooler too, which gives every transaction
        another connection. The key travels beside the statement, never in it: statements are shown to others.

        Args:
            namespace: Its name; empty for none, where only what all share is looked at.
            needed: What has to be allowed there; see `isolation.READ` and those after it.

        Raises:
            NotPermitted: It is not, or not any more; said alike whether anything is there.
        """
        if not self.key:
            return
        level = self.row("isolation.enter", {"namespace": namespace, "key": self.key})[0]
        if level < needed:
            raise NotPermitted("the token does not allow this", where=self.where, todo="Use one that covers it")

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
                cursor.executemany(self.text(name).encode(), given)
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise translated(error, self.where) from error

    def row(self, name: str, parameters: Parameters = None) -> Any:
        """The first row of a query, or None."""
        rows = self.rows(name, parameters)
        return rows[0] if rows else None

    def rows(self, name: str, parameters: Parameters = None) -> list[Any]:
        """All rows of a query."""
        return self.select(self.text(name), parameters)

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
                cursor.execute(self.text(name).encode(), parameters, binary=True)
                while rows := cursor.fetchmany(size):
                    yield rows
        except psycopg.Error as error:
            raise translated(error, self.where) from error

    def listed(self, values: Iterable[Any]) -> list[Any]:
        """Several values as one parameter: an array."""
        return list(values)

    def vector(self, blob: bytes) -> Half:
        """A vector as the parameter of a statement."""
        return Half(blob)

    def vector_bytes(self, sent: Sequence[bytes]) -> bytes:
        """The vectors of one length in what `halfvec_send` gives, one behind the other.

        Vectors are asked for by this function and sent without a type of their own: the number of their type is
        another one after a database was restored from a dump, and a process that went by it would take every
        vector for something else.
        """
        if not sent:
            return b""
        rows = np.frombuffer(b"".join(sent), dtype=">f2").reshape(len(sent), -1)
        return rows[:, _BEFORE // 2 :].astype("<f2").tobytes()

    def vector_size(self, dim: int) -> int:
        """How many bytes `halfvec_send` makes of a vector of so many components."""
        return _BEFORE + 2 * dim

    def rollback(self) -> None:
        """End an open transaction without keeping it; a lost connection has ended it already."""
        if self.connection.closed or self.connection.info.transaction_status == TransactionStatus.IDLE:
            return
        with suppress(psycopg.Error):  # what broke it has been told, and the pool throws it away
            self.connection.execute(self._queries["rollback"].encode())
