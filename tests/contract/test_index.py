"""The in-process matrix: exact whatever short cut it takes, bounded, in step (design §10)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import examples
from wellkept.core.records.vectors import quantise, restore
from wellkept.storage.vectors import sieve
from wellkept.storage.vectors.index import SIEVED_FROM, Space
from wellkept.storage.vectors.matrices import VectorIndex
from wellkept.storage.vectors.rows import Block, Row, Stamp
from wellkept.storage.vectors.scan import direction, rows_of
from wellkept.storage.vectors.sharing import Sharing
from wellkept.types import Status

ROWS, DIM = sieve.MIN_ROWS + 700, 192
KINDS = ("lesson", "fact", "note")


def texts_like(count: int, seed: int, *, dim: int = DIM) -> NDArray[np.float32]:
    """Unit vectors with a few dominant directions, like those of texts, with near duplicates."""
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
    """The expected content of the matrix, as a dict."""

    def __init__(
        self,
        rows: NDArray[np.float32],
        *,
        shuffle: np.random.Generator | None = None,
        ids: Sequence[str] = (),
        stored: bool = True,
    ) -> None:
        self.space = Space()
        self.rows: dict[str, Row] = {}
        ids = list(ids) or [f"m{number:06}" for number in range(len(rows))]
        if shuffle is not None:
            shuffle.shuffle(ids)
        kinds = [KINDS[number % 3] for number in range(len(rows))]
        statuses: list[Status] = ["archived" if number % 10 == 0 else "active" for number in range(len(rows))]
        blob = rows.astype("<f2").tobytes()
        room = len(rows) if stored else 0  # a matrix whose size is not known holds its rows in single precision
        self.space.load(Stamp("s", 1, rows.shape[1]), 1, [Block(ids, kinds, statuses, blob)], room=room)
        stored = rows_of(blob, rows.shape[1])
        self.rows = {one[0]: Row(*one[1:]) for one in zip(ids, kinds, statuses, stored, strict=True)}

    def put(self, memory_id: str, row: Row) -> None:
        self.space.put(memory_id, row.kind, row.status, row.vector)
        self.rows[memory_id] = row

    def drop(self, memory_id: str) -> None:
        self.space.drop(memory_id)
        del self.rows[memory_id]

    def expected(
        self, query: NDArray[np.float32], limit: int, kinds: tuple[str, ...] = (), statuses: tuple[Status, ...] = ()
    ) -> tuple[str, ...]:
        """Brute force: the exact cosine of every row, in double precision, rounded to six decimals, ties by id."""
        fitting = [
            (memory_id, row.vector)
            for memory_id, row in self.rows.items()
            if (not kinds or row.kind in kinds) and (not statuses or row.status in statuses) and row.vector is not None
        ]
        if not fitting:
            return ()
        matrix = np.stack([vector[:512] for _, vector in fitting]).astype(np.float64)
        asked = direction(query).astype(np.float64)
        scores = (matrix * asked).sum(axis=1)
        if query.size > 512:
            scores /= np.sqrt((matrix * matrix).sum(axis=1))
        keys = np.round(scores, 6)
        least = np.partition(keys, max(0, keys.size - limit))[max(0, keys.size - limit)]
        best = sorted((-float(keys[at]), fitting[at][0]) for at in np.flatnonzero(keys >= least))
        return tuple(memory_id for _, memory_id in best[:limit])

    def check(
        self, query: NDArray[np.float32], limit: int, kinds: tuple[str, ...] = (), statuses: tuple[Status, ...] = ()
    ) -> None:
        """Ids and order are those of brute force, to the last one, whatever path was taken."""
        (found,) = self.space.nearest(query[None, :], limit=limit, kinds=kinds, statuses=statuses)
        assert found.ids == self.expected(query, limit, kinds, statuses)
        for memory_id, vector in zip(found.ids, found.vectors, strict=True):
            stored = self.rows[memory_id].vector
            assert stored is not None and np.array_equal(vector, stored)

    def sieved(self) -> sieve.Sieve:
        """The first pass, after as many searches as it takes to make it."""
        query = next(row.vector for row in self.rows.values() if row.vector is not None)
        for _ in range(SIEVED_FROM + len(self.rows) // sieve.STEP + 1):
            self.space.nearest(query, limit=1)
        first = self.space._sieve
        assert first is not None and len(first) == len(self.rows)
        return first


@pytest.mark.parametrize("make", [texts_like, flat])
def test_the_sieve_never_loses_a_neighbour(make: Callable[[int, int], NDArray[np.float32]]) -> None:
    model = Model(make(ROWS, 1))
    model.sieved()
    queries = [*make(12, 2), *make(ROWS, 1)[[0, 5, 40]]]
    scopes: list[tuple[tuple[str, ...], tuple[Status, ...]]] = [((), ()), (("fact",), ("active",)), ((), ("archived",))]
    for number, query in enumerate(queries):
        for kinds, statuses in scopes:
            model.check(query, (1, 5, 30)[number % 3], kinds, statuses)
    model.check(3 * queries[0], 5, (), ("active",))


def test_the_sieve_is_really_used_where_texts_have_main_directions() -> None:
    model = Model(texts_like(ROWS, 1))
    first = model.sieved()
    assert first.worthwhile
    query = direction(texts_like(ROWS, 1)[3])
    bounds = first.turned(query[None, :], ROWS)[0]
    survivors = first.survivors(model.space._rows, query, bounds, limit=5, shut=None)
    assert survivors is not None and 5 <= survivors.size < ROWS // 20


def test_who_asks_once_does_not_wait_for_a_sieve_and_who_asks_on_waits_for_a_part_of_it() -> None:
    model = Model(texts_like(2 * sieve.STEP + 500, 1))
    done = []
    for query in texts_like(SIEVED_FROM + 3, 2):
        model.check(query, 5)
        done.append(0 if model.space._sieve is None else len(model.space._sieve))
    assert done == [0, 0, sieve.STEP, 2 * sieve.STEP, *[2 * sieve.STEP + 500] * 2]


def test_a_sieve_half_made_stays_true_while_rows_change() -> None:
    """Rows before its end are changed in it, those behind come with the next part (I4)."""
    model = Model(texts_like(2 * sieve.STEP + 500, 1))
    news = texts_like(60, 5)
    for query in news[: SIEVED_FROM + 1]:
        model.check(query, 3)
    assert model.space._sieve is not None and len(model.space._sieve) == 2 * sieve.STEP
    for number in range(20):
        model.put(f"m{number:06}", Row("note", "active", news[number]))
        model.put(f"m{2 * sieve.STEP + number:06}", Row("note", "active", news[20 + number]))
        model.put(f"n{number}", Row("note", "active", news[40 + number]))
    for number in range(700):  # until the last row stands before the end of what is made
        model.drop(f"m{100 + number:06}")
    for query in news[::5]:
        model.check(query, 3)
    assert len(model.space._sieve) == len(model.rows)


def test_the_sieve_gives_up_where_they_have_none() -> None:
    model = Model(flat(ROWS, 1))
    model.sieved()
    for query in flat(40, 2):
        model.space.nearest(query, limit=5)
    assert model.space._sieve is not None and not model.space._sieve.worthwhile
    assert not model.space._rows.stored, "all rows are compared, which is faster in single precision"


def test_a_large_matrix_holds_its_rows_as_they_are_stored_and_a_small_one_does_not() -> None:
    large, small = Model(texts_like(ROWS, 1)).space, Model(texts_like(500, 1)).space
    assert large._rows.stored and not small._rows.stored
    assert large.nbytes / ROWS < small.nbytes / 500 - DIM
    space = Space()
    space.load(Stamp("s", 1, DIM), 1, [], room=ROWS)
    assert not space._rows.stored, "most of the expected rows had no vector"


@pytest.mark.parametrize("sort", ["dense", "sparse"])
def test_a_matrix_that_grows_large_holds_its_rows_as_they_are_stored(sort: str) -> None:
    base = texts_like(900, 1)
    if sort == "sparse":  # of which rounding alone does not give back the stored components
        base[np.random.default_rng(2).random(base.shape) < 0.97] = 0.0
        base[:, 0] = np.maximum(base[:, 0], 0.1)
    rows = np.stack([restore(quantise(row / np.linalg.norm(row))) for row in base])
    with smaller_sieve():
        model = Model(rows[:300], stored=False)
        model.sieved()
        for number, row in enumerate(rows[300:]):
            model.put(f"n{number:06}", Row("fact", "active", row))
        assert model.space._rows.stored
        for query in rows[::90]:
            model.check(query, 7)


def test_a_vector_that_no_stored_form_gives_keeps_its_components() -> None:
    vectors = texts_like(700, 3)
    with smaller_sieve():
        model = Model(texts_like(400, 1))
        model.sieved()
        assert model.space._rows.stored
        model.put("odd", Row("fact", "active", vectors[0]))
        assert not model.space._rows.stored
        for number, row in enumerate(vectors[1:]):
            model.put(f"n{number:06}", Row("fact", "active", row))
        assert not model.space._rows.stored, "nor when it grows"
        model.check(vectors[0], 5)


# --------------------------------------------------------------------------------------------
# One answer, whatever the path (I4, I9)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["twins", "crowd", "crowd among others", "steps", "few values", "sparse"]),
    st.sampled_from([1, 3, 11, 64]),
    st.floats(1e-3, 1e3),
)
@examples(6, 40, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_path_gives_the_ids_and_the_order_of_brute_force(seed: int, sort: str, limit: int, length: float) -> None:
    """With the sieve, without, several queries at once, and as rows of another view: ties and near ties too."""
    rng = np.random.default_rng(seed)
    rows = hard_rows(rng, sort, 3000, 192)
    query = (rows[rng.integers(len(rows))] * np.float32(length)).astype(np.float32)
    with smaller_sieve():
        model = Model(rows, shuffle=rng)
        plain = Model(rows, ids=tuple(model.rows), stored=False)
        expected = model.expected(query, limit, (), ("active",))
        (before,) = plain.space.nearest(query, limit=limit, statuses=("active",))
        model.sieved()
        (sieved,) = model.space.nearest(query, limit=limit, statuses=("active",))
        together = plain.space.nearest(np.stack([rows[1], query, rows[0]]), limit=limit, statuses=("active",))
        (beside,) = Model(rows[:0]).space.nearest(query, limit=limit, statuses=("active",), overlay=model.rows)
        other, asked, _ = model.space.nearest(np.stack([rows[1], query, rows[0]]), limit=limit, statuses=("active",))
        assert other.vectors.tobytes() == together[0].vectors.tobytes()
    for found in (before, sieved, together[1], asked, beside):
        assert found.ids == expected
        assert found.vectors.tobytes() == before.vectors.tobytes()


def hard_rows(rng: np.random.Generator, sort: str, count: int, dim: int) -> NDArray[np.float32]:
    """Unit rows as near to each other as half precision allows, or with equal cosines."""
    base = texts_like(count, int(rng.integers(1 << 30)), dim=dim)
    match sort:
        case "twins":
            rows = base[rng.integers(0, 9, count)]
        case "crowd":
            rows = base[:1] + rng.standard_normal((count, dim)).astype(np.float32) * 2e-5
        case "crowd among others":
            rows = base
            rows[::50] = base[:1] + rng.standard_normal((len(base[::50]), dim)).astype(np.float32) * 1e-5
        case "steps":
            rows = np.repeat(base[:1], count, axis=0)
            rows[np.arange(count), rng.integers(0, dim, count)] += np.float32(1e-3)
        case "few values":
            rows = rng.choice(np.array([-1, 1], dtype=np.float32), (count, dim))
        case _:
            rows = np.eye(dim, dtype=np.float32)[rng.integers(0, dim, count)]
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@contextmanager
def smaller_sieve() -> Iterator[None]:
    """Sieve small matrices too, so that many can be tried."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "MIN_ROWS", 256)
        yield


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 7, 192, 384, 512, 513]))
@settings(max_examples=60, deadline=None)
def test_a_bulk_load_and_a_single_row_give_the_same_vector_to_the_last_bit(seed: int, dim: int) -> None:
    """Otherwise the order of two near ties would depend on when a process loaded its matrix (I4)."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((30, dim)) * np.exp(rng.uniform(-8, 0, (30, dim)))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    stored = rows_of(b"".join(quantise(row) for row in rows), dim)
    for row, loaded in zip(rows, stored, strict=True):
        assert restore(quantise(row)).tobytes() == loaded.tobytes()


def test_a_sieved_matrix_stays_exact_while_rows_come_change_and_go() -> None:
    model = Model(texts_like(ROWS, 1))
    model.sieved()
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


def test_a_query_of_another_size_or_an_empty_matrix_finds_nothing() -> None:
    assert Space().nearest(np.ones(4, dtype=np.float32), limit=3)[0].ids == ()
    model = Model(flat(5, 1))
    assert model.space.nearest(np.ones(4, dtype=np.float32), limit=3)[0].ids == ()


# --------------------------------------------------------------------------------------------
# Within a bound of memory


def filled(index: VectorIndex, name: str, count: int = 90) -> None:
    with index.use(name) as space:
        ids = [f"{number}" for number in range(count)]
        blob = flat(count, 1).astype("<f2").tobytes()
        space.load(Stamp("s", 1, DIM), 1, [Block(ids, ["k"] * count, ["active"] * count, blob)])


def size_of_one(count: int = 90) -> int:
    index = VectorIndex()
    filled(index, "one", count)
    return index.nbytes


def test_namespaces_used_least_lately_are_dropped_beyond_the_bound() -> None:
    index = VectorIndex(max_bytes=3 * size_of_one())
    for name in "abc":
        filled(index, name)
    with index.use("a"):
        pass
    filled(index, "d")
    assert [name for name in "abcd" if name in index] == ["a", "c", "d"]
    assert index.nbytes <= 3 * size_of_one()


def test_a_matrix_that_grows_drops_others_too() -> None:
    index = VectorIndex(max_bytes=3 * size_of_one())
    for name in "abc":
        filled(index, name)
    with index.use("c") as space:
        for number, row in enumerate(flat(30, 2)):
            space.put(f"new {number}", "k", "active", row)
    assert [name for name in "abc" if name in index] == ["b", "c"]


def test_a_matrix_in_use_is_never_dropped_however_long_ago_its_use_began() -> None:
    index = VectorIndex(max_bytes=2 * size_of_one())
    filled(index, "a")
    with index.use("a") as space:
        filled(index, "b")
        filled(index, "c")
        assert [name for name in "abc" if name in index] == ["a", "c"]
        with index.use("a") as again:
            assert again is space
    filled(index, "d")
    assert [name for name in "abcd" if name in index] == ["a", "d"], "now it is the last but one"
    assert index.nbytes <= 2 * size_of_one()


def test_one_matrix_alone_stays_even_beyond_the_bound_and_none_is_counted_after_clear() -> None:
    index = VectorIndex(max_bytes=1)
    filled(index, "big")
    assert "big" in index and index.nbytes > 1
    filled(index, "other")
    assert "big" not in index and "other" in index
    index.clear()
    assert index.nbytes == 0 and "other" not in index


def test_asking_for_a_matrix_that_is_not_there_makes_none() -> None:
    index = VectorIndex()
    with index.use_loaded("a") as space:
        assert space is None
    with index.use("a"):
        pass
    with index.use_loaded("a") as space:
        assert space is None, "it was never loaded"


def test_a_load_that_fails_leaves_nothing_that_looks_complete() -> None:
    model = Model(flat(5, 1))

    def torn() -> Iterator[Block]:
        yield Block(["x"], ["k"], ["active"], flat(1, 1).astype("<f2").tobytes())
        raise OSError("the disk failed")

    with pytest.raises(OSError, match="the disk failed"):
        model.space.load(Stamp("s", 1, DIM), 2, torn())
    assert model.space.stamp is None


# --------------------------------------------------------------------------------------------
# Beside each other


def test_searches_share_a_matrix_and_a_change_waits_for_them_and_goes_before_later_ones() -> None:
    lock = Sharing()
    order: list[str] = []
    inside, leave = threading.Barrier(3), threading.Event()
    asked = threading.Event()

    def look(name: str) -> None:
        with lock.looking():
            inside.wait(20)
            leave.wait(20)
            order.append(name)

    def change() -> None:
        asked.set()
        with lock.changing():
            order.append("change")

    early = [threading.Thread(target=look, args=("early",)) for _ in range(2)]
    for thread in early:
        thread.start()
    inside.wait(20)  # both are inside at once, or this breaks
    writer = threading.Thread(target=change)
    writer.start()
    assert asked.wait(20)
    leave.set()
    for thread in [*early, writer]:
        thread.join(20)
    assert order == ["early", "early", "change"]


def test_what_is_not_ready_is_prepared_by_one_alone_and_seen_by_all() -> None:
    lock = Sharing()
    made: list[int] = []
    seen: list[int] = []

    def prepare() -> None:
        if not made:
            made.append(1)

    def look() -> None:
        with lock.looking(ready=lambda: bool(made), prepare=prepare):
            seen.append(len(made))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen == [1] * 8


def test_a_preparation_that_fails_lets_the_next_one_in() -> None:
    lock = Sharing()

    def fail() -> None:
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"), lock.looking(ready=lambda: False, prepare=fail):
        raise AssertionError("it was not ready")
    with lock.changing():
        pass
    with lock.looking():
        pass


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
