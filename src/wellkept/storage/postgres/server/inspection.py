"""Looking at a database and the store in it without opening it: nothing is made, migrated or written.

Opening a store makes it where there is none and brings an old one up to date. Whoever only wants to know how a
database is must not have done that. So every look is a transaction that the server knows to be reading only, and
none waits for long: neither for the network nor for somebody else's lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wellkept.errors import Corrupt
from wellkept.storage.memory_rows import words_version
from wellkept.storage.postgres.server.opening import checked_url, connected, has_store, version_of
from wellkept.storage.postgres.session import Bounds, Session
from wellkept.storage.postgres.sql import schema_version

OLDEST_SERVER = 14
"""The first release that takes functions with a body of SQL, of which the rules of access are made."""
OLDEST_VECTORS = (0, 7)
"""The first release with `halfvec`."""
OLDEST_INDEXED = (0, 8)
"""The first one whose indexes go on looking when a filter leaves too little; see `approximate`."""
CONNECT_SECONDS = 3
"""How long to wait for each server that the address names, unless the address says it itself."""
_BOUNDS = Bounds(lock=5_000, statement=5_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """A server and the database on it.

    Attributes:
        version: Of the server, in its own words.
        number: The first number of it.
        vectors: The release of pgvector in the database; empty where it is in none.
        available: The one that the server could put into it; empty where it has none.
        login: As whom one is let in.
        standby: Whether the server only repeats what another one writes.
    """

    version: str
    number: int
    vectors: str
    available: str
    login: str
    standby: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFacts:
    """The store in a database, as far as the login may see it.

    Attributes:
        schema: The version of its tables.
        current: Whether this release would leave the tables and the full text as they are.
        store_id: Its id.
        size: Bytes of all its tables with their indexes, on this server.
        closed: Whether rules of access are in force.
        owns: Whether the login may do what the owner of the tables may.
        above: Whether it passes by all rules, as a superuser does.
        behind: Whether it sees nothing without a token.
        spread: Whether the tables lie on several servers.
        waiting: How many writes wait; None for a login that is not shown those of all namespaces, or old tables.
        refused: How many of them were tried and failed.
        failed: How many jobs were given up; None as above.
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
    """A connection that only looks; to be closed.

    Args:
        url: The database.

    Raises:
        StorageError: Why it cannot be reached, after a few seconds at most.

    Example:
        >>> Look("postgresql://wellkept@127.0.0.1/memory").store()  # doctest: +SKIP
    """

    def __init__(self, url: str) -> None:
        conninfo, self._where = checked_url(url, seconds=CONNECT_SECONDS)
        # Without a token: in a database that holds no store, there is nothing that could know one.
        self._session = Session(connected(conninfo, self._where), self._where, bounds=_BOUNDS)

    def server(self) -> ServerFacts:
        """What serves the database.

        Raises:
            StorageError: It does not answer.
        """
        with self._looking() as session:
            version, number, login, standby, vectors, available = session.row("look.server")
        return ServerFacts(
            version=version.partition(" ")[0],  # what follows is how it was packed
            number=number // 10_000,
            vectors=vectors or "",
            available=available or "",
            login=login,
            standby=standby,
        )

    def store(self) -> StoreFacts | None:
        """The store that is there; None where there is none yet.

        Raises:
            NotAStore, SchemaTooNew, StorageError: Why it cannot be used.
        """
        with self._looking() as session:
            if not has_store(session):
                return None
            schema = version_of(session)
            current = schema == schema_version() and _told(session, "header.words")[0] == words_version()
            owns, above, closed = _told(session, "look.login")
            behind, spread, waiting, refused, failed = False, False, None, 0, None
            if current:
                behind = session.row("isolation.behind")[0]
                spread = session.row("spread.is_known")[0] and session.row("spread.is_spread")[0]
                if not behind:  # else the rules would hide rows, and the numbers would be those of nobody
                    waiting, refused = session.row("look.waiting")
                    [failed] = session.row("look.failed")
            return StoreFacts(
                schema=schema,
                current=current,
                store_id=_told(session, "header.read")[0],
                size=session.row("look.size")[0],
                closed=closed,
                owns=owns,
                above=above,
                behind=behind,
                spread=spread,
                waiting=waiting,
                refused=refused,
                failed=failed,
            )

    def close(self) -> None:
        """End the connection; safe to call twice."""
        self._session.connection.close()

    @contextmanager
    def _looking(self) -> Iterator[Session]:
        session = self._session
        with session.reading():
            yield session


def _told(session: Session, name: str) -> Any:
    """The row of a question that every store answers."""
    row = session.row(name)
    if row is None:
        raise Corrupt("the store does not say what it is", where=session.where, todo="Restore a backup")
    return row


def is_older(version: str, than: tuple[int, ...]) -> bool:
    """Whether a release such as `0.8.1` comes before another one; what cannot be read counts as new.

    Example:
        >>> is_older("0.7.4", (0, 8)), is_older("0.10.0", (0, 8)), is_older("0.8.0", (0, 8))
        (True, False, False)
    """
    numbers = version.split(".")[: len(than)]
    return all(number.isascii() and number.isdigit() for number in numbers) and tuple(map(int, numbers)) < than
