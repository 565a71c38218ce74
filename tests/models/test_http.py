"""Embeddings over HTTP, against a real server on this machine that misbehaves on purpose."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from wellkept.errors import ConfigError, ModelResponseInvalid, ModelUnavailable
from wellkept.models.endpoints import http as http_module
from wellkept.models.endpoints.http import WINDOW_CHARACTERS, HttpEmbedder

Reply = tuple[int, bytes, dict[str, str]]


def spelled(text: str) -> list[float]:
    """A vector that shows which text it belongs to."""
    return [float(len(text)), float(sum(map(ord, text)) % 97), 1.0]


def good(request: dict[str, Any]) -> Reply:
    data = [{"index": place, "embedding": spelled(text)} for place, text in enumerate(request["input"])]
    return answer(data)


def answer(data: Any) -> Reply:
    return 200, json.dumps({"object": "list", "data": data}).encode(), {}


def status(code: int, **headers: str) -> Callable[[dict[str, Any]], Reply]:
    body = b'{"error": "bad key sk-secret-123"}'
    return lambda _: (code, body, {name.replace("_", "-"): value for name, value in headers.items()})


class Server:
    """Answers each call by the next script entry; the last one repeats."""

    def __init__(self) -> None:
        self.script: list[Callable[[dict[str, Any]], Reply]] = [good]
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append(request)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                play = outer.script.pop(0) if len(outer.script) > 1 else outer.script[0]
                code, body, headers = play(request)
                try:
                    self.send_response(code)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # the caller gave up, as the time-out test wants

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1/embeddings"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = Server()
    yield running
    running.close()


def client(url: str, **options: Any) -> tuple[HttpEmbedder, list[float]]:
    """An embedder that notes its pauses instead of taking them."""
    embedder = HttpEmbedder(url, "test-model", **options)
    pauses: list[float] = []
    embedder.endpoint.sleep = pauses.append
    return embedder, pauses


def as_unit(text: str) -> Any:
    vector = np.array(spelled(text))
    return pytest.approx(vector / np.linalg.norm(vector), abs=1e-6)


def test_texts_come_back_as_unit_vectors_in_their_order(server):
    embedder, pauses = client(server.url, api_key="sk-secret-123")
    found = embedder.embed(["one", "three", "one"])
    assert [one.vector for one in found] == [as_unit("one"), as_unit("three"), as_unit("one")]
    assert found[0].vector.dtype == np.float32
    assert (embedder.dim, pauses) == (3, [])
    assert server.requests == [{"model": "test-model", "input": ["one", "three"], "encoding_format": "float"}]
    assert server.headers[0]["authorization"] == "Bearer sk-secret-123"


def test_no_key_sends_no_authorization(server):
    client(server.url)[0].embed(["a"])
    assert "authorization" not in server.headers[0]


def test_many_texts_go_in_batches(server):
    texts = [f"text {n}" for n in range(7)]
    found = client(server.url, batch=3)[0].embed(texts)
    assert [len(request["input"]) for request in server.requests] == [3, 3, 1]
    assert [one.vector for one in found] == [as_unit(text) for text in texts]


def test_the_prefix_stands_before_every_text_and_in_the_id(server):
    embedder = client(server.url, prefix="query: ")[0]
    embedder.embed(["tea"])
    assert server.requests[0]["input"] == ["query: tea"]
    assert embedder.id != client(server.url)[0].id


def test_dimensions_are_asked_for_only_where_they_are_understood(server):
    client(server.url, dim=3)[0].embed(["a"])
    asking = client(server.url, dim=3)[0]
    asking.send_dimensions = True
    asking.embed(["a"])
    assert ["dimensions" in request for request in server.requests] == [False, True]
    assert HttpEmbedder(server.url, "text-embedding-3-small", dim=512).send_dimensions


def test_the_dimension_is_asked_once_when_nobody_said_it(server):
    embedder = client(server.url)[0]
    assert (embedder.dim, embedder.dim) == (3, 3)
    assert len(server.requests) == 1


def test_an_empty_text_gets_no_vector_and_is_not_sent(server):
    found = client(server.url)[0].embed(["", " \n", "tea"])
    assert [one.vector is None for one in found] == [True, True, False]
    assert server.requests[0]["input"] == ["tea"]
    assert client(server.url)[0].embed([]) == []


def test_a_long_text_is_cut_at_white_space_and_averaged(server):
    """B-33."""
    text = "word " * 3_000
    found = client(server.url)[0].embed([text])[0]
    sent = server.requests[0]["input"]
    assert all(len(part) <= WINDOW_CHARACTERS and part.endswith("word") for part in sent)
    assert found.chunks == 3
    assert float(np.linalg.norm(found.vector)) == pytest.approx(1.0, abs=1e-6)


def test_a_long_text_without_white_space_is_cut_all_the_same(server):
    assert client(server.url)[0].embed(["火" * (WINDOW_CHARACTERS + 1)])[0].chunks == 2


def test_a_reordered_answer_is_put_in_order(server):
    def backwards(request: dict[str, Any]) -> Reply:
        data = [{"index": n, "embedding": spelled(text)} for n, text in enumerate(request["input"])]
        return answer(data[::-1])

    server.script = [backwards]
    found = client(server.url)[0].embed(["one", "three"])
    assert [one.vector for one in found] == [as_unit("one"), as_unit("three")]


def test_an_answer_without_numbers_counts_as_in_order(server):
    server.script = [lambda request: answer([{"embedding": spelled(text)} for text in request["input"]])]
    assert client(server.url)[0].embed(["one", "three"])[1].vector == as_unit("three")


@pytest.mark.parametrize("code", [429, 500, 502, 503])
def test_a_passing_failure_is_repeated_with_growing_pauses(server, code):
    server.script = [status(code), status(code), good]
    embedder, pauses = client(server.url)
    assert embedder.embed(["tea"])[0].vector == as_unit("tea")
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize(
    ("asked", "taken"), [("3", 3.0), ("0", 0.0), ("9999", 20.0), ("-5", 0.0), ("nan", 0.5), ("Wed, 21 Oct", 0.5)]
)
def test_a_server_may_say_how_long_to_wait_within_reason(server, asked, taken):
    server.script = [status(429, retry_after=asked), good]
    embedder, pauses = client(server.url)
    embedder.embed(["tea"])
    assert pauses == [taken]


def test_a_lasting_failure_gives_up_after_the_retries(server):
    server.script = [status(500)]
    embedder, pauses = client(server.url, retries=2)
    with pytest.raises(ModelUnavailable, match="answered 500"):
        embedder.embed(["tea"])
    assert (len(server.requests), len(pauses)) == (3, 2)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422, 302])
def test_a_refusal_is_not_repeated(server, code):
    server.script = [status(code)]
    embedder, pauses = client(server.url)
    with pytest.raises(ModelUnavailable, match=f"answered {code}"):
        embedder.embed(["tea"])
    assert (len(server.requests), pauses) == (1, [])


def test_a_server_that_is_too_slow_is_a_time_out(server):
    def slow(request: dict[str, Any]) -> Reply:
        time.sleep(0.4)
        return good(request)

    server.script = [slow]
    embedder, pauses = client(server.url, timeout=0.05, retries=1)
    with pytest.raises(ModelUnavailable, match=r"no answer in time \(0\.05 s\)"):
        embedder.embed(["tea"])
    assert len(pauses) == 1


def test_a_server_that_is_not_there_is_unavailable():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    embedder, pauses = client(f"http://127.0.0.1:{port}/v1/embeddings")
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        embedder.embed(["tea"])
    assert len(pauses) == 2


ROW = [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((200, b"<html>gateway</html>", {}), "not JSON"),
        ((200, b"\xff\xfe", {}), "not JSON"),
        ((200, b"[" * 100_000, {}), "not JSON"),
        ((200, b"[]", {}), "no list `data`"),
        ((200, b'{"data": {"0": []}}', {}), "no list `data`"),
        (answer(["x", "y"]), "no list `data`"),
        (answer([]), "empty result"),
        (answer([{"index": 0, "embedding": ROW}]), "1 embeddings came back for 2 texts"),
        (answer([{"index": 0, "embedding": ROW}] * 3), "3 embeddings came back for 2 texts"),
        (answer([{"index": 0, "embedding": ROW}] * 2), "`index` do not match"),
        (answer([{"index": 0, "embedding": ROW}, {"index": 2, "embedding": ROW}]), "`index` do not match"),
        (answer([{"index": 0, "embedding": ROW}, {"index": True, "embedding": ROW}]), "`index` do not match"),
        (answer([{"index": 0, "embedding": ROW}, {"embedding": ROW}]), "`index` do not match"),
        (answer([{"embedding": ROW}, {"embedding": [1.0, 2.0]}]), "differ in length"),
        (answer([{"embedding": [1.0, 2.0]}] * 2), "2 components, expected 3"),
        (answer([{"embedding": []}] * 2), "empty result"),
        (answer([{"embedding": None}] * 2), "not a list of numbers"),
        (answer([{"embedding": "AAAA"}] * 2), "not a list of numbers"),
        (answer([{"embedding": ["1", "2", "3"]}] * 2), "not a list of numbers"),
        (answer([{"embedding": [True, True, True]}] * 2), "not a list of numbers"),
        (answer([{"embedding": [1.0, float("nan"), 2.0]}] * 2), "NaN is not a number of JSON"),
        (answer([{"embedding": [1.0, float("inf"), 2.0]}] * 2), "Infinity is not a number of JSON"),
        (answer([{"embedding": [10**400, 1, 1]}] * 2), "not finite"),
        (answer([{"embedding": [0, 0.0, 0]}] * 2), "zero in every component"),
    ],
)
def test_an_answer_that_is_no_embedding_of_these_texts_is_refused_by_name(server, reply, said):
    """A wrong vector must never reach the store; asking again would not help."""
    server.script = [lambda _: reply]
    embedder = client(server.url, dim=3)[0]
    with pytest.raises(ModelResponseInvalid) as caught:
        embedder.embed(["one", "two"])
    assert said in str(caught.value)
    assert "127.0.0.1, model test-model" in str(caught.value)
    assert len(server.requests) == 1


def test_an_oversized_answer_is_not_read_to_the_end(server, monkeypatch):
    monkeypatch.setattr(http_module, "MAX_ANSWER_BYTES", 1 << 20)
    server.script = [lambda _: (200, b" " * (8 << 20), {})]
    with pytest.raises(ModelResponseInvalid, match="larger than 1 MiB"):
        client(server.url)[0].embed(["tea"])


@pytest.mark.parametrize("play", [status(401), status(500), lambda _: (200, b"sk-secret-123", {})])
def test_neither_key_nor_password_nor_the_servers_words_are_shown(server, play):
    server.script = [play]
    url = server.url.replace("//", "//user:hunter2@")
    embedder = client(url, api_key="sk-secret-123", retries=0)[0]
    with pytest.raises((ModelUnavailable, ModelResponseInvalid)) as caught:
        embedder.embed(["tea"])
    shown: BaseException | None = caught.value
    while shown is not None:
        assert "secret" not in str(shown) and "hunter2" not in str(shown)
        shown = shown.__cause__
    assert "hunter2" not in embedder.id and "secret" not in embedder.id


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("ftp://host/x", {}),
        ("localhost:11434/v1", {}),
        ("http://", {}),
        ("", {}),
        ("http://host/v1", {"batch": 0}),
        ("http://host/v1", {"retries": -1}),
        ("http://host/v1", {"timeout": 0}),
        ("http://host/v1", {"dim": 0}),
    ],
)
def test_settings_that_cannot_work_are_refused_before_any_call(url, options):
    with pytest.raises(ConfigError):
        HttpEmbedder(url, "m", **options)


def test_it_says_that_nobody_has_calibrated_it():
    """B-30."""
    assert HttpEmbedder("http://host/v1", "m").calibration.name == "uncalibrated"
