"""Locks of what is loaded on first use, which survive a fork.

A child has only the thread that forked. A lock that another thread held would stay locked in it for ever, and what that
thread was loading or importing would stay half done. So a fork waits for what is being loaded, and the child gets new
locks.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType
from weakref import ref

PATIENCE = 10.0
"""Most seconds that a fork waits for each lock; whoever loads longer must not keep a program from forking."""


class LoadingLock:
    """A lock for a `with` statement, open in a child however it was forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _LOCKS.append(ref(self, _LOCKS.remove))

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Replace the lock by an open one."""
        self._lock = threading.Lock()


_LOCKS: list[ref[LoadingLock]] = []
_HELD: list[threading.Lock] = []


def _wait() -> None:
    for one in _known():
        if one._lock.acquire(timeout=PATIENCE):
            _HELD.append(one._lock)


def _go_on() -> None:
    while _HELD:
        _HELD.pop().release()


def _renew() -> None:
    _HELD.clear()
    for one in _known():
        one.renew()


def _known() -> list[LoadingLock]:
    return [lock for one in tuple(_LOCKS) if (lock := one()) is not None]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_renew)
