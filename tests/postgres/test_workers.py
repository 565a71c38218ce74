"""Connections to the workers of a cluster, where the address names them.

There is no Citus here: each "worker" is another way to the same server, and `cluster.sql` has the catalogue. So these
tests show which connection takes what, and that a worker is sent only what it knows on a cluster; what a real worker
answers is asked by `test_cluster`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import wellkept
from postgres.proxy import At, Proxy
from postgres.sent import Sent, listening
from postgres.server import Server
from postgres.test_retries import ALL_CUTS, once, rows_of
from postgres.test_spreading import CLUSTER
from wellkept.errors import Busy, StorageError, StorePathError
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.server.distribution import BY_NAMESPACE, EVERYWHERE, distribute
from wellkept.storage.postgres.server.workers import Workers, apart
from wellkept.storage.postgres.session import Session
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import Filter

NAMES = tuple(f"team/{number}" for number in range(4))
_TABLE = re.compile(r"\bwellkept\.(\w+)")


@dataclass
class Cluster:
    """A database, and further ways to it that pass for its coordinator and its workers."""

    url: str
    coordinator: Proxy
    workers: tuple[Proxy, ...]
    open: list[Any] = field(default_factory=list)

    @property
    def address(self) -> str:
        return self.of(self.coordinator, *self.workers)

    def of(self, *servers: Proxy) -> str:
        parts = urlsplit(self.url)
        hosts = ",".join(f"127.0.0.1:{port_of(one)}" for one in servers)
        return f"{parts.scheme}://{parts.username}@{hosts}{parts.path}"

    def worker(self, namespace: str) -> Proxy:
        return self.workers[number_of(namespace) % len(self.workers)]

    def storage(self, address: str = "", **how: Any) -> PostgresStorage:
        made = PostgresStorage(address or self.address, busy_seconds=5, **how)
        self.open.append(made)
        return made

    def store(self, address: str = "") -> wellkept.MemoryStore:
        return wellkept.open(self.storage(address), embedder=FakeEmbedder(dim=64), relation_model="none")

    def ask(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.encode())


def port_of(proxy: Proxy) -> int:
    return urlsplit(proxy.url).port or 0


@pytest.fixture
def cluster(running: Server) -> Iterator[Cluster]:
    url = running.bare()
    made = Cluster(url, Proxy(url), (Proxy(url), Proxy(url)))
    made.ask(CLUSTER)
    distribute(url)
    rows = ", ".join(
        f"({at + 10}, {at + 10}, '127.0.0.1', {port_of(one)}, 'primary', true, true)"
        for at, one in enumerate(made.workers)
    )
    made.ask(f"INSERT INTO pg_dist_node VALUES {rows}")
    yield made
    for one in made.open:
        one.close()
    for proxy in (made.coordinator, *made.workers):
        proxy.stop()
    running.drop(url)


def used(store: wellkept.MemoryStore) -> Sent:
    """What is sent while namespaces are written, read, changed and counted."""
    with listening() as sent:
        for name in NAMES:
            here = store.in_namespace(name)
            one = here.remember("The left gauge is read at noon.", subject="gauge", tags=["bay"]).memory
            assert one is not None
            assert here.remember("The left gauge is read at noon.").outcome == "duplicate"
            here.revise(one.id, content="The left gauge is read at one.")
            assert here.recall("gauge")[0].memory.subject == "gauge"
            here.list(Filter(subject="gauge"))
            here.undo(here.journal()[-1].seq)
            here.stats()
            here.sweep()
    return sent


def test_what_concerns_a_namespace_goes_to_a_worker_always_the_same_one_and_nothing_else_does(cluster: Cluster) -> None:
    store = cluster.store()
    sent = used(store)
    took = [sent.by_port.get(port_of(one), set()) for one in (cluster.coordinator, *cluster.workers)]
    assert [any("INSERT INTO wellkept.journal " in text for text in texts) for texts in took] == [False, True, True]
    for at, worker in enumerate(cluster.workers):
        with listening() as again:
            mine = [name for name in NAMES if cluster.worker(name) is worker]
            for name in mine:
                store.in_namespace(name).remember(f"Gauge {at} is painted.")
        assert mine and set(again.by_port) == {port_of(worker)}
    assert len(store.namespaces()) == len(NAMES)
    assert store.verify() == ()


def test_a_worker_is_sent_only_what_it_knows(cluster: Cluster) -> None:
    """On a cluster it has the divided and the copied tables, and no function of the store."""
    sent = used(cluster.store())
    texts = [text for one in cluster.workers for text in sent.by_port[port_of(one)]]
    named = {name for text in texts for name in _TABLE.findall(text)}
    assert named <= {*BY_NAMESPACE, *EVERYWHERE}
    assert len(named) > 5
    assert [text for text in texts if re.search(r"\bwellkept\.\w+\(", text)] == []


UNUSED: dict[str, Callable[[Cluster], str]] = {
    "the address does not name them": lambda cluster: cluster.of(cluster.coordinator),
    "their metadata is not there": lambda cluster: cluster.ask("UPDATE pg_dist_node SET hasmetadata = false") or "",
    "their metadata is old": lambda cluster: cluster.ask("UPDATE pg_dist_node SET metadatasynced = false") or "",
    "the store is not divided": lambda cluster: cluster.ask("DELETE FROM pg_dist_partition") or "",
}


@pytest.mark.parametrize("change", UNUSED.values(), ids=UNUSED)
def test_workers_are_left_alone_unless_they_can_plan_and_are_named(
    cluster: Cluster, change: Callable[[Cluster], str]
) -> None:
    sent = used(cluster.store(change(cluster)))
    assert not {port_of(one) for one in cluster.workers} & set(sent.by_port)


class Known:
    """A session on a cluster of two workers, one of which is switched off."""

    where = "here"

    def rows(self, name: str) -> list[tuple[str, str, bool]]:
        return [("one", "5432", True), ("two", "5432", False)]


@pytest.mark.parametrize(
    ("hosts", "port"),
    [("main,one,two", "5432"), ("main:5432,one:5432,two:5432", "5432"), ("main:6000,one,two", "6000")],
)
def test_a_port_that_is_not_given_is_the_usual_one(hosts: str, port: str) -> None:
    coordinator, workers = apart(f"postgresql://wellkept@{hosts}/memory", cast(Session, Known()))
    named = [conninfo_to_dict(one) for one in (coordinator, *workers)]
    assert [(one["host"], one["port"]) for one in named] == [("main", port), ("one", "5432")]


def test_a_token_is_looked_up_on_the_coordinator(cluster: Cluster) -> None:
    storage = cluster.storage(token="a secret")
    with listening() as sent, pytest.raises(StorageError), storage.begin(NAMES[0], write=False):
        pass
    assert set(sent.by_port) == {port_of(cluster.coordinator)}


def test_workers_alone_are_no_store(cluster: Cluster) -> None:
    with pytest.raises(StorePathError, match="names workers of a cluster only.*Name the coordinator first"):
        cluster.storage(cluster.of(*cluster.workers))


def test_a_worker_that_goes_away_is_replaced_by_the_coordinator_for_a_while(cluster: Cluster) -> None:
    store = cluster.store()
    worker = cluster.worker(NAMES[0])
    here = store.in_namespace(NAMES[0])
    here.remember("The left gauge is read at noon.")
    worker.refusing = True
    worker.cut()
    with listening() as sent:
        assert here.remember("The right gauge is read at noon.").outcome == "created"
        assert len(here.list()) == 2
    assert port_of(cluster.coordinator) in sent.by_port
    worker.refusing = False
    with listening() as sent:
        here.remember("The middle gauge is read at noon.")
    assert port_of(worker) not in sent.by_port, "it is tried again later"
    storage = cluster.open[0]
    storage._workers._now = lambda: 1e12
    with listening() as sent:
        here.remember("The last gauge is read at noon.")
    assert set(sent.by_port) == {port_of(worker)}
    assert len(rows_of_namespace(cluster, NAMES[0])) == 4


def rows_of_namespace(cluster: Cluster, name: str) -> list[str]:
    with wellkept.open(cluster.url, embedder=FakeEmbedder(dim=64), namespace=name) as plain:
        return sorted(row.content for row in plain.list())


@pytest.mark.parametrize("at", ALL_CUTS)
def test_a_commit_whose_answer_a_worker_loses_is_told_as_it_was_done(cluster: Cluster, at: At) -> None:
    store = cluster.store()
    once(cluster.worker("default"), at)
    assert store.remember("The left gauge is read at noon.").outcome == "created"
    assert cluster.worker("default").cuts == 1
    assert store.remember("The left gauge is read at noon.").outcome == "duplicate"
    assert rows_of(cluster.url) == ["The left gauge is read at noon."]


def test_one_writer_of_a_namespace_waits_for_another_whichever_way_it_came(cluster: Cluster) -> None:
    by_worker, by_coordinator = cluster.storage(), cluster.storage(cluster.of(cluster.coordinator))
    with by_coordinator.begin(NAMES[0], write=True):
        short = cluster.storage()
        short._bounds = by_worker._bounds.__class__(lock=200, elsewhere=True)
        with pytest.raises(Busy, match="blocked by another writer"), short.begin(NAMES[0], write=True):
            pass
    with by_worker.begin(NAMES[0], write=True):
        pass


def test_a_change_of_the_embedder_waits_for_a_writer_on_a_worker(cluster: Cluster) -> None:
    """The advisory lock of a writer is on the worker, so the table is locked too."""
    cluster.store()
    order: list[str] = []
    storage, other = cluster.storage(), cluster.storage(cluster.of(cluster.coordinator))

    def change() -> None:
        other.configure(embedder="other/3", dim=3, policy="")
        order.append("changed")

    with psycopg.connect(cluster.url) as writer:  # without the advisory lock, as the coordinator sees one on a worker
        writer.execute("INSERT INTO wellkept.namespace (ns, name, seq) VALUES (1, 'a', 1)")
        changing = threading.Thread(target=change)
        changing.start()
        changing.join(0.5)
        order.append("written")
        writer.commit()
    changing.join(10)
    assert order == ["written", "changed"]
    assert storage.header().embedder == "other/3"


def test_no_worker_takes_nothing() -> None:
    assert Workers(()).take("acme/ana") is None
