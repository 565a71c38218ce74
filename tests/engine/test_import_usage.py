"""A6: how often a memory was used elsewhere, and how important it was on another scale, count here too."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from wellkept import ImportSpec
from wellkept.types import ALL_STATUSES, Filter

SPEC = ImportSpec(
    source="brain.db",
    mapping={
        "created_at": "created_at", "updated_at": "updated_at", "access_count": "access_count",
        "last_accessed_at": "last_used", "tags": "categories",
    },
    scale=(1, 3),
)  # fmt: skip
OLD = "2025-12-01T09:00:00Z"
BRAIN = (
    {"content": "Run the migration before the deploy.", "categories": ["sop"], "importance": 2.5, "access_count": 9,
     "created_at": OLD, "updated_at": "2026-01-10T09:00:00Z", "last_used": "2026-02-20T09:00:00Z"},
    {"content": "The printer is on floor two.", "categories": ["office"], "importance": 1, "access_count": 0,
     "created_at": OLD, "updated_at": OLD, "last_used": None},
    {"content": "The badge reader needs a reset.", "categories": ["office"], "importance": 1, "access_count": 4,
     "created_at": OLD, "updated_at": OLD, "last_used": "2026-02-27T09:00:00Z"},
)  # fmt: skip


def write(folder, *items, name="in.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\n" for one in items), encoding="utf-8")
    return path


def test_rows_of_the_first_seed_arrive_with_their_use_and_are_consolidated_by_it(table, tmp_path):
    """S1's R3 promotes memories that were read often; R4 archives only those that were never read."""
    report = table.store.import_(write(tmp_path, *BRAIN), SPEC)
    assert (dict(report.counts), report.errors) == ({"created": 3}, ())
    often, never, sometimes = table.store.list()
    assert [row.importance for row in (often, never, sometimes)] == [0.75, 0, 0]
    assert (often.access_count, often.last_accessed_at) == (9, datetime(2026, 2, 20, 9, tzinfo=UTC))
    assert (often.created_at, often.updated_at) == (
        datetime(2025, 12, 1, 9, tzinfo=UTC),
        datetime(2026, 1, 10, 9, tzinfo=UTC),
    )
    plan = table.store.plan()
    done = {(action.type, action.targets[0], action.rationale.rule) for action in plan.actions}
    assert done == {
        ("promote", often.id, "R3-promote-high-value-procedural"), ("archive", never.id, "R4-archive-low-utility")
    }  # fmt: skip
    table.store.execute(plan)
    assert [row.content for row in table.store.list(Filter(statuses=("archived",)))] == [BRAIN[1]["content"]]
    assert table.store.verify() == ()


def test_counters_that_have_grown_do_not_make_another_line_of_it(table, tmp_path):
    """I5."""
    path = write(tmp_path, *BRAIN)
    table.store.import_(path, SPEC)
    before = table.snapshot()
    write(tmp_path, *({**one, "access_count": one["access_count"] + 5} for one in BRAIN))
    assert dict(table.store.import_(path, SPEC).counts) == {"replayed": 3}
    assert table.snapshot() == before


def test_what_a_repeat_was_used_elsewhere_is_added_to_what_it_repeats(table, tmp_path):
    table.store.remember(BRAIN[0]["content"])
    report = table.store.import_(write(tmp_path, BRAIN[0]), SPEC)
    assert dict(report.counts) == {"duplicate": 1}
    [row] = table.store.list()
    assert (row.access_count, row.last_accessed_at) == (9, datetime(2026, 2, 20, 9, tzinfo=UTC))


@pytest.mark.parametrize(
    ("scale", "given", "kept"),
    [
        ((0, 13), 13, 1.0), ((0, 13), 6.5, 0.5), ((1, 3), 1, 0.0), ((1, 3), 2, 0.5), ((-1, 1), 0, 0.5),
        ((0, 1), 0.25, 0.25), ((0, 13), 14, None), ((1, 3), 0.5, None), ((0, 13), True, None), ((0, 13), "7", None),
        ((0, 1), 7, None),
    ],
)  # fmt: skip
def test_an_importance_is_read_on_the_scale_of_its_source(table, tmp_path, scale, given, kept):
    report = table.store.import_(write(tmp_path, {"text": "Tea.", "importance": given}), ImportSpec(scale=scale))
    if kept is None:
        [error] = report.errors
        assert (error.error, "--scale" in error.message) == ("InvalidField", True)
        assert table.store.list() == ()
    else:
        assert table.store.list()[0].importance == kept


@pytest.mark.parametrize("scale", [(1, 1), (3, 1), (0, float("inf")), (float("nan"), 1)])
def test_a_scale_that_is_none_is_refused_before_anything_is_read(scale):
    with pytest.raises(ValueError, match="not a scale"):
        ImportSpec(scale=scale)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("access_count", -1), ("access_count", 1.5), ("access_count", True), ("access_count", "9"),
        ("access_count", 2**70), ("last_used", "soon"), ("updated_at", "0001-01-01T00:00:00+14:00"),
        ("created_at", "9999-12-31T23:59:59-14:00"),
    ],
)  # fmt: skip
def test_a_use_that_cannot_be_is_told_by_its_line(table, tmp_path, field, value):
    report = table.store.import_(write(tmp_path, {**BRAIN[0], field: value}, BRAIN[1]), SPEC)
    assert (dict(report.counts), [error.index for error in report.errors]) == ({"created": 1}, [1])


def test_a_use_is_taken_only_where_it_is_mapped_and_never_from_a_writer(table, tmp_path):
    """A line of another tool may have such a key for something else; `remember` has no such field."""
    table.store.import_(write(tmp_path, {"text": "Tea.", "access_count": 9, "updated_at": OLD, "created_at": OLD}))
    [row] = table.store.list()
    assert (row.access_count, row.created_at) == (0, table.clock())
    with pytest.raises(ValueError, match="unknown field"):
        table.store.remember("Coffee.", access_count=9)


@pytest.mark.parametrize("when", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "9999-12-31T12:00:00+00:00"])
def test_the_first_and_the_last_time_there_is_stop_nothing(table, tmp_path, when):
    """E1: all operations that use times still work."""
    fields = ("recorded_at", "event_time", "expires_at")
    table.store.import_(write(tmp_path, *({"text": f"Tea at {name}.", name: when, "kind": "fact"} for name in fields)))
    assert len(table.store.list(Filter(statuses=ALL_STATUSES))) == len(fields)
    table.store.recall("tea")
    table.store.get(table.store.list()[0].id)
    table.store.plan()
    table.store.decay()
    table.store.recall("tea", grouped=True)
    assert table.store.verify() == ()
