"""The clients have the verbs of `MemoryStore`: same names, parameters, results and errors."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stores import LASTING, LIGHT, Desk, desk
from surfaces.rest.serving import rest_app, served
from wellkept import MemoryStore
from wellkept.client import AsyncClient, Client
from wellkept.core.records.codec import dumps
from wellkept.errors import WellkeptError
from wellkept.operations.registry import OPERATIONS
from wellkept.policy import Policy
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import ExpandSpec, Filter, HybridWeights, JournalEntry, NewMemory, PackOptions, Scope

DEFAULT = tuple(row.name for row in OPERATIONS if row.toolset == "default" and hasattr(MemoryStore, row.name))
BEYOND = tuple(row.name for row in OPERATIONS if row.toolset == "full" and hasattr(MemoryStore, row.name))
HERE_ONLY = {
    "remember": {"contradiction_fn"},
    "check": {"contradiction_fn"},
    "pack": {"count_tokens"},  # a function does not travel
    "plan": {"progress"},
    "execute": {"report", "progress"},  # a file of the server's disk is not the caller's to name
}


def parameters(verb: Any, without: set[str] = frozenset()) -> list[tuple[Any, ...]]:  # type: ignore[assignment]
    told = [one for item in inspect.signature(verb).parameters.values() for one in spelt_out(item)]
    return [(item.name, item.kind, item.default, item.annotation) for item in told if item.name not in without]


def spelt_out(item: inspect.Parameter) -> list[inspect.Parameter]:
    """A parameter; `**options: Unpack[PackOptions]` as the named parameters that it stands for."""
    if item.annotation != "Unpack[PackOptions]":
        return [item]
    told = PackOptions.__annotations__.items()
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in told
    ]


@pytest.mark.parametrize("name", DEFAULT)
def test_a_default_verb_has_the_signature_of_the_library(name: str) -> None:
    library, ours = getattr(MemoryStore, name), getattr(Client, name)
    assert parameters(ours) == parameters(library, HERE_ONLY.get(name, set()))
    assert inspect.signature(ours).return_annotation == inspect.signature(library).return_annotation


@pytest.mark.parametrize("name", BEYOND)
def test_every_further_verb_is_there_without_what_cannot_travel(name: str) -> None:
    assert parameters(getattr(Client, name)) == parameters(getattr(MemoryStore, name), HERE_ONLY.get(name, set()))


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_both_clients_have_the_same_verbs_and_one_of_them_awaits() -> None:
    assert public(AsyncClient) == public(Client)
    for name in public(Client) - {"in_namespace", "in_session", "deferred"}:
        ours = getattr(AsyncClient, name)
        assert inspect.iscoroutinefunction(ours), name
        assert parameters(ours) == parameters(getattr(Client, name)), name
        assert inspect.signature(ours).return_annotation == inspect.signature(getattr(Client, name)).return_annotation


# --------------------------------------------------------------------------------------------
# The same story told to the library and to a server of an equal store: every answer is the same


def ids(store: Any) -> list[str]:
    return [row.id for row in store.list(Filter(statuses=("active", "superseded", "archived")))]


def episode(store: Any) -> str:
    [*_, last] = store.list(Filter(kinds=("episode",)))
    return str(last.id)


LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - a caller may pass one; it is UTC
Step = Callable[[Any], Any]
STORY: tuple[tuple[str, Step], ...] = (
    ("a text", lambda s: s.remember("The limit is 0.85.", kind="lesson", tags=["b", "a"], metadata={"n": {"x": [1]}})),
    ("the text again", lambda s: s.remember("the limit is 0.85", kind="lesson")),
    ("a conflict", lambda s: s.remember("The limit is 0.95.", kind="lesson", importance=0.9)),
    ("a whole statement", lambda s: s.remember(NewMemory(content="status PLANNED", kind="fact", subject="006"))),
    ("its replacement", lambda s: s.remember("is shipped", kind="fact", subject="006", event_time=NAIVE)),
    ("only checked", lambda s: s.check("is delayed", kind="fact", subject="006", event_time="2026-02-03")),
    ("another alphabet", lambda s: s.remember("Чай стоит наверху. 茶在楼上。 ☕", title="чай", signals={"é": None})),
    ("many", lambda s: s.remember_many(["Tea is upstairs.", {"content": ""}, NewMemory(content="Cups: downstairs.")])),
    ("all", lambda s: s.list()),
    ("some", lambda s: s.list(Filter(kinds=("fact",), statuses=("superseded",)), limit=3)),
    ("since", lambda s: s.list(Filter(created_from=LONG_AGO, metadata={"n": {"x": [1]}}))),
    ("recalled", lambda s: s.recall("what is the limit", limit=2)),
    ("explained", lambda s: s.recall("limit", where=Filter(kinds=("lesson",)), explain=True, touch=False)),
    ("weighed", lambda s: s.recall("limit", mode="hybrid", weights=HybridWeights(cosine=1.0, lexical=0.0))),
    ("as a preset", lambda s: s.recall("limit", mode="hybrid", weights="hybrid-created")),
    ("in the past", lambda s: s.recall("limit", as_of=datetime(2030, 1, 1, tzinfo=UTC), expand=ExpandSpec(depth=2))),
    ("packed", lambda s: s.pack("limit", budget_tokens=200, exclude=["nothing"], session="chat")),
    ("packed whole", lambda s: s.pack("limit", min_score=0)),
    ("one", lambda s: s.get(ids(s)[0])),
    ("one, untouched", lambda s: s.get(ids(s)[0], touch=False)),
    ("conflicts", lambda s: s.conflicts()),
    ("of one", lambda s: s.conflicts(ids(s)[0], settled=True)),
    ("settled", lambda s: s.resolve(s.conflicts()[0].key, "keep_new")),
    ("linked", lambda s: s.link(ids(s)[1], ids(s)[2], "example_of", strict=True)),
    ("linked again", lambda s: s.link(ids(s)[1], ids(s)[2], "example_of")),
    ("neighbours", lambda s: s.neighbors(ids(s)[1], direction="out", depth=2)),
    ("around", lambda s: s.subgraph(ids(s)[:3], depth=2)),
    ("unlinked", lambda s: s.unlink(ids(s)[1], ids(s)[2])),
    ("revised", lambda s: s.revise(ids(s)[1], tags=("x",), importance=0.1, expires_at=None)),
    ("forgotten", lambda s: s.forget(ids(s)[-1])),
    ("restored", lambda s: s.restore(ids(s)[-1])),
    ("restored again", lambda s: s.restore(ids(s)[-1])),
    ("superseded", lambda s: s.supersede(ids(s)[-2], ids(s)[-1])),
    ("undone", lambda s: s.undo(s.journal(newest=1)[0].seq)),
    ("history", lambda s: s.history(ids(s)[0])),
    ("two alike", lambda s: [s.remember(t, on_conflict="ignore").outcome for t in ("Ship it.", "ship it")]),
    ("decided", lambda s: s.record_decision("Here's the plan: ship it.", outcome="pending", frame="question")),
    ("an episode", lambda s: s.start_episode("Moving the export", event_time=LONG_AGO)),
    ("another episode", lambda s: s.start_episode("Painting the shed")),
    ("the same episode", lambda s: s.start_episode("painting the shed")),
    ("a turn", lambda s: s.record_turn("Use white paint.", frame="task", episode=episode(s), tags=("a",))),
    ("what will be asked about", lambda s: s.remember("Ana leads billing.")),
    ("a report", lambda s: s.record_turn("Here's my current status: dry.", frame="task", episode=episode(s))),
    ("its end", lambda s: s.end_episode(episode(s), summary="White.", outcome="success")),
    ("a question", lambda s: s.remember("Billing is run by Bo.").question),
    ("the questions", lambda s: s.questions()),
    ("all questions", lambda s: s.questions(limit=None)),
    ("no question", lambda s: s.questions(limit=0)),
    ("answered", lambda s: s.answer(s.questions()[0].id, "Replaces 1.", by="person")),
    ("asking", lambda s: s.asking()),
    ("answers taken back", lambda s: s.undo_answers(since=LONG_AGO, by="person")),
    ("answered as before", lambda s: [s.answer(s.questions(limit=1)[0].id, "new").entry > 0, s.asking().open]),
    ("lessons forgotten", lambda s: s.forget_lessons()),
    ("judged", lambda s: [s.judge(s.journal()[0].seq, "wrong") > 0, s.judge(s.journal()[0].seq, "wrong")]),
    ("planned", lambda s: s.plan()),
    ("planned narrowly", lambda s: s.plan(scope=Scope(kinds=("semantic",), created_from=LONG_AGO))),
    ("erased", lambda s: s.erase(ids(s)[0])),
    ("counted", lambda s: s.stats()),
    ("verified", lambda s: s.verify()),
    ("runs", lambda s: s.runs()),
    ("journal", lambda s: [replace(entry, idempotency_key="", payload="") for entry in s.journal()]),
)  # fmt: skip


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Desk, Client]]:
    """A store, and a client of another one with equal surroundings."""
    options = {"relation_model": FakeRelationModel(), "policy": Policy(ask=100)}
    here, there = (desk(LIGHT, tmp_path, name=name, **options) for name in ("here", "there"))
    for table in (here, there):
        table.options["relation_model"].declare("Ana leads billing.", "Billing is run by Bo.", conflict=0.4)
        table.near("Ana leads billing.", "Billing is run by Bo.", 0.8)
        limits = (NewMemory(content=f"The limit is 0.{number}.", kind="lesson") for number in (85, 95))
        table.near(*limits, 0.97)
    with served(rest_app(there.store)) as url, Client(url) as client:
        yield here, client
    here.store.close()
    there.store.close()


def test_a_whole_story_has_the_same_answers_over_http(pair: tuple[Desk, Client]) -> None:
    """S0-27 and design §9: not a field is lost on the way, and none is added."""
    here, client = pair
    for name, step in STORY:
        expected, got = step(here.store), step(client)
        assert type(got) is type(expected), name
        assert got == expected, name
        assert text_of(got) == text_of(expected), name


def text_of(value: Any) -> str:
    """As JSON, so that a list is not taken for a tuple, nor a number for a text."""
    kept = {name: getattr(value, name) for name in ("left_out", "dangling") if hasattr(value, name)}
    return dumps(value) + dumps(kept)


def test_the_story_reaches_every_verb_that_there_is() -> None:
    told = inspect.getsource(inspect.getmodule(parameters))  # type: ignore[arg-type]
    missing = [name for name in (*DEFAULT, *BEYOND) if f"s.{name}(" not in told and f"client.{name}(" not in told]
    assert missing == []


def test_a_plan_is_executed_and_taken_back_over_http(pair: tuple[Desk, Client]) -> None:
    here, client = pair
    for text in ("Tea is upstairs.", "tea is upstairs"):
        client.remember(text, on_conflict="ignore")
    plan = client.plan()
    assert client.execute(plan, dry_run=True)["mode"] == "dry_run"
    report = client.execute(plan)
    assert (report["mode"], report["executed"]) == ("execute", 1)
    assert client.execute(plan)["executed"] == 0  # I5
    assert len(client.list()) == 1
    assert client.undo_run(report["run_id"]).run_id == report["run_id"]
    assert len(client.list()) == 2


ERRORS: tuple[tuple[str, Step], ...] = (
    ("EmptyContent", lambda s: s.remember("  ")),
    ("UnknownKind", lambda s: s.remember("x", kind="nobody")),
    ("InvalidField", lambda s: s.remember("x", importance=7)),
    ("InvalidField", lambda s: s.remember("x", colour="red")),
    ("InvalidField", lambda s: s.remember("x", metadata={"n": float("nan")})),
    ("InvalidField", lambda s: s.remember("x", metadata={"n": object()})),
    ("InvalidText", lambda s: s.remember("a\x00b")),
    ("NotFound", lambda s: s.remember("x", links=["nobody"])),
    ("NotFound", lambda s: s.get("nobody")),
    ("NotFound", lambda s: s.get("..")),
    ("NotFound", lambda s: s.get("../../etc/passwd")),
    ("NotFound", lambda s: s.get("a?b#c d%2F")),
    ("InvalidField", lambda s: s.get("")),
    ("InvalidField", lambda s: s.get(7)),
    ("InvalidField", lambda s: s.recall("x", limit=0)),
    ("InvalidField", lambda s: s.neighbors(ids(s)[0], depth=99)),
    ("InvalidField", lambda s: s.resolve("key", "shrug")),
    ("NotFound", lambda s: s.resolve("key", "keep_new")),
    ("SelfReference", lambda s: s.link(ids(s)[0], ids(s)[0])),
    ("SelfReference", lambda s: s.supersede(ids(s)[0], ids(s)[0])),
    ("IllegalTransition", lambda s: s.split(ids(s)[0])),
    ("NotFound", lambda s: s.split("nobody")),
    ("NotFound", lambda s: s.undo(999)),
    ("ConflictError", lambda s: s.remember("The limit is 0.95.", kind="lesson", on_conflict="raise")),
    ("NotFound", lambda s: s.undo_run("nobody")),
    ("InvalidField", lambda s: s.answer("17", "new")),
    ("InvalidField", lambda s: s.answer("q3", "new", by="nobody")),
    ("InvalidField", lambda s: s.questions(limit=-1)),
    ("NotFound", lambda s: s.answer("q999", "new")),
    ("NotFound", lambda s: s.answer("q1", "new")),
    ("InvalidAnswer", lambda s: s.answer("q3", "perhaps")),
    ("InvalidAnswer", lambda s: s.answer("q3", "replaces 2")),
    ("InvalidAnswer", lambda s: s.answer("q3", "new; q3 new")),
    ("InvalidAnswer", lambda s: s.answer("q3", "")),
    ("AlreadyAnswered", lambda s: [s.answer("q3", text) for text in ("new", "not worth keeping")]),
    ("IdempotencyMismatch", lambda s: [s.remember(t, idempotency_key="k") for t in ("one", "two")]),
)  # fmt: skip


def test_an_error_is_the_library_s_own_on_both_ways(pair: tuple[Desk, Client]) -> None:
    """The class is the same; so a caller's `except` holds for both."""
    here, client = pair
    for store in (here.store, client):
        store.remember("The limit is 0.85.", kind="lesson")
        store.remember("Ana leads billing.")
        assert store.remember("Billing is run by Bo.").question.id == "q3"
    for place, (name, step) in enumerate(ERRORS):
        for store in (here.store, client):
            with pytest.raises(WellkeptError) as caught:
                step(store)
            assert type(caught.value).__name__ == name, (place, type(store).__name__, caught.value)


def test_namespaces_and_sessions_are_bound_as_in_the_library(pair: tuple[Desk, Client]) -> None:
    """I8; names in any script travel."""
    here, client = pair
    for store in (here.store, client):
        store.remember("Tea is upstairs.")
        other = store.in_namespace("команда/алиса 100%/茶")
        assert other.list() == ()
        other.remember("Coffee is upstairs.")
        assert [row.namespace for row in other.list()] == ["команда/алиса 100%/茶"]
        chat = store.in_session("chat 7 ☕")
        chat.remember("Ship the export behind a flag.", kind="decision")
        chat.pack("how is the export shipped")
        assert chat.remember("ship the export behind a flag", kind="decision").outcome == "duplicate"
        assert store.remember("ship the export behind a flag", kind="decision").outcome == "created"


def test_tasks_share_an_async_client(tmp_path: Path) -> None:
    """Each insight once, however many tasks say it at the same time (I3)."""
    table = desk(LASTING, tmp_path)

    async def told(url: str) -> list[str]:
        async with AsyncClient(url) as store:
            texts = [f"Fact number {number % 6}." for number in range(24)]
            results = await asyncio.gather(*(store.remember(text, kind="lesson") for text in texts))
            assert {hit.memory.id for hit in await store.recall("fact number")} <= {
                r.memory.id for r in results if r.memory
            }
            return [result.outcome for result in results]

    with served(rest_app(table.store)) as url:
        outcomes = asyncio.run(told(url))
    assert (outcomes.count("created"), outcomes.count("duplicate")) == (6, 18)
    assert len(table.rows()) == 6
    table.store.close()


def test_an_entry_is_read_back_whole() -> None:
    """Effects of all four types, and what a newer server may add, survive the way (ARCHITECTURE, effects are data)."""
    import wellkept
    from wellkept.client.from_json import records
    from wellkept.core.records.codec import to_plain

    with wellkept.open("memory:", embedder="hashing") as store:
        store.remember("The limit is 0.85.", kind="lesson")
        store.remember("The limit is 0.95.", kind="lesson")
        entries = store.journal()
    kinds = {type(effect).__name__ for entry in entries for effect in entry.effects}
    assert {"MemoryChange", "AliasChange", "ConflictChange"} <= kinds
    sent = json.loads(json.dumps([{**to_plain(entry, full=True), "newer": 1} for entry in entries]))
    assert records(JournalEntry)({"entries": sent}) == entries
