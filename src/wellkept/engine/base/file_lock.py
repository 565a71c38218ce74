"""A lock of the operating system on an open file; it is released when its process ends, even by a crash."""

from __future__ import annotations

import sys

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def lock(handle: int) -> None:
        """Wait for an exclusive lock."""
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)

    def try_lock(handle: int) -> bool:
        """Take the lock if it is free; returns whether it was taken."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def unlock(handle: int) -> None:
        """Release the lock."""
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def lock(handle: int) -> None:
        """Wait for an exclusive lock."""
        fcntl.flock(handle, fcntl.LOCK_EX)

    def try_lock(handle: int) -> bool:
        """Take the lock if it is free; returns whether it was taken."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(handle: int) -> None:
        """Release the lock."""
        fcntl.flock(handle, fcntl.LOCK_UN)
