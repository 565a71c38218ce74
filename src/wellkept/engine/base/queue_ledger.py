"""Storage of queued writes: a file next to the store that survives a crash, or memory of the process.

The file holds one line per event: a write was queued, is done, or failed. A line counts once it is complete and
synced to disk, so acknowledged writes survive a crash, and a truncated line is ignored. Writes that are done are
removed at the end of each flush, so that no text of a memory that is erased later remains here.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from wellkept.engine.base.locked_file import locked_file, write
from wellkept.engine.base.queue_lines import line_of, read, settled
from wellkept.errors import ReadOnly
from wellkept.storage.ledger import Ledger, plain_of
from wellkept.types.queue import QueuedWrite

__all__ = ["FileLedger", "Ledger", "ProcessLedger"]

_Stamp: TypeAlias = tuple[int, int, int, int]
_Seen: TypeAlias = tuple[_Stamp, dict[str, QueuedWrite]]

log = logging.getLogger("wellkept")


class ProcessLedger:
    """Keeps queued writes in memory, for stores that end with the process."""

    shared = False

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._held: dict[str, QueuedWrite] = {}

    def put(self, writes: Sequence[QueuedWrite]) -> None:
        """See `Ledger.put`."""
        with self._lock:
            self._held.update((one.id, one) for one in writes)

    def settle(self, done: Iterable[str], failed: Mapping[str, str], *, namespace: str) -> None:
        """See `Ledger.settle`."""
        with self._lock:
            settled(self._held, done, failed)

    def tidy(self) -> None:
        """See `Ledger.tidy`; there is nothing to remove."""

    def waiting(self, namespace: str | None = None) -> tuple[QueuedWrite, ...]:
        """See `Ledger.waiting`."""
        with self._lock:
            return _of(namespace, self._held)

    def still(self, found: Sequence[QueuedWrite]) -> list[QueuedWrite]:
        """See `Ledger.still`."""
        with self._lock:
            return _still(self._held, found)

    def is_empty(self) -> bool:
        """See `Ledger.is_empty`."""
        return not self._held

    @contextmanager
    def turn(self, *, wait: bool = True) -> Iterator[bool]:
        """See `Ledger.turn`."""
        with _held(self._turn, wait=wait) as ours:
            yield ours


class FileLedger:
    """Keeps queued writes in a file; several processes may use it at once.

    Args:
        path: The file; created with the first write.

    Example:
        >>> import tempfile
        >>> ledger = FileLedger(Path(tempfile.mkdtemp()) / "agent.db.queue")
        >>> ledger.is_empty(), ledger.waiting()
        (True, ())
    """

    shared = False

    def __init__(self, path: Path) -> None:
        self._turn = threading.Lock()
        self._path = path
        self._named = False
        self._seen: _Seen | None = None

    def put(self, writes: Sequence[QueuedWrite]) -> None:
        """See `Ledger.put`."""
        if writes:
            with self._open() as handle:
                seen = self._unchanged(handle)
                _append(handle, [{"put": plain_of(one)} for one in writes])
                if seen is not None:
                    seen.update((one.id, one) for one in writes)
                    self._seen = _stamp(handle), seen
                if not self._named:  # without a sync of the folder, a new file can be lost
                    _keep_names(self._path.parent)
                    self._named = True

    def settle(self, done: Iterable[str], failed: Mapping[str, str], *, namespace: str) -> None:
        """See `Ledger.settle`."""
        lines: list[dict[str, Any]] = [{"done": one} for one in done]
        lines += [{"failed": one, "error": error} for one, error in failed.items()]
        if not lines:
            return
        with self._open() as handle:
            seen = self._unchanged(handle)
            _append(handle, lines)
            if seen is not None:
                settled(seen, (line["done"] for line in lines if "done" in line), failed)
                self._seen = _stamp(handle), seen

    def tidy(self) -> None:
        """See `Ledger.tidy`; if it is not possible now, the next flush does it."""
        self._seen = None
        if self.is_empty():
            return
        with self._open() as handle:
            self._tidy(handle)

    def waiting(self, namespace: str | None = None) -> tuple[QueuedWrite, ...]:
        """See `Ledger.waiting`."""
        if self.is_empty():
            return ()
        with self._open() as handle:
            return _of(namespace, read(_whole(handle)))

    def still(self, found: Sequence[QueuedWrite]) -> list[QueuedWrite]:
        """See `Ledger.still`; the file's content is cached until `tidy`, and read again when others have changed it."""
        with self._open() as handle:
            held = self._unchanged(handle)
            if held is None:
                held = read(_whole(handle))
                self._seen = _stamp(handle), held
            return _still(held, found)

    def is_empty(self) -> bool:
        """See `Ledger.is_empty`."""
        try:
            return self._path.stat().st_size == 0
        except OSError:
            return True

    @contextmanager
    def turn(self, *, wait: bool = True) -> Iterator[bool]:
        """See `Ledger.turn`; a lock file keeps other processes out; its lock ends with the process."""
        beside = self._path.with_name(self._path.name + ".turn")
        with _held(self._turn, wait=wait) as ours:
            if not ours:
                yield False
                return
            with _locked(beside, wait=wait) as handle:
                try:
                    yield handle is not None
                finally:
                    if handle is not None:
                        with suppress(OSError):  # Windows cannot delete an open file; the next flush finds it
                            beside.unlink()

    def _unchanged(self, handle: int) -> dict[str, QueuedWrite] | None:
        """The cached content, if the file is unchanged."""
        seen = self._seen
        return seen[1] if seen is not None and seen[0] == _stamp(handle) else None

    def _tidy(self, handle: int) -> None:
        text = _whole(handle)
        held = read(text)
        if not held:
            os.ftruncate(handle, 0)
            return
        kept = b"".join(line_of({"put": plain_of(one)}) for one in held.values())
        if kept == text or os.name == "nt":  # on Windows an open file cannot be replaced
            return
        beside = self._path.with_name(self._path.name + ".new")
        try:
            made = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                write(made, kept)
                os.fsync(made)
            finally:
                os.close(made)
            os.replace(beside, self._path)
        except OSError as error:  # the flush itself has succeeded, and its results must be returned
            log.warning("What is done could not be taken out of the queue: %s", error.strerror)
            with suppress(OSError):
                beside.unlink()
        else:
            _keep_names(self._path.parent)

    @contextmanager
    def _open(self) -> Iterator[int]:
        """The file with an exclusive lock."""
        with _locked(self._path, wait=True) as handle:
            assert handle is not None  # `wait` was true
            with _translated(self._path):
                yield handle


@contextmanager
def _held(turn: threading.Lock, *, wait: bool) -> Iterator[bool]:
    if not turn.acquire(blocking=wait):
        yield False
        return
    try:
        yield True
    finally:
        turn.release()


@contextmanager
def _locked(path: Path, *, wait: bool) -> Iterator[int | None]:
    """Create, open and lock a file; None when another process holds it and `wait` is false.

    Repeats when another process has replaced or removed the file in the meantime.
    """
    while True:
        with locked_file(path, what="the queue", wait=wait) as handle:
            if handle is None or _is_same(handle, path):
                yield handle
                return


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReadOnly(f"the queue cannot be written: {error.strerror}", where=str(path)) from error


def _is_same(handle: int, path: Path) -> bool:
    try:
        there, ours = path.stat(), os.fstat(handle)
    except FileNotFoundError:
        return False
    return (there.st_ino, there.st_dev) == (ours.st_ino, ours.st_dev)


def _append(handle: int, lines: Sequence[Mapping[str, Any]]) -> None:
    size = os.lseek(handle, 0, os.SEEK_END)
    text = b"".join(map(line_of, lines))
    if size:
        os.lseek(handle, size - 1, os.SEEK_SET)
        if os.read(handle, 1) != b"\n":
            text = b"\n" + text  # the last writer was interrupted within a line
    try:
        write(handle, text)
        os.fsync(handle)
    except BaseException:
        with suppress(OSError):  # a refused write must not be written later
            os.ftruncate(handle, size)
        raise


def _keep_names(folder: Path) -> None:
    """Sync the entries of a folder to disk, where the system supports it."""
    if os.name == "nt":
        return
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _whole(handle: int) -> bytes:
    size = os.lseek(handle, 0, os.SEEK_END)
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while size > 0 and (part := os.read(handle, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _stamp(handle: int) -> _Stamp:
    """Identifies a file state: others change it only by appending, emptying, or replacing it."""
    there = os.fstat(handle)
    return there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns


def _still(held: Mapping[str, QueuedWrite], found: Sequence[QueuedWrite]) -> list[QueuedWrite]:
    return [held[one.id] for one in found if one.id in held]


def _of(namespace: str | None, held: Mapping[str, QueuedWrite]) -> tuple[QueuedWrite, ...]:
    return tuple(one for one in held.values() if namespace in (None, one.namespace))
