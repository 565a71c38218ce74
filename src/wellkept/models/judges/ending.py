"""Shutdown while a model runs: the run is stopped and awaited briefly.

The thread of a late judge is a daemon. A daemon thread inside a native library aborts the process when the interpreter
shuts down.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wellkept.errors import ModelUnavailable

PATIENCE = 2.0
"""Seconds that shutdown waits for a run; a run stops between two graph nodes."""


class Work:
    """Native model runs of this process."""

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
        """Register a run that `stop`, called from another thread, ends early.

        Raises:
            ModelUnavailable: The program is shutting down.
        """
        if self._process != os.getpid():
            self._restart()  # threads and held locks do not survive a fork
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
        """Stop all runs and wait up to `PATIENCE`; no new run may start."""
        if self._process != os.getpid():
            return
        with self._changed:
            self._ending = True
            for stop in self._stops.values():
                stop()
            self._changed.wait_for(lambda: not self._stops, timeout=PATIENCE)


WORK = Work()
atexit.register(WORK.end)
