"""Plan files are read back as written, and an edited file cannot cause actions that the planner never plans.

Covers S1-10, S1-14, S1-15, S1-43, B-22, and of I1 and S1-4 the part that concerns files.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wellkept
from stores import desk
from wellkept.core.consolidation.plan import plan_id_of
from wellkept.core.consolidation.plan_file import MAX_CHARS, MAX_ITEMS, MAX_TEXT, plan_from, plan_text
from wellkept.core.consolidation.rules import DEFAULT_RULES, Consolidation, Rule, When
from wellkept.errors import InvalidPlan
from wellkept.types import Plan

KEEP_ALL = wellkept.Policy.from_toml('[kinds.note]\npreset = "append_only"')
RULES = (
    *DEFAULT_RULES[:2],
    Rule(id="raise", trigger="always", action="promote", when=When(categories_any=("sop",)), bump=0.2, pin=True),
    Rule(id="shield", trigger="always", action="noop", when=When(categories_any=("keep",))),
    Rule(id="drop", trigger="always", action="archive", when=When(categories_any=("old",))),
    DEFAULT_RULES[4],
)
SCHEMA = json.loads(files("wellkept.core").joinpath("plan.schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan with an action of each type that rules make."""
    place = desk("memory", tmp_path_factory.mktemp("plan"), policy=KEEP_ALL)
    say = place.store.remember
    old = say("Tea is upstairs.", kind="note", tags=["a\u202eb"], metadata={"who": "Ana \u009b31m"}).memory
    say("tea is upstairs", kind="note", tags=["c"], subject="tea", importance=0.9)
    assert old is not None
    note = say("See the note.", kind="note").memory
    assert note is not None
    place.store.link(note.id, old.id)
    say("Backups run at night.", kind="note", tags=["sop"])
    say("Keep me.", kind="note", tags=["keep"])
    say("Die Übersicht ist veraltet.", kind="note", tags=["old"])
    place.near("The port is 8080.", "The port is 9090.", 0.97)
    say("The port is 8080.", on_conflict="ignore")
    say("The port is 9090.", on_conflict="ignore")
    place.store._ctx = replace(place.store._ctx, policy=wellkept.Policy())
    made: Plan = place.store.plan(Consolidation(rules=RULES))
    assert {kind for kind, count in made.planned.items() if count} == {
        "merge", "promote", "archive", "flag_contradiction", "noop",
    }  # fmt: skip
    return made


def sealed(data: dict[str, Any]) -> str:
    """The file with a plan_id that fits its actions, as a forger would write it: the hash is no secret."""
    actions = [{key: value for key, value in action.items() if value not in ([], {}, "")} for action in data["actions"]]
    forged = plan_id_of(data["config_hash"], data["snapshot"], actions)  # type: ignore[arg-type]
    return json.dumps({**data, "actions": actions, "plan_id": forged})


# --------------------------------------------------------------------------------------------


def test_a_written_plan_is_read_back_whole(plan: Plan) -> None:
    # B-22: the file is the plan; its id fits and it can be executed another day.
    text = plan_text(plan)
    assert plan_from(text) == plan
    assert plan_text(plan_from(text)) == text


def test_each_action_stands_on_one_line_without_what_a_terminal_obeys(plan: Plan) -> None:
    lines = [line for line in plan_text(plan).splitlines() if line.startswith("  {")]
    assert len(lines) == len(plan.actions)
    assert not re.search("[\x7f-\x9f\u202e]", plan_text(plan))
    assert "Übersicht" in plan_text(plan)


def test_a_written_plan_fits_the_published_schema(plan: Plan) -> None:
    # S1-15: every action has type, targets and rationale with rule, reasons and evidence.
    data = json.loads(plan_text(plan))
    assert problems(data, SCHEMA) == []
    for action in data["actions"]:
        assert action["rationale"]["rule"] and action["rationale"]["reasons"]


def test_the_schema_would_notice(plan: Plan) -> None:
    data = json.loads(plan_text(plan))
    data["actions"][0]["type"] = "erase"
    data["schema"] = 3
    assert len(problems(data, SCHEMA)) == 2


def test_a_plan_has_no_time(plan: Plan) -> None:
    assert not re.search(r"\d{4}-\d\d-\d\dT", plan_text(plan))


# --------------------------------------------------------------------------------------------
# What is no plan


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[]", "not a plan"),
        ("{}", "not a plan"),
        ('{"format": "wellkept.plan"}', "schema None, not 2"),
        ('{"format": "wellkept.plan", "schema": 1}', "schema 1, not 2"),
        ('{"format": "wellkept.plan", "schema": true}', "schema True, not 2"),
        ('{"format": "wellkept.plan", "schema": 2, "x": NaN}', "not a number"),
        ('{"format": "wellkept.plan", "format": "x"}', "twice"),
        ('{"format": "wellkept.plan", "schema": 2}', "lacks 'plan_id'"),
        ("[" * 200_000, "not JSON"),
    ],
)
def test_what_is_no_plan_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidPlan, match=re.escape(said)):
        plan_from(text)


def test_a_file_beyond_the_bound_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellkept.core.consolidation.plan_file.MAX_CHARS", 10)
    with pytest.raises(InvalidPlan, match="11 characters"):
        plan_from(" " * 11)
    assert MAX_CHARS > 10


Edit = Callable[[dict[str, Any]], object]


def at(data: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(action for action in data["actions"] if action["type"] == kind)


def put(kind: str, **values: Any) -> Edit:
    return lambda data: at(data, kind).update(values)


def row(kind: str, place: int, side: str, **values: Any) -> Edit:
    return lambda data: at(data, kind)["rows"][place][side].update(values)


def both(kind: str, place: int, name: str, before: Any, after: Any) -> Edit:
    def edit(data: dict[str, Any]) -> None:
        row(kind, place, "before", **{name: before})(data)
        row(kind, place, "after", **{name: after})(data)

    return edit


def known(kind: str, memory_id: str) -> Edit:
    return lambda data: at(data, kind)["expect"].update({memory_id: 1})


def led(data: dict[str, Any], front: str) -> None:
    """Let a merge turn to its winner a memory that stands behind this one."""
    known("merge", "x")(data)
    ends = {"superseded_by": front}, {"superseded_by": at(data, "merge")["canonical"]}
    at(data, "merge")["rows"].append({"memory_id": "x", "before": ends[0], "after": ends[1]})


BROKEN: list[tuple[str, Edit, str]] = [
    ("unknown key", lambda data: data.update(extra=1), "unknown key 'extra'"),
    ("unknown key in an action", put("merge", sql="x"), "actions[1]"),
    ("targets are text", put("merge", targets="abc"), "targets"),
    ("a target is a number", put("merge", targets=[1, 2]), "targets[0]"),
    ("type", put("merge", type="erase"), "'erase' is not one of"),
    ("type is a list", put("merge", type=["merge"]), "type"),
    ("id", put("merge", id="../../x"), "is not a hash"),
    ("version is text", lambda data: at(data, "merge")["expect"].update({"x": "1"}), "expect.x"),
    ("version is true", lambda data: at(data, "merge")["expect"].update({"x": True}), "expect.x"),
    ("rows is an object", put("merge", rows={}), "rows"),
    ("row without before", lambda data: at(data, "merge")["rows"][0].pop("before"), "lacks 'before'"),
    ("edge of two", put("merge", links=[["a", "b"]]), "links[0]"),
    ("similarity", lambda data: at(data, "merge")["rationale"].update(similarity=7), "similarity"),
    ("infinite", lambda data: at(data, "merge")["rationale"].update(similarity=1e999), "Infinity is not a number"),
    ("difference", lambda d: at(d, "flag_contradiction")["rationale"]["differences"][0].update(kind="x"), "kind"),
    ("time", lambda data: data["scope"].update(created_from="tomorrow"), "scope.created_from"),
    ("time without zone", lambda data: data["scope"].update(created_from="2026-01-01T00:00:00"), "scope.created_from"),
    ("time is a number", lambda data: data["scope"].update(created_from=1), "is not text (p.json: scope.created_from)"),
    ("too many targets", put("merge", targets=["a"] * (MAX_ITEMS + 1)), f"has {MAX_ITEMS + 1} items"),
    ("too many versions", put("merge", expect=dict.fromkeys(map(str, range(MAX_ITEMS + 1)), 1)), "100001 keys"),
    ("too long a sample", put("merge", samples=["x" * (MAX_TEXT + 1)]), f"has {MAX_TEXT + 1} characters"),
    ("counts", lambda data: data["planned"].update(merge=7), "planned"),
    ("half a character", lambda data: data.update(snapshot="\ud800"), "snapshot"),
    ("half a character in a value", row("merge", 0, "after", tags=["\ud800"]), "not JSON"),
    ("changed since", put("merge", samples=["something else"]), "changed since it was written"),
    ("an action taken out", lambda d: (d["actions"].pop(0), d["planned"].update(flag_contradiction=0)), "changed"),
]


@pytest.mark.parametrize(("edit", "said"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_damaged_plan_is_refused_by_place(plan: Plan, edit: Edit, said: str) -> None:
    data = json.loads(plan_text(plan))
    edit(data)
    with pytest.raises(InvalidPlan, match=re.escape(said)):
        plan_from(json.dumps(data), origin="p.json")


# --------------------------------------------------------------------------------------------
# A forged plan, whose plan_id fits

LONG_AGO = "2020-01-01T00:00:00Z"

FORGED: list[tuple[str, Edit, str]] = [
    # I1: no text changes, nothing is erased, nothing that was said goes.
    ("another text", both("merge", 0, "content", "Tea", "Coffee"), "may not change 'content'"),
    ("a text emptied on the way out", both("merge", 1, "content", "Tea", ""), "may not change 'content'"),
    ("erased", row("merge", 1, "after", status="erased"), "archived or superseded"),
    ("revived", both("merge", 1, "status", "archived", "active"), "archived or superseded"),
    ("archive erases", row("archive", 0, "after", status="erased"), "status to archived and nothing else"),
    ("archive does more", both("archive", 0, "importance", 0.5, 0.9), "nothing else"),
    ("a tag taken away", both("merge", 0, "tags", ["a", "b"], ["a"]), "tags may only grow"),
    ("metadata taken away", both("merge", 0, "metadata", {"a": 1}, {"merged_from": []}), "metadata may only grow"),
    ("metadata replaced", both("merge", 0, "metadata", {"a": 1}, {"a": 2}), "metadata may only grow"),
    ("a subject replaced", both("merge", 0, "subject", "tea", "port"), "subject may only grow"),
    ("less important", both("promote", 0, "importance", 0.5, 0.1), "importance may only grow"),
    ("too important", both("promote", 0, "importance", 0.5, 7), "importance may only grow"),
    ("unpinned", both("promote", 0, "pinned", before=True, after=False), "pinned may only grow"),
    ("expires sooner", both("merge", 0, "expires_at", None, "2026-01-01T00:00:00Z"), "expires_at may only grow"),
    ("reads undone", both("merge", 0, "access_count", 5, 0), "access_count may only grow"),
    ("a count of a million", both("merge", 0, "confirmations", 0, 10**30), "confirmations may only grow"),
    ("another namespace", both("merge", 0, "namespace", "a", "b"), "may not change 'namespace'"),
    ("another id", both("promote", 0, "id", "a", "b"), "may not change 'id'"),
    ("less stable", both("merge", 0, "stability", 9.0, 1.0), "stability may only grow"),
    ("at another time", both("merge", 0, "event_time", LONG_AGO, "2026-01-02T00:00:00Z"), "event_time may only grow"),
    ("a tag that is a number", both("merge", 0, "tags", ["a"], ["a", 5]), "tags may only grow"),
    ("tags that are no list", both("merge", 0, "tags", ["a"], "ab"), "tags may only grow"),
    ("tags that were no list", both("merge", 0, "tags", "", []), "tags may only grow"),
    ("only after", row("promote", 0, "after", importance=1.0, tags=["x"]), "other fields before than after"),
    # The shape of each type.
    ("hidden behind a stranger", both("merge", 1, "status", "active", "superseded"), "leads to the memory that stays"),
    ("canonical is none", put("merge", canonical="stranger"), "the last of which stays"),
    ("a merge of one", put("merge", targets=["a"], canonical="a"), "version of every memory"),
    ("a target twice", put("merge", targets=["a", "a"]), "each once"),
    ("a memory twice", lambda d: at(d, "merge")["rows"].append(at(d, "merge")["rows"][0]), "changes a memory twice"),
    ("one of two", lambda d: at(d, "merge")["rows"].pop(1), "changes each of its targets"),
    ("archive of two", lambda d: (at(d, "archive")["targets"].append("x"), known("archive", "x")(d)), "its one target"),
    ("a stranger leads elsewhere", lambda d: led(d, "y"), "is not a memory behind one that goes"),
    ("a stranger's row", lambda data: at(data, "archive")["rows"][0].update(memory_id="x"), "expect"),
    ("no versions", put("archive", expect={}), "version of every memory"),
    ("archive with links", put("archive", links=[["a", "b", "related"]]), "archive has no links"),
    ("a flag that changes", lambda d: put("flag_contradiction", rows=at(d, "archive")["rows"])(d), "has no rows"),
    ("a flag of others", lambda d: at(d, "flag_contradiction")["flags"][0].update(a="x"), "flags its two targets"),
    ("noop that changes", lambda data: put("noop", rows=at(data, "archive")["rows"])(data), "noop has no rows"),
    ("links of others", put("merge", links=[["x", "y", "related"]]), "of the memory that stays"),
    ("unlinks of others", put("merge", unlinks=[["x", "y", "related"]]), "of the memories that go"),
    ("flags of others", lambda d: put("merge", flags=at(d, "flag_contradiction")["flags"])(d), "memory that stays"),
    ("aliases of others", put("merge", aliases=["x"]), "come from the memories that go"),
    ("an action twice", lambda data: data["actions"][1].update(id=data["actions"][0]["id"]), "there twice"),
    ("a summary from nowhere", put("archive", summary={"content": "x"}), "archive has no summary"),
]


@pytest.mark.parametrize(("edit", "said"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
def test_a_forged_plan_cannot_do_what_the_planner_never_does(plan: Plan, edit: Edit, said: str) -> None:
    data = json.loads(plan_text(plan))
    edit(data)
    with pytest.raises(InvalidPlan, match=re.escape(said)):
        plan_from(sealed(data))


@pytest.mark.parametrize(
    "edit",
    [
        both("merge", 0, "stability", None, 9.0),
        both("merge", 0, "stability", 1.0, 9.0),
        both("merge", 0, "event_time", None, LONG_AGO),
        both("merge", 0, "tags", ["a"], ["a", "b"]),
        lambda data: led(data, at(data, "merge")["targets"][0]),
    ],
)
def test_what_the_planner_may_do_is_let_through(plan: Plan, edit: Edit) -> None:
    data = json.loads(plan_text(plan))
    edit(data)
    assert plan_from(sealed(data)).planned == plan.planned


@pytest.mark.parametrize(
    ("summary", "rows", "links"),
    [
        ({"content": ""}, [], []),
        ({"content": "x", "id": "y"}, [], []),
        ({"content": "x", "idempotency_key": "y"}, [], []),
        ({"content": "x"}, [], [["", "stranger", "derived_from"]]),
        ({"content": "x"}, [], [["", "a", "contradicts"]]),
        ({"content": "x"}, [{"memory_id": "a", "before": {"status": "active"}, "after": {"status": "erased"}}], []),
        ({"content": "x"}, [{"memory_id": "c", "before": {"status": "active"}, "after": {"status": "archived"}}], []),
    ],
)
def test_a_summary_only_hides_and_links_its_sources(plan: Plan, summary: Any, rows: Any, links: Any) -> None:
    data = json.loads(plan_text(plan))
    data["actions"] = [
        {"id": "0" * 12, "type": "summarize", "targets": ["a", "b"], "rationale": {"rule": "r"},
         "expect": {"a": 1, "b": 1, "c": 1}, "summary": summary, "rows": rows, "links": links},
    ]  # fmt: skip
    data["planned"] = dict.fromkeys(data["planned"], 0) | {"summarize": 1}
    with pytest.raises(InvalidPlan):
        plan_from(sealed(data))
    good = copy.deepcopy(data)
    good["actions"][0] |= {"summary": {"content": "x"}, "rows": [], "links": [["", "a", "derived_from"]]}
    assert plan_from(sealed(good)).actions[0].summary == {"content": "x"}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), junk=JUNK)
def test_junk_anywhere_in_a_plan_is_an_invalid_plan_or_none(plan: Plan, data: st.DataObject, junk: Any) -> None:
    # Whatever a file holds: a plan, or a typed error; never a crash in the middle of an execution.
    whole = json.loads(plan_text(plan))
    places = list(paths(whole))
    *way, last = data.draw(st.sampled_from(places))
    inner = whole
    for key in way:
        inner = inner[key]
    inner[last] = junk
    try:
        found = plan_from(json.dumps(whole))
    except InvalidPlan:
        return
    assert isinstance(found, Plan)


def paths(value: Any, way: tuple[Any, ...] = ()) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*way, key)
        yield from paths(item, (*way, key))


# --------------------------------------------------------------------------------------------
# As much of JSON Schema as the published file uses

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def problems(value: Any, schema: dict[str, Any], where: str = "$") -> list[str]:
    known = {
        "$schema", "$defs", "$ref", "title", "description", "type", "const", "enum", "properties", "required",
        "additionalProperties", "items", "minItems", "maxItems", "minimum", "maximum", "pattern", "maxLength",
    }  # fmt: skip
    assert schema.keys() <= known, f"{where}: the schema uses {schema.keys() - known}"
    if "$ref" in schema:
        return problems(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], where)
    found = []
    if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: {value!r}")
    if "type" in schema and not any(_is(value, name) for name in _listed(schema["type"])):
        return [*found, f"{where}: is no {schema['type']}"]
    if isinstance(value, str):
        if len(value) > schema.get("maxLength", len(value)) or not re.search(schema.get("pattern", ""), value):
            found.append(f"{where}: {value!r}")
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{where}: {value!r}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} items")
        for place, item in enumerate(value):
            found += problems(item, schema.get("items", {}), f"{where}[{place}]")
    if isinstance(value, dict):
        found += [f"{where}: lacks {key}" for key in schema.get("required", ()) if key not in value]
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            found += [f"{where}: {key}"] if inner is False else problems(item, inner, f"{where}.{key}")
    return found


def _listed(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else names


def _is(value: Any, name: str) -> bool:
    if name in ("integer", "number"):
        return type(value) is int or name == "number" and type(value) is float
    return isinstance(value, _TYPES[name])


def test_the_schema_is_shipped_beside_the_code() -> None:
    assert (Path(wellkept.__file__).parent / "core" / "plan.schema.json").is_file()
