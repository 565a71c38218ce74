"""Tools of source 002: conflicts are reported and resolved by the caller; links are created, followed and removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import wellkept
from stores import scratch
from surfaces.mcp.servers import MODES, Mode, talk
from wellkept.engine.verbs.store import MemoryStore
from wellkept.server.mcp.server import create_server

OLD, NEW = "The limit is 0.85.", "The limit is 0.95."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with wellkept.open(scratch(tmp_path), embedder="hashing", relation_model="none") as opened:
        yield opened


@pytest.mark.parametrize("mode", MODES)
def test_a_conflict_is_told_by_remember_listed_with_its_reason_and_left_open(store: MemoryStore, mode: Mode) -> None:
    """S2-34: expose, do not resolve; the caller's `on_conflict` applies."""

    async def talking(client: Client) -> Any:
        first = await client.call_tool("remember", {"content": OLD, "kind": "lesson"})
        second = await client.call_tool("remember", {"content": NEW, "kind": "lesson", "on_conflict": "warn"})
        listed = await client.call_tool("conflicts", {"memory_id": first.structured_content["memory"]["id"]})
        return first.structured_content["memory"]["id"], second.structured_content, listed.structured_content

    old, written, listed = talk(create_server(store), mode, talking)
    [told], [open_one] = written["conflicts"], listed["conflicts"]
    assert told["key"] == open_one["key"]
    assert {open_one["a"], open_one["b"]} == {old, written["memory"]["id"]}
    assert (open_one["kind"], open_one["reason"]) == ("contradiction", "value_diff")
    assert 0.0 < open_one["similarity"] <= 1.0
    assert "resolution" not in open_one
    assert {memory.status for memory in store.list()} == {"active"}


@pytest.mark.parametrize("mode", MODES)
def test_the_caller_supersedes_and_may_ask_for_it_beforehand(store: MemoryStore, mode: Mode) -> None:
    """S2-34, S2-27: a superseded memory is hidden, kept and restorable."""

    async def talking(client: Client) -> Any:
        old = await client.call_tool("remember", {"content": OLD, "kind": "lesson"})
        new = await client.call_tool("remember", {"content": NEW, "kind": "lesson"})
        ids = [told.structured_content["memory"]["id"] for told in (old, new)]
        done = await client.call_tool("supersede", {"old_id": ids[0], "new_id": ids[1]})
        hits = await client.call_tool("recall", {"query": "limit"})
        await client.call_tool("restore", {"memory_id": ids[0]})
        asked = {"content": "The limit is 0.75.", "kind": "lesson", "on_conflict": "supersede"}
        return ids, done, hits, await client.call_tool("remember", asked)

    ids, done, hits, asked = talk(create_server(store), mode, talking)
    assert done.structured_content["entry"] > 0
    assert [hit["memory"]["id"] for hit in hits.structured_content["hits"]] == [ids[1]]
    assert asked.structured_content["outcome"] == "superseded"


@pytest.mark.parametrize("mode", MODES)
def test_links_are_made_followed_and_removed_by_tools(store: MemoryStore, mode: Mode) -> None:
    """S2-49."""
    rule, case = (store.remember(text).memory for text in ("Test before you merge.", "An outage came in March."))
    assert rule is not None and case is not None

    async def talking(client: Client) -> Any:
        ends = {"src": case.id, "dst": rule.id}
        made = await client.call_tool("link", {**ends, "rel": "example_of"})
        near = await client.call_tool("neighbors", {"memory_id": rule.id, "rel": "example_of", "depth": 2})
        other = await client.call_tool("neighbors", {"memory_id": rule.id, "rel": "refines"})
        return made, near, other, await client.call_tool("unlink", ends), await client.call_tool("unlink", ends)

    made, near, other, removed, again = talk(create_server(store, toolset="full"), mode, talking)
    assert made.structured_content["rel"] == "example_of"
    [found] = near.structured_content["neighbors"]
    assert (found["memory"]["id"], found["rel"], found["direction"]) == (case.id, "example_of", "in")
    assert other.structured_content["neighbors"] == []
    assert (removed.structured_content["removed"], again.structured_content["removed"]) == (1, 0)
