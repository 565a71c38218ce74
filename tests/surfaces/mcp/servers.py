"""Servers as the tests talk to them: in this process, as a process of their own, and over HTTP."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from stores import place

ROOT = Path(__file__).parents[3]
Mode = Literal["auto", "legacy"]
MODES: tuple[Mode, ...] = ("auto", "legacy")
"""The newer revision of the protocol, and the handshake of the older ones."""
newer_in_every_run = pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.soak)])
"""For what takes long and happens behind the protocol."""


def talk(target: Any, mode: Mode, talking: Callable[[Client], Any]) -> Any:
    """Run a session of the official client with a server."""

    async def main() -> Any:
        with anyio.fail_after(60):
            async with Client(target, mode=mode) as client:
                try:
                    return await talking(client)
                except MCPError as error:  # on its way through the client's tasks it would be wrapped
                    return error

    answer = anyio.run(main)
    if isinstance(answer, MCPError):
        raise answer
    return answer


def command(folder: Path, *options: str) -> StdioServerParameters:
    """How a client starts `wellkept mcp` on a store in a folder."""
    arguments = ["-m", "wellkept.cli", "--embedder", "hashing", "--db", str(place(folder / "agent.db")), "mcp"]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(folder), "WELLKEPT_RELATION_MODEL": "none"}
    return StdioServerParameters(command=sys.executable, args=[*arguments, *options], env=environment, cwd=str(folder))


@contextlib.contextmanager
def listening(app: Any) -> Iterator[str]:
    """Serve an ASGI app on a free port of this machine; gives its address."""
    import uvicorn

    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        ready = threading.Event()
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                ready.set()

        server = Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [reserved]})
        thread.start()
        try:
            assert ready.wait(30)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(30)
