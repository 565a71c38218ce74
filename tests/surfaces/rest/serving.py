"""An application on a free port of this machine, served by a thread that ends with the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

import wellkept


class _Server(uvicorn.Server):
    """A server that signals when it is ready, so that tests need not poll."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address under which the application answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = _Server(uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            assert server.ready.wait(20), "the server did not start"
            host, port = listening.getsockname()
            yield f"http://{host}:{port}"
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server did not stop"


def rest_app(store: wellkept.MemoryStore, **options: Any) -> Any:
    """The whole REST surface over a store."""
    from wellkept.server.rest import create_app

    return create_app(store, **options)
