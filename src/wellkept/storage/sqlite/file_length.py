"""Detects that the file of an open store was truncated; SQLite itself checks only the pages it reads."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from wellkept.errors import Corrupt

_HEADER = 100
_TODO = "End all processes that use it, and restore a copy"


def said_size(header: bytes) -> int:
    """File size in bytes by this header, as of the last checkpoint of the log."""
    page = int.from_bytes(header[16:18], "big")
    return (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")


class KnownLength:
    """The greatest known length of a file.

    Only VACUUM shortens a file, and it also writes the new length into the header. A growing file may briefly be
    shorter than its header says. So a file is truncated only if it is shorter than before and than its header says.

    Args:
        file: The store's file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._longest = 0

    def check(self) -> None:
        """Check the length before a write.

        Raises:
            Corrupt: The file was truncated since the last check.
        """
        size = os.stat(self._file).st_size
        if size < self._longest:
            with self._file.open("rb") as stream:
                header = stream.read(_HEADER)
            if len(header) < _HEADER or size < said_size(header):
                what = f"the file was cut off while it was open: {size} bytes of {self._longest} are left"
                raise Corrupt(what, where=str(self._file), todo=_TODO)
        self._longest = size

    def grew(self) -> None:
        """Record the length after a write; a shorter length is left to the next check."""
        with suppress(OSError):  # the next check reports a missing file
            self._longest = max(self._longest, os.stat(self._file).st_size)

    def forget(self) -> None:
        """Reset, because another file has the name now."""
        self._longest = 0
