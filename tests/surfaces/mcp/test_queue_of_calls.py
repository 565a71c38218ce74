"""Tools for the queue, decisions and episodes; deferred writes are flushed (S0-43 to S0-45, S3-13 to S3-19)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import wellkept
from stores import place, scratch
from surfaces.mcp.servers import MODES, Mode, command, listening, newer_in_every_run, talk
from wellkept.engine.verbs.store import MemoryStore
from wellkept.server.mcp.server import create_server, http_app

THESIS = {"content": "Funding flips first, see [[Weekends]].", "kind": "thesis", "title": "Funding"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with wellkept.open(scratch(tmp_path), embedder="hashing", relation_model="none") as opened:
        yield opened


@pytest.mark.parametrize("mode", MODES)
def test_a_decision_and_its_episode_are_recorded_by_tools(store: MemoryStore, mode: Mode) -> None:
    async def talking(client: Client) -> Any:
        begun = await client.call_tool("start_episode", {"content": "Moving the export"})
        episode = begun.structured_content["memory"]["id"]
        made = await client.call_tool("record_decision", {"content": "Here's the plan: ship it.", "outcome": "pending"})
        turn = {"response": "Keep the old format.", "frame": "task", "episode": episode}
        told = await client.call_tool("record_turn", turn)
        ended = await client.call_tool("end_episode", {"episode_id": episode, "summary": "Moved."})
        return made, told, ended

    made, told, ended = talk(create_server(store, toolset="full"), mode, talking)
    assert (made.structured_content["outcome"], told.structured_content["outcome"]) == ("created", "created")
    assert ended.structured_content["summary"] == "Moved."
    assert ended.structured_content["metadata"]["turns"] == 1


def test_the_everyday_tools_are_not_crowded_by_them(store: MemoryStore) -> None:
    usual = {tool.name for tool in talk(create_server(store), "auto", lambda client: client.list_tools()).tools}
    assert not any(name.startswith(("record_", "queue_")) or "episode" in name for name in usual)


def test_what_waits_is_listed_shown_before_it_is_dropped_and_flushed(store: MemoryStore) -> None:
    async def talking(client: Client) -> Any:
        for content in ("Funding flips first.", "Longs pay shorts."):
            await client.call_tool("queue_remember", {"content": content, "kind": "thesis"})
        listed = (await client.call_tool("queue_pending", {})).structured_content["pending"]
        looked = await client.call_tool("queue_drop", {"queued_id": listed[0]["id"]})
        dropped = await client.call_tool("queue_drop", {"queued_id": listed[0]["id"], "dry_run": False})
        absent = await client.call_tool("queue_drop", {"queued_id": listed[0]["id"]})
        return listed, looked, dropped, absent, await client.call_tool("queue_flush", {})

    listed, looked, dropped, absent, flushed = talk(create_server(store, toolset="full"), "auto", talking)
    assert len(listed) == 2
    assert "Funding flips first." in looked.structured_content["would_lose"]
    assert dropped.structured_content["statement"]["content"] == "Funding flips first."
    assert absent.is_error
    assert [one["outcome"] for one in flushed.structured_content["results"]] == ["created"]
    assert [memory.content for memory in store.list()] == ["Longs pay shorts."]


@newer_in_every_run
def test_over_standard_input_what_waits_is_written_when_the_client_goes(tmp_path: Path, mode: Mode) -> None:
    async def talking(client: Client) -> Any:
        told = await client.call_tool("queue_remember", THESIS)
        return told, await client.call_tool("list", {})

    told, between = talk(command(tmp_path, "--toolset", "full"), mode, talking)
    assert told.structured_content["message"] == 'Queued: "Funding" (will link: Weekends)'
    assert between.structured_content["memories"] == []
    with wellkept.open(str(place(tmp_path / "agent.db")), embedder="hashing", relation_model="none") as opened:
        assert opened.queue.depth == 0
    with wellkept.open(str(place(tmp_path / "agent.db")), embedder="hashing", relation_model="none") as opened:
        assert [memory.title for memory in opened.list()] == ["Funding"]
        [entry] = opened.journal()
        assert entry.verb == "remember"


def test_over_http_a_header_puts_the_writes_of_a_session_off(store: MemoryStore) -> None:
    async def asked(address: str, headers: dict[str, str], name: str, given: dict[str, Any]) -> Any:
        async with (
            httpx2.AsyncClient(headers=headers, follow_redirects=True) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return await client.call_tool(name, given)

    chat = {"Wellkept-Session": "chat 7"}
    with listening(http_app(store, toolset="full")) as address:
        told = anyio.run(asked, address, {**chat, "Wellkept-Queue": "on"}, "remember", THESIS)
        wrong = anyio.run(asked, address, {**chat, "Wellkept-Queue": "maybe"}, "remember", THESIS)
        before = store.list()
        flushed = anyio.run(asked, address, chat, "queue_flush", {})
    assert told.structured_content["outcome"] == "queued"
    assert wrong.is_error
    assert before == ()
    assert len(flushed.structured_content["results"]) == 1
