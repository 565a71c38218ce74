"""Long lists are answered a page at a time, and the pages together are the whole list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wellkept
from wellkept import Filter, MemoryStore
from wellkept.core.records.codec import to_plain
from wellkept.errors import InvalidField, NotFound
from wellkept.operations import pages
from wellkept.operations.registry import call

Page = dict[str, Any]


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as opened:
        ids = [opened.remember(f"Item {word} is stored.", tags=["a"] if word in "bdf" else []).id for word in "abcdefg"]
        for other in ids[1:]:
            opened.link(ids[0], other)
        for number in range(4):
            opened.revise(ids[0], content=f"Item a is stored {number} times.")
        for value in ("0.85", "0.9", "0.95", "0.97"):
            opened.remember(f"The limit is {value}.", kind="lesson")
        for word in "hij":
            opened.queue.remember(f"Thesis {word}.", kind="thesis")
        yield opened


def first(store: MemoryStore) -> str:
    return store.list(limit=1)[0].id


Row = tuple[str, str, Callable[[MemoryStore], Page], Callable[[MemoryStore], Any], Callable[[list[Any]], Page]]
LISTS: list[Row] = [
    ("list", "memories", lambda _: {}, lambda store: store.list(),
     lambda found: {"where": {"after": [found[-1]["created_at"], found[-1]["id"]]}}),
    ("list", "memories", lambda _: {"where": {"tags": ["a"]}}, lambda store: store.list(Filter(tags=("a",))),
     lambda found: {"where": {"tags": ["a"], "after": [found[-1]["created_at"], found[-1]["id"]]}}),
    ("history", "versions", lambda store: {"memory_id": first(store)}, lambda store: store.history(first(store)),
     lambda found: {"after": found[-1]["seq"]}),
    ("journal", "entries", lambda _: {}, lambda store: store.journal(), lambda found: {"after": found[-1]["seq"]}),
    ("journal", "entries", lambda _: {"newest": 5}, lambda store: store.journal(newest=5),
     lambda found: {"after": found[-1]["seq"]}),
    ("conflicts", "conflicts", lambda _: {}, lambda store: store.conflicts(),
     lambda found: {"after": found[-1]["key"]}),
    ("neighbors", "neighbors", lambda store: {"memory_id": first(store)}, lambda store: store.neighbors(first(store)),
     lambda found: {"after": found[-1]["memory"]["id"]}),
    ("queue_pending", "pending", lambda _: {}, lambda store: store.queue.pending(),
     lambda found: {"after": found[-1]["id"]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "key", "asked", "whole", "following"), LISTS, ids=[f"{at}-{row[0]}" for at, row in enumerate(LISTS)]
)
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_the_pages_of_a_list_are_the_list(
    store: MemoryStore,
    name: str,
    key: str,
    asked: Callable[[MemoryStore], Page],
    whole: Callable[[MemoryStore], Any],
    following: Callable[[list[Any]], Page],
    limit: int,
) -> None:
    found: list[Any] = []
    given = asked(store)
    while True:
        told = call(store, name, {**given, "limit": limit}).model_dump(mode="json")
        found += told[key]
        if not told["more"]:
            break
        assert len(told[key]) == limit
        given |= following(found)
    expected = to_plain(whole(store), full=True)
    assert len(expected) >= 3
    assert found == expected


def test_before_a_place_the_last_ones_are_told_first(store: MemoryStore) -> None:
    every = store.list(Filter(tags=("a",)))
    before = [every[2].created_at.isoformat(), every[2].id]
    told = call(store, "list", {"where": {"tags": ["a"], "before": before}, "limit": 1}).model_dump(mode="json")
    assert ([one["id"] for one in told["memories"]], told["more"]) == ([every[1].id], True)
    place = (every[2].created_at, every[2].id)
    assert store.list(Filter(tags=("a",), before=place), limit=1) == (every[1],)


def test_a_page_ends_where_its_texts_are_long(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_CHARACTERS", 10)
    for name, key in (("list", "memories"), ("recall", "hits"), ("journal", "entries")):
        told = call(store, name, {"query": "item"} if name == "recall" else {}).model_dump(mode="json")
        assert (len(told[key]), told["more"]) == (1, True), name


@pytest.mark.parametrize(("name", "given"), [("conflicts", {}), ("runs", {}), ("queue_pending", {})])
def test_a_place_that_is_not_there_is_refused(store: MemoryStore, name: str, given: Page) -> None:
    with pytest.raises(NotFound, match="not in the list"):
        call(store, name, {**given, "after": "nowhere"})


def test_a_conflict_that_was_settled_is_still_a_place() -> None:
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as opened:
        for value in ("0.85", "0.9", "0.95"):
            opened.remember(f"The limit is {value}.", kind="lesson")
        one, *others = opened.conflicts()
        opened.resolve(one.key, "keep_both")
        told = call(opened, "conflicts", {"after": one.key}).model_dump(mode="json")
        assert [item["key"] for item in told["conflicts"]] == [item.key for item in others]


@pytest.mark.parametrize("limit", [0, 1_001])
def test_a_page_has_a_bound(store: MemoryStore, limit: int) -> None:
    with pytest.raises(InvalidField, match="limit"):
        call(store, "journal", {"limit": limit})
