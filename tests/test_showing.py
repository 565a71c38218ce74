"""What `print`, a prompt and a notebook show of the library's objects, and what its errors tell a newcomer (N10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wellkept
from wellkept import BatchResult, Filter, Hits, MemoryStore, WriteResult
from wellkept.errors import InvalidField
from wellkept.testing.clock import CountingIds, FrozenClock

HOSTILE = 'Use <script>alert("x")</script> & <b>tags</b>\n\ttwice\u202e.'


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with wellkept.open(
        "memory:", embedder="hashing", relation_model="none", clock=FrozenClock(), new_id=CountingIds()
    ) as made:
        yield made


def test_the_id_of_a_result_is_that_of_the_memory_which_holds_the_text(store: MemoryStore) -> None:
    created = store.remember("The limit is 0.85.", kind="fact", subject="limit")
    duplicate = store.remember("the limit is 0.85", kind="fact", subject="limit")
    superseded = store.remember("The limit is 0.95.", kind="fact", subject="limit")
    begun = store.remember("Looking into the outage of the mail server.", kind="episode")
    reused = store.remember("Looking into the outage of the mail server now.", kind="episode")
    rejected = store.remember("ok, thanks")
    queued = store.queue.remember("The queue is drained at night.", kind="note")
    told = [(one.outcome, one.id) for one in (created, duplicate, superseded, begun, reused, rejected, queued)]
    assert told == [
        ("created", created.id),
        ("duplicate", created.id),
        ("superseded", superseded.id),
        ("created", begun.id),
        ("reused", begun.id),
        ("rejected", ""),
        ("queued", ""),
    ]
    assert len({created.id, superseded.id, begun.id}) == 3
    assert [store.get(one.id).content for one in (duplicate, superseded)] == [
        "The limit is 0.85.",
        "The limit is 0.95.",
    ]


def results(store: MemoryStore) -> Iterator[Any]:
    yield store
    yield store.remember(HOSTILE, kind="note")
    yield store.remember(HOSTILE + " And more, 5.", kind="note")
    yield store.remember("ok")
    yield store.remember_many(["Tea is upstairs.", {"content": ""}, HOSTILE])
    yield store.recall("script tags")
    yield store.recall("script tags")[0]
    yield store.pack("script tags")
    yield store.pack("script tags", format="json")


def test_every_object_is_short_and_harmless_wherever_it_is_shown(store: MemoryStore) -> None:
    for one in results(store):
        name = type(one).__name__
        assert repr(one).startswith(f"{name}("), repr(one)
        assert len(repr(one)) < 300 * (len(one) if isinstance(one, Hits) else 1), repr(one)
        assert "\n" not in repr(one) and "\u202e" not in repr(one)
        page = one._repr_html_()
        assert "<script" not in page and "<b>" not in page and page.startswith("<")


def test_a_result_prints_as_its_message(store: MemoryStore) -> None:
    result = store.remember("Tea is upstairs.", kind="note")
    assert str(result) == result.message == f'Stored: "Tea is upstairs." ({result.id}).'
    assert repr(result).startswith(f"WriteResult(outcome='created', id='{result.id}', entry=1, ")
    hostile = store.remember(HOSTILE, kind="note")
    assert len(str(hostile).splitlines()) == 1 and "\u202e" not in str(hostile)
    assert str(WriteResult(outcome="queued", memory=None)) == "queued"


def test_a_batch_prints_what_became_of_it(store: MemoryStore) -> None:
    assert str(store.remember_many(["Tea is upstairs.", "tea is upstairs", ""])) == "1 created, 1 duplicate, 1 failed"
    assert str(BatchResult((), (), {})) == "nothing to write"


def test_hits_print_a_line_each_and_a_pack_prints_its_text(store: MemoryStore) -> None:
    kept = store.remember("The test database listens on port 5433.", kind="note")
    hits = store.recall("port of the test database")
    [line] = str(hits).splitlines()
    assert line == f"{hits[0].score:.3f} [{kept.id[-8:]}] 2026-01-01 note  The test database listens on port 5433."
    assert store.get(kept.id[-8:]).id == kept.id
    assert str(Hits()) == "no hits" and repr(Hits()) == "Hits([])"
    pack = store.pack("port of the test database")
    assert f"{pack}" == pack.text
    assert "1 memory" in pack._repr_html_()


def test_a_store_says_where_it_is_and_shows_no_password(tmp_path: Any, store: MemoryStore) -> None:
    assert repr(store) == "MemoryStore(DictStorage(), namespace='default', embedder='hashing-v1/384')"
    with wellkept.open(tmp_path / "a.db", embedder="hashing", namespace="acme/alice") as kept:
        assert str(tmp_path / "a.db") in repr(kept) and "acme/alice" in repr(kept)
        assert "session='chat 7'" in repr(kept.in_session("chat 7"))


ASKED: list[tuple[Callable[[Any], object], str]] = [
    (lambda s: s.recall("x", k=3), "unknown option (k). Use `limit`."),
    (lambda s: s.recall("x", top_k=3), "unknown option (top_k). Use `limit`."),
    (lambda s: s.recall("x", filters={}), "unknown option (filters). Use `where=Filter(...)`."),
    (lambda s: s.recall("x", overfetsh=3), "unknown option (overfetsh). Did you mean 'overfetch'?"),
    (lambda s: s.recall("x", where={"kinds": ["fact"]}),
     'must be a Filter, not dict (where). Write where=wellkept.Filter(kinds=("fact",)); its fields are ids,'),
    (lambda s: s.list({"kinds": ["fact"]}), "must be a Filter, not dict (where)."),
    (lambda s: s.pack("x", where={}), "must be a Filter, not dict (where)."),
    (lambda s: s.recall("x", where=Filter(kinds="fact")),  # type: ignore[arg-type]
     "must be a tuple of texts, not one text (where.kinds). Write kinds=('fact',)."),
    (lambda s: s.recall("x", mode="semantics"), "'semantics' is not allowed (mode). Did you mean 'semantic'?"),
    (lambda s: s.recall("x", mode="hybrid", weights="hybrid-events"), "Did you mean 'hybrid-event'?"),
    (lambda s: s.remember("x", knd="fact"), "unknown field (knd). Did you mean 'kind'? Use one of: agent,"),
    (lambda s: s.remember("x", on_conflict="rise"), "'rise' is not allowed (on_conflict). Did you mean 'raise'?"),
    (lambda s: s.resolve("key", "keepnew"), "'keepnew' is not allowed (resolution). Did you mean 'keep_new'?"),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "said"), ASKED, ids=[said[:40] for _, said in ASKED])
def test_what_other_libraries_call_otherwise_or_is_misspelled_is_told(
    store: MemoryStore, ask: Callable[[Any], object], said: str
) -> None:
    with pytest.raises(InvalidField) as caught:
        ask(store)
    assert said in str(caught.value)
