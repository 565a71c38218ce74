"""Counting the use never makes a read wait, and loses no count that a process lives to write (design §8)."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import wellkept
from wellkept.storage.sql.use_counts import Uses
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.checks.world import NS, T0, World, entry, memory
from wellkept.types import Filter, MemoryChange

LATER = T0 + timedelta(hours=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def world(path: Path) -> Iterator[World]:
    made = World(SqliteStorage(path, busy_seconds=60.0))
    made.add(memory("m1"), seed=1)
    made.add(memory("m2"), seed=2)
    yield made
    made.store.close()


@pytest.fixture
def other(path: Path, world: World) -> Iterator[sqlite3.Connection]:
    """Another process's connection."""
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def counted(path: Path) -> dict[str, int]:
    """The stored counts, as another process reads them."""
    connection = sqlite3.connect(path)
    try:
        return dict(connection.execute("SELECT id, access_count FROM memory ORDER BY id"))
    finally:
        connection.close()


def count(world: World, memory_id: str) -> None:
    storage = world.store
    assert isinstance(storage, SqliteStorage)
    with storage.begin(NS, write=False) as tx:
        (row,) = tx.find(Filter(ids=(memory_id,)))
    storage.count_use(NS, {memory_id: (row.access_count + 1, LATER, row.stability)})


def test_a_use_is_counted_at_once_when_nobody_writes(world: World, path: Path) -> None:
    count(world, "m1")
    count(world, "m1")
    assert counted(path) == {"m1": 2, "m2": 0}


def test_while_another_process_writes_counting_does_not_wait_and_is_made_up_for(
    world: World, path: Path, other: sqlite3.Connection
) -> None:
    """The store would wait a minute for a writer; every read counts, also those of one memory."""
    other.execute("BEGIN IMMEDIATE")
    done = threading.Event()

    def read() -> None:
        for memory_id in ("m1", "m1", "m2", "m1"):
            count(world, memory_id)
        done.set()

    thread = threading.Thread(target=read)
    thread.start()
    assert done.wait(20), "a read waited for a writer"
    thread.join()
    assert counted(path) == {"m1": 0, "m2": 0}
    other.execute("COMMIT")
    count(world, "m2")
    assert counted(path) == {"m1": 3, "m2": 2}


def test_the_next_write_takes_the_counts_along_and_one_that_fails_leaves_them_waiting(
    world: World, path: Path, other: sqlite3.Connection
) -> None:
    other.execute("BEGIN IMMEDIATE")
    count(world, "m1")
    other.execute("COMMIT")
    with pytest.raises(RuntimeError, match="changed my mind"), world.store.begin(NS, write=True) as tx:
        tx.apply(entry(MemoryChange(None, memory("m3"))))
        raise RuntimeError("changed my mind")
    assert counted(path) == {"m1": 0, "m2": 0}
    world.add(memory("m3"), seed=3)
    assert counted(path) == {"m1": 1, "m2": 0, "m3": 0}


def test_a_thread_that_writes_here_is_not_waited_for_either(world: World, path: Path) -> None:
    with world.store.begin(NS, write=True) as tx:
        count(world, "m1")  # the same thread, even
        tx.apply(entry(MemoryChange(None, memory("m3"))))
    assert counted(path) == {"m1": 1, "m2": 0, "m3": 0}


def test_closing_the_store_writes_what_waits(world: World, path: Path, other: sqlite3.Connection) -> None:
    other.execute("BEGIN IMMEDIATE")
    count(world, "m1")
    other.execute("COMMIT")
    world.store.close()
    assert counted(path) == {"m1": 1, "m2": 0}


def test_what_was_erased_meanwhile_stays_without_a_trace_of_use(
    world: World, path: Path, other: sqlite3.Connection
) -> None:
    other.execute("BEGIN IMMEDIATE")
    count(world, "m1")
    other.execute("COMMIT")
    with world.store.begin(NS, write=True) as tx:
        tx.erase(["m1"], entry(verb="erase", memory_id="m1", memory_ids=("m1",)))
    assert counted(path) == {"m1": 0, "m2": 0}
    assert world.store.verify() == []


def test_a_count_that_became_larger_elsewhere_is_not_turned_back(world: World, path: Path) -> None:
    world.store.count_use(NS, {"m1": (7, LATER, None)})  # type: ignore[attr-defined]
    world.store.count_use(NS, {"m1": (3, LATER, None)})  # type: ignore[attr-defined]
    assert counted(path)["m1"] == 7


def test_uses_of_two_namespaces_are_kept_apart() -> None:
    """I8."""
    uses = Uses()
    uses.add("a", {"m": (1, LATER, None)})
    uses.add("b", {"m": (1, LATER, None)})
    uses.add("a", {"m": (1, T0, 2.0)})
    assert uses._waiting == {"a": {"m": (2, LATER, 2.0)}, "b": {"m": (1, LATER, None)}}


def test_recall_beside_a_writer_answers_and_counts_later_or_not_at_all_when_switched_off(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with wellkept.open(SqliteStorage(path, busy_seconds=60.0), embedder="hashing", relation_model="none") as store:
        kept = store.remember("The piano needs tuning.").memory
        assert kept is not None
        writer = sqlite3.connect(path, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        answers: list[int] = []
        thread = threading.Thread(target=lambda: answers.append(len(store.recall("piano"))))
        thread.start()
        thread.join(20)
        assert answers == [1], "recall waited for a writer"
        writer.execute("COMMIT")
        writer.close()
        store.recall("piano", touch=False)
        assert store.get(kept.id, touch=False).access_count == 0
        store.remember("Deploys happen on Monday.")
        assert store.get(kept.id, touch=False).access_count == 1
