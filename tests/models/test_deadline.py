"""The deadline covers the whole answer of a server that sends single bytes, for every caller (E8)."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable

import httpx2
import pytest

from trickling import BODY, ENDLESS, HEADERS, trickling
from wellkept.client import AsyncClient, Client
from wellkept.errors import ModelUnavailable, StorageError
from wellkept.models.endpoints.deadline import Lines
from wellkept.models.endpoints.http import HttpEmbedder
from wellkept.models.judges.chat import ChatJudge
from wellkept.models.summarise.endpoint import ChatSummariser

SECONDS = 0.3
BY_FAR = 6.0
"""The answer takes twenty seconds; a machine that is busy needs longer than the deadline to notice."""


def embeds(url: str) -> None:
    HttpEmbedder(f"{url}/v1/embeddings", "m", dim=3, timeout=SECONDS, retries=0).embed(["tea"])


def judges(url: str) -> None:
    ChatJudge(f"{url}/v1/chat/completions", "m", seconds=SECONDS, retries=0).judge([("a", "b")])


def summarises(url: str) -> None:
    ChatSummariser(f"{url}/v1/chat/completions", "m", seconds=SECONDS, retries=0).summarise(["a"], limit=20)


def asks(url: str) -> None:
    with Client(url, timeout=SECONDS, retries=0) as client:
        client.stats()


def awaits(url: str) -> None:
    async def asked() -> None:
        async with AsyncClient(url, timeout=SECONDS, retries=0) as client:
            await client.stats()

    asyncio.run(asked())


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.parametrize("at_once", [HEADERS, BODY, ENDLESS], ids=["headers", "body", "body without length"])
@pytest.mark.parametrize("call", [embeds, judges, summarises, asks, awaits], ids=lambda call: call.__name__)
def test_an_answer_that_trickles_in_is_late(call: Callable[[str], None], at_once: bytes) -> None:
    started = time.monotonic()
    with trickling(at_once) as url, pytest.raises((ModelUnavailable, StorageError), match="in time"):
        call(url)
    assert time.monotonic() - started < BY_FAR


@pytest.mark.parametrize("at_once", [HEADERS, BODY], ids=["headers", "body"])
def test_on_a_connection_that_is_used_again_too(at_once: bytes) -> None:
    first = json.dumps({"data": [{"index": 0, "embedding": [1.0, 2.0, 2.0]}]}).encode()
    started = time.monotonic()
    with trickling(at_once, first=first) as url:
        embedder = HttpEmbedder(f"{url}/v1/embeddings", "m", timeout=SECONDS, retries=0)
        assert embedder.embed(["tea"])[0].vector is not None
        with pytest.raises(ModelUnavailable, match="in time"):
            embedder.embed(["coffee"])
    assert time.monotonic() - started < BY_FAR


def test_a_deadline_that_passes_before_there_is_a_connection_holds_too() -> None:
    started = time.monotonic()
    with trickling(BODY) as url, httpx2.Client() as client, pytest.raises(httpx2.ReadTimeout):
        with Lines().within(0.01) as trace:
            time.sleep(0.2)  # as when the client is made at the first call
            client.get(url, extensions={"trace": trace}, timeout=30)
    assert time.monotonic() - started < BY_FAR


def test_a_late_call_does_not_cut_the_connection_of_another() -> None:
    lines = Lines()
    ended = threading.Event()

    def late() -> None:
        with trickling(BODY) as url, httpx2.Client() as client, pytest.raises(httpx2.ReadTimeout):
            with lines.within(SECONDS) as trace:
                client.get(url, extensions={"trace": trace})
        ended.set()

    with (
        trickling(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n") as url,
        httpx2.Client() as client,
    ):  # takes a second
        with lines.within(60) as trace, client.stream("GET", url, extensions={"trace": trace}) as answer:
            thread = threading.Thread(target=late)
            thread.start()
            assert answer.read() == b" " * 50
        thread.join()
    assert ended.is_set()


def test_a_call_in_time_gives_what_it_gives() -> None:
    with trickling(BODY, first=b"whole") as url, httpx2.Client() as client:
        with Lines().within(60) as trace:
            answer = client.get(url, extensions={"trace": trace})
    assert answer.content == b"whole"
