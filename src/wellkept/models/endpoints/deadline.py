"""A deadline for a whole HTTP call.

HTTP clients limit each read, so a server that sends single bytes never times out.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

import httpx2

Trace = Callable[[str, dict[str, Any]], None]
_MADE = ".complete"


class Lines:
    """Connections of one HTTP client, closed when a call exceeds its deadline.

    Safe to share between threads. A call on a reused connection cannot be identified; then all connections of the
    client are closed.

    Example:
        >>> lines = Lines()
        >>> with httpx2.Client() as client, lines.within(2.0) as trace:  # doctest: +SKIP
        ...     client.get("http://127.0.0.1:8000/healthz", extensions={"trace": trace})
    """

    def __init__(self) -> None:
        self._all: WeakSet[Any] = WeakSet()
        self._lock = threading.Lock()

    @contextmanager
    def within(self, seconds: float) -> Iterator[Trace]:
        """Close the connection of the call in the block after a deadline.

        Args:
            seconds: Time from now to the end of the block.

        Yields:
            The `trace` extension for the request.

        Raises:
            httpx2.ReadTimeout: The call took longer; its answer is incomplete.
        """
        own: list[Any] = []
        over = threading.Event()

        def trace(event: str, told: dict[str, Any]) -> None:
            made: Any = told.get("return_value")
            if event.endswith(_MADE) and hasattr(made, "get_extra_info"):
                own.append(made)
                with self._lock:
                    self._all.add(made)
                if over.is_set():  # it was made after the deadline, which found nothing to close
                    _shut(made.get_extra_info("socket"))

        def cut() -> None:
            over.set()
            with self._lock:
                lines = own or list(self._all)
            for line in lines:
                _shut(line.get_extra_info("socket"))

        timer = threading.Timer(seconds, cut)
        timer.daemon = True
        timer.start()
        try:
            yield trace
        except httpx2.HTTPError as error:
            if over.is_set():
                raise httpx2.ReadTimeout("the answer was not whole in time") from error
            raise
        finally:
            timer.cancel()
        if over.is_set():
            raise httpx2.ReadTimeout("the answer was not whole in time")


def _shut(line: Any) -> None:
    if isinstance(line, socket.socket):
        with suppress(OSError):  # already closed
            socket.socket.shutdown(line, socket.SHUT_RDWR)  # not the TLS method: another thread may be reading
