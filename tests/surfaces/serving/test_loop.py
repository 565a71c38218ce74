"""One request never blocks all others: delays of the event loop under the largest admissible requests (D1).

Counted is the CPU time of the process between two turns of the loop, which other processes of the machine do not
move as they move the clock on the wall. A call into C that keeps the interpreter is seen like work on the loop itself.
It is compared with the CPU time of work of the same kind, measured right before in the same process: a slower machine,
or one whose caches are shared with others, takes longer for both.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

import wellkept
from wellkept.core.judging.calibration import UNCALIBRATED
from wellkept.engine.verbs.store import MemoryStore
from wellkept.models.port import Embedded
from wellkept.server.large_requests import LARGE_AT_ONCE
from wellkept.server.serving.assembly import assembled
from wellkept.server.serving.process import collect_seldom

MOST = 5.0
"""References that a request may hold the loop: 50 ms where one takes 10 ms."""
TRIES = 4
"""A busy machine may wake the loop late; what really holds it does so each time."""
SECONDS = 60
WORDS = " ".join(f"word{number % 977}" for number in range(26_000))[:190_000]
VALUES = 49_000
MANY = 1_200
_FIELDS = json.dumps({str(number): 1 for number in range(20_000)})
Asked = tuple[str, str, bytes]


def body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def called(method: str, **params: Any) -> Asked:
    """A request to MCP in its newer revision."""
    about = {"protocolVersion": "2026-07-28", "clientInfo": {"name": "t", "version": "1"}, "clientCapabilities": {}}
    params["_meta"] = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    return "POST", "/mcp", body(jsonrpc="2.0", id=1, method=method, params=params)


CASES: dict[str, Asked] = {
    "a long text": ("POST", "/v1/memories", body(content=WORDS, kind="fact")),
    "a long text beside another": ("POST", "/v1/check", body(content=WORDS + " not", kind="fact")),
    "many small lists": ("POST", "/v1/memories", body(content="x", metadata={"a": [[]] * VALUES})),
    "many fields": ("POST", "/v1/memories", body(**{str(number): 1 for number in range(VALUES)})),
    "more values than are allowed": ("POST", "/v1/memories", body(content="x", metadata={"a": [[]] * 250_000})),
    "a batch": ("POST", "/v1/memories/batch", body(items=[{}] * 5_000)),
    "a question of the source": (
        "POST", "/v1/nodes/check-similar", body(content="x", title="t", subtype="lesson", more=[[]] * VALUES)
    ),
    "many long nodes": ("GET", "/v1/nodes", b""),
    "many memories": ("GET", "/v1/memories", b""),
    "many entries": ("GET", "/v1/journal", b""),
    "the list of tools": called("tools/list"),
    "a long text over MCP": called("tools/call", name="check", arguments={"content": WORDS + " too"}),
    "many values over MCP": called("tools/call", name="remember", arguments={"content": "x", "tags": ["t"] * VALUES}),
}  # fmt: skip


def reference() -> float:
    """The CPU time of fixed work in C and in Python, of the kind that requests cost; the least of some tries."""

    def once() -> float:
        began = time.process_time()
        json.loads(_FIELDS)
        sum(len(word.casefold()) for word in WORDS.split())
        re.sub(r"(?<=\\d)\\s(?!w)", "", WORDS)
        return time.process_time() - began

    return min(once() for _ in range(3))


async def references_held(act: Callable[[], Any]) -> float:
    """The least of some tries of how long the loop is held, in references; a try within the bound is the last one."""
    least = math.inf
    for _ in range(TRIES):
        least = min(least, await held(act) / reference())
        if least <= MOST:
            break
    return least


@asynccontextmanager
async def running(store: MemoryStore) -> AsyncIterator[Any]:
    """The application of a server, started."""
    app = assembled(store, toolset="full").app
    told: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    started = asyncio.Event()

    async def said(message: Any) -> None:
        started.set()

    task = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, told.get, said))
    await told.put({"type": "lifespan.startup"})
    await started.wait()
    yield app
    await told.put({"type": "lifespan.shutdown"})
    await task


async def ask(app: Any, asked: Asked) -> int:
    """The status of the answer to a request."""
    method, path, sent = asked
    waiting: list[dict[str, Any]] = [{"type": "http.request", "body": sent, "more_body": False}]
    told: list[Any] = []

    async def receive() -> Any:
        if waiting:
            return waiting.pop()
        await asyncio.sleep(SECONDS)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        told.append(message)

    headers = {
        "host": "localhost", "content-type": "application/json", "content-length": str(len(sent)),
        "accept": "application/json, text/event-stream",
    }  # fmt: skip
    if path == "/mcp":
        call = json.loads(sent)
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": call["method"]}
        headers |= {"mcp-name": call["params"]["name"]} if "name" in call["params"] else {}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": b"limit=1000" if method == "GET" else b"", "root_path": "",
        "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1), "state": {},
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    await app(scope, receive, send)
    return int(told[0]["status"])


async def held(act: Callable[[], Any]) -> float:
    """The longest CPU time between two turns of the loop while something runs."""
    longest, running = 0.0, True

    async def turn() -> None:
        nonlocal longest
        last = time.process_time()
        while running:
            await asyncio.sleep(0)
            now = time.process_time()
            longest, last = max(longest, now - last), now

    turning = asyncio.create_task(turn())
    await asyncio.sleep(0)
    try:
        assert await asyncio.wait_for(act(), SECONDS) in (None, 200, 201, 400, 422)
    finally:
        running = False
        await turning
    return longest


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as opened:
        opened.remember(WORDS[:-10], kind="fact")
        for number in range(8):
            opened.remember(f"{number} {'many words here ' * 5_000}", kind="signal")
        opened.remember_many([{"content": f"{number} of {MANY}", "kind": "signal"} for number in range(MANY)])
        thresholds = gc.get_threshold()
        gc.set_threshold(200_000)  # as the command line does while it loads
        collect_seldom()  # as a server does at its start
        yield opened
        gc.unfreeze()
        gc.set_threshold(*thresholds)


def test_no_request_holds_the_loop_up(store: MemoryStore) -> None:
    async def measured() -> dict[str, float]:
        async with running(store) as app:
            return {name: await references_held(lambda asked=asked: ask(app, asked)) for name, asked in CASES.items()}

    slow = {name: f"{times:.1f} references" for name, times in asyncio.run(measured()).items() if times > MOST}
    assert slow == {}


def test_a_server_looks_for_young_garbage_in_small_steps_whatever_loaded_it(store: MemoryStore) -> None:
    assert gc.get_threshold() == (700, 10, 1_000)


def test_making_the_openapi_document_does_not_hold_the_loop_up(store: MemoryStore) -> None:
    async def made() -> float:
        async with running(store) as app:  # anew, since a server makes it once
            return await held(lambda: ask(app, ("GET", "/openapi.json", b"")))

    assert min(asyncio.run(made()) / reference() for _ in range(2)) <= MOST


def test_what_is_measured_sees_work_on_the_loop_and_in_c() -> None:
    """A measure that cannot fail shows nothing."""
    big = json.dumps([[]] * 2_000_000)
    longer = 2 * MOST * reference()

    async def on_the_loop() -> None:
        until = time.process_time() + longer
        while time.process_time() < until:
            pass

    async def in_a_thread() -> None:
        await asyncio.to_thread(json.loads, big)

    for act in (on_the_loop, in_a_thread):
        assert max(asyncio.run(held(act)) / reference() for _ in range(TRIES)) > MOST


class Waits:
    """An embedder that waits for a release and counts waiting calls."""

    id, dim, lexical, calibration = "waits", 4, False, UNCALIBRATED

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.there = 0

    def embed(self, texts: list[str]) -> list[Embedded]:
        if any(len(text) > 1_000 for text in texts):
            self.there += 1
            self.go_on.wait(SECONDS)
        return [Embedded(vector=np.array([1, 0, 0, 0], dtype=np.float32), chunks=1) for _ in texts]


@pytest.mark.parametrize("path", ["/v1/check", "/v1/nodes/check-similar", "/mcp"])
def test_of_large_requests_few_are_worked_on_at_a_time_and_small_ones_go_on(path: str) -> None:
    def large(number: int) -> Asked:
        text = f"{number} {'x' * 30_000}"
        if path == "/mcp":
            return called("tools/call", name="check", arguments={"content": text})
        return "POST", path, body(content=text, **({} if path == "/v1/check" else {"title": "t", "subtype": "lesson"}))

    async def main(embedder: Waits, store: MemoryStore) -> None:
        async with running(store) as app:
            asked = [asyncio.create_task(ask(app, large(number))) for number in range(3 * LARGE_AT_ONCE)]
            try:
                while embedder.there < LARGE_AT_ONCE:
                    await asyncio.sleep(0.01)
                assert await ask(app, ("POST", "/v1/check", body(content="Tea."))) == 200
                assert embedder.there == LARGE_AT_ONCE
            finally:
                embedder.go_on.set()
            assert set(await asyncio.gather(*asked)) == {200}

    embedder = Waits()
    with wellkept.open("memory:", embedder=embedder, relation_model="none") as store:
        asyncio.run(asyncio.wait_for(main(embedder, store), SECONDS))
