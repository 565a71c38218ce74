"""Where writes wait that were put off: what every place for them keeps, and how one of them is written down.

It stands here and not in the engine so that a backend may keep them where it keeps everything else.
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
"""In what was said: why nobody can tell what it was. It is listed as failed, can be dropped, and is never written."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS = range(1900, 9000)
"""When a waiting write can have been said: waiting times are added to it, and there must be room for them."""


class Ledger(Protocol):
    """Keeps writes in the order in which they were put; safe to use from several threads.

    Attributes:
        shared: Whether other processes put writes here as a rule, so that what waits may well be theirs.
    """

    shared: bool

    def put(self, writes: Sequence[QueuedWrite]) -> None:
        """Keep these; when it returns they survive a crash, and when it raises none is kept."""
        ...

    def settle(self, done: Iterable[str], failed: Mapping[str, str], *, namespace: str) -> None:
        """These of a namespace were written, and these could not be, for the reason given."""
        ...

    def tidy(self) -> None:
        """Let go of what is done; called once at the end of a flush, since it may read everything."""
        ...

    def waiting(self, namespace: str | None = None) -> tuple[QueuedWrite, ...]:
        """What has been put and is not done, of one namespace or of all; oldest first in each."""
        ...

    def still(self, found: Sequence[QueuedWrite]) -> list[QueuedWrite]:
        """Those of some that wait still, in their order, as they stand now; it costs no second reading of the rest."""
        ...

    def is_empty(self) -> bool:
        """Whether surely nothing waits; cheap."""
        ...

    def turn(self, *, wait: bool = True) -> AbstractContextManager[bool]:
        """Held by whoever writes the waiting ones to the store, so that they keep their order.

        Of all processes that use the store one has it at a time, and a process that ends has it no more.

        Args:
            wait: Whether to wait for whoever has it; otherwise the block may be entered without it.

        Returns:
            Gives whether it is ours.
        """
        ...


@runtime_checkable
class Deferring(Protocol):
    """What a backend may do beside `Storage`, where it keeps writes that wait with everything else."""

    def ledger(self) -> Ledger:
        """The place for them; the same one each time."""
        ...


def plain_of(one: QueuedWrite) -> dict[str, Any]:
    """A waiting write as JSON has it."""
    return {**{name: getattr(one, name) for name in _FIELDS}, "at": iso(one.at), "statement": dict(one.statement)}


def write_from(plain: Mapping[str, Any]) -> QueuedWrite:
    """A waiting write from its JSON; what a later release may say beyond it is passed over.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: It is none.
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
    """What stands for a record that was damaged or put by something else: its owner sees it, and can drop it.

    Args:
        record: As it was kept: JSON, or text that is none.
        why: What could not be read.
        named: Its name in the queue.
        namespace: Whose it is.
    """
    reason = f"cannot be read: {type(why).__name__}: {why}"[:200]
    error = f"InvalidInput: {reason}"
    text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
    said = {"content": text, UNREADABLE: reason}
    return QueuedWrite(id=named, store="", namespace=namespace, at=_LONG_AGO, statement=said, attempts=1, error=error)
