"""MCP beside REST: the same tokens, the same walls, in both eras of the protocol (issue 6, I8)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

import wellkept
from stores import place
from surfaces.serving.running import SECONDS, Server, revoke, serving, token

Mode = Literal["auto", "legacy"]
MODES: list[Mode] = ["auto", "legacy"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str], Path | str]]:
    db = place(tmp_path_factory.mktemp("mcp") / "a.db")
    secrets = {
        "amber": token(db, "acme/*", "write", name="amber"),
        "bronze": token(db, "birch/b", "write", name="bronze"),
        "reader": token(db, "acme/a", "read", name="reader"),
    }
    with serving(db) as server:
        yield server, secrets, db


def with_client(
    server: Server, secret: str, namespace: str, *, mode: Mode, work: Callable[[Client], Awaitable[Any]]
) -> Any:
    """Run a session of the official client with a token."""

    async def run() -> Any:
        headers = {"Authorization": f"Bearer {secret}"}
        if namespace:
            headers["Wellkept-Namespace"] = namespace
        async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http:
            transport = streamable_http_client(f"{server.address}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                return await work(client)

    return asyncio.run(run())


def calling(name: str, **fields: Any) -> Callable[[Client], Awaitable[Any]]:
    async def work(client: Client) -> Any:
        return await client.call_tool(name, fields)

    return work


@pytest.mark.parametrize("mode", MODES)
def test_the_address_may_end_in_a_slash(guarded: tuple[Server, dict[str, str], Path | str], mode: Mode) -> None:
    """`/mcp/` works like `/mcp`, as with an app mounted by hand."""
    server, secrets, _ = guarded

    async def listed() -> int:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {secrets['amber']}",
                                               "Wellkept-Namespace": "acme/a"}, timeout=SECONDS) as http:  # fmt: skip
            async with Client(streamable_http_client(f"{server.address}/mcp/", http_client=http), mode=mode) as client:
                return len((await client.list_tools()).tools)

    assert asyncio.run(listed()) == 16


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_acts_within_the_grant_and_in_the_name_of_the_token(
    guarded: tuple[Server, dict[str, str], Path | str], mode: Mode
) -> None:
    server, secrets, db = guarded
    text = f"The amber cups are kept upstairs, says {mode}."
    done = with_client(server, secrets["amber"], "acme/a", mode=mode, work=calling("remember", content=text))
    assert not done.is_error
    memory_id = done.structured_content["memory"]["id"]
    seen = with_client(server, secrets["reader"], "", mode=mode, work=calling("get", memory_id=memory_id))
    assert text in str(seen.structured_content)
    with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace="acme/a") as store:
        assert {entry.actor for entry in store.journal()} == {"amber"}
    # One of another namespace finds nothing under this id, as under any other.
    found = with_client(server, secrets["bronze"], "", mode=mode, work=calling("get", memory_id=memory_id))
    nothing = with_client(server, secrets["bronze"], "", mode=mode, work=calling("get", memory_id="0" * len(memory_id)))
    assert found.is_error
    assert str(found.content).replace(memory_id, "") == str(nothing.content).replace("0" * len(memory_id), "")


@pytest.mark.parametrize("mode", MODES)
def test_what_the_grant_does_not_cover_is_refused_in_the_same_words(
    guarded: tuple[Server, dict[str, str], Path | str], mode: Mode
) -> None:
    server, secrets, _ = guarded
    refused = [
        with_client(server, secrets["bronze"], namespace, mode=mode, work=calling("recall", query="cups"))
        for namespace in ("acme/a", "acme/nothing here", "birch/b/c")
    ]
    assert all(answer.is_error for answer in refused)
    assert len({str(answer.content) for answer in refused}) == 1
    assert "amber" not in str(refused[0].content)
    writing = with_client(server, secrets["reader"], "", mode=mode, work=calling("remember", content="Let me write."))
    assert writing.is_error


@pytest.mark.parametrize("mode", MODES)
def test_a_resource_is_read_within_the_grant(guarded: tuple[Server, dict[str, str], Path | str], mode: Mode) -> None:
    server, secrets, _ = guarded
    text = f"The amber spoons are in the drawer, says {mode}."
    done = with_client(server, secrets["amber"], "acme/a", mode=mode, work=calling("remember", content=text))
    uri = f"memory://{done.structured_content['memory']['id']}"

    async def read(client: Client) -> Any:
        return await client.read_resource(uri)

    assert text in str(with_client(server, secrets["reader"], "", mode=mode, work=read))
    try:
        answer = str(with_client(server, secrets["bronze"], "", mode=mode, work=read))
    except BaseException as error:  # noqa: BLE001 - however the client tells it, alone or in a group
        answer = repr(error)
    assert "spoons" not in answer


@pytest.mark.parametrize("mode", MODES)
def test_prompts_and_fixed_resources_stay_within_the_grant(
    guarded: tuple[Server, dict[str, str], Path | str], mode: Mode
) -> None:
    """They name no memory, so the request alone says whose they are."""
    server, secrets, _ = guarded
    text = f"The amber forks are polished, says {mode}."
    done = with_client(server, secrets["amber"], "acme/a", mode=mode, work=calling("remember", content=text))
    assert not done.is_error

    async def look(client: Client) -> list[str]:
        told = []
        for ask in (
            lambda: client.get_prompt("session_start", {"topic": "amber forks"}),
            lambda: client.read_resource("wellkept://health"),
        ):
            try:
                told.append(str(await ask()))
            except MCPError as error:
                told.append(error.error.message)
        return told

    prompt, health = with_client(server, secrets["reader"], "", mode=mode, work=look)
    assert text in prompt
    assert '"namespace":"acme/a"' in health
    prompt, health = with_client(server, secrets["bronze"], "", mode=mode, work=look)
    assert "forks" not in prompt
    assert '"namespace":"birch/b"' in health
    refused = [
        with_client(server, secrets["bronze"], namespace, mode=mode, work=look) for namespace in ("acme/a", "acme/none")
    ]
    assert refused[0] == refused[1]
    assert all("does not allow" in answer for answer in refused[0])


def test_a_session_belongs_to_the_token_that_opened_it(guarded: tuple[Server, dict[str, str], Path | str]) -> None:
    """Who learns the id of another's session gets what anybody gets for an id that never was."""
    server, secrets, _ = guarded
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    accept = {"Accept": "application/json, text/event-stream", "Wellkept-Namespace": "acme/a"}
    recall = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "amber"}},
    }
    with server.client(secrets["amber"]) as amber, server.client(secrets["bronze"]) as bronze:
        opened = amber.post("/mcp", json=begin, headers=accept)
        session = opened.headers["mcp-session-id"]
        mine = {**accept, "Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
        amber.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=mine)
        assert amber.post("/mcp", json=recall, headers=mine).status_code == 200
        stolen = bronze.post("/mcp", json=recall, headers=mine)
        made_up = bronze.post("/mcp", json=recall, headers={**mine, "Mcp-Session-Id": "0" * 32})
        assert stolen.status_code == made_up.status_code == 404
        assert stolen.text == made_up.text
        assert bronze.delete("/mcp", headers=mine).status_code == 404
        assert amber.post("/mcp", json=recall, headers=mine).status_code == 200


def test_a_revoked_token_ends_inside_of_an_open_session(tmp_path: Path) -> None:
    db = place(tmp_path / "a.db")
    secret = token(db, "acme/a", "write")
    with serving(db) as server:

        async def work(client: Client) -> None:
            first = await client.call_tool("remember", {"content": "Before the end."})
            assert not first.is_error
            revoke(db)
            second = await client.call_tool("remember", {"content": "After the end."})
            assert second.is_error

        try:
            with_client(server, secret, "", mode="legacy", work=work)
        except BaseException as error:  # noqa: BLE001 - a refused session may end the client
            assert "AssertionError" not in repr(error)
    with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace="acme/a") as store:
        assert [row.content for row in store.list()] == ["Before the end."]
