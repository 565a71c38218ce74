"""Near pairs out of blocked products are those of an exhaustive search, whatever the blocks (S1-21, I9)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wellkept.core.consolidation import near_pairs as near
from wellkept.core.consolidation.near_pairs import MOST_NEAR, near_pairs
from wellkept.core.records.vectors import cosine

Rows = NDArray[np.float32]


def rows_of(seed: int, count: int, dims: int = 24, spread: float = 0.5) -> Rows:
    """Directions in a few bundles, as texts are."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(1, count // 6), dims))
    made = centres[random.integers(0, len(centres), count)] + spread * random.standard_normal((count, dims))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def found(rows: Rows, **limits: float | int) -> dict[tuple[int, int], float]:
    first, second, values = near_pairs(rows, **limits)  # type: ignore[arg-type]
    return {(int(a), int(b)): float(value) for a, b, value in zip(first, second, values, strict=True)}


@settings(max_examples=30)
@given(seed=st.integers(0, 9999), count=st.integers(2, 40))
def test_every_pair_from_the_bound_on_is_found_with_its_exact_cosine(seed: int, count: int) -> None:
    """I9: the cosine is that of `core.records.vectors`, from the stored components."""
    rows = rows_of(seed, count)
    told = found(rows, floor=0.5, all_from=0.8, nearest=count)
    for a in range(count):
        for b in range(a + 1, count):
            value = cosine(rows[a], rows[b])
            if value >= 0.5 and count <= MOST_NEAR:
                assert told[a, b] == pytest.approx(value, abs=1e-12)
            if (a, b) in told:
                assert told[a, b] == pytest.approx(value, abs=1e-12) and value >= 0.5 and a < b


def test_below_the_bound_the_nearest_of_either_end_are_kept() -> None:
    rows = rows_of(7, 60, spread=1.0)
    told = found(rows, floor=0.0, all_from=2.0, nearest=2)
    values = {(a, b): round(cosine(rows[a], rows[b]), 4) for a in range(60) for b in range(a + 1, 60)}
    expected = set()
    for end in range(60):
        newer = sorted((-values[end, b], b) for b in range(end + 1, 60) if values[end, b] >= 0)[:2]
        older = sorted((-values[a, end], -a) for a in range(end) if values[a, end] >= 0)[:2]
        expected |= {(end, b) for _, b in newer} | {(-a, end) for _, a in older}
    assert set(told) == expected


@pytest.mark.parametrize(("height", "width"), [(7, 13), (64, 5), (1, 1), (110, 110)])
def test_the_shape_of_blocks_decides_nothing(monkeypatch: pytest.MonkeyPatch, height: int, width: int) -> None:
    """I4: blocks change only the speed, also when one of them is crowded and reduced in the same step."""
    rows = np.concatenate([rows_of(3, 50), rows_of(4, 60, spread=0.02)])
    limits = {"floor": 0.3, "all_from": 0.9, "nearest": 3}
    whole = found(rows, **limits)
    monkeypatch.setattr(near, "_ROWS", height)
    monkeypatch.setattr(near, "_COLUMNS", width)
    monkeypatch.setattr(near, "_MANY", 30)
    assert found(rows, **limits) == whole


@pytest.mark.parametrize(
    ("directions", "floor", "passing", "used"),
    [
        pytest.param(4, 0.8, 1, "in every tile", id="few directions"),
        pytest.param(4, 0.8, 35, "in some tiles", id="few directions, and some crowded tiles"),
        pytest.param(48, 0.999, 1, "in every tile", id="copies"),
        pytest.param(48, 0.4, 10_000, "in no tile", id="no directions"),
    ],
)
@pytest.mark.parametrize(("height", "width"), [(64, 100), (50, 64)])
def test_half_of_the_components_decide_nothing(
    monkeypatch: pytest.MonkeyPatch, directions: int, floor: float, passing: int, used: str, height: int, width: int
) -> None:
    """I4, I9: what they rule out is below the bound, whether they rule out much or little."""
    random = np.random.default_rng(5)
    sizes = np.where(np.arange(48) < directions, 1.0, 0.1)
    rows = (random.standard_normal((700, 48)) * sizes).astype(np.float32)
    rows[350:] = rows[:350] + 0.01 * random.standard_normal((350, 48)) * sizes
    limits = {"floor": floor, "all_from": 0.95, "nearest": 3}
    whole = found(rows, **limits)
    assert len(whole) >= 350
    tiles: list[bool] = []

    class Watched(near._Sieve):
        def places(self, top: int, left: int, floor: float) -> NDArray[np.int64] | None:
            told = super().places(top, left, floor)
            tiles.append(told is not None)
            return told

    patched = {"_SIEVED_FROM": 2, "_PASSING": passing, "_ROWS": height, "_COLUMNS": width, "_AT_ONCE": 100}
    for name, value in {**patched, "_Sieve": Watched}.items():
        monkeypatch.setattr(near, name, value)
    assert found(rows, **limits) == whole
    every = sum(-(-(700 - top) // width) for top in range(0, 700, height))
    assert used == ("in every tile" if all(tiles) else "in some tiles" if any(tiles) else "in no tile")
    looked_at = {"in every tile": every, "in no tile": near._PATIENCE}.get(used, len(tiles))
    assert len(tiles) == looked_at <= every


def test_near_copies_cost_their_number_and_not_its_square() -> None:
    """Of equally near rows the next in age are kept."""
    rows = np.repeat(rows_of(1, 1), 3000, axis=0)
    told = found(rows, floor=0.5, all_from=0.9, nearest=4)
    assert len(told) < 3000 * (MOST_NEAR + 1)
    assert {b for a, b in told if a == 1000} == set(range(1001, 1001 + MOST_NEAR))


def test_under_a_bound_below_zero_rows_that_point_apart_are_pairs_too() -> None:
    rows = (np.eye(300) - 1 / 300).astype(np.float32)
    told = found(rows, floor=-0.5, all_from=2.0, nearest=2)
    assert set(told) == {(a, b) for a in range(300) for b in (a + 1, a + 2) if b < 300}


@pytest.mark.parametrize("count", [0, 1])
def test_one_row_has_no_neighbour(count: int) -> None:
    assert found(np.ones((count, 4), dtype=np.float32), floor=0.0, all_from=0.9, nearest=4) == {}


def test_a_row_without_length_is_near_nothing() -> None:
    rows = np.array([[0, 0], [1, 0], [1, 0]], dtype=np.float32)
    assert set(found(rows, floor=0.5, all_from=0.9, nearest=4)) == {(1, 2)}
