"""Writing later through a client: the queue and the blocks of the library, over HTTP (S0-43 to S0-45)."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import httpx2
import pytest

from stores import LIGHT, Desk, desk
from surfaces.rest.serving import rest_app, served
from wellkept import MemoryStore
from wellkept.client import AsyncClient, Client
from wellkept.client.queueing import AsyncClientQueue, ClientQueue
from wellkept.core.records.codec import dumps
from wellkept.engine.queue.deferred import Queue
from wellkept.errors import NotFound, UnknownKind, WellkeptError

HERE_ONLY = {"put"}
"""Of the library's queue: what `deferred` puts there as values of its own."""


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def parameters(verb: Any) -> list[tuple[Any, ...]]:
    return [(one.name, one.kind, one.default, one.annotation) for one in inspect.signature(verb).parameters.values()]


def test_the_queues_of_the_clients_have_the_verbs_of_the_librarys() -> None:
    assert public(ClientQueue) == public(AsyncClientQueue) == public(Queue) - HERE_ONLY
    for name in public(ClientQueue):
        library, ours, awaited = (getattr(kind, name) for kind in (Queue, ClientQueue, AsyncClientQueue))
        assert parameters(ours) == parameters(library) == parameters(awaited), name
        told = {inspect.signature(verb).return_annotation for verb in (library, ours, awaited)}
        assert len(told) == 1 and inspect.iscoroutinefunction(awaited), name
    assert parameters(Client.deferred) == parameters(MemoryStore.deferred) == parameters(AsyncClient.deferred)


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Desk]:
    """The store behind the server."""
    table = desk(LIGHT, tmp_path, name="there")
    yield table
    table.store.close()


@pytest.fixture
def url(there: Desk) -> Iterator[str]:
    with served(rest_app(there.store)) as address:
        yield address


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as made:
        yield made


def contents(store: Any) -> list[str]:
    return [memory.content for memory in store.list()]


STORY: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("waits", lambda s: s.in_session("a").queue.remember("one [[Two]]", kind="thesis", title="T", tags=["x"])),
    ("never waits", lambda s: s.in_session("a").queue.remember("Never trade weekends.", kind="lesson")),
    ("fails later", lambda s: s.in_session("a").queue.remember("two", kind="thesis", links=["nobody"])),
    ("another conversation", lambda s: s.in_session("b").queue.remember("three", kind="note")),
    ("what waits of one", lambda s: [one.statement for one in s.in_session("a").queue.pending()]),
    ("what waits of all", lambda s: [(one.session, one.attempts) for one in s.queue.pending()]),
    ("how many", lambda s: (len(s.in_session("a").queue), len(s.queue), len(s.in_namespace("other").queue))),
    ("flushed", lambda s: [result.outcome for result in s.in_session("a").queue.flush().results]),
    ("failed", lambda s: [(one.statement["content"], one.error) for one in s.queue.failed()]),
    ("flushed again", lambda s: [one.attempts for one in s.in_session("a").queue.flush(again=True).failed]),
    ("dropped", lambda s: s.queue.drop(s.queue.failed()[0].id)),
    ("the rest", lambda s: s.queue.flush().failed),
    ("nothing", lambda s: s.queue.pending()),
    ("stored", lambda s: contents(s)),
)  # fmt: skip


def test_a_story_of_a_queue_has_the_same_answers_over_http(there: Desk, client: Client, tmp_path: Path) -> None:
    here = desk(LIGHT, tmp_path, name="here")
    for name, step in STORY:
        expected, got = step(here.store), step(client)
        if name in ("waits", "fails later", "another conversation"):  # the ids of what waits are the server's own
            assert (got.outcome, got.message, got.memory) == (expected.outcome, expected.message, expected.memory)
            continue
        assert type(got) is type(expected), name
        if name == "what waits of one":  # a client gives each write a key
            got = [{key: value for key, value in one.items() if key != "idempotency_key"} for one in got]
        assert dumps(got) == dumps(expected), name
    here.store.close()


def test_inside_a_block_writes_wait_and_at_its_end_they_are_there_in_order(client: Client) -> None:
    """S0-29, S0-43: insights never wait."""
    with client.deferred() as queue:
        told = [
            client.remember("one", kind="thesis").outcome,
            client.remember("Never trade weekends.", kind="lesson").outcome,
            client.record_decision("Ship it.").outcome,
            dict(client.remember_many([{"content": "two", "kind": "thesis"}]).counts),
        ]
        assert told == ["queued", "created", "queued", {"queued": 1}]
        assert contents(client) == ["Never trade weekends."] and len(queue) == 3
    assert contents(client) == ["Never trade weekends.", "one", "Ship it.", "two"]
    assert client.remember("three", kind="thesis").outcome == "created"


def test_the_end_of_a_block_writes_nothing_of_other_conversations(client: Client, there: Desk) -> None:
    """I8, S0-45."""
    client.in_session("chat").queue.remember("theirs", kind="thesis")
    with client.deferred():
        client.remember("ours", kind="thesis")
        client.in_namespace("acme/bob").remember("elsewhere", kind="thesis")
    assert contents(client) == ["ours"]
    assert contents(client.in_namespace("acme/bob")) == ["elsewhere"]
    assert [one.statement["content"] for one in client.queue.pending()] == ["theirs"]
    with client.in_session("chat").deferred() as queue:  # a client of a conversation flushes that one
        assert len(queue) == 1
    client.in_session("chat").queue.flush()
    assert there.store.queue.depth == 0


def test_an_error_in_a_block_loses_nothing_and_is_the_one_that_is_told(client: Client) -> None:
    with pytest.raises(RuntimeError, match="the agent failed"), client.deferred():
        client.remember("one", kind="thesis")
        raise RuntimeError("the agent failed")
    assert contents(client) == ["one"]


def test_inner_blocks_leave_the_flush_to_the_outer_one(client: Client) -> None:
    with client.deferred():
        with client.deferred() as inner:
            client.remember("one", kind="thesis")
            assert len(inner) == 1
        assert contents(client) == []
    assert contents(client) == ["one"]


def test_a_block_collects_in_its_own_thread_and_what_outlives_it_writes_at_once(client: Client, url: str) -> None:
    """B-27: a queue that is never flushed gives no answer "Queued"."""
    with client.deferred(), Client(url) as other:
        outlives = copy_context()
        told: list[str] = []
        thread = threading.Thread(target=lambda: told.append(client.remember("one", kind="thesis").outcome))
        thread.start()
        thread.join(60)
        assert told == ["created"]
        assert other.remember("two", kind="thesis").outcome == "created"  # another client is another store
        assert outlives.run(client.remember, "three", kind="thesis").outcome == "queued"
    assert outlives.run(client.remember, "four", kind="thesis").outcome == "created"
    assert contents(client) == ["one", "two", "three", "four"]


def test_what_cannot_be_used_is_refused_at_once(client: Client) -> None:
    """S0-6."""
    with client.deferred() as queue:
        with pytest.raises(UnknownKind):
            client.remember("x", kind="lessson")
        assert len(queue) == 0
    with pytest.raises(NotFound):
        client.queue.drop("nothing")


class Cut(httpx2.BaseTransport):
    """The network: it loses the answer to each request of one kind once."""

    def __init__(self, path: str) -> None:
        self._inner = httpx2.HTTPTransport()
        self._path = path
        self.lost = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self._inner.handle_request(request)
        if request.url.path == self._path and not self.lost:
            self.lost += 1
            answer.read()
            answer.close()
            raise httpx2.ReadError("the answer was lost")
        return answer

    def close(self) -> None:
        self._inner.close()


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/queue", "/v1/queue/flush"])
def test_a_lost_answer_leaves_one_memory_of_each_write(url: str, path: str) -> None:
    """I5: a write that waits twice under one key is written once."""
    cut = Cut(path)
    with Client(url, transport=cut) as client:
        client._sleep = lambda _: None
        with client.deferred() as queue:
            client.remember("one", kind="thesis")
            queue.remember("two", kind="thesis")
        assert cut.lost == 1
        assert contents(client) == ["one", "two"]
        assert client.queue.pending() == ()


def test_a_block_of_a_task_is_that_tasks_own(url: str, there: Desk) -> None:
    async def work() -> list[str]:
        async with AsyncClient(url) as store:

            async def thinks() -> str:
                async with store.deferred() as queue:
                    told = (await store.remember("one", kind="thesis")).outcome
                    assert len(await queue.pending()) == 1
                    await asyncio.sleep(0)
                    return told

            async def writes() -> str:
                return (await store.remember("two", kind="thesis")).outcome

            return list(await asyncio.gather(thinks(), writes()))

    assert asyncio.run(work()) == ["queued", "created"]
    assert sorted(contents(there.store)) == ["one", "two"]


def test_a_task_that_is_cancelled_in_its_block_loses_nothing_that_was_acknowledged(url: str, there: Desk) -> None:
    """The server keeps queued writes and flushes them after a time without further ones."""

    async def work() -> None:
        async with AsyncClient(url) as store:
            said = asyncio.Event()

            async def thinks() -> None:
                async with store.deferred():
                    await store.remember("one", kind="thesis")
                    said.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(thinks())
            await said.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(work())
    assert [one.statement["content"] for one in there.store.queue.pending()] == ["one"]


def test_inside_a_block_a_server_that_cannot_be_reached_is_told() -> None:
    with Client("http://127.0.0.1:9", retries=0) as client, pytest.raises(WellkeptError), client.deferred():
        client.remember("one", kind="thesis")
