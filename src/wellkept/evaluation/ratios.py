"""Metrics as ratios of sums over items, so that value and bootstrap interval share one definition.

Precision, recall, F1 and rates are hits divided by a base, with a contribution of each item to both. Resampling only
changes item weights, so a thousand resamples are one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellkept.frozen import frozen

Column: TypeAlias = "NDArray[np.float64]"
Interval: TypeAlias = "list[float] | None"

RESAMPLES = 1_000
SEED = 20_260_301
_LEVEL = (2.5, 97.5)
_DIGITS = 6


@frozen
class Ratio:
    """A metric as per-item hits and base.

    Attributes:
        hits: Numerator by item.
        base: Denominator by item.
        scale: 1 for fractions, 100 for "per 100".
        empty: Value for an empty base: the precision of a class that was never predicted is 0, a rate over no items is
            None.
    """

    hits: Column
    base: Column
    scale: float = 1.0
    empty: float | None = None

    @property
    def value(self) -> float | None:
        """The value; `empty` for an empty base."""
        total = float(self.base.sum())
        return self.empty if total == 0 else round(self.scale * float(self.hits.sum()) / total, _DIGITS)

    @property
    def count(self) -> list[float]:
        """Total hits and total base."""
        return [_plain(self.hits.sum()), _plain(self.base.sum())]

    def resampled(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value in each resample; NaN where the base is empty by chance."""
        base = weights @ self.base
        never = self.empty is not None and not self.base.any()
        filled = np.full(len(base), self.empty if never else np.nan)
        found: NDArray[np.float64] = np.divide(self.scale * (weights @ self.hits), base, out=filled, where=base > 0)
        return found


def column(values: Iterable[bool | float]) -> Column:
    """One number per item."""
    return np.fromiter((float(value) for value in values), dtype=np.float64)


def rate(base: Column, hits: Column) -> Ratio:
    """The share of the base that are hits."""
    return Ratio(base * hits, base)


def scores(predicted: Column, gold: Column) -> dict[str, Ratio]:
    """Precision, recall and F1 of a class; 0 where it occurs but was never predicted."""
    right = predicted * gold
    empty = 0.0 if gold.any() else None
    return {
        "precision": Ratio(right, predicted, empty=empty),
        "recall": Ratio(right, gold),
        "f1": Ratio(2 * right, predicted + gold),
    }


@lru_cache(maxsize=2)
def weights(items: int) -> NDArray[np.float64]:
    """Weight of each item in each resample; deterministic for a number of items."""
    if items == 0:
        return np.zeros((RESAMPLES, 0))
    chance = np.random.Generator(np.random.PCG64(SEED))
    return chance.multinomial(items, np.full(items, 1 / items), size=RESAMPLES).astype(np.float64)


def interval(values: NDArray[np.float64]) -> Interval:
    """The middle 95 % of resampled values; None without values."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = np.percentile(known, _LEVEL)
    return [round(float(low), _DIGITS), round(float(high), _DIGITS)]


def recall_at(
    sure: Sequence[float | None], gold: Column, *, precision: float, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Highest recall at which a class reaches a precision, per row of weights.

    Args:
        sure: Confidence that an item is of the class; None if it is predicted not to be.
        gold: Whether it is.
        precision: The required precision.
        weights: Item weights, one row per resample.

    Returns:
        One recall per row; NaN where the class does not occur.
    """
    order = sorted((at for at, one in enumerate(sure) if one is not None), key=lambda at: -(sure[at] or 0.0))
    total = weights @ gold
    found = np.where(total > 0, 0.0, np.nan)
    if not order:
        return found
    drawn = weights[:, order]
    right = np.cumsum(drawn * gold[order], axis=1)
    taken = np.cumsum(drawn, axis=1)
    # A threshold includes all items of equal confidence or none.
    ends = [at for at in range(len(order)) if at + 1 == len(order) or sure[order[at]] != sure[order[at + 1]]]
    right, taken = right[:, ends], taken[:, ends]
    reached = right >= precision * taken - 1e-9
    best = np.where(reached, right, 0.0).max(axis=1)
    np.divide(best, total, out=found, where=total > 0)
    return found


def values_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a nested table of ratios."""
    return _mapped(table, lambda ratio: ratio.value)


def counts_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of a nested table of ratios."""
    return _mapped(table, lambda ratio: ratio.count)


def intervals_of(table: Mapping[str, Any], drawn: NDArray[np.float64]) -> dict[str, Any]:
    """Intervals of a nested table of ratios."""
    return _mapped(table, lambda ratio: interval(ratio.resampled(drawn)))


def _mapped(table: Mapping[str, Any], figure: Any) -> dict[str, Any]:
    return {
        name: figure(entry) if isinstance(entry, Ratio) else _mapped(entry, figure) for name, entry in table.items()
    }


def _plain(value: float) -> float:
    number = float(value)
    return int(number) if number.is_integer() else round(number, _DIGITS)
