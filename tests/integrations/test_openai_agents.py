"""A session keeps a conversation exactly, and an agent uses the tools; the model is the one for tests of the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, Session, SessionSettings
from agents.testing import ScriptedModel
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import wellkept
from integrations.event_loops import beside_a_slow_store
from stores import EACH_BACKEND, Desk, desk, scratch
from wellkept.errors import IllegalTransition, InvalidField, InvalidInput
from wellkept.integrations.openai_agents import WellkeptSession, memory_instructions, memory_tools

QUIET = RunConfig(tracing_disabled=True)
ITEMS: list[Any] = [
    {"role": "user", "content": "yes"},
    {"role": "user", "content": "yes"},
    {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": "a\x00\x1b[2J \ud83d"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Bonjour 名前"}]},
]


@pytest.fixture(params=EACH_BACKEND)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return desk(request.param, tmp_path)


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    """A store whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield memories


def says(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


def calls(name: str, arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(type="function_call", call_id=f"call-{name}", name=name, arguments=arguments)


def test_items_come_back_exactly_in_order_and_sessions_are_apart(table: Desk) -> None:
    async def work() -> None:
        one, two = WellkeptSession("chat/1", table.store), WellkeptSession("chat", table.store)
        assert isinstance(one, Session)
        await one.add_items(ITEMS)
        await one.add_items(ITEMS[:1])
        await one.add_items([])
        assert await one.get_items() == [*ITEMS, ITEMS[0]]
        assert await one.get_items(2) == [ITEMS[-1], ITEMS[0]]
        assert await one.get_items(0) == [] == await two.get_items()
        assert await one.pop_item() == ITEMS[0] and await two.pop_item() is None
        short = WellkeptSession("chat/1", table.store, session_settings={"limit": 1})
        assert await short.get_items() == ITEMS[-1:]
        await one.clear_session()
        assert await one.get_items() == []

    asyncio.run(work())
    forgotten = WellkeptSession("chat/1", table.store).memories
    forgotten.undo(forgotten.journal(newest=1)[0].seq)
    assert len(asyncio.run(WellkeptSession("chat/1", table.store).get_items())) == 1


def test_items_are_added_all_or_none(table: Desk) -> None:
    session = WellkeptSession("1", table.store)
    for wrong in ({"role": "user", "content": float("nan")}, {"role": "user", "content": object()}):
        with pytest.raises(InvalidField, match="no JSON"):
            asyncio.run(session.add_items([ITEMS[0], wrong]))  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="300"):
        asyncio.run(session.add_items([ITEMS[0], {"role": "user", "content": "x" * 300_000}]))
    assert asyncio.run(session.get_items()) == []
    large: Any = {"type": "function_call_output", "call_id": "1", "output": "word " * 15_000}
    asyncio.run(session.add_items([large]))
    assert asyncio.run(session.get_items()) == [large]


def test_a_session_is_cleared_by_two_processes_at_once(table: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = WellkeptSession("1", table.store), WellkeptSession("1", table.store)
    asyncio.run(one.add_items(ITEMS))
    listed = one._rows()
    monkeypatch.setattr(one, "_rows", lambda: listed)
    asyncio.run(other.pop_item())
    asyncio.run(one.clear_session())
    assert asyncio.run(other.get_items()) == []
    asyncio.run(one.clear_session())


def test_a_session_says_so_when_its_items_would_wait_in_a_queue(tmp_path: Path) -> None:
    memories = desk("memory", tmp_path).store
    with memories.deferred(), pytest.raises(IllegalTransition, match="reads its items back"):
        asyncio.run(WellkeptSession("1", memories).add_items(ITEMS[:1]))


def test_a_run_goes_on_where_the_session_ended(table: Desk) -> None:
    model = ScriptedModel([[says("Lisbon is in Portugal.")], [says("Since May.")]])
    agent = Agent("helper", model=model)

    async def work() -> list[Any]:
        for said in ("Where is Lisbon?", "Since when do I live there?"):
            await Runner.run(agent, said, session=WellkeptSession("1", table.store), run_config=QUIET)
        return await WellkeptSession("1", table.store, session_settings=SessionSettings(limit=2)).get_items()

    newest = asyncio.run(work())
    assert [item["role"] for item in newest] == ["user", "assistant"] and "Since May." in str(newest)
    assert "Lisbon is in Portugal." in str(model.calls[1].input)


def test_an_agent_is_told_what_is_known_and_what_became_of_what_it_remembers(minilm: wellkept.MemoryStore) -> None:
    minilm.remember("The staging server listens on port 8080.", kind="fact")
    told = '{"text": "The staging server listens on port 9090.", "kind": "fact"}'
    model = ScriptedModel([[calls("remember", told)], [says("Done.")]])
    agent = Agent(
        "helper", model=model, tools=list(memory_tools(minilm)), instructions=memory_instructions(minilm, "Be brief.")
    )
    said = "The staging server moved to port 9090."
    result = asyncio.run(Runner.run(agent, said, session=WellkeptSession("1", minilm), run_config=QUIET))
    assert "Be brief." in str(model.calls[0].system_instructions)
    assert "port 8080" in str(model.calls[0].system_instructions)
    output = next(item.output for item in result.new_items if item.type == "tool_call_output_item")
    assert "replaces" in output and output.endswith("undo(2) takes this back.")
    assert [row.content for row in minilm.list()] == ["The staging server listens on port 9090."]


def test_neither_session_nor_tools_hold_up_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = desk("memory", tmp_path).store

    async def work() -> None:
        session = WellkeptSession("1", memories)
        await beside_a_slow_store(monkeypatch, "remember_many", session.add_items(ITEMS[:1]))
        await beside_a_slow_store(monkeypatch, "list", session.get_items())
        await beside_a_slow_store(monkeypatch, "forget", session.pop_item())
        call = calls("remember", '{"text": "Tea is upstairs.", "kind": "note"}')
        model = ScriptedModel([[call], [says("Done.")]])
        agent = Agent("helper", model=model, tools=list(memory_tools(memories)))
        await beside_a_slow_store(monkeypatch, "remember", Runner.run(agent, "Tea is upstairs.", run_config=QUIET))

    asyncio.run(work())
