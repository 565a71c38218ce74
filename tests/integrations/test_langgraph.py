"""Items of LangGraph are memories: what is put is there, and a search gives what holds now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

import wellkept
from stores import EACH_BACKEND, Desk, desk, scratch
from wellkept.errors import FrameworkUnavailable, InvalidField, ModelError
from wellkept.integrations import frameworks
from wellkept.integrations.common.namespaces import labels_of, name_of
from wellkept.integrations.langgraph import LangChainEmbedder, WellkeptStore
from wellkept.integrations.langgraph.matching import fits

ADA, BEN = ("memories", "ada"), ("memories", "ben")


@pytest.fixture(params=EACH_BACKEND)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return desk(request.param, tmp_path)


@pytest.fixture
def store(table: Desk) -> WellkeptStore:
    return WellkeptStore(table.store)


@pytest.fixture
def minilm(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    """A store whose decisions are those of the packaged models."""
    with wellkept.open(scratch(tmp_path)) as memories:
        yield memories


def keys(found: list[Any]) -> list[str]:
    return [item.key for item in found]


@pytest.mark.parametrize(
    "value",
    [
        {"text": "Ada writes her code in Helix."},
        {"text": "ok"},  # filler, which the gate alone would refuse
        {"content": {"deep": ["a", {"b": None}]}, "number": 1.5, "yes": True},
        {},
        {"text": ""},
    ],
)
def test_what_is_put_is_there(store: WellkeptStore, value: dict[str, Any]) -> None:
    store.put(ADA, "k", value)
    item = store.get(ADA, "k")
    assert item is not None
    assert (item.value, item.key, item.namespace) == (value, "k", ADA)
    assert store.get(BEN, "k") is None
    store.delete(ADA, "k")
    assert store.get(ADA, "k") is None
    assert store.search(ADA) == [] and store.list_namespaces() == []
    store.put(ADA, "k", value)
    assert store.get(ADA, "k").value == value  # type: ignore[union-attr]


def test_equal_texts_under_two_keys_are_both_there_and_shown_once(store: WellkeptStore) -> None:
    store.put(ADA, "1", {"text": "Ada drinks green tea.", "from": "chat"})
    store.put(ADA, "2", {"text": "ada drinks green tea", "from": "mail"})
    assert store.get(ADA, "2").value["from"] == "mail"  # type: ignore[union-attr]
    assert keys(store.search(ADA)) == ["2", "1"]
    assert len(store.search(ADA, query="green tea")) == 1
    assert keys(store.search(ADA, query="green tea", filter={"from": "mail"})) == ["2"]
    assert store.memories(ADA).list()[0].confirmations == 1


def test_a_replaced_item_is_kept_and_no_longer_found(minilm: wellkept.MemoryStore) -> None:
    store = WellkeptStore(minilm, kind="fact")
    store.put(ADA, "1", {"text": "The staging server listens on port 8080."})
    store.put(ADA, "2", {"text": "The staging server listens on port 9090."})
    assert keys(store.search(ADA, query="port")) == ["2"]
    assert store.get(ADA, "1").value["text"] == "The staging server listens on port 8080."  # type: ignore[union-attr]
    ada = store.memories(ADA)
    ada.undo(ada.journal(newest=1)[0].seq)
    assert keys(store.search(ADA, query="port")) == ["1"] and store.get(ADA, "2") is None


def test_a_key_written_again_is_revised_and_can_be_undone(store: WellkeptStore) -> None:
    store.put(ADA, "tea", {"text": "Tea is upstairs."})
    store.put(ADA, "tea", {"text": "Tea is upstairs."})
    store.put(ADA, "tea", {"text": "Tea is downstairs."})
    ada = store.memories(ADA)
    assert [entry.verb for entry in ada.journal()] == ["remember", "revise"]
    ada.undo(2)
    assert store.get(ADA, "tea").value == {"text": "Tea is upstairs."}  # type: ignore[union-attr]


def test_a_wording_that_says_something_else_is_an_item_of_its_own(minilm: wellkept.MemoryStore) -> None:
    store = WellkeptStore(minilm)
    store.put(ADA, "1", {"text": "For all tests, use pytest."})
    store.put(ADA, "2", {"text": "Use pytest for all tests."})
    assert [row.status for row in store.memories(ADA).list(wellkept.Filter(statuses=("wording",)))] == ["wording"]
    assert keys(store.search(ADA, query="tests")) == ["1"]
    assert store.get(ADA, "2").value["text"] == "Use pytest for all tests."  # type: ignore[union-attr]
    store.put(ADA, "2", {"text": "The cellar is locked at night."})
    assert keys(store.search(ADA, query="cellar", limit=1)) == ["2"]


@pytest.mark.parametrize("first", ["1", "2"])
def test_two_keys_that_say_the_same_are_deleted_one_by_one(minilm: wellkept.MemoryStore, first: str) -> None:
    store = WellkeptStore(minilm)
    store.put(ADA, "1", {"text": "For all tests, use pytest."})
    store.put(ADA, "2", {"text": "Use pytest for all tests."})
    other = {"1": "2", "2": "1"}[first]
    store.delete(ADA, first)
    assert keys(store.search(ADA, query="tests")) == [other] == keys(store.search(ADA))
    store.delete(ADA, other)
    assert store.list_namespaces() == []


def test_namespaces_do_not_see_each_other(store: WellkeptStore) -> None:
    store.put(ADA, "k", {"text": "The port is 8080."})
    store.put(BEN, "k", {"text": "The port is 9090."})
    assert not store.memories(BEN).conflicts()
    assert keys(store.search(("memories",), query="port")) == ["k", "k"]
    assert [item.namespace for item in store.search(BEN, query="port")] == [BEN]


def test_an_item_that_is_not_indexed_is_listed_and_not_found(store: WellkeptStore) -> None:
    store.put(ADA, "1", {"text": "Tea is upstairs."}, index=False)
    store.put(ADA, "2", {"text": "Tea is upstairs."})
    assert keys(store.search(ADA, query="tea", limit=1)) == ["2"]
    assert keys(store.search(ADA)) == ["2", "1"]


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (None, "kept"),
        (["note"], "said"),
        (["note", "text"], "said\nkept"),
        (["$"], "kept"),
        (["more[*].x"], "one\ntwo"),
    ],
)
def test_the_text_of_an_item_is_what_is_indexed(store: WellkeptStore, index: Any, text: str) -> None:
    store.put(ADA, "k", {"text": "kept", "note": "said", "more": [{"x": "one"}, {"x": "two"}]}, index=index)
    assert [row.content for row in store.memories(ADA).list()] == [text]


def test_memories_that_others_wrote_are_items_too(store: WellkeptStore, table: Desk) -> None:
    store.put(ADA, "k", {"text": "Tea is upstairs."})
    row = store.memories(ADA).remember("Cups are downstairs.", kind="note").memory
    assert row is not None
    assert store.get(ADA, row.id).value == {"content": "Cups are downstairs.", "kind": "note"}  # type: ignore[union-attr]
    other = WellkeptStore(table.store)  # as another process would
    other.put(ADA, "k2", {"text": "Milk is in the fridge."})
    other.delete(ADA, "k")
    assert store.get(ADA, "k") is None and store.get(ADA, "k2") is not None


@pytest.mark.parametrize(
    ("condition", "fitting"),
    [
        ({"n": 3}, True),
        ({"n": 4}, False),
        ({"n": True}, False),
        ({"n": {"$gt": 2, "$lt": 4}}, True),
        ({"n": {"$gte": 3, "$lte": 3}}, True),
        ({"n": {"$gt": "2"}}, False),
        ({"n": {"$ne": 3}}, False),
        ({"n": {"$eq": float("nan")}}, False),
        ({"n": {"$lt": float("nan")}}, False),
        ({"user.name": "ada"}, True),
        ({"user": {"name": "ada"}}, True),
        ({"user": {"name": {"$gte": "a"}}}, True),
        ({"a.b": 1}, True),
        ({"missing": None}, True),
        ({"missing": {"$gt": 0}}, False),
        ({"tags": ["x"]}, True),
        ({"tags": ["x", "y"]}, False),
        (None, True),
    ],
)
def test_filters(condition: Any, fitting: bool) -> None:  # noqa: FBT001
    assert fits({"n": 3, "user": {"name": "ada"}, "a.b": 1, "tags": ["x"]}, condition) is fitting


@pytest.mark.parametrize(
    ("condition", "named"), [({"a')": 1}, "Invalid filter key"), ({"a": {"$in": [1]}}, "operator")]
)
def test_a_filter_that_is_not_allowed_is_refused_even_where_nothing_is_stored(
    store: WellkeptStore, condition: Any, named: str
) -> None:
    with pytest.raises(InvalidField, match=named):
        store.search(ADA, filter=condition)


@pytest.mark.parametrize("labels", [("a",), ("a/b", "c d", "%2F", "ü\n", "名前", "*", "A")])
def test_any_label_has_a_namespace_of_its_own(labels: tuple[str, ...]) -> None:
    assert labels_of("default", name_of("default", labels)) == labels


@pytest.mark.parametrize("labels", [("a.b",), ("",), ("a", 1), ("a\0",)])
def test_a_label_that_langgraph_forbids_stops_the_whole_batch(store: WellkeptStore, labels: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(ADA, "k", {"text": "x"}), PutOp(labels, "k", {"text": "x"})])
    assert store.get(ADA, "k") is None


def test_a_value_that_is_no_json_is_refused(store: WellkeptStore) -> None:
    with pytest.raises(InvalidField, match="'k' is no JSON"):
        store.put(ADA, "k", {"x": object()})


def test_namespaces_are_listed_by_prefix_suffix_and_depth(store: WellkeptStore) -> None:
    for labels in (ADA, BEN, ("notes", "ada", "old")):
        store.put(labels, "k", {"text": "x y z"})
    assert store.list_namespaces(prefix=("*", "ada")) == [ADA, ("notes", "ada", "old")]
    assert store.list_namespaces(suffix=("ada",)) == [ADA]
    assert store.list_namespaces(max_depth=1, limit=1, offset=1) == [("notes",)]
    long = MatchCondition("suffix", ("a", "b", "c", "d"))
    assert store.batch([ListNamespacesOp((long,))]) == [[]]


def test_pages_of_a_search_do_not_overlap(store: WellkeptStore) -> None:
    for number in range(5):
        store.put(ADA, str(number), {"text": f"Box {number} holds tea."})
    first, second = store.batch([SearchOp(ADA, query="tea", limit=2), SearchOp(ADA, query="tea", limit=2, offset=2)])
    assert len({*keys(first), *keys(second)}) == 4  # type: ignore[arg-type]


def test_an_expired_item_is_hidden_and_then_swept(table: Desk) -> None:
    store = WellkeptStore(table.store, ttl={"default_ttl": 60})
    store.put(ADA, "short", {"text": "The build is red."})
    store.put(ADA, "long", {"text": "Tea is upstairs."}, ttl=None)
    table.clock.advance(minutes=50)
    assert store.get(ADA, "short") is not None  # and is kept for another hour
    table.clock.advance(minutes=50)
    assert store.get(ADA, "short", refresh_ttl=False) is not None
    table.clock.advance(minutes=50)
    assert store.get(ADA, "short") is None and keys(store.search(ADA)) == ["long"]
    assert store.sweep_ttl() == 1 and store.sweep_ttl() == 0
    store.start_ttl_sweeper(1)
    assert store.stop_ttl_sweeper(10)


def test_the_same_for_asyncio(store: WellkeptStore) -> None:
    async def work() -> list[Any]:
        await asyncio.gather(*(store.aput(ADA, str(n), {"text": f"Box {n} holds tea."}) for n in range(4)))
        await store.adelete(ADA, "3")
        return await store.asearch(ADA, query="tea")

    assert sorted(keys(asyncio.run(work()))) == ["0", "1", "2"]


def test_a_store_is_opened_as_others_are(tmp_path: Path) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[text.count(char) for char in "abcdefghijklmnopqrstuvwxyz"] for text in texts]

    index = {"dims": 26, "embed": embed, "fields": ["about"]}
    with WellkeptStore.from_conn_string(str(tmp_path / "agent.db"), index=index) as store:  # type: ignore[arg-type]
        store.put(ADA, "k", {"about": "tea", "text": "unread"})
        assert [row.content for row in store.memories(ADA).list()] == ["tea"]


@pytest.mark.parametrize("row", [[1.0], [1.0, float("nan")], "no vector"])
def test_a_model_that_gives_no_vector_of_its_length_is_an_error(row: Any) -> None:
    with pytest.raises(ModelError):
        LangChainEmbedder(lambda texts: [row for _ in texts], 2).embed(["tea"])


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "'langgraph-checkpoint' is not installed (wellkept.integrations.langgraph). Install "),
        ("3.9.9", 'langgraph-checkpoint 3.9.9 is not known to work (wellkept.integrations.langgraph). Install "lang'),
        ("5.0.0rc1", 'Install "langgraph-checkpoint>=4.0,<5"'),
    ],
)
def test_a_missing_or_unknown_version_is_named(monkeypatch: pytest.MonkeyPatch, found: str | None, said: str) -> None:
    def version(_: str) -> str:
        if found is None:
            raise frameworks.metadata.PackageNotFoundError
        return found

    monkeypatch.setattr(frameworks.metadata, "version", version)
    with pytest.raises(FrameworkUnavailable) as raised:
        frameworks.need("langgraph")
    assert said in str(raised.value)
