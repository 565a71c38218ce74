"""The maintenance lease and the last run of each job: one small file next to the store.

The lease expires when its holder is gone, so a crash needs no cleanup. The file is read and written under a
short lock of the operating system; the lease lasts as long as the work. Other implementations, such as a
database row (`engine/upkeep/queue_lease`), follow the `Lease` protocol.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from wellkept.core.records.codec import iso, time_from
from wellkept.engine.base.context import Clock, NewId
from wellkept.engine.base.locked_file import locked_file, rewrite
from wellkept.frozen import frozen
from wellkept.parsing import parsed_json

LEASE_SECONDS = 120.0
"""How long a lease lasts without renewal; a running holder renews it three times in that time."""
_MOST_BYTES = 1_000_000


def holder_name(new_id: NewId) -> str:
    """A unique holder name: process, machine and a random id."""
    return f"process {os.getpid()} on {platform.node() or 'this machine'} ({new_id()[-8:]})"


class Lease(Protocol):
    """Prevents two maintenance processes on one store, and records job runs.

    Attributes:
        seconds: How long it lasts without renewal.
    """

    seconds: float

    def take(self) -> str:
        """Take or renew the lease; empty on success, else the current holder and the end of its lease."""

    def release(self) -> None:
        """Release the lease, if this process holds it."""

    def ran(self) -> dict[str, datetime]:
        """When each job last finished."""

    def advance(self, job: str, at: datetime) -> None:
        """Record that a job finished now; `at` is the caller's time."""


@frozen
class _Page:
    """The content of the file."""

    holder: str = ""
    until: datetime | None = None
    ran: dict[str, datetime] = field(default_factory=dict)


class FileLease:
    """A lease in a file.

    Args:
        path: The file; created when missing.
        clock: The current time.
        new_id: Makes the holder name unique.
        seconds: How long the lease lasts without renewal.

    Example:
        >>> import tempfile
        >>> from wellkept.engine.base.context import Uuid7, utc_now
        >>> path = Path(tempfile.mkdtemp()) / "agent.db.upkeep"
        >>> ours, theirs = (FileLease(path, clock=utc_now, new_id=Uuid7()) for _ in range(2))
        >>> ours.take(), theirs.take()[:8]
        ('', 'held by ')
        >>> ours.release(), theirs.take()
        (None, '')
    """

    def __init__(self, path: Path, *, clock: Clock, new_id: NewId, seconds: float = LEASE_SECONDS) -> None:
        self.seconds = seconds
        self._path = path
        self._clock = clock
        self._holder = holder_name(new_id)

    def take(self) -> str:
        """See `Lease.take`."""
        now = self._clock()
        with self._page() as (page, write):
            if page.holder not in ("", self._holder) and page.until is not None and now < page.until:
                # A clock that was set back must not block the lease forever.
                if page.until - now <= timedelta(seconds=2 * self.seconds):
                    return f"held by {page.holder} until {iso(page.until)}"
            write(replace(page, holder=self._holder, until=now + timedelta(seconds=self.seconds)))
        return ""

    def release(self) -> None:
        """See `Lease.release`."""
        with self._page() as (page, write):
            if page.holder == self._holder:
                write(replace(page, holder="", until=None))

    def ran(self) -> dict[str, datetime]:
        """See `Lease.ran`."""
        with self._page() as (page, _):
            return dict(page.ran)

    def advance(self, job: str, at: datetime) -> None:
        """See `Lease.advance`."""
        with self._page() as (page, write):
            write(replace(page, ran={**page.ran, job: at}))

    @contextmanager
    def _page(self) -> Iterator[tuple[_Page, Callable[[_Page], None]]]:
        """The file's content and a function to replace it, under the lock."""
        with locked_file(self._path, what="the lease") as handle:
            assert handle is not None  # it was waited for
            found = _read(os.read(handle, _MOST_BYTES))
            yield found, lambda page: rewrite(handle, _written(page))


def _written(page: _Page) -> bytes:
    plain = {
        "holder": page.holder,
        "until": None if page.until is None else iso(page.until),
        "ran": {job: iso(at) for job, at in sorted(page.ran.items())},
    }
    return json.dumps(plain, ensure_ascii=False, indent=1).encode() + b"\n"


def _read(text: bytes) -> _Page:
    """The content of the file; a truncated file is read as empty, and rewritten."""
    try:
        plain = parsed_json(text) if text.strip() else {}
        until = plain.get("until")
        ran = {str(job): time_from(at) for job, at in (plain.get("ran") or {}).items()}
        return _Page(str(plain.get("holder") or ""), None if until is None else time_from(until), ran)
    except (ValueError, TypeError, AttributeError):
        return _Page()
