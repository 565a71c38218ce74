"""Several `wellkept serve` on one database, as behind one address (issue 7 §6, I3, I5)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx2
import pytest

import wellkept
from postgres.cluster import NEEDS_CLUSTER, cluster_store
from postgres.server import server
from wellkept.types import ALL_STATUSES, Filter

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")

ROOT = Path(__file__).parents[2]
SECONDS = 60
FACTS, CLIENTS = 24, 4


@pytest.fixture(scope="module", params=["one server", pytest.param("a cluster", marks=NEEDS_CLUSTER)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "a cluster":
        with cluster_store() as made:
            yield made
        return
    running = server()
    made = running.database()
    yield made
    running.release(made)


@contextlib.contextmanager
def serving(url: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process of a store, and its address."""
    command = [sys.executable, "-m", "wellkept.cli", "--db", url, "--embedder", "hashing", "serve"]
    paths = str(ROOT / "src")
    settings = {"PYTHONPATH": paths, "WELLKEPT_RELATION_MODEL": "none", "OPENBLAS_NUM_THREADS": "1"}
    around = {name: value for name, value in os.environ.items() if not name.startswith("WELLKEPT_")}  # of the test run
    with (folder / f"{os.urandom(4).hex()}.log").open("w+") as said:
        process = subprocess.Popen(
            [*command, "--port", "0", "--rate", "0", "--drain", "0", "--json"],
            stdout=subprocess.PIPE, stderr=said, text=True, cwd=folder, env={**around, **settings},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            said.seek(0)
            assert line, said.read()
            yield process, json.loads(line)["address"]
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


def client(address: str, namespace: str = "default") -> httpx2.Client:
    headers = {"Wellkept-Namespace": namespace}
    return httpx2.Client(base_url=address, timeout=SECONDS, headers=headers)


def recalled(http: httpx2.Client, query: str) -> list[Any]:
    answer = http.post("/v1/recall", json={"query": query})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["hits"])


def fact(number: int) -> str:
    return f"The {'aeiou'[number % 5]}{'bdfgk'[number // 5 % 5]}na gauge hangs over the boiler."


@pytest.fixture(scope="module")
def two(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    folder = tmp_path_factory.mktemp("servers")
    with serving(url, folder) as (_, first), serving(url, folder) as (_, second):
        yield first, second


def rows(url: str, namespace: str) -> list[str]:
    with wellkept.open(url, embedder="hashing", relation_model="none", namespace=namespace) as store:
        assert store.verify() == ()
        return [row.content for row in store.list(Filter(statuses=ALL_STATUSES))]


def test_what_is_written_to_one_is_read_from_the_other_at_once(two: tuple[str, str]) -> None:
    """By id, by its words, by its vector, and with its end when it is hidden again."""
    with client(two[0], "one") as here, client(two[1], "one") as there:
        for number, (writer, reader) in enumerate([(here, there), (there, here), (here, there)]):
            made = writer.post("/v1/memories", json={"content": fact(number)}).json()["memory"]
            assert reader.get(f"/v1/memories/{made['id']}").json()["content"] == fact(number)
            hits = recalled(reader, fact(number))
            assert hits[0]["memory"]["id"] == made["id"]
            again = reader.post("/v1/memories", json={"content": fact(number)}).json()
            assert (again["outcome"], again["memory"]["id"]) == ("duplicate", made["id"])
            assert writer.post(f"/v1/memories/{made['id']}/forget").status_code == 200
            hits = recalled(reader, fact(number))
            assert made["id"] not in [hit["memory"]["id"] for hit in hits]


def test_the_same_facts_sent_to_both_at_the_same_time_leave_one_row_each(two: tuple[str, str], url: str) -> None:
    """I3: clients alternate between both, so that each fact arrives on both at nearly the same time."""
    start = threading.Barrier(CLIENTS)

    def write(number: int) -> list[str]:
        told = []
        with client(two[0], "same") as here, client(two[1], "same") as there:
            turns = cycle((here, there) if number % 2 else (there, here))
            start.wait(SECONDS)
            for at in range(FACTS):
                answer = next(turns).post("/v1/memories", json={"content": fact(at), "kind": "lesson"})
                assert answer.status_code in (200, 201), answer.text
                told.append(answer.json()["outcome"])
        return told

    with ThreadPoolExecutor(CLIENTS) as pool:
        told = [one for done in pool.map(write, range(CLIENTS)) for one in done]
    assert Counter(told) == {"created": FACTS, "duplicate": (CLIENTS - 1) * FACTS}
    assert sorted(rows(url, "same")) == sorted(fact(at) for at in range(FACTS))


def test_a_key_of_one_is_known_to_the_other(two: tuple[str, str], url: str) -> None:
    """I5: a client without an answer repeats its request at any server, or at both concurrently."""
    body = {"content": "Backups run at two.", "kind": "episodic"}

    def post(at: int) -> dict[str, Any]:
        with client(two[at % 2], "keys") as http:
            answer = http.post("/v1/memories", json=body, headers={"Idempotency-Key": "order-7"})
            assert answer.status_code in (200, 201), answer.text
            told: dict[str, Any] = answer.json()
            return told

    with ThreadPoolExecutor(CLIENTS) as pool:
        told = list(pool.map(post, range(2 * CLIENTS)))
    assert len({one["memory"]["id"] for one in told}) == 1
    assert Counter(one["outcome"] for one in told) == {"created": 1, "duplicate": 2 * CLIENTS - 1}
    assert rows(url, "keys") == [body["content"]]
    for address in two:
        with client(address, "keys") as http:
            other = http.post("/v1/memories", json={"content": "Else."}, headers={"Idempotency-Key": "order-7"})
            assert other.status_code in (409, 422), other.text
    assert rows(url, "keys") == [body["content"]]


def test_one_that_is_killed_does_not_disturb_the_other(url: str, tmp_path: Path) -> None:
    """kill -9 under writes: acknowledged writes are stored, and the other server takes the remaining requests."""
    with serving(url, tmp_path) as (doomed, first), serving(url, tmp_path) as (_, second):
        acknowledged: list[str] = []
        halfway, dead = threading.Event(), threading.Event()

        def write() -> None:
            with client(first, "killed") as here, client(second, "killed") as there:
                for at in range(FACTS):
                    headers = {"Idempotency-Key": f"fact-{at}"}
                    body = {"content": fact(at), "kind": "lesson"}
                    try:
                        answer = here.post("/v1/memories", json=body, headers=headers)
                    except httpx2.TransportError:  # as a proxy does: the same request, to the next one
                        assert dead.is_set()
                        answer = there.post("/v1/memories", json=body, headers=headers)
                    assert answer.status_code in (200, 201), answer.text
                    acknowledged.append(answer.json()["memory"]["id"])
                    if at == FACTS // 2:
                        halfway.set()

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            assert halfway.wait(SECONDS)
            dead.set()
            doomed.send_signal(signal.SIGKILL)
            with client(second, "killed") as there:
                assert there.get("/readyz").status_code == 200
                assert there.post("/v1/memories", json={"content": "It writes on."}).status_code == 201
            writing.result(SECONDS)
        doomed.wait(SECONDS)
        with client(second, "killed") as there:
            assert len(set(acknowledged)) == FACTS
            for memory_id in acknowledged:
                assert there.get(f"/v1/memories/{memory_id}").status_code == 200
    assert sorted(rows(url, "killed")) == sorted([*(fact(at) for at in range(FACTS)), "It writes on."])


def test_requests_are_counted_by_each_process_and_memories_by_the_store(two: tuple[str, str]) -> None:
    """As in docs/serving.md: request figures are sums over all processes, figures of the store come from any one."""
    with client(two[0]) as here, client(two[1]) as there:
        before = [figures(http) for http in (here, there)]
        assert here.post("/v1/memories", json={"content": fact(1)}).status_code == 201
        after = [figures(http) for http in (here, there)]
    asked = 'wellkept_requests_total{operation="remember",status="201"}'
    assert [now.get(asked, 0) - then.get(asked, 0) for then, now in zip(before, after, strict=True)] == [1, 0]
    held = 'wellkept_memories{status="active"}'
    assert after[0][held] == after[1][held] == before[0].get(held, 0) + 1


def figures(http: httpx2.Client) -> dict[str, float]:
    lines = [line for line in http.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}
