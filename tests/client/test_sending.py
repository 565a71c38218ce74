"""Requests of a client, its retries, and its handling of invalid answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from stores import LASTING, desk
from surfaces.rest.serving import rest_app, served
from wellkept.client import AsyncClient, Client
from wellkept.client.exchange import LONGEST_PAUSE
from wellkept.errors import (
    Busy,
    ConfigError,
    Full,
    InvalidInput,
    NotFound,
    StorageError,
    UndoBlocked,
    WellkeptError,
)

Answer = httpx2.Response | Exception
COUNTS = {
    "namespace": "default", "memories": {}, "kinds": {}, "outcomes": {}, "links": 0, "open_conflicts": 0,
    "unchecked": 0, "without_vector": 0, "journal": 0, "embedder": "e", "policy": "p", "schema": 1,
}  # fmt: skip


class Line:
    """A server of fixed answers, which repeats the last one."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.seen: list[httpx2.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, **options: Any) -> Client:
        made = Client("http://127.0.0.1:9", transport=httpx2.MockTransport(self), **options)
        made._sleep = self.pauses.append
        return made


def said(status: int, body: Any = None, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json={} if body is None else body, headers=headers)


LOST = httpx2.ReadError("the connection was reset")
UNSENT = httpx2.ConnectError("refused")
KEPT = said(200, {"outcome": "created", "memory": None})
Step = Callable[[Client], Any]


@pytest.mark.parametrize(
    ("answers", "step", "sent", "fails"),
    [
        ((LOST, said(200, COUNTS)), lambda c: c.stats(), 2, None),
        ((LOST, LOST, said(200, COUNTS)), lambda c: c.stats(), 3, None),
        ((LOST,), lambda c: c.stats(), 3, StorageError),
        ((httpx2.ReadTimeout("slow"), said(200, COUNTS)), lambda c: c.stats(), 2, None),
        ((said(503), said(200, COUNTS)), lambda c: c.stats(), 2, None),
        ((said(503),), lambda c: c.stats(), 3, Busy),
        ((said(502), said(504), said(200, COUNTS)), lambda c: c.stats(), 3, None),
        ((said(500), said(200, COUNTS)), lambda c: c.stats(), 1, WellkeptError),
        # A write that carries a key is one, however often it arrives.
        ((LOST, KEPT), lambda c: c.remember("x"), 2, None),
        ((said(503), KEPT), lambda c: c.remember("x"), 2, None),
        # An act whose second time would be another act is never sent twice …
        ((LOST, said(200, {"entry": 1})), lambda c: c.undo(1), 1, StorageError),
        ((said(503), said(200, {"entry": 1})), lambda c: c.undo(1), 1, Busy),
        ((LOST, said(200, {"removed": 1})), lambda c: c.unlink("a", "b"), 1, StorageError),
        ((LOST, said(200, {"restored": True})), lambda c: c.restore("a"), 1, StorageError),
        # … unless it surely never arrived, or was turned away unread.
        ((UNSENT, said(200, {"entry": 1})), lambda c: c.undo(1), 2, None),
        ((said(429), said(200, {"entry": 1})), lambda c: c.undo(1), 2, None),
    ],
)
def test_what_is_sent_again(answers: tuple[Answer, ...], step: Step, sent: int, fails: type[Exception] | None) -> None:
    """I5."""
    line = Line(*answers)
    with line.client() as client:
        if fails is None:
            step(client)
        else:
            with pytest.raises(fails):
                step(client)
    assert len(line.seen) == sent


def test_all_tries_of_a_write_carry_one_key_and_another_write_another() -> None:
    line = Line(LOST, KEPT)
    with line.client() as client:
        client.remember("x")
        client.remember("x")
        client.remember("y", idempotency_key="mine")
        client.check("x")
    keys = [request.headers.get("idempotency-key") for request in line.seen]
    assert keys[0] == keys[1] != keys[2] and keys[2] and keys[3:] == [None, None]
    assert json.loads(line.seen[3].content)["idempotency_key"] == "mine"


def test_a_lost_answer_leaves_one_memory(tmp_path: Path) -> None:
    """I5, against a running server: the write arrived, its answer did not. Signals repeat by nature (S0-3)."""

    class Lossy(httpx2.HTTPTransport):
        lost = 0

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            answer = super().handle_request(request)
            if not self.lost and request.method == "POST":
                self.lost += 1
                answer.close()
                raise LOST
            return answer

    table = desk(LASTING, tmp_path)
    with served(rest_app(table.store)) as url, Client(url, transport=Lossy()) as client:
        client._sleep = lambda _: None
        result = client.remember("BTC funding turned negative", kind="signal")
        assert [reason.rule for reason in result.reasons] == ["replay"]
        assert [row.id for row in client.list()] == [result.memory.id if result.memory else ""]
        assert client.remember("BTC funding turned negative", kind="signal").outcome == "created"
    assert len(table.rows()) == 2
    table.store.close()


@pytest.mark.parametrize(
    ("headers", "pauses"),
    [({}, [0.2, 0.4]), ({"Retry-After": "3"}, [3.0, 3.0]), ({"Retry-After": "9" * 400}, [LONGEST_PAUSE] * 2),
     ({"Retry-After": "soon"}, [0.2, 0.4]), ({"Retry-After": "-1"}, [0.2, 0.4])],
)  # fmt: skip
def test_it_waits_as_long_as_the_server_asks_within_bounds(headers: dict[str, str], pauses: list[float]) -> None:
    line = Line(said(503, **headers))
    with line.client() as client, pytest.raises(Busy):
        client.stats()
    assert line.pauses == pauses


def test_token_namespace_and_session_go_along_and_the_token_is_never_shown() -> None:
    line = Line(UNSENT)
    with line.client(token="wk_secret", namespace="acme/élan", session="chat 7", retries=0) as client:
        with pytest.raises(StorageError) as caught:
            client.stats()
        with pytest.raises(StorageError):
            client.in_namespace("acme/bob").stats()
        shown = f"{client!r} {caught.value} {caught.value.__cause__}"
    first, second = (request.headers for request in line.seen)
    assert first["authorization"] == second["authorization"] == "Bearer wk_secret"
    assert (first["wellkept-namespace"], second["wellkept-namespace"]) == ("acme/%C3%A9lan", "acme/bob")
    assert first["wellkept-session"] == second["wellkept-session"] == "chat 7"
    assert "wk_secret" not in shown


def test_a_redirect_is_not_followed_with_the_token() -> None:
    line = Line(said(307, Location="http://127.0.0.2/v1/stats"))
    with line.client(token="wk_secret") as client, pytest.raises(WellkeptError):
        client.stats()
    assert len(line.seen) == 1


def problem(name: str, **more: Any) -> Any:
    return {"type": f"urn:wellkept:error:{name}", "title": name, "detail": "it cannot be", **more}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (said(404, problem("NotFound", where="id", todo="Look")), NotFound),
        (said(507, problem("Full")), Full),
        (said(409, problem("UndoBlocked", entries=[3, 2, "x"])), UndoBlocked),
        (said(422, {"type": "about:blank", "detail": "no"}), InvalidInput),
        (said(401), ConfigError),
        (said(403), ConfigError),
        (said(404), NotFound),
        (said(418), WellkeptError),
        # A server chooses among our errors by name, and nothing else.
        (said(500, problem("SystemExit")), WellkeptError),
        (said(500, problem("Sequence")), WellkeptError),
        (said(500, ["no", "object"]), WellkeptError),
        (said(400, {"type": 7, "detail": {"a": 1}, "conflicts": "x"}), InvalidInput),
        (said(409, problem("ConflictError", conflicts="x")), WellkeptError),
        (httpx2.Response(500, content=b"\xff<html>"), WellkeptError),
        # Answers that say they are well and are not ours.
        (httpx2.Response(200, content=b"<html>login</html>"), StorageError),
        (said(200, []), StorageError),
        (said(200, {"namespace": "x"}), StorageError),
        (httpx2.Response(200, content=b"[" * 100_000), StorageError),
    ],
)
def test_an_answer_that_is_no_result_is_a_typed_error(answer: httpx2.Response, kind: type[Exception]) -> None:
    with Line(answer).client() as client, pytest.raises(WellkeptError) as caught:
        client.stats()
    assert isinstance(caught.value, kind)


def test_an_error_keeps_its_words_and_what_belongs_to_it() -> None:
    told = problem("UndoBlocked", entries=[3, 2], where="entry", todo="Undo those first")
    with Line(said(409, told)).client() as client, pytest.raises(UndoBlocked) as caught:
        client.undo(1)
    assert (caught.value.what, caught.value.where, caught.value.todo) == ("it cannot be", "entry", "Undo those first")
    assert caught.value.entries == (3, 2)


@pytest.mark.parametrize("status", [400, 404, 500])
def test_check_similar_raises_on_every_answer_that_is_no_success(status: int) -> None:
    """S0-27: no error handling of its own."""
    line = Line(said(status, {"error": "content, title, and subtype are required"}))
    with line.client() as client, pytest.raises(httpx2.HTTPStatusError):
        client.check_similar("c", "t", "custom:lesson")
    assert json.loads(line.seen[0].content) == {"content": "c", "title": "t", "subtype": "custom:lesson", "limit": 5}
    assert line.seen[0].url.path == "/v1/nodes/check-similar"


@pytest.mark.parametrize(
    "options",
    [{"url": "ftp://x"}, {"url": "127.0.0.1:8000"}, {"url": ""}, {"url": "http://[::1"}, {"retries": -1},
     {"retries": "two"}, {"retries": True}],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Client(**{"url": "http://127.0.0.1:8000", **options})


@pytest.mark.parametrize("url", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"])
def test_the_address_may_be_given_with_or_without_the_version(url: str) -> None:
    line = Line(said(200, COUNTS))
    with Client(url, transport=httpx2.MockTransport(line)) as client:
        client.stats()
    assert str(line.seen[0].url) == "http://h:1/v1/stats"


def test_an_async_client_sends_again_too_and_survives_a_cancelled_task() -> None:
    line = Line(LOST, said(200, COUNTS))

    async def run() -> str:
        async with AsyncClient("http://127.0.0.1:9", transport=httpx2.MockTransport(line)) as client:
            waiting = asyncio.create_task(client.stats())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            return (await client.stats()).namespace

    assert asyncio.run(run()) == "default"
