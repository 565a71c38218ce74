"""What can be wrong with a store's file: each case has its own error, saying what, where and what to do (errors.py)."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import wellkept
from wellkept.errors import (
    Busy,
    Corrupt,
    Full,
    InvalidText,
    NotAStore,
    ReadOnly,
    SchemaTooNew,
    StorageError,
    StorePathError,
)
from wellkept.policy import Policy
from wellkept.storage.sqlite import SqliteStorage
from wellkept.storage.sqlite.opening import checked_path
from wellkept.storage.sqlite.sql import APPLICATION_ID, SCHEMA_VERSION, schema, statements
from wellkept.testing.checks.world import NS, World, at, changed, conflict, entry, memory, vector
from wellkept.types import ALL_STATUSES, AliasChange, ConflictChange, Filter, Link, LinkChange, MemoryChange

HERE = Path(__file__).parent


def script(connection: sqlite3.Connection, *names: str) -> None:
    for name in names:
        for statement in statements((HERE / name).read_text(encoding="utf-8")):
            connection.execute(statement)
    connection.commit()


def made(path: Path, rows: int = 0) -> Path:
    """A closed store with rows."""
    world = World(SqliteStorage(path, durability="relaxed"))
    for number in range(rows):
        world.add(memory(f"m{number}", f"row {number} " + "filler " * 50), seed=number)
    world.store.close()
    return path


# ---- paths and foreign files (StorePathError, NotAStore) ----


def a_directory(folder: Path) -> Path:
    (folder / "store.db").mkdir()
    return folder / "store.db"


def in_a_missing_directory(folder: Path) -> Path:
    return folder / "missing" / "store.db"


def a_text_file(folder: Path) -> Path:
    (folder / "notes.txt").write_text("These are my notes, not a database.\n" * 10)
    return folder / "notes.txt"


def a_short_file(folder: Path) -> Path:
    (folder / "x").write_bytes(b"\x00")
    return folder / "x"


def another_programs_database(folder: Path) -> Path:
    with sqlite3.connect(folder / "other.db") as connection:
        connection.execute("CREATE TABLE memory (id TEXT)")
    connection.close()
    return folder / "other.db"


def another_programs_marked_database(folder: Path) -> Path:
    with sqlite3.connect(folder / "other.db") as connection:
        connection.execute("PRAGMA application_id = 252006673")
    connection.close()
    return folder / "other.db"


def the_first_half_of_a_header(folder: Path) -> Path:
    (folder / "cut.db").write_bytes(b"SQLite format 3\x00\x10\x00")
    return folder / "cut.db"


def a_truncated_store(folder: Path) -> Path:
    path = made(folder / "cut.db", rows=30)
    os.truncate(path, path.stat().st_size // 2)
    return path


def a_store_with_a_damaged_beginning(folder: Path) -> Path:
    path = made(folder / "bad.db", rows=3)
    with path.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"\xff" * 3996)
    return path


def a_newer_store(folder: Path) -> Path:
    path = made(folder / "new.db")
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    return path


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (a_directory, StorePathError, "directory"),
        (in_a_missing_directory, StorePathError, "does not exist"),
        (a_text_file, NotAStore, "not a Wellkept store"),
        (a_short_file, NotAStore, "not a Wellkept store"),
        (another_programs_database, NotAStore, "SQLite database, but not a Wellkept store"),
        (another_programs_marked_database, NotAStore, "SQLite database, but not a Wellkept store"),
        (the_first_half_of_a_header, Corrupt, "cut off"),
        (a_truncated_store, Corrupt, "cut off"),
        (a_store_with_a_damaged_beginning, Corrupt, "damaged"),
        (a_newer_store, SchemaTooNew, f"schema {SCHEMA_VERSION + 1}"),
    ],
)
def test_a_file_that_is_no_usable_store_is_refused_and_left_alone(
    make: Callable[[Path], Path], error: type[StorageError], says: str, tmp_path: Path
) -> None:
    path = make(tmp_path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=says) as caught:
        SqliteStorage(path)
    assert type(caught.value) is error
    assert str(path.parent if "does not exist" in says else path) in str(caught.value)
    assert caught.value.todo
    assert (path.read_bytes() if path.is_file() else None) == before


GROWS = """
import sqlite3, sys
for _ in range(200):
    connection = sqlite3.connect(sys.argv[1] + "/0.db")
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("CREATE TABLE IF NOT EXISTS t (text)")
    with connection:
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 4000,)] * 40)
    connection.close()
"""
MAKES = """
import sys
from wellkept.storage.sqlite import SqliteStorage
for number in range(60):
    SqliteStorage(f"{sys.argv[1]}/{number}.db").close()
"""


@pytest.mark.parametrize("program", [GROWS, MAKES], ids=["closes", "makes"])
def test_a_store_that_another_process_makes_or_closes_just_now_is_not_cut_off(program: str, tmp_path: Path) -> None:
    """It writes the header before the other pages, and removes the log or journal last."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")}
    checks = 0
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env=environment) as other:
        while other.poll() is None:
            for path in sorted(tmp_path.glob("*.db"), key=lambda path: int(path.stem))[-1:]:
                assert checked_path(path) == path
                checks += 1
    assert (other.returncode, checks > 50) == (0, True)


@pytest.mark.parametrize("name", ["", ":memory:", "a\0b"])
def test_a_name_that_is_no_file_is_refused(name: str) -> None:
    with pytest.raises(StorePathError):
        SqliteStorage(name)


@pytest.mark.parametrize("name", ["file:store.db?mode=memory", "a b'c\"d;--.db", "данные 数据.db", "%41.db", "x?y#z"])
def test_any_other_name_is_just_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SqliteStorage(name).close()
    assert (tmp_path / name).is_file()


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch()
    made(tmp_path / "store.db", rows=1)
    store = SqliteStorage(tmp_path / "store.db")
    assert store.header().namespaces == (NS,)
    assert store.header().schema == SCHEMA_VERSION
    store.close()


# ---- damage found later ----


def test_damage_inside_the_file_is_a_typed_error_and_verify_names_it(tmp_path: Path) -> None:
    path = made(tmp_path / "bad.db", rows=200)
    size = path.stat().st_size
    with path.open("r+b") as stream:
        for page in range(20, size // 4096, 2):
            stream.seek(page * 4096)
            stream.write(b"\xee" * 4096)
    with pytest.raises(Corrupt) as caught:
        store = SqliteStorage(path)
        try:
            assert store.verify(), "damage was not found"
            with store.begin(NS, write=False) as tx:
                tx.find(Filter())
        finally:
            store.close()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE memory SET record = '{' WHERE id = 'm1'", "memory m1: a stored memory cannot be read"),
        ("UPDATE memory SET status = 'archived' WHERE id = 'm1'", "memory m1: its columns do not repeat its record"),
        ("DELETE FROM journal WHERE seq = 2", "journal holds 2 up to 3"),
        ("UPDATE vector SET vec = X'00'", "vector of a wrong length"),
        ("INSERT INTO alias (ns, hash, id) VALUES (1, 'h', 'nobody')", "hash of memory nobody"),
        ("INSERT INTO link (ns, src, dst, rel) VALUES (9, 'a', 'b', 'c')", "table link names something"),
    ],
)
def test_verify_says_what_does_not_fit_together(damage: str, says: str, tmp_path: Path) -> None:
    path = made(tmp_path / "store.db", rows=3)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(damage)
    connection.close()
    store = SqliteStorage(path)
    found = store.verify()
    store.close()
    assert any(says in line for line in found), found


def test_a_garbled_record_is_corrupt_when_read(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db", rows=1)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE memory SET record = '{}'")
    connection.execute("UPDATE journal SET record = 'x'")
    connection.close()
    world = World(SqliteStorage(path))
    with pytest.raises(Corrupt):
        world.get("m0")
    with pytest.raises(Corrupt):
        world.journal()
    world.store.close()


# ---- locked, read-only, full ----


def test_a_locked_file_is_busy_after_the_time_given(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    store = SqliteStorage(path, busy_seconds=0.05)
    with pytest.raises(Busy, match="Repeat the call"), store.begin(NS, write=True):
        raise AssertionError("wrote beside another writer")
    assert store.header().namespaces == ()
    connection.execute("ROLLBACK")
    connection.close()
    with store.begin(NS, write=True) as tx:
        assert tx.apply(entry(MemoryChange(None, memory("m1")))) == 1
    store.close()


def test_a_thread_that_waits_too_long_is_told_so_and_one_that_already_writes_at_once(tmp_path: Path) -> None:
    store = SqliteStorage(tmp_path / "store.db", busy_seconds=0.05)
    errors: list[str] = []

    def write() -> None:
        try:
            with store.begin(NS, write=True):
                errors.append("wrote")
        except Busy as error:
            errors.append(error.what)

    with store.begin(NS, write=True):
        write()
        other = threading.Thread(target=write)
        other.start()
        other.join(10)
    assert errors == ["this thread is already writing", "another thread holds the store"]
    write()
    assert errors[-1] == "wrote"
    store.close()


@contextmanager
def an_ordinary_user() -> Iterator[None]:
    """Root ignores permissions, so a test as root changes its user id temporarily."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="permissions of this system are other ones")
@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "error"),
    [(0o444, 0o777, ReadOnly), (0o666, 0o555, ReadOnly), (0o000, 0o777, StorePathError)],
    ids=["read-only file", "read-only directory", "unreadable file"],
)
def test_a_file_or_directory_without_permission_is_refused(
    file_mode: int, folder_mode: int, error: type[StorageError], tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    path = made(folder / "store.db", rows=1)
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_mode & 0o011 != 0o011:
            parent.chmod(parent.stat().st_mode | 0o011)
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    with an_ordinary_user(), pytest.raises(error) as caught:
        SqliteStorage(path)
    assert caught.value.where == str(path if folder_mode == 0o777 else folder)
    folder.chmod(0o777)
    path.chmod(0o666)
    with an_ordinary_user():
        SqliteStorage(path).close()


def test_a_disk_that_turns_read_only_is_told_so(tmp_path: Path) -> None:
    world = World(SqliteStorage(tmp_path / "store.db"))
    world.add(memory("m1"))
    writer = world.store._writer  # type: ignore[attr-defined]
    writer.pragma("query_only = ON")
    with pytest.raises(ReadOnly):
        world.add(memory("m2"))
    writer.pragma("query_only = OFF")
    assert world.ids(Filter()) == ["m1"]
    world.add(memory("m2"))
    world.store.close()


def test_a_full_disk_is_told_so_and_nothing_is_half_written(tmp_path: Path) -> None:
    world = World(SqliteStorage(tmp_path / "store.db", durability="relaxed"))
    world.add(memory("m000"), seed=0)
    writer = world.store._writer  # type: ignore[attr-defined]
    limit = writer.pragma("page_count") + 12
    writer.pragma(f"max_page_count = {limit}")
    stored = ["m000"]
    with pytest.raises(Full, match="nothing was half written"):
        for number in range(1, 200):
            world.add(memory(f"m{number:03}", "text " * 300), seed=number)
            stored.append(f"m{number:03}")
    assert world.ids(Filter()) == stored
    assert len(world.journal()) == len(stored)
    assert sorted(world.near(0, limit=300)) == stored
    writer.pragma("max_page_count = 1073741823")
    world.add(memory("m999"))
    assert world.store.verify() == []
    world.store.close()


def test_half_a_character_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    world = World(SqliteStorage(tmp_path / "store.db"))
    with pytest.raises(InvalidText):
        world.add(memory("m1", "half \ud83d"))
    assert world.ids(Filter()) == []
    world.store.close()


# ---- versions ----


def shape(path: Path) -> dict[str, object]:
    """Tables, columns, indexes and references of a file, as SQLite understands them."""
    connection = sqlite3.connect(path)
    found: dict[str, object] = {}
    for _, name, kind, _, without_rowid, strict in connection.execute("PRAGMA table_list"):
        if name.startswith("sqlite_"):
            continue
        indexes = [
            (index[1:5], sorted(connection.execute(f"PRAGMA index_xinfo({index[1]})")))
            for index in connection.execute(f"PRAGMA index_list({name})")
        ]
        found[name] = (
            kind,
            without_rowid,
            strict,
            list(connection.execute(f"PRAGMA table_xinfo({name})")),
            sorted(indexes),
            sorted(connection.execute(f"PRAGMA foreign_key_list({name})")),
        )
    partial = connection.execute(
        "SELECT name, substr(sql, instr(sql, ' ON ')) FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
    )
    found["indexes"] = sorted(partial)
    found["virtual"] = sorted(connection.execute("SELECT sql FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'"))
    found["version"] = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return found


def old_store(folder: Path) -> Path:
    path = folder / "old.db"
    connection = sqlite3.connect(path)
    script(connection, "schema_v1.sql", "rows_v1.sql")
    connection.close()
    return path


def test_a_migrated_store_has_the_schema_of_a_fresh_one(tmp_path: Path) -> None:
    """Append-only migrations; a fresh schema equals a migrated one (design §10)."""
    old, fresh = old_store(tmp_path), tmp_path / "fresh.db"
    assert shape(old)["version"] == (1,)
    SqliteStorage(old).close()
    SqliteStorage(fresh).close()
    assert shape(old) == shape(fresh)


def as_before_counts(connection: sqlite3.Connection) -> None:
    """Make a store of version 4 one of version 3."""
    connection.executescript(
        "DROP INDEX journal_outcome; DROP INDEX memory_counted; DROP INDEX memory_unembedded;"
        "ALTER TABLE journal DROP COLUMN outcome; ALTER TABLE journal DROP COLUMN day; PRAGMA user_version = 3;"
    )


def test_a_store_of_version_3_counts_the_decisions_of_its_past(tmp_path: Path) -> None:
    path, fresh = tmp_path / "third.db", tmp_path / "fresh.db"
    with wellkept.open(path, embedder="hashing", clock=lambda: datetime(2026, 3, 1, tzinfo=UTC)) as store:
        for text in ("The gate opens at nine.", "the gate opens at nine", "The port is closed."):
            store.remember(text, kind="note")
        before = store.stats()
    connection = sqlite3.connect(path)
    as_before_counts(connection)
    connection.close()
    SqliteStorage(fresh).close()
    assert shape(path) != shape(fresh)
    with wellkept.open(path, embedder="hashing") as store:
        assert shape(path) == shape(fresh)
        assert (store.stats().outcomes, store.stats().memories) == (before.outcomes, before.memories)
        with store._ctx.storage.begin("default", write=False) as tx:
            assert tx.outcomes_by_day() == {("2026-03-01", "created"): 2, ("2026-03-01", "duplicate"): 1}
            assert tx.entries_with("duplicate") == [2]


def test_a_store_of_version_2_opens_with_everything_it_held_and_asks_from_then_on(tmp_path: Path) -> None:
    path, fresh = tmp_path / "second.db", tmp_path / "fresh.db"
    with wellkept.open(path, embedder="hashing", policy=replace(Policy(), ask=0)) as store:
        store.remember("The gate opens at nine.")
        store.in_namespace("other").remember("The port is closed.")
        before = (store.list(), store.journal())
    connection = sqlite3.connect(path)
    as_before_counts(connection)
    connection.executescript("ALTER TABLE namespace DROP COLUMN asking; PRAGMA user_version = 2;")
    connection.close()
    SqliteStorage(fresh).close()
    assert shape(path)["version"] == (2,)
    assert shape(path) != shape(fresh)
    with wellkept.open(path, embedder="hashing") as store:
        assert shape(path) == shape(fresh)
        assert (store.list(), store.journal()) == before
        assert (store.questions(), store.asking().open, store.verify()) == ((), 0, ())
        store.remember("The gate opens at ten.")
        with store._ctx.storage.begin("default", write=False) as tx:
            assert tx.asking()
        with store._ctx.storage.begin("other", write=False) as tx:
            assert tx.asking() == ""


def test_a_store_of_version_1_opens_with_everything_it_held(tmp_path: Path) -> None:
    path = old_store(tmp_path)
    store = SqliteStorage(path)
    header = store.header()
    assert (header.store_id, header.schema, header.embedder, header.dim) == (
        "5ca1ab1e" * 4,
        SCHEMA_VERSION,
        "old/embedder",
        4,
    )
    assert store.header().namespaces == ("team/eins", "team/zwei")
    with store.begin("team/eins", write=False) as tx:
        gate, port = tx.find(Filter())
        assert (gate.content, gate.access_count, gate.stability) == ("The gate opens at ten", 3, 0.5)
        assert [entry.seq for entry in tx.journal(key="first-key")] == [1]
        first = tx.journal(seqs=[1])[0].effects[0]
        assert isinstance(first, MemoryChange) and first.after is not None
        assert first.after.content == "The gate opens at nine"
        assert tx.match(["сервер"], limit=3) == ["m2"], "the full text was made anew for this release's terms"
        assert tx.nearest(np.eye(4, dtype=np.float32)[2:3], limit=1, statuses=("active",))[0].ids == ("m1",)
        assert (len(tx.links()), len(tx.conflicts())) == (1, 1)
    with store.begin("team/eins", write=True) as tx:
        assert tx.apply(entry(changed(port, content="neu"))) == 4
    assert store.verify() == []
    store.close()
    connection = sqlite3.connect(path)
    moved = list(connection.execute("SELECT ns, seq, key, moved FROM journal ORDER BY ns, seq"))
    connection.close()
    assert moved == [
        (1, 1, "first-key", "m1"),
        (1, 2, None, "m2"),
        (1, 3, None, "m1"),
        (1, 4, None, "m2"),
        (2, 1, "first-key", "m1"),
    ]


def test_rows_of_an_old_store_have_no_links_and_neutral_fields(tmp_path: Path) -> None:
    """S2-1, S2-46, S2-54: records from before a field existed load without migration."""
    store = SqliteStorage(old_store(tmp_path))
    with store.begin("team/zwei", write=False) as tx:
        [row] = tx.find(Filter())
        assert tx.links((row.id,)) == []
        assert (row.polarity, row.superseded_by, row.updates, row.tags, row.metadata) == (0, "", (), (), {})
    store.close()


def test_the_file_from_before_a_migration_is_kept_beside_it(tmp_path: Path) -> None:
    path = old_store(tmp_path)
    SqliteStorage(path).close()
    kept = tmp_path / f"old.db.before-v{SCHEMA_VERSION}"
    assert shape(kept)["version"] == (1,)
    again = shape(kept)
    SqliteStorage(path).close()
    assert shape(kept) == again
    assert sorted(one.name for one in tmp_path.iterdir()) == ["old.db", kept.name]


def test_a_migration_that_fails_leaves_the_old_store(tmp_path: Path) -> None:
    path = old_store(tmp_path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE journal SET record = '{' WHERE ns = 2")
    connection.close()
    before = shape(path)
    with pytest.raises(StorageError):
        SqliteStorage(path)
    assert shape(path) == before


def test_the_schema_carries_our_mark(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    assert path.read_bytes()[68:72] == APPLICATION_ID.to_bytes(4, "big")
    assert schema().count("CREATE TABLE") == 10


# ---- erasure on the disk ----

SECRETS = ("zarathustrian", "Κρυφόλεξη", "秘密口令词", 'quo"ted\\slash', "überraschung")


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


def traces(folder: Path) -> list[str]:
    """Which of the secrets, or of their terms, still stand in any file."""
    everything = bytes_of(folder)
    found = []
    for secret in SECRETS:
        for form in (secret, secret.casefold(), json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
            if form.encode() in everything:
                found.append(form)
    return found + [term for term in ("秘密", "κρυφολεξη", "uberraschung") if term.encode() in everything]


def test_nothing_erased_is_left_in_any_byte_of_the_files(tmp_path: Path) -> None:
    """Rows, free pages, full text, journal and log, after growth, undo and many neighbours (port, I1)."""
    world = World(SqliteStorage(tmp_path / "store.db"))
    said = " and ".join(SECRETS)
    fields = {"subject": SECRETS[0], "tags": (SECRETS[1],), "metadata": {"k": SECRETS[3]}, "title": SECRETS[2]}
    first = world.add(replace(memory("m1", said), **fields), seed=1, hashes=("h1",))  # type: ignore[arg-type]
    for number in range(2, 60):
        world.add(memory(f"m{number}", f"neighbour {number} " + "filler " * (number % 17)), seed=number)
    row = first
    for number in range(8):
        text = f"{said} update {number} " + "more " * 40 * number
        grown = changed(row, content=text, embedding=f"e{number}")
        alias = AliasChange("m1", f"h-{number}", present=True)
        world.apply(grown, alias, vectors={f"e{number}": vector(1000 + number)})
        assert grown.after is not None
        row = grown.after
        world.add(memory(f"n{number}", "between " * 30))
    world.apply(changed(row, status="archived"))
    row = world.get("m1")
    world.apply(changed(row, status="active"), LinkChange(None, Link("m2", "m1", SECRETS[0])))
    world.apply(
        ConflictChange(None, conflict("k", "m1", "m3", excerpt_a=said)),
        dropped=memory("d1", said),
        memory_id="m1",
        outcome="duplicate",
    )
    vectors = [np.frombuffer(blob, "<f2") for (blob,) in raw(tmp_path, "SELECT vec FROM vector WHERE hash LIKE 'e%'")]
    assert set(SECRETS[:3]) <= set(traces(tmp_path)), "the test would see them"
    assert len(vectors) == 8

    with world.store.begin(NS, write=True) as tx:
        tx.erase(["m1"], entry(verb="erase", outcome="erased", memory_id="m1", memory_ids=("m1",), at=at(500)))

    assert traces(tmp_path) == []
    everything = bytes_of(tmp_path)
    assert not any(one.tobytes() in everything for one in vectors), "a vector tells what the text was about"
    assert world.store.verify() == []
    assert len(world.ids(Filter(statuses=ALL_STATUSES))) == 67
    assert world.match("neighbour", limit=100) and world.match("between", limit=100)
    world.store.close()
    assert traces(tmp_path) == []


def raw(folder: Path, sql: str) -> list[tuple[bytes]]:
    connection = sqlite3.connect(folder / "store.db")
    rows = list(connection.execute(sql))
    connection.close()
    return rows


def test_an_erasure_while_somebody_reads_is_wiped_by_the_next_write(tmp_path: Path) -> None:
    """A reader's snapshot keeps the log alive; the promise is kept as soon as it ends."""
    world = World(SqliteStorage(tmp_path / "store.db", busy_seconds=0.05))
    world.add(memory("m1", SECRETS[0]))
    world.add(memory("m2", "other"))
    with world.store.begin(NS, write=False) as reader:
        reader.find(Filter())
        with world.store.begin(NS, write=True) as tx:
            tx.erase(["m1"], entry(verb="erase", memory_id="m1", memory_ids=("m1",)))
        assert reader.find(Filter(ids=("m1",)))[0].content == SECRETS[0], "its snapshot holds"
    world.apply()
    assert traces(tmp_path) == []
    world.store.close()


@contextmanager
def writing(path: Path) -> Iterator[Callable[[int], object]]:
    """An open store, and what writes a row of a number into it."""
    world = World(SqliteStorage(path, durability="relaxed"))
    try:
        yield lambda number: world.add(memory(f"n{number}", f"row {number}"), seed=number)
    finally:
        world.store.close()


@pytest.mark.parametrize("left", [0, 50, 4096, 0.5, 0.9])
def test_a_file_cut_off_under_a_running_process_is_told_of_at_the_next_write(left: float, tmp_path: Path) -> None:
    """SQLite looks only at the pages that it needs: five more writes were acknowledged before (security, "Also")."""
    path = made(tmp_path / "cut.db", rows=200)
    with writing(path) as write:
        write(201)
        size = path.stat().st_size
        os.truncate(path, int(left if left > 1 or left == 0 else size * left))
        for turn in range(2):
            with pytest.raises(Corrupt, match="cut off while it was open"):
                write(202 + turn)


def test_a_file_that_another_process_makes_shorter_is_written_on(tmp_path: Path) -> None:
    path = made(tmp_path / "short.db", rows=200)
    with writing(path) as write:
        write(201)
        before = path.stat().st_size
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE wide AS SELECT randomblob(200000) AS bytes")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        write(202)
        grown = path.stat().st_size
        assert grown > before
        with closing(sqlite3.connect(path)) as other:
            other.execute("DROP TABLE wide")
            other.execute("VACUUM")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.stat().st_size < grown
        write(203)
