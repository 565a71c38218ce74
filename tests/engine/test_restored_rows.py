"""E2: a text that says it is an export is a text like any other; none of its lines comes in unchecked."""

from __future__ import annotations

import json

import pytest

from wellkept.errors import WellkeptError
from wellkept.types import ALL_STATUSES, Filter

EVERYTHING = Filter(statuses=ALL_STATUSES)
AT = "2026-03-01T12:00:00Z"
HEADER = {"wellkept": 1, "namespace": "default", "seq": 1, "at": AT}
MEMORY = {"id": "m1", "namespace": "default", "content": "Tea is upstairs.", "created_at": AT, "updated_at": AT}
OTHER = {**MEMORY, "id": "m2", "content": "Coffee is downstairs."}
CONFLICT = {
    "key": "8a8df0ee6d3c5de3", "a": "m1", "b": "m2", "kind": "contradiction", "reason": "value_diff",
    "similarity": 0.9, "created_at": AT,
}  # fmt: skip
DEEP = json.loads("[" * 150 + "]" * 150)


@pytest.fixture
def bring(table, tmp_path):
    """Imports a file of these lines after the header of an export."""

    def lines(*items):
        path = tmp_path / "all.jsonl"
        said = [HEADER, *items]
        path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in said), encoding="utf-8")
        return table.store.import_(path)

    return lines


def test_a_sound_row_is_restored_and_its_fields_are_kept(table, bring):
    report = bring({"memory": {**MEMORY, "confirmations": 3, "tags": ["tea"]}}, {"memory": OTHER})
    assert dict(report.counts) == {"created": 2}
    row = table.store.get("m1", touch=False)
    assert (row.content, row.confirmations, row.tags) == ("Tea is upstairs.", 3, ("tea",))
    assert {entry.run_id for entry in table.store.journal()} == {report.run_id}
    table.store.undo_run("last")
    assert table.store.list(EVERYTHING) == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("polarity", 99), ("polarity", True), ("confidence", "x"), ("confidence", 1.5), ("importance", -1),
        ("status", "zombie"), ("status", None), ("id", ""), ("id", 5), ("id", "x" * 201), ("id", "a\nb"), ("id", " a"),
        ("content", 5), ("content", ""), ("content", None), ("content", "x" * 300_000), ("content", "nul \x00 inside"),
        ("content", "half \ud800 a character"), ("kind", "no such kind"), ("kind", 5), ("title", "x" * 501),
        ("tags", "abc"), ("tags", [1]), ("tags", ["x" * 501]), ("metadata", DEEP), ("metadata", {"a": DEEP}),
        ("metadata", {"a": "nul \ud800"}), ("metadata", []), ("signals", "x"), ("pinned", 1), ("pinned", "yes"),
        ("created_at", "0001-01-01T00:00:00+14:00"), ("updated_at", "9999-12-31T23:59:59-14:00"),
        ("event_time", "soon"), ("event_time", 5), ("event_time", "2026-01-01T00:00:00"), ("created_at", None),
        ("event_end", "2026-01-01T00:00:00Z x"), ("expires_at", "10000-01-01T00:00:00Z"),
        ("confirmations", -1), ("confirmations", 2**60), ("confirmations", "9"), ("confirmations", True),
        ("version", 0), ("evolution_count", 1.5), ("chunks", -1), ("access_count", 2**70),
        ("stability", 0), ("stability", -3), ("stability", "long"), ("last_accessed_at", 5), ("checked", "yes"),
        ("superseded_by", "m2"), ("superseded_by", 5), ("superseded_at", AT), ("status", "superseded"),
        ("status", "erased"), ("updates", [{"at": AT, "text": "not in the content", "similarity": 0.9}]),
        ("updates", [5]), ("embedding", 5), ("unheard_of", 1),
    ],
)  # fmt: skip
def test_a_memory_that_remember_would_refuse_is_refused_here(table, bring, field, value):
    before = table.snapshot()
    with pytest.raises(WellkeptError) as caught:
        bring({"memory": OTHER}, {"memory": {**MEMORY, field: value}})
    assert "line 3" in str(caught.value)
    assert table.snapshot() == before, "nothing is half written"


@pytest.mark.parametrize(
    "line",
    [
        '{"memory": ' + json.dumps(MEMORY)[:-1] + ', "confidence": NaN}}',
        '{"memory": ' + json.dumps(MEMORY)[:-1] + ', "confidence": 1e999}}',
        '{"memory": ' + json.dumps(MEMORY)[:-1] + ', "version": ' + "9" * 5_000 + "}}",
        {"memory": MEMORY, "link": {"src": "m1", "dst": "m2"}},
        {"link": {"src": "m2", "dst": "m2"}},
        {"link": {"src": "", "dst": "m2"}},
        {"link": {"src": "m1", "dst": "x" * 300}},
        {"link": {"src": "m1", "dst": "[[two\nlines]]"}},
        {"link": {"src": "m1", "dst": "m2", "rel": "two\nlines"}},
        {"link": {"src": "m1", "dst": "m2", "rel": 5}},
        {"link": {"src": "m1", "dst": "m2", "created_at": "0001-01-01T00:00:00+14:00"}},
        {"conflict": {**CONFLICT, "key": "another"}},
        {"conflict": {**CONFLICT, "kind": "quarrel"}},
        {"conflict": {**CONFLICT, "resolution": "keep_new"}},
        {"conflict": {**CONFLICT, "resolution": "keep_all", "resolved_at": AT}},
        {"conflict": {**CONFLICT, "similarity": 7}},
        {"conflict": {**CONFLICT, "similarity": "near"}},
        {"conflict": {**CONFLICT, "excerpt_a": 5}},
        {"conflict": {**CONFLICT, "excerpt_a": "x" * 5_000}},
        {"conflict": {**CONFLICT, "differences": [{"kind": "spell", "old": "", "new": ""}]}},
        {"conflict": {**CONFLICT, "created_at": "0001-01-01T00:00:00+14:00"}},
        {"memory": {**MEMORY, "status": "superseded", "superseded_by": "m9"}},
        {"conflict": CONFLICT},
        {"memory": OTHER},
    ],
)
def test_a_line_that_no_store_would_have_written_refuses_the_whole_file(table, bring, line):
    """The last two: a conflict about a missing memory, and a duplicate memory."""
    before = table.snapshot()
    with pytest.raises(WellkeptError) as caught:
        bring({"memory": OTHER}, line)
    assert "line 3" in str(caught.value)
    assert table.snapshot() == before


def test_the_hash_of_a_vector_is_made_here_whatever_the_file_says(table, bring):
    bring({"memory": {**MEMORY, "embedding": "0" * 32}})
    assert table.store.verify() == ()


def test_a_conflict_and_a_link_of_restored_rows_come_back(table, bring):
    from wellkept.core.records.conflicts import key_of

    conflict = {**CONFLICT, "key": key_of("m1", "m2", "contradiction")}
    lines = ({"memory": MEMORY}, {"memory": OTHER}, {"conflict": conflict}, {"link": {"src": "m1", "dst": "[[tea]]"}})
    bring(*lines)
    assert [one.key for one in table.store.conflicts()] == [conflict["key"]]
    assert dict(bring(*lines).counts) == {"replayed": 2}
