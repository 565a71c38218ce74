"""A context provider for the Microsoft Agent Framework; agents run with a client that a test scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent_framework", reason="run by make test-frameworks")

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    SessionContext,
)

import wellkept
from integrations.event_loops import beside_a_slow_store
from stores import desk, scratch
from wellkept.errors import InvalidField
from wellkept.integrations.agent_framework import WellkeptProvider

pytestmark = pytest.mark.external


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    """A store whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield memories


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """Says or calls what the test wrote, one step a request."""

    def __init__(self, *steps: str | tuple[str, dict[str, Any]]) -> None:
        super().__init__()
        self.steps, self.seen, self.options = list(steps), list[str](), list[Any]()

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        async def answer() -> ChatResponse:
            contents = [content for message in messages for content in message.contents]
            self.seen.append("\n".join(str(content.text or content.result or "") for content in contents))
            self.options.append(options)
            step = self.steps.pop(0)
            said = (
                Content.from_text(step)
                if isinstance(step, str)
                else Content.from_function_call(call_id=str(len(self.seen)), name=step[0], arguments=step[1])
            )
            return ChatResponse(messages=[Message("assistant", [said])])

        return answer()


def test_an_agent_is_told_what_is_known_and_what_became_of_what_it_remembers(minilm: wellkept.MemoryStore) -> None:
    minilm.remember("The staging server listens on port 8080.", kind="fact")
    told = {"text": "The staging server listens on port 9090.", "kind": "fact"}
    client = Scripted(("remember", told), "Done.", "Hello.")
    agent = Agent(client, instructions="Be brief.", context_providers=[WellkeptProvider(minilm)])

    async def talk() -> str:
        session = agent.create_session()
        first = await agent.run("The staging server moved to port 9090.", session=session)
        await agent.run("Good morning!", session=session)
        return first.text

    assert asyncio.run(talk()) == "Done."
    assert "port 8080" in client.seen[0]
    assert client.options[0]["instructions"].startswith("Be brief.")
    assert [tool.name for tool in client.options[0]["tools"]] == ["remember", "recall", "forget", "undo"]
    assert "replaces" in client.seen[1] and "undo(2) takes this back." in client.seen[1]
    assert "Notes recalled" not in client.seen[2]  # what was added to one run is no part of the conversation
    assert [row.content for row in minilm.list()] == ["The staging server listens on port 9090."]


def test_what_the_user_said_is_taken_in_where_it_is_asked_for(minilm: wellkept.MemoryStore) -> None:
    provider = WellkeptProvider(minilm, take_in=("user",), tools=[], budget_tokens=0)
    agent = Agent(Scripted("Noted.", "You are welcome."), context_providers=[provider])

    async def talk() -> list[Any]:
        session = agent.create_session(session_id="chat-1")
        written = []
        for said in ("I drink green tea.", "Thanks!"):
            await agent.run(said, session=session)
            written += session.state["wellkept"]["written"]
        assert AgentSession.from_dict(session.to_dict()).state["wellkept"] == session.state["wellkept"]
        return written

    outcomes = [one["outcome"] for one in asyncio.run(talk())]
    assert outcomes == ["created", "rejected"]
    [row] = minilm.list()
    assert (row.content, row.agent, row.metadata) == ("I drink green tea.", "user", {"session_id": "chat-1"})


def test_agents_of_two_namespaces_are_apart_and_a_wrong_tool_is_refused(minilm: wellkept.MemoryStore) -> None:
    client = Scripted("ok", "ok")

    async def talk() -> None:
        for user in ("ada", "ben"):
            provider = WellkeptProvider(minilm.in_namespace(f"default/{user}"), take_in=("user",))
            await Agent(client, context_providers=[provider]).run("I drink green tea.")

    asyncio.run(talk())
    assert "Notes recalled" not in client.seen[1]
    assert [len(minilm.in_namespace(f"default/{user}").list()) for user in ("ada", "ben", "cy")] == [1, 1, 0]
    with pytest.raises(InvalidField, match="is no tool"):
        WellkeptProvider(minilm, tools=["erase"])


def test_the_event_loop_is_not_held_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = WellkeptProvider(desk("memory", tmp_path).store, take_in=("user",))
    context = SessionContext(input_messages=[Message("user", ["I drink green tea."])])
    given: Any = {"agent": None, "session": AgentSession(), "context": context, "state": {}}

    async def work() -> None:
        await beside_a_slow_store(monkeypatch, "pack", provider.before_run(**given))
        await beside_a_slow_store(monkeypatch, "remember_many", provider.after_run(**given))

    asyncio.run(work())
