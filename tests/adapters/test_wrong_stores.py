"""Foreign files and broken stores are refused with what, where and what to do (issue 4, 8; host rule A3)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import wellkept
from adapters import foreign_stores
from wellkept.adapters import read
from wellkept.errors import (
    Busy,
    Corrupt,
    InvalidField,
    NotAStore,
    SchemaTooNew,
    StorePathError,
    WellkeptError,
)

Break = Callable[[Path], Path]


def written(name: str, data: bytes | str = b"") -> Break:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return make


def with_tables(script: str, name: str = "some.db") -> Break:
    def make(folder: Path) -> Path:
        with closing(sqlite3.connect(folder / name)) as connection:
            connection.executescript(script)
        return folder / name

    return make


def folder_with(*names: str) -> Break:
    def make(folder: Path) -> Path:
        for name in names:
            (folder / "store" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "store" / name).write_text("something")
        return folder / "store"

    return make


def cut(folder: Path) -> Path:
    path = foreign_stores.mcp_memory_service(folder)
    path.write_bytes(path.read_bytes()[:-4096])
    return path


def scrambled(folder: Path) -> Path:
    path = foreign_stores.mcp_memory_service(folder)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x17" * (len(data) - 4096)
    path.write_bytes(data)
    return path


def own_store(folder: Path) -> Path:
    with wellkept.open(str(folder / "own.db"), embedder="hashing") as store:
        store.remember("Tea is upstairs.")
    return folder / "own.db"


def own_export(folder: Path) -> Path:
    with wellkept.open("memory:", embedder="hashing") as store:
        store.remember("Tea is upstairs.")
        store.export(folder / "all.jsonl")
    return folder / "all.jsonl"


def empty_folder(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def changed_chroma(folder: Path) -> Path:
    path = foreign_stores.chroma(folder)
    with closing(sqlite3.connect(path / "chroma.sqlite3")) as connection:
        connection.execute("ALTER TABLE embedding_metadata RENAME COLUMN string_value TO text_value")
    return path


def emptied(folder: Path) -> Path:
    path = foreign_stores.mcp_memory_service(folder)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM memories")
        connection.commit()
    return path


def newer_sqlite(folder: Path) -> Path:
    path = foreign_stores.mcp_memory_service(folder)
    data = bytearray(path.read_bytes())
    data[18:20] = b"\x03\x03"
    path.write_bytes(data)
    return path


def empty_qdrant(folder: Path) -> Path:
    (folder / "store" / "collection").mkdir(parents=True)
    (folder / "store" / "meta.json").write_text("{}")
    return folder / "store"


def dbm_qdrant(folder: Path) -> Path:
    path = empty_qdrant(folder)
    (path / "collection" / "mem0").mkdir()
    (path / "collection" / "mem0" / "storage.dbm").write_bytes(b"")
    return path


WRONG: list[tuple[str, Break, type[WellkeptError], str]] = [
    ("nothing there", lambda folder: folder / "none", StorePathError, "there is no such file or folder"),
    ("empty file", written("a.db"), NotAStore, "is empty"),
    ("empty folder", empty_folder, NotAStore, "is an empty folder"),
    ("picture", written("a.png", b"\x89PNG\r\n\x1a\n\x00\x01"), NotAStore, "is not a known kind of store"),
    ("text", written("a.txt", "some words"), NotAStore, "is not a known kind of store"),
    ("other folder", folder_with("a.txt"), NotAStore, "is not a known kind of store"),
    ("other database", with_tables("CREATE TABLE songs (a)"), NotAStore, "its tables: songs"),
    ("only the header", written("a.db", b"SQLite format 3\x00\x10\x00"), Corrupt, "is truncated"),
    ("cut off", cut, Corrupt, "is truncated"),
    ("scrambled", scrambled, Corrupt, "is damaged"),
    ("newer SQLite", newer_sqlite, SchemaTooNew, "newer SQLite format"),
    ("own store", own_store, NotAStore, "is a Wellkept store already"),
    ("own export", own_export, NotAStore, "is an export of Wellkept"),
    ("no rows", emptied, NotAStore, "holds no memories"),
    ("newer Chroma", changed_chroma, SchemaTooNew, "no embedding_metadata.string_value"),
    ("old Chroma", folder_with("chroma-embeddings.parquet"), NotAStore, "Chroma before 0.4"),
    ("Qdrant server", folder_with("raft_state.json"), NotAStore, "storage of a Qdrant server"),
    ("Qdrant without collections", empty_qdrant, NotAStore, "holds no collection"),
    ("Qdrant in dbm", dbm_qdrant, SchemaTooNew, "dbm format"),
    ("newer service", with_tables("CREATE TABLE memories (content, content_hash)"), SchemaTooNew, "another layout"),
    (
        "a view in the place of a table",
        with_tables("CREATE TABLE x (a); CREATE VIEW memories AS SELECT 1 AS content, 2 AS content_hash FROM x"),
        NotAStore,
        "its tables: x",
    ),
]


@pytest.mark.parametrize(("make", "error", "words"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_it_says_what_is_wrong_where_and_what_to_do(
    make: Break, error: type[WellkeptError], words: str, tmp_path: Path
) -> None:
    path = make(tmp_path)
    with pytest.raises(error) as told:
        list(read(path))
    assert words in told.value.what
    assert str(path) in told.value.where
    assert told.value.todo


def test_a_format_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidField, match="mem0-history"):
        list(read(foreign_stores.json_lines(tmp_path), format="mem1"))


def test_a_store_that_somebody_has_locked_is_busy(tmp_path: Path) -> None:
    path = foreign_stores.mem0_history(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Busy, match="is locked by another program"):
            list(read(path))
        writer.execute("ROLLBACK")
    assert list(read(path))


@pytest.mark.parametrize("at", [60, 100, 120])
def test_one_damaged_point_costs_only_itself(at: int, tmp_path: Path) -> None:
    """S4-14: and it is no way to run anything, see test_pickles."""
    path = foreign_stores.mem0(tmp_path / "mem0")
    with closing(sqlite3.connect(path / "collection" / "mem0" / "storage.sqlite")) as connection:
        point = connection.execute("SELECT point FROM points WHERE rowid = 1").fetchone()[0]
        connection.execute("UPDATE points SET point = ? WHERE rowid = 1", (point[:at],))
        connection.commit()
    rows = list(read(path))
    assert [row.new is None for row in rows].count(True) == 1
    assert len(rows) == 9


def test_a_loop_of_links_in_a_folder_of_notes_ends(tmp_path: Path) -> None:
    path = foreign_stores.notes(tmp_path / "notes")
    (path / "again").symlink_to(path, target_is_directory=True)
    (path / "outside.md").symlink_to("/etc/hostname")
    assert len(list(read(path))) == 7
