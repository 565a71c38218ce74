"""A server whose requests all wait for their database still tells that it lives, and whom it knows (B-27)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from postgres.proxy import Proxy
from postgres.server import server
from surfaces.serving.running import Server, serving, token

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")

REQUESTS = 60
"""More than a server has threads for."""
SECONDS = 40
NOT_GRANTED = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'wellkept.journal'::regclass"


@pytest.fixture
def url() -> Iterator[str]:
    made = server().database()
    yield made
    server().release(made)


def test_a_server_whose_requests_all_wait_for_a_database_that_is_gone_answers_probes_and_checks_tokens(
    url: str,
) -> None:
    secret = token(url, "acme/*", "write")
    proxy = Proxy(url)
    try:
        with serving(proxy.url, "--rate", "0") as there, ThreadPoolExecutor(REQUESTS) as threads:
            with psycopg.connect(url) as holder, psycopg.connect(url, autocommit=True) as looking:
                holder.execute("LOCK TABLE wellkept.journal IN EXCLUSIVE MODE")
                answers = [threads.submit(keep, there, secret, number) for number in range(REQUESTS)]
                wait_for(lambda: looking.execute(NOT_GRANTED).fetchone() == (8,))  # all that may write at once
                assert [probe(there, path) for path in ("/healthz", "/readyz")] == [200, 200]
                assert probe(there, "/v1/stats", "nobody's") == 401
                assert not any(answer.done() for answer in answers)  # a probe that waited would come after them
                proxy.refusing = True
                proxy.cut()
                for _ in range(5):
                    assert [probe(there, path) for path in ("/healthz", "/readyz")] == [200, 503]
                    assert probe(there, "/v1/stats", "nobody's") == 503
                assert not any(answer.done() for answer in answers)
            proxy.refusing = False
            wait_for(lambda: probe(there, "/readyz") == 200)
            assert {answer.result(SECONDS) for answer in answers} == {201}  # whoever waited has lost nothing
    finally:
        proxy.stop()


def keep(there: Server, secret: str, number: int) -> int:
    with there.client(secret, f"acme/{number}") as http:
        return http.post("/v1/memories", json={"content": f"Statement number {number}.", "kind": "note"}).status_code


def probe(there: Server, path: str, secret: str = "") -> int:
    """The answer to a probe."""
    with there.client(secret) as http:
        return http.get(path).status_code


def wait_for(there: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not there():
        assert time.monotonic() < until
        threading.Event().wait(0.02)
