"""`wellkept mcp` as a process, and the HTTP app on a port: the official client against the real wires."""

from __future__ import annotations

import contextvars
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import wellkept
from stores import place
from surfaces.command_line import Cli
from surfaces.mcp.servers import MODES, Mode, command, listening, newer_in_every_run, talk
from wellkept.cli.serving import mcp_command
from wellkept.engine.verbs.store import MemoryStore
from wellkept.server.access import Grant
from wellkept.server.mcp.server import http_app


async def everything(client: Client) -> dict[str, Any]:
    """One of each: list, call, progress, an error, a resource, a prompt."""
    seen: list[str | None] = []

    async def progressed(part: float, whole: float | None, words: str | None) -> None:
        seen.append(words)

    written = await client.call_tool("remember", {"content": "Tea is upstairs.", "kind": "lesson"})
    many = await client.call_tool(
        "remember_many", {"items": ["Cups are downstairs.", ""]}, progress_callback=progressed
    )
    return {
        "tools": {tool.name for tool in (await client.list_tools()).tools},
        "written": written.structured_content["outcome"],
        "many": many.structured_content["counts"],
        "progress": seen,
        "error": (await client.call_tool("get", {"memory_id": "nowhere"})).is_error,
        "resource": json.loads((await client.read_resource("wellkept://health")).contents[0].text)["ok"],
        "prompt": (await client.get_prompt("session_start", {"topic": "tea"})).messages[0].content.text,
    }


def check(told: dict[str, Any]) -> None:
    assert {"remember", "recall", "erase"} <= told["tools"]
    assert (told["written"], told["many"], told["error"], told["resource"]) == ("created", {"created": 1}, True, True)
    assert told["progress"] == ["begun"]
    assert "Tea is upstairs." in told["prompt"]


@pytest.mark.parametrize("mode", MODES)
def test_over_standard_input_everything_works_and_what_is_written_stays(tmp_path: Path, mode: Mode) -> None:
    check(talk(command(tmp_path, "--toolset", "full"), mode, everything))
    with wellkept.open(str(place(tmp_path / "agent.db")), embedder="hashing", relation_model="none") as store:
        assert {memory.content for memory in store.list()} == {"Tea is upstairs.", "Cups are downstairs."}
        assert store.verify() == ()


@newer_in_every_run
def test_over_standard_input_a_cancelled_call_leaves_the_server_at_work(tmp_path: Path, mode: Mode) -> None:
    async def talking(client: Client) -> Any:
        scope = anyio.CancelScope()

        async def progressed(part: float, whole: float | None, words: str | None) -> None:
            scope.cancel()

        with scope:
            await client.call_tool("remember_many", {"items": [f"Room {number} is blue." for number in range(50)]},
                                   progress_callback=progressed)  # fmt: skip
        return scope.cancelled_caught, await client.call_tool("recall", {"query": "room"})

    cancelled, after = talk(command(tmp_path, "--toolset", "full"), mode, talking)
    assert cancelled and not after.is_error


def test_standard_output_carries_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    server = command(tmp_path)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get", "arguments": {"memory_id": "x"}}},
    ]
    with subprocess.Popen(
        [server.command, *server.args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=tmp_path, env=server.env, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        told = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        rest, noise = process.stdout.read(), process.stderr.read()
        assert process.wait(30) == 0
    assert [message["id"] for message in told] == [1, 2]
    assert (rest, noise) == ("", "")


@pytest.mark.file
def test_a_store_that_cannot_be_opened_is_told_to_the_agent(tmp_path: Path) -> None:
    (tmp_path / "agent.db").write_bytes(b"this is no store at all, but a text of some length")
    answer = talk(command(tmp_path), "auto", lambda client: client.call_tool("recall", {"query": "tea"}))
    told = json.loads(answer.content[0].text)["error"]
    assert answer.is_error and told["type"] == "NotAStore" and "agent.db" in told["where"]


def test_a_wrong_setting_ends_the_command_at_once(tmp_path: Path) -> None:
    server = command(tmp_path)
    environment = {**(server.env or {}), "WELLKEPT_DURABILITY": "none at all"}
    done = subprocess.run(
        [server.command, *server.args],
        env=environment,
        cwd=tmp_path,
        input="",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and done.stdout == "" and "durability" in done.stderr


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with wellkept.open(str(place(tmp_path / "agent.db")), embedder="hashing", relation_model="none") as opened:
        yield opened


@pytest.mark.parametrize("mode", MODES)
def test_over_http_everything_works(store: MemoryStore, mode: Mode) -> None:
    with listening(http_app(store, toolset="full")) as address:
        check(talk(f"{address}/", mode, everything))


@newer_in_every_run
def test_over_http_a_cancelled_call_leaves_the_server_at_work(store: MemoryStore, mode: Mode) -> None:
    async def talking(client: Client) -> Any:
        scope = anyio.CancelScope()

        async def progressed(part: float, whole: float | None, words: str | None) -> None:
            scope.cancel()

        with scope:
            await client.call_tool("remember_many", {"items": [f"Room {number} is blue." for number in range(50)]},
                                   progress_callback=progressed)  # fmt: skip
        return scope.cancelled_caught, await client.call_tool("recall", {"query": "room"})

    with listening(http_app(store, toolset="full")) as address:
        cancelled, after = talk(f"{address}/", mode, talking)
    assert cancelled and not after.is_error
    assert store.verify() == ()


def test_it_is_mounted_in_fastapi_as_its_docstring_says(store: MemoryStore) -> None:
    from contextlib import asynccontextmanager

    from fastapi import FastAPI

    mounted = http_app(store)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> Any:
        async with mounted.state.session_manager.run():
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/mcp", mounted)
    with listening(app) as address:
        for mode in MODES:
            answer = talk(f"{address}/mcp/", mode, lambda client: client.call_tool("recall", {"query": "tea"}))
            assert not answer.is_error


def test_other_hosts_and_origins_are_not_answered(store: MemoryStore) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"accept": "application/json, text/event-stream"}
    with listening(http_app(store)) as address, httpx2.Client() as client:
        host = client.post(f"{address}/", json=body, headers={**accept, "host": "evil.example"})
        origin = client.post(f"{address}/", json=body, headers={**accept, "origin": "http://evil.example"})
    assert (host.status_code, origin.status_code) == (421, 403)


# -- who may do what (I8) ----------------------------------------------------------------------------------

_grant: contextvars.ContextVar[Grant] = contextvars.ContextVar("grant")
GRANTS = {
    "reader": Grant("reader", ("acme/*",), frozenset({"read"})),
    "writer": Grant("writer", ("acme/*",), frozenset({"write"})),
    "other": Grant("other", ("other/one",), frozenset({"read", "write"})),
}


def guarded(store: MemoryStore) -> Any:
    """The app behind a middleware that knows callers by name, as a server with tokens does."""
    inner = http_app(store, toolset="full", grant=_grant.get)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            _grant.set(GRANTS[dict(scope["headers"])[b"authorization"].decode()])
        await inner(scope, receive, send)

    return app


def ask(address: str, mode: Mode, who: str, namespace: str | None, talking: Any) -> Any:
    headers = {"authorization": who} | ({"wellkept-namespace": namespace} if namespace else {})

    async def main() -> Any:
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            async with Client(streamable_http_client(f"{address}/", http_client=http), mode=mode) as client:
                return await talking(client)

    return anyio.run(main)


@pytest.mark.parametrize("mode", MODES)
def test_a_caller_reaches_the_namespaces_of_its_grant_and_no_other(store: MemoryStore, mode: Mode) -> None:
    async def write(client: Client) -> Any:
        return await client.call_tool("remember", {"content": "Tea is upstairs."})

    async def look(client: Client) -> Any:
        return await client.call_tool("recall", {"query": "tea"})

    async def peek(client: Client) -> str:
        return str((await client.read_resource("wellkept://health")).contents[0].text)

    with listening(guarded(store)) as address:
        assert not ask(address, mode, "writer", "acme/a", write).is_error
        assert ask(address, mode, "reader", "acme/a", write).is_error  # it may only read
        assert len(ask(address, mode, "reader", "acme/a", look).structured_content["hits"]) == 1
        assert ask(address, mode, "reader", "acme/b", look).structured_content["hits"] == []
        assert ask(address, mode, "other", None, look).structured_content["hits"] == []  # its only namespace
        assert '"other/one"' in ask(address, mode, "other", None, peek)
        foreign = [ask(address, mode, "other", name, look) for name in ("acme/a", "acme/never")]
        unnamed = ask(address, mode, "reader", None, look)
        bad = ask(address, mode, "reader", "a//b", look)
        for scope in ("erase", "verify", "plan"):
            assert ask(address, mode, "writer", "acme/a", lambda client, name=scope: client.call_tool(
                name, {"memory_id": "x"} if name == "erase" else {})).is_error  # fmt: skip
    assert all(answer.is_error for answer in (*foreign, unnamed, bad))
    # What is refused says the same whether the namespace holds anything or not.
    assert foreign[0].content[0].text == foreign[1].content[0].text
    part = store.in_namespace("acme/a")
    assert [(entry.actor, entry.verb) for entry in part.journal()] == [("writer", "remember")]
    assert sorted(store.namespaces()) == ["acme/a"]


def test_a_conversation_is_known_by_its_header_or_by_the_session_of_the_older_protocol(store: MemoryStore) -> None:
    # design §4: the guard against echoes knows who was handed what
    store.remember("Ship the export behind a flag.", kind="decision")
    echo = {"content": "ship the export behind a flag", "kind": "decision"}

    async def hand_out(client: Client) -> Any:
        await client.get_prompt("session_start", {"topic": "how is the export shipped"})
        return (await client.call_tool("check", echo)).structured_content["outcome"]

    async def only_write(client: Client) -> Any:
        return (await client.call_tool("check", echo)).structured_content["outcome"]

    async def with_header(address: str, talking: Any) -> Any:
        async with httpx2.AsyncClient(headers={"wellkept-session": "chat 7"}, timeout=30) as http:
            async with Client(streamable_http_client(f"{address}/", http_client=http)) as client:
                return await talking(client)

    with listening(http_app(store)) as address:
        assert talk(f"{address}/", "legacy", hand_out) == "duplicate"
        assert talk(f"{address}/", "legacy", only_write) == "created"  # another session
        assert talk(f"{address}/", "auto", hand_out) == "created"  # nobody says which conversation it is
        assert anyio.run(with_header, address, hand_out) == "duplicate"
        assert anyio.run(with_header, address, only_write) == "duplicate"


@pytest.mark.parametrize(
    "what",
    [
        "import wellkept",
        "import wellkept; wellkept.open('memory:', embedder='hashing').remember('Tea.')",
        "from wellkept.cli import main; main(['--help'])",
        "from wellkept.cli import main; main(['--db', 'a.db', '--embedder', 'hashing', 'remember', 'Tea.'])",
        "from wellkept.cli import main; main(['--db', 'a.db', '--embedder', 'hashing', 'list'])",
        "from wellkept.cli import main; main(['install', '--client', 'cursor', '--print'])",
        "import wellkept.server.mcp, wellkept.cli.install",
    ],
)
def test_what_needs_no_server_loads_none(tmp_path: Path, what: str) -> None:
    names = "{'mcp', 'mcp_types', 'fastapi', 'starlette', 'uvicorn', 'onnxruntime'}"
    script = f"import sys\n{what}\nsys.stdout.flush()\nprint('\\n' + repr(sorted({names} & set(sys.modules))))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=command(tmp_path).env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_what_libraries_log_over_standard_input_holds_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients keep standard error in files, so faults are logged by place and type only, as by `wellkept serve`."""
    said = "Alice lives in Nairobi"

    class Failing:
        def run(self, transport: str) -> None:
            logging.getLogger("mcp.server").error("cannot answer %s", said)

    monkeypatch.setattr(mcp_command, "_server", lambda *_: Failing())
    told = Cli(tmp_path, tmp_path / "agent.db")("mcp").stderr
    assert "mcp.server" in told
    assert said not in told
