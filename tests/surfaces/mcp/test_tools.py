"""The tools in this process, on both eras of the protocol: every behaviour that needs no wire."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client

import wellkept
from stores import scratch
from surfaces.mcp.servers import MODES, Mode, newer_in_every_run, talk
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import InvalidPlan
from wellkept.operations.registry import OPERATIONS
from wellkept.server.mcp.answers import size
from wellkept.server.mcp.server import create_server

SEED_TEXT = (
    "DEDUPLICATION: Lessons and curiosity items are checked for duplicates before storing. If a very similar memory "
    "already exists (95%+ match), the new one won't be created — you'll see which existing memory matched. If a "
    "moderately similar memory exists (90-95% match), the new one is created and linked to it."
)
DEFAULT = {
    "remember", "check", "recall", "get", "history", "conflicts",
    "resolve", "supersede", "forget", "restore", "undo", "link", "unlink", "neighbors", "questions", "answer",
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with wellkept.open(scratch(tmp_path), embedder="hashing", relation_model="none") as opened:
        yield opened


@pytest.mark.parametrize("mode", MODES)
def test_the_default_tool_set_is_what_an_agent_needs_every_day(store: MemoryStore, mode: Mode) -> None:
    listed = talk(create_server(store), mode, lambda client: client.list_tools())
    assert {tool.name for tool in listed.tools} == DEFAULT
    full = talk(create_server(store, toolset="full"), mode, lambda client: client.list_tools())
    assert {tool.name for tool in full.tools} == {row.name for row in OPERATIONS if row.toolset != "none"}


@pytest.mark.parametrize(("toolset", "most"), [("default", 20_000), ("full", 52_000)])
def test_what_a_model_reads_of_the_tools_fits_beside_its_work(
    store: MemoryStore, toolset: Literal["default", "full"], most: int
) -> None:
    """Clients put names, descriptions and inputs into every prompt: about 5,000 tokens for the tools of every day."""
    listed = talk(create_server(store, toolset=toolset), "auto", lambda client: client.list_tools())
    read = [[tool.name, tool.description, tool.input_schema] for tool in listed.tools]
    assert size(read) <= most


def test_tools_say_what_they_do_to_the_store(store: MemoryStore) -> None:
    listed = talk(create_server(store, toolset="full"), "auto", lambda client: client.list_tools())
    told = {tool.name: tool.annotations for tool in listed.tools}
    for row in OPERATIONS:
        if row.toolset == "none":
            continue
        notes = told[row.name]
        assert notes is not None
        assert (notes.read_only_hint, notes.destructive_hint) == (row.effect == "read", row.effect == "destructive")
        assert (notes.idempotent_hint, notes.open_world_hint) == (row.idempotent, False)


def test_the_store_tool_ends_with_the_text_of_the_seed(store: MemoryStore) -> None:
    # S0-46
    listed = talk(create_server(store), "auto", lambda client: client.list_tools())
    [remember] = [tool for tool in listed.tools if tool.name == "remember"]
    assert remember.description is not None and remember.description.endswith(SEED_TEXT)


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_is_structured_and_told_as_text_too(store: MemoryStore, mode: Mode) -> None:
    async def talking(client: Client) -> Any:
        first = await client.call_tool("remember", {"content": "Use ruff for linting.", "kind": "lesson"})
        again = await client.call_tool("remember", {"content": "use ruff for linting", "kind": "lesson"})
        hits = await client.call_tool("recall", {"query": "linting", "limit": 3})
        return first, again, hits

    first, again, hits = talk(create_server(store), mode, talking)
    assert (first.is_error, first.structured_content["outcome"]) == (False, "created")
    kept = first.structured_content["memory"]["id"]
    assert again.structured_content["outcome"] == "duplicate"
    assert again.structured_content["memory"]["id"] == kept
    assert [hit["memory"]["id"] for hit in hits.structured_content["hits"]] == [kept]
    assert hits.content[0].text.startswith(f"[{kept[-8:]}] ")
    assert hits.content[0].text.endswith("lesson Use ruff for linting.")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "given", "type_", "where"),
    [
        ("get", {"memory_id": "nowhere"}, "NotFound", "default"),
        ("remember", {"content": "   "}, "EmptyContent", ""),
        ("remember", {"content": "Tea.", "kind": "no such kind"}, "UnknownKind", ""),
        ("remember", {"content": "Tea.", "importance": 7}, "InvalidField", "importance"),
        ("remember", {}, "InvalidField", "content"),
        ("recall", {"query": "tea", "bogus": 1}, "InvalidField", "bogus"),
        ("recall", {"query": "tea", "limit": "many"}, "InvalidField", "limit"),
        ("resolve", {"key": "none", "resolution": "keep_new"}, "NotFound", ""),
    ],
)
def test_what_is_refused_is_an_answer_that_says_what_where_and_what_to_do(
    store: MemoryStore, mode: Mode, tool: str, given: dict[str, Any], type_: str, where: str
) -> None:
    answer = talk(create_server(store), mode, lambda client: client.call_tool(tool, given))
    told = json.loads(answer.content[0].text)["error"]
    assert (answer.is_error, answer.structured_content) == (True, None)
    assert told["type"] == type_ and told["what"]
    assert where in told.get("where", "")
    assert answer.meta["wellkept/error"]["type"] == type_
    assert store.stats().journal == 0


def test_a_conflict_under_raise_names_both_sides(store: MemoryStore) -> None:
    store.remember("The limit is 0.85.", kind="lesson")
    given = {"content": "The limit is 0.95.", "kind": "lesson", "on_conflict": "raise"}
    answer = talk(create_server(store), "auto", lambda client: client.call_tool("remember", given))
    told = json.loads(answer.content[0].text)["error"]
    assert answer.is_error and told["type"] == "ConflictError"
    assert told["conflicts"][0]["reason"] == "value_diff"
    assert len(store.list()) == 1


def test_a_fault_of_ours_keeps_its_text_to_itself(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret path")

    monkeypatch.setattr(MemoryStore, "recall", broken)
    answer = talk(create_server(store), "auto", lambda client: client.call_tool("recall", {"query": "tea"}))
    assert answer.is_error and "secret" not in answer.content[0].text
    assert "a secret path" in caplog.text  # it is in the log


def test_lists_and_objects_may_come_as_text(store: MemoryStore) -> None:
    # Some clients send every value that is no scalar as JSON text.
    given = {"content": "Tea is upstairs.", "tags": '["kitchen"]', "metadata": '{"floor": 2}'}
    talk(create_server(store), "auto", lambda client: client.call_tool("remember", given))
    [kept] = store.list()
    assert (kept.tags, dict(kept.metadata)) == (("kitchen",), {"floor": 2})
    # A field that takes texts keeps a text that looks like JSON.
    talk(create_server(store), "auto", lambda client: client.call_tool("remember", {"content": '["a", "b"]'}))
    assert '["a", "b"]' in {memory.content for memory in store.list()}


@pytest.mark.parametrize("mode", MODES)
def test_erasing_shows_first_what_would_be_lost(store: MemoryStore, mode: Mode) -> None:
    memory = store.remember("My PIN is 4711.").memory
    assert memory is not None

    async def talking(client: Client) -> Any:
        looked = await client.call_tool("erase", {"memory_id": memory.id})
        between = store.get(memory.id).status
        done = await client.call_tool("erase", {"memory_id": memory.id, "dry_run": False})
        return looked, between, done

    looked, between, done = talk(create_server(store, toolset="full"), mode, talking)
    assert looked.structured_content["dry_run"] is True
    assert "4711" in looked.structured_content["would_lose"]
    assert between == "active"
    assert not done.is_error and store.get(memory.id).status == "erased"


def test_every_tool_that_cannot_be_taken_back_says_so_and_does_nothing_by_default(store: MemoryStore) -> None:
    listed = talk(create_server(store, toolset="full"), "auto", lambda client: client.list_tools())
    told = {tool.name: tool for tool in listed.tools}
    for row in OPERATIONS:
        if row.effect == "destructive" and row.toolset != "none":
            assert told[row.name].input_schema["properties"]["dry_run"]["default"] is True
            assert "cannot be undone" in (told[row.name].description or "")


def test_a_plan_is_applied_by_its_id_and_reports_progress(store: MemoryStore) -> None:
    for text in ("Tea is upstairs.", "tea is upstairs", "TEA is upstairs"):
        store.remember(text, on_conflict="ignore")
    seen: list[tuple[float, float | None, str | None]] = []

    async def progressed(part: float, whole: float | None, words: str | None) -> None:
        seen.append((part, whole, words))

    async def talking(client: Client) -> Any:
        plan = await client.call_tool("plan", {}, progress_callback=progressed)
        told, steps = plan.structured_content["plan_id"], len(seen)
        done = await client.call_tool("execute", {"plan": {"plan_id": told}}, progress_callback=progressed)
        return steps, done

    steps, done = talk(create_server(store, toolset="full"), "auto", talking)
    assert done.structured_content["executed"] == 1, done
    assert len(store.list()) == 1
    assert steps > 1 and len(seen) > steps
    for part in (seen[:steps], seen[steps:]):
        assert [at for at, _, _ in part] == sorted({at for at, _, _ in part}), "progress must grow"
    assert seen[-1][:2] == (1, 1)


def test_a_plan_of_another_namespace_is_not_found() -> None:
    # I8
    from wellkept.server.mcp.plans import Plans

    plans = Plans(most=2)
    plans.keep("a", {"plan_id": "1"})
    with pytest.raises(wellkept.WellkeptError, match="no plan of this id"):
        plans.whole("b", {"plan_id": "1"})
    plans.keep("a", {"plan_id": "2"})
    plans.keep("a", {"plan_id": "3"})
    with pytest.raises(wellkept.WellkeptError, match="no plan of this id"):
        plans.whole("a", {"plan_id": "1"})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["remember_many", "verify"])
def test_other_long_calls_report_that_they_have_begun(store: MemoryStore, mode: Mode, tool: str) -> None:
    seen: list[str | None] = []

    async def progressed(part: float, whole: float | None, words: str | None) -> None:
        seen.append(words)

    given = {"items": ["Tea is upstairs.", ""]} if tool == "remember_many" else {}
    server = create_server(store, toolset="full")
    answer = talk(server, mode, lambda client: client.call_tool(tool, given, progress_callback=progressed))
    assert not answer.is_error
    assert seen[0] == "begun"


@newer_in_every_run
def test_a_cancelled_run_ends_between_two_actions_and_leaves_a_sound_store(store: MemoryStore, mode: Mode) -> None:
    for number in range(40):
        for text in (f"Room {number} is upstairs.", f"room {number} is upstairs"):
            store.remember(text, on_conflict="ignore")
    plan = store.plan()
    merges = sum(action.type == "merge" for action in plan.actions)
    first, cancelled = threading.Event(), threading.Event()

    async def talking(client: Client) -> None:
        made = await client.call_tool("plan", {})
        scope = anyio.CancelScope()

        async def progressed(part: float, whole: float | None, words: str | None) -> None:
            if part >= 1:
                first.set()
                scope.cancel()

        with scope:
            await client.call_tool("execute", {"plan": {"plan_id": made.structured_content["plan_id"]}},
                                   progress_callback=progressed)  # fmt: skip
        assert scope.cancelled_caught
        # The server answers others as before.
        assert not (await client.call_tool("stats", {})).is_error
        cancelled.set()

    talk(create_server(store, toolset="full"), mode, talking)
    assert first.is_set() and cancelled.is_set()
    left = len(store.list())
    assert merges == 40 and 40 < left < 80, "some actions are done, and some are not"
    assert store.verify() == ()
    assert store.execute(plan).errors == 0  # and the rest can be done later (I5)
    assert len(store.list()) == 40


def test_what_the_session_prompt_handed_out_is_no_news_when_it_comes_back(store: MemoryStore) -> None:
    # design §4: the guard against echoes
    store.remember("Ship the export behind a flag.", kind="decision")

    async def talking(client: Client) -> Any:
        await client.get_prompt("session_start", {"topic": "how is the export shipped"})
        return await client.call_tool("remember", {"content": "ship the export behind a flag", "kind": "decision"})

    answer = talk(create_server(store), "auto", talking)
    assert answer.structured_content["outcome"] == "duplicate"
    assert answer.structured_content["reasons"][0]["rule"] == "handed_out"


def test_plans_of_one_namespace_do_not_displace_those_of_another() -> None:
    """I8: plans of other namespaces have no influence, and the total number of kept plans is bounded."""
    from wellkept.server.mcp.plans import Plans

    plans = Plans(most=2, most_of_all=4)
    plans.keep("quiet", {"plan_id": "q"})
    for number in range(50):
        plans.keep("busy", {"plan_id": str(number)})
    assert plans.whole("quiet", {"plan_id": "q"}) == {"plan_id": "q"}
    names = [f"busy/{number}" for number in range(50)]
    for name in names:
        plans.keep(name, {"plan_id": "1"})
    kept = []
    for name in ("quiet", "busy", *names):
        for plan_id in ("q", "1", "48", "49"):
            with contextlib.suppress(InvalidPlan):
                kept.append(plans.whole(name, {"plan_id": plan_id}))
    assert len(kept) == 4
