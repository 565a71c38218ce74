"""The connections of one process: made when they are needed, by whoever needs them, and used again.

No thread of its own makes them: whoever waits for the server learns at once why it cannot be reached, and
decides himself when to ask again, also while a standby takes over.
"""

from __future__ import annotations

import threading
from weakref import WeakSet

import psycopg
from psycopg.pq import TransactionStatus

from wellkept.errors import Busy, StorageError
from wellkept.storage.postgres.failures import unreachable
from wellkept.storage.postgres.server.pooling import leaves_nothing
from wellkept.storage.postgres.session import Connection, know_vectors

_TRIMMED_EVERY = 500
"""After so many uses, those that nobody has needed in that time are closed."""


class Connections:
    """At most so many connections to one database, the last one used first.

    Args:
        conninfo: Where to, in the driver's words.
        where: What errors say of the place; never the password.
        most: How many at the same time.
        seconds: How long to wait for a free one.
    """

    def __init__(self, conninfo: str, where: str, *, most: int, seconds: float) -> None:
        self._conninfo = conninfo
        self._where = where
        self._seconds = seconds
        self._free = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._outdated: set[Connection] = set()
        self._taken: set[Connection] = set()
        self._standbys: WeakSet[Connection] = WeakSet()
        self._closed = False
        self._uses = 0
        self._unneeded = 0

    def take(self) -> Connection:
        """A connection outside of a transaction; it may have died while nobody used it.

        Raises:
            Busy: None was free for long.
            StorageError: Why the server cannot be reached, or that the store is closed.
        """
        if not self._free.acquire(timeout=self._seconds):
            raise Busy("no connection was free", where=self._where, todo="Repeat the call as it is")
        try:
            connection = self._used_before() or self._made()
            with self._lock:
                self._taken.add(connection)
            return connection
        except BaseException:
            self._free.release()
            raise

    def give(self, connection: Connection) -> None:
        """Take one back; it is closed when it is broken, outdated or in a transaction."""
        idle = not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE
        with self._lock:
            self._taken.discard(connection)
            kept = idle and not self._closed and connection not in self._outdated
            self._outdated.discard(connection)
            if kept:
                self._idle.append(connection)
        self._free.release()
        if not kept:
            connection.close()

    def renew(self) -> None:
        """Use none of the present ones again: they lead to a server that is no longer the right one."""
        with self._lock:
            gone, self._idle = self._idle, []
            self._outdated |= self._taken
        for connection in gone:
            connection.close()

    def is_demoted(self, connection: Connection) -> bool:
        """Whether its server took writes when the connection was made, and takes none now."""
        return reads_only(connection) and connection not in self._standbys

    def close(self) -> None:
        """Close what nobody uses, and the others when they are given back."""
        with self._lock:
            self._closed = True
        self.renew()

    def _used_before(self) -> Connection | None:
        with self._lock:
            if self._closed:
                raise StorageError("the store is closed", where=self._where, todo="Open it again")
            connection = self._idle.pop() if self._idle else None
            gone = self._trimmed()
        for one in gone:
            one.close()
        return connection

    def _trimmed(self) -> list[Connection]:
        """From time to time, those that have lain at the bottom ever since; the lock is held."""
        self._unneeded = min(self._unneeded, len(self._idle))
        self._uses += 1
        if self._uses % _TRIMMED_EVERY:
            return []
        gone, self._idle = self._idle[: self._unneeded], self._idle[self._unneeded :]
        self._unneeded = len(self._idle)
        return gone

    def _made(self) -> Connection:
        try:
            connection = psycopg.connect(self._conninfo, autocommit=True)
            try:
                leaves_nothing(connection)
            except BaseException:
                connection.close()  # nobody else knows it, and the server counts it
                raise
        except psycopg.Error as error:
            raise unreachable(error, self._where) from error
        know_vectors(connection)
        if reads_only(connection):
            self._standbys.add(connection)
        return connection


def reads_only(connection: Connection) -> bool:
    """Whether its server takes no writes: a standby, or a primary that was told to take none."""
    told = connection.info.parameter_status
    return "on" in (told("in_hot_standby"), told("default_transaction_read_only"))
