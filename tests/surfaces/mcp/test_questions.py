"""Questions over MCP: one at the end of an answer to `remember`, a list, and many answers in one call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from raising import raise_question
from stores import LIGHT, Desk, desk
from surfaces.mcp.servers import talk
from wellkept import MemoryStore
from wellkept.errors import Busy
from wellkept.policy import Policy
from wellkept.server.access import Grant
from wellkept.server.mcp import asking
from wellkept.server.mcp.asking import MOST_UNANSWERED, ShownQuestions
from wellkept.server.mcp.server import create_server
from wellkept.testing.relations import FakeRelationModel

OLD, NEW, OTHER = "Ana leads billing.", "Billing is run by Bo.", "The lunch room is upstairs."
HOW = "If you know, answer it: new | repeats N"
Talking = Callable[[Client], Any]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Desk]:
    """A store that asks about `NEW` after `OLD`, and about nothing else."""
    model = FakeRelationModel()
    model.declare(OLD, NEW, conflict=0.4)
    made = desk(LIGHT, tmp_path, relation_model=model, policy=replace(Policy(), ask=100.0))
    made.near(OLD, NEW, 0.8)
    yield made
    made.store.close()


def remembered(store: MemoryStore, *texts: str) -> list[Any]:
    """The answers to `remember` in one session."""

    async def talking(client: Client) -> list[Any]:
        return [await client.call_tool("remember", {"content": text}) for text in texts]

    answers: list[Any] = talk(create_server(store), "auto", talking)
    return answers


def asked(store: MemoryStore, count: int, *, actor: str = "") -> list[str]:
    """Open questions about memories that this actor wrote, the most valuable first."""
    writer = MemoryStore(replace(store._ctx, actor=actor)) if actor else store
    old, *new = (writer.remember(f"{actor} note number {number}", kind="note").id for number in range(count + 1))
    return [raise_question(writer, one, old, worth=0.9 - at / 100) for at, one in enumerate(new)]


def ending(answer: Any) -> str:
    """The id of the question at the end of an answer; empty for none."""
    text = str(answer.content[0].text)
    assert text.count("\nQuestion q") <= 1
    found = text.partition("\nQuestion ")[2]
    return found.partition(":")[0]


def test_an_answer_to_remember_ends_with_the_question_about_the_text_and_the_structure_only_names_it(
    table: Desk,
) -> None:
    _, second = remembered(table.store, OLD, NEW)
    [question] = table.store.questions()
    assert ending(second) == question.id == "q2"
    *_, first, candidate, how = second.content[0].text.splitlines()
    assert (NEW in first, candidate.endswith(f'"{OLD}"'), how.startswith(HOW)) == (True, True, True)
    assert second.structured_content["question"] == {"id": "q2"}
    assert OLD not in json.dumps(second.structured_content["question"])


def test_a_write_that_asks_nothing_shows_the_best_open_question_of_its_writer(table: Desk) -> None:
    best, second = asked(table.store, 2)
    asked(table.store, 1, actor="somebody else")
    answers = remembered(table.store, OTHER, OLD, NEW, "Cups are downstairs.")
    own = table.store.journal()[-2].seq
    assert list(map(ending, answers)) == [best, second, f"q{own}", best]
    assert [answer.structured_content["question"] for answer in answers] == [None, None, {"id": f"q{own}"}, None]


def test_without_an_open_question_nothing_is_added(table: Desk) -> None:
    [answer] = remembered(table.store, OTHER)
    assert answer.content[0].text.splitlines()[-1] == "undo 1 undoes this."


def test_who_answers_none_of_twenty_is_shown_none_until_one_is_answered(table: Desk) -> None:
    ids = asked(table.store, 3)

    async def talking(client: Client) -> list[str]:
        async def write(number: int) -> str:
            return ending(await client.call_tool("remember", {"content": f"Room {number} is free."}))

        shown = [await write(number) for number in range(MOST_UNANSWERED + 2)]
        refused = await client.call_tool("answer", {"text": "q999 new"})
        assert refused.is_error
        shown.append(await write(97))
        assert not (await client.call_tool("answer", {"text": f"{ids[0]} new"})).is_error
        return [*shown, await write(98)]

    shown = talk(create_server(table.store), "auto", talking)
    assert shown[:MOST_UNANSWERED] == (ids * 7)[:MOST_UNANSWERED]
    assert shown[MOST_UNANSWERED:] == ["", "", "", ids[2]]  # the one shown least often


def test_sessions_and_writers_are_counted_apart_and_the_oldest_session_is_forgotten(
    table: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MOST_SESSIONS", 2)
    asked(table.store, 1)
    shown = ShownQuestions()
    chat, other, third = (table.store.in_session(name) for name in ("chat", "other", "third"))
    for _ in range(MOST_UNANSWERED):
        assert shown.after_write(chat, "")
    assert shown.after_write(chat, "") == ""
    assert shown.after_write(other, "")
    shown.after_write(third, "")
    assert shown.after_write(chat, "")  # forgotten, so it begins again


def test_a_store_that_cannot_be_read_takes_nothing_from_the_answer(
    table: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise Busy("locked")

    asked(table.store, 1)
    monkeypatch.setattr("wellkept.engine.asking.by_writer.questions_by_writer", busy)
    [answer] = remembered(table.store, OTHER)
    assert (answer.is_error, ending(answer)) == (False, "")


def test_questions_are_listed_with_the_answers_that_are_possible(table: Desk) -> None:
    ids = asked(table.store, 3)
    server = create_server(table.store)
    listed = talk(server, "auto", lambda client: client.call_tool("questions", {"limit": 2}))
    lines = listed.content[0].text.splitlines()
    assert lines[1].startswith("Answers: new | repeats N")
    assert [line.split()[0] for line in lines[2:6]] == [ids[0], "1", ids[1], "1"]
    assert lines[-1].startswith("There are more")
    assert [one["id"] for one in listed.structured_content["questions"]] == ids[:2]


def test_many_are_answered_in_one_call_each_alone_and_by_an_agent(table: Desk) -> None:
    ids = asked(table.store, 3)
    text = f"{ids[0]} replaces 1; {ids[1]} repeats 4\nq999 new; {ids[2].upper()} NEW."
    answer = talk(create_server(table.store), "auto", lambda client: client.call_tool("answer", {"text": text}))
    told = answer.structured_content
    assert [(one["question"], one["answer"], one["by"]) for one in told["answered"]] == [
        (ids[0], "replaces 1", "agent"), (ids[2], "new", "agent"),
    ]  # fmt: skip
    assert [(one["question"], one["error"]) for one in told["errors"]] == [
        (ids[1], "InvalidAnswer"), ("q999", "NotFound"),
    ]  # fmt: skip
    lines = answer.content[0].text.splitlines()
    assert "undoes this." in lines[0]
    assert lines[2].startswith(f"Not answered: {ids[1]}: ")
    assert [one.id for one in table.store.questions()] == [ids[1]]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{0} new; {1} perhaps", "InvalidAnswer"),
        ("{0} new; {1} replaces 9", "InvalidAnswer"),
        ("{0} new; {0} replaces 1", "InvalidAnswer"),
        ("{0} new; replaces 1", "InvalidAnswer"),
        ("{0}", "InvalidAnswer"),
        (" ;\n; ", "InvalidAnswer"),
        ("", "InvalidAnswer"),
        ("17 new", "InvalidAnswer"),
        ("{0} new" + "; q1 new" * 101, "InvalidAnswer"),
        ("x" * 20_001, "InvalidField"),
    ],
)
def test_a_text_that_cannot_be_read_changes_nothing(table: Desk, text: str, error: str) -> None:
    ids = asked(table.store, 2)
    before = table.snapshot()
    given = {"text": text.format(*ids)}
    answer = talk(create_server(table.store), "auto", lambda client: client.call_tool("answer", given))
    assert (answer.is_error, answer.meta["wellkept/error"]["type"]) == (True, error)
    assert table.snapshot() == before


def test_an_agent_cannot_answer_as_a_person(table: Desk) -> None:
    [one] = asked(table.store, 1)
    given = {"text": f"{one} new", "by": "person"}
    answer = talk(create_server(table.store), "auto", lambda client: client.call_tool("answer", given))
    assert (answer.is_error, answer.meta["wellkept/error"]["where"]) == (True, "by")
    assert [left.id for left in table.store.questions()] == [one]


@pytest.mark.parametrize(
    ("scopes", "allowed"), [(("read",), {"questions"}), (("read", "write"), {"questions", "answer"})]
)
def test_answering_needs_the_right_to_write(table: Desk, scopes: tuple[Any, ...], allowed: set[str]) -> None:
    [one] = asked(table.store, 1)
    grant = Grant(actor="one", namespaces=("default",), scopes=frozenset(scopes))
    server = create_server(table.store, grant=lambda: grant)

    async def talking(client: Client) -> set[str]:
        calls = {"questions": {}, "answer": {"text": f"{one} new"}}
        return {name for name, given in calls.items() if not (await client.call_tool(name, given)).is_error}

    assert talk(server, "auto", talking) == allowed
    assert len(table.store.questions()) == (0 if "answer" in allowed else 1)


def test_the_instructions_say_in_three_lines_how_to_answer(table: Desk) -> None:
    server = create_server(table.store)
    instructions = str(server.instructions)
    lines = instructions.splitlines()
    assert [any(word in line for word in ("q17", "nothing waits")) for line in lines] == [False, True, True, True]


def test_every_tool_that_writes_a_text_shows_a_question_and_a_batch_names_those_of_its_texts(table: Desk) -> None:
    server = create_server(table.store, toolset="full")

    async def talking(client: Client) -> tuple[Any, Any]:
        batch = await client.call_tool("remember_many", {"items": [OLD, NEW]})
        return batch, await client.call_tool("record_decision", {"content": "Ship it behind a flag."})

    batch, decision = talk(server, "auto", talking)
    [question] = table.store.questions()
    assert [written["question"] for written in batch.structured_content["results"] if "question" in written] == [
        {"id": question.id}
    ]
    assert batch.content[0].text.splitlines()[-1] == f"Asked about: {question.id}; see questions."
    assert ending(decision) == question.id
