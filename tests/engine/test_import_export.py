"""Import and export: any lines in through the gate, everything out and back to the letter."""

from __future__ import annotations

import gzip
import json
import os

import pytest

import wellkept
from wellkept import ImportSpec
from wellkept.engine.transfer import exports as exporting
from wellkept.errors import Corrupt, IdempotencyMismatch, InvalidField, InvalidInput, StorePathError
from wellkept.types import ALL_STATUSES, Filter


@pytest.fixture
def write(tmp_path):
    """Writes a file of JSON lines and gives its path."""

    def lines(*items, name="in.jsonl"):
        path = tmp_path / name
        path.write_bytes(
            b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in items)
        )
        return path

    return lines


# --------------------------------------------------------------------------------------------
# Reading lines


@pytest.mark.parametrize(
    ("spec", "line", "fields"),
    [
        ({}, {"content": "Use ruff"}, {"content": "Use ruff", "kind": "semantic"}),
        ({}, {"text": "Use ruff"}, {"content": "Use ruff"}),
        ({}, {"memory": "Use ruff"}, {"content": "Use ruff"}),
        ({}, {"content": "Use ruff", "kind": "lesson", "tags": ["a"], "importance": 0.9, "unknown": 1},
         {"kind": "lesson", "tags": ("a",), "importance": 0.9}),
        ({"mapping": {"content": "data.body"}}, {"data": {"body": "Use ruff"}}, {"content": "Use ruff"}),
        ({"mapping": {"content": "data.body"}}, {"data.body": "Use ruff"}, {"content": "Use ruff"}),
        ({"mapping": {"kind": "type", "recorded_at": "t"}},
         {"content": "Use ruff", "type": "lesson", "t": "2025-06-01T00:00:00Z"}, {"kind": "lesson"}),
        ({"fixed": {"kind": "fact", "tags": ["imported"]}}, {"content": "Use ruff", "kind": "lesson"},
         {"kind": "fact", "tags": ("imported",)}),
        ({"mapping": {"source": "nowhere"}}, {"content": "Use ruff", "source": "given"}, {"source": "chat"}),
        ({}, {"content": "Use ruff"}, {"source": "chat"}),
        ({}, {"content": "Use ruff", "source": "given"}, {"source": "given"}),
    ],
)  # fmt: skip
def test_a_line_becomes_a_memory_as_the_mapping_says(table, write, spec, line, fields):
    report = table.store.import_(write(line), ImportSpec(source="chat", **spec))
    assert (report.read, dict(report.counts), report.errors) == (1, {"created": 1}, ())
    (row,) = table.store.list()
    assert {name: getattr(row, name) for name in fields} == fields


def test_the_time_it_was_recorded_elsewhere_is_kept(table, write):
    """B-35: a late import is of its own time."""
    table.store.import_(write({"content": "is shipped", "kind": "fact", "subject": "006"}))
    path = write(
        {"content": "PLANNED", "kind": "fact", "subject": "006", "recorded_at": "2025-01-01T00:00:00Z"}, name="b.jsonl"
    )
    table.store.import_(path)
    assert table.rows("active") == ["is shipped"]
    assert table.rows("superseded") == ["PLANNED"]


def test_objects_inside_a_line_become_memories_of_their_own(table, write):
    path = write({"who": "a", "facts": [{"text": "Use ruff"}, {"text": "Use uv"}]}, {"who": "b", "facts": []})
    report = table.store.import_(path, ImportSpec(source="chat", items="facts"))
    assert (report.read, table.rows()) == (2, ["Use ruff", "Use uv"])


def test_plain_lines_are_texts(table, write):
    path = write(b"Use ruff", b"", b'{"content": "not looked at"}', b"\xef\xbb\xbfUse uv")
    table.store.import_(path, ImportSpec(source="notes", plain=True))
    assert table.rows() == ["Use ruff", '{"content": "not looked at"}', "Use uv"]


def test_a_packed_file_is_unpacked_on_the_way(table, tmp_path):
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"content": "Use ruff"}\n'))
    assert dict(table.store.import_(path).counts) == {"created": 1}


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (2, 2), (None, 3)])
def test_reading_stops_at_the_limit(table, write, limit, count):
    path = write(*({"content": f"Text about item{n}"} for n in range(3)))
    report = table.store.import_(path, ImportSpec(source="x", limit=limit))
    assert (report.read, len(table.rows())) == (count, count)


def test_each_line_may_name_its_namespace(table, write):
    path = write({"content": "Use ruff", "user": "alice"}, {"content": "Use uv", "user": "bob"})
    table.store.import_(path, namespace_from="user")
    assert set(table.store.namespaces()) == {"default/alice", "default/bob"}
    assert [row.content for row in table.store.in_namespace("default/alice").list()] == ["Use ruff"]
    assert table.rows() == []


@pytest.mark.parametrize("user", ["", "a//b", "x" * 300, None, ["a"], True, "a\nb"])
def test_a_line_with_no_usable_namespace_is_refused(table, write, user):
    """The line is bad, not the import."""
    path = write({"content": "Use ruff", "user": user}, b"{not json", {"content": "Use uv", "user": "bob"})
    try:
        report = table.store.import_(path, namespace_from="user")
    except InvalidField as error:
        pytest.fail(f"one bad line stopped the import: {error}")
    assert [(error.index, bool(error.message)) for error in report.errors] == [(1, True), (2, True)]
    assert table.store.namespaces() == ("default/bob",)


@pytest.mark.parametrize(("spec", "last"), [({}, (30, 30)), ({"limit": 12}, (11, 11)), ({"items": "facts"}, (0, 0))])
def test_progress_tells_how_many_memories_are_done_of_how_many_after_each_batch(table, write, spec, last):
    """N9: blank lines do not count; the content of lines is not counted in advance."""
    path = write(*({"content": f"Text about item{n}", "facts": []} for n in range(5)), b"",
                 *({"content": f"Text about item{n}", "facts": []} for n in range(5, 30)))  # fmt: skip
    seen = []
    table.store.import_(path, ImportSpec(source="x", **spec), progress=lambda done, whole: seen.append((done, whole)))
    assert seen[-1] == last and seen == sorted(seen)
    assert len(seen) > 1 or last[0] < 12


# --------------------------------------------------------------------------------------------
# Bad lines


def test_bad_lines_are_told_by_number_and_kept_in_a_file(table, write):
    """S4-14: one bad line does not stop the rest."""
    path = write(
        {"content": "Use ruff"},
        b"{not json",
        {"content": ""},
        {"other": "no text"},
        {"content": "x", "kind": "no such kind"},
        {"content": "x", "importance": 7},
        b'"a text"',
        b"\xff\xfe broken utf-8",
        {"content": "nul \x00 inside"},
        {"content": 5},
        {"content": "Use uv"},
    )
    report = table.store.import_(path)
    assert (report.read, dict(report.counts)) == (11, {"created": 2})
    assert [(error.index, error.error) for error in report.errors] == [
        (2, "InvalidInput"),
        (3, "EmptyContent"),
        (4, "InvalidField"),
        (5, "UnknownKind"),
        (6, "InvalidField"),
        (7, "InvalidInput"),
        (8, "InvalidText"),
        (9, "InvalidText"),
        (10, "InvalidField"),
    ]
    assert all(error.message and len(error.excerpt) <= 50 for error in report.errors)
    rejects = path.with_name("in.jsonl.rejects.jsonl")
    assert report.rejects == str(rejects)
    kept = [json.loads(line) for line in rejects.read_text("utf-8").splitlines()]
    assert [item["line"] for item in kept] == [error.index for error in report.errors]
    assert kept[0]["raw"] == "{not json"
    assert table.rows() == ["Use ruff", "Use uv"]


def test_without_bad_lines_no_file_is_made(table, write):
    path = write({"content": "Use ruff"})
    report = table.store.import_(path)
    assert report.rejects == ""
    assert sorted(item.name for item in path.parent.iterdir() if item.suffix == ".jsonl") == ["in.jsonl"]


def test_rejects_go_where_they_are_wanted(table, write, tmp_path):
    target = tmp_path / "elsewhere.jsonl"
    report = table.store.import_(write(b"{not json"), rejects=target)
    assert report.rejects == str(target) and target.is_file()


def test_an_unknown_field_in_a_mapping_is_named(table, write):
    report = table.store.import_(write({"content": "x"}), ImportSpec(source="x", mapping={"colour": "c"}))
    assert "colour" in report.errors[0].message and "content" in report.errors[0].message


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_an_error_that_names_it(table, tmp_path, name):
    before = table.snapshot()
    with pytest.raises(StorePathError) as caught:
        table.store.import_(tmp_path / name)
    assert str(tmp_path) in str(caught.value) and caught.value.todo
    assert table.snapshot() == before


def test_a_damaged_gz_file_is_an_error_that_names_it(table, tmp_path):
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"content": "Use ruff"}\n' * 500)[:40])
    with pytest.raises((StorePathError, InvalidInput)) as caught:
        table.store.import_(path)
    assert "in.jsonl.gz" in str(caught.value)


@pytest.mark.parametrize("path", [".", "..", "/", "missing.jsonl"])
def test_what_is_no_file_is_refused_by_name_wherever_one_stands(table, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorePathError, match="cannot be read"):
        table.store.import_(path)


OURS = {"line": 1, "error": "InvalidInput", "message": "not JSON", "raw": "{"}


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        (json.dumps(OURS) + "\n", True),
        (json.dumps({**OURS, "raw": "x" * 100_000}) + "\nand more", True),
        ("", True),
        (json.dumps({"line": 1, "error": "x"}) + "\n", False),
        ("{not json\n", False),
        (json.dumps([OURS]), False),
        ("[" * 100_000, False),
        ("{" + '"a":[' * 100_000, False),
        ("my notes\n", False),
        ("\n" + json.dumps(OURS), False),
        ("SQLite format 3\0", False),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_rejects_replace_nothing_but_rejects(table, write, tmp_path, there, taken, named):
    """Refused before anything is imported, and the store is unchanged."""
    source = write({"content": "Use ruff"}, b"{not json")
    target = tmp_path / ("mine.txt" if named else "in.jsonl.rejects.jsonl")
    target.write_text(there, encoding="utf-8")
    if taken:
        table.store.import_(source, rejects=target if named else None)
        assert [json.loads(line)["line"] for line in target.read_text("utf-8").splitlines()] == [2]
        return
    with pytest.raises(StorePathError) as caught:
        table.store.import_(source, rejects=target if named else None)
    assert str(target) in str(caught.value) and "--rejects OTHER" in str(caught.value) or "store" in str(caught.value)
    assert (target.read_text("utf-8"), table.rows()) == (there, [])


@pytest.mark.parametrize("how", ["itself", "symlink", "hard link", "detour", "folder"])
def test_rejects_never_overwrite_the_source(table, write, tmp_path, how):
    source = write({"content": "Use ruff"}, b"{not json")
    before = source.read_bytes()
    target = tmp_path / "other"
    match how:
        case "itself":
            target = source
        case "symlink":
            target.symlink_to(source)
        case "hard link":
            target.hardlink_to(source)
        case "detour":
            target.mkdir()
            target = target / ".." / source.name
        case "folder":
            target.mkdir()
    with pytest.raises(StorePathError):
        table.store.import_(source, rejects=target)
    assert (source.read_bytes(), table.rows()) == (before, [])


@pytest.mark.parametrize(
    ("data", "plain", "error", "hint"),
    [
        ('{"content": "Use ruff"}\n{"content": "Use uv"}\n'.encode("utf-16"), False, "InvalidText", "UTF-16"),
        ('{"content": "Use ruff"}\n'.encode("utf-16-le"), False, "InvalidText", "UTF-16"),
        ('{"content": "Use ruff"}\n'.encode("utf-16-be"), False, "InvalidText", "UTF-16"),
        ("Use ruff\n".encode("utf-16-le"), True, "InvalidText", "UTF-16"),
        (b'[{"content": "Use ruff"}]', False, "InvalidInput", "JSON array"),
        (b'[\n{"content": "Use ruff"},\n{"content": "Use uv",}\n]\n', False, "InvalidInput", "JSON array"),
        (b'\xef\xbb\xbf [{"content": "Use ruff"},\n', False, "InvalidInput", "JSON array"),
        (b"[12:30] Tea is served\n", False, "InvalidInput", "not JSON"),
        (b"{\n", False, "InvalidInput", "not JSON"),
    ],
)
def test_a_file_of_another_form_is_told_by_its_first_line(table, tmp_path, data, plain, error, hint):
    path = tmp_path / "in.jsonl"
    path.write_bytes(data)
    report = table.store.import_(path, ImportSpec(source="x", plain=plain))
    assert (report.errors[0].index, report.errors[0].error) == (1, error)
    assert hint in report.errors[0].message


def test_plain_lines_may_look_like_an_array(table, write):
    table.store.import_(write(b'["Use ruff"]'), ImportSpec(source="x", plain=True))
    assert table.rows() == ['["Use ruff"]']


# --------------------------------------------------------------------------------------------
# Again


def test_the_same_source_again_changes_nothing(table, write):
    """I5."""
    path = write(
        {"content": "Use ruff"},
        {"content": "Use ruff"},
        {"content": "use ruff!"},
        {"content": "Use uv", "kind": "signal"},
        {"content": "Use uv", "kind": "signal"},
    )
    first = table.store.import_(path)
    assert dict(first.counts) == {"created": 3, "duplicate": 2}
    before = table.snapshot()
    again = table.store.import_(path)
    assert dict(again.counts) == {"replayed": 5}
    assert table.snapshot() == before


def test_a_source_that_has_grown_adds_only_what_is_new(table, write):
    """I5."""
    table.store.import_(write({"content": "Use ruff"}))
    report = table.store.import_(write({"content": "Use ruff"}, {"content": "Use uv"}))
    assert dict(report.counts) == {"replayed": 1, "created": 1}


def test_the_same_words_in_another_source_are_said_again(table, write):
    """F-21, B-9: another source is another assertion."""
    table.store.import_(write({"content": "is open", "kind": "fact", "subject": "gate"}))
    table.store.import_(write({"content": "is closed", "kind": "fact", "subject": "gate"}, name="b.jsonl"))
    third = write({"content": "is open", "kind": "fact", "subject": "gate"}, name="c.jsonl")
    table.clock.advance(days=1)
    assert dict(table.store.import_(third).counts) == {"superseded": 1}
    assert table.rows("active") == ["is open"]
    confirmed = table.store.import_(third, ImportSpec(source="yet another"))
    assert dict(confirmed.counts) == {"duplicate": 1}


def test_the_name_of_the_source_counts_even_where_lines_name_one_of_their_own(table, write):
    """I5, F-21."""
    path = write({"content": "Use ruff", "source": "given"})
    outcomes = [dict(table.store.import_(path, ImportSpec(source=name)).counts) for name in ("a", "b", "a")]
    assert outcomes == [{"created": 1}, {"duplicate": 1}, {"replayed": 1}]


def test_the_run_is_named_in_every_entry(table, write):
    report = table.store.import_(write({"content": "Use ruff"}, {"content": "Use uv"}))
    assert {(entry.verb, entry.run_id) for entry in table.store.journal()} == {("import", report.run_id)}


def test_conflicts_of_an_import_are_counted(table, write):
    table.near("threshold 0.85", "threshold 0.95", 0.99)
    report = table.store.import_(write({"content": "threshold 0.85"}, {"content": "threshold 0.95"}))
    assert report.conflicts == 1 == len(table.store.conflicts())


def test_more_lines_than_one_transaction_takes_are_all_written_in_order(table, write):
    texts = [f"Text about item{n}" for n in range(300)]
    report = table.store.import_(write(*({"content": text} for text in texts)))
    assert dict(report.counts) == {"created": 300}
    assert table.rows() == texts


# --------------------------------------------------------------------------------------------
# Export


def fill(table):
    """A namespace with something of everything."""
    store = table.store
    table.near("Use ruff for linting", "Use flake8 for linting", 0.9)
    table.near("Deploys are started by hand", "Releases go through the platform team", 0.8)
    a = store.remember("Use ruff for linting", tags=["lint"], metadata={"schlüssel": ["ä", 1, None]}).memory
    table.clock.advance(minutes=1)
    b = store.remember("Use flake8 for linting", tags=["lint"], importance=0.9, polarity=1, pinned=True).memory
    store.remember("Deploys are started by hand", kind="knowledge")
    table.clock.advance(seconds=1, microseconds=17)
    store.remember("Releases go through the platform team", kind="knowledge")
    store.remember("status PLANNED", kind="fact", subject="006", event_time="2025-01-01")
    store.remember("is shipped", kind="fact", subject="006", event_time="2025-03-01")
    store.forget(store.remember("Ещё одна запись 数据库 \U0001f680", kind="note", summary="кратко").memory.id)
    store.link(a.id, b.id, "example_of")
    store.link(b.id, "00000000-gone")
    store.get(a.id)
    store.erase(store.remember("to be erased: zebrafinch").memory.id)
    return store


def exported(store, path):
    count = store.export(path)
    lines = path.read_text("utf-8").splitlines()
    assert count == len(lines)
    return lines


def test_what_is_exported_comes_back_to_the_letter(make, tmp_path):
    """I9: rows, links and conflicts as they were, under their own ids."""
    table = make()
    fill(table)
    out = exported(table.store, tmp_path / "a.jsonl")
    other = make(name="other.db", fake=table.fake)
    report = other.store.import_(tmp_path / "a.jsonl")
    assert dict(report.counts) == {"created": len(table.store.list(Filter(statuses=ALL_STATUSES)))}
    assert other.snapshot()[:3] == table.snapshot()[:3]
    assert exported(other.store, tmp_path / "b.jsonl")[1:] == out[1:]
    assert [p for p in other.store.verify() if "gone" not in p.where] == []


def test_an_imported_export_knows_repeats_and_finds_by_meaning(make, tmp_path):
    """B-8: aliases and vectors are there too."""
    table = make()
    fill(table)
    table.store.export(tmp_path / "a.jsonl")
    other = make(name="other.db", fake=table.fake)
    other.store.import_(tmp_path / "a.jsonl")
    for text, kind in (
        ("use ruff for linting!", "semantic"),
        ("Releases go through the platform team", "knowledge"),
        ("deploys are started by hand", "knowledge"),
    ):
        tags = ["lint"] if kind == "semantic" else []
        assert other.store.remember(text, kind=kind, tags=tags).outcome == "duplicate"
    assert "cosine" in other.store.recall("Use flake8 for linting")[0].parts


def test_an_export_imported_twice_changes_nothing_the_second_time(make, tmp_path):
    """I5."""
    table = make()
    fill(table)
    table.store.export(tmp_path / "a.jsonl")
    other = make(name="other.db", fake=table.fake)
    other.store.import_(tmp_path / "a.jsonl")
    before = other.snapshot()
    report = other.store.import_(tmp_path / "a.jsonl")
    assert set(report.counts) == {"replayed"}
    assert other.snapshot() == before


def test_erased_content_is_nowhere_in_an_export(make, tmp_path):
    table = make()
    fill(table)
    assert "zebrafinch" not in "\n".join(exported(table.store, tmp_path / "a.jsonl"))


def test_an_export_of_another_history_of_the_same_id_is_refused_whole(make, tmp_path):
    """Nothing is overwritten silently, and nothing is half written."""
    table = make()
    fill(table)
    table.store.export(tmp_path / "a.jsonl")
    row = table.store.list()[0]
    table.store.revise(row.id, title="changed since")
    before = table.snapshot()
    with pytest.raises(IdempotencyMismatch) as caught:
        table.store.import_(tmp_path / "a.jsonl")
    assert row.id in str(caught.value) and "namespace" in caught.value.todo
    assert table.snapshot() == before


@pytest.mark.parametrize(
    "damage",
    [
        b"{not json",
        b'{"memory": {"id": 5}}',
        b'{"memory": []}',
        b'"text"',
        b"[]",
        b'{"link": {}}',
        b"\xff\xfe",
        b"7",
        b"{}",
        b"[" * 100_000,
    ],
)
def test_a_damaged_line_of_an_export_stops_it_before_anything_is_written(make, tmp_path, damage):
    table = make()
    fill(table)
    table.store.export(tmp_path / "a.jsonl")
    path = tmp_path / "damaged.jsonl"
    path.write_bytes((tmp_path / "a.jsonl").read_bytes() + damage + b"\n")
    other = make(name="other.db", fake=table.fake)
    before = other.snapshot()
    with pytest.raises(InvalidInput) as caught:
        other.store.import_(path)
    count = len((tmp_path / "a.jsonl").read_bytes().splitlines()) + 1
    assert f"line {count}" in str(caught.value)
    assert other.snapshot() == before


def test_an_export_that_cannot_be_written_is_an_error_that_names_the_file(table, tmp_path):
    with pytest.raises(StorePathError, match="missing"):
        table.store.export(tmp_path / "missing" / "a.jsonl")


# --------------------------------------------------------------------------------------------
# An export destroys nothing


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("linked", [False, True])
def test_an_export_never_overwrites_a_store(tmp_path, end, linked):
    """Neither its own nor another's, nor what SQLite keeps beside it."""
    db = tmp_path / "a.db"
    with wellkept.open(str(db), embedder="hashing") as store:
        store.remember("Use ruff for linting")
        target = tmp_path / f"a.db{end}"
        if linked:
            target = tmp_path / "link"
            target.symlink_to(tmp_path / f"a.db{end}")
        with pytest.raises(StorePathError, match="store"):
            store.export(target)
        with wellkept.open("memory:", embedder="hashing") as other, pytest.raises(StorePathError, match="store"):
            other.export(target)
    with wellkept.open(str(db), embedder="hashing") as store:
        assert (store.verify(), [row.content for row in store.list()]) == ((), ["Use ruff for linting"])


def test_an_export_that_fails_leaves_what_was_there(table, tmp_path, monkeypatch):
    """Nothing is half written, and nothing is left lying about."""
    table.store.remember("Use ruff for linting")
    target = tmp_path / "all.jsonl"
    target.write_text("the export before", encoding="utf-8")
    before = sorted(tmp_path.iterdir())

    def broken(ctx):
        yield "{}"
        raise Corrupt("the page is damaged")

    monkeypatch.setattr(exporting, "export_lines", broken)
    with pytest.raises(Corrupt):
        table.store.export(target)
    assert (target.read_text("utf-8"), sorted(tmp_path.iterdir())) == ("the export before", before)


def test_an_export_goes_where_a_link_leads_and_keeps_the_rights_of_the_file(table, tmp_path):
    target, link = tmp_path / "all.jsonl", tmp_path / "link"
    target.write_text("the export before", encoding="utf-8")
    target.chmod(0o600)
    link.symlink_to(target)
    assert table.store.export(link) == 1
    assert link.is_symlink() and target.read_text("utf-8").startswith('{"wellkept"')
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["", "missing/all.jsonl", "file/all.jsonl"])
def test_an_export_to_where_nothing_can_be_written_is_an_error_that_names_it(table, tmp_path, name):
    (tmp_path / "file").write_text("a file", encoding="utf-8")
    with pytest.raises(StorePathError) as caught:
        table.store.export(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_an_export_to_a_device_is_written_to_it(table):
    before = os.stat(os.devnull).st_mode
    assert table.store.export(os.devnull) == 1
    assert os.stat(os.devnull).st_mode == before
