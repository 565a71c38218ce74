"""The only mover of a namespace in a database; see `storage.port.Mover`.

It holds its locks in an open transaction of a separate connection. So they end with the process or the connection, and
they hold behind a pooler too, which gives the connection to nobody else meanwhile.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from wellkept.errors import Busy
from wellkept.storage.port import OPEN, Closed
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.session import Session

Writing = Callable[[], AbstractContextManager[Session]]
"""Opens a connection inside a writing transaction, which others of the store can also write beside."""


class PostgresMover:
    """See `storage.port.Mover`.

    Args:
        namespace: The namespace.
        writing: Opens a writing transaction.
        own: The number of the lock that only this mover holds.
    """

    def __init__(self, namespace: str, writing: Writing, own: int) -> None:
        self._namespace = namespace
        self._writing = writing
        self._own = own

    def close_for(self, closed: Closed, *, was: Closed) -> None:
        """See `Mover.close_for`."""
        said = {
            "ns": number_of(self._namespace),
            "name": self._namespace,
            "moving": closed.moving,
            "moved": closed.moved,
            "was_moving": was.moving,
            "was_moved": was.moved,
        }
        with self._writing() as session:
            changed = session.run("namespace.close", said)  # from now on nobody else changes it
            if session.row("move.ended", {"own": self._own})[0]:
                raise Busy(
                    "the connection that kept other movers away was lost; nothing was changed",
                    where=f"{session.where}, namespace {self._namespace!r}",
                    todo="Start the same command again",
                )
            if not changed:
                raise Busy(
                    "somebody else has moved the namespace meanwhile; nothing was changed",
                    where=f"{session.where}, namespace {self._namespace!r}",
                    todo="Look where it is: wellkept db place NAMESPACE",
                )
            session.run("commit")


@contextmanager
def alone(namespace: str, session: Session, writing: Writing) -> Iterator[PostgresMover]:
    """Be the only mover of a namespace while the block runs.

    Args:
        namespace: The namespace.
        session: A connection for this alone.
        writing: Opens a writing transaction on another connection.

    Raises:
        Busy: There is another mover; names it.
    """
    asked = {"ns": number_of(namespace)}
    session.run("begin.write")
    try:
        session.row("move.begin", {"who": _who()})
        if not session.row("move.alone", asked)[0]:
            who, process = session.row("move.who", asked) or ("another process", "just ended")
            raise Busy(
                f"namespace {namespace!r} is being moved by {who} (server process: {process})",
                where=session.where,
                todo="Wait until that has ended",
            )
        yield PostgresMover(namespace, writing, session.row("move.own")[0])
    finally:
        session.rollback()


def closed_to(session: Session, namespace: str) -> Closed:
    """To whom a namespace is closed; to nobody if it does not exist."""
    row = session.row("namespace.closed", {"ns": number_of(namespace)})
    return OPEN if row is None else Closed(moving=row[0], moved=row[1])


def _who() -> str:
    """The name of this process for others; the server keeps 63 bytes of it."""
    return f"wellkept, process {os.getpid()} on {platform.node() or 'another machine'}"
