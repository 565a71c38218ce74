"""An agent of Pydantic AI remembers, recalls and undoes with the toolset; the model is a function of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

import wellkept
from integrations.event_loops import beside_a_slow_store
from stores import desk, scratch
from wellkept.errors import InvalidField
from wellkept.integrations.pydantic_ai import WellkeptToolset


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    """A store whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield memories


def scripted(*calls: tuple[str, dict[str, Any]], seen: list[Any]) -> FunctionModel:
    """A model that calls tools one after the other, then says what the last one answered."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        done = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        if len(done) < len(calls):
            return ModelResponse(parts=[ToolCallPart(*calls[len(done)])])
        return ModelResponse(parts=[TextPart("\n".join(str(part.content) for part in done) or "Done.")])

    return FunctionModel(answer)


def test_an_agent_is_told_what_is_known_and_what_became_of_what_it_remembers(minilm: wellkept.MemoryStore) -> None:
    minilm.remember("The staging server listens on port 8080.", kind="fact")
    seen: list[Any] = []
    told = {"text": "The staging server listens on port 9090.", "kind": "fact"}
    model = scripted(("remember", told), ("recall", {"query": "port of the staging server"}), seen=seen)
    agent = Agent(model, toolsets=[WellkeptToolset(minilm)])
    said = asyncio.run(agent.run("The staging server moved to port 9090.")).output
    assert "long-term memory" in seen[0].instructions and "port 8080" in seen[0].instructions
    assert "replaces" in said and "undo(2) takes this back." in said
    assert "port 9090" in said.split("Notes recalled")[1] and "port 8080" not in said.split("Notes recalled")[1]
    tools = {tool.name: tool for tool in seen[0].function_tools}
    assert list(tools) == ["remember", "recall", "forget", "undo"]
    assert tools["remember"].description and tools["remember"].description.startswith("Store one statement")
    assert tools["remember"].parameters_json_schema["properties"]["kind"]["enum"][0] == "fact"


def test_each_user_has_a_toolset_of_its_own(tmp_path: Path) -> None:
    memories = desk("memory", tmp_path).store
    agent = Agent(TestModel(call_tools=["remember"]), deps_type=str)

    @agent.toolset
    def memory(ctx: RunContext[str]) -> WellkeptToolset:
        return WellkeptToolset(memories.in_namespace(f"default/{ctx.deps}"))

    for user in ("ada", "ben"):
        asyncio.run(agent.run("Remember it.", deps=user))
    assert [len(memories.in_namespace(f"default/{user}").list()) for user in ("ada", "ben", "cy")] == [1, 1, 0]


def test_tools_can_be_left_out_and_a_wrong_name_is_refused(tmp_path: Path) -> None:
    memories = desk("memory", tmp_path).store
    seen: list[Any] = []
    memories.remember("Tea is upstairs.")
    silent = WellkeptToolset(memories, tools=["recall"], budget_tokens=0, id="memory")
    asyncio.run(Agent(scripted(seen=seen), toolsets=[silent]).run(["Where is the tea?"]))
    assert [tool.name for tool in seen[0].function_tools] == ["recall"]
    assert "upstairs" not in (seen[0].instructions or "")
    assert silent.id == "memory"
    with pytest.raises(InvalidField, match="is no tool"):
        WellkeptToolset(memories, tools=["erase"])


def test_a_tool_does_not_hold_up_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = desk("memory", tmp_path).store
    call = ("remember", {"text": "Tea is upstairs."})

    async def work() -> None:
        agent = Agent(scripted(call, seen=[]), toolsets=[WellkeptToolset(memories)])
        await beside_a_slow_store(monkeypatch, "pack", agent.run("Where is the tea?"))
        await beside_a_slow_store(monkeypatch, "remember", agent.run("Tea is upstairs."))

    asyncio.run(work())
