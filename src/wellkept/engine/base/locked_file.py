"""A small file that several processes read and write, one at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wellkept.engine.base.file_lock import lock, try_lock, unlock
from wellkept.errors import Busy, ReadOnly


@contextmanager
def locked_file(path: Path, *, what: str, wait: bool = True) -> Iterator[int | None]:
    """Create, open and lock a file until the block ends; None when another process holds it and `wait` is false.

    Args:
        path: The file.
        what: What it holds, for errors.
        wait: Whether to wait for another process.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        raise ReadOnly(
            f"{what} cannot be written: {error.strerror}", where=str(path), todo="Check its permissions"
        ) from error
    try:
        if not _is_locked(handle, path, what=what, wait=wait):
            yield None
            return
        try:
            yield handle
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
            unlock(handle)
    finally:
        os.close(handle)


def _is_locked(handle: int, path: Path, *, what: str, wait: bool) -> bool:
    try:
        if not wait:
            return try_lock(handle)
        lock(handle)
    except OSError as error:
        raise Busy(f"{what} cannot be locked", where=str(path), todo="Use a local disk") from error
    return True


def rewrite(handle: int, text: bytes) -> None:
    """Replace the content of an open file."""
    os.lseek(handle, 0, os.SEEK_SET)
    write(handle, text)
    os.ftruncate(handle, len(text))


def write(handle: int, text: bytes) -> None:
    """Write all of a text where an open file stands."""
    while text:
        text = text[os.write(handle, text) :]
