"""Time from the start of `wellkept mcp` to its first answers, relative to a minimal MCP server with three tools.

Both are started as by an MCP client and get the same requests over standard input: handshake, list of tools, and one
call. Runs alternate, so that other load slows both. Run it with `python -m benchmarks.mcp_start`; the goal is a ratio
of at most 1.5 up to the list of tools.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import machine

GOAL = 1.5
PROTOCOL = "2025-11-25"
BARE = """
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

class Hit(BaseModel):
    id: str
    text: str

class Found(BaseModel):
    hits: list[Hit]

server = MCPServer("bare", log_level="WARNING")

@server.tool()
def keep(content: str) -> Hit:
    return Hit(id="1", text=content)

@server.tool()
def recall(query: str, limit: int = 5) -> Found:
    return Found(hits=[])

@server.tool()
def drop(memory_id: str) -> bool:
    return True

server.run("stdio")
"""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds since the start of the process."""

    listed: float
    called: float


def started(command: Sequence[str], folder: Path) -> Times:
    """Start a server, send the requests, and stop it."""
    begun = time.perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=_environment(),
    ) as process:
        client = {"name": "bench", "version": "1"}
        _ask(process, 1, "initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        _send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = _ask(process, 2, "tools/list", {})["tools"]
        listed = time.perf_counter() - begun
        assert any(tool["name"] == "recall" for tool in tools)
        answer = _ask(process, 3, "tools/call", {"name": "recall", "arguments": {"query": "the port of the database"}})
        called = time.perf_counter() - begun
        assert not answer.get("isError"), answer
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)
    return Times(listed, called)


def _environment() -> dict[str, str]:
    """The environment in which servers find this process's packages, whatever their working directory."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(part).absolute()) for part in sys.path if part)}


def _ask(process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    _send(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    assert process.stdout is not None
    while line := process.stdout.readline():
        message = json.loads(line)
        if message.get("id") == number:
            result: dict[str, Any] = message["result"]
            return result
    raise RuntimeError(f"the server ended before it answered {method}")


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp_start", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=9, help="runs of each, after one that is not counted")
    parser.add_argument("--embedder", default="auto", help="of the store")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as name:
        folder = Path(name)
        (folder / "bare.py").write_text(BARE, encoding="utf-8")
        ours = [sys.executable, "-m", "wellkept.cli", "--embedder", given.embedder, "--db", "bench.db", "mcp"]
        bare = [sys.executable, "bare.py"]
        started(bare, folder), started(ours, folder)  # warms the file cache for both
        pairs = [(started(bare, folder), started(ours, folder)) for _ in range(given.runs)]
        for key, value in machine(folder).items():
            print(f"{key}: {value}")
    for what, goal in (("listed", GOAL), ("called", None)):
        floor, own = ([getattr(pair[at], what) for pair in pairs] for at in (0, 1))
        ratio = statistics.median(two / one for one, two in zip(floor, own, strict=True))
        wanted = f" (goal: at most {goal})" if goal is not None else ""
        print(
            f"tools {what}: bare {statistics.median(floor):.2f} s, wellkept {statistics.median(own):.2f} s, "
            f"ratio {ratio:.2f}{wanted}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
