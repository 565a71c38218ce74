"""Frequent words in memory: the answers are those of a process that reads them from the file."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import wellkept
from wellkept.engine.verbs.store import MemoryStore
from wellkept.models.hashing import HashingEmbedder
from wellkept.storage.sqlite import SqliteStorage, frequent_words
from wellkept.storage.sqlite.frequent_words import At, FrequentWords
from wellkept.types import Filter

WORDS = ("tea", "milk", "sugar", "cup", "garden", "rain")
NOW, NEXT = At(1, "s", 7, "a"), At(1, "s", 8, "b")


@pytest.fixture
def every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words in one row count as frequent."""
    monkeypatch.setattr(frequent_words, "FROM", 1)


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


@pytest.mark.usefixtures("every_word")
@pytest.mark.parametrize("seed", range(2))
def test_what_one_process_keeps_is_what_another_reads_whatever_is_written(seed: int, tmp_path: Path) -> None:
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


@pytest.mark.usefixtures("every_word")
def test_rows_that_a_transaction_changes_are_found_by_it_and_not_kept_when_it_fails(tmp_path: Path) -> None:
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


def test_a_rare_word_is_not_kept() -> None:
    words = FrequentWords()
    words.learn(NOW, "1_tea", np.arange(frequent_words.FROM - 1))
    words.learn(NOW, "1_cup", frequent_words.FROM)
    assert words.known(NOW, "1_tea") is None
    assert words.known(NOW, "1_cup") == frequent_words.FROM


def test_an_older_snapshot_neither_reads_nor_replaces_what_is_known() -> None:
    words = FrequentWords()
    words.learn(NEXT, "1_tea", 300)
    words.learn(NOW, "1_tea", 299)
    assert words.known(NOW, "1_tea") is None
    assert words.known(NEXT, "1_tea") == 300


@pytest.mark.parametrize("later", [NEXT, At(1, "other store", 7, "a"), At(1, "s", 7, "another entry of this number")])
def test_what_belongs_to_another_entry_is_forgotten(later: At) -> None:
    words = FrequentWords()
    words.learn(NOW, "1_cup", 400)
    words.learn(At(2, "s", 1, "c"), "2_cup", 500)
    words.learn(later, "1_tea", 300)
    assert (words.known(later, "1_tea"), words.known(later, "1_cup")) == (300, None)
    assert words.known(At(2, "s", 1, "c"), "2_cup") == 500
    words.forget(1)
    assert words.known(later, "1_tea") is None


def test_only_what_is_complete_up_to_the_entry_before_is_taken_along() -> None:
    words = FrequentWords()
    words.learn(NOW, "1_tea", 300)
    words.advance(NEXT, At(1, "s", 9, "c"), {4: ("", "1_tea")})
    assert words.known(NOW, "1_tea") == 300
    words.advance(NOW, NEXT, {4: ("", "1_tea"), 5: ("1_tea", ""), 6: ("1_tea", "1_cup")})
    assert words.known(NEXT, "1_tea") == 299


def test_the_words_asked_longest_ago_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequent_words, "_MOST_BYTES", 3000)
    words = FrequentWords()
    for term in ("1_tea", "1_cup", "1_milk"):
        words.learn(NOW, term, np.arange(300))
        words.known(NOW, "1_tea")
    kept = {term: words.known(NOW, term) is not None for term in ("1_tea", "1_cup", "1_milk")}
    assert kept == {"1_tea": True, "1_cup": False, "1_milk": True}


def test_places_beyond_32_bits_are_not_kept() -> None:
    words = FrequentWords()
    words.learn(NOW, "1_tea", np.arange(300) + 2**32)
    assert words.known(NOW, "1_tea") is None


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
