"""A deadline for a whole HTTP call. An HTTP client bounds each read by itself, and a server that sends one byte
after the other is in time with every one of them.
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
    """The connections of one HTTP client, to be cut where a call takes too long.

    Safe to share between threads. A call on a connection that an earlier one has made cannot be told from
    the others of the client; then all of them are cut.

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
        """Cut the call made in the block once it has taken so long.

        Args:
            seconds: From now until the end of the block.

        Yields:
            The `trace` extension that the request has to carry.

        Raises:
            httpx2.ReadTimeout: The call took longer; what it gave is not whole.
        """
        own: list[Any] = []
        over = threading.Event()

        def trace(event: str, told: dict[str, Any]) -> None:
            made = told.get("return_value")
            if event.endswith(_MADE) and hasattr(made, "get_extra_info"):
                own.append(made)
                with self._lock:
                    self._all.add(made)

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
        with suppress(OSError):  # it has ended meanwhile
            socket.socket.shutdown(line, socket.SHUT_RDWR)  # not that of TLS, which another thread may be reading
