"""A storage for CrewAI: its records are memories, kept apart by scope; crews run with a model that a test scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("crewai", reason="run by make test-frameworks")

from crewai import Agent, Crew, Memory, Task
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord

import wellkept
from integrations.event_loops import beside_a_slow_store
from stores import EACH_BACKEND, Desk, desk, scratch
from wellkept.errors import EmptyContent, InvalidField, InvalidInput
from wellkept.integrations.crewai import TextKeys, WellkeptStorage

pytestmark = pytest.mark.external


@pytest.fixture(params=EACH_BACKEND)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return desk(request.param, tmp_path)


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    """A store whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield memories


class Scripted(BaseLLM):
    """Answers with what it is told of the memory."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        told = str(messages)
        if "memories" in told and "Output a JSON object" in told:  # what is worth keeping
            return '{"memories": ["The staging server moved to port 9191."]}'
        known = told.partition("Relevant memories:")[2].partition("IMPORTANT")[0]
        return f"Thought: I know it.\nFinal Answer: {known or 'nothing'}"


def memory(storage: WellkeptStorage) -> Memory:
    llm = Scripted(model="scripted")
    return Memory(storage=storage, embedder=storage.embedder, llm=llm, consolidation_threshold=1.0)


def record(text: str, scope: str = "/ops", **more: Any) -> MemoryRecord:
    return MemoryRecord(content=text, scope=scope, **more)


def found(storage: WellkeptStorage, query: str, **options: Any) -> list[str]:
    [vector] = storage.embedder([query])
    return [one.content for one, _ in storage.search(vector, **options)]


def test_a_record_is_there_exactly_whatever_the_gate_decides(table: Desk) -> None:
    storage = WellkeptStorage(table.store)
    assert isinstance(storage, StorageBackend)
    moment = datetime.fromisoformat("2026-01-02T03:04:05.000006")
    texts = ["Tea is upstairs.", "tea is upstairs", "ok", "名前: 値"]
    records = [
        record(
            text, categories=["home", "tea"], metadata={"n": number}, importance=0.7, created_at=moment, source="ada"
        )
        for number, text in enumerate(texts)
    ]
    storage.save(records)
    for one in records:
        held = storage.get_record(one.id)
        assert held is not None
        assert held.model_dump(exclude={"last_accessed"}) == one.model_dump(exclude={"last_accessed"})
    assert (
        found(storage, "where is the tea").count("Tea is upstairs.") + found(storage, "tea").count("tea is upstairs")
        == 1
    )
    assert storage.count() == 4 and storage.list_categories() == {"home": 4, "tea": 4}
    assert storage.get_record("nothing") is None


def test_a_replaced_record_is_kept_and_no_longer_found(minilm: wellkept.MemoryStore) -> None:
    storage = WellkeptStorage(minilm, kind="fact")
    remembered = memory(storage)
    remembered.remember_many(
        ["The staging server listens on port 8080.", "The staging server listens on port 9090."],
        scope="/ops", categories=["infra"], importance=0.5,
    )  # fmt: skip
    remembered.drain_writes()
    hits = remembered.recall("port of the staging server", depth="shallow")
    assert [hit.record.content for hit in hits] == ["The staging server listens on port 9090."]
    assert storage.count("/ops") == 2  # one batch, and CrewAI dropped none of them
    ops = storage.memories("/ops")
    ops.undo(ops.journal(newest=1)[0].seq)
    assert found(storage, "port of the staging server") == ["The staging server listens on port 8080."]


def test_scopes_and_private_records_are_apart(minilm: wellkept.MemoryStore) -> None:
    storage = WellkeptStorage(minilm, kind="fact")
    said = "The staging server listens on port {}."
    storage.save([record(said.format(port), scope) for scope, port in (("/a", 1111), ("/a/b", 2222), ("/ab", 3333))])
    storage.save([record(said.format(4444), "/a", private=True, source=who) for who in ("ada", "ben", None)])
    storage.save([record(said.format(5555), "/")])
    assert all(row.outcome == "created" for name in minilm.namespaces() for row in minilm.in_namespace(name).journal())
    assert sorted(text[-5:-1] for text in found(storage, "port", scope_prefix="/a", limit=50)) == [
        "1111", "2222", "4444", "4444", "4444"
    ]  # fmt: skip
    assert found(storage, "port", scope_prefix="/ab") == [said.format(3333)]
    recalled = memory(storage).recall("port of the staging server", scope="/a", source="ada", depth="shallow")
    assert sorted(hit.record.content[-5:-1] for hit in recalled) == ["1111", "2222", "4444"]
    assert storage.list_scopes("/") == ["/a", "/ab"] and storage.list_scopes("/a/") == ["/a/b"]
    info = storage.get_scope_info("/a")
    assert (info.record_count, info.child_scopes, info.path) == (5, ["/a/b"], "/a")
    assert (storage.count(), storage.count("/ab"), storage.get_scope_info("/x").oldest_record) == (7, 1, None)


def test_records_are_listed_newest_first_updated_moved_and_forgotten(table: Desk) -> None:
    storage = WellkeptStorage(table.store)
    begin = datetime.fromisoformat("2026-01-01")
    rooms = ("kitchen", "cellar", "attic", "garden")
    storage.save(
        [record(f"A box of the {room}.", created_at=begin + timedelta(days=n)) for n, room in enumerate(rooms)]
    )
    listed = storage.list_records("/ops", limit=3, offset=1)
    assert [one.content for one in listed] == [f"A box of the {room}." for room in ("attic", "cellar", "kitchen")]
    assert storage.list_records(limit=0) == storage.list_records(offset=-1) == []
    attic = listed[0]
    storage.update(attic.model_copy(update={"content": "A chest of the attic.", "scope": "/home"}))
    assert [one.content for one in storage.list_records("/home")] == ["A chest of the attic."]
    storage.update(
        attic.model_copy(update={"content": "A trunk of the attic.", "scope": "/home", "metadata": {"n": 1}})
    )
    [held] = storage.list_records("/home")
    assert (held.id, held.content, storage.count()) == (attic.id, "A trunk of the attic.", 4)
    assert found(storage, "box", metadata_filter={"n": 1}, scope_prefix="/home") == ["A trunk of the attic."]
    assert found(storage, "box", metadata_filter={"n": 2}) == found(storage, "box", categories=["none"]) == []
    assert storage.delete(older_than=begin + timedelta(days=1)) == 1
    assert storage.delete(record_ids=[attic.id]) == 1 and storage.delete(categories=["none"]) == 0
    home = storage.memories("/home")
    home.undo(home.journal(newest=1)[0].seq)
    assert storage.get_record(attic.id) is not None
    storage.reset("/ops")
    assert storage.count() == 1
    storage.reset()
    assert storage.count() == 0 == len(storage.list_scopes("/"))


def test_another_embedder_works_by_its_vectors(table: Desk) -> None:
    storage = WellkeptStorage(table.store)
    storage.save(
        [record("Tea.", embedding=[1.0, 0.0]), record("Cups.", embedding=[0.6, 0.8]), record("No vector here.")]
    )
    assert [(one.content, round(score, 2)) for one, score in storage.search([1.0, 0.0])] == [
        ("Tea.", 1.0),
        ("Cups.", 0.6),
    ]
    assert storage.search([1.0, 0.0], min_score=0.9, limit=5)[-1][0].content == "Tea."
    assert storage.search([1.0, 0.0, 0.0]) == []


def test_what_cannot_be_kept_is_refused_before_anything_is_saved(table: Desk) -> None:
    storage = WellkeptStorage(table.store)
    for wrong, error in (
        (record("  "), EmptyContent),
        (record("x" * 300_000), InvalidInput),
        (record("Tea.", metadata={"made of": object()}), InvalidField),
        (record("Tea.", "/" + "x" * 300), InvalidInput),
    ):
        with pytest.raises(error):
            storage.save([record("Rice is in the cellar."), wrong])
    with pytest.raises(InvalidField, match="scope"):
        storage.memories(7)  # type: ignore[arg-type]
    assert storage.count() == 0
    keys = TextKeys()
    first, second = keys(["Tea is upstairs.", "Tea is upstairs!"])
    assert keys.text_of(first) == "Tea is upstairs." and first != second and keys(["Tea is upstairs."]) == [first]


def test_a_crew_knows_what_it_was_told_and_keeps_what_it_learns(minilm: wellkept.MemoryStore) -> None:
    storage = WellkeptStorage(minilm, kind="fact")
    remembered = memory(storage)
    remembered.remember("The staging server listens on port 9090.", scope="/ops", categories=[], importance=0.5)
    agent = Agent(role="operator", goal="answer", backstory="none", llm=Scripted(model="scripted"), memory=remembered)
    task = Task(description="On which port does the staging server listen?", expected_output="a port", agent=agent)
    answer = Crew(agents=[agent], tasks=[task], memory=remembered).kickoff()
    assert "port 9090" in str(answer)
    remembered.drain_writes()
    assert "The staging server moved to port 9191." in [one.content for one in storage.list_records()]


def test_the_awaited_methods_do_not_hold_up_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = WellkeptStorage(desk("memory", tmp_path).store)

    async def work() -> None:
        await beside_a_slow_store(monkeypatch, "remember", storage.asave([record("Tea is upstairs.")]))
        [vector] = storage.embedder(["tea"])
        assert len(await beside_a_slow_store(monkeypatch, "recall", storage.asearch(vector, min_score=0.0))) == 1
        assert await beside_a_slow_store(monkeypatch, "forget", storage.adelete(scope_prefix="/ops")) == 1

    asyncio.run(work())
