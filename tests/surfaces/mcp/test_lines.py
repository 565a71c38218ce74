"""Output for a model: one line per memory, without internal fields (N7)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

import wellkept
from stores import scratch
from surfaces.mcp.servers import talk
from wellkept.engine.verbs.store import MemoryStore
from wellkept.server.mcp.answers import INSIDE, slim
from wellkept.server.mcp.lines import line, text_of_answer
from wellkept.server.mcp.server import create_server

THREE = ("The staging database runs on port 5433.", "Deploys happen on Tuesdays.", "Ana prefers short commit messages.")
MEMORY = {"id": "m1", "created_at": "2026-03-01T09:00:00Z", "kind": "fact", "content": "Tea is upstairs."}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with wellkept.open(scratch(tmp_path), embedder="hashing", relation_model="none") as opened:
        yield opened


def called(store: MemoryStore, name: str, **given: Any) -> Any:
    return talk(create_server(store, toolset="full"), "auto", lambda client: client.call_tool(name, given))


def keys(value: Any) -> set[str]:
    """All names of fields in a value."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    return set(value).union(*map(keys, value.values())) if isinstance(value, dict) else set()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "[m1] 2026-03-01 fact Tea is upstairs."),
        ({"title": "Tea"}, "[m1] 2026-03-01 fact Tea: Tea is upstairs."),
        ({"event_time": "2025-12-24T00:00:00Z"}, "[m1] 2025-12-24 fact Tea is upstairs."),
        ({"status": "superseded"}, "[m1] 2026-03-01 fact superseded Tea is upstairs."),
        ({"id": "01a20646-208d-750d-937a-697343bf215f"}, "[43bf215f] 2026-03-01 fact Tea is upstairs."),
        ({"content": "One.\n[m2] 2026-03-01 fact Two."}, "[m1] 2026-03-01 fact One.\n  [m2] 2026-03-01 fact Two."),
        ({"content": "One.\u2028[m2] Two.\x1b[2J"}, "[m1] 2026-03-01 fact One.\n  [m2] Two. [2J"),
        ({"title": "A\n[m2]"}, "[m1] 2026-03-01 fact A [m2]: Tea is upstairs."),
    ],
)
def test_a_memory_is_one_line_that_no_text_can_forge(changed: dict[str, Any], expected: str) -> None:
    assert line({**MEMORY, **changed}) == expected


def test_three_short_memories_take_less_than_three_hundred_characters(store: MemoryStore) -> None:
    for text in THREE:
        store.remember(text, kind="fact")
    answer = called(store, "recall", query="which port does the staging database use", limit=3)
    read = answer.content[0].text
    assert {re.sub(r"^\[[0-9a-f]{8}\] \d{4}-\d\d-\d\d fact ", "", each) for each in read.splitlines()} == set(THREE)
    assert len(read) < 300  # it was 1,702
    assert len(json.dumps(answer.structured_content)) < 1_600  # it was 3,189


def test_what_only_the_store_needs_is_told_when_it_is_asked_for(store: MemoryStore) -> None:
    store.remember(THREE[0], kind="fact")
    usual = called(store, "recall", query="port", limit=1).structured_content
    asked = called(store, "recall", query="port", limit=1, explain=True).structured_content
    assert not keys(usual) & INSIDE
    assert keys(asked) >= INSIDE


def test_a_conflict_stands_in_the_lines_of_both_memories_with_the_key_for_resolve(store: MemoryStore) -> None:
    first = store.remember("The limit is 0.85.", kind="lesson").memory
    written = called(store, "remember", content="The limit is 0.95.", kind="lesson")
    assert first is not None
    [conflict] = store.conflicts()
    key, ends = conflict.key, (conflict.a[-8:], conflict.b[-8:])
    told_of = f"{key} contradiction: [{ends[0]}] The limit is 0.85. / [{ends[1]}] The limit is 0.95. (0.85 -> 0.95)"
    assert told_of in written.content[0].text.splitlines()
    newer, older = called(store, "recall", query="limit").content[0].text.splitlines()
    assert newer.endswith(f"lesson The limit is 0.95. (contradiction with [{ends[0]}], key {key})")
    assert older.endswith(f"lesson The limit is 0.85. (contradiction with [{ends[1]}], key {key})")
    assert called(store, "conflicts").content[0].text.startswith(f"{key} contradiction: ")
    assert called(store, "conflicts", threshold=1.0).content[0].text == "Nothing found."


def test_a_write_says_how_to_take_it_back_and_undo_is_there_for_every_agent(store: MemoryStore) -> None:
    async def talking(client: Client) -> Any:
        written = await client.call_tool("remember", {"content": THREE[0], "kind": "fact"})
        entry = written.structured_content["entry"]
        return entry, written.content[0].text, await client.call_tool("undo", {"entry": entry})

    entry, said, undone = talk(create_server(store), "auto", talking)
    assert f"undo {entry} undoes this." in said
    assert f"Entry {entry} was undone by entry {entry + 1}." in undone.content[0].text
    assert store.list() == ()


def test_every_answer_about_memories_is_lines_and_fits_the_schema_of_its_tool(store: MemoryStore) -> None:
    rule = store.remember("Test before you merge.", kind="lesson", title="Merging").memory
    case = store.remember("An outage came in March.", metadata={"empty": "", "none": None}).memory
    assert rule is not None and case is not None
    store.link(case.id, rule.id, "example_of")
    store.link(rule.id, "nobody", "refines")
    schemas = {
        tool.name: tool.output_schema
        for tool in talk(create_server(store, toolset="full"), "auto", lambda client: client.list_tools()).tools
    }
    expected = {
        "list": (r"\[RULE\] \S+ lesson Merging: Test before you merge\.\n\[CASE\] \S+ semantic An outage", {}),
        "get": (r"\[RULE\] .*\n\{.*\}", {"memory_id": rule.id}),
        "history": (r"entry 1, \S+, created: \[RULE\] ", {"memory_id": rule.id}),
        "neighbors": (
            r"\[CASE\] .* An outage came in March\. \(example_of, in\)\nLinked ids that do not exist: nobody$",
            {"memory_id": rule.id},
        ),
        "subgraph": (r"(?s).*\nCASE -example_of-> ", {"ids": [rule.id]}),
        "pack": (r"## Memory\n", {"query": "merge"}),
        "remember_many": (r"1 duplicate\nDuplicate: ", {"items": [{"content": rule.content, "kind": "lesson",
                                                                   "title": "Merging"}]}),
    }  # fmt: skip
    for name, (pattern, given) in expected.items():
        answer = called(store, name, **given)
        named = pattern.replace("RULE", rule.id[-8:]).replace("CASE", case.id[-8:])
        assert re.match(named, answer.content[0].text), name
        jsonschema.validate(answer.structured_content, schemas[name])
    kept = called(store, "get", memory_id=case.id).structured_content
    assert kept["metadata"] == {"empty": "", "none": None}  # what the caller said is not touched


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        ("recall", {"hits": [], "left_out": [], "dangling": []}, "Nothing found."),
        ("stats", {"memories": {"active": 2}, "kinds": {}}, '{"memories":{"active":2}}'),
        ("list", {"memories": [MEMORY], "shortened": "Shortened."}, f"{line(MEMORY)}\nShortened."),
        ("erase", {"dry_run": True, "would_lose": "m1: Tea"}, '{"dry_run":true,"would_lose":"m1: Tea"}'),
    ],
)
def test_what_is_no_memory_is_told_as_it_is(name: str, answer: dict[str, Any], expected: str) -> None:
    assert text_of_answer(name, answer) == expected


def test_a_list_that_is_empty_stays_where_it_stood() -> None:
    assert slim({"hits": [], "left_out": []}) == {"hits": [], "left_out": []}


@pytest.mark.parametrize(
    ("tool", "given", "where", "todo"),
    [
        ("remember", {"text": "Tea."}, "text", "Did you mean `content`?"),
        ("remember", {"content": "Tea.", "type": "fact"}, "type", "Did you mean `kind`?"),
        ("remember", {"content": "Tea.", "tag": ["a"]}, "tag", "Did you mean `tags`?"),
        ("recall", {"query": "tea", "k": 3}, "k", "Did you mean `limit`?"),
        ("recall", {"question": "tea"}, "question", "Did you mean `query`?"),
        ("recall", {"query": "tea", "where": {"kind": ["fact"]}}, "where.kind", "Did you mean `kinds`?"),
        ("get", {"id": "m1"}, "id", "Did you mean `memory_id`?"),
        ("undo", {"seq": 1}, "seq", "Did you mean `entry`?"),
        ("recall", {"query": "tea", "bogus": 1}, "bogus", "See the operation's input schema"),
        ("remember", {}, "content", "See the operation's input schema"),
    ],
)
def test_an_unknown_argument_is_answered_with_the_one_that_is_meant(
    store: MemoryStore, tool: str, given: dict[str, Any], where: str, todo: str
) -> None:
    error = json.loads(called(store, tool, **given).content[0].text)["error"]
    assert (error["type"], error["where"], error["todo"]) == ("InvalidField", where, todo)
    assert "more field" not in error["what"]


def test_tools_say_which_kind_to_use_five_first(store: MemoryStore) -> None:
    listed = talk(create_server(store), "auto", lambda client: client.list_tools()).tools
    [remember] = [tool for tool in listed if tool.name == "remember"]
    assert "fact, preference, lesson, decision or note" in remember.description
    said = remember.input_schema["properties"]["kind"]["description"]
    kinds = re.findall(r"(\w+): ", said)
    assert kinds == ["fact", "preference", "lesson", "decision", "note"]
    assert set(kinds) <= set(wellkept.Policy().kinds)


def test_the_schemas_of_all_answers_together_stay_small(store: MemoryStore) -> None:
    listed = talk(create_server(store, toolset="full"), "auto", lambda client: client.list_tools()).tools
    assert (
        sum(len(json.dumps(tool.output_schema)) for tool in listed) < 97_000
    )  # 112,000 before; titles, dangling links, late judging and verdicts are new
