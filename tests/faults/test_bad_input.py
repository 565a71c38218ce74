"""Bad input: a typed error that says what, where and what to do, and nothing half written."""

from __future__ import annotations

import math
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

import wellkept
from stores import EACH_BACKEND, desk, snapshot
from wellkept.errors import (
    AmbiguousId,
    Busy,
    ConfigError,
    ContentTooLarge,
    Corrupt,
    CycleError,
    EmptyContent,
    Full,
    IdempotencyMismatch,
    InvalidField,
    InvalidInput,
    InvalidText,
    NotAStore,
    NotFound,
    ReadOnly,
    SelfReference,
    StorageError,
    StorePathError,
    UnknownBackend,
    UnknownKind,
)
from wellkept.storage.memory import DictStorage
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.faults import FaultyStorage


@pytest.fixture(params=EACH_BACKEND)
def table(request, tmp_path):
    """A store with two memories, a link and a conflict in it."""
    made = desk(request.param, tmp_path)
    made.near("Use ruff for linting", "Use flake8 for linting", 0.9)
    a = made.store.remember("Use ruff for linting", idempotency_key="first").memory
    b = made.store.remember("Use flake8 for linting").memory
    made.store.link(a.id, b.id)
    yield made
    made.store.close()


def refuses(table, error, call):
    """The call raises this error, which names a remedy, and the store is unchanged."""
    before = table.snapshot()
    with pytest.raises(error) as caught:
        call()
    told = caught.value
    assert type(told) is error
    assert told.what
    assert str(told).endswith(".")
    assert table.snapshot() == before
    return told


# --------------------------------------------------------------------------------------------
# Texts

TEXTS = [
    ("", EmptyContent),
    ("   \n\t ", EmptyContent),
    ("\u200b\ufeff", EmptyContent),
    ("x" * 200_001, ContentTooLarge),
    ("word " * 2_000_000, ContentTooLarge),  # 10 MB
    ("nul\x00inside", InvalidText),
    ("bell\x07", InvalidText),
    ("escape\x1b[31m", InvalidText),
    ("delete\x7f", InvalidText),
    ("c1\x85", InvalidText),
    ("half \ud83d a pair", InvalidText),
    ("\udc80 from broken bytes", InvalidText),
    ("noncharacter \uffff", InvalidText),
]


@pytest.mark.parametrize(("text", "error"), TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("verb", ["remember", "check", "revise", "recall"])
def test_a_text_that_cannot_be_kept_is_refused_by_every_verb(table, verb, text, error):
    row = table.store.list()[0]
    calls = {
        "remember": lambda: table.store.remember(text),
        "check": lambda: table.store.check(text),
        "revise": lambda: table.store.revise(row.id, content=text),
        "recall": lambda: table.store.recall(text),
    }
    told = refuses(table, error, calls[verb])
    assert told.todo


@pytest.mark.parametrize(
    "text",
    ["tab\there", "line\nbreak", "carriage\r\nreturn", "Launch 🚀", " é " * 9 + "ok", "word " * 40_000],
)
def test_a_text_that_can_be_kept_is_kept_to_the_letter(table, text):
    row = table.store.remember(text).memory
    assert table.store.get(row.id).content == text


@pytest.mark.parametrize("content", [None, 5, b"bytes", ["list"], {"content": "x"}, 1.5, True])
def test_what_is_no_text_is_refused(table, content):
    told = refuses(table, InvalidField, lambda: table.store.remember(content))
    assert told.where == "content" and type(content).__name__ in told.what


@pytest.mark.parametrize(("text", "error"), TEXTS, ids=range(len(TEXTS)))
def test_a_bad_text_in_a_batch_is_told_and_the_rest_goes_on(table, text, error):
    """S4-14."""
    batch = table.store.remember_many(["Before it", text, "After it"])
    assert [item.index for item in batch.errors] == [1]
    assert (batch.errors[0].error, batch.counts["created"]) == (error.__name__, 2)
    assert len(batch.errors[0].excerpt) <= 50
    (batch.errors[0].excerpt + batch.errors[0].message).encode("utf-8")  # can be printed


@pytest.mark.parametrize("line", [b"\xff\xfe\x00", b'{"content": "\xff"}', b"\x80", b'{"content": "\\ud83d"}'])
def test_bytes_that_are_no_utf8_are_told_by_line(table, tmp_path, line):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"content": "Before it"}\n' + line + b"\n" + b'{"content": "After it"}\n')
    report = table.store.import_(path)
    assert [(error.index, error.error) for error in report.errors] == [(2, "InvalidText")]
    assert dict(report.counts) == {"created": 2}
    assert b'"line": 2' in path.with_name("in.jsonl.rejects.jsonl").read_bytes()


# --------------------------------------------------------------------------------------------
# Fields


@pytest.mark.parametrize(
    ("field", "value", "where", "hint"),
    [
        ("importance", 7, "importance", "0.0 to 1.0"),
        ("importance", -0.1, "importance", "0.0 to 1.0"),
        ("importance", math.nan, "importance", "0.0 to 1.0"),
        ("importance", math.inf, "importance", "0.0 to 1.0"),
        ("importance", "0.5", "importance", "0.0 to 1.0"),
        ("importance", True, "importance", "0.0 to 1.0"),
        ("importance", None, "importance", "0.0 to 1.0"),
        ("importance", 10**400, "importance", "0.0 to 1.0"),
        ("confidence", 1.0001, "confidence", "0.0 to 1.0"),
        ("polarity", 2, "polarity", "-1, 0 or 1"),
        ("polarity", 0.5, "polarity", "-1, 0 or 1"),
        ("polarity", True, "polarity", "-1, 0 or 1"),
        ("polarity", [], "polarity", "-1, 0 or 1"),
        ("tags", "one", "tags", '["a", "b"]'),
        ("tags", 5, "tags", '["a", "b"]'),
        ("tags", [5], "tags", "str"),
        ("tags", {5, "a"}, "tags", "str"),
        ("tags", ["x"] * 1001, "tags", "1000"),
        ("links", "id", "links", '["a", "b"]'),
        ("provenance", {"a": 1}, "provenance", '["a", "b"]'),
        ("title", 5, "title", "str"),
        ("title", None, "title", "str"),
        ("event_time", "yesterday", "event_time", "ISO 8601"),
        ("event_time", 1700000000, "event_time", "datetime"),
        ("event_time", "0001-01-01T00:00:00+14:00", "event_time", "Change"),
        ("expires_at", [], "expires_at", "datetime"),
        ("metadata", [1], "metadata", "{"),
        ("metadata", {"a": object()}, "metadata", "text, numbers, lists"),
        ("metadata", {"a": math.nan}, "metadata", "text, numbers, lists"),
        ("metadata", {"a": "x" * 70_000}, "metadata", "64000"),
        ("metadata", {"a": "\ud83d"}, "metadata", "text, numbers, lists"),
        ("signals", "x", "signals", "{"),
        ("pinned", 1, "pinned", "bool"),
        ("automatic", "yes", "automatic", "bool"),
        ("kind", 5, "kind", "str"),
        ("colour", "red", "colour", "importance"),
        ("id", "mine", "id", "kind"),
        ("status", "erased", "status", "kind"),
        ("content_hash", "x", "content_hash", "kind"),
    ],
)  # fmt: skip
def test_a_field_with_a_wrong_value_is_named_with_what_is_allowed(table, field, value, where, hint):
    told = refuses(table, InvalidField, lambda: table.store.remember("A fine text", **{field: value}))
    assert told.where == where
    assert hint in f"{told.what} {told.todo}"
    refuses(table, InvalidField, lambda: table.store.check("A fine text", **{field: value}))


@pytest.mark.parametrize("field", ["title", "subject", "attribute", "agent", "source", "summary", "trigger", "frame"])
@pytest.mark.parametrize(
    ("value", "error"),
    [("nul\x00", InvalidText), ("half \ud83d", InvalidText), ("\x1b[2J", InvalidText), ("x" * 20_001, ContentTooLarge)],
)
def test_a_bad_text_in_a_field_is_refused_and_the_field_is_named(table, field, value, error):
    told = refuses(table, error, lambda: table.store.remember("A fine text", **{field: value}))
    assert field in told.where
    assert told.todo


@pytest.mark.parametrize("field", ["tags", "links", "provenance"])
def test_a_bad_text_in_a_list_is_refused_and_the_field_is_named(table, field):
    told = refuses(table, InvalidText, lambda: table.store.remember("A fine text", **{field: ["fine", "nul\x00"]}))
    assert field in told.where


def test_control_characters_inside_metadata_come_back_as_they_were(table):
    """JSON can hold them; nothing is lost and nothing is interpreted."""
    given = {"a": "nul\x00 \x1b[31m", "ключ": ["値", {"x": None}], "n": 2**70}
    row = table.store.remember("A fine text", metadata=given).memory
    assert table.store.get(row.id).metadata == given


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"importance": 7}, InvalidField),
        ({"kind": "no such kind"}, UnknownKind),
        ({"status": "erased"}, InvalidField),
        ({"id": "x"}, InvalidField),
        ({"created_at": datetime(2020, 1, 1, tzinfo=UTC)}, InvalidField),
        ({"event_time": "2026-02-02", "event_end": "2026-01-01"}, InvalidField),
    ],
)
def test_a_revision_is_checked_like_a_write(table, changes, error):
    row = table.store.list()[0]
    told = refuses(table, error, lambda: table.store.revise(row.id, **changes))
    assert told.todo


def test_an_end_before_the_beginning_is_refused(table):
    told = refuses(
        table, InvalidField, lambda: table.store.remember("x y", event_time="2026-02-02", event_end="2026-01-01")
    )
    assert told.where == "event_end"


def test_an_unknown_kind_lists_the_known_ones(table):
    """S0-6, B-32."""
    told = refuses(table, UnknownKind, lambda: table.store.remember("A fine text", kind="lessson"))
    assert "lesson" in told.todo and "'lessson'" in told.what


# --------------------------------------------------------------------------------------------
# Ids, links, circles, keys


def test_an_unknown_link_target_stores_nothing(table):
    told = refuses(table, NotFound, lambda: table.store.remember("A fine text", links=["00000000-gone"]))
    assert "00000000-gone" in told.what and told.where == "links"


@pytest.mark.parametrize(
    "call",
    [
        lambda store, gone: store.get(gone),
        lambda store, gone: store.revise(gone, title="x"),
        lambda store, gone: store.forget(gone),
        lambda store, gone: store.restore(gone),
        lambda store, gone: store.erase(gone),
        lambda store, gone: store.history(gone),
        lambda store, gone: store.neighbors(gone),
        lambda store, gone: store.supersede(gone, store.list()[0].id),
        lambda store, gone: store.supersede(store.list()[0].id, gone),
        lambda store, gone: store.link(store.list()[0].id, gone, strict=True),
        lambda store, gone: store.undo(999),
        lambda store, gone: store.resolve(gone, "keep_new"),
    ],
)
def test_what_does_not_exist_is_not_found_by_any_verb(table, call):
    told = refuses(table, NotFound, lambda: call(table.store, "00000000-gone"))
    assert "00000000-gone" in told.what or "999" in told.what
    assert told.todo


@pytest.mark.parametrize("wild", ["%", "_____", "*", "'; DROP TABLE memory; --", "0%", "[0-9]*"])
def test_an_id_is_text_and_never_an_expression(table, wild):
    refuses(table, NotFound, lambda: table.store.get(wild))


@pytest.mark.parametrize("nobody", ["", "\x00", "\ud83d", "a\nb", "x" * 201, None, 5, b"0196"])
@pytest.mark.parametrize("verb", ["get", "forget", "erase", "restore", "history", "neighbors", "link"])
def test_what_cannot_be_an_id_is_refused_by_every_verb(table, verb, nobody):
    here = table.store.list()[0].id
    call = getattr(table.store, verb)
    told = refuses(table, InvalidField, lambda: call(here, nobody) if verb == "link" else call(nobody))
    assert told.where == "id" and told.todo


@pytest.mark.parametrize("value", [-1, 2**70, 1.5, "5", True])
@pytest.mark.parametrize("name", ["limit", "newest", "after"])
def test_a_count_is_a_whole_number_that_a_store_can_hold(table, name, value):
    call = table.store.list if name == "limit" else table.store.journal
    told = refuses(table, InvalidField, lambda: call(**{name: value}))
    assert told.where == name and told.todo


@pytest.mark.parametrize("seq", [0, -1, 2**70, "5", None, 1.5])
def test_an_entry_that_does_not_exist_cannot_be_taken_back(table, seq):
    told = refuses(table, NotFound, lambda: table.store.undo(seq))
    assert str(seq) in told.what and told.todo


def test_a_short_id_that_fits_several_names_some(table):
    ids = [row.id for row in table.store.list()]
    start = os.path.commonprefix(ids)
    assert len(start) >= 4
    told = refuses(table, AmbiguousId, lambda: table.store.forget(start))
    assert all(one in told.what for one in ids)
    assert table.store.get(ids[0][:-1] if not ids[1].startswith(ids[0][:-1]) else ids[0]).id == ids[0]


def test_a_circle_of_supersession_is_refused(table):
    """S2-31."""
    a, b = (row.id for row in table.store.list())
    table.store.supersede(a, b)
    told = refuses(table, CycleError, lambda: table.store.supersede(b, a))
    assert a in str(told) and b in str(told) and told.todo


@pytest.mark.parametrize("verb", ["link", "supersede"])
def test_nothing_refers_to_itself(table, verb):
    """S2-32, S2-43."""
    one = table.store.list()[0].id
    told = refuses(table, SelfReference, lambda: getattr(table.store, verb)(one, one))
    assert one in str(told)


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("Another text", {}),
        ("Use ruff for linting", {"importance": 0.9}),
        ("Use ruff for linting", {"kind": "lesson"}),
        ("Use ruff for linting", {"tags": ["x"]}),
    ],
)
def test_the_same_key_with_another_payload_is_refused(table, content, fields):
    told = refuses(table, IdempotencyMismatch, lambda: table.store.remember(content, idempotency_key="first", **fields))
    assert told.where == "first" and told.todo


def test_the_same_key_with_the_same_payload_changes_nothing(table):
    """I5."""
    before = table.snapshot()
    result = table.store.remember("Use ruff for linting", idempotency_key="first")
    assert result.memory.content == "Use ruff for linting"
    assert (result.entry, result.reasons[0].rule) == (0, "replay")
    assert table.snapshot() == before


@pytest.mark.parametrize(
    "name", ["", "  ", "/", "a//b", "/a", "a/", "a\nb", "nul\x00", "x" * 201, None, 5, "half \ud83d"]
)
def test_a_namespace_is_a_short_path(table, name):
    before = table.snapshot()
    with pytest.raises(InvalidInput) as caught:
        table.store.in_namespace(name)
    assert caught.value.todo
    assert table.snapshot() == before


# --------------------------------------------------------------------------------------------
# Files, as a user of `wellkept.open` meets them


def opening(where):
    return wellkept.open(str(where), embedder=FakeEmbedder(dim=64))


def a_store(folder: Path, name: str = "memory.db") -> Path:
    path = folder / name
    with opening(path) as store:
        for number in range(40):
            store.remember(f"A text about item{number} " + "filler " * 50)
    return path


def foreign_database(folder):
    path = folder / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (name TEXT)")
    connection.commit()
    connection.close()
    return path


def truncated(folder, keep):
    path = a_store(folder)
    path.write_bytes(path.read_bytes()[:keep])
    return path


def text_file(folder):
    path = folder / "notes.txt"
    path.write_text("These are my notes.\n" * 50)
    return path


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda folder: folder, StorePathError),
        (lambda folder: folder / "missing" / "memory.db", StorePathError),
        (text_file, NotAStore),
        (foreign_database, NotAStore),
        (lambda folder: truncated(folder, 50), Corrupt),
        (lambda folder: truncated(folder, 8192), Corrupt),
        (lambda folder: "", StorePathError),
        (lambda folder: ":memory:", StorePathError),
        (lambda folder: "mysql://localhost/x", UnknownBackend),
        (lambda folder: "postgresql://127.0.0.1:1/x", StorePathError),
        (lambda folder: "redis://localhost", UnknownBackend),
    ],
)
def test_what_cannot_be_opened_says_what_where_and_what_to_do(tmp_path, make, error):
    where = make(tmp_path)
    held = where.read_bytes() if isinstance(where, Path) and where.is_file() else None
    with pytest.raises(error) as caught:
        opening(where)
    assert type(caught.value) is error
    assert caught.value.where and caught.value.todo
    if held is not None:
        assert where.read_bytes() == held  # a foreign file is not touched


def test_a_url_names_a_file_by_relative_or_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for url, path in (
        ("memory.db", tmp_path / "memory.db"),
        ("sqlite:///relative.db", tmp_path / "relative.db"),
        (f"sqlite:///{tmp_path / 'absolute.db'}", tmp_path / "absolute.db"),
    ):
        opening(url).close()
        assert path.is_file()


def test_an_unknown_embedder_is_refused_before_a_file_is_made(tmp_path):
    with pytest.raises(ConfigError, match="minilm"):
        wellkept.open(str(tmp_path / "memory.db"), embedder="no-such-model")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_another_process_keeps_locked_is_busy_and_can_be_tried_again(tmp_path):
    path = a_store(tmp_path)
    store = wellkept.open(SqliteStorage(path, busy_seconds=0.05), embedder=FakeEmbedder(dim=64))
    before = snapshot(store)
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy) as caught:
        store.remember("A new text")
    assert caught.value.todo and str(path) in str(caught.value)
    assert store.get(before[0][0].id).content == before[0][0].content  # a read never waits for a write
    assert store.recall("item3") != ()
    other.rollback()
    other.close()
    assert store.remember("A new text").outcome == "created"
    store.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_is_read_only(tmp_path):
    path = a_store(tmp_path)
    path.chmod(0o444)
    with pytest.raises(ReadOnly) as caught:
        opening(path)
    assert caught.value.todo


def full(store):
    """Allow the file not one page more."""
    session = store._ctx.storage._writer
    session.pragma(f"max_page_count = {session.pragma('page_count')}")


def test_a_full_disk_loses_nothing_and_writes_nothing_half(tmp_path):
    path = a_store(tmp_path)
    store = opening(path)
    full(store)
    stored = 0
    with pytest.raises(Full) as caught:
        for number in range(10_000):
            before = snapshot(store)
            store.remember(f"One more text number{number} " + "filler " * 2000)
            stored += 1
    assert snapshot(store) == before
    assert "no space" in str(caught.value) and caught.value.todo
    assert store.verify() == ()
    store.close()
    with opening(path) as again:
        assert len(again.list()) == 40 + stored


def test_a_file_damaged_while_it_is_open_is_never_answered_from_silently(tmp_path):
    path = a_store(tmp_path)
    data = bytearray(path.read_bytes())
    for start in range(4096 * 2, len(data), 4096):
        data[start : start + 64] = b"\xff" * 64
    path.write_bytes(data)
    with pytest.raises(StorageError), opening(path) as store:
        store.list()
        store.recall("item3")
        store.remember("A new text")
        assert store.verify() != ()
        raise Corrupt("told by verify")


def test_a_closed_store_says_so(table):
    table.store.close()
    table.store.close()
    for call in (lambda: table.store.remember("x y"), lambda: table.store.list(), lambda: table.store.stats()):
        with pytest.raises(StorageError, match="closed"):
            call()


# --------------------------------------------------------------------------------------------
# A storage that fails at any call

OLD, NEW = "Use ruff for linting", "Use flake8 for linting"


def world(backend, folder, name):
    """The same small store each time, with a fault in waiting."""
    inner = DictStorage() if backend == "memory" else SqliteStorage(folder / name)
    faulty = FaultyStorage(inner, error=Full("no space is left"))
    made = desk(faulty, folder)
    made.near(OLD, NEW, 0.9)
    made.near("Deploys are started by hand", "Releases go through the platform team", 0.8)
    made.store.remember(OLD)
    made.store.remember("Deploys are started by hand", kind="knowledge")
    made.store.remember("status PLANNED", kind="fact", subject="006")
    made.store.remember("A text about apples")
    return made, faulty


def ids(store):
    return {row.content: row.id for row in store.list()}


ACTS = {
    "create": lambda store: store.remember("A text about bridges"),
    "conflict": lambda store: store.remember(NEW),
    "supersede": lambda store: store.remember(NEW, on_conflict="supersede"),
    "duplicate": lambda store: store.remember(OLD + "!"),
    "evolve": lambda store: store.remember("Releases go through the platform team", kind="knowledge"),
    "subject": lambda store: store.remember("is shipped", kind="fact", subject="006"),
    "revise": lambda store: store.revise(ids(store)[OLD], content="Use ruff everywhere"),
    "forget": lambda store: store.forget(ids(store)[OLD]),
    "erase": lambda store: store.erase(ids(store)[OLD]),
    "link": lambda store: store.link(ids(store)[OLD], ids(store)["A text about apples"]),
    "by_hand": lambda store: store.supersede(ids(store)[OLD], ids(store)["A text about apples"]),
    "undo": lambda store: store.undo(4),
}


@pytest.mark.parametrize("backend", EACH_BACKEND)
@pytest.mark.parametrize("act", list(ACTS))
def test_an_error_at_any_call_leaves_the_old_state_or_the_new_one(backend, act, tmp_path):
    """I3: never half of it; and the same call afterwards works."""
    made, faulty = world(backend, tmp_path, "whole.db")
    before = made.snapshot()
    faulty.fail_at(0)
    ACTS[act](made.store)
    calls = len(faulty.calls)
    after = made.snapshot()
    made.store.close()
    assert before != after and calls > 2

    for at in range(1, calls + 1):
        made, faulty = world(backend, tmp_path, f"{at}.db")
        assert made.snapshot() == before
        faulty.fail_at(at)
        with pytest.raises(Full):
            ACTS[act](made.store)
        faulty.fail_at(0)
        assert made.snapshot() in (before, after), f"half written when call {at} of {calls} failed"
        made.store.close()


def test_a_full_disk_takes_no_answer_away_for_the_sake_of_its_count():
    """I7: only the count is lost."""
    faulty = FaultyStorage(DictStorage(), error=Full("no space is left"), only=("touch",))
    with wellkept.open(faulty, embedder="hashing", relation_model="none") as store:
        store.remember(OLD)
        faulty.fail_at(1)
        assert [hit.memory.content for hit in store.recall("ruff")] == [OLD]
        assert faulty.calls == ["touch"]
        faulty.fail_at(0)
        assert [memory.access_count for memory in store.list()] == [0]


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_an_error_in_a_batch_leaves_whole_items_and_the_batch_can_be_repeated(backend, tmp_path):
    """I3, I5."""
    texts = [f"Text about item{number}" for number in range(6)]
    made, faulty = world(backend, tmp_path, "whole.db")
    faulty.fail_at(0)
    made.store.remember_many(texts)
    calls = len(faulty.calls)
    wanted = [row.content for row in made.store.list()]
    made.store.close()
    for at in range(1, calls + 1, 3):
        made, faulty = world(backend, tmp_path, f"{at}.db")
        faulty.fail_at(at)
        with pytest.raises(Full):
            made.store.remember_many(texts)
        faulty.fail_at(0)
        assert made.store.verify() == ()
        made.store.remember_many(texts)
        assert [row.content for row in made.store.list()] == wanted
        made.store.close()
