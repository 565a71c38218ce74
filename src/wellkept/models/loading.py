"""Locks of what is loaded on first use, which survive a fork.

A child has only the thread that forked. A lock that another thread held would stay locked in it for ever, and what that
thread was loading or importing would stay half done. So a fork waits a while for what is being loaded, and the child
gets new locks. A lock that the forking thread holds itself stays as it is, in both processes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from weakref import ref

PATIENCE = 10.0
"""Most seconds that a fork waits; whoever loads longer must not keep a program from forking."""
_TURN = 0.5
"""Seconds after which a fork gives back the locks that it has, because a loading thread may need them to go on."""


class LoadingLock:
    """A lock for a `with` statement, open in a child however it was forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        _LOCKS.append(ref(self, _LOCKS.remove))

    def __enter__(self) -> None:
        self._lock.acquire()
        self._owner = threading.get_ident()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._owner = 0
        self._lock.release()

    @property
    def is_own(self) -> bool:
        """Whether this thread holds it."""
        return self._owner == threading.get_ident()

    def renew(self) -> None:
        """Replace the lock by an open one."""
        self._lock, self._owner = threading.Lock(), 0


_LOCKS: list[ref[LoadingLock]] = []


class _Held(threading.local):
    """The locks that a forking thread holds during its fork."""

    def __init__(self) -> None:
        self.locks: Sequence[threading.Lock] = ()


_HELD = _Held()


def _wait() -> None:
    until = time.monotonic() + PATIENCE
    wanted = [one._lock for one in _of_others()]
    while not _HELD.locks and wanted:
        _HELD.locks = _taken(wanted, min(_TURN, PATIENCE))
        if time.monotonic() >= until:
            break


def _taken(wanted: Sequence[threading.Lock], seconds: float) -> Sequence[threading.Lock]:
    """All of these locks, each after so many seconds at most; none if one of them stays held."""
    for place, lock in enumerate(wanted):
        if not lock.acquire(timeout=seconds):
            _release(wanted[:place])
            return ()
    return wanted


def _release(locks: Sequence[threading.Lock]) -> None:
    for lock in locks:
        lock.release()


def _go_on() -> None:
    held, _HELD.locks = _HELD.locks, ()
    _release(held)


def _renew() -> None:
    _HELD.locks = ()
    for one in _of_others():
        one.renew()


def _of_others() -> list[LoadingLock]:
    return [lock for one in tuple(_LOCKS) if (lock := one()) is not None and not lock.is_own]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_renew)
