"""Noticing that a store's file was cut off while it is open: SQLite itself looks only at the pages it needs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from wellkept.errors import Corrupt

_HEADER = 100
_TODO = "End all processes that use it, and restore a copy"


def said_size(header: bytes) -> int:
    """How many bytes a file of this header has, as of the last time its log was written into it."""
    page = int.from_bytes(header[16:18], "big")
    return (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")


class KnownLength:
    """The greatest length that a file is known to have had.

    A file becomes shorter by a VACUUM alone, which also writes the new length into the header; growing, it may be
    shorter than its header says for a moment. So only one that is shorter than before and than its header is damaged.

    Args:
        file: The store's file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._longest = 0

    def check(self) -> None:
        """Look before a write.

        Raises:
            Corrupt: The file was cut off since the last look.
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
        """Take note of the length after a write; a shorter one is left to the next look."""
        with suppress(OSError):  # whoever took the file away is told of at the next look
            self._longest = max(self._longest, os.stat(self._file).st_size)

    def forget(self) -> None:
        """Another file has the name now."""
        self._longest = 0
