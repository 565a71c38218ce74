"""The in-process matrix: exact whatever short cut it takes, bounded, in step (design §10)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from wellkept.core.vectors import quantise, restore
from wellkept.storage import sieve
from wellkept.storage.index import Row, Space, Stamp, VectorIndex, rows_of
from wellkept.types import Status

ROWS, DIM = sieve.MIN_ROWS + 700, 192
KINDS = ("lesson", "fact", "note")


def texts_like(count: int, seed: int, *, dim: int = DIM) -> NDArray[np.float32]:
    """Unit vectors whose lengths lie mostly in some directions, as those of texts do, with near twins."""
    rng = np.random.default_rng(seed)
    spread = np.exp(-np.arange(dim) / 30)
    turned = np.linalg.qr(np.random.default_rng(99).standard_normal((dim, dim)))[0]
    rows = (rng.standard_normal((count, dim)) * spread + spread * 0.7) @ turned
    twins = count // 20
    rows[:twins] = rows[twins : 2 * twins] + 0.02 * rng.standard_normal((twins, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def flat(count: int, seed: int, *, dim: int = DIM) -> NDArray[np.float32]:
    """Unit vectors without any main direction: the worst case."""
    rows = np.random.default_rng(seed).standard_normal((count, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Model:
    """What the matrix should hold, in a dict."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self.space = Space()
        self.rows: dict[str, Row] = {}
        ids = [f"m{number:06}" for number in range(len(rows))]
        kinds = [KINDS[number % 3] for number in range(len(rows))]
        statuses: list[Status] = ["archived" if number % 10 == 0 else "active" for number in range(len(rows))]
        blob = rows.astype("<f2").tobytes()
        self.space.load(Stamp("s", 1, rows.shape[1]), 1, ids, kinds, statuses, blob)
        stored = rows_of(blob, rows.shape[1])
        self.rows = {one[0]: Row(*one[1:]) for one in zip(ids, kinds, statuses, stored, strict=True)}

    def put(self, memory_id: str, row: Row) -> None:
        self.space.put(memory_id, row.kind, row.status, row.vector)
        self.rows[memory_id] = row

    def drop(self, memory_id: str) -> None:
        self.space.drop(memory_id)
        del self.rows[memory_id]

    def check(
        self, query: NDArray[np.float32], limit: int, kinds: tuple[str, ...], statuses: tuple[Status, ...]
    ) -> None:
        fitting = [
            (memory_id, row.vector)
            for memory_id, row in self.rows.items()
            if (not kinds or row.kind in kinds) and (not statuses or row.status in statuses) and row.vector is not None
        ]
        matrix = np.stack([vector for _, vector in fitting])
        scores = np.round(matrix.astype(np.float64) @ query, 9)
        best = sorted(zip((-scores).tolist(), [memory_id for memory_id, _ in fitting], strict=True))[:limit]
        (found,) = self.space.nearest(query[None, :], limit=limit, kinds=kinds, statuses=statuses)
        got = [float(np.round(row.astype(np.float64) @ query, 9)) for row in found.vectors]
        assert len(found.ids) == len(set(found.ids)) == min(limit, len(fitting))
        # Rows that differ by less than single precision tells may change places, no others.
        assert np.allclose(got, [-score for score, _ in best], rtol=0, atol=3e-6)
        for memory_id, vector in zip(found.ids, found.vectors, strict=True):
            stored = self.rows[memory_id].vector
            assert stored is not None and np.array_equal(vector, stored)


@pytest.mark.parametrize("make", [texts_like, flat])
def test_the_sieve_never_loses_a_neighbour(make: Callable[[int, int], NDArray[np.float32]]) -> None:
    model = Model(make(ROWS, 1))
    queries = [*make(12, 2), *make(ROWS, 1)[[0, 5, 40]]]
    scopes: list[tuple[tuple[str, ...], tuple[Status, ...]]] = [((), ()), (("fact",), ("active",)), ((), ("archived",))]
    for number, query in enumerate(queries):
        for kinds, statuses in scopes:
            model.check(query, (1, 5, 30)[number % 3], kinds, statuses)
    model.check(3 * queries[0], 5, (), ("active",))


def test_the_sieve_is_really_used_where_texts_have_main_directions() -> None:
    model = Model(texts_like(ROWS, 1))
    model.space.nearest(texts_like(1, 2), limit=5)
    first = model.space._sieve
    assert first is not None and first.worthwhile
    survivors = first.survivors(model.space._matrix[:ROWS], texts_like(ROWS, 1)[3], 5, None)
    assert survivors is not None and 5 <= survivors.size < ROWS // 20


def test_the_sieve_gives_up_where_they_have_none() -> None:
    model = Model(flat(ROWS, 1))
    for query in flat(40, 2):
        model.space.nearest(query, limit=5)
    assert model.space._sieve is not None and not model.space._sieve.worthwhile


def test_a_sieved_matrix_stays_exact_while_rows_come_change_and_go() -> None:
    model = Model(texts_like(ROWS, 1))
    queries = texts_like(6, 2)
    model.check(queries[0], 10, (), ("active",))
    news = texts_like(300, 3)
    for number in range(100):
        model.put(f"n{number}", Row("fact", "active", news[number]))
        model.put(f"m{number:06}", Row("note", "active", news[100 + number]))
        model.drop(f"m{ROWS - 1 - 3 * number:06}")
    model.put("close", Row("fact", "active", queries[1]))
    for query in queries:
        model.check(query, 10, (), ("active",))
        model.check(query, 3, ("fact",), ("active",))
    (found,) = model.space.nearest(queries[1], limit=1, statuses=("active",))
    assert found.ids == ("close",)


def test_rows_of_another_view_hide_and_add() -> None:
    """An overlay replaces rows of the matrix: the uncommitted ones, or those of an older snapshot."""
    model = Model(texts_like(ROWS, 1))
    query = texts_like(1, 2)[0]
    best, second = model.space.nearest(query, limit=2, statuses=("active",))[0].ids
    over = {best: None, "new": Row("fact", "active", query), "other": Row("fact", "archived", query)}
    (found,) = model.space.nearest(query, limit=2, statuses=("active",), overlay=over)
    assert found.ids == ("new", second)
    (found,) = model.space.nearest(query, limit=2, statuses=("active",))
    assert found.ids == (best, second), "the matrix itself is unchanged"


@pytest.mark.parametrize("dim", [8, 384, 512, 513, 1536])
def test_several_queries_at_once_answer_as_one_by_one(dim: int) -> None:
    """Vectors longer than 512 components are compared by their first 512 (S0-9)."""
    model = Model(flat(500, 1, dim=dim))
    queries = flat(7, 2, dim=dim)
    together = model.space.nearest(queries, limit=9, statuses=("active",))
    for query, found in zip(queries, together, strict=True):
        (alone,) = model.space.nearest(query, limit=9, statuses=("active",))
        assert found.ids == alone.ids
    rows = np.stack([row.vector for row in model.rows.values() if row.vector is not None])[:, :512]
    scores = rows @ queries[0][:512] / np.linalg.norm(rows, axis=1)
    (every,) = model.space.nearest(queries[0], limit=1)
    assert every.ids == (f"m{int(np.argmax(scores)):06}",)


def test_a_bulk_load_and_a_single_row_give_the_same_vector() -> None:
    rows = flat(50, 4)
    stored = rows_of(b"".join(quantise(row) for row in rows), DIM)
    for row, loaded in zip(rows, stored, strict=True):
        assert np.allclose(restore(quantise(row)), loaded, rtol=0, atol=1e-7)


def test_a_query_of_another_size_or_an_empty_matrix_finds_nothing() -> None:
    assert Space().nearest(np.ones(4, dtype=np.float32), limit=3)[0].ids == ()
    model = Model(flat(5, 1))
    assert model.space.nearest(np.ones(4, dtype=np.float32), limit=3)[0].ids == ()


def test_namespaces_used_least_lately_are_dropped_beyond_the_bound() -> None:
    index = VectorIndex(max_bytes=320 * (DIM * 4 + 3))
    for name in "abc":
        index.space(name).load(
            Stamp("s", 1, DIM),
            1,
            [f"{n}" for n in range(90)],
            ["k"] * 90,
            ["active"] * 90,
            flat(90, 1).astype("<f2").tobytes(),
        )
        assert index.loaded(name) is not None
    index.space("a")
    index.space("d").load(Stamp("s", 1, DIM), 1, ["x"] * 1, ["k"], ["active"], flat(1, 1).astype("<f2").tobytes())
    for number in range(95):
        index.space("d").put(f"{number}", "k", "active", flat(1, number)[0])
    index.space("d")
    assert [name for name in "abcd" if index.loaded(name)] == ["a", "c", "d"]
    assert VectorIndex(max_bytes=1).space("big") is not None


def test_the_log_tells_what_changed_after_a_snapshot_or_that_it_cannot() -> None:
    model = Model(flat(5, 1))
    model.space.advance(2, {"m000001": None})
    model.space.advance(3, {"n": Row("k", "active", flat(1, 9)[0])})
    assert model.space.changed_since(1) == {"m000001", "n"}
    assert model.space.changed_since(2) == {"n"}
    assert model.space.changed_since(3) == frozenset()
    assert model.space.changed_since(0) is None
    for seq in range(4, 9000):
        model.space.advance(seq, {"n": None})
    assert model.space.changed_since(2) is None
    assert model.space.changed_since(8998) == {"n"}
