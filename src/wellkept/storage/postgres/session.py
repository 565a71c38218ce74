"""One connection, which runs named statements and raises typed errors."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import count
from typing import Any, Protocol

import numpy as np
import psycopg
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format, TransactionStatus

from wellkept.errors import NotPermitted
from wellkept.frozen import frozen
from wellkept.storage.postgres.failures import translated
from wellkept.storage.postgres.sql import queries
from wellkept.storage.sql import connection as common
from wellkept.storage.sql.connection import Answer, Parameters

Connection = psycopg.Connection[tuple[Any, ...]]


_BEGINNINGS = ("begin.read", "begin.write")
_ENDINGS = ("commit", "rollback")
"""Statements that are always one plain message: the driver would prepare one that it sends often, and then the server
has two answers to lose where an unanswered commit is asked for once."""


@frozen
class Bounds:
    """Time limits of the server in one transaction.

    Attributes:
        lock: Maximum wait for a lock in milliseconds, 1 or more.
        statement: Maximum time of one statement in milliseconds; 0 for no limit.
        elsewhere: Whether rows are on other servers of a cluster, which have to be told the limit for locks.
    """

    lock: int = 30_000
    statement: int = 0
    elsewhere: bool = False


USUAL = Bounds()
MOMENT = Bounds(lock=100, statement=10_000)
"""Limits of optional steps beside a read, which are skipped instead of waited for."""


class Begun(Protocol):
    """Opens a connection inside a transaction that begins with the statement of that name."""

    def __call__(self, name: str, bounds: Bounds | None = None) -> AbstractContextManager[Session]:
        """The connection; a transaction still open at the end of the block is rolled back."""


_numbers = count()
"""Numbers for cursor names, which must be unique among open cursors."""


_BEFORE = 4
"""Length of the header before the components of a vector in binary form: dimension and padding."""


class Half(bytes):
    """A stored vector: little-endian float16, as `core.records.vectors.quantise` makes it."""


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer:
        return struct.pack(">HH", len(obj) // 2, 0) + np.frombuffer(obj, dtype="<f2").astype(">f2").tobytes()


def know_vectors(connection: Connection) -> None:
    """Register the binary format of vectors with a connection."""
    connection.adapters.register_dumper(Half, _HalfDumper)


class Session(common.Session):
    """A connection in which named statements begin and end every transaction.

    Args:
        connection: A connection in autocommit mode, so that the driver begins no transactions.
        where: Name of the database in errors, without the password.
        key: Key of the token of every transaction; empty to use the rights of the login.
        bounds: Time limits of every transaction.

    Attributes:
        spoiled: Whether the connection must not be used again: an error among statements that were sent together leaves
            the driver with prepared statements that the server never prepared.
    """

    def __init__(self, connection: Connection, where: str, key: str = "", *, bounds: Bounds = USUAL) -> None:
        self.where = where
        self.connection = connection
        self.key = key
        self.bounds = bounds
        self._queries = queries()
        self.spoiled = False
        self._put: list[tuple[str, list[Any]]] = []

    @property
    def lost(self) -> bool:
        """Whether the connection is closed or broken."""
        return self.connection.closed

    def run(self, name: str, parameters: Parameters = None) -> int:
        """Run a statement; return the number of changed rows. A begin statement also sets the session's limits."""
        if name in _BEGINNINGS:
            self._begin(name)
            return 0
        self._send()
        try:
            plain = False if name in _ENDINGS else None
            return self.connection.execute(self.text(name).encode(), parameters, prepare=plain).rowcount
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise translated(error, self.where, committing=name == "commit") from error

    def _begin(self, name: str) -> None:
        text = self.text(name).format(lock=self.bounds.lock, statement=self.bounds.statement)
        try:
            self.connection.execute(text.encode(), prepare=False)  # several statements in one message
        except psycopg.Error as error:
            raise translated(error, self.where) from error
        if self.key:
            self.enter("")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A separate reading transaction."""
        self.run("begin.read")
        try:
            yield
        finally:
            self.rollback()

    def text(self, *names: str) -> str:
        """The statement that consists of the parts with these names; some have a variant for sessions with a token.

        Under row-level security, an index supports only conditions that the server considers leakproof; see
        `0002_isolation.sql`.
        """
        own = [f"isolation.{name}" if self.key else name for name in names]
        return "\n".join([self._queries.get(one) or self._queries[name] for one, name in zip(own, names, strict=True)])

    def enter(self, namespace: str, needed: int = 0) -> None:
        """Enter a namespace with the token, if there is one, until the transaction ends.

        The setting is local to the transaction, so it works behind a pooler too. The key is a bound parameter and never
        part of the statement's text, which other logins may see.

        Args:
            namespace: Name of the namespace; empty for tables that all namespaces share.
            needed: Required access level; see `isolation.READ`, `WRITE` and `ADMIN`.

        Raises:
            NotPermitted: The token does not allow it; the error does not show whether the namespace exists.
        """
        if not self.key:
            return
        level = self.row("isolation.enter", {"namespace": namespace, "key": self.key})[0]
        if level < needed:
            raise NotPermitted("the token does not allow this", where=self.where, todo="Use one that covers it")

    def script(self, text: str) -> None:
        """Run a script of several trusted statements at once."""
        self._send()
        try:
            self.connection.execute(text.encode())
        except psycopg.Error as error:
            raise translated(error, self.where) from error

    def many(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement for each row, pipelined."""
        self.put(name, rows)
        self._send()

    def put(self, name: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Run a statement for each row, at the latest with the next statement, which then costs no further trip."""
        if given := list(rows):
            self._put.append((name, given))

    def batch(self, asked: Sequence[tuple[str, Parameters]]) -> list[Answer]:
        """Run several statements in one trip to the server."""
        cursors = self._sent([(self.text(name), parameters) for name, parameters in asked])
        return [Answer(one.rowcount, one.fetchall() if one.description else []) for one in cursors]

    def _send(self) -> None:
        """Run what was put off."""
        if self._put:
            self._sent([])

    def _sent(self, asked: Sequence[tuple[str, Parameters]]) -> list[psycopg.Cursor[tuple[Any, ...]]]:
        """The cursors of statements, which are run in one trip with what was put off before them."""
        put, self._put = self._put, []
        alone = not put and len(asked) == 1 or not psycopg.Pipeline.is_supported()
        try:
            with nullcontext() if alone else self.connection.pipeline():
                for name, rows in put:
                    if len(rows) == 1:
                        self.connection.execute(self.text(name).encode(), rows[0])
                    else:
                        with self.connection.cursor() as cursor:
                            cursor.executemany(self.text(name).encode(), rows)
                return [self.connection.execute(sql.encode(), given, binary=True) for sql, given in asked]
        except (psycopg.Error, UnicodeEncodeError) as error:
            self.spoiled = self.spoiled or not alone
            raise translated(error, self.where) from error

    def select(self, sql: str, parameters: Parameters = None) -> list[Any]:
        """All rows of a query given as text."""
        [cursor] = self._sent([(sql, parameters)])
        try:
            return cursor.fetchall()
        except psycopg.Error as error:
            raise translated(error, self.where) from error

    def blocks(self, name: str, parameters: Parameters, size: int) -> Iterator[list[Any]]:
        """The rows of a query in blocks of `size`, for results too large for memory."""
        self._send()
        try:
            with self.connection.cursor(name=f"wellkept_{next(_numbers)}") as cursor:
                cursor.execute(self.text(name).encode(), parameters, binary=True)
                while rows := cursor.fetchmany(size):
                    yield rows
        except psycopg.Error as error:
            raise translated(error, self.where) from error

    def vector(self, blob: bytes) -> Half:
        """A vector as the parameter of a statement."""
        return Half(blob)

    def vector_bytes(self, sent: Sequence[bytes]) -> bytes:
        """The components of vectors of one dimension in the output of `halfvec_send`, concatenated.

        Vectors are read by this function and sent without a type number: the number changes when a database is
        restored from a dump, and a process that cached it would misread every vector.
        """
        if not sent:
            return b""
        rows = np.frombuffer(b"".join(sent), dtype=">f2").reshape(len(sent), -1)
        return rows[:, _BEFORE // 2 :].astype("<f2").tobytes()

    def vector_size(self, dim: int) -> int:
        """Bytes of a vector of this dimension in the output of `halfvec_send`."""
        return _BEFORE + 2 * dim

    def rollback(self) -> None:
        """Roll back an open transaction; a broken connection has already done so."""
        self._put.clear()
        if self.connection.closed or self.connection.info.transaction_status == TransactionStatus.IDLE:
            return
        with suppress(psycopg.Error):  # the cause was already raised, and the pool discards the connection
            self.connection.execute(self._queries["rollback"].encode(), prepare=False)
