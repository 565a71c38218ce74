"""Read-only inspection of a database and its store, without creating, migrating or writing anything.

Opening a store creates a missing one and migrates an old one, which a mere check must not do. So each query runs in a
read-only transaction, with short timeouts for the network and for locks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from wellkept.errors import Corrupt
from wellkept.frozen import frozen
from wellkept.storage.memory_rows import WORDS_VERSION
from wellkept.storage.postgres.server.distribution import is_spread
from wellkept.storage.postgres.server.opening import checked_url, connected, has_store, version_of
from wellkept.storage.postgres.session import Bounds, Session
from wellkept.storage.postgres.sql import schema_version

OLDEST_SERVER = 14
"""The first release with SQL-standard function bodies, which row-level security uses."""
OLDEST_VECTORS = (0, 7)
"""The first release with `halfvec`."""
OLDEST_INDEXED = (0, 8)
"""The first release with iterative index scans, for filters that leave too few rows; see `approximate`."""
CONNECT_SECONDS = 3
"""Connection timeout per server of the address, unless the address sets one."""
_BOUNDS = Bounds(lock=5_000, statement=5_000)


@frozen(kw_only=True)
class ServerFacts:
    """A server and the database on it.

    Attributes:
        version: Version of the server, as text.
        number: Its major version.
        vectors: Release of pgvector installed in the database; empty without it.
        available: Release of pgvector that the server can install; empty without one.
        login: Name of the current login.
        standby: Whether the server is a read-only replica.
    """

    version: str
    number: int
    vectors: str
    available: str
    login: str
    standby: bool


@frozen(kw_only=True)
class StoreFacts:
    """The store in a database, as far as the login has access.

    Attributes:
        schema: Schema version of its tables.
        current: Whether tables and full text need no migration by this release.
        store_id: Id of the store.
        size: Size of all its tables and indexes on this server, in bytes.
        closed: Whether row-level security is on.
        owns: Whether the login has the rights of the owner.
        above: Whether the login bypasses row-level security, as a superuser does.
        behind: Whether the login needs a token.
        spread: Whether the tables are distributed over several servers.
        waiting: Number of queued writes; None if the login does not see all namespaces, or for an old schema.
        refused: Number of queued writes that failed.
        failed: Number of jobs that failed permanently; None as above.
    """

    schema: int
    current: bool
    store_id: str
    size: int
    closed: bool
    owns: bool
    above: bool
    behind: bool = False
    spread: bool = False
    waiting: int | None = None
    refused: int = 0
    failed: int | None = None


class Look:
    """A read-only connection for inspection; must be closed.

    Args:
        url: Address of the database.

    Raises:
        StorageError: The database cannot be reached within a few seconds.

    Example:
        >>> Look("postgresql://wellkept@127.0.0.1/memory").store()  # doctest: +SKIP
    """

    def __init__(self, url: str) -> None:
        conninfo, self._where = checked_url(url, seconds=CONNECT_SECONDS)
        # Without a token, because a database without a store has no token table.
        self._session = Session(connected(conninfo, self._where), self._where, bounds=_BOUNDS)

    def server(self) -> ServerFacts:
        """Facts about the server and the database.

        Raises:
            StorageError: The server does not answer.
        """
        with self._looking() as session:
            version, number, login, standby, vectors, available = session.row("look.server")
        return ServerFacts(
            version=version.partition(" ")[0],  # the rest names the distribution's package
            number=number // 10_000,
            vectors=vectors or "",
            available=available or "",
            login=login,
            standby=standby,
        )

    def store(self) -> StoreFacts | None:
        """The store in the database; None without one.

        Raises:
            NotAStore, SchemaTooNew, StorageError: The store cannot be used.
        """
        with self._looking() as session:
            if not has_store(session):
                return None
            schema = version_of(session)
            current = schema == schema_version() and _told(session, "header.words")[0] == WORDS_VERSION
            owns, above, closed = _told(session, "look.login")
            facts = StoreFacts(
                schema=schema,
                current=current,
                store_id=_told(session, "header.read")[0],
                size=session.row("look.size")[0],
                closed=closed,
                owns=owns,
                above=above,
            )
            if not current:
                return facts
            facts = replace(facts, behind=session.row("isolation.behind")[0], spread=is_spread(session))
            if facts.behind:  # row-level security hides rows, so the counts would be wrong
                return facts
            waiting, refused = session.row("look.waiting")
            return replace(facts, waiting=waiting, refused=refused, failed=session.row("look.failed")[0])

    def close(self) -> None:
        """End the connection; safe to call twice."""
        self._session.connection.close()

    @contextmanager
    def _looking(self) -> Iterator[Session]:
        session = self._session
        with session.reading():
            yield session


def _told(session: Session, name: str) -> Any:
    """The row of a query that always returns one."""
    row = session.row(name)
    if row is None:
        raise Corrupt("the store does not say what it is", where=session.where, todo="Restore a backup")
    return row


def is_older(version: str, than: tuple[int, ...]) -> bool:
    """Whether a release such as `0.8.1` precedes another one; an unreadable version counts as newer.

    Example:
        >>> is_older("0.7.4", (0, 8)), is_older("0.10.0", (0, 8)), is_older("0.8.0", (0, 8))
        (True, False, False)
    """
    numbers = version.split(".")[: len(than)]
    return all(number.isascii() and number.isdigit() for number in numbers) and tuple(map(int, numbers)) < than
