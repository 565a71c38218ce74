"""Incomplete requests have a deadline, and idle connections do not block other clients (D5)."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import wellkept
from wellkept.server.access import Tokens
from wellkept.server.rest import Limits, create_app
from wellkept.server.serving.connections import Patience
from wellkept.server.serving.process import Ending, Process

SECONDS = 30
"""A test gives up after this; nothing waits so long when all is well."""
HEAD = b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
PROBE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
SHORT = Patience(head=0.3, body=0.3, rate=1_000_000, idle=1, waiting=20)


@dataclass
class Running:
    """A server in a thread of this process."""

    port: int
    process: Process

    def connected(self, sent: bytes = b"") -> socket.socket:
        """A connection that has sent something."""
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)
        peer.sendall(sent)
        return peer

    def status(self, sent: bytes) -> int:
        """The status of the answer to a request."""
        with self.connected(sent) as peer:
            return int(peer.recv(10_000).split()[1])


@contextlib.contextmanager
def running(app: Any, patience: Patience) -> Iterator[Running]:
    with socket.create_server(("127.0.0.1", 0), backlog=256) as bound:
        listens = threading.Event()
        process = Process(
            app, ending=Ending(drain=0, grace=1), drain=lambda: None, listening=listens.set, patience=patience
        )
        thread = threading.Thread(target=process.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        assert listens.wait(SECONDS)
        yield Running(bound.getsockname()[1], process)
        process.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    tokens = Tokens(tmp_path_factory.mktemp("tokens") / "tokens")
    tokens.create(name="one", namespaces=["*"], scopes=["write"])
    with (
        wellkept.open("memory:", embedder="hashing", relation_model="none") as store,
        running(create_app(store, tokens=tokens), SHORT) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def open_server() -> Iterator[Running]:
    with (
        wellkept.open("memory:", embedder="hashing", relation_model="none") as store,
        running(create_app(store, limits=Limits(at_once=1)), SHORT) as made,
    ):
        yield made


def ended(peer: socket.socket) -> bool:
    """Whether the other side ends the connection, and nothing comes before."""
    with peer:
        try:
            return peer.recv(1) == b""
        except ConnectionResetError:
            return True


def whole(peer: socket.socket) -> bytes:
    """An answer to `PROBE`."""
    answer = b""
    while not answer.endswith(b"}"):
        answer += peer.recv(10_000)
    return answer


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"G",
        HEAD,
        HEAD + b"Content-Length: 100\r\n\r\n",
        HEAD + b'Content-Length: 100\r\n\r\n{"content"',
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n",
    ],
    ids=["nothing", "a letter", "half a head", "a head", "half a body", "half a chunk"],
)
def test_what_never_arrives_is_not_waited_for(open_server: Running, sent: bytes) -> None:
    assert ended(open_server.connected(sent))


@pytest.mark.parametrize("sent", [HEAD, HEAD + b"Content-Length: 1000\r\n\r\n"], ids=["head", "body"])
def test_a_sender_of_single_bytes_is_not_waited_for_longer(open_server: Running, sent: bytes) -> None:
    """Each byte is in time, the whole is not."""
    peer = open_server.connected(sent)
    with contextlib.suppress(OSError):
        for _ in range(200):
            peer.sendall(b"x")
            time.sleep(0.02)
        pytest.fail("two hundred bytes were taken in four seconds")
    peer.close()


def test_a_second_request_has_the_same_deadlines_as_the_first(open_server: Running) -> None:
    """The time between two requests is longer, and one byte of the next request does not buy a further wait."""
    with open_server.connected(PROBE) as peer:
        assert whole(peer).endswith(b'{"status":"ok"}')
        time.sleep(2 * SHORT.head)
        peer.sendall(PROBE)
        assert whole(peer).endswith(b'{"status":"ok"}')
        peer.sendall(b"G")
        assert peer.recv(10_000) == b""


def test_a_body_that_comes_fast_enough_may_take_longer_than_a_short_one(open_server: Running) -> None:
    body = b'{"content": "' + b"x" * 600_000
    with open_server.connected(HEAD + b"Content-Length: %d\r\n\r\n" % (len(body) + 2)) as peer:
        peer.sendall(body)  # 600,000 bytes at a million a second: 0.6 s more
        time.sleep(1.5 * SHORT.body)
        peer.sendall(b'"}')
        assert peer.recv(10_000).split()[1] in (b"200", b"413", b"422")


def test_connections_that_ask_for_nothing_do_not_keep_others_out(server: Running) -> None:
    """Without a token, and many more than may wait."""
    idle = [server.connected(HEAD[:30]) for _ in range(5 * SHORT.waiting)]
    try:
        assert [server.status(PROBE) for _ in range(5)] == [200] * 5
        assert len(server.process.server_state.connections) <= SHORT.waiting + 5
    finally:
        for peer in idle:
            peer.close()


def test_bodies_that_are_half_sent_do_not_count_as_requests(open_server: Running) -> None:
    """One request is worked on at a time here; ten half-sent ones leave room for it."""
    half = [open_server.connected(HEAD + b"Content-Length: 50\r\n\r\n{") for _ in range(10)]
    try:
        assert open_server.status(HEAD + b'Content-Length: 18\r\n\r\n{"content": "tea"}') == 200
    finally:
        for peer in half:
            peer.close()


def test_one_request_too_many_is_told_to_come_again() -> None:
    """Those under way count, not the connections; probes are answered all the same."""
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        id, dim, lexical = "slow", 4, False

        def __init__(self) -> None:
            from wellkept.core.judging.calibration import UNCALIBRATED
            from wellkept.models.port import Embedded

            self.calibration, self._made = UNCALIBRATED, Embedded

        def embed(self, texts: list[str]) -> list[Any]:
            import numpy as np

            begun.set()
            go_on.wait(SECONDS)
            return [self._made(vector=np.array([1, 0, 0, 0], dtype=np.float32), chunks=1) for _ in texts]

    asked = HEAD + b'Content-Length: 18\r\n\r\n{"content": "tea"}'
    with (
        wellkept.open("memory:", embedder=Slow(), relation_model="none") as store,
        running(create_app(store, limits=Limits(at_once=1)), SHORT) as made,
    ):
        first = made.connected(asked)
        try:
            assert begun.wait(SECONDS)
            with made.connected(asked) as second:
                answer = second.recv(10_000)
            assert b" 503 " in answer and b"retry-after: " in answer.lower()
            assert made.status(PROBE) == 200
        finally:
            go_on.set()
        assert first.recv(10_000).split()[1] == b"200"
        first.close()


def test_a_peer_that_takes_no_answer_is_not_waited_for() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 50_000_000})

    patience = Patience(head=0.3, body=0.3, rate=1_000_000_000, idle=1, waiting=20)
    with running(app, patience) as made, made.connected(PROBE) as peer:
        connections = made.process.server_state.connections
        until = time.monotonic() + SECONDS
        while not connections and time.monotonic() < until:
            time.sleep(0.01)
        while connections and time.monotonic() < until:
            time.sleep(0.01)
        assert not connections
        assert peer.recv(10) != b""  # it had begun
