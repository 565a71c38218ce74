"""Writes that wait, in the database: put by any server, written by one at a time, there after a crash of all.

See `storage.ledger.Ledger`. The turn is a lock of a connection of its own: it ends with the process that
has it, and whoever writes makes sure at each step that it has not ended, as it does when the network breaks.
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
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.session import MOMENT, Begun, Session
from wellkept.types.queue import QueuedWrite

log = logging.getLogger("wellkept")

TURN_LOCK = 0x57454C4BA17
"""The advisory lock of whoever writes what waits under a token."""
_PARTS = 16
"""Namespaces that share a lock for the order of what is put: whoever may look at locks shall not learn their names."""
_MOST_ERROR = 1_000


class PostgresLedger:
    """Keeps writes in the table `waiting` of a store.

    Args:
        begun: Gives a connection inside of a transaction that was begun by the statement of that name.
        beside: Gives a connection that is nobody else's.
        busy_seconds: How long somebody else's turn is waited for.
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
        """See `Ledger.put`; a loss is always `transient`, since the same ones put again are there once."""
        if not writes:
            return
        try:
            self._put(writes)
        except Lost as lost:
            raise passing(lost) from lost.__cause__

    def settle(self, done: Iterable[str], failed: Mapping[str, str], *, namespace: str) -> None:
        """See `Ledger.settle`.

        Raises:
            StorageError: The turn was lost: somebody else may be writing the rest by now.
        """
        if self._having is not None:
            self._having.row("waiting.still_ours")
        ns = number_of(namespace)
        with self._begun("begin.write") as session:
            session.enter(namespace)
            session.run("waiting.done", {"ns": ns, "ids": list(done)})
            session.many(
                "waiting.failed",
                [{"ns": ns, "id": one, "error": _bounded(error)} for one, error in sorted(failed.items())],
            )
            session.run("commit")

    def tidy(self) -> None:
        """See `Ledger.tidy`; what is done is gone already."""

    def waiting(self, namespace: str | None = None) -> tuple[QueuedWrite, ...]:
        """See `Ledger.waiting`; for all namespaces at once it waits for no lock: whoever opens the store asks it."""
        with self._begun("begin.read", MOMENT if namespace is None else None) as session:
            if namespace is None:
                rows = session.rows("waiting.all")
            else:
                session.enter(namespace)
                rows = session.rows("waiting.of", {"ns": number_of(namespace)})
        found = [self._write(row, namespace) for row in rows]
        # Two names may share a number, once in many million stores (see rows.number_of).
        return tuple(one for one in found if one is not None and namespace in (None, one.namespace))

    def still(self, found: Sequence[QueuedWrite]) -> list[QueuedWrite]:
        """See `Ledger.still`; what waits in a namespace where somebody is writing now is left for the next time."""
        numbers = sorted({number_of(one.namespace) for one in found})
        with self._begun("begin.write", MOMENT) as session:
            free = [ns for ns in numbers if _is_free(session, ns)]
            rows = session.rows("waiting.still", {"ns": free, "ids": [one.id for one in found]})
        now = {(ns, name): (attempts, error) for ns, name, attempts, error in rows}
        kept = ((one, now.get((number_of(one.namespace), one.id))) for one in found)
        return [replace(one, attempts=at[0], error=at[1]) for one, at in kept if at is not None]

    def is_empty(self) -> bool:
        """See `Ledger.is_empty`; while somebody has locked the table, it is not sure."""
        try:
            with self._begun("begin.read", MOMENT) as session:
                # A token sees what waits in a namespace only while it is in it.
                return not session.key and not session.row("waiting.any")[0]
        except Busy:
            return False

    @contextmanager
    def turn(self, *, wait: bool = True) -> Iterator[bool]:
        """See `Ledger.turn`.

        Raises:
            Busy: Another process had it for longer than `busy_seconds`.
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
        """Whether the turn is ours now.

        An application may write beside the owner: what each of them wrote in a namespace the other one finds written,
        and neither goes past what is not.
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
            # In one order, so that two who put in the same namespaces never wait for each other in a circle.
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
        """A row as what waits; one that is no row of ours must not keep the others from being written.

        Whoever may write in one namespace only may put what he likes into a record. The rules of access see the
        number beside it, so that says where it belongs: there it is listed as failed and can be dropped.
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
        if (ns, name) not in self._told:  # of the number alone nobody can tell whose it is
            self._told.add((ns, name))
            log.warning("A row of the queue cannot be read: %r; the queue of its namespace lists it as failed", name)
        return None

    def _is_busy(self) -> Busy:
        return Busy("another process is writing what waits", where="queue", todo="Repeat the call as it is")


def _is_free(session: Session, ns: int) -> bool:
    """Whether nobody writes in a namespace now, or it is not there yet."""
    asked = {"ns": ns}
    return session.row("namespace.try", asked) is not None or session.row("tx.namespace", asked) is None


def _place_in_order(name: str) -> tuple[int, int]:
    number = number_of(name)
    return number % _PARTS, number


def _text(one: QueuedWrite) -> str:
    return json.dumps(plain_of(one), separators=(",", ":"))  # ASCII: whatever was said, the database can keep it


def _bounded(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")[:_MOST_ERROR]
