"""The connection pool of one process: connections are opened on demand by the calling thread and reused.

There is no background thread. So a caller gets the reason for a failure at once and decides when to retry, for example
during a failover.
"""

from __future__ import annotations

import threading
from weakref import WeakSet

from psycopg.pq import TransactionStatus

from wellkept.errors import Busy, StorageError
from wellkept.storage.postgres.server.opening import connected
from wellkept.storage.postgres.session import Connection, know_vectors

_TRIMMED_EVERY = 500
"""Number of uses after which connections that were idle all that time are closed."""


class Connections:
    """A bounded pool of connections to one database; the one used last is taken first.

    Args:
        conninfo: Connection string of the driver.
        where: Name of the database in errors, without the password.
        most: Maximum number of connections.
        seconds: Maximum wait for a free connection, in seconds.
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

    def adopt(self, connection: Connection) -> None:
        """Keep a connection to the same database that was opened outside the pool and is idle."""
        self._idle.append(self._known(connection))

    def take(self) -> Connection:
        """A connection outside a transaction; it may have died while idle.

        Raises:
            Busy: No connection became free in time.
            StorageError: The server cannot be reached, or the store is closed.
        """
        if not self._free.acquire(timeout=self._seconds):
            raise Busy("no connection was free", where=self._where, todo="Repeat the call as it is")
        try:
            connection = self._used_before() or self._known(connected(self._conninfo, self._where))
            with self._lock:
                self._taken.add(connection)
            return connection
        except BaseException:
            self._free.release()
            raise

    def give(self, connection: Connection, *, spoiled: bool = False) -> None:
        """Return a connection to the pool; a broken, spoiled or outdated one, or one in a transaction, is closed."""
        idle = not spoiled and not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE
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
        """Discard the current connections, because they lead to a former primary."""
        with self._lock:
            gone, self._idle = self._idle, []
            self._outdated |= self._taken
        for connection in gone:
            connection.close()

    def is_demoted(self, connection: Connection) -> bool:
        """Whether its server accepted writes when the connection was opened, and no longer does."""
        return reads_only(connection) and connection not in self._standbys

    def close(self) -> None:
        """Close idle connections now, and the others when they are returned."""
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
        """Every `_TRIMMED_EVERY` uses, the connections idle since the last time; the caller holds the lock."""
        self._unneeded = min(self._unneeded, len(self._idle))
        self._uses += 1
        if self._uses % _TRIMMED_EVERY:
            return []
        gone, self._idle = self._idle[: self._unneeded], self._idle[self._unneeded :]
        self._unneeded = len(self._idle)
        return gone

    def _known(self, connection: Connection) -> Connection:
        know_vectors(connection)
        if reads_only(connection):
            self._standbys.add(connection)
        return connection


def reads_only(connection: Connection) -> bool:
    """Whether its server is read-only: a standby, or a primary in read-only mode."""
    told = connection.info.parameter_status
    return "on" in (told("in_hot_standby"), told("default_transaction_read_only"))
