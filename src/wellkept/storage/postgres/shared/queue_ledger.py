"""The queue of deferred writes in the database: any server puts writes, one at a time flushes, and crashes lose none.

See `storage.ledger.Ledger`. The turn is an advisory lock of a separate connection, so it ends with the process. Each
step of a flush checks that the lock is still held, because a network failure also ends it.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from wellkept.core.records.codec import DAMAGE
from wellkept.errors import Busy
from wellkept.parsing import parsed_json
from wellkept.storage.ledger import plain_of, unreadable, write_from
from wellkept.storage.postgres.failures import Lost, passing
from wellkept.storage.postgres.rows import bounded, number_of
from wellkept.storage.postgres.session import MOMENT, Begun, Session
from wellkept.types.queue import QueuedWrite

log = logging.getLogger("wellkept")

TURN_LOCK = 0x57454C4BA17
"""The advisory lock for a flush under a token."""
_PARTS = 16
"""Number of locks for the order of `put`; namespaces share them, so that visible locks do not reveal a name."""


class PostgresLedger:
    """Keeps queued writes in the table `waiting` of a store.

    Args:
        begun: Opens a connection inside a transaction that begins with the statement of that name.
        beside: Opens a separate connection.
        busy_seconds: Maximum wait for the turn, in seconds.
    """

    shared = True

    def __init__(
        self,
        begun: Begun,
        beside: Callable[[], AbstractContextManager[Session]],
        *,
        busy_seconds: float,
    ) -> None:
        self._begun = begun
        self._beside = beside
        self._busy_seconds = busy_seconds
        self._turn = threading.Lock()
        self._having: Session | None = None
        self._told: set[tuple[int, str]] = set()

    def put(self, writes: Sequence[QueuedWrite]) -> None:
        """See `Ledger.put`; a lost connection is always `transient`, because a repeated `put` stores no duplicates."""
        if not writes:
            return
        try:
            self._put(writes)
        except Lost as lost:
            raise passing(lost) from lost.__cause__

    def settle(self, done: Iterable[str], failed: Mapping[str, str], *, namespace: str) -> None:
        """See `Ledger.settle`.

        Raises:
            StorageError: The turn was lost; another process may be flushing the rest.
        """
        if self._having is not None:
            self._having.row("waiting.still_ours")
        ns = number_of(namespace)
        with self._begun("begin.write") as session:
            session.enter(namespace)
            session.run("waiting.done", {"ns": ns, "ids": list(done)})
            session.many(
                "waiting.failed",
                [{"ns": ns, "id": one, "error": bounded(error)} for one, error in sorted(failed.items())],
            )
            session.run("commit")

    def tidy(self) -> None:
        """See `Ledger.tidy`; `settle` has already removed writes that are done."""

    def waiting(self, namespace: str | None = None) -> tuple[QueuedWrite, ...]:
        """See `Ledger.waiting`; over all namespaces it waits for no lock, because opening a store calls it."""
        with self._begun("begin.read", MOMENT if namespace is None else None) as session:
            if namespace is None:
                rows = session.rows("waiting.all")
            else:
                session.enter(namespace)
                rows = session.rows("waiting.of", {"ns": number_of(namespace)})
        found = [self._write(row, namespace) for row in rows]
        # Two names may share a number; see `rows.number_of`.
        return tuple(one for one in found if one is not None and namespace in (None, one.namespace))

    def still(self, found: Sequence[QueuedWrite]) -> list[QueuedWrite]:
        """See `Ledger.still`; namespaces that another process is writing in are left for the next flush."""
        numbers = sorted({number_of(one.namespace) for one in found})
        with self._begun("begin.write", MOMENT) as session:
            free = [ns for ns in numbers if _is_free(session, ns)]
            rows = session.rows("waiting.still", {"ns": free, "ids": [one.id for one in found]})
        now = {(ns, name): (attempts, error) for ns, name, attempts, error in rows}
        kept = ((one, now.get((number_of(one.namespace), one.id))) for one in found)
        return [replace(one, attempts=at[0], error=at[1]) for one, at in kept if at is not None]

    def is_empty(self) -> bool:
        """See `Ledger.is_empty`; False while the table is locked."""
        try:
            with self._begun("begin.read", MOMENT) as session:
                # A token shows the queued writes only of the namespace that was entered.
                return not session.key and not session.row("waiting.any")[0]
        except Busy:
            return False

    @contextmanager
    def turn(self, *, wait: bool = True) -> Iterator[bool]:
        """See `Ledger.turn`.

        Raises:
            Busy: Another process held it for longer than `busy_seconds`.
        """
        if not self._turn.acquire(timeout=self._busy_seconds if wait else 0.0):
            if wait:
                raise self._is_busy()
            yield False
            return
        try:
            with self._beside() as session:
                try:
                    ours = self._taken(session, wait=wait)
                    self._having = session if ours else None
                    yield ours
                finally:
                    self._having = None
                    session.rollback()
        finally:
            self._turn.release()

    def _taken(self, session: Session, *, wait: bool) -> bool:
        """Try to take the turn; whether it is held now.

        An application and the owner may flush at the same time: each sees the writes that the other has done, and
        neither skips a waiting one.
        """
        session.run("begin.write")
        session.row("waiting.long")
        try:
            if session.key and wait:
                session.row("waiting.shared_turn", {"turn": TURN_LOCK})
            elif session.key:
                return bool(session.row("waiting.try_shared_turn", {"turn": TURN_LOCK})[0])
            else:
                session.run("waiting.turn" if wait else "waiting.try_turn")
        except Busy as error:
            if not wait:
                return False
            raise self._is_busy() from error
        return True

    def _put(self, writes: Sequence[QueuedWrite]) -> None:
        with self._begun("begin.write") as session:
            # In a fixed order, so that two callers with the same namespaces cannot deadlock.
            for name in sorted({one.namespace for one in writes}, key=_place_in_order):
                ns = number_of(name)
                session.enter(name)
                session.row("waiting.order", {"part": ns % _PARTS})
                session.many(
                    "waiting.put",
                    [{"ns": ns, "id": one.id, "record": _text(one)} for one in writes if one.namespace == name],
                )
            session.run("commit")

    def _write(self, row: Sequence[Any], asked: str | None) -> QueuedWrite | None:
        """Decode a row; an unreadable row becomes a placeholder, so that it does not block the others.

        A client that may write in one namespace can put any text into a record. Row-level security checks only the
        namespace number, so the number decides: the row is listed there as failed and can be dropped.
        """
        ns, name, record, attempts, error = row
        try:
            one = write_from(parsed_json(record))
            if number_of(one.namespace) != ns or one.id != name:
                raise ValueError("it names another place than its own")
            return replace(one, attempts=attempts, error=error)
        except DAMAGE as why:
            if asked is not None:
                return replace(unreadable(record, why, named=name, namespace=asked), attempts=max(1, attempts))
        if (ns, name) not in self._told:  # the number alone does not give the namespace
            self._told.add((ns, name))
            log.warning("A row of the queue cannot be read: %r; the queue of its namespace lists it as failed", name)
        return None

    def _is_busy(self) -> Busy:
        return Busy("another process is writing what waits", where="queue", todo="Repeat the call as it is")


def _is_free(session: Session, ns: int) -> bool:
    """Whether no transaction writes in a namespace now, or it does not exist yet."""
    asked = {"ns": ns}
    return session.row("namespace.try", asked) is not None or session.row("tx.namespace", asked) is None


def _place_in_order(name: str) -> tuple[int, int]:
    number = number_of(name)
    return number % _PARTS, number


def _text(one: QueuedWrite) -> str:
    return json.dumps(plain_of(one), separators=(",", ":"))  # ASCII, because the database rejects some characters
