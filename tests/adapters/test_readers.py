"""Every foreign store, as its own tool made it, is read whole and left without a trace (issue 4, 8)."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters import foreign_stores
from wellkept.adapters import FORMATS, read, recognise
from wellkept.engine.transfer.import_lines import ImportSpec, Row
from wellkept.errors import InvalidInput
from wellkept.policy import Policy

Make = Callable[[Path], Path]
STORES: dict[str, Make] = {
    "mem0": foreign_stores.mem0,
    "mem0-history": foreign_stores.mem0_history,
    "mcp-memory-service": foreign_stores.mcp_memory_service,
    "mcp-server-memory": foreign_stores.mcp_server_memory,
    "chroma": foreign_stores.chroma,
    "markdown": foreign_stores.notes,
    "jsonl": foreign_stores.json_lines,
}
TEXTS = [
    "The build takes nine minutes.",
    "the build takes nine minutes",
    "Reviews need three approvals.",
    "Deploys happen on Monday.",
    "Deploys happen on Friday.",
    "ok, thanks",
    "Der Build läuft nachts auf einem eigenen Rechner.",
    "测试数据库监听端口 5433。",
]


@pytest.fixture(params=sorted(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Each store once: its format and where it is."""
    name: str = request.param
    return name, STORES[name](tmp_path / "store")


def texts(rows: list[Row]) -> list[str]:
    return [row.new.content for row in rows if row.new is not None]


def fields(row: Row) -> dict[str, Any]:
    assert row.new is not None, row.error
    return {name: getattr(row.new, name) for name in row.new.__dataclass_fields__} | {"owner": row.outer.get("owner")}


def imprint(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file below a folder: what it holds and when it was changed."""
    return {
        path.relative_to(folder).as_posix(): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder",
            path.stat().st_mtime_ns,
        )
        for path in sorted(folder.rglob("*"))
    }


def test_every_format_has_a_store_here() -> None:
    assert STORES.keys() == FORMATS.keys()


def test_a_store_is_known_by_what_it_holds(store: tuple[str, Path]) -> None:
    name, path = store
    assert recognise(path).format.name == name


def test_reading_leaves_no_trace(store: tuple[str, Path], tmp_path: Path) -> None:
    _, path = store
    before = imprint(tmp_path)
    assert texts(list(read(path)))
    assert imprint(tmp_path) == before


def test_a_store_that_may_not_be_written_is_read(store: tuple[str, Path], tmp_path: Path) -> None:
    _, path = store
    for one in [tmp_path, *tmp_path.rglob("*")]:
        os.chmod(one, 0o555 if one.is_dir() else 0o444)
    try:
        assert texts(list(read(path)))
    finally:
        for one in [tmp_path, *tmp_path.rglob("*")]:
            os.chmod(one, 0o755)


def test_two_readings_give_the_same_rows_under_the_same_keys(store: tuple[str, Path]) -> None:
    """I5: the keys are what makes a second import a no-op; no two rows share one."""
    _, path = store
    once, again = list(read(path)), list(read(path))
    assert [row.new for row in once] == [row.new for row in again]
    keys = [row.new.idempotency_key for row in once if row.new is not None]
    assert len(set(keys)) == len(keys)


def test_a_limit_is_a_limit(store: tuple[str, Path]) -> None:
    _, path = store
    assert len(list(read(path, spec=ImportSpec(limit=3)))) == 3


def test_ids_are_kept_as_provenance(store: tuple[str, Path]) -> None:
    name, path = store
    if name == "jsonl":  # a line has no id that is known to be one
        path.write_text('{"id": "n1", "text": "Tea is upstairs."}\n')
        (row,) = read(path, spec=ImportSpec(mapping={"source": "id"}))
        assert fields(row)["source"] == "n1"
        return
    for row in read(path):
        if row.new is not None:
            (origin,) = row.new.provenance
            assert origin == f"{name}:{row.outer['id']}"


def test_fields_can_be_mapped_and_fixed_as_in_an_import(tmp_path: Path) -> None:
    path = foreign_stores.chroma(tmp_path / "chroma")
    spec = ImportSpec(mapping={"subject": "metadata.topic", "agent": "owner"}, fixed={"kind": "lesson"})
    found = {row.new.content: row.new for row in read(path, spec=spec) if row.new is not None}
    assert found[TEXTS[3]].subject == "deploy"
    assert (found[TEXTS[3]].agent, found[TEXTS[3]].kind) == ("notes", "lesson")


# --------------------------------------------------------------------------------------------
# Tool by tool


def test_mem0_gives_what_holds_now_with_owner_and_payload(tmp_path: Path) -> None:
    rows = list(read(foreign_stores.mem0(tmp_path / "mem0")))
    assert sorted(texts(rows)) == sorted([*TEXTS, TEXTS[0]])  # updated texts once, deleted ones not
    first = fields(rows[0])
    assert (first["owner"], first["agent"]) == ("alice", "coder")
    assert first["metadata"]["topic"] == "ci"
    assert first["metadata"]["weights"] == [1, 2.5, True, None]
    assert not {"hash", "text_lemmatized", "data"} & first["metadata"].keys()
    assert [row.outer["owner"] for row in rows].count("bob") == 1


def test_mem0_gives_an_updated_text_the_time_of_its_update(tmp_path: Path) -> None:
    rows = [fields(row) for row in read(foreign_stores.mem0(tmp_path / "mem0"))]
    times = [row["recorded_at"] for row in rows]
    assert times == sorted(times)
    assert rows[-1]["content"] == "Reviews need three approvals."
    assert rows[-1]["metadata"]["created_at"] < rows[-1]["recorded_at"].isoformat()


def test_an_older_copy_of_a_qdrant_point_is_left_out(tmp_path: Path) -> None:
    """qdrant-client keeps a point twice where its key is spelled in two ways; the later row counts."""
    path = foreign_stores.mem0(tmp_path / "mem0")
    with closing(sqlite3.connect(path / "collection" / "mem0" / "storage.sqlite")) as connection:
        point = connection.execute("SELECT point FROM points ORDER BY rowid LIMIT 1").fetchone()[0]
        newer = point.replace(b"The build takes nine minutes.", b"The build takes five minutes.")
        assert newer != point
        connection.execute("INSERT INTO points VALUES ('another spelling', ?)", (newer,))
        connection.commit()
    found = texts([row for row in read(path) if row.outer.get("owner") == "alice"])
    assert "The build takes five minutes." in found
    assert TEXTS[0] not in found


def test_mem0s_own_books_are_no_memories(tmp_path: Path) -> None:
    path = foreign_stores.mem0(tmp_path / "mem0")
    for name in ("mem0migrations", "mem0_entities"):
        copy = path / "collection" / name / "storage.sqlite"
        copy.parent.mkdir()
        copy.write_bytes((path / "collection" / "mem0" / "storage.sqlite").read_bytes())
    assert len(texts(list(read(path)))) == 9


def test_the_history_of_mem0_gives_the_last_text_of_each_memory(tmp_path: Path) -> None:
    rows = [fields(row) for row in read(foreign_stores.mem0_history(tmp_path))]
    assert sorted(row["content"] for row in rows) == sorted([*TEXTS, TEXTS[0]])
    changed = next(row for row in rows if row["content"] == "Reviews need three approvals.")
    assert changed["metadata"]["versions"] == 2


def test_mcp_memory_service_is_read_without_its_extension(tmp_path: Path) -> None:
    path = foreign_stores.mcp_memory_service(tmp_path)
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.OperationalError, match="vec0"):
        connection.execute("SELECT * FROM memory_embeddings")  # it does need it
    rows = [fields(row) for row in read(path)]
    assert [row["content"] for row in rows] == [*TEXTS[:2], "Reviews need two approvals.", *TEXTS[3:]]
    assert rows[0]["tags"] == ("ci",)
    assert rows[5]["tags"] == ()  # `untagged` is no tag
    assert rows[2]["kind"] == "decision"
    assert rows[0]["metadata"] == {"by": "ann", "memory_type": "observation"}
    assert rows[0]["recorded_at"].isoformat() == "2026-01-05T09:00:00+00:00"


def test_an_older_layout_of_mcp_memory_service_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT, content TEXT, tags TEXT,"
            " memory_type TEXT, metadata TEXT, created_at REAL);"
            "INSERT INTO memories VALUES (1, 'a1', 'Tea is upstairs.', 'tea', NULL, 'no json', NULL);"
        )
    (row,) = read(path)
    assert fields(row)["content"] == "Tea is upstairs."
    assert fields(row)["metadata"] == {"metadata": "no json"}


def test_chroma_gives_documents_with_their_metadata_by_collection(tmp_path: Path) -> None:
    rows = list(read(foreign_stores.chroma(tmp_path / "chroma")))
    assert sorted(texts(rows)) == sorted([*TEXTS, TEXTS[0]])
    assert [row.outer["owner"] for row in rows if row.new is not None].count("notes") == 8
    first = fields(next(row for row in rows if row.outer.get("id") == "n1"))
    assert first["metadata"]["pages"] == 3
    assert first["metadata"]["share"] == 0.5
    assert first["metadata"]["checked"] is True
    assert first["recorded_at"].isoformat() == "2026-01-05T09:00:00+00:00"


def test_a_vector_without_a_document_is_told(tmp_path: Path) -> None:
    bad = [row for row in read(foreign_stores.chroma(tmp_path / "chroma")) if row.new is None]
    assert [str(row.error) for row in bad] == ["has a vector but no document (bare)."]


def test_observations_are_memories_about_their_entity_and_relations_are_texts(tmp_path: Path) -> None:
    rows = [fields(row) for row in read(foreign_stores.mcp_server_memory(tmp_path))]
    assert [(row["subject"], row["content"]) for row in rows] == [
        ("Build", "takes nine minutes"),
        ("Build", "Takes nine minutes."),
        ("Build", "runs on a machine of its own"),
        ("Ana", "prefers tabs"),
        ("Ana", "lives in Lisboa"),
        ("Ana", "works at Acme"),
        ("Ana", "prefers spaces"),
        ("测试数据库", "监听端口 5433"),
        ("Ana", "Ana works at Acme"),
    ]
    assert rows[0]["tags"] == ("process",)
    assert rows[-1]["metadata"]["relation"] == {"from": "Ana", "to": "Acme", "type": "works_at"}


def test_a_bad_line_of_a_graph_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    """S4-14: one bad item never stops the rest."""
    path = tmp_path / "memory.jsonl"
    good = '{"type":"entity","name":"Ana","entityType":"person","observations":["drinks tea", 7]}'
    path.write_bytes(
        good.encode() + b'\nnot json\n{"type":"other"}\n\n\xff\xfe{\n' + good.replace("tea", "mate").encode()
    )
    rows = list(read(path))
    assert texts(rows) == ["drinks tea", "drinks mate"]
    assert [type(row.error).__name__ for row in rows if row.error is not None] == [
        "InvalidInput",  # an observation that is no text
        "InvalidInput",
        "InvalidInput",
        "InvalidText",
        "InvalidInput",
    ]


def test_a_kind_that_the_policy_does_not_know_is_no_reason_to_refuse(tmp_path: Path) -> None:
    kinds = {name: kind for name, kind in Policy().kinds.items() if name != "decision"}
    rows = list(read(foreign_stores.mcp_memory_service(tmp_path), policy=Policy(kinds=kinds)))
    assert {fields(row)["kind"] for row in rows} == {"semantic"}


def test_a_foreign_row_that_is_no_memory_of_ours_is_told(tmp_path: Path) -> None:
    path = foreign_stores.mcp_memory_service(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE memories SET content = 'a' || char(0) || 'b' WHERE id = 1")
        connection.execute("UPDATE memories SET content = '  ' WHERE id = 2")
        connection.execute("UPDATE memories SET content = CAST(x'ff41' AS TEXT) WHERE id = 3")
        connection.commit()
    rows = list(read(path))
    assert [isinstance(row.error, InvalidInput) for row in rows] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
        False,
    ]


def test_what_stands_in_a_write_ahead_log_is_read_and_left_there(tmp_path: Path) -> None:
    """A running agent's newest memories are in the log; opening the file alone would miss them."""
    path = foreign_stores.mcp_memory_service(tmp_path)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO memories (content_hash, content, created_at) VALUES ('x', 'Only in the log.', 2e9)")
        writer.commit()
        assert Path(f"{path}-wal").stat().st_size
        before = imprint(tmp_path)
        assert "Only in the log." in texts(list(read(path)))
        assert imprint(tmp_path) == before


def test_ids_say_nothing_that_a_report_would_hide(tmp_path: Path) -> None:
    """S1-16: ids stand in reports and plans, so they hold no words of the memory."""
    path = tmp_path / "memory.jsonl"
    said = "the password is\\nhunter2"
    path.write_text(f'{{"type":"entity","name":"Ana","entityType":"person","observations":["{said}"]}}')
    (row,) = read(path)
    assert fields(row)["content"] == "the password is\nhunter2"
    assert not any("hunter2" in one for one in (*fields(row)["provenance"], row.outer["id"]))
