"""Several processes, one file: the writer excludes the writer, readers keep up (I3, design §10)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wellkept.errors import Busy
from wellkept.storage.sql import reading
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.checks.world import DIM, EMBEDDER, NS, World, entry, memory, vector
from wellkept.types import Filter, MemoryChange

SOURCES = Path(__file__).parents[2] / "src"
EACH = 500

WRITER = """
import sys
from dataclasses import replace
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.checks.world import NS, entry, memory, vector
from wellkept.types import Filter, MemoryChange

path, worker, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = SqliteStorage(path, durability="relaxed")
print("ready", flush=True)
sys.stdin.readline()
for number in range(each) if worker == 1 else reversed(range(each)):
    with store.begin(NS, write=True) as tx:
        before = tx.seq
        # Search, decide, write: the text of this number is stored by whoever comes first.
        near = tx.nearest(vector(number)[None, :], limit=1, statuses=("active",))[0]
        if near.ids and float(near.vectors[0] @ vector(number)) > 0.99:
            seq = tx.apply(entry(outcome="duplicate", memory_id=near.ids[0]))
        else:
            new = replace(memory(f"w{worker}-{number:04}"), embedding=f"text-{number}", chunks=1)
            seq = tx.apply(entry(MemoryChange(None, new)), vectors={new.embedding: vector(number)})
        assert seq == before + 1, (seq, before)
store.close()
"""


def start(path: Path, worker: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(worker), str(EACH)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"},
    )


def test_two_processes_writing_the_same_things_lose_no_number_and_store_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    world = World(SqliteStorage(path))
    assert world.near(0) == []  # this process has a matrix from before, which must keep up
    workers = [start(path, worker) for worker in (1, 2)]
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors

    entries = world.journal()
    assert [found.seq for found in entries] == list(range(1, 2 * EACH + 1))
    rows = world.ids(Filter())
    assert len(rows) == EACH, "the same text was stored twice, or not at all"
    assert {row.split("-")[1] for row in rows} == {f"{number:04}" for number in range(EACH)}
    assert {row.split("-")[0] for row in rows} == {"w1", "w2"}, "both processes took part"
    for number in (0, EACH // 2, EACH - 1):
        (nearest,) = world.near(number, limit=1)
        assert nearest.endswith(f"-{number:04}")
    assert world.store.verify() == []
    world.store.close()


def test_the_search_of_one_process_follows_what_another_one_commits(tmp_path: Path) -> None:
    """Created, changed, removed, erased, re-embedded: each is seen by the very next search (design §10)."""
    path = tmp_path / "store.db"
    here, there = World(SqliteStorage(path)), World(SqliteStorage(path))
    first = there.add(memory("m1"), seed=1)
    assert here.near(1) == ["m1"]
    there.add(memory("m2"), seed=2)
    assert here.near(2) == ["m2", "m1"]
    there.apply(MemoryChange(first, None))
    assert here.near(1) == ["m2"]
    here.add(memory("m3"), seed=3)
    assert there.near(3, limit=1) == ["m3"]
    with there.store.begin(NS, write=True) as tx:
        tx.erase(["m2"], entry(verb="erase", memory_id="m2", memory_ids=("m2",)))
    assert here.near(2) == ["m3"]
    there.store.configure(embedder="kit/two", dim=4, policy="p")
    axis = np.array([1, 0, 0, 0], dtype=np.float32)
    with here.store.begin(NS, write=False) as tx:
        assert tx.nearest(axis[None, :], limit=3, statuses=("active",))[0].ids == ()
    there.apply(memory_id="m3", memory_ids=("m3",), vectors={"text-of-m3": axis})
    with here.store.begin(NS, write=False) as tx:
        assert tx.nearest(axis[None, :], limit=3, statuses=("active",))[0].ids == ("m3",)
    here.store.close()
    there.store.close()


def test_opening_a_store_and_answers_by_words_read_no_vectors(tmp_path: Path) -> None:
    """The matrix of a namespace is read by the first search in it, and only that one (issue 5, item 8)."""
    path = tmp_path / "store.db"
    world = World(SqliteStorage(path))
    world.add(memory("m1", "the piano needs tuning"), seed=1)
    world.store.close()
    store = SqliteStorage(path)
    with store.begin(NS, write=False) as tx:
        assert [row.id for row in tx.find(Filter())] == tx.match(["piano"], limit=3) == ["m1"]
    assert NS not in store._index
    with store.begin("elsewhere", write=False) as tx:
        assert tx.nearest(vector(1)[None, :], limit=1, statuses=("active",))[0].ids == ()
    assert NS not in store._index and store._index.nbytes == 0
    with store.begin(NS, write=False) as tx:
        assert tx.nearest(vector(1)[None, :], limit=1, statuses=("active",))[0].ids == ("m1",)
    assert NS in store._index
    store.close()


def test_a_matrix_read_in_many_blocks_answers_like_one_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    world = World(SqliteStorage(path))
    for number in range(23):
        world.add(memory(f"m{number}"), seed=number)
    world.store.close()
    answers = []
    for size in (1, 5, 23, 4096):
        monkeypatch.setattr(reading, "_ROWS_AT_ONCE", size)
        store = SqliteStorage(path)
        with store.begin(NS, write=False) as tx:
            found = tx.nearest(np.stack([vector(3), vector(20)]), limit=9, statuses=("active",))
        answers.append([(one.ids, one.vectors.tobytes()) for one in found])
        store.close()
    assert answers == [answers[0]] * 4
    assert answers[0][0][0][0] == "m3" and len(answers[0][1][0]) == 9


def test_a_store_restored_from_an_older_copy_does_not_answer_from_a_newer_matrix(tmp_path: Path) -> None:
    """Another store id, or a number lower than the one known, makes the matrix be built anew."""
    path, other = tmp_path / "store.db", tmp_path / "other.db"
    world = World(SqliteStorage(path))
    world.add(memory("m1"), seed=1)
    older = World(SqliteStorage(other))
    older.add(memory("n1"), seed=1)
    assert world.near(1) == ["m1"]
    index = world.store._index  # type: ignore[attr-defined]
    older.store._index = index  # type: ignore[attr-defined]
    assert older.near(1) == ["n1"], "the matrix of another store was used"
    assert world.near(1) == ["m1"]
    world.store.close()
    older.store.close()


def test_a_second_process_waits_for_the_first_and_then_says_busy(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    world = World(SqliteStorage(path))
    impatient = SqliteStorage(path, busy_seconds=0.05)
    with world.store.begin(NS, write=True) as tx:
        tx.apply(entry(MemoryChange(None, memory("m1"))))
        try:
            with impatient.begin(NS, write=True):
                raise AssertionError("two writers at once")
        except Busy as error:
            assert str(path) in str(error)
        with impatient.begin(NS, write=False) as reader:
            assert reader.find(Filter()) == [], "a read never waits for a write (design §8)"
    with impatient.begin(NS, write=True) as tx:
        assert [row.id for row in tx.find(Filter())] == ["m1"]
    assert impatient.header().embedder == EMBEDDER and impatient.header().dim == DIM
    impatient.close()
    world.store.close()
