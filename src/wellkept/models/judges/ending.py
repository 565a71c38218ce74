"""A program that ends while a model runs: the run is stopped and waited for, briefly.

A late judge goes on in a daemon thread. Such a thread inside a native library when the interpreter is
taken down aborts the whole process, and a finished program must not end with a crash.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wellkept.errors import ModelUnavailable

PATIENCE = 2.0
"""Seconds the end of a program waits for a run to stop; a run is asked to stop between two of its steps."""


class Work:
    """Native work under way in this process."""

    def __init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._stops: dict[int, Callable[[], None]] = {}
        self._ending = False
        self._count = 0

    @contextmanager
    def under_way(self, stop: Callable[[], None]) -> Iterator[None]:
        """Around work that `stop`, called from another thread, brings to an early end.

        Raises:
            ModelUnavailable: The program is ending.
        """
        if self._process != os.getpid():
            self._restart()  # threads do not survive a fork, nor may a lock that one of them held
        with self._changed:
            if self._ending:
                raise ModelUnavailable("the program is ending")
            self._count += 1
            own = self._count
            self._stops[own] = stop
        try:
            yield
        finally:
            with self._changed:
                del self._stops[own]
                self._changed.notify_all()

    def end(self) -> None:
        """Stop what is under way and wait for it, within patience; nothing new may begin."""
        if self._process != os.getpid():
            return
        with self._changed:
            self._ending = True
            for stop in self._stops.values():
                stop()
            self._changed.wait_for(lambda: not self._stops, timeout=PATIENCE)


WORK = Work()
atexit.register(WORK.end)
