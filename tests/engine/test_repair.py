"""A store file is damaged through SQLite in many ways: `verify` reports it, `repair` mends it as far as possible."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import wellkept
from stores import Desk, desk
from wellkept.engine.gate.acts import apply
from wellkept.engine.upkeep.repairing import RepairReport, repair
from wellkept.errors import ModelUnavailable, StorageError, WellkeptError
from wellkept.testing.clock import CountingIds
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Conflict, ConflictChange, Filter, Link, LinkChange, MemoryChange

TEXTS = (
    "A text about apples",
    "A text about bridges",
    "A text about candles",
    "Use ruff for linting",
    "Use flake8 for linting",
)


def filled(folder: Path, backend: str = "sqlite") -> Desk:
    """Five memories, one of them superseded, one link, one conflict, ten entries or so."""
    table = desk(backend, folder)
    table.near(TEXTS[3], TEXTS[4], 0.9)
    for text in TEXTS:
        table.store.remember(text)
    a, b, c, *_ = table.store.list()
    table.store.supersede(a.id, b.id)
    table.store.link(b.id, c.id, "refines")
    assert len(table.store.conflicts()) == 1
    assert table.store.verify() == ()
    return table


def again(table: Desk) -> wellkept.MemoryStore:
    """The same file, opened by another process as it were."""
    assert table.path is not None
    ids = CountingIds(first=1000)
    return wellkept.open(
        str(table.path), embedder=table.fake, clock=table.clock, new_id=ids, relation_model=FakeRelationModel()
    )


def damaged(table: Desk, *statements: str) -> wellkept.MemoryStore:
    table.store.close()
    with sqlite3.connect(str(table.path), isolation_level=None) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return again(table)


def mended(store: wellkept.MemoryStore, *, dry_run: bool = False) -> RepairReport:
    return repair(store._ctx, dry_run=dry_run)


OLDEST = "(SELECT id FROM memory ORDER BY id LIMIT 1)"
SECOND = "(SELECT id FROM memory ORDER BY id LIMIT 1 OFFSET 1)"
SUPERSEDED = "id = (SELECT id FROM memory WHERE status = 'superseded')"

MENDABLE = {
    "a vector is gone": (
        "DELETE FROM vector WHERE place = 1",
        "has no vector of the store's embedder",
    ),
    "all vectors are gone": ("DELETE FROM vector", "has no vector"),
    "a vector is cut off": ("UPDATE vector SET vec = x'00' WHERE place = 2", "a vector of a wrong length"),
    "a vector has no length": (
        "UPDATE vector SET vec = zeroblob(length(vec)) WHERE place = 2",
        "not of unit length or not finite",
    ),
    "a vector is not finite": (
        "UPDATE vector SET vec = CAST(x'007c' || substr(vec, 3) AS BLOB) WHERE place = 2",
        "not of unit length or not finite",
    ),
    "a hash is gone": (
        f"DELETE FROM alias WHERE id = {SECOND} AND hash LIKE 'content:%'",
        "is not found by the hashes of its own text",
    ),
    "all hashes are gone": ("DELETE FROM alias", "is not found by the hashes of its own text"),
    "a hash leads nowhere": ("INSERT INTO alias VALUES (1, 'content:x', 'nobody')", "a hash of memory nobody"),
    "the supersedes link is gone": ("DELETE FROM link WHERE rel = 'supersedes'", "without a `supersedes` link"),
    "a link leads nowhere": (
        f"INSERT INTO link VALUES (1, {OLDEST}, 'nobody', 'refines', NULL)",
        "one end does not exist",
    ),
    "a link leads to itself": (f"INSERT INTO link VALUES (1, {SECOND}, {SECOND}, 'related', NULL)", "leads to itself"),
    "a link says superseded of an active memory": (
        f"INSERT INTO link SELECT 1, max(id), {SECOND}, 'supersedes', NULL FROM memory",
        "what it says to be superseded is active",
    ),
    "a link's time is no time": ("UPDATE link SET created_at = 'noon' WHERE rel = 'refines'", "its time cannot be"),
    "a pointer leads nowhere": (
        f"UPDATE memory SET record = json_set(record, '$.superseded_by', 'nobody') WHERE {SUPERSEDED}",
        "is superseded by a memory that does not exist",
    ),
    "a pointer leads to itself": (
        f"UPDATE memory SET record = json_set(record, '$.superseded_by', id) WHERE {SUPERSEDED}",
        "is superseded by itself",
    ),
    "a superseded memory was made active": (
        f"UPDATE memory SET record = json_set(record, '$.status', 'active') WHERE {SUPERSEDED}",
        "its columns do not repeat its record (status)",
    ),
    "a text was changed": (
        f"UPDATE memory SET record = replace(record, 'apples', 'pears') WHERE id = {OLDEST}",
        "is not what its last journal entry left",
    ),
    "a column was changed": ("UPDATE memory SET kind = 'fact' WHERE place = 2", "do not repeat its record (kind)"),
    "a status column was changed": (
        "UPDATE memory SET status = 'archived' WHERE place = 2",
        "do not repeat its record (status)",
    ),
    "a use has no time": ("UPDATE memory SET last_accessed_at = 'noon' WHERE place = 2", "when it was last used"),
    "the full text is gone": ("INSERT INTO words (words) VALUES ('delete-all')", "not found by all their words"),
    "the full text holds more": (
        "INSERT INTO words (rowid, terms) VALUES (77, '1_nothing')",
        "rows that are not active memories",
    ),
    "the full text's rows are gone": ("DELETE FROM words_data WHERE id > 10", "full text"),
    "a conflict has another memory in its column": ("UPDATE conflict SET a = 'x'", "do not repeat its record"),
    "a conflict has another key": (
        "UPDATE conflict SET key = 'x', record = json_set(record, '$.key', 'x')",
        "has the key of another pair",
    ),
    "a conflict is about nobody": (
        "UPDATE conflict SET a = 'nobody', record = json_set(record, '$.a', 'nobody')",
        "has the key of another pair",
    ),
    "a conflict cannot be read": ("UPDATE conflict SET record = '{}'", "it cannot be read"),
    "a settled conflict has no time": (
        "UPDATE conflict SET record = json_set(record, '$.resolution', 'keep_both')",
        "is settled at no time",
    ),
    "the counter of the journal is wrong": ("UPDATE namespace SET seq = seq - 1", "its journal holds"),
}


@pytest.mark.parametrize("name", MENDABLE)
def test_damage_is_named_by_verify_and_mended_by_repair(name: str, tmp_path: Path) -> None:
    """S1-12, I1, I5: dry by default; then it is mended, verify is clean, and again there is nothing to do."""
    table = filled(tmp_path)
    contents = {row.content for row in table.store.list()}
    statement, what = MENDABLE[name]
    with damaged(table, statement) as store:
        before = _dump(table.path)
        found = store.verify()
        assert any(what in problem.what for problem in found), found
        assert all(problem.todo for problem in found)
        planned = mended(store, dry_run=True)
        assert planned.dry_run and planned.mends and _dump(table.path) == before, "a dry run writes nothing"
        done = mended(store)
        assert done.mends and done.left == (), done
        assert store.verify() == ()
        assert contents - {"A text about apples"} <= {row.content for row in store.list()}, "nothing is lost"
        for row in store.list():
            assert row.id in {hit.memory.id for hit in store.recall(row.content, limit=2)}
        now = _dump(table.path)
        assert mended(store) == RepairReport(dry_run=False, mends=(), left=())
        assert _dump(table.path) == now, "repair again changes nothing"


HOPELESS = {
    "a journal entry is gone": ("DELETE FROM journal WHERE seq = 3", "entries are missing: 3", "Restore a backup"),
    "a journal entry has another number": (
        "UPDATE journal SET seq = 99 WHERE seq = 3",
        "entries are missing: 3",
        "Restore a backup",
    ),
    "a journal entry cannot be read": (
        "UPDATE journal SET record = 'x' WHERE seq = 2",
        "journal entry 2: it cannot be read",
        "Restore a backup",
    ),
    "a journal entry was rewritten": (
        # Entry 6 is the supersession: it found the apples, and no entry had left pears.
        "UPDATE journal SET record = replace(record, 'apples', 'pears') WHERE seq = 6",
        "in a state no entry had left",
        "Restore a backup",
    ),
    "a memory is gone": (f"DELETE FROM memory WHERE id = {SECOND}", "the journal left it, and it is not there", "Rest"),
    "a memory is of another namespace": (
        "UPDATE memory SET record = json_set(record, '$.namespace', 'x') WHERE place = 2",
        "do not repeat its record",
        "Restore a backup",
    ),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_what_cannot_be_mended_is_said_with_the_way_out(name: str, tmp_path: Path) -> None:
    table = filled(tmp_path)
    statement, what, todo = HOPELESS[name]
    with damaged(table, statement) as store:
        assert any(what in problem.what for problem in store.verify()), store.verify()
        left = mended(store).left
        assert any(what in problem.what and todo in problem.todo for problem in left), left
        assert mended(store).left == left


def record(change: str) -> str:
    return f"UPDATE memory SET record = {change} WHERE place = 2"


UNREADABLE = {
    "cut off": record("substr(record, 1, 30)"),
    "nothing": record("''"),
    "another thing": record("'[]'"),
    "nested deeply": record(f"'{'[' * 5_000}'"),
    "a text that is a number": record("json_set(record, '$.content', 5)"),
    "a time before all times": record("json_set(record, '$.event_time', '0001-01-01T00:00:00+14:00')"),
    "a status that is none": record("json_set(record, '$.status', 'zombie')"),
    "a stance that is none": record("json_set(record, '$.polarity', 99)"),
    "a share that is a word": record("json_set(record, '$.confidence', 'x')"),
    "metadata that are a list": record("json_set(record, '$.metadata', json('[]'))"),
    "a field of its own": record("json_set(record, '$.unheard_of', 1)"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_memory_that_recall_cannot_read_is_told_and_set_aside_with_its_text(name: str, tmp_path: Path) -> None:
    """E2: until then it stops nothing but what reads it; afterwards nothing at all."""
    table = filled(tmp_path)
    table.store.in_namespace("other").remember("Tea is upstairs.")
    with damaged(table, UNREADABLE[name]) as store:
        [(_, held)] = [row for row in _rows(table.path) if row[0] == 2]
        assert len(store.in_namespace("other").recall("tea")) == 1
        linked = next(entry for entry in store.journal(after=store.stats().journal - 1) if entry.verb == "link")
        store.undo(store.undo(linked.seq))
        assert any("cannot be read" in problem.what and "repair" in problem.what for problem in store.verify())
        assert mended(store, dry_run=True).mends
        assert mended(store).left == ()
        assert store.verify() == ()
        [aside] = store.list(Filter(statuses=("archived",)))
        assert (aside.content, aside.tags) == (held or "(nothing)", ("unreadable",))
        assert len(store.recall("text about candles", limit=9, min_score=0)) >= 3
        assert mended(store) == RepairReport(dry_run=False, mends=(), left=())


def _rows(path: Path | None) -> list[tuple[int, str]]:
    with sqlite3.connect(str(path)) as connection:
        found = connection.execute("SELECT place, record FROM memory").fetchall()
    connection.close()
    return found


def test_several_kinds_of_damage_are_mended_at_once(tmp_path: Path) -> None:
    table = filled(tmp_path)
    several = (
        "DELETE FROM vector",
        "DELETE FROM alias",
        "DELETE FROM link WHERE rel = 'supersedes'",
        "INSERT INTO words (words) VALUES ('delete-all')",
        f"INSERT INTO link VALUES (1, {OLDEST}, 'nobody', 'refines', NULL)",
        "UPDATE memory SET kind = 'fact' WHERE place = 4",
    )
    with damaged(table, *several) as store:
        assert len({problem.what for problem in store.verify()}) >= 6
        assert mended(store).left == ()
        assert store.verify() == ()


# --------------------------------------------------------------------------------------------
# On every backend, planted through the write path


def plant(table: Desk, *effects: object) -> None:
    ctx = table.store._ctx
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        apply(ctx, tx, effects, verb="planted", outcome="planted", memory_id="")


def change(table: Desk, memory_id: str, **values: object) -> None:
    held = table.store.get(memory_id, touch=False)
    plant(table, MemoryChange(held, replace(held, version=held.version + 1, **values)))


def test_a_mend_is_an_entry_that_says_why_and_can_be_undone(table: Desk) -> None:
    """I1, I6."""
    row = table.store.remember(TEXTS[0]).memory
    table.store.link(row.id, "nobody", "refines")
    [mend] = mended(table.store).mends
    entry = table.store.journal()[-1]
    assert (entry.seq, entry.verb, entry.outcome) == (mend.entry, "repair", "mended")
    assert "one end does not exist" in entry.reasons[0].detail
    table.store.undo(mend.entry)
    assert [problem.what for problem in table.store.verify()] == ["one end does not exist"]


def test_a_row_superseded_by_nobody_is_current_again(table: Desk) -> None:
    """S2-30: a chain always ends at a row that is there."""
    row = table.store.remember(TEXTS[0]).memory
    change(table, row.id, status="superseded", superseded_by="nobody", superseded_at=table.clock())
    assert mended(table.store).left == ()
    assert table.rows("active") == [TEXTS[0]]


def test_a_circle_of_supersessions_is_opened_at_its_newest(table: Desk) -> None:
    """S2-31."""
    rows = []
    for text in TEXTS[:3]:
        table.clock.advance(minutes=1)
        rows.append(table.store.remember(text).memory)
    ids = [row.id for row in rows]
    for here, there in zip(ids, [*ids[1:], ids[0]], strict=True):
        change(table, here, status="superseded", superseded_by=there, superseded_at=table.clock())
    assert any("is superseded by itself, along" in problem.what for problem in table.store.verify())
    assert mended(table.store).left == ()
    assert table.rows("active") == [TEXTS[2]]
    assert table.store.get(ids[0]).superseded_by == ids[1], "the rest of the chain stays as it was"
    assert table.store.verify() == ()


def stand_behind(table: Desk, wording: str, head: str) -> None:
    change(table, wording, status="wording", superseded_by=head, superseded_at=table.clock())
    plant(table, LinkChange(None, Link(wording, head, "restates", table.clock())))


def test_a_wording_of_a_wording_is_put_behind_the_head(table: Desk) -> None:
    """I1: it is found by its own words again; the head keeps its text and its confirmations."""
    far, near, head = (table.store.remember(text).memory for text in TEXTS[:3])
    stand_behind(table, near.id, head.id)
    stand_behind(table, far.id, near.id)
    (problem,) = table.store.verify()
    assert (problem.where, problem.what) == (far.id, f"is a wording of {near.id}, which is a wording itself")
    before = table.store.get(head.id, touch=False)
    done = mended(table.store)
    assert ([mend.mend for mend in done.mends], done.left) == ([f"put behind {head.id}"], ())
    assert table.store.get(head.id, touch=False) == before
    links = [(link.src, link.dst) for link in table.snapshot()[1] if link.src == far.id]
    assert links == [(far.id, head.id)]
    assert [hit.memory.id for hit in table.store.recall(TEXTS[0])] == [head.id]
    assert table.store.verify() == () and mended(table.store).mends == ()
    table.store.undo(done.mends[0].entry)
    assert [one.what for one in table.store.verify()] == [problem.what]


@pytest.mark.parametrize("head", ["nobody", "a memory of another namespace"])
def test_a_wording_without_its_head_is_a_memory_of_its_own_again(table: Desk, head: str) -> None:
    """I1, I3."""
    row = table.store.remember(TEXTS[0]).memory
    other = table.store.in_namespace("elsewhere").remember(TEXTS[1]).memory
    change(table, row.id, status="wording", superseded_by=head if head == "nobody" else other.id)
    assert [one.what for one in table.store.verify()] == ["is a wording of a memory that does not exist"]
    assert mended(table.store).left == ()
    assert table.rows("active") == [TEXTS[0]]
    assert table.store.get(row.id).superseded_by == ""


@pytest.mark.parametrize(("statuses", "current"), [
    (("wording",), 0), (("wording", "wording"), 1), (("wording", "superseded"), 1), (("superseded", "wording"), 1),
])  # fmt: skip
def test_memories_that_hide_each_other_are_opened_at_the_newest(
    table: Desk, statuses: tuple[str, ...], current: int
) -> None:
    """S2-31."""
    rows = []
    for text in TEXTS[: len(statuses)]:
        table.clock.advance(minutes=1)
        rows.append(table.store.remember(text).memory.id)
    for place, status in enumerate(statuses):
        change(table, rows[place], status=status, superseded_by=rows[place - 1], superseded_at=table.clock())
    words = "a wording of" if statuses[current] == "wording" else "superseded by"
    assert any(one.where == rows[current] and f"is {words} itself" in one.what for one in table.store.verify())
    assert mended(table.store).left == ()
    assert table.rows("active") == [TEXTS[current]]
    assert table.store.verify() == ()


def test_a_wording_of_an_erased_memory_is_told_and_left_to_a_person(table: Desk) -> None:
    """I1: erasing takes the wordings along, so what is left may have been meant too; it is not made current."""
    row, head = (table.store.remember(text).memory for text in TEXTS[:2])
    table.store.erase(head.id)
    change(table, row.id, status="wording", superseded_by=head.id, superseded_at=table.clock())
    report = mended(table.store)
    assert (report.mends, [one.where for one in report.left]) == ((), [row.id])
    assert "erased" in report.left[0].what and "rase it" in report.left[0].todo
    table.store.split(row.id)
    assert table.store.verify() == () and table.rows("active") == [TEXTS[0]]


@pytest.mark.parametrize("status", ["archived", "superseded"])
def test_a_wording_of_a_hidden_memory_is_no_problem(table: Desk, status: str) -> None:
    row, head, newer = (table.store.remember(text).memory for text in TEXTS[:3])
    stand_behind(table, row.id, head.id)
    if status == "archived":
        table.store.forget(head.id)
    else:
        table.store.supersede(head.id, newer.id)
    assert table.store.verify() == () and mended(table.store).mends == ()


def test_an_active_row_that_pointer_and_link_call_a_wording_is_one_again(table: Desk) -> None:
    row, head = (table.store.remember(text).memory for text in TEXTS[:2])
    stand_behind(table, row.id, head.id)
    change(table, row.id, status="active")
    assert mended(table.store).left == ()
    assert table.store.get(row.id).status == "wording"


def test_an_active_row_that_names_its_successor_is_brought_in_line_with_its_link(table: Desk) -> None:
    """S2-59."""
    a, b, c, d = (table.store.remember(text).memory for text in TEXTS[:4])
    change(table, a.id, superseded_by=b.id)
    plant(table, LinkChange(None, Link(b.id, a.id, "supersedes", table.clock())))
    change(table, c.id, superseded_by=d.id)
    assert mended(table.store).left == ()
    assert (table.store.get(a.id).status, table.store.get(c.id).superseded_by) == ("superseded", "")


@pytest.mark.parametrize("end", ["nobody", "erased"])
def test_a_conflict_about_a_memory_that_is_gone_is_dismissed(table: Desk, end: str) -> None:
    from wellkept.core.records.conflicts import key_of

    row = table.store.remember(TEXTS[0]).memory
    other = "nobody"
    if end == "erased":
        other = table.store.remember(TEXTS[1]).memory.id
        table.store.erase(other)
    key = key_of(row.id, other, "contradiction")
    planted = Conflict(
        key=key, a=row.id, b=other, kind="contradiction", reason="value_diff", similarity=0.9, created_at=table.clock()
    )
    plant(table, ConflictChange(None, planted))
    assert mended(table.store).left == ()
    assert [one.resolution for one in table.store.conflicts(settled=True)] == ["dismissed"]


def test_without_a_model_the_rest_is_mended_and_the_outage_is_told(table: Desk) -> None:
    """I7."""
    row = table.store.remember(TEXTS[0]).memory
    table.store.link(row.id, "nobody", "refines")
    change(table, row.id, embedding="0" * 32)
    table.fake.fail_with = ModelUnavailable("down")
    report = mended(table.store)
    assert [mend.what for mend in report.mends] == ["one end does not exist"]
    assert "down" in report.outage
    assert {problem.where for problem in report.left} == {row.id}
    table.fake.fail_with = None
    assert mended(table.store).left == ()
    assert table.store.verify() == ()


def test_a_sound_store_is_left_alone(table: Desk) -> None:
    table.store.remember(TEXTS[0])
    before = table.snapshot()
    assert mended(table.store) == RepairReport(dry_run=False, mends=(), left=())
    assert table.snapshot() == before


# --------------------------------------------------------------------------------------------
# Chance


TABLES = ("memory", "vector", "alias", "link", "conflict", "journal", "journal_memory", "namespace", "words_data")


def _dump(path: Path | None) -> list[str]:
    """Every row of every table, the full text's own included."""
    connection = sqlite3.connect(str(path))
    rows = [f"{table} {row}" for table in TABLES for row in connection.execute(f"SELECT * FROM {table}")]
    connection.close()
    return sorted(rows)


def _strike(connection: sqlite3.Connection, chance: random.Random) -> str:
    """One random wound: a row deleted, a value replaced by another kind of nonsense."""
    table = chance.choice(["memory", "vector", "alias", "link", "conflict", "journal", "journal_memory", "namespace"])
    columns = [(row[1], row[2]) for row in connection.execute(f"PRAGMA table_info({table})")]
    keys = "ns" if table == "namespace" else "rowid" if table in ("memory", "vector", "journal") else "ns, hash, id"
    if keys == "ns, hash, id":
        keys = {"alias": "ns, hash, id", "link": "ns, src, dst, rel", "conflict": "ns, key"}.get(table, "ns, id, seq")
    rows = connection.execute(f"SELECT {keys} FROM {table}").fetchall()
    if not rows:
        return ""
    where = " AND ".join(f"{name.strip()} = ?" for name in keys.split(","))
    row = chance.choice(rows)
    if chance.random() < 0.3:
        connection.execute(f"DELETE FROM {table} WHERE {where}", row)
        return f"delete {table} {row}"
    name, kind = chance.choice(columns)
    value: object = {
        "TEXT": chance.choice(["", "nobody", "{}", "[]", '{"id": 5}', "null", "\x00", "Ω" * 50, "5"]),
        "INTEGER": chance.choice([0, -1, 7, 2**62]),
        "REAL": chance.choice([-1.0, 1e300]),
        "BLOB": chance.choice([b"", b"\xff" * 3, b"\x00" * 128, b"\x00\x7e" * 64]),
    }[kind]
    if name == "record" and chance.random() < 0.7:
        text = connection.execute(f"SELECT record FROM {table} WHERE {where}", row).fetchone()[0]
        at = chance.randrange(len(text))
        value = text[:at] + chance.choice(["", '"', "null", "x", "1", "{"]) + text[at + chance.randrange(4) :]
    connection.execute(f"UPDATE {table} SET {name} = ? WHERE {where}", (value, *row))
    return f"{table}.{name} = {value!r:.60} at {row}"


def chance_damage(folder: Path, seed: int, look: Callable[[wellkept.MemoryStore, str], None]) -> None:
    table = filled(folder)
    table.store.close()
    chance = random.Random(seed)
    connection = sqlite3.connect(str(table.path), isolation_level=None)
    struck = []
    for _ in range(chance.randrange(1, 5)):
        try:
            struck.append(_strike(connection, chance))
        except sqlite3.Error as error:  # the schema itself refuses this one
            struck.append(str(error))
    connection.close()
    try:
        store = again(table)
    except StorageError:
        return  # refused with our own error, before anything is read
    with store:
        look(store, f"seed {seed}: {struck}")


@pytest.mark.parametrize("seed", range(60))
def test_random_damage_never_crashes_verify_and_repair_leaves_only_what_verify_names(seed: int, tmp_path: Path) -> None:
    """E-2, S0-21: every damage is reported."""

    def look(store: wellkept.MemoryStore, what: str) -> None:
        store.verify()
        report = mended(store, dry_run=True)
        try:
            done = mended(store)
        except WellkeptError as error:
            pytest.fail(f"{what}: {error}")
        assert store.verify() == done.left, what
        assert report.dry_run

    chance_damage(tmp_path, seed, look)
