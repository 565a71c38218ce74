"""A7: a folder of Chroma in the field format of AI-Houkai arrives with what its memories were to each other."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import wellkept
from adapters import foreign_stores
from stores import LIGHT, desk
from wellkept.adapters import read
from wellkept.engine.transfer.audit import owned
from wellkept.types import ALL_STATUSES, Filter

SEGMENT = "0d35637a-9882-45f4-951a-8290d0fb37e5"
"""Of the second collection of the fixture."""
EVERYTHING = Filter(statuses=ALL_STATUSES)


def folder_with(folder: Path, *memories: dict[str, object]) -> Path:
    """A folder of Chroma with these memories alone: `id`, `text`, and metadata as AI-Houkai writes it."""
    foreign_stores.chroma(folder)
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database:
        database.execute("DELETE FROM embedding_metadata")
        database.execute("DELETE FROM embeddings")
        for number, memory in enumerate(memories, start=1):
            at = f"2026-01-0{number} 09:00:00"
            database.execute("INSERT INTO embeddings VALUES (?, ?, ?, ?, ?)", (number, SEGMENT, memory["id"], 1, at))
            told = {"chroma:document": memory["text"], **{k: v for k, v in memory.items() if k not in ("id", "text")}}
            for key, value in told.items():
                cells = [value if isinstance(value, kind) else None for kind in (str, int, float)]
                row = (number, key, *cells, None)
                database.execute("INSERT INTO embedding_metadata VALUES (?, ?, ?, ?, ?, ?)", row)
        database.commit()
    return folder


HOUKAI = (
    {
        "id": "a8", "text": "Use ruff for linting.", "type": "semantic", "importance": 0.9, "tags": '["lint"]',
        "polarity": 1, "superseded_by": "d2", "superseded_at": 1_767_700_000.0, "links": "[]",
        "access_count": 7, "last_accessed": 1_767_603_600.0,
    },
    {
        "id": "d2", "text": "The office moved to Lisbon.", "type": "semantic", "importance": 0.4,
        "tags": '["lint", "team"]',
        "polarity": -1, "superseded_by": "", "superseded_at": 0.0,
        "links": '[{"to": "a8", "rel": "refines"}, {"to": "e5", "rel": "example_of"}, {"to": "gone", "rel": "x"}]',
    },
    {"id": "e5", "text": "Backups run on Sundays.", "type": "procedural", "superseded_by": "deleted", "links": "none"},
)  # fmt: skip


@pytest.fixture
def table(tmp_path: Path):
    made = desk(LIGHT, tmp_path)
    yield made
    made.store.close()


def taken(table, folder: Path):
    return table.store.take_over(owned(read(folder), table.store.namespace, key=""))


def by_text(store: wellkept.MemoryStore) -> dict[str, wellkept.Memory]:
    return {row.content.split()[0]: row for row in store.list(EVERYTHING)}


def test_what_was_superseded_arrives_superseded_with_links_importance_tags_and_polarity(table, tmp_path):
    report = taken(table, folder_with(tmp_path / "chroma", *HOUKAI))
    assert dict(report.counts) == {"created": 3}
    rows = by_text(table.store)
    old, new, lost = rows["Use"], rows["The"], rows["Backups"]
    assert (old.status, old.superseded_by) == ("superseded", new.id)
    assert old.superseded_at == datetime.fromtimestamp(1_767_700_000, UTC)
    assert (old.importance, old.tags, old.polarity, old.access_count) == (0.9, ("lint",), 1, 7)
    assert old.last_accessed_at == datetime(2026, 1, 5, 9, tzinfo=UTC)
    assert (new.status, new.importance, new.tags, new.polarity) == ("active", 0.4, ("lint", "team"), -1)
    assert (lost.status, lost.kind) == ("archived", "procedural"), "what replaced it was deleted there"
    edges = {("supersedes", old.id), ("refines", old.id), ("example_of", lost.id)}
    assert {(rel, dst) for src, dst, rel in table.store.subgraph([new.id]).edges if src == new.id} == edges
    assert table.store.verify() == ()


def test_the_same_folder_again_changes_nothing_and_leaves_what_somebody_has_restored(table, tmp_path):
    """I5."""
    folder = folder_with(tmp_path / "chroma", *HOUKAI)
    taken(table, folder)
    before = table.snapshot()
    assert dict(taken(table, folder).counts) == {"replayed": 3}
    assert table.snapshot() == before
    old = by_text(table.store)["Use"]
    table.store.restore(old.id)
    taken(table, folder)
    assert table.store.get(old.id, touch=False).status == "active"


def test_a_run_is_taken_back_with_its_relations_and_brings_them_again(table, tmp_path):
    folder = folder_with(tmp_path / "chroma", *HOUKAI)
    report = taken(table, folder)
    table.store.undo_run(report.run_id)
    assert table.store.list(EVERYTHING) == ()
    taken(table, folder)
    assert by_text(table.store)["Use"].status == "superseded"


def test_relations_that_an_interrupted_import_left_out_come_with_the_next(table, tmp_path):
    folder = folder_with(tmp_path / "chroma", *HOUKAI)
    rows = owned(read(folder), table.store.namespace, key="")

    def cut_off():
        yield next(rows)
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        table.store.take_over(cut_off())
    assert [row.status for row in table.store.list(EVERYTHING)] in ([], ["active"])
    taken(table, folder)
    assert by_text(table.store)["Use"].status == "superseded"


@pytest.mark.parametrize(("by", "found"), [("d2", 0), ("", 1)])
def test_what_is_superseded_there_is_no_conflict_of_an_audit(table, tmp_path, by, found):
    old = {"id": "a8", "text": "Use ruff for linting.", "superseded_by": by}
    new = {"id": "d2", "text": "Use flake8 for linting."}
    table.near(old["text"], new["text"], 0.9)
    folder = folder_with(tmp_path / "chroma", old, new)
    report = table.store.audit(owned(read(folder), table.store.namespace, key=""))
    assert (report.memories, report.conflicts) == (2, found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"superseded_by": "a8"}, {}),
        ({"superseded_by": "d2"}, {"superseded_by": "a8"}),
        ({"links": '[{"to": "a8", "rel": "refines"}]'}, {"links": '[5, {"to": 7}, {"to": "a8", "rel": "a\\nb"}]'}),
        ({"links": "[" * 5_000}, {"tags": "[" * 5_000, "polarity": 99, "importance": 9.5, "access_count": -3}),
    ],
)  # fmt: skip
def test_relations_that_cannot_be_kept_leave_a_sound_store_and_lose_no_text(table, tmp_path, one, other):
    pair = [{"id": "a8", "text": "Use ruff for linting.", **one}, {"id": "d2", "text": "The office moved.", **other}]
    taken(table, folder_with(tmp_path / "chroma", *pair))
    assert sorted(by_text(table.store)) == ["The", "Use"]
    assert table.store.verify() == ()
    assert json.dumps([row.status for row in table.store.list(EVERYTHING)]).count("active") >= 1


def test_a_repeat_of_what_an_agent_said_never_hides_that(table, tmp_path):
    """I1: the memory represents this text too."""
    table.store.remember("Use ruff for linting.")
    taken(table, folder_with(tmp_path / "chroma", *HOUKAI))
    assert by_text(table.store)["Use"].status == "active"
