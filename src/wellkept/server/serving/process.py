"""The server process: startup, serving and graceful shutdown.

The first signal switches `/readyz` to 503. For `drain` seconds the server continues as before, so that a load
balancer can react; then it accepts no new connections. Running requests have `grace` seconds to finish; the rest
is aborted without an answer. A second signal skips the drain, and a second Ctrl-C stops at once. A requested
shutdown has exit code 0.
"""

from __future__ import annotations

import gc
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn

from wellkept.frozen import frozen
from wellkept.server.serving.connections import Connection, Patience, Waiting

_MOST_HEADERS = 64 * 1024
_COLLECTIONS = 700, 10, 1_000
"""New objects per collection of the youngest generation, and collections of each generation per one of the next.

The first two are the defaults of Python 3.12, because the command line raises them while it loads. The default of the
third is 10.
"""
_FILES = 8_192
"""Maximum number of open connections and store files of the process, if the system allows it."""


@frozen(kw_only=True)
class Ending:
    """Timing of the shutdown.

    Attributes:
        drain: Seconds after SIGTERM in which the server continues, but reports that it is not ready.
        grace: Seconds for running requests after that.
    """

    drain: float = 1.0
    grace: int = 10


class Process(uvicorn.Server):
    """A uvicorn server that drains before it stops.

    Args:
        app: The ASGI application.
        ending: Timing of the shutdown.
        drain: Called at the start of the shutdown; must switch the readiness probe.
        listening: Called when requests are accepted.
        patience: Deadlines of its connections.
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
                # The header limit below applies to h11; another installed parser would be preferred.
                http=cast(Any, partial(Connection, patience=patience, waiting=Waiting())),
                ws="none",
                log_config=None,
                log_level="warning",
                access_log=False,  # paths and queries may contain stored texts
                server_header=False,
                proxy_headers=False,  # nothing depends on the client address reported by a proxy
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
        """Start the shutdown at the first signal, and shorten it at the next one.

        Unlike in the base class, signals are not raised again afterwards, so that a successful requested shutdown has
        exit code 0.
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
        """Called ten times per second; returns whether the drain is over."""
        if self._until is not None and time.monotonic() >= self._until:
            self.should_exit = True
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report when requests are accepted."""
        _allow_files(_FILES)
        collect_seldom()
        await super().startup(sockets=sockets)
        if self.started:
            self._listening()


def collect_seldom() -> None:
    """Exclude objects loaded so far from garbage collection, and make full collections rare.

    A collection visits every object of its generation and blocks the event loop meanwhile. Comparing a long text
    creates hundreds of thousands of objects, all of which are freed without a collection.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


def _allow_files(most: int) -> None:
    """Raise this process's limit of open files as far as permitted, since each connection is one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
