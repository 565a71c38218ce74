"""Who keeps a store up, and which job ran when: one small file beside the store.

The lease ends by itself when its holder is gone, so a crash needs no hand. The file is read and
written under a lock of the operating system; the lock is held for a moment, the lease for the work.
Any other place can stand in, such as a row of a database (`engine/queuelease`): what `maintain` asks of it
is the `Lease` protocol.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from wellkept.core.records.codec import iso, time_from
from wellkept.engine.base.context import Clock, NewId
from wellkept.engine.base.file_lock import lock, unlock
from wellkept.errors import Busy, ReadOnly
from wellkept.parsing import parsed_json

LEASE_SECONDS = 120.0
"""How long a lease outlives its holder; a living one renews it three times in that span."""
_MOST_BYTES = 1_000_000


def holder_name(new_id: NewId) -> str:
    """What one who holds something calls itself: the process, the machine, and what no other has."""
    return f"process {os.getpid()} on {platform.node() or 'this machine'} ({new_id()[-8:]})"


class Lease(Protocol):
    """Keeps two upkeeps of one store apart, and remembers what ran.

    Attributes:
        seconds: How long it holds without being renewed.
    """

    seconds: float

    def take(self) -> str:
        """Take or renew it; empty when it is ours now, else who holds it and until when."""
        ...

    def release(self) -> None:
        """Give it up, if it is ours."""
        ...

    def ran(self) -> dict[str, datetime]:
        """When each job last came to its end."""
        ...

    def advance(self, job: str, at: datetime) -> None:
        """Note that a job came to its end, now; `at` is what the caller's clock says."""
        ...


@dataclass(frozen=True, slots=True)
class _Page:
    """What the file says."""

    holder: str = ""
    until: datetime | None = None
    ran: dict[str, datetime] = field(default_factory=dict)


class FileLease:
    """A lease in a file of its own.

    Args:
        path: The file; made when it is not there.
        clock: The time.
        new_id: Makes the name of this holder unlike that of any other.
        seconds: How long the lease outlives its holder.

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
                # A clock that was set back must not lock everybody out for good.
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
        """The file's content, and how to replace it, under the lock."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            raise ReadOnly(
                f"the lease cannot be written: {error.strerror}", where=str(self._path), todo="Check its permissions"
            ) from error
        try:
            try:
                lock(handle)
            except OSError as error:
                raise Busy("the lease cannot be locked", where=str(self._path), todo="Use a local disk") from error

            def write(page: _Page) -> None:
                os.lseek(handle, 0, os.SEEK_SET)
                text = _written(page)
                os.write(handle, text)
                os.ftruncate(handle, len(text))

            try:
                yield _read(os.read(handle, _MOST_BYTES)), write
            finally:
                os.lseek(handle, 0, os.SEEK_SET)
                unlock(handle)
        finally:
            os.close(handle)


def _written(page: _Page) -> bytes:
    plain = {
        "holder": page.holder,
        "until": None if page.until is None else iso(page.until),
        "ran": {job: iso(at) for job, at in sorted(page.ran.items())},
    }
    return json.dumps(plain, ensure_ascii=False, indent=1).encode() + b"\n"


def _read(text: bytes) -> _Page:
    """What the file says; one that was cut off in the writing says nothing, and is written anew."""
    try:
        plain = parsed_json(text) if text.strip() else {}
        until = plain.get("until")
        ran = {str(job): time_from(at) for job, at in (plain.get("ran") or {}).items()}
        return _Page(str(plain.get("holder") or ""), None if until is None else time_from(until), ran)
    except (ValueError, TypeError, AttributeError):
        return _Page()
