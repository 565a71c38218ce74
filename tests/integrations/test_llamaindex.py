"""A memory block for LlamaIndex: what leaves the short-term memory is taken in, and what is known comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="run by make test-frameworks")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.mock import MockLLM
from llama_index.core.memory import Memory
from pydantic import PrivateAttr

import wellkept
from integrations.event_loops import beside_a_slow_store
from stores import desk, scratch
from wellkept.integrations.llamaindex import WellkeptMemoryBlock

pytestmark = pytest.mark.external

SAID = ("I drink green tea.", "I moved to Lisbon in May.", "My sister Eva works as a nurse in Porto.", "Good morning!")


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    """A store whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield memories


def user(text: str, **more: Any) -> ChatMessage:
    return ChatMessage(role="user", content=text, additional_kwargs=more)


def memory(block: WellkeptMemoryBlock, session: str = "one", **limits: Any) -> Memory:
    sizes = {"token_limit": 60, "token_flush_size": 5, "chat_history_token_ratio": 0.2, **limits}
    return Memory.from_defaults(session_id=session, memory_blocks=[block], tokenizer_fn=str.split, **sizes)


def test_what_leaves_the_short_term_memory_is_taken_in_and_comes_back_in_another_session(
    minilm: wellkept.MemoryStore,
) -> None:
    block = WellkeptMemoryBlock(memories=minilm)

    async def talk() -> list[ChatMessage]:
        one = memory(block)
        for text in SAID:
            await one.aput(user(text))
            await one.aput(ChatMessage(role="assistant", content="Noted."))
        return await memory(block, "two").aget(input="What do I drink?")

    told = asyncio.run(talk())
    assert [row.content for row in minilm.list()] == list(SAID[:3])
    assert {row.metadata["session_id"] for row in minilm.list()} == {"one"}
    assert (block.last_written[-1].outcome, block.last_written[-1].memory.content) == ("created", SAID[2])
    assert "<long_term_memory>" in str(told[0].content) and "I drink green tea." in str(told[0].content)
    assert "Lisbon" not in str(told[0].content)


def test_sessions_are_apart_where_it_is_asked_for(minilm: wellkept.MemoryStore) -> None:
    block = WellkeptMemoryBlock(memories=minilm, per_session=True, roles=("user", "assistant"))

    async def work() -> list[str]:
        await block.aput([user("I drink green tea.")], session_id="one")
        await block.aput([ChatMessage(role="assistant", content="Lisbon is in Portugal."), user(" ")], session_id="two")
        question = [user("Who drinks tea?")]
        return [await block.aget(question, session_id=session) for session in ("one", "two", "three")]

    one, two, three = asyncio.run(work())
    assert "green tea" in one and two == three == ""
    assert minilm.list() == () and len(minilm.in_namespace("default/sessions/two").list()) == 1


def test_a_block_is_cut_to_the_tokens_that_are_left(minilm: wellkept.MemoryStore) -> None:
    block = WellkeptMemoryBlock(memories=minilm, priority=1)

    async def work() -> tuple[str, str | None, str | None, str]:
        await block.aput([user(text) for text in SAID[:3]])
        whole = await block.aget([user("I drink tea in Lisbon with my sister Eva, a nurse")])
        return whole, await block.atruncate(whole, 30), await block.atruncate(whole, 10_000), await block.aget([])

    whole, cut, none, empty = asyncio.run(work())
    assert all(text in whole for text in SAID[:3])
    assert cut and len(cut) < len(whole) and sum(text in cut for text in SAID[:3]) in (1, 2)
    assert none is None and empty == ""
    assert asyncio.run(block.atruncate("a text of somebody else", 1)) is None


class Scripted(MockLLM):
    """Answers with what it was told."""

    _seen: list[str] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    async def astream_chat_with_tools(self, tools: Any, chat_history: Any = None, **_: Any) -> Any:
        said = "\n".join(str(message.content) for message in chat_history)
        self._seen.append(said)

        async def answer() -> Any:
            yield ChatResponse(message=ChatMessage(role="assistant", content="Noted."))

        return answer()

    def get_tool_calls_from_response(self, *_: Any, **__: Any) -> list[Any]:
        return []


def test_an_agent_is_told_what_is_known(minilm: wellkept.MemoryStore) -> None:
    minilm.remember("The staging server listens on port 8080.", kind="fact")
    llm = Scripted()
    agent = FunctionAgent(llm=llm, tools=[], system_prompt="Be brief.", streaming=True)

    async def talk() -> str:
        held = memory(WellkeptMemoryBlock(memories=minilm), token_limit=400)
        return str(await agent.run(user_msg="Where does the staging server listen?", memory=held))

    assert asyncio.run(talk()) == "Noted."
    assert "Be brief." in llm._seen[0] and "port 8080" in llm._seen[0]


def test_the_event_loop_is_not_held_up_and_a_dump_holds_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = WellkeptMemoryBlock(memories=desk("memory", tmp_path).store)

    async def work() -> None:
        await beside_a_slow_store(monkeypatch, "remember_many", block.aput([user("I drink green tea.")]))
        await beside_a_slow_store(monkeypatch, "pack", block.aget([user("tea")]))

    asyncio.run(work())
    assert {"memories", "last_written"}.isdisjoint(block.model_dump())
