"""Many writers of one database: no second row, none lost, where searching before writing alone is not enough (I3)."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import psycopg
import pytest

import wellkept
from postgres import facts
from wellkept.storage.postgres import PostgresStorage
from wellkept.testing.checks.world import NS, World, changed, entry, memory, vector
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import ALL_STATUSES, Filter, MemoryChange, WriteResult

FACTS, WORDINGS, WRITERS = 100, 2, 8
SPACES = tuple(f"acme/team-{number}" for number in range(4))
COSINE, DIM = 0.98, 64


def wordings(number: int) -> tuple[str, str]:
    """Two sentences that say one thing."""
    name = f"{_letters(number)} gauge"
    return f"Close the {name} when it turns hot.", f"When the {name} turns hot, close it."


def _letters(number: int) -> str:
    # No digits: two numbers would be told apart by their values, not by their vectors.
    return "".join("aeiou"[number // 5**place % 5] + "bdfgklmnprst"[number % 12] for place in range(3))


@pytest.fixture(scope="module")
def fakes() -> dict[str, FakeEmbedder]:
    """For each namespace one that knows which sentences say one thing; any others lie far from each other."""
    made = {}
    for at, namespace in enumerate(SPACES):
        numbers = range(at, FACTS, len(SPACES))
        made[namespace] = FakeEmbedder({wordings(number): COSINE for number in numbers}, dim=DIM)
        made[namespace].embed([text for number in numbers for text in wordings(number)])  # each has its place now
    return made


def spread(act: Callable[[int, str, str], object]) -> None:
    """Every writer says every fact in one of its wordings, all of them in the same order: they meet at every one."""
    start = threading.Barrier(WRITERS)

    def work(writer: int) -> None:
        start.wait(30)
        for number in range(FACTS):
            act(writer, SPACES[number % len(SPACES)], wordings(number)[writer % WORDINGS])

    with ThreadPoolExecutor(WRITERS) as pool:
        for done in [pool.submit(work, writer) for writer in range(WRITERS)]:
            done.result(240)


def test_searching_before_writing_does_not_keep_second_rows_out(url: str, fakes: dict[str, FakeEmbedder]) -> None:
    """The naive way, for comparison with the next test: search, then insert, in one transaction with default isolation.

    All searches happen before the first insert, as can occur by chance with concurrent writers.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE naive (ns text, content text, vec halfvec(64))")

    held = threading.local()
    searched = threading.Barrier(WRITERS)

    def store(_: int, namespace: str, text: str) -> None:
        if not hasattr(held, "connection"):
            held.connection = psycopg.connect(url, autocommit=True)
            connections.append(held.connection)
        (made,) = fakes[namespace].embed([text])
        assert made.vector is not None
        vector = "[" + ",".join(str(value) for value in np.asarray(made.vector)) + "]"
        with held.connection.transaction():
            row = held.connection.execute(
                "SELECT vec <=> %s::halfvec FROM naive WHERE ns = %s ORDER BY 1 LIMIT 1", (vector, namespace)
            ).fetchone()
            searched.wait(240)
            if row is None or row[0] > 1 - COSINE + 0.01:
                held.connection.execute("INSERT INTO naive VALUES (%s, %s, %s::halfvec)", (namespace, text, vector))

    connections: list[psycopg.Connection[tuple[object, ...]]] = []
    try:
        spread(store)
        (count,) = connections[0].execute("SELECT count(*) FROM naive").fetchone() or (0,)
        connections[0].execute("DROP TABLE naive")
    finally:
        for connection in connections:
            connection.close()
    assert count == WRITERS * FACTS, "the naive way happened to be right; the next test shows nothing"


def test_eight_writers_leave_one_row_for_each_fact(url: str, fakes: dict[str, FakeEmbedder]) -> None:
    """I3: 100 facts, each said eight times in two wordings, in four namespaces, by writers with stores of their own."""
    stores = {
        (writer, namespace): wellkept.open(
            url,
            embedder=fakes[namespace],
            relation_model=FakeRelationModel(),
            namespace=namespace,
            actor=f"writer {writer}",
        )
        for writer in range(WRITERS)
        for namespace in SPACES
    }
    told: list[tuple[str, WriteResult]] = []
    try:
        spread(lambda writer, ns, text: told.append((ns, stores[writer, ns].remember(text, kind="lesson"))))
        assert Counter(result.outcome for _, result in told) == {
            "created": FACTS,
            "restated": (WORDINGS - 1) * FACTS,
            "duplicate": (WRITERS - WORDINGS) * FACTS,
        }
        for namespace in SPACES:
            store = stores[0, namespace]
            rows, others = store.list(), store.list(Filter(statuses=("wording",)))
            assert len(rows) == len(others) == FACTS // len(SPACES), "a second row, or one that was lost"
            assert {row.superseded_by for row in others} == {row.id for row in rows}
            assert len(store.list(Filter(statuses=ALL_STATUSES))) == len(rows) + len(others)
            numbers = range(SPACES.index(namespace), FACTS, len(SPACES))
            assert {row.content for row in (*rows, *others)} == {text for n in numbers for text in wordings(n)}
            ids = {result.memory.id for ns, result in told if ns == namespace and result.memory is not None}
            assert ids == {row.id for row in rows}, "somebody was told of a row that is not there"
            entries = store.journal()
            assert [entry.seq for entry in entries] == list(range(1, WRITERS * len(rows) + 1))
        assert stores[0, SPACES[0]].verify() == ()
    finally:
        for store in stores.values():
            store.close()


@pytest.mark.soak
def test_eight_processes_that_search_before_they_insert_store_facts_twice(url: str) -> None:
    """The naive way, for comparison with the next test; the same processes, facts and wordings."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(facts.NAIVE.encode())
        try:
            facts.spread("naive", url)
            (count,) = connection.execute("SELECT count(*) FROM naive").fetchone() or (0,)
        finally:
            connection.execute("DROP TABLE naive")
    sys.stdout.write(f"\nnaive: {count - facts.FACTS} second rows of {facts.FACTS} facts\n")
    assert count > facts.FACTS, "the naive way happened to be right; the next test shows nothing"


@pytest.mark.soak
def test_eight_processes_leave_one_row_for_each_of_five_hundred_facts(url: str) -> None:
    """I3: each fact said eight times in two wordings, in eight namespaces, by processes that share nothing."""
    done = facts.spread("guarded", url)
    assert done.outcomes == {
        "created": facts.FACTS,
        "restated": (facts.WORDINGS - 1) * facts.FACTS,
        "duplicate": (facts.PROCESSES - facts.WORDINGS) * facts.FACTS,
    }
    with psycopg.connect(url) as connection:
        (count,) = connection.execute("SELECT count(*) FROM wellkept.memory").fetchone() or (0,)
    assert count == facts.WORDINGS * facts.FACTS, "second rows, or lost ones"
    for at, namespace in enumerate(facts.SPACES):
        with wellkept.open(url, embedder=facts.embedder(at), relation_model="none", namespace=namespace) as store:
            rows = store.list()
            said = [number for number in range(facts.FACTS) for row in rows if row.content in facts.wordings(number)]
            assert said == list(range(at, facts.FACTS, len(facts.SPACES))), "each fact once, in its namespace"
            assert done.ids[namespace] == {row.id for row in rows}, "somebody was told of a row that is not there"
            entries = store.journal()
            assert [entry.seq for entry in entries] == list(range(1, facts.PROCESSES * len(rows) + 1))
            assert store.verify() == ()


def test_a_writer_searches_what_it_wrote_before_anybody_had_searched(url: str) -> None:
    """Its own rows stand in no matrix that others use, before the commit and after a rollback."""
    world = World(PostgresStorage(url))
    row = world.add(memory("m1"), seed=1)
    cold = World(PostgresStorage(url))

    def write(*, fail: bool) -> None:
        with cold.store.begin(NS, write=True) as tx:
            for number in (2, 3):
                new = replace(memory(f"m{number}"), embedding=f"e{number}", chunks=1)
                tx.apply(entry(MemoryChange(None, new)), vectors={new.embedding: vector(number)})
                found = tx.nearest(vector(number)[None, :], limit=1, statuses=("active",))[0]
                assert found.ids == (new.id,)
            tx.apply(entry(changed(row, status="archived")))
            assert "m1" not in tx.nearest(vector(1)[None, :], limit=9, statuses=("active",))[0].ids
            if fail:
                raise KeyError("on purpose")

    with pytest.raises(KeyError):
        write(fail=True)
    assert cold.near(2) == world.near(2) == ["m1"]
    write(fail=False)
    assert sorted(cold.near(2)) == sorted(world.near(2)) == ["m2", "m3"]
    for one in (world, cold):
        one.store.close()


def test_a_writer_of_one_namespace_does_not_wait_for_a_writer_of_another(url: str) -> None:
    store = PostgresStorage(url, busy_seconds=10)
    with store.begin("one", write=True) as first:
        done = threading.Event()

        def write() -> None:
            with store.begin("other", write=True) as tx:
                assert tx.seq == first.seq == 0
            done.set()

        thread = threading.Thread(target=write)
        thread.start()
        thread.join(5)
        assert done.is_set()
    store.close()
