"""Many may look at a matrix at once; who changes it is alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Sharing:
    """A lock that searches share and changes do not.

    A change that waits lets no further search in, so that readers without a pause cannot starve it. One
    thread takes it once only: a second look of the same thread could wait for a change that waits for the first.
    """

    def __init__(self) -> None:
        self._state = threading.Condition()
        self._looking = 0
        self._waiting = 0
        self._changing = False

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Alone, until the block is left."""
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
        """Beside others who look, and nobody who changes.

        Args:
            ready: Whether what there is will do; asked once inside.
            prepare: Called alone when it will not; nobody changes anything between its end and the block.
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
