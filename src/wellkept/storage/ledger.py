"""The queue of deferred writes: its protocol, and the JSON form of a queued write.

It is part of the storage layer so that a backend can keep the queue in its own database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from wellkept.core.records.codec import iso, time_from
from wellkept.types.queue import QueuedWrite

_FIELDS = tuple(QueuedWrite.__dataclass_fields__)
_TEXTS = ("id", "store", "namespace", "session", "lot", "actor", "error")

UNREADABLE = "unreadable"
"""Key in the statement of an unreadable queued write; its value is the reason. Such a write is listed as failed, can be
dropped, and is never written to the store."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS = range(1900, 9000)
"""Valid years of a queued write's time; the range leaves room for the waiting times that are added to it."""


class Ledger(Protocol):
    """Keeps queued writes in the order of `put`; thread-safe.

    Attributes:
        shared: Whether other processes usually put writes here too, so that waiting writes may be theirs.
    """

    shared: bool

    def put(self, writes: Sequence[QueuedWrite]) -> None:
        """Store these writes durably: after the return they survive a crash, and after an error none is stored."""

    def settle(self, done: Iterable[str], failed: Mapping[str, str], *, namespace: str) -> None:
        """Record which writes of a namespace are done, and which failed with which reason."""

    def tidy(self) -> None:
        """Remove writes that are done; called once at the end of a flush, because it may read the whole queue."""

    def waiting(self, namespace: str | None = None) -> tuple[QueuedWrite, ...]:
        """The writes that are not done, of one namespace or of all; oldest first in each."""

    def still(self, found: Sequence[QueuedWrite]) -> list[QueuedWrite]:
        """The given writes that still wait, in their order and current state, without reading the rest again."""

    def is_empty(self) -> bool:
        """Whether the queue is certainly empty; cheap. False when it is not certain."""

    def turn(self, *, wait: bool = True) -> AbstractContextManager[bool]:
        """Lock of the process that flushes the queue, so that writes keep their order.

        At most one process that uses the store holds it at a time. It ends with the process.

        Args:
            wait: Whether to wait for the current holder; otherwise the block may be entered without the lock.

        Returns:
            A context manager that gives whether the lock is held.
        """


@runtime_checkable
class Deferring(Protocol):
    """Optional protocol of a backend that keeps queued writes in its own database."""

    def ledger(self) -> Ledger:
        """The queue of this store; the same object on every call."""


def plain_of(one: QueuedWrite) -> dict[str, Any]:
    """A queued write as JSON-compatible data."""
    return {**{name: getattr(one, name) for name in _FIELDS}, "at": iso(one.at), "statement": dict(one.statement)}


def write_from(plain: Mapping[str, Any]) -> QueuedWrite:
    """Decode a queued write; unknown fields, as of a later release, are ignored.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: The data is no queued write.
    """
    given = {name: plain[name] for name in _FIELDS if name in plain}
    if not all(isinstance(given.get(name, ""), str) for name in _TEXTS) or type(given.get("attempts", 0)) is not int:
        raise TypeError("a field of another type")
    if given.get("attempts", 0) < 0:
        raise ValueError("a number of attempts below 0")
    at = time_from(given["at"])
    if at.year not in _YEARS:
        raise ValueError(f"the year {at.year} is not within {_YEARS.start} to {_YEARS.stop - 1}")
    return QueuedWrite(**{**given, "at": at, "statement": dict(given["statement"])})


def unreadable(record: object, why: Exception, *, named: str, namespace: str) -> QueuedWrite:
    """A placeholder for a damaged or foreign record, so that its owner can see and drop it.

    Args:
        record: The stored value: JSON, or other text.
        why: The decoding error.
        named: Its id in the queue.
        namespace: Its namespace.
    """
    reason = f"cannot be read: {type(why).__name__}: {why}"[:200]
    error = f"InvalidInput: {reason}"
    text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
    said = {"content": text, UNREADABLE: reason}
    return QueuedWrite(id=named, store="", namespace=namespace, at=_LONG_AGO, statement=said, attempts=1, error=error)
