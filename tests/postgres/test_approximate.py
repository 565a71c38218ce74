"""A namespace can be searched by its own index; nothing else changes, and its recall is measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import numpy as np
import psycopg
import pytest
from typer.testing import CliRunner

from postgres.server import server
from wellkept.cli.app import app
from wellkept.core.records.vectors import quantise, restore
from wellkept.errors import StorageError
from wellkept.storage.port import Approximating
from wellkept.storage.postgres import PostgresStorage, approximate
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.session import Session
from wellkept.storage.postgres.sql import queries
from wellkept.testing.checks.world import DIM, EMBEDDER, NS, World, changed, entry, memory
from wellkept.types import MemoryChange

COUNT = 800


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    running = server()
    made = running.database()
    yield made
    running.release(made)


@pytest.fixture(scope="module")
def world(url: str) -> Iterator[World]:
    """Two namespaces with the same vectors, of which one gets an index."""
    store = PostgresStorage(url)
    store.configure(embedder=EMBEDDER, dim=DIM, policy="p1")
    for namespace in (NS, "beside"):
        with store.begin(namespace, write=True) as tx:
            for number, row in enumerate(MATRIX):
                kind = "lesson" if number % 50 == 0 else "fact"
                one = memory(f"m{number:04}", namespace=namespace, kind=kind, embedding=f"e{number}", chunks=1)
                tx.apply(entry(MemoryChange(None, one)), vectors={one.embedding: row})
    yield World(store)
    store.close()


def _vectors() -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    topics = rng.normal(size=(40, DIM))
    rows = topics[rng.integers(0, 40, COUNT)] + 0.7 * rng.normal(size=(COUNT, DIM))
    return [restore(quantise((row / np.linalg.norm(row)).astype(np.float32))) for row in rows]


MATRIX = _vectors()


def found(world: World, namespace: str, query: int, *, limit: int = 10, **where: tuple[str, ...]) -> list[str]:
    with world.store.begin(namespace, write=False) as tx:
        asked = {"statuses": ("active",), **where}
        return list(tx.nearest(MATRIX[query][None, :], limit=limit, **asked)[0].ids)  # type: ignore[arg-type]


def plan_of_search(url: str, namespace: str) -> str:
    """The server's query plan of a search."""
    with psycopg.connect(url, autocommit=True) as connection:
        ns = number_of(namespace)
        # So few rows are read from end to end otherwise, whatever index there is.
        connection.execute(
            "SELECT set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false)"
        )
        asked = "[" + ",".join(str(value) for value in MATRIX[0]) + "]"
        rows = connection.execute(
            f"EXPLAIN SELECT hash FROM wellkept.vector WHERE ns = {ns} AND model = 2 "
            f"ORDER BY (vec::halfvec({DIM})) <=> '{asked}' LIMIT 64"
        ).fetchall()
    return "\n".join(row[0] for row in rows)


def test_a_namespace_with_an_index_is_searched_by_it_and_no_other_is(url: str, world: World) -> None:
    assert isinstance(world.store, Approximating)
    exact = [found(world, NS, number) for number in range(0, COUNT, 25)]

    told = world.store.approximate(NS)

    assert told.vectors == COUNT and told.samples == 100 and told.size > 0
    assert 0.9 <= told.recall <= 1.0
    assert "approximate_" in plan_of_search(url, NS)
    assert "approximate_" not in plan_of_search(url, "beside")
    by_index = [found(world, NS, number) for number in range(0, COUNT, 25)]
    shared = sum(len(set(one) & set(other)) for one, other in zip(exact, by_index, strict=True))
    assert shared / (10 * len(exact)) >= 0.9
    assert [ids[0] for ids in by_index] == [ids[0] for ids in exact], "a row did not find itself"
    assert exact == [found(world, "beside", number) for number in range(0, COUNT, 25)]
    world.store.exact(NS)
    assert exact == [found(world, NS, number) for number in range(0, COUNT, 25)]
    assert "approximate_" not in plan_of_search(url, NS)


def test_the_order_is_that_of_the_exact_cosine(world: World) -> None:
    world.store.approximate(NS)  # type: ignore[attr-defined]
    with world.store.begin(NS, write=False) as tx:
        near = tx.nearest(MATRIX[3][None, :], limit=20, statuses=("active",))[0]
    cosines = np.round(near.vectors @ MATRIX[3], 6)
    assert list(cosines) == sorted(cosines, reverse=True)


def test_a_rare_kind_is_found_although_most_of_what_is_near_is_of_another(world: World) -> None:
    world.store.approximate(NS)  # type: ignore[attr-defined]
    lessons = found(world, NS, 1, limit=10, kinds=("lesson",))
    assert len(lessons) == 10
    assert all(int(name[1:]) % 50 == 0 for name in lessons)
    assert len(set(lessons) & set(found(world, "beside", 1, limit=10, kinds=("lesson",)))) >= 9


def deaf(patch: pytest.MonkeyPatch) -> None:
    """Settings do not arrive where the rows are, as in a cluster that is told them on its coordinator only."""
    said = {**queries(), "approximate.settings": "SELECT 1 WHERE %(ns)s > 0 AND %(width)s <> ''"}
    patch.setattr(Session, "row", lambda self, name, given=None: (self.select(said[name], given) or [None])[0])


@pytest.mark.parametrize("where", [{"kinds": ("lesson",)}, {"kinds": ("lesson",), "statuses": ("active", "archived")}])
def test_a_rare_kind_is_found_exactly_whatever_the_index_proposes(
    world: World, monkeypatch: pytest.MonkeyPatch, where: dict[str, tuple[str, ...]]
) -> None:
    world.store.approximate(NS)  # type: ignore[attr-defined]
    deaf(monkeypatch)
    for query in (1, 77, 391):
        assert found(world, NS, query, **where) == found(world, "beside", query, **where)
    assert len(found(world, NS, 1, limit=40, **where)) == COUNT // 50


def test_where_many_rows_fit_the_filter_the_index_is_asked_for_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.store.approximate(NS)  # type: ignore[attr-defined]
    monkeypatch.setattr(approximate, "FEW", 3)
    lessons = found(world, NS, 1, kinds=("lesson",))
    assert len(set(lessons) & set(found(world, "beside", 1, kinds=("lesson",)))) >= 9


def test_the_recall_that_is_printed_is_measured_against_every_row(
    url: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that passes most rows by is told as one that finds little, whatever the server likes to plan."""
    database = urlsplit(url).path[1:]
    half = queries()["approximate.search"].replace("ORDER BY", "AND v.hash LIKE 'e1%%' ORDER BY")
    monkeypatch.setattr(approximate, "queries", lambda: {**queries(), "approximate.search": half})
    with psycopg.connect(url, autocommit=True) as connection:
        for way in ("seqscan", "sort", "bitmapscan"):
            connection.execute(f'ALTER DATABASE "{database}" SET enable_{way} = off'.encode())
        try:
            told = world.store.approximate(NS)  # type: ignore[attr-defined]
        finally:
            connection.execute(f'ALTER DATABASE "{database}" RESET ALL'.encode())
    kept = sum(f"e{number}".startswith("e1") for number in range(COUNT)) / COUNT
    assert kept / 2 < told.recall < 2 * kept


def test_a_writer_finds_what_it_wrote_and_nobody_else_does_before_it_commits(url: str, world: World) -> None:
    store = world.store
    store.approximate(NS)  # type: ignore[attr-defined]
    away = restore(quantise(-MATRIX[0]))
    with pytest.raises(KeyError), store.begin(NS, write=True) as tx:
        new = memory("new", embedding="enew", chunks=1)
        tx.apply(entry(MemoryChange(None, new)), vectors={new.embedding: away})
        assert tx.nearest(away[None, :], limit=1, statuses=("active",))[0].ids == ("new",)
        with store.begin(NS, write=False) as other:
            assert "new" not in other.nearest(away[None, :], limit=3, statuses=("active",))[0].ids
        raise KeyError("on purpose")
    with store.begin(NS, write=True) as tx:
        row = memory("kept", embedding="ekept", chunks=1)
        tx.apply(entry(MemoryChange(None, row)), vectors={row.embedding: away})
    with store.begin(NS, write=True) as tx:
        assert tx.nearest(away[None, :], limit=1, statuses=("active",))[0].ids == ("kept",)
        tx.apply(entry(changed(row, status="archived")))
        assert "kept" not in tx.nearest(away[None, :], limit=3, statuses=("active",))[0].ids


def test_another_embedder_is_searched_exactly_until_an_index_of_its_vectors_is_built(url: str) -> None:
    store = PostgresStorage(url)
    store.approximate("beside")
    store.configure(embedder="other@1", dim=DIM, policy="p")
    with store.begin("beside", write=True) as tx:
        row = memory("after", namespace="beside", embedding="eafter", chunks=1)
        tx.apply(entry(MemoryChange(None, row)), vectors={row.embedding: MATRIX[5]})
        assert tx.nearest(MATRIX[5][None, :], limit=3, statuses=("active",))[0].ids == ("after",)
    assert store.approximate("beside").vectors == 1
    store.configure(embedder=EMBEDDER, dim=DIM, policy="p1")
    store.close()


def test_a_store_without_vectors_gets_no_index() -> None:
    running = server()
    url = running.database()
    store = PostgresStorage(url)
    with pytest.raises(StorageError, match="holds no vectors yet"):
        store.approximate(NS)
    store.exact(NS)
    store.close()
    running.release(url)


def test_the_command_builds_one_where_there_is_enough_and_says_what_it_finds(url: str, world: World) -> None:
    def run(*arguments: str) -> list[dict[str, object]]:
        told = CliRunner().invoke(app, ["--db", url, "--namespace", NS, "db", "index", *arguments, "--json"])
        assert told.exit_code == 0, told.stderr
        rows: list[dict[str, object]] = json.loads(told.stdout)
        return rows

    world.store.exact(NS)  # type: ignore[attr-defined]
    (left,) = run()
    assert (left["search"], left["above"]) == ("unchanged", 200_000)
    assert "approximate_" not in plan_of_search(url, NS)
    (built,) = run("--above", "700")
    assert built["search"] == "index" and 0.9 <= float(str(built["recall"])) <= 1
    assert "approximate_" in plan_of_search(url, NS)
    assert {one["namespace"]: one["search"] for one in run("--all", "--exact")} == {NS: "exact", "beside": "exact"}
    assert "approximate_" not in plan_of_search(url, NS)
