"""Copies of a database by PostgreSQL's own programs, put back also under a process that has the store open.

A matrix in memory, a prepared statement, the number of a type: whatever a process has kept of the database as it
was must not answer for the database as it is (issue 7, item 8).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

import wellkept
from postgres.server import Server, launched, owner_of, programs, server, start
from wellkept.storage.postgres import PostgresStorage
from wellkept.testing.checks.world import NS, World, memory, vector
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Filter

SECONDS = 120


@pytest.fixture
def running() -> Server:
    return server()


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    """A separate database, because it is dropped, renamed and created again."""
    made = running.bare()
    yield made
    running.drop(made)


def sql(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def run(program: str, *arguments: str, **more: Any) -> None:
    path = programs() / program
    if not path.exists():
        pytest.skip(f"the embedded PostgreSQL came without {program}")
    done = subprocess.run([str(path), *arguments], capture_output=True, text=True, timeout=SECONDS, check=False, **more)
    assert done.returncode == 0, done.stderr


def dumped(url: str, folder: Path) -> str:
    file = str(folder / "monday.dump")
    run("pg_dump", "--format=custom", f"--file={file}", f"--dbname={url}")
    return file


def name_of(url: str) -> str:
    return urlsplit(url).path[1:]


# -- ways to put a dump back -----------------------------------------------------------------


def into_the_schema(running: Server, url: str, file: str) -> None:
    """Restore in place while processes are connected: only the tables are created again."""
    sql(url, "DROP SCHEMA wellkept CASCADE; CREATE SCHEMA wellkept")
    run("pg_restore", "--schema=wellkept", "--single-transaction", f"--dbname={url}", file)


def under_the_name(running: Server, url: str, file: str) -> None:
    """Restore into a second database, which then gets the name; the former one is kept under another name."""
    beside = running.bare()
    run("pg_restore", "--single-transaction", f"--dbname={beside}", file)
    here, there = name_of(url), name_of(beside)
    sql(
        running.url,
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{here}'",
        f'ALTER DATABASE "{here}" RENAME TO "{here}_before"',
        f'ALTER DATABASE "{there}" RENAME TO "{here}"',
        f'DROP DATABASE "{here}_before" WITH (FORCE)',
    )


WAYS = (into_the_schema, under_the_name)


@pytest.mark.parametrize("way", WAYS)
def test_a_dump_put_back_is_the_store_as_it_was(running: Server, url: str, tmp_path: Path, way: Any) -> None:
    with wellkept.open(url, embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel()) as store:
        one, two = (store.remember(text).memory for text in ("The ferns need water.", "The boiler is old."))
        assert one is not None and two is not None
        store.link(one.id, two.id, "related")
        store.supersede(one.id, two.id)
        was = store.list(), store.journal(), store.recall("boiler", touch=False)
        file = dumped(url, tmp_path)
        store.erase(two.id)
        store.remember("Written since.")
        way(running, url, file)
        assert (store.list(), store.journal(), store.recall("boiler", touch=False)) == was, "under the same process"
        assert store.verify() == ()
        assert store.remember("The boiler is old.").outcome == "duplicate"
    with wellkept.open(url, embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel()) as store:
        assert [row.content for row in store.list()] == ["The boiler is old."]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("since", [0, 2, 3, 5])
def test_a_warm_matrix_does_not_outlive_the_database_it_was_made_of(
    running: Server, url: str, tmp_path: Path, way: Any, since: int
) -> None:
    """As many entries were lost as were written since, or fewer, or more: the numbers alone do not tell."""
    world = World(PostgresStorage(url))
    world.add(memory("m1"), seed=1)
    file = dumped(url, tmp_path)
    for number in (2, 3, 4):
        world.add(memory(f"m{number}"), seed=number)
    for _ in range(8):  # the driver keeps statements that come again
        assert world.near(2)[0] == "m2"
    way(running, url, file)
    other = World(PostgresStorage(url))
    for number in range(since):
        other.add(memory(f"n{number}"), seed=20 + number)
    other.store.close()
    expected = {"m1", *(f"n{number}" for number in range(since))}
    assert set(world.near(2)) == expected == set(world.ids(Filter()))
    if since:
        assert world.near(20)[0] == "n0"
    with world.store.begin(NS, write=True) as tx:
        assert set(tx.nearest(vector(2)[None, :], limit=9, statuses=("active",))[0].ids) == expected
    world.add(memory("m9"), seed=9)
    assert world.near(9)[0] == "m9" and world.store.verify() == []
    world.store.close()


def test_a_recall_after_the_restore_shows_the_restored_truth(running: Server, url: str, tmp_path: Path) -> None:
    """The same through the public verbs: later writes are not returned and are no duplicates."""
    fake = FakeEmbedder({("Valve 3 is open.", "Valve 3 stands open."): 0.97}, dim=64)
    with wellkept.open(url, embedder=fake, relation_model=FakeRelationModel()) as store:
        store.remember("The ferns need water.", kind="lesson")
        file = dumped(url, tmp_path)
        store.remember("Valve 3 is open.", kind="lesson")
        assert store.recall("Valve 3 is open.")[0].memory.content == "Valve 3 is open."
        under_the_name(running, url, file)
        with wellkept.open(url, embedder=fake, relation_model=FakeRelationModel()) as other:
            other.remember("Trams run on Sundays.", kind="lesson")
        found = [hit.memory.content for hit in store.recall("Valve 3 is open.")]
        assert "Valve 3 is open." not in found and len(store.list()) == 2
        assert store.remember("Valve 3 stands open.", kind="lesson").outcome == "created"


def test_a_type_of_vectors_made_anew_under_a_connection_is_an_error_and_never_a_wrong_answer(url: str) -> None:
    """Dropping the extension requires closed connections; a remaining process gets an error."""
    world = World(PostgresStorage(url))
    for number in range(1, 9):
        world.add(memory(f"m{number}"), seed=number)
    assert world.near(2)[0] == "m2"
    sql(
        url,
        "CREATE TABLE kept AS SELECT ns, hash, model, vec::text AS vec FROM wellkept.vector",
        "DROP EXTENSION vector CASCADE; CREATE EXTENSION vector",
        "ALTER TABLE wellkept.vector ADD COLUMN vec halfvec",
        "UPDATE wellkept.vector AS v SET vec = k.vec::halfvec FROM kept AS k WHERE (v.ns, v.hash) = (k.ns, k.hash)",
    )
    world.store._index.clear()  # type: ignore[attr-defined]
    assert world.near(2)[0] == "m2"
    world.store.close()


# -- the server's files ----------------------------------------------------------------------


def test_a_base_backup_of_a_server_in_use_starts_as_the_store_it_was(tmp_path: Path) -> None:
    first = start("wal_level=replica", "max_wal_senders=3", "full_page_writes=on")
    second: Server | None = None
    try:
        url = first.bare()
        with wellkept.open(url, embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel()) as store:
            for number in range(20):
                store.remember(f"Room {number} has a window.", kind="thesis")
            second = backed_up(first)
            was = store.list()
            store.remember("Written after the backup.")
        with wellkept.open(second.at(name_of(url)), embedder=FakeEmbedder(dim=64)) as copy:
            assert copy.list() == was and copy.verify() == ()
            assert copy.recall("Room 7 has a window.")[0].memory.content == "Room 7 has a window."
    finally:
        first.stop()
        if second is not None:
            second.stop()


def backed_up(first: Server) -> Server:
    """A separate server on a base backup of another one."""
    assert first.folder is not None
    folder = first.folder.parent / (first.folder.name + "-copy")
    folder.mkdir()
    data = folder / "data"
    user = owner_of(folder)
    try:
        how = ("--wal-method=stream", "--checkpoint=fast", "--no-sync")
        run("pg_basebackup", f"--pgdata={data}", f"--dbname={first.url}", *how, cwd=folder, **user)
        run("pg_verifybackup", str(data), cwd=folder, **user)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return launched(folder, user)
