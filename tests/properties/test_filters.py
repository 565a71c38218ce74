"""A filter has one meaning: in dicts and in SQLite, through `list`, and over a namespace as it was.

That PostgreSQL answers like the dicts is shown by `test_lockstep.py` and `test_long_lives.py`.
"""

from __future__ import annotations

import os
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import wellkept
from examples import examples
from wellkept.core.records.fits import matching
from wellkept.engine.history.past import Past
from wellkept.engine.lookup.filters import proposed
from wellkept.storage.memory import DictStorage
from wellkept.storage.port import Storage
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.checks.world import DIM, NS, at, entry, memory, vector
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import AliasChange, Filter, Memory, MemoryChange

SHELF = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

words = st.sampled_from(("", "Nous", "NOUS ", "ß", "ss", "ﬁn", "fin"))
hashes = st.sets(st.sampled_from(("h1", "h2", "h3")))
times = st.integers(0, 4).map(lambda minutes: at(minutes) + timedelta(microseconds=minutes % 2))
statuses = st.sampled_from(("active", "superseded", "archived", "wording"))
values = st.sampled_from((1, True, 1.0, "1", None, [1], {"a": [True]}))
ids = st.builds("{}{}".format, st.sampled_from("aAbß"), st.integers(0, 19))
kinds = st.sampled_from(("fact", "semantic", "lesson"))

records = st.fixed_dictionaries(
    {
        "kind": kinds,
        "subject": words,
        "attribute": words,
        "status": statuses,
        "created_at": times,
        "ended_at": st.sampled_from((None, at(90))),
        "checked": st.booleans(),
        "tags": st.lists(words.filter(bool), max_size=2).map(tuple),
        "source": words,
        "importance": st.sampled_from((0.0, 0.5, 1.0)),
        "metadata": st.dictionaries(st.sampled_from(("k", "l")), values, max_size=2),
    }
)
rows = st.dictionaries(ids, st.tuples(records, hashes, st.booleans()), max_size=14)


def several(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=2).map(tuple)


parts: dict[str, st.SearchStrategy[Any]] = {
    "ids": st.lists(ids, max_size=6).map(tuple),
    "id_prefix": st.sampled_from(("a", "A", "b1", "%")),
    "id_end": st.sampled_from(("1", "12", "_")),
    "hashes": several(st.sampled_from(("h1", "h2", "h4"))),
    "kinds": several(kinds),
    "statuses": several(statuses),
    "subject": words,
    "attribute": words,
    "tags": several(words.filter(bool)),
    "ongoing": st.booleans(),
    "created_from": times,
    "created_to": times,
    "unchecked": st.booleans(),
    "embedded": st.booleans(),
    "after": st.tuples(times, ids),
    "before": st.tuples(times, ids),
    "min_importance": st.sampled_from((0.0, 0.5, 0.7)),
    "sources": several(words),
    "metadata": st.dictionaries(st.sampled_from(("k", "m")), values, max_size=1),
}


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    """A filter with a few parts; more would match nothing."""
    named = draw(st.sets(st.sampled_from(sorted(parts)), max_size=4))
    return Filter(**{"statuses": (), **{name: draw(parts[name]) for name in sorted(named)}})


asked = st.lists(st.tuples(filters(), st.none() | st.integers(0, 5)), min_size=10, max_size=30)


def _filled(storage: Storage, given: dict[str, tuple[dict[str, Any], set[str], bool]]) -> wellkept.MemoryStore:
    store = wellkept.open(storage, embedder=FakeEmbedder(dim=DIM), relation_model=FakeRelationModel(), namespace=NS)
    for seed, (memory_id, (fields, pointing, is_embedded)) in enumerate(given.items()):
        row = memory(memory_id, **fields, embedding=f"e{seed}" if is_embedded else "", chunks=int(is_embedded))
        aliases = (AliasChange(row.id, one, present=True) for one in sorted(pointing))
        vectors = {row.embedding: vector(seed)} if is_embedded else {}
        with storage.begin(NS, write=True) as tx:
            tx.apply(entry(MemoryChange(None, row), *aliases), vectors=vectors)
    return store


def _expected(stored: list[Memory], where: Filter, limit: int | None, pointing: dict[str, set[str]]) -> list[str]:
    """What the one function says, and aliases and vectors, which are no part of a record."""
    order = {one: place for place, one in reversed(list(enumerate(where.ids or ())))}
    known = [row for row in stored if where.ids is None or row.id in order]
    known.sort(key=(lambda row: (row.created_at, row.id)) if where.ids is None else lambda row: order[row.id])
    known = [row for row in known if not where.hashes or pointing[row.id] & set(where.hashes)]
    known = [row for row in known if where.embedded is None or bool(row.embedding) is where.embedded]
    return [row.id for row in matching(known, where, limit=limit)]


@examples(25, 60, deadline=None)
@given(rows, asked)
def test_dicts_sqlite_and_the_past_find_what_the_filter_means(
    given: dict[str, tuple[dict[str, Any], set[str], bool]], asked: list[tuple[Filter, int | None]]
) -> None:
    pointing = {memory_id: found for memory_id, (_, found, _) in given.items()}
    with tempfile.TemporaryDirectory(dir=SHELF) as folder:
        sqlite = SqliteStorage(Path(folder) / "store.db", durability="relaxed")
        for storage in (DictStorage(), sqlite):
            with _filled(storage, given) as store, storage.begin(NS, write=False) as tx:
                past = Past(NS, storage.header())
                for written in tx.journal():
                    past.follow(written.effects)
                past.learn(tx.vectors(f"e{seed}" for seed in range(len(given))))
                everything = tx.find(Filter(statuses=()))
                for where, limit in asked:
                    expected = _expected(everything, where, limit, pointing)
                    assert [row.id for row in store.list(where, limit=limit)] == expected
                    assert [row.id for row in past.find(where, limit=limit)] == expected
                    bare = proposed(where)
                    found = _expected(everything, bare, limit, pointing)
                    assert [row.id for row in tx.find(bare, limit=limit)] == found
