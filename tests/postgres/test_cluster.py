"""On a real Citus cluster: what the other tests can only show on one server.

`WELLKEPT_TEST_CITUS` is the address of a database on the coordinator that is prepared as docs/scale-out.md says, with
its workers added, and that holds nothing else: the tests drop and make its schema `wellkept`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

import wellkept
from postgres.cluster import NEEDS_CLUSTER, ask, cluster_store
from postgres.proxy import At, Proxy
from postgres.sent import listening
from postgres.server import emptying
from postgres.test_retries import ALL_CUTS, once, rows_of
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.server.distribution import distribute
from wellkept.testing.conformance import CHECKS, run_one
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Filter

pytestmark = NEEDS_CLUSTER
WRITERS, FACTS = 4, 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The database with a store that is distributed."""
    with cluster_store() as made:
        yield made


@pytest.fixture
def url(cluster: str) -> Iterator[str]:
    """The same without rows."""
    yield cluster
    ask(f"BEGIN; {emptying()} DELETE FROM wellkept.token; COMMIT")


def by_workers(url: str) -> tuple[str, set[int]]:
    """The address with the workers after the coordinator, as the cluster names them; and the ports of the workers."""
    workers = ask(
        "SELECT nodename || ':' || nodeport, nodeport FROM pg_dist_node "
        "WHERE groupid <> 0 AND noderole = 'primary' AND isactive"
    )
    parts = urlsplit(url)
    servers = ",".join((parts.netloc, *(server for server, _ in workers)))
    return urlunsplit(parts._replace(netloc=servers)), {port for _, port in workers}


def opened(url: str, **how: Any) -> wellkept.MemoryStore:
    return wellkept.open(url, embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel(), **how)


def test_a_second_run_finds_everything_in_its_place(url: str) -> None:
    assert distribute(url).statements == ()


@pytest.mark.parametrize("check", CHECKS, ids=[check.name for check in CHECKS])
def test_the_backend_conforms(check: Any, url: str) -> None:
    def reopened(store: Any) -> PostgresStorage:
        store.close()
        return PostgresStorage(url)

    run_one(check, lambda: PostgresStorage(url), reopened)


def test_a_write_is_a_transaction_on_one_server(url: str) -> None:
    """One that takes part on several is prepared on each of them first, and its end waits for the slowest."""
    with opened(url) as store:
        before = ask("SELECT count(*) FROM pg_dist_transaction")
        for number in range(5):
            assert store.in_namespace(f"acme/{number}").remember(f"Gauge {number} is read at noon.").entry == 1
    assert ask("SELECT count(*) FROM pg_dist_transaction") == before


def test_workers_write_and_read_what_the_coordinator_does(url: str) -> None:
    """The workers must be reachable from here under the names by which the cluster knows them."""
    address, ports = by_workers(url)
    names = [f"acme/{number}" for number in range(2 * len(ports))]
    with listening() as sent, opened(address) as by_worker:
        for name in names:
            here = by_worker.in_namespace(name)
            assert here.remember(f"{name} waters the ferns.").outcome == "created"
            assert here.remember(f"{name} waters the ferns.").outcome == "duplicate"
    writing = {port for port, texts in sent.by_port.items() if any("INTO wellkept.journal " in text for text in texts)}
    assert writing and writing <= ports
    with opened(url) as plain, opened(address) as by_worker:
        for name in names:
            assert plain.in_namespace(name).list() == by_worker.in_namespace(name).list() != ()
        assert plain.verify() == ()


@pytest.mark.parametrize("at", ALL_CUTS[:3])
def test_a_commit_whose_answer_is_lost_is_told_as_it_was_done(url: str, at: At) -> None:
    proxy = Proxy(url)
    storage = PostgresStorage(proxy.url, busy_seconds=8)
    try:
        with wellkept.open(storage, embedder=FakeEmbedder(dim=64)) as store:
            once(proxy, at)
            assert store.remember("The left gauge is read at noon.").outcome == "created"
            assert store.remember("The left gauge is read at noon.").outcome == "duplicate"
        assert rows_of(url) == ["The left gauge is read at noon."]
    finally:
        storage.close()
        proxy.stop()


def test_one_fact_of_several_writers_is_one_row(url: str) -> None:
    def write(number: int) -> list[str]:
        with opened(url) as store:
            return [store.remember(f"Gauge {at} is read at noon.").outcome for at in range(FACTS)]

    with ThreadPoolExecutor(WRITERS) as pool:
        told = Counter(one for outcomes in pool.map(write, range(WRITERS)) for one in outcomes)
    assert told == {"created": FACTS, "duplicate": (WRITERS - 1) * FACTS}


def test_a_token_opens_its_namespaces_and_lists_them(url: str) -> None:
    with opened(url) as store:
        for name in ("acme/ana", "other/ben"):
            store.in_namespace(name).remember(f"{name} waters the ferns.")
    ask(
        "INSERT INTO wellkept.token (hash, name, patterns, scopes, created_at) VALUES "
        "(encode(sha256('key'), 'hex'), 'ana', '{acme/*}', '{read,write}', now())"
    )
    with psycopg.connect(url) as connection:
        connection.execute("SELECT wellkept.enter('acme/ana', 'key')")
        assert connection.execute("SELECT name FROM wellkept.names()").fetchall() == [("acme/ana",)]
        assert connection.execute("SELECT wellkept.opened(2) IS NOT NULL").fetchone() == (True,)


def test_an_index_finds_a_rare_kind_and_its_recall_is_measured_against_every_row(url: str) -> None:
    rare = [{"content": f"Thesis {number} about valves.", "kind": "thesis"} for number in range(10)]
    usual = [{"content": f"Note {number} about pumps.", "kind": "note"} for number in range(400)]
    with opened(url) as store:
        store.remember_many([*usual, *rare], on_conflict="ignore")
        storage = PostgresStorage(url)
        assert storage.approximate("default").recall >= 0.9
        storage.close()
        assert len(store.recall("valves", limit=10, where=Filter(kinds=("thesis",)), mode="semantic")) == 10
