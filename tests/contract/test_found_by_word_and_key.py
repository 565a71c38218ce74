"""Rows of a SQLite file by their words, whoever has written them, and by their keys."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import wellkept
from wellkept.core.text.forms import search_terms
from wellkept.engine.verbs.store import MemoryStore
from wellkept.models.hashing import HashingEmbedder
from wellkept.storage.memory_rows import WORDS_VERSION, common_above
from wellkept.storage.sqlite import SqliteStorage
from wellkept.types import Filter

WORDS = ("tea", "milk", "sugar", "cup", "garden", "rain")


def opened(storage: SqliteStorage) -> MemoryStore:
    return wellkept.open(storage, embedder=HashingEmbedder(), relation_model="none")


def found(storage: SqliteStorage, terms: tuple[str, ...]) -> list[str]:
    with storage.begin("default", write=False) as tx:
        return tx.match(terms, limit=5)


def read_anew(path: Path, terms: tuple[str, ...]) -> list[str]:
    fresh = SqliteStorage(path)
    try:
        return found(fresh, terms)
    finally:
        fresh.close()


@pytest.mark.parametrize("seed", range(2))
def test_words_are_found_as_a_process_that_opens_the_file_anew_finds_them(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    path = tmp_path / "store.db"
    storage, elsewhere = SqliteStorage(path), SqliteStorage(path)
    with opened(storage) as store, opened(elsewhere) as other:
        for step in range(40):
            text = f"{' '.join(rng.sample(WORDS, 3))} number{step}"
            rows = store.list(Filter())
            match rng.randrange(6):
                case 0 | 1:
                    store.remember(text, on_conflict="ignore")
                case 2:
                    store.remember_many([f"{text} {place}" for place in range(3)], on_conflict="ignore")
                case 3 if rows:
                    store.revise(rng.choice(rows).id, content=text)
                case 4:
                    store.undo(store.journal(newest=1)[0].seq) if rows else None
                case _:
                    other.remember(text, on_conflict="ignore")
            for terms in (WORDS[:2], WORDS, (rng.choice(WORDS),)):
                assert found(storage, terms) == read_anew(path, terms)


def test_rows_that_a_transaction_changes_are_found_by_it_and_stand_again_when_it_fails(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "store.db")
    with opened(storage) as store:
        first = store.remember("tea with milk").memory
        assert first is not None
        assert found(storage, ("tea",)) == [first.id]
        with pytest.raises(ZeroDivisionError), storage.begin("default", write=True) as tx:
            assert tx.match(("tea",), limit=5) == [first.id]
            tx.erase([first.id], store.journal(newest=1)[0])
            assert tx.match(("tea",), limit=5) == []
            raise ZeroDivisionError
        assert found(storage, ("tea",)) == [first.id]


def test_what_is_no_term_is_in_no_row(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "store.db")
    with opened(storage) as store:
        store.remember("tea with milk")
        assert len(found(storage, ("tea",))) == 1
        for other in ("Tea", "tea milk", 'tea" OR "milk', "tea*", "tea\n", "-"):
            assert found(storage, (other,)) == []


@pytest.mark.parametrize(
    "where",
    [
        Filter(hashes=("content:a",), kinds=("note", "fact"), statuses=("active", "superseded", "wording")),
        Filter(ids=("a", "b"), kinds=("note", "fact"), statuses=("active", "superseded")),
        Filter(subject="a", kinds=("note", "fact"), statuses=("active", "superseded")),
    ],
)
def test_rows_with_a_key_are_found_by_it_and_not_among_all_of_a_kind(where: Filter, tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "store.db")
    plans: list[str] = []
    with opened(storage) as store:
        store.remember("tea with milk")
        with storage.begin("default", write=False) as tx:
            select = tx._session.select

            def explained(sql: str, parameters: dict[str, object]) -> list[object]:
                plans.extend(row[3] for row in select(f"EXPLAIN QUERY PLAN {sql}", parameters))
                return select(sql, parameters)

            tx._session.select = explained  # type: ignore[method-assign, assignment]
            try:
                tx.find(where)
            finally:
                tx._session.select = select  # type: ignore[method-assign]
    by = "memory_slot" if where.subject else "memory_id"
    assert plans[0].startswith(f"SEARCH m USING INDEX {by} ")


@pytest.mark.parametrize(("seq", "rows"), [(0, 1000), (50_000, 5000), (200_000, 20_000), (10**7, 20_000)])
def test_a_term_is_common_in_a_tenth_of_a_namespace_and_never_in_more_rows_than_a_query_may_read(
    seq: int, rows: int
) -> None:
    assert common_above(seq) == rows


def test_a_store_made_with_other_terms_is_known_by_the_terms_of_one_text() -> None:
    told = "PR#441 läuft; C++ 数据库 テスト नमस्ते बच्चा שלום مرحبا ἀλήθεια v1.5.2 snake_case camelCase 5²"
    hidden = "hi\u034fdd\u200den"
    assert " ".join(search_terms(f"{told} {hidden}")) == WORDS_VERSION, "write the new terms into WORDS_VERSION"
