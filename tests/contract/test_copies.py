"""Backups of a file in use, and older copies put back under processes that go on running (design §10)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from wellkept.errors import Corrupt, NotAStore, StorePathError, WellkeptError
from wellkept.storage.sqlite import SqliteStorage
from wellkept.storage.sqlite.copying import put_back
from wellkept.testing.checks.world import EMBEDDER, NS, World, entry, memory, vector
from wellkept.types import Filter, MemoryChange

SOURCES = Path(__file__).parents[2] / "src"

READER = """
import json, sys
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.checks.world import EMBEDDER, NS, World, vector
from wellkept.types import Filter

store = SqliteStorage(sys.argv[1])
store.bind(EMBEDDER)
for line in sys.stdin:
    with store.begin(NS, write=False) as tx:
        near = [tx.nearest(vector(int(seed))[None, :], limit=99, statuses=("active",))[0].ids for seed in line.split()]
        rows = [row.id for row in tx.find(Filter())]
        print(json.dumps([tx.seq, rows, near, tx.match(["content"], limit=99)]), flush=True)
"""

WRITER = """
import sys
from dataclasses import replace
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.checks.world import NS, entry, memory, vector
from wellkept.types import MemoryChange

store = SqliteStorage(sys.argv[1])
for number in range(100_000):
    with store.begin(NS, write=True) as tx:
        new = replace(memory(f"w{number}"), embedding=f"text-{number}", chunks=1)
        tx.apply(entry(MemoryChange(None, new)), vectors={new.embedding: vector(number)})
    print(number, flush=True)
"""

COPIER = """
import sys
from wellkept.storage.sqlite import SqliteStorage
store = SqliteStorage(sys.argv[1])
while True:
    store.backup(sys.argv[2], replace=True)
    print("done", flush=True)
"""


@contextmanager
def process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process of our own, ended with the block."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"}
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield worker
    finally:
        worker.kill()
        worker.communicate(timeout=30)


def told(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    assert line, "the process ended"
    return line.strip()


def asked(worker: subprocess.Popen[str], *seeds: int) -> object:
    """The view of the other process: number, rows, nearest rows, full text."""
    assert worker.stdin is not None
    worker.stdin.write(" ".join(map(str, seeds)) + "\n")
    worker.stdin.flush()
    return json.loads(told(worker))


def seen(path: Path, *seeds: int) -> object:
    """The same view from a newly opened store."""
    with process(READER, path) as fresh:
        return asked(fresh, *seeds)


def filled(path: Path, count: int = 3) -> World:
    world = World(SqliteStorage(path))
    for number in range(1, count + 1):
        world.add(memory(f"m{number}"), seed=number, hashes=(f"h{number}",))
    return world


def parts(folder: Path) -> list[str]:
    return sorted(name.name for name in folder.iterdir() if ".part" in name.name)


def test_a_backup_of_a_store_that_is_written_to_is_one_moment_of_it_and_sound(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 0).store.close()
    with process(WRITER, path) as writer:
        store = SqliteStorage(path)
        newest = -1
        for number in range(4):
            while newest < 40 * number:
                newest = int(told(writer))
            copied = store.backup(tmp_path / f"copy-{number}.db")
            assert copied.entries[NS] > newest, "what was acknowledged before is in it"
            assert copied.store_id == store.header().store_id
            copy = SqliteStorage(tmp_path / f"copy-{number}.db")
            with copy.begin(NS, write=False) as tx:
                assert tx.seq == copied.entries[NS] == len(tx.find(Filter())) == len(tx.journal())
            assert copy.verify() == []
            copy.close()
        store.close()
    assert parts(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_killed_backup_leaves_the_former_copy_whole(tmp_path: Path) -> None:
    """The target name appears only for a complete and synced file."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    world = filled(path, 60)
    with process(COPIER, path, copy) as worker:
        for number in range(61, 64):
            told(worker)
            world.add(memory(f"m{number}"), seed=number)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(30)
    left = SqliteStorage(copy)
    assert left.verify() == []
    with left.begin(NS, write=False) as tx:
        assert 60 <= tx.seq == len(tx.find(Filter())) <= 63
    left.close()
    assert world.store.backup(copy, replace=True).entries == {NS: 63}
    world.store.close()


def test_a_backup_is_not_written_over_anything_that_would_be_lost(tmp_path: Path) -> None:
    path, other = tmp_path / "store.db", tmp_path / "other.db"
    world, busy = filled(path), filled(other)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link.db").symlink_to(path)
    refused = {
        "store.db": "is the store itself",
        "link.db": "is the store itself",
        "store.db-wal": "is the store itself",
        "other.db": "is a store in use",
        "missing/copy.db": "the directory does not exist",
        ".": "is a directory",
    }
    for name, why in refused.items():
        with pytest.raises(StorePathError, match=why):
            world.store.backup(tmp_path / name, replace=True)
    with pytest.raises(StorePathError, match="the file exists"):
        world.store.backup(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (len(world.ids(Filter())), len(busy.ids(Filter())), parts(tmp_path)) == (3, 3, [])
    busy.store.close()
    assert world.store.backup(other, replace=True).entries == {NS: 3}
    world.store.close()


def test_a_store_that_is_not_sound_gives_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    world = filled(path)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE memory SET version = 9 WHERE id = 'm1'")
    raw.close()
    with pytest.raises(Corrupt, match="the copy is not sound"):
        world.store.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists() and parts(tmp_path) == []
    world.store.close()


def by_the_product(path: Path, copy: Path) -> None:
    put_back(path, copy, prepare=lambda file: SqliteStorage(file).close(), busy_seconds=10)


def by_sqlite_itself(path: Path, copy: Path) -> None:
    source, target = sqlite3.connect(copy), sqlite3.connect(path)
    source.backup(target)
    source.close()
    target.close()


def by_another_file_of_that_name(path: Path, copy: Path) -> None:
    """Replaces the file as an operator does, and removes the log of the former file."""
    fresh = path.with_name("fresh.db")
    shutil.copy(copy, fresh)
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    os.replace(fresh, path)


WAYS = [by_the_product, by_sqlite_itself, by_another_file_of_that_name]


@pytest.mark.parametrize("looks", [True, False], ids=["and looked at at once", "and written on before anyone looks"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_an_older_copy_put_back_under_a_running_process_is_noticed(
    way: Callable[[Path, Path], None], *, looks: bool, tmp_path: Path
) -> None:
    """The matrix it holds is of a history that is no more, even when the numbers are the same again or higher."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    world = filled(path)
    world.store.backup(copy)
    with process(READER, path) as there:
        for number in range(4, 9):
            world.add(memory(f"m{number}"), seed=number)
        first = world.get("m1")
        world.apply(MemoryChange(first, replace(first, version=2, status="archived")))
        assert asked(there, 1, 5)[0] == 9  # type: ignore[index]
        world.store.close()

        way(path, copy)
        if looks:
            assert asked(there, 1, 5) == seen(path, 1, 5) and asked(there)[:2] == [3, ["m1", "m2", "m3"]]  # type: ignore[index]
        world = World(SqliteStorage(path))
        for number in range(14, 20):  # to the very number at which the other process was
            world.add(memory(f"n{number}"), seed=number)
        assert asked(there, 1, 5, 15) == seen(path, 1, 5, 15)
        assert asked(there)[0] == 9  # type: ignore[index]
        for number in range(20, 23):
            world.add(memory(f"n{number}"), seed=number)
        assert asked(there, 1, 5, 15, 21) == seen(path, 1, 5, 15, 21)
    assert world.store.verify() == []
    world.store.close()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_writer_goes_on_from_the_copy_that_was_put_back(way: Callable[[Path, Path], None], tmp_path: Path) -> None:
    """Search, check and write of the running process are those of the store that is there now."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    world = filled(path)
    world.store.bind(EMBEDDER)  # type: ignore[attr-defined]
    world.store.backup(copy)  # type: ignore[attr-defined]
    for number in range(4, 9):
        world.add(memory(f"m{number}"), seed=number)
    assert world.near(5, limit=1) == ["m5"]
    way(path, copy)
    with world.store.begin(NS, write=True) as tx:
        assert tx.seq == 3
        assert set(tx.nearest(vector(5)[None, :], limit=9, statuses=("active",))[0].ids) == {"m1", "m2", "m3"}
        new = replace(memory("m5"), embedding="e5", chunks=1)
        assert tx.apply(entry(MemoryChange(None, new)), vectors={"e5": vector(5)}) == 4
    assert world.near(5, limit=1) == ["m5"] and len(world.near(5)) == 4
    world.store.close()
    again = World(SqliteStorage(path))
    assert again.ids(Filter()) == ["m1", "m2", "m3", "m5"]
    assert again.store.verify() == []
    again.store.close()


def test_nothing_is_acknowledged_that_went_into_a_file_without_a_name(tmp_path: Path) -> None:
    """I1: a write that is under way when the file goes is refused, and so is every call until one is there again."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    world = filled(path)
    world.store.backup(copy)  # type: ignore[attr-defined]
    with pytest.raises(WellkeptError, match="put in the store's place"):
        with world.store.begin(NS, write=True) as tx:
            by_another_file_of_that_name(path, copy)
            tx.apply(entry(MemoryChange(None, memory("m9"))))
    assert world.ids(Filter()) == ["m1", "m2", "m3"]
    path.unlink()
    for act in (lambda: world.ids(Filter()), lambda: world.add(memory("m9"))):
        with pytest.raises(StorePathError, match="the store's file is gone"):
            act()
    shutil.copy(copy, path)
    world.add(memory("m9"))
    assert world.ids(Filter()) == ["m1", "m2", "m3", "m9"]
    world.store.close()


def test_putting_back_keeps_what_was_there_and_refuses_what_is_no_copy_of_it(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    world = filled(path)
    world.store.backup(copy)  # type: ignore[attr-defined]
    world.add(memory("m4"))
    other = filled(tmp_path / "other.db")
    other.store.close()
    (tmp_path / "text.db").write_text("no store")

    def put(name: str) -> str:
        return put_back(path, tmp_path / name, prepare=lambda file: SqliteStorage(file).close(), busy_seconds=10).kept

    for name, error in (("other.db", NotAStore), ("text.db", NotAStore), ("no.db", StorePathError)):
        with pytest.raises(error):
            put(name)
        assert world.ids(Filter()) == ["m1", "m2", "m3", "m4"]
    with pytest.raises(StorePathError, match="is the store itself"):
        put("store.db")

    kept = [Path(put("copy.db")).name for _ in range(2)]
    assert kept == ["store.db.before-restore", "store.db.before-restore-2"]
    assert world.ids(Filter()) == ["m1", "m2", "m3"]
    assert put(kept[0]) and world.ids(Filter()) == ["m1", "m2", "m3", "m4"]
    assert parts(tmp_path) == []
    world.store.close()
    path.unlink()
    assert put("copy.db") == "" and SqliteStorage(path).verify() == []


DELETES = "BEGIN DELETE FROM memory; END"
STRANGERS = {
    "a trigger": f"CREATE TRIGGER mine AFTER INSERT ON journal {DELETES}",
    "a trigger on a view": f"CREATE VIEW v AS SELECT 1; CREATE TRIGGER mine INSTEAD OF INSERT ON v {DELETES}",
    "a view": "CREATE VIEW mine AS SELECT * FROM memory",
    "a table": "CREATE TABLE mine (x)",
    "a virtual table": "CREATE VIRTUAL TABLE mine USING fts5 (x)",
    "an index": "CREATE UNIQUE INDEX mine ON memory (id)",
    "a column more": "ALTER TABLE memory ADD COLUMN mine TEXT",
    "a table that replaces rows": (
        "DROP TABLE alias; CREATE TABLE alias (ns INTEGER NOT NULL REFERENCES namespace (ns), hash TEXT NOT NULL,"
        " id TEXT NOT NULL, PRIMARY KEY (ns, hash, id) ON CONFLICT REPLACE) STRICT, WITHOUT ROWID"
    ),
    "an index less": "DROP INDEX memory_slot",
}


@pytest.mark.parametrize("what", STRANGERS)
def test_a_copy_with_anything_that_no_store_has_is_not_put_back(what: str, tmp_path: Path) -> None:
    """E6: a trigger would delete memories at the next write."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    world = filled(path)
    world.store.backup(copy)  # type: ignore[attr-defined]
    with closing(sqlite3.connect(copy)) as connection:
        connection.executescript(STRANGERS[what])
    with pytest.raises(NotAStore):
        put_back(path, copy, prepare=lambda file: SqliteStorage(file).close(), busy_seconds=10)
    assert world.ids(Filter()) == ["m1", "m2", "m3"]
    assert parts(tmp_path) == []
    world.store.close()
    if "CREATE TRIGGER" in STRANGERS[what] or "CREATE VIEW" in STRANGERS[what]:
        with pytest.raises(NotAStore, match="which a Wellkept store never contains"):
            SqliteStorage(copy)


def test_what_sqlite_or_a_tool_for_copies_adds_stands_in_nobodys_way(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    world = filled(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("ANALYZE; CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
    world.store.backup(copy)  # type: ignore[attr-defined]
    put_back(path, copy, prepare=lambda file: SqliteStorage(file).close(), busy_seconds=10)
    assert world.ids(Filter()) == ["m1", "m2", "m3"]
    world.store.close()
