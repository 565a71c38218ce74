"""Running servers flush queued writes of abandoned conversations, on a file and on a database (S0-45, issue 6)."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

import wellkept
from postgres.server import server as postgres
from surfaces.mcp.servers import command, talk
from surfaces.serving.running import SECONDS, serving

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
CHAT = {"Wellkept-Queue": "on", "Wellkept-Session": "chat 7"}
SOON = ("--flush-after", "0.4", "--rate", "0", "--drain", "0")
PAUSE = 0.05
"""Between two questions: the server does the work."""
NEVER = ("--flush-after", "0", "--rate", "0", "--drain", "0")


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where an empty store is kept."""
    if request.param == "sqlite":
        yield tmp_path / "a.db"
        return
    made = postgres().database()
    yield made
    postgres().release(made)


def put_off(http: httpx2.Client, *texts: str, **headers: str) -> None:
    for text in texts:
        answer = http.post("/v1/memories", json={"content": text, "kind": "thesis"}, headers={**CHAT, **headers})
        assert answer.status_code == 202, answer.text


def stored(http: httpx2.Client) -> list[str]:
    return [memory["content"] for memory in http.get("/v1/memories?limit=1000").json()["memories"]]


def waiting(http: httpx2.Client) -> list[Any]:
    found: list[Any] = http.get("/v1/queue?limit=1000").json()["pending"]
    return found


def until(http: httpx2.Client, count: int) -> list[str]:
    """Ask until so many are stored."""
    while len(found := stored(http)) < count:
        time.sleep(PAUSE)
    return found


def settled(http: httpx2.Client, count: int) -> list[Any]:
    """Poll until at most this many writes wait, because a write leaves the queue shortly after it can be read."""
    while len(found := waiting(http)) > count:
        time.sleep(PAUSE)
    return found


def test_what_nobody_flushes_is_written_once_its_conversation_is_quiet_and_what_fails_stays_listed(
    db: Path | str,
) -> None:
    with serving(db, *SOON) as server, server.client() as http:
        bad = {"content": "bad", "kind": "thesis", "links": ["nobody"]}
        assert http.post("/v1/memories", json=bad, headers=CHAT).status_code == 202
        put_off(http, "one", "two")
        assert until(http, 2) == ["one", "two"]
        left = settled(http, 1)
        while not left[0]["attempts"]:
            time.sleep(PAUSE)
            left = waiting(http)
        assert [one["statement"]["content"] for one in left] == ["bad"]
        assert left[0]["error"].startswith("NotFound")


def test_what_a_killed_server_left_is_written_by_the_next_one(db: Path | str) -> None:
    """I1: at its start from a file; from a database, which others may be using, once it has waited for long."""
    with serving(db, *NEVER) as server, server.client() as http:
        put_off(http, "one", "two")
        assert stored(http) == [] and len(waiting(http)) == 2
        server.signal(signal.SIGKILL)
        server.process.wait(SECONDS)
    with serving(db, *(NEVER if isinstance(db, Path) else SOON)) as server, server.client() as http:
        assert until(http, 2) == ["one", "two"]
        assert settled(http, 0) == []


def test_a_server_of_a_database_that_is_told_to_end_writes_what_waits() -> None:
    """As one of a file does, see `test_process`."""
    url = postgres().database()
    with serving(url, *NEVER) as server, server.client() as http:
        put_off(http, "one")
        server.signal(signal.SIGTERM)
        assert server.end()[0] == 0
    with wellkept.open(url, embedder="hashing", relation_model="none") as store:
        assert [memory.content for memory in store.list()] == ["one"] and store.queue.depth == 0
    postgres().release(url)


def test_a_server_that_is_killed_while_it_writes_by_itself_loses_and_repeats_nothing(db: Path | str) -> None:
    """I1, I5: two concurrent servers, one of which is killed during a flush."""
    count = 60
    texts = [f"thesis {number:03}" for number in range(count)]
    with serving(db, *SOON) as first, serving(db, *SOON) as second, first.client() as http, second.client() as other:
        for number, text in enumerate(texts):
            headers = {"Wellkept-Session": f"chat {number % 5}"}
            put_off((http, other)[number % 2], text, **headers)
        while not stored(other):
            pass
        first.signal(signal.SIGKILL)
        first.process.wait(SECONDS)
        found = until(other, count)
        assert Counter(found) == Counter(texts)
        for chat in range(5):
            said = [text for text in found if int(text[-3:]) % 5 == chat]
            assert said == sorted(said)  # each conversation in its order
        entries = other.get("/v1/journal?limit=1000").json()["entries"]
        assert [entry["outcome"] for entry in entries] == ["created"] * count
        second.signal(signal.SIGTERM)
        assert second.end()[0] == 0
    with wellkept.open(str(db), embedder="hashing", relation_model="none") as store:
        assert store.verify() == () and store.queue.depth == 0


def test_an_mcp_server_of_one_client_does_the_same(tmp_path: Path) -> None:
    async def talking(client: Client) -> Any:
        told = await client.call_tool("queue_remember", {"content": "one", "kind": "thesis"})
        assert told.structured_content["outcome"] == "queued"
        while True:
            found = (await client.call_tool("list", {})).structured_content["memories"]
            if found:
                return found

    found = talk(command(tmp_path, "--toolset", "full", "--flush-after", "0.4"), "auto", talking)
    assert [memory["content"] for memory in found] == ["one"]
