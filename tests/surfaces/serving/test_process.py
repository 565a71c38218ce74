"""The life of `wellkept serve`: how it starts, what it refuses, and how it ends (issue 6, 8)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

import wellkept
from stores import place
from surfaces.serving.running import SECONDS, Server, launched, revoke, serving, token
from wellkept.server.access import tokens_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


class Unfinished:
    """A write whose body is not whole yet: a request that runs as long as a test wants it to."""

    def __init__(self, server: Server, content: str) -> None:
        body = json.dumps({"content": content}).encode()
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
        head = f"POST /v1/memories HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        self._socket.sendall(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body[:5])
        self._rest = body[5:]

    def finish(self) -> tuple[int, bytes]:
        """Send the rest; status and answer."""
        self._socket.sendall(self._rest)
        with self._socket, self._socket.makefile("rb") as answer:
            status = int(answer.readline().split()[1])
            return status, answer.read().partition(b"\r\n\r\n")[2]

    def close(self) -> None:
        """Give up."""
        self._socket.close()


def test_a_server_says_where_it_listens_and_answers_there(tmp_path: Path) -> None:
    with serving(place(tmp_path / "a.db")) as server:
        assert server.told == {"address": server.address, "mcp": f"{server.address}/mcp", "tokens": False}
        with server.client() as http:
            assert http.get("/healthz").status_code == 200
            assert http.get("/readyz").status_code == 200
            assert http.post("/v1/memories", json={"content": "Tea is upstairs."}).status_code == 201
        server.signal(signal.SIGINT)
        code, out, err = server.end()
    assert (code, out) == (0, "")
    assert "Tea" not in err  # no log holds what somebody remembers
    assert "token" in err  # but that nobody is asked for one is said


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_what_runs_is_finished_before_the_end(tmp_path: Path, number: signal.Signals) -> None:
    """SIGTERM and Ctrl-C: the request under way is answered, stored, and the exit code is 0."""
    db = place(tmp_path / "a.db")
    with serving(db, "--drain", "0", "--grace", "30") as server:
        request = Unfinished(server, "The last one out turns off the light.")
        with server.client() as http:
            assert http.get("/healthz").status_code == 200  # by now the other request is being read
        server.signal(number)
        wait_until_closed(server)
        status, answer = request.finish()
        assert status == 201
        assert server.end()[0] == 0
    with wellkept.open(str(db), embedder="hashing", relation_model="none") as store:
        [memory] = store.list()
        assert memory.id == json.loads(answer)["memory"]["id"]
        assert store.verify() == ()
    assert not (tmp_path / "a.db-wal").exists()  # closed, not just left


def test_what_waits_in_the_queues_is_written_before_the_end(tmp_path: Path) -> None:
    """S0-45: a write that was answered "Queued" does not wait for the next start, whichever conversation it is of."""
    db = place(tmp_path / "a.db")
    with serving(db, "--drain", "0") as server:
        with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace="acme/a") as store:
            assert store.in_session("chat").queue.remember("Funding flips.", kind="thesis").outcome == "queued"
            assert store.list() == ()
        server.signal(signal.SIGTERM)
        assert server.end()[0] == 0
    if isinstance(db, Path):
        assert db.with_name("a.db.queue").read_bytes() == b""
    with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace="acme/a") as store:
        assert [memory.content for memory in store.list()] == ["Funding flips."]


def test_while_it_drains_it_serves_and_says_that_it_is_not_ready(tmp_path: Path) -> None:
    """A load balancer looks at `/readyz`; what it has sent in the meantime is still answered."""
    with serving(place(tmp_path / "a.db"), "--drain", "600") as server, server.client() as http:
        assert http.get("/readyz").status_code == 200
        server.signal(signal.SIGTERM)
        while (ready := http.get("/readyz")).status_code == 200:
            time.sleep(0.02)
        assert ready.status_code == 503
        assert http.get("/healthz").status_code == 200
        assert http.post("/v1/memories", json={"content": "Still here."}).status_code == 201
        server.signal(signal.SIGTERM)  # the second one does not wait
        assert server.end()[0] == 0


def test_a_request_that_never_ends_does_not_hold_the_end_up(tmp_path: Path) -> None:
    db = place(tmp_path / "a.db")
    with serving(db, "--drain", "0", "--grace", "1") as server:
        request = Unfinished(server, "Never said.")
        with server.client() as http:
            assert http.get("/healthz").status_code == 200
        server.signal(signal.SIGTERM)
        code, _, err = server.end()
        request.close()
    assert code == 0
    assert "Never said" not in err
    with wellkept.open(str(db), embedder="hashing", relation_model="none") as store:
        assert store.list() == ()
        assert store.verify() == ()


def test_it_does_not_listen_beyond_this_machine_without_a_usable_token(tmp_path: Path) -> None:
    """Neither with none, nor with one that has ended."""
    db = place(tmp_path / "a.db")
    for _ in range(2):
        process = launched(db, "--host", "0.0.0.0", "--port", "0")
        out, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 1
        assert json.loads(out)["error"]["type"] == "ConfigError"
        assert not (tmp_path / "a.db").exists()
        token(db, "acme/*")
        revoke(db)


def test_a_port_that_is_taken_is_an_error_that_names_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = launched(place(tmp_path / "a.db"), "--port", str(port))
        out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert json.loads(out)["error"]["where"] == f"127.0.0.1:{port}"


def test_it_asks_for_tokens_once_there_are_any(tmp_path: Path) -> None:
    db = place(tmp_path / "a.db")
    secret = token(db, "acme/*")
    with serving(db) as server:
        assert server.told["tokens"] is True
        with server.client() as nobody, server.client(secret, "acme/ci") as ci:
            assert nobody.get("/healthz").status_code == 200
            refused = nobody.post("/v1/memories", json={"content": "Let me in."})
            assert (refused.status_code, refused.headers["www-authenticate"][:6]) == (401, "Bearer")
            assert ci.post("/v1/memories", json={"content": "Tea is upstairs."}).status_code == 201
            revoke(db)
            assert ci.post("/v1/recall", json={"query": "tea"}).status_code == 401  # at once
            if isinstance(db, Path):
                tokens_file(db).unlink()
            assert ci.post("/v1/recall", json={"query": "tea"}).status_code == 401  # a lost file opens nothing
    with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace="acme/ci") as store:
        assert [entry.actor for entry in store.journal()] == ["acme"]  # who did it is in the journal


def test_a_server_started_without_tokens_shuts_when_the_first_one_is_made(tmp_path: Path) -> None:
    """After the first token is created, access without a token must end, so an open server must stop."""
    db = place(tmp_path / "a.db")
    with serving(db) as server, server.client() as http:
        assert http.post("/v1/recall", json={"query": "tea"}).status_code == 200
        secret = token(db, "*", "admin")
        for path in ("/v1/recall", "/mcp"):
            assert http.post(path, json={"query": "tea"}).status_code == 503
        with server.client(secret) as holder:
            assert holder.post("/v1/recall", json={"query": "tea"}).status_code == 503
        assert http.get("/healthz").status_code == 200


@pytest.mark.file
def test_a_damaged_list_of_tokens_closes_the_server_and_says_why_once(tmp_path: Path) -> None:
    """SECURITY.md: a damaged token list refuses all access. Errors name no path, the log does not fill up, and
    a repaired list suffices."""
    db = tmp_path / "a.db"
    secret = token(db, "acme/*")
    kept = tokens_file(db).read_bytes()
    with serving(db, "--drain", "0") as server:
        with server.client(secret, "acme/a") as http:
            tokens_file(db).write_bytes(b"{half")
            for path in ("/v1/recall", "/v1/recall", "/mcp"):
                answer = http.post(path, json={"query": "tea"})
                assert answer.status_code == 503
                assert "a.db" not in answer.text
            assert http.get("/healthz").status_code == 200
            tokens_file(db).write_bytes(kept)
            assert http.post("/v1/recall", json={"query": "tea"}).status_code == 200
        server.signal(signal.SIGTERM)
        code, _, err = server.end()
    assert code == 0
    assert err.count("token file cannot be used") == 1
    assert "Exception" not in err


@pytest.mark.file
def test_a_damaged_list_is_a_list_to_a_server_that_was_started_without(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    with serving(db) as server, server.client() as http:
        tokens_file(db).write_bytes(b"{half")
        assert http.post("/v1/recall", json={"query": "tea"}).status_code == 503
        assert http.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "memory.example"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://memory.example"}, 200),
    ],
)
def test_names_and_pages_that_are_not_the_servers_own_are_refused_on_rest_and_mcp_alike(
    open_server: Server, headers: dict[str, str], status: int
) -> None:
    """DNS rebinding and pages of other sites: a server on loopback is reached by every browser beside it."""
    with open_server.client() as http:
        assert http.post("/v1/recall", json={"query": "tea"}, headers=headers).status_code == status
        listed = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accept = {"Accept": "application/json, text/event-stream", **headers}
        for path in ("/mcp", "/mcp/"):
            assert (http.post(path, json=listed, headers=accept).status_code == 403) is (status == 403)


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    with serving(place(tmp_path_factory.mktemp("open") / "a.db"), "--allowed-host", "memory.example") as server:
        yield server


def test_the_parser_of_requests_is_the_one_whose_headers_are_bounded(open_server: Server) -> None:
    """SECURITY.md: headers are bounded, also where a faster parser without a bound happens to be installed."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from wellkept.server.serving.process import Ending, Process

    config = Process(None, ending=Ending(), drain=lambda: None, listening=lambda: None).config
    assert issubclass(config.http.func, H11Protocol)
    assert config.h11_max_incomplete_event_size == 64 * 1024
    answer = b""
    with socket.create_connection(("127.0.0.1", open_server.port), timeout=SECONDS) as sender:
        with contextlib.suppress(OSError):  # it need not listen to the end
            sender.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: {'x' * 4_000_000}\r\n\r\n".encode())
            answer = sender.recv(1000)
    assert b" 200 " not in answer
    with open_server.client() as http:
        assert http.get("/healthz").status_code == 200


def test_help_and_token_commands_load_no_server(tmp_path: Path) -> None:
    """What needs no server does not wait for its packages."""
    code = (
        "import sys; from wellkept.cli.app import app; import wellkept.cli.serving.token_commands; "
        "import wellkept.server.access; "
        "print([n for n in ('fastapi', 'uvicorn', 'mcp', 'pydantic', 'starlette', 'onnxruntime') if n in sys.modules])"
    )
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def wait_until_closed(server: Server) -> None:
    """Wait until new connections are refused."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS).close()
        except OSError:
            return
