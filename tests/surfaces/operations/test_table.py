"""Rows of the table are consistent, and `call` reports invalid input before any change."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import ValidationError

import wellkept
from wellkept import MemoryStore
from wellkept.core.records.codec import to_plain
from wellkept.errors import InvalidField, InvalidInput, InvalidPlan, InvalidRules, NotFound, WellkeptError
from wellkept.operations.registry import OPERATIONS, Operation, call, operation, parsed

NAMES = [row.name for row in OPERATIONS]
DEFAULT_TOOLS = {
    "remember", "check", "recall", "get", "history", "conflicts", "resolve", "supersede", "forget", "restore", "undo",
    "link", "unlink", "neighbors", "questions", "answer",
}  # fmt: skip
S0_46 = (
    "DEDUPLICATION: Lessons and curiosity items are checked for duplicates before storing. If a very similar memory "
    "already exists (95%+ match), the new one won't be created — you'll see which existing memory matched. If a "
    "moderately similar memory exists (90-95% match), the new one is created and linked to it."
)


@pytest.fixture
def store() -> Any:
    with wellkept.open("memory:", embedder="hashing") as opened:
        yield opened


def test_a_name_stands_for_one_operation_and_a_route_for_one_too() -> None:
    routes = [(row.route.method, re.sub(r"\{\w+\}", "{}", row.route.path)) for row in OPERATIONS if row.route]
    assert len(set(NAMES)) == len(NAMES)
    assert len(set(routes)) == len(routes)


def test_the_default_tools_are_the_sixteen_an_agent_needs() -> None:
    assert {row.name for row in OPERATIONS if row.toolset == "default"} == DEFAULT_TOOLS


@pytest.mark.parametrize("row", OPERATIONS, ids=NAMES)
def test_a_path_names_required_fields_and_a_query_needs_no_body(row: Operation) -> None:
    assert row.route is not None
    for name in row.route.parameters:
        assert row.input.model_fields[name].is_required()
    assert row.route.path.startswith("/v1/")


@pytest.mark.parametrize("row", OPERATIONS, ids=NAMES)
def test_what_writes_needs_more_than_the_right_to_read(row: Operation) -> None:
    assert row.effect == "read" or row.scope in ("write", "admin")
    assert row.effect != "destructive" or row.scope == "admin"


def test_only_what_cannot_be_taken_back_is_destructive() -> None:
    assert [row.name for row in OPERATIONS if row.effect == "destructive"] == ["erase", "queue_drop"]


@pytest.mark.parametrize("row", OPERATIONS, ids=NAMES)
def test_a_description_is_short_and_one_line(row: Operation) -> None:
    assert "\n" not in row.description
    assert len(row.description.removesuffix(S0_46)) < 400


def test_the_store_tool_ends_with_the_text_about_duplicates() -> None:
    """S0-46."""
    assert operation("remember").description.endswith(S0_46)


@pytest.mark.parametrize("row", OPERATIONS, ids=NAMES)
def test_a_schema_explains_each_field_and_names_no_requirement(row: Operation) -> None:
    schema = row.input.model_json_schema()
    assert schema["additionalProperties"] is False
    assert [name for name, part in schema["properties"].items() if "description" not in part] == []
    told = json.dumps([schema, row.output.model_json_schema(mode="serialization")])
    assert re.findall(r"\([A-Z]\d*-\d+|\(I\d+\)", told) == []


def test_a_result_names_every_key_as_required() -> None:
    schema = operation("get").output.model_json_schema(mode="serialization")
    assert set(schema["required"]) == set(schema["properties"])


def test_a_memory_has_the_shape_that_the_codec_gives_it(store: MemoryStore) -> None:
    memory = store.remember("Tea is upstairs.", event_time="2026-03-04", metadata={"a": [1, None]}).memory
    assert memory is not None
    told = call(store, "get", {"memory_id": memory.id, "touch": False}).model_dump(mode="json")
    assert told == to_plain(store.get(memory.id, touch=False), full=True)
    assert told["event_time"] == "2026-03-04T00:00:00Z"


# --------------------------------------------------------------------------------------------
# What comes in

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("remember", {}, "content"),
    ("remember", {"content": 7}, "content"),
    ("remember", {"content": "x", "importance": "0.5"}, "importance"),
    ("remember", {"content": "x", "importance": float("nan")}, "importance"),
    ("remember", {"content": "x", "importance": True}, "importance"),
    ("remember", {"content": "x", "tags": "a"}, "tags"),
    ("remember", {"content": "x", "pinned": 1}, "pinned"),
    ("remember", {"content": "x", "polarity": 2}, "polarity"),
    ("remember", {"content": "x", "on_conflict": "shout"}, "on_conflict"),
    ("remember", {"content": "x", "event_time": "soon"}, "event_time"),
    ("remember", {"content": "x", "title": "t" * 501}, "title"),
    ("remember", {"content": "x", "colour": "red"}, "colour"),
    ("recall", {"query": "x", "limit": 0}, "limit"),
    ("recall", {"query": "x", "where": {"kind": "fact"}}, "where.kind"),
    ("recall", {"query": "x", "where": {"created_from": "soon"}}, "where.created_from"),
    ("recall", {"query": "x", "where": {"after": ["soon", "id"]}}, "where.after"),
    ("recall", {"query": "x", "mode": "hybrid", "weights": {"cosine": -1.0}}, "weights"),
    ("recall", {"query": "x", "mode": "hybrid", "weights": "best"}, "weights"),
    ("recall", {"query": "x", "expand": {"rels": []}}, "expand.rels"),
    ("neighbors", {"memory_id": "x", "depth": 21}, "depth"),
    ("resolve", {"key": "k", "resolution": "toss a coin"}, "resolution"),
    ("undo", {"entry": 0}, "entry"),
    ("remember_many", {"items": ["x"] * 10_001}, "items"),
    ("remember_many", {"items": [7]}, "items"),
    ("stats", {"fast": True}, "fast"),
    ("questions", {"limit": -1}, "limit"),
    ("answer", {"text": "new", "question": "17"}, "question"),
    ("answer", {"text": "q1 new", "by": "nobody"}, "by"),
    ("answer", {"text": "x" * 20_001}, "text"),
    ("undo_answers", {"since": "soon"}, "since"),
]


@pytest.mark.parametrize(("name", "given", "where"), WRONG, ids=[f"{name}-{where}" for name, _, where in WRONG])
def test_a_wrong_input_is_refused_with_the_name_of_its_field(
    store: MemoryStore, name: str, given: dict[str, Any], where: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        call(store, name, given)
    assert caught.value.where.startswith(where)
    assert store.journal() == ()


def test_an_error_does_not_repeat_what_was_given(store: MemoryStore) -> None:
    with pytest.raises(InvalidField) as caught:
        call(store, "remember", {"content": ["my PIN is 4711"]})
    assert "4711" not in str(caught.value)


def test_an_operation_that_does_not_exist_is_not_found(store: MemoryStore) -> None:
    with pytest.raises(NotFound, match="remember"):
        call(store, "memorise" * 100, {})


def test_errors_of_the_library_come_through(store: MemoryStore) -> None:
    with pytest.raises(NotFound):
        call(store, "get", {"memory_id": "0190a1b2-c3d4-7abc-8def-0123456789ab"})


def test_only_what_was_said_is_revised_and_null_clears_a_time(store: MemoryStore) -> None:
    memory = store.remember("Tea is upstairs.", title="Tea", event_time="2026-03-04", tags=["a"]).memory
    assert memory is not None
    call(store, "revise", {"memory_id": memory.id, "event_time": None, "tags": []})
    revised = store.get(memory.id)
    assert (revised.title, revised.event_time, revised.tags) == ("Tea", None, ())


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("depth", [99, 100, 300, 700, 5_000, 100_000])
def test_deep_objects_are_stored_and_told_or_refused_and_nothing_else(store: MemoryStore, depth: int) -> None:
    """After hostile input `verify` finds nothing, and stored texts can be returned."""
    deep = nested(depth)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("remember", {"content": "Tea is upstairs.", "metadata": deep}),
        ("remember_many", {"items": [{"content": "Cups are downstairs.", "signals": deep}]}),
        ("recall", {"query": "tea", "where": {"metadata": deep}}),
        ("execute", {"plan": deep}),
        ("list", {}),
    ]
    for name, given in calls:
        try:
            call(store, name, given).model_dump_json()
        except (InvalidInput, InvalidPlan):
            assert name == "execute" or depth >= 100
    assert store.verify() == ()


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = [", "[[rules]]\nid = 7"])
def test_rules_that_cannot_be_read_are_refused(store: MemoryStore, text: str) -> None:
    with pytest.raises((InvalidRules, InvalidField)):
        call(store, "plan", {"config": {"rules": text}})


def test_a_plan_of_another_namespace_or_a_changed_one_is_refused(store: MemoryStore) -> None:
    plan = call(store, "plan", {}).model_dump(mode="json")
    assert call(store, "execute", {"plan": plan, "dry_run": True}).model_dump()["mode"] == "dry_run"
    for changed in ({**plan, "namespace": "other"}, {**plan, "snapshot": "0" * 16}, {}, {**plan, "more": 1}):
        with pytest.raises(WellkeptError):
            call(store, "execute", {"plan": changed})


# --------------------------------------------------------------------------------------------
# What comes as text

READ: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("journal", {"newest": "3", "after": "1"}, {"newest": 3, "after": 1}),
    ("get", {"memory_id": "1", "touch": "false"}, {"memory_id": "1", "touch": False}),
    ("get", {"memory_id": '{"a"'}, {"memory_id": '{"a"'}),
    ("list", {"where": '{"kinds": ["fact"]}', "limit": "2"}, {"limit": 2}),
    ("conflicts", {"memory_id": '{"a": 1}'}, {"memory_id": '{"a": 1}'}),
]


@pytest.mark.parametrize(("name", "texts", "expected"), READ)
def test_a_query_string_is_read_as_what_the_field_holds(
    name: str, texts: dict[str, Any], expected: dict[str, Any]
) -> None:
    made = parsed(operation(name), texts, texts=True).model_dump()
    assert {key: made[key] for key in expected} == expected


def test_an_object_in_a_query_is_json() -> None:
    given = parsed(operation("list"), {"where": '{"kinds": ["fact"], "min_importance": 1}'}, texts=True)
    assert given.model_dump()["where"]["kinds"] == ["fact"]
    with pytest.raises(InvalidField, match="JSON"):
        parsed(operation("list"), {"where": "{kinds"}, texts=True)


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("remember", dict.fromkeys(map(str, range(40_000)), 1), "has 40000 fields"),
        ("recall", {"query": "x", "where": dict.fromkeys(map(str, range(40_000)), 1)}, r"has 40000 fields.*where"),
        ("remember", {"content": "x", "tags": [1] * 40_000}, "should be a valid string"),
        ("remember_many", {"items": [1] * 1_000}, "more field"),
        ("remember_many", {"items": ["x"] * 1_001}, "at most 1000 items"),
        ("execute", {"plan": {}, "only": [1] * 40_000}, "should be a valid string"),
    ],
)
def test_of_many_wrong_values_few_are_looked_at(name: str, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidField, match=said) as refused:
        parsed(operation(name), fields)
    found = refused.value.__cause__
    assert found is None or (isinstance(found, ValidationError) and found.error_count() <= 2)
