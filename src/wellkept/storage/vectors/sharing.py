"""A shared/exclusive lock for matrices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Sharing:
    """A lock that is shared by searches and exclusive for changes.

    A waiting change blocks further searches, so that continuous searches cannot starve it. The lock is not reentrant: a
    second acquisition in the same thread can deadlock with a waiting change.
    """

    def __init__(self) -> None:
        self._state = threading.Condition()
        self._looking = 0
        self._waiting = 0
        self._changing = False

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock exclusively within the block."""
        self._take()
        try:
            yield
        finally:
            with self._state:
                self._changing = False
                self._state.notify_all()

    @contextmanager
    def looking(
        self, *, ready: Callable[[], bool] = lambda: True, prepare: Callable[[], None] = lambda: None
    ) -> Iterator[None]:
        """Hold the lock shared within the block.

        Args:
            ready: Whether the content can be used; called once with the lock held.
            prepare: Called with the exclusive lock if not; no change happens between its end and the block.
        """
        with self._state:
            self._state.wait_for(lambda: not self._changing and not self._waiting)
            self._looking += 1
        held = True
        try:
            if not ready():
                self._leave()
                held = False
                self._take()
                try:
                    prepare()
                    held = True
                finally:
                    with self._state:
                        self._changing = False
                        self._looking += held
                        self._state.notify_all()
            yield
        finally:
            if held:
                self._leave()

    def _take(self) -> None:
        with self._state:
            self._waiting += 1
            try:
                self._state.wait_for(lambda: not self._changing and not self._looking)
                self._changing = True
            finally:
                self._waiting -= 1

    def _leave(self) -> None:
        with self._state:
            self._looking -= 1
            self._state.notify_all()
