"""A memory service for Google ADK: sessions are taken in once and kept apart; agents run with a model of the test."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="run by make test-frameworks")

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools import load_memory, preload_memory
from google.genai.types import Content, FunctionCall, Part

import wellkept
from integrations.event_loops import beside_a_slow_store
from stores import EACH_BACKEND, Desk, desk, scratch
from wellkept.errors import InvalidField, NotFound
from wellkept.integrations.adk import WellkeptMemoryService

pytestmark = pytest.mark.external

ADA = {"app_name": "shop", "user_id": "ada"}


@pytest.fixture(params=EACH_BACKEND)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return desk(request.param, tmp_path)


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    """A store whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield memories


def said(number: int, text: str, author: str = "user", **more: Any) -> Event:
    content = Content(role="user" if author == "user" else "model", parts=[Part(text=text)])
    return Event(
        id=f"event-{number}", invocation_id="1", author=author, timestamp=1_000.0 + number, content=content, **more
    )


def session(*events: Event, **where: str) -> Session:
    return Session(id="one", last_update_time=1, events=list(events), **{**ADA, **where})


def texts(service: WellkeptMemoryService, query: str, **where: str) -> list[str]:
    found = asyncio.run(service.search_memory(query=query, **{**ADA, **where}))
    return [entry.content.parts[0].text for entry in found.memories]


def test_a_session_is_taken_in_once_and_what_has_no_words_is_left_out(minilm: wellkept.MemoryStore) -> None:
    service = WellkeptMemoryService(minilm)
    call = Content(role="model", parts=[Part(function_call=FunctionCall(name="look", args={}))])
    events = [
        said(1, "I drink green tea."),
        said(2, "Thanks!"),
        Event(id="event-3", invocation_id="1", author="user", timestamp=3),
        Event(id="event-4", invocation_id="1", author="helper", timestamp=4, content=call),
        said(5, "Lisbon is the capi", author="helper", partial=True),
        said(6, "Lisbon is the capital of Portugal.", author="helper"),
    ]
    for _ in range(2):
        asyncio.run(service.add_session_to_memory(session(*events)))
    asyncio.run(service.add_session_to_memory(session(*events, said(7, "I moved to Porto in May."))))
    rows = service.of("shop", "ada").list()
    assert [(row.agent, row.content) for row in rows] == [
        ("user", "I drink green tea."),
        ("helper", "Lisbon is the capital of Portugal."),
        ("user", "I moved to Porto in May."),
    ]
    found = asyncio.run(service.search_memory(query="what tea do I drink", **ADA)).memories[0]
    assert (found.author, found.content.role, found.id) == ("user", "user", rows[0].id)
    assert found.timestamp == "1970-01-01T00:16:41+00:00" and found.custom_metadata["session_id"] == "one"


def test_users_and_applications_are_apart_whatever_their_names(table: Desk) -> None:
    service = WellkeptMemoryService(table.store, min_score=0)
    asyncio.run(service.add_session_to_memory(session(said(1, "This is a secret."), app_name="shop/x", user_id="y")))
    for app, user in (("shop", "x/y"), ("shop/x/y", "z"), ("shop", "y"), ("shop/x", "Y")):
        assert texts(service, "secret", app_name=app, user_id=user) == []
    assert texts(service, "secret", app_name="shop/x", user_id="y") == ["This is a secret."]
    with pytest.raises(InvalidField, match="user_id"):
        texts(service, "secret", user_id="")


def test_what_is_forgotten_stays_forgotten_when_its_session_comes_again(table: Desk) -> None:
    service = WellkeptMemoryService(table.store, min_score=0)
    told = session(said(1, "I drink green tea."))
    asyncio.run(service.add_session_to_memory(told))
    [row] = service.of("shop", "ada").list()
    asyncio.run(service.delete_memory(memory_id=row.id, **ADA))
    asyncio.run(service.add_session_to_memory(told))
    assert texts(service, "tea") == []
    service.of("shop", "ada").restore(row.id)
    assert texts(service, "tea") == ["I drink green tea."]
    asyncio.run(service.delete_memory(**ADA))  # without an id there is nothing to forget
    with pytest.raises(NotFound):
        asyncio.run(service.delete_memory(memory_id=row.id, app_name="shop", user_id="ben"))


def test_an_event_that_changed_or_cannot_be_stored_is_logged_and_the_others_are_kept(
    table: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    service = WellkeptMemoryService(table.store, min_score=0)
    asyncio.run(service.add_events_to_memory(events=[said(1, "I drink green tea.")], **ADA))
    caplog.set_level(logging.WARNING, "wellkept")
    later = [said(1, "I drink black coffee."), said(2, "x" * 300_000), said(3, "I moved to Porto.")]
    asyncio.run(service.add_events_to_memory(events=later, session_id="two", custom_metadata={"shift": 7}, **ADA))
    assert [row.content for row in service.of("shop", "ada").list()] == ["I drink green tea.", "I moved to Porto."]
    assert service.of("shop", "ada").list()[1].metadata["shift"] == 7
    assert sum("A turn was not stored" in line for line in caplog.messages) == 2


def test_a_memory_can_be_added_by_itself(minilm: wellkept.MemoryStore) -> None:
    service = WellkeptMemoryService(minilm, kind="fact")

    def entry(text: str, **more: Any) -> MemoryEntry:
        return MemoryEntry(content=Content(parts=[Part(text=text)]), **more)

    old = entry("Ada's deploys run on port 8080.", timestamp="2026-01-01T09:00:00", custom_metadata={"from": "wiki"})
    asyncio.run(service.add_memory(memories=[old], **ADA))
    asyncio.run(service.add_memory(memories=[entry("Ada's deploys run on port 9090.")], **ADA))
    assert texts(service, "port of Ada's deploys") == ["Ada's deploys run on port 9090."]
    outcomes = [written.outcome for written in service.of("shop", "ada").journal()]
    assert outcomes == ["created", "superseded"]
    with pytest.raises(InvalidField, match="is no time"):
        asyncio.run(service.add_memory(memories=[entry("Tea.", timestamp="yesterday")], **ADA))


class Scripted(BaseLlm):
    """Looks into the memory when it is asked something, and says what it found."""

    async def generate_content_async(self, llm_request: LlmRequest, *_: Any, **__: Any) -> AsyncIterator[LlmResponse]:
        parts = [part for content in llm_request.contents for part in content.parts]
        found = [part.function_response.response for part in parts if part.function_response]
        if found:
            part = Part(text=f"You told me before: {found[0]['result'].memories[0].content.parts[0].text}")
        elif "?" in (parts[-1].text or ""):
            part = Part(function_call=FunctionCall(name="load_memory", args={"query": parts[-1].text}))
        else:
            part = Part(text="Noted.")
        yield LlmResponse(content=Content(role="model", parts=[part]))


def test_an_agent_knows_in_a_new_session_what_it_was_told_in_another(minilm: wellkept.MemoryStore) -> None:
    service, sessions = WellkeptMemoryService(minilm), InMemorySessionService()
    agent = LlmAgent(name="helper", model=Scripted(model="scripted"), tools=[load_memory, preload_memory])
    runner = Runner(app_name="shop", agent=agent, session_service=sessions, memory_service=service)

    async def tell(number: str, text: str) -> str:
        await sessions.create_session(session_id=number, **ADA)
        message, answer = Content(role="user", parts=[Part(text=text)]), ""
        async for event in runner.run_async(user_id="ada", session_id=number, new_message=message):
            if event.content and event.content.parts[0].text:
                answer = event.content.parts[0].text
        held = await sessions.get_session(session_id=number, **ADA)
        await service.add_session_to_memory(held)
        return answer

    async def talk() -> str:
        await tell("1", "I drink green tea in the morning.")
        return await tell("2", "What do I drink in the morning?")

    assert "I drink green tea in the morning." in asyncio.run(talk())


def test_the_event_loop_is_not_held_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = WellkeptMemoryService(desk("memory", tmp_path).store)

    async def work() -> None:
        told = service.add_session_to_memory(session(said(1, "I drink green tea.")))
        await beside_a_slow_store(monkeypatch, "remember_many", told)
        await beside_a_slow_store(monkeypatch, "recall", service.search_memory(query="tea", **ADA))
        [row] = service.of("shop", "ada").list()
        await beside_a_slow_store(monkeypatch, "forget", service.delete_memory(memory_id=row.id, **ADA))

    asyncio.run(work())
