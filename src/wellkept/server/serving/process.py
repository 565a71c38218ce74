"""The running process: it listens, and it ends well.

The first signal turns `/readyz` to 503. After `drain` seconds, in which a load balancer may notice
and the rest goes on as before, no new connection is taken; requests that run have `grace` seconds to
finish, and what is left is cut off, unacknowledged. A second signal does not wait for the drain, and
a second Ctrl-C for nothing. Whoever asked for the end gets exit code 0.
"""

from __future__ import annotations

import gc
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn

from wellkept.server.serving.connections import Connection, Patience, Waiting

_MOST_HEADERS = 64 * 1024
_FULL_COLLECTION = 1_000
"""Collections of the middle generation before a full one; Python's own figure is 10."""
_FILES = 8_192
"""Connections and files of the store together that a process may have open, where the system allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How long an end may take.

    Attributes:
        drain: Seconds from SIGTERM on in which everything goes on, but readiness says no.
        grace: Seconds that running requests have afterwards.
    """

    drain: float = 1.0
    grace: int = 10


class Process(uvicorn.Server):
    """A server that drains first.

    Args:
        app: What it serves.
        ending: How long the end may take.
        drain: Called when it begins; has to turn the readiness probe.
        listening: Called when requests are taken.
        patience: How long its connections are waited for.
    """

    def __init__(
        self,
        app: Any,
        *,
        ending: Ending,
        drain: Callable[[], None],
        listening: Callable[[], None],
        patience: Patience = Patience(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                # Of h11, whose bound on headers stands below; another parser would be taken if installed.
                http=cast(Any, partial(Connection, patience=patience, waiting=Waiting())),
                ws="none",
                log_config=None,
                log_level="warning",
                access_log=False,  # paths and queries may hold what somebody remembers
                server_header=False,
                proxy_headers=False,  # nothing here depends on who a proxy says is calling
                timeout_keep_alive=patience.idle,
                timeout_graceful_shutdown=ending.grace,
                h11_max_incomplete_event_size=_MOST_HEADERS,
            )
        )
        self._ending = ending
        self._drain = drain
        self._listening = listening
        self._until: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal begins the end, the next one hurries it.

        Signals are not kept to be raised again afterwards, as the base class does: an end that was asked
        for and went well is exit code 0.
        """
        if self._until is None:
            self._drain()
            interactive = sig == signal.SIGINT
            self._until = time.monotonic() + (0.0 if interactive else self._ending.drain)
        elif not self.should_exit:
            self.should_exit = True
        elif sig == signal.SIGINT:
            self.force_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether the drain is over."""
        if self._until is not None and time.monotonic() >= self._until:
            self.should_exit = True
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so once requests are taken."""
        _allow_files(_FILES)
        collect_seldom()
        await super().startup(sockets=sockets)
        if self.started:
            self._listening()


def collect_seldom() -> None:
    """Leave what was loaded until now out of garbage collections, and make full ones rare.

    A full collection looks at every object that is alive, and holds the loop up meanwhile. While a long text is
    compared that is hundreds of thousands, all of which are freed without a collection.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], _FULL_COLLECTION)


def _allow_files(most: int) -> None:
    """Raise the number of open files of this process as far as its user may, since each connection is one."""
    try:
        import resource
    except ImportError:  # Windows has no such bound
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
