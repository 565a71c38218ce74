"""A program that uses mem0's class works with the import changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stores import BACKENDS, desk
from wellkept.errors import InvalidField, NotFound
from wellkept.integrations.mem0 import AsyncMemory, Memory
from wellkept.integrations.mem0_filters import fits

ADA = {"user_id": "ada"}


@pytest.fixture(params=BACKENDS)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    return Memory(desk(request.param, tmp_path).store)


def texts(answer: dict[str, Any]) -> list[str]:
    return [item["memory"] for item in answer["results"]]


def add(memory: Memory, text: str, **given: Any) -> dict[str, Any]:
    [item] = memory.add(text, infer=False, **(given or ADA))["results"]
    return dict(item)


def test_the_life_of_a_memory(memory: Memory) -> None:
    made = add(memory, "Ada drinks green tea.", user_id="ada", metadata={"topic": "tea"})
    assert (made["event"], made["role"], made["memory"]) == ("ADD", "user", "Ada drinks green tea.")
    assert add(memory, "ada drinks green tea")["event"] == "NONE"
    one = memory.get(made["id"])
    assert one is not None
    assert (one["user_id"], one["metadata"], len(one["hash"])) == ("ada", {"topic": "tea"}, 32)
    assert texts(memory.search("green tea", filters=ADA)) == ["Ada drinks green tea."]
    assert memory.search("green tea", filters=ADA)["results"][0]["score"] > 0
    memory.update(made["id"], data="Ada drinks black tea.")
    memory.update(made["id"], metadata={"topic": "drinks"})
    assert texts(memory.get_all(filters={**ADA, "topic": "drinks"})) == ["Ada drinks black tea."]
    memory.delete(made["id"])
    assert memory.get(made["id"]) is None and texts(memory.get_all(filters=ADA)) == []
    told = [(step["event"], step["old_memory"], step["new_memory"]) for step in memory.history(made["id"])]
    assert told[0] == ("ADD", None, "Ada drinks green tea.")
    assert ("UPDATE", "Ada drinks green tea.", "Ada drinks black tea.") in told
    assert told[-1] == ("DELETE", "Ada drinks black tea.", None)


def test_users_agents_and_runs_are_kept_apart_and_found_by_any_of_their_ids(memory: Memory) -> None:
    add(memory, "The port is 8080.", user_id="ada", agent_id="coder")
    add(memory, "The port is 9090.", user_id="ben")
    add(memory, "The port is 7070.", user_id="ada")
    assert texts(memory.get_all(filters=ADA)) == ["The port is 8080.", "The port is 7070."]
    assert texts(memory.get_all(filters={"agent_id": "coder"})) == ["The port is 8080."]
    assert texts(memory.get_all(filters={"user_id": " ben "}, top_k=0)) == []
    assert len(texts(memory.search("port", filters=ADA, top_k=1, threshold=0))) == 1
    memory.delete_all(user_id="ada")
    assert texts(memory.get_all(filters=ADA)) == []
    memory.reset()
    assert texts(memory.get_all(filters={"user_id": "ben"})) == []


def test_messages_are_stored_as_they_are_but_for_those_of_the_system(memory: Memory) -> None:
    talk = [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "My flight leaves on Monday.", "name": "ada"},
        {"role": "assistant", "content": "The gate for the flight is B12."},
        {"role": "user", "content": ""},
    ]
    added = memory.add(talk, user_id="ada", infer=False)["results"]
    assert [(item["role"], item["actor_id"]) for item in added] == [("user", "ada"), ("assistant", None)]
    assert texts(memory.get_all(filters={**ADA, "role": "assistant"})) == ["The gate for the flight is B12."]


def test_facts_are_found_by_a_function_of_the_caller(memory: Memory) -> None:
    with_facts = Memory(memory.memories, extract=lambda parts: [f"Fact: {part['content']}" for part in parts])
    assert texts(with_facts.add("Ada drinks tea.", user_id="ada")) == ["Fact: Ada drinks tea."]
    with pytest.raises(InvalidField, match="infer=False"):
        memory.add("Ada drinks tea.", user_id="ada")


def test_an_expired_memory_is_hidden_unless_asked_for(memory: Memory) -> None:
    add(memory, "The fair is on.", user_id="ada", expiration_date="2001-01-01")
    add(memory, "Tea is upstairs.", user_id="ada", expiration_date="2999-12-31")
    assert texts(memory.get_all(filters=ADA)) == ["Tea is upstairs."]
    shown = memory.get_all(filters=ADA, show_expired=True)["results"]
    assert [item["expiration_date"] for item in shown] == ["2001-01-01", "2999-12-31"]


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"t": "tea"}
    for _ in range(depth):
        found = {"NOT": [found]}
    return found


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda memory: memory.add("x", infer=False), "at least one of"),
        (lambda memory: memory.add("x", user_id="a b", infer=False), "Invalid user_id"),
        (lambda memory: memory.add(3, user_id="a", infer=False), "messages must be"),
        (lambda memory: memory.add("x", user_id="a", infer=False, expiration_date="soon"), "not a date"),
        (lambda memory: memory.search("x", user_id="a"), "Top-level entity parameters"),
        (lambda memory: memory.search(" ", filters=ADA), "Invalid query"),
        (lambda memory: memory.search("x"), "at least one of"),
        (lambda memory: memory.search("x", filters=ADA, top_k=-1), "Invalid top_k"),
        (lambda memory: memory.search("x", filters=ADA, threshold=2), "Invalid threshold"),
        (lambda memory: memory.get_all(filters={**ADA, "OR": []}), "non-empty list"),
        (lambda memory: memory.get_all(filters={**ADA, "n": {"near": 3}}), "Unsupported metadata filter operator"),
        (lambda memory: memory.get_all(filters=ADA, page=2), "no argument 'page'"),
        (lambda memory: memory.get_all(filters="user_id=a"), "mapping of names"),
        (lambda memory: memory.get_all(filters={**ADA, 3: "x"}), "mapping of names"),
        (lambda memory: memory.get_all(filters={**ADA, "n": {3: 3}}), "mapping of names"),
        (lambda memory: memory.get_all(filters={**ADA, **nested(2_000)}), "inside each other"),
        (lambda memory: memory.add("x", user_id="\u540d" * 25, infer=False), "together"),
        (lambda memory: memory.add("x", user_id="a", metadata="tea", infer=False), "metadata must be a mapping"),
        (lambda memory: memory.add("x", user_id="*", infer=False), "only a search understands"),
        (lambda memory: memory.delete_all(user_id="*"), "only a search understands"),
        (lambda memory: memory.update("none"), "not found"),
        (lambda memory: memory.delete("none"), "not found"),
    ],
)
def test_a_call_that_cannot_be_answered_says_why(memory: Memory, call: Any, said: str) -> None:
    add(memory, "Tea is upstairs.")
    with pytest.raises((InvalidField, NotFound), match=said):
        call(memory)


def test_a_star_finds_what_belongs_to_anybody(memory: Memory) -> None:
    for user in ("ada", "bo"):
        memory.add(f"{user} drinks tea.", user_id=user, infer=False)
    memory.add("Runs are short.", run_id="1", infer=False)
    assert texts(memory.get_all(filters={"user_id": "*"})) == ["ada drinks tea.", "bo drinks tea."]


@pytest.mark.parametrize(
    ("filters", "fitting"),
    [
        ({"n": 3}, True),
        ({"n": {"gt": 2, "lte": 3}}, True),
        ({"n": {"gt": "2"}}, False),
        ({"n": {"ne": 3}}, False),
        ({"t": {"in": ["tea", "milk"]}}, True),
        ({"t": ["tea"]}, True),
        ({"t": {"nin": ["tea"]}}, False),
        ({"t": {"contains": "ea"}}, True),
        ({"t": {"contains": 3}}, False),
        ({"t": {"icontains": "EA"}}, True),
        ({"t": "*"}, True),
        ({"none": "*"}, False),
        ({"AND": [{"n": 3}, {"t": "tea"}]}, True),
        ({"OR": [{"n": 4}, {"t": "tea"}]}, True),
        ({"NOT": [{"n": 3}]}, False),
        ({"$or": [{"n": 4}]}, False),
    ],
)
def test_filters_of_mem0(filters: dict[str, Any], fitting: bool) -> None:  # noqa: FBT001
    assert fits({"n": 3, "t": "tea"}, filters) is fitting


def test_the_same_for_asyncio(memory: Memory) -> None:
    async def work() -> list[str]:
        later = AsyncMemory(memory.memories)
        made = (await later.add("Ada drinks green tea.", user_id="ada", infer=False))["results"][0]["id"]
        await later.update(made, data="Ada drinks black tea.")
        assert (await later.get(made) or {})["memory"] == "Ada drinks black tea."
        found = texts(await later.search("tea", filters=ADA))
        assert len(await later.history(made)) == 2
        await later.delete(made)
        await later.delete_all(user_id="ada")
        await later.reset()
        return found + texts(await later.get_all(filters=ADA))

    assert asyncio.run(work()) == ["Ada drinks black tea."]


def test_a_configuration_names_the_file(tmp_path: Path) -> None:
    with Memory.from_config({"history_db_path": str(tmp_path / "m.db"), "llm": {"provider": "openai"}}) as memory:
        assert memory.get_all(filters=ADA) == {"results": []}
