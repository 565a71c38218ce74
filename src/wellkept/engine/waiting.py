"""Where writes wait: a file beside the store that survives a crash, or the memory of the process.

The file holds one line for each act: a write was put, is done, or failed. A line counts once it is whole
and on the disk, so what was acknowledged is there after a crash, and a line cut off in the writing is none.
What is done is taken out at the end of each flush: a memory that is erased later must not linger here (I1).
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from wellkept.core.codec import iso, time_from
from wellkept.engine.filelock import lock, unlock
from wellkept.errors import Busy, ReadOnly
from wellkept.types.queue import QueuedWrite

log = logging.getLogger("wellkept")

_FIELDS = tuple(QueuedWrite.__dataclass_fields__)
_TEXTS = ("id", "store", "namespace", "session", "lot", "actor", "error")


class Ledger(Protocol):
    """Keeps writes in the order in which they were put; safe to use from several threads.

    Attributes:
        turn: Held by whoever writes the waiting ones to the store, so that they keep their order.
    """

    turn: threading.Lock

    def put(self, writes: Sequence[QueuedWrite]) -> None:
        """Keep these; when it returns they survive a crash, and when it raises none is kept."""
        ...

    def settle(self, done: Iterable[str], failed: Mapping[str, str]) -> None:
        """These were written, and these could not be, for the reason given."""
        ...

    def tidy(self) -> None:
        """Let go of what is done; called once at the end of a flush, since it may read everything."""
        ...

    def waiting(self) -> tuple[QueuedWrite, ...]:
        """What has been put and is not done, oldest first."""
        ...

    def is_empty(self) -> bool:
        """Whether surely nothing waits; cheap."""
        ...


class ProcessLedger:
    """Keeps writes in this process, for stores that end with it."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self._lock = threading.Lock()
        self._held: dict[str, QueuedWrite] = {}

    def put(self, writes: Sequence[QueuedWrite]) -> None:
        """See `Ledger.put`."""
        with self._lock:
            self._held.update((one.id, one) for one in writes)

    def settle(self, done: Iterable[str], failed: Mapping[str, str]) -> None:
        """See `Ledger.settle`."""
        with self._lock:
            _settle(self._held, done, failed)

    def tidy(self) -> None:
        """See `Ledger.tidy`; nothing that is done is held."""

    def waiting(self) -> tuple[QueuedWrite, ...]:
        """See `Ledger.waiting`."""
        with self._lock:
            return tuple(self._held.values())

    def is_empty(self) -> bool:
        """See `Ledger.is_empty`."""
        return not self._held


class FileLedger:
    """Keeps writes in a file of their own; several processes may use it at once.

    Args:
        path: The file; made when the first write is put.

    Example:
        >>> import tempfile
        >>> ledger = FileLedger(Path(tempfile.mkdtemp()) / "agent.db.queue")
        >>> ledger.is_empty(), ledger.waiting()
        (True, ())
    """

    def __init__(self, path: Path) -> None:
        self.turn = threading.Lock()
        self._path = path
        self._named = False

    def put(self, writes: Sequence[QueuedWrite]) -> None:
        """See `Ledger.put`."""
        if writes:
            with self._open() as handle:
                _append(handle, [{"put": _plain(one)} for one in writes])
                if not self._named:  # a new file is lost with its name
                    _keep_names(self._path.parent)
                    self._named = True

    def settle(self, done: Iterable[str], failed: Mapping[str, str]) -> None:
        """See `Ledger.settle`."""
        lines: list[dict[str, Any]] = [{"done": one} for one in done]
        lines += [{"failed": one, "error": error} for one, error in failed.items()]
        if not lines:
            return
        with self._open() as handle:
            _append(handle, lines)

    def tidy(self) -> None:
        """See `Ledger.tidy`; where it cannot be done now, it is done at the next flush."""
        if self.is_empty():
            return
        with self._open() as handle:
            self._tidy(handle)

    def waiting(self) -> tuple[QueuedWrite, ...]:
        """See `Ledger.waiting`."""
        if self.is_empty():
            return ()
        with self._open() as handle:
            return tuple(_read(_whole(handle)).values())

    def is_empty(self) -> bool:
        """See `Ledger.is_empty`."""
        try:
            return self._path.stat().st_size == 0
        except OSError:
            return True

    def _tidy(self, handle: int) -> None:
        text = _whole(handle)
        held = _read(text)
        if not held:
            os.ftruncate(handle, 0)
            return
        kept = b"".join(_line({"put": _plain(one)}) for one in held.values())
        if kept == text or os.name == "nt":  # there an open file cannot be replaced
            return
        beside = self._path.with_name(self._path.name + ".new")
        try:
            made = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                _write(made, kept)
                os.fsync(made)
            finally:
                os.close(made)
            os.replace(beside, self._path)
        except OSError as error:  # the flush itself has succeeded, and its results must be told
            log.warning("What is done could not be taken out of the queue: %s", error.strerror)
            with suppress(OSError):
                beside.unlink()
        else:
            _keep_names(self._path.parent)

    @contextmanager
    def _open(self) -> Iterator[int]:
        """The file, ours alone; another process may have put a new one in its place while we waited."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        while True:
            try:
                handle = os.open(self._path, flags, 0o600)
            except OSError as error:
                raise ReadOnly(
                    f"the queue cannot be written: {error.strerror}",
                    where=str(self._path),
                    todo="Check its permissions",
                ) from error
            try:
                try:
                    lock(handle)
                except OSError as error:
                    raise Busy("the queue cannot be locked", where=str(self._path), todo="Use a local disk") from error
                try:
                    if not _is_same(handle, self._path):
                        continue
                    with _translated(self._path):
                        yield handle
                    return
                finally:
                    os.lseek(handle, 0, os.SEEK_SET)
                    unlock(handle)
            finally:
                os.close(handle)


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


def _settle(held: dict[str, QueuedWrite], done: Iterable[str], failed: Mapping[str, str]) -> None:
    for one in done:
        held.pop(one, None)
    for one, error in failed.items():
        if one in held:
            held[one] = replace(held[one], attempts=held[one].attempts + 1, error=error)


def _append(handle: int, lines: Sequence[Mapping[str, Any]]) -> None:
    size = os.lseek(handle, 0, os.SEEK_END)
    text = b"".join(map(_line, lines))
    if size:
        os.lseek(handle, size - 1, os.SEEK_SET)
        if os.read(handle, 1) != b"\n":
            text = b"\n" + text  # whoever wrote last did not come to the end of the line
    try:
        _write(handle, text)
        os.fsync(handle)
    except BaseException:
        with suppress(OSError):  # what is refused must not be written later all the same
            os.ftruncate(handle, size)
        raise


def _keep_names(folder: Path) -> None:
    """Have the names of a folder on the disk, where the system can do that."""
    if os.name == "nt":
        return
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _write(handle: int, text: bytes) -> None:
    while text:
        text = text[os.write(handle, text) :]


def _whole(handle: int) -> bytes:
    size = os.lseek(handle, 0, os.SEEK_END)
    os.lseek(handle, 0, os.SEEK_SET)
    parts = []
    while size > 0 and (part := os.read(handle, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _line(plain: Mapping[str, Any]) -> bytes:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _plain(one: QueuedWrite) -> dict[str, Any]:
    return {**{name: getattr(one, name) for name in _FIELDS}, "at": iso(one.at), "statement": dict(one.statement)}


def _read(text: bytes) -> dict[str, QueuedWrite]:
    """What waits by the lines; one that is no line of ours says nothing."""
    held: dict[str, QueuedWrite] = {}
    for line in text.split(b"\n"):
        if not line.strip():
            continue
        try:
            plain = json.loads(line)
            for word, value in plain.items():
                _ACTS.get(word, _nothing)(held, value, plain)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            log.warning("A line of the queue cannot be read and is passed over")
    return held


def _put(held: dict[str, QueuedWrite], value: Any, _: Mapping[str, Any]) -> None:
    given = {name: value[name] for name in _FIELDS if name in value}
    if not all(isinstance(given.get(name, ""), str) for name in _TEXTS) or type(given.get("attempts", 0)) is not int:
        raise TypeError("a field of another type")
    one = QueuedWrite(**{**given, "at": time_from(given["at"]), "statement": dict(given["statement"])})
    held[one.id] = one


def _done(held: dict[str, QueuedWrite], value: Any, _: Mapping[str, Any]) -> None:
    _settle(held, (str(value),), {})


def _failed(held: dict[str, QueuedWrite], value: Any, plain: Mapping[str, Any]) -> None:
    _settle(held, (), {str(value): str(plain.get("error", ""))})


def _nothing(held: dict[str, QueuedWrite], value: Any, plain: Mapping[str, Any]) -> None:
    """A word of a later release, or the second half of a line."""


_ACTS: Mapping[str, Callable[[dict[str, QueuedWrite], Any, Mapping[str, Any]], None]] = {
    "put": _put,
    "done": _done,
    "failed": _failed,
}
