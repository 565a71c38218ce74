"""A store for the memory manager of Strands; agents run with a model that a test scripts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands", reason="run by make test-frameworks")

from strands import Agent
from strands.memory import MemoryManager
from strands.memory.extraction.triggers import InvocationTrigger
from strands.models import Model

import wellkept
from integrations.event_loops import beside_a_slow_store
from stores import EACH_BACKEND, Desk, desk, scratch
from wellkept.errors import EmptyContent, IllegalTransition, InvalidField
from wellkept.integrations.strands import WellkeptMemoryStore

pytestmark = pytest.mark.external


@pytest.fixture(params=EACH_BACKEND)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return desk(request.param, tmp_path)


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    """A store whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield memories


class Scripted(Model):
    """Says or calls what the test wrote, one step a request."""

    def __init__(self, *steps: str | tuple[str, dict[str, Any]]) -> None:
        self.steps, self.seen, self.tools = list(steps), list[str](), list[str]()

    def get_config(self) -> Any:
        return {}

    def update_config(self, **_: Any) -> None:
        pass

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        yield {}

    async def stream(self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.seen.append(json.dumps(messages))
        self.tools = [tool["name"] for tool in tool_specs or []]
        step = self.steps.pop(0)
        call = None if isinstance(step, str) else step
        start = {"toolUse": {"name": call[0], "toolUseId": f"t{len(self.seen)}"}} if call else {}
        delta = {"toolUse": {"input": json.dumps(call[1])}} if call else {"text": step}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if call else "end_turn"}}


def agent(store: WellkeptMemoryStore, model: Scripted, **options: Any) -> Agent:
    return Agent(model=model, callback_handler=None, memory_manager=MemoryManager(stores=[store], **options))


def test_a_write_says_its_outcome_and_a_search_gives_what_holds_now(minilm: wellkept.MemoryStore) -> None:
    store = WellkeptMemoryStore(minilm, kind="fact")

    async def work() -> None:
        await store.add("Ada's deploys run on port 8080.", {"from": "wiki"})
        added = await store.add("Ada's deploys run on port 9090.")
        assert (added["outcome"], added["entry"]) == ("superseded", 2) and "replaces" in added["message"]
        [found] = await store.search("port of Ada's deploys", {"max_search_results": 3})
        assert found.content == "Ada's deploys run on port 9090."
        assert {"id", "kind", "created_at", "score"} <= set(found.metadata or {})
        minilm.undo(added["entry"])
        assert [(one.content, one.metadata["from"]) for one in await store.search("port of Ada's deploys")] == [
            ("Ada's deploys run on port 8080.", "wiki")
        ]

    asyncio.run(work())


def test_what_cannot_be_stored_or_searched_is_refused(table: Desk) -> None:
    store, closed = WellkeptMemoryStore(table.store), WellkeptMemoryStore(table.store, writable=False)
    for act, error in (
        (store.add("  "), EmptyContent),
        (store.add("Tea.", {"made of": object()}), InvalidField),
        (store.search("tea", {"max_search_results": 0}), InvalidField),
        (closed.add("Tea is upstairs."), IllegalTransition),
        (closed.add_messages([{"role": "user", "content": [{"text": "Tea is upstairs."}]}]), IllegalTransition),
    ):
        with pytest.raises(error):
            asyncio.run(act)
    assert table.store.journal() == () and closed.get_tools() == [] and asyncio.run(store.search(" ... ")) == []
    for wrong in ({"name": " "}, {"max_search_results": True}, {"tools": ["erase"]}):
        with pytest.raises(InvalidField):
            WellkeptMemoryStore(table.store, **wrong).get_tools()


def test_stores_of_two_namespaces_are_apart(table: Desk) -> None:
    ada, ben = (WellkeptMemoryStore(table.store.in_namespace(f"default/{user}"), name=user) for user in ("ada", "ben"))
    manager = MemoryManager(stores=[ada, ben], add_tool_config=True)

    async def work() -> list[Any]:
        await manager.add("Ada drinks green tea.", {"stores": ["ada"]})
        return [len(await manager.search("green tea", {"stores": [name]})) for name in ("ada", "ben")]

    assert asyncio.run(work()) == [1, 0]
    names = {tool.tool_name for store in (ada, ben) for tool in store.get_tools()}
    assert names == {f"{user}_{tool}" for user in ("ada", "ben") for tool in ("remember", "forget", "undo")}


def test_an_agent_is_told_what_is_known_and_what_became_of_what_it_remembers(minilm: wellkept.MemoryStore) -> None:
    minilm.remember("The staging server listens on port 8080.", kind="fact")
    told = {"text": "The staging server listens on port 9090.", "kind": "fact"}
    model = Scripted(("my_notes_remember", told), ("search_memory", {"query": "port of the staging server"}), "Done.")
    said = agent(WellkeptMemoryStore(minilm, name="my notes"), model)("The staging server moved to port 9090.")
    assert str(said).strip() == "Done."
    assert model.tools == ["search_memory", "my_notes_remember", "my_notes_forget", "my_notes_undo"]
    assert "<memory>" in model.seen[0] and "port 8080" in model.seen[0]
    assert "replaces" in model.seen[1] and "undo(2) takes this back." in model.seen[1]
    found = model.seen[2].split("replaces")[1]
    assert "port 9090" in found and "port 8080" not in found


def test_messages_are_taken_in_by_themselves_where_the_store_asks_for_it(minilm: wellkept.MemoryStore) -> None:
    store = WellkeptMemoryStore(minilm, extraction={"trigger": [InvocationTrigger()]})
    talking = agent(store, Scripted("Noted.", "You are welcome.", "ok"))
    for text in ("I drink green tea.", "Thanks!", "I drink green tea."):
        talking(text)
    assert [(row.agent, row.content, row.confirmations) for row in minilm.list()] == [("user", "I drink green tea.", 1)]


def test_the_event_loop_is_not_held_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = WellkeptMemoryStore(desk("memory", tmp_path).store)

    async def work() -> None:
        await beside_a_slow_store(monkeypatch, "remember", store.add("I drink green tea."))
        await beside_a_slow_store(monkeypatch, "recall", store.search("tea"))
        messages: Any = [{"role": "user", "content": [{"text": "I moved to Porto."}]}]
        await beside_a_slow_store(monkeypatch, "remember_many", store.add_messages(messages))

    asyncio.run(work())
