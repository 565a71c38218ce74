"""A request may put its writes off: the queue of its session, over REST (S0-43 to S0-45)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import wellkept
from stores import place
from wellkept.server.rest import create_app

THINKING = {"Wellkept-Queue": "on", "Wellkept-Session": "chat 7"}
CHAT, OTHER = {"Wellkept-Session": "chat 7"}, {"Wellkept-Session": "chat 8"}
THESIS = {"content": "Funding flips first, see [[Weekends]].", "kind": "thesis", "title": "Funding"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    with wellkept.open(str(place(tmp_path / "a.db")), embedder="hashing", relation_model="none") as opened:
        yield opened


@pytest.fixture
def http(store: wellkept.MemoryStore) -> Iterator[TestClient]:
    with TestClient(create_app(store), base_url="http://127.0.0.1") as client:
        yield client


def waiting(http: TestClient, headers: dict[str, str]) -> list[Any]:
    found: list[Any] = http.get("/v1/queue", headers=headers).json()["pending"]
    return found


def test_what_may_wait_is_202_and_written_when_the_session_is_flushed(
    http: TestClient, store: wellkept.MemoryStore
) -> None:
    answer = http.post("/v1/memories", json=THESIS, headers=THINKING)
    assert answer.status_code == 202
    assert answer.json()["message"] == 'Queued: "Funding" (will link: Weekends)'
    assert answer.json()["memory"] is None
    assert store.list() == ()
    assert [one["session"] for one in waiting(http, CHAT)] == ["chat 7"]
    assert waiting(http, OTHER) == []
    assert http.post("/v1/queue/flush", json={}, headers=OTHER).json() == {"results": [], "failed": []}
    flushed = http.post("/v1/queue/flush", json={}, headers=CHAT).json()
    assert [one["outcome"] for one in flushed["results"]] == ["created"]
    assert [memory.title for memory in store.list()] == ["Funding"]
    assert store.queue.depth == 0


def test_a_lesson_is_stored_at_once_and_its_repeat_is_told(http: TestClient) -> None:
    lesson = {"content": "Never trade weekends.", "kind": "lesson"}
    told = [http.post("/v1/memories", json=lesson, headers=THINKING) for _ in range(2)]
    assert [(one.status_code, one.json()["outcome"]) for one in told] == [(201, "created"), (200, "duplicate")]


def test_of_a_batch_what_may_wait_does(http: TestClient) -> None:
    items = [THESIS, {"content": "Never trade weekends.", "kind": "lesson"}]
    told = http.post("/v1/memories/batch", json={"items": items}, headers=THINKING).json()
    assert [one["outcome"] for one in told["results"]] == ["queued", "created"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/decisions", {"content": "Ship it."}, 202),
        ("/v1/turns", {"response": "Ship it.", "frame": "task"}, 202),
        ("/v1/episodes", {"content": "Shipping it."}, 201),  # its id is needed at once
        ("/v1/check", {"content": "Ship it."}, 200),
    ],
)
def test_which_operations_heed_the_header(http: TestClient, path: str, body: dict[str, str], status: int) -> None:
    assert http.post(path, json=body, headers=THINKING).status_code == status


def test_without_the_header_nothing_waits(http: TestClient) -> None:
    assert http.post("/v1/memories", json=THESIS, headers=CHAT).status_code == 201
    assert http.post("/v1/memories", json=THESIS, headers={**CHAT, "Wellkept-Queue": "off"}).status_code == 201


@pytest.mark.parametrize("value", ["", "yes", "on, on", "ON"])
def test_a_header_that_says_neither_on_nor_off_is_refused_and_nothing_is_written(
    http: TestClient, store: wellkept.MemoryStore, value: str
) -> None:
    answer = http.post("/v1/memories", json=THESIS, headers={"Wellkept-Queue": value})
    assert answer.status_code == 422
    assert answer.json()["where"] == "Wellkept-Queue"
    assert store.journal() == () and store.queue.depth == 0


def test_one_request_puts_off_for_itself_alone(http: TestClient) -> None:
    http.post("/v1/memories", json=THESIS, headers=THINKING)
    assert http.post("/v1/memories", json={**THESIS, "content": "Longs pay."}, headers=CHAT).status_code == 201


def test_what_was_acknowledged_is_written_by_the_next_process(tmp_path: Path) -> None:
    """S0-45, I5: the answer is given once it survives a crash."""
    path = str(tmp_path / "b.db")
    with wellkept.open(path, embedder="hashing", relation_model="none") as first:
        served = TestClient(create_app(first), base_url="http://127.0.0.1")
        served.post("/v1/memories", json=THESIS, headers=THINKING)
        first._ctx.storage.close()  # ended without a flush
    with wellkept.open(path, embedder="hashing", relation_model="none") as second:
        assert [memory.title for memory in second.list()] == ["Funding"]


def test_what_is_dropped_is_told_and_never_written(http: TestClient, store: wellkept.MemoryStore) -> None:
    http.post("/v1/memories", json=THESIS, headers=THINKING)
    [one] = waiting(http, CHAT)
    assert http.delete(f"/v1/queue/{one['id']}", headers=OTHER).status_code == 404
    assert http.delete(f"/v1/queue/{one['id']}", headers=CHAT).json()["statement"]["title"] == "Funding"
    assert http.post("/v1/queue/flush", json={}, headers=CHAT).json()["results"] == []
    assert store.list() == ()
