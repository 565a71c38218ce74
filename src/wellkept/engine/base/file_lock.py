"""A lock of the operating system on an open file: it ends with its holder, so a crash needs no hand."""

from __future__ import annotations

import sys

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def lock(handle: int) -> None:
        """Wait until the file is ours alone."""
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)

    def try_lock(handle: int) -> bool:
        """Have the file alone, if nobody else has it."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def unlock(handle: int) -> None:
        """Let others have it."""
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def lock(handle: int) -> None:
        """Wait until the file is ours alone."""
        fcntl.flock(handle, fcntl.LOCK_EX)

    def try_lock(handle: int) -> bool:
        """Have the file alone, if nobody else has it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(handle: int) -> None:
        """Let others have it."""
        fcntl.flock(handle, fcntl.LOCK_UN)
