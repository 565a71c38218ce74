"""Calibration from raw cosine to similarity: one scale for every embedder.

Similarity states how much of two texts is the same, as people grade it: 1 equal, .95 a repeat that adds nothing, .90 a
repeat with another nuance, .80 mostly the same with other details, .65 same topic and subject with something added or
changed, .5 related, .3 loosely related, 0 unrelated. A changed value in an otherwise equal sentence counts as "mostly
the same", because the rules find differences. Each embedder distributes cosines differently and has its own table;
policy thresholds use similarity only.

Tables are fitted by quantile matching on graded pairs: at each threshold as many pairs reach it in similarity as in
grade. The graded pairs ship with the package (`models/data/graded_pairs.jsonl`). `wellkept calibrate` fits a table for
any embedder; `benchmarks/calibrate.py` makes the tables below.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from wellkept.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIMILARITY_DECIMALS = 4
"""Decimals to which cosines and similarities are rounded before a threshold."""

Knots: TypeAlias = tuple[tuple[float, float], ...]

THRESHOLDS = (0.98, 0.95, 0.90, 0.88, 0.85, 0.80, 0.65, 0.60)
"""The thresholds that policies use."""
LEAST_PAIRS = 100
"""Least number of graded pairs for a fit."""
LEAST_SUPPORT = 12
"""Pairs per knot; the knot's cosine is their mean."""
LEAST_STEP = 0.002
"""Least distance of two knots in cosine; closer knots would fit noise."""


def rounded(x: float) -> float:
    """A cosine or similarity, rounded as it is shown, stored and compared."""
    # Adding 0.0 turns -0.0 into 0.0, so that one number has one spelling.
    return round(float(x), SIMILARITY_DECIMALS) + 0.0


def all_rounded(numbers: Iterable[float]) -> list[float]:
    """Each cosine or similarity, rounded."""
    return [rounded(x) for x in numbers]


@frozen
class Calibration:
    """A strictly rising, piecewise linear map from raw cosine to similarity, and back.

    Attributes:
        name: Names embedder and table; stored with every similarity it produced.
        knots: (cosine, similarity), both rising from (-1, -1) to (1, 1).

    Example:
        >>> steep = Calibration("steep", ((-1.0, -1.0), (0.8, 0.5), (1.0, 1.0)))
        >>> steep.similarity(0.9)
        0.75
        >>> round(steep.cosine(0.75), 4)
        0.9
    """

    name: str
    knots: Knots

    def __post_init__(self) -> None:
        if len(self.knots) < 2 or self.knots[0] != (-1.0, -1.0) or self.knots[-1] != (1.0, 1.0):
            raise ValueError(f"calibration {self.name!r} must run from (-1, -1) to (1, 1)")
        for (x0, y0), (x1, y1) in zip(self.knots, self.knots[1:], strict=False):
            # Written so that a NaN fails too.
            if not (x0 < x1 and y0 < y1):
                raise ValueError(f"calibration {self.name!r} does not rise between {(x0, y0)} and {(x1, y1)}")

    def similarity(self, cosine: float) -> float:
        """The similarity of a raw cosine, rounded to 4 decimals.

        The cosine is rounded first, so that the similarity follows from the cosine that is shown. Values outside -1 to
        1 are clamped.
        """
        return rounded(_interpolate(rounded(cosine), self.knots, source=0))

    def similarities(self, cosines: Iterable[float | None]) -> list[float | None]:
        """The similarity of each cosine; None stays None."""
        known: dict[float, float] = {}  # of many cosines most are equal once they are rounded
        return [None if cosine is None else self._kept(rounded(cosine), known) for cosine in cosines]

    def _kept(self, cosine: float, known: dict[float, float]) -> float:
        if cosine not in known:
            known[cosine] = self.similarity(cosine)
        return known[cosine]

    def cosine(self, similarity: float) -> float:
        """The raw cosine of a similarity; not rounded, so that it maps back exactly."""
        return _interpolate(similarity, self.knots, source=1)


def _interpolate(x: float, knots: Knots, *, source: int) -> float:
    if math.isnan(x):
        raise ValueError("NaN has no place on the similarity scale")
    target = 1 - source
    x = min(1.0, max(-1.0, x))
    place = min(bisect_right(knots, x, key=lambda knot: knot[source]), len(knots) - 1)
    low, high = knots[place - 1], knots[place]
    if x == high[source]:
        return high[target]
    share = (x - low[source]) / (high[source] - low[source])
    return low[target] + share * (high[target] - low[target])


# --------------------------------------------------------------------------------------------
# Fitting


def fit(name: str, cosines: Sequence[float], grades: Sequence[float]) -> Calibration:
    """Fit a table: as many pairs reach each value in similarity as in grade.

    A knot lies at the lower edge of a grade, so that "at least .95" means the same in both. Sorted cosines averaged
    over a moving window never fall, so the map is monotonic by construction.

    Args:
        name: Name of the table.
        cosines: Raw cosine of each pair.
        grades: Grade of each pair, from 0 to 1.

    Raises:
        ValueError: Too few pairs, a number out of range, or cosines that are all equal.

    Example:
        >>> grades = [place / 200 for place in range(200)]
        >>> halved = fit("halved", [0.5 + grade / 2 for grade in grades], grades)
        >>> round(halved.similarity(0.75), 2)
        0.5
    """
    import numpy as np

    raws, marks = _checked(cosines, grades)
    half = LEAST_SUPPORT // 2
    knots = [(-1.0, -1.0)]
    for grade, below in _edges(marks):
        raw = round(float(np.mean(raws[max(0, below - half) : below + half])), 4)
        # The best grade is the fixed last knot.
        if grade < 1.0 and knots[-1][0] + LEAST_STEP <= raw <= 1.0 - LEAST_STEP:
            knots.append((raw, grade))
    if len(knots) < 3:
        raise ValueError(f"calibration {name!r}: the cosines of the graded pairs are all alike")
    return Calibration(name, (*knots, (1.0, 1.0)))


@frozen
class FitError:
    """The error of a table on pairs it was not fitted on.

    Attributes:
        grade: Mean distance between similarity and grade; mostly due to the embedder.
        share: Largest distance, over `THRESHOLDS`, between the share of pairs that reach a threshold in similarity and
            in grade; due to the fit.
    """

    grade: float
    share: float


def cross_validated(cosines: Sequence[float], grades: Sequence[float], *, folds: int = 5) -> FitError:
    """Cross-validated error: each fold is scored by the table fitted on the others.

    Raises:
        ValueError: As in `fit`.
    """
    import numpy as np

    raws, marks = np.asarray(cosines, dtype=np.float64), np.asarray(grades, dtype=np.float64)
    places = np.arange(raws.size) % folds
    similar = np.zeros(raws.size)
    for fold in range(folds):
        out = places == fold
        table = fit(f"fold {fold}", raws[~out].tolist(), marks[~out].tolist())
        similar[out] = [table.similarity(raw) for raw in raws[out].tolist()]
    return error_of(similar.tolist(), marks.tolist())


def error_of(similarities: Sequence[float], grades: Sequence[float]) -> FitError:
    """The error of similarities against grades of the same pairs."""
    import numpy as np

    similar, marks = np.asarray(similarities, dtype=np.float64), np.asarray(grades, dtype=np.float64)
    gaps = [abs(float(np.mean(similar >= at)) - float(np.mean(marks >= at))) for at in THRESHOLDS]
    return FitError(round(float(np.mean(np.abs(similar - marks))), 4), round(max(gaps), 4))


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman rank correlation; 0 where one list is constant."""
    import numpy as np

    left, right = _ranks(a), _ranks(b)
    if left.size < 2 or not left.std() or not right.std():
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def _checked(cosines: Sequence[float], grades: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both lists sorted independently: quantiles are matched, not pairs."""
    import numpy as np

    raws, marks = np.asarray(cosines, dtype=np.float64), np.asarray(grades, dtype=np.float64)
    if raws.shape != marks.shape or raws.ndim != 1 or raws.size < LEAST_PAIRS:
        raise ValueError(f"a fit needs {LEAST_PAIRS} pairs or more, each with a cosine and a grade")
    # Written so that a NaN fails too.
    if not (np.all(np.abs(raws) <= 1.0) and np.all((marks >= 0.0) & (marks <= 1.0))):
        raise ValueError("cosines lie between -1 and 1, grades between 0 and 1")
    # Rounded like the shown figures, so that no two knots have one grade.
    return np.sort(raws), np.sort(np.round(marks, 4) + 0.0)


def _edges(marks: NDArray[np.float64]) -> Iterator[tuple[float, int]]:
    """Grades that get a knot, each with the number of pairs below it.

    Neighbouring grades share a knot until they have enough pairs. A grade with enough pairs always gets its own knot,
    because a threshold is likely there.
    """
    import numpy as np

    grades, counts = np.unique(marks, return_counts=True)
    below, since = 0, LEAST_SUPPORT
    for grade, count in zip(grades.tolist(), counts.tolist(), strict=True):
        if since >= LEAST_SUPPORT or count >= LEAST_SUPPORT:
            yield grade, below
            since = 0
        below += count
        since += count


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    import numpy as np

    _, place, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


# --------------------------------------------------------------------------------------------
# Tables

IDENTITY = Calibration("identity", ((-1.0, -1.0), (1.0, 1.0)))
"""For test vectors: similarity equals the cosine."""

UNCALIBRATED = Calibration("uncalibrated", ((-1.0, -1.0), (1.0, 1.0)))
"""For embedders without a table; thresholds are then nominal."""

# fmt: off
MINILM = Calibration(
    "minilm-l6-v2-int7/5f7c41a55c0c",
    (
        (-1.0, -1.0), (-0.0325, 0.0), (0.0472, 0.01), (0.1786, 0.08), (0.2956, 0.19),
        (0.3544, 0.29), (0.3985, 0.35), (0.4354, 0.42), (0.4664, 0.47), (0.5057, 0.53),
        (0.5309, 0.58), (0.5682, 0.63), (0.6073, 0.67), (0.6361, 0.7), (0.671, 0.73),
        (0.6952, 0.75), (0.7095, 0.78), (0.7303, 0.81), (0.74, 0.83), (0.7611, 0.85),
        (0.7733, 0.86), (0.7889, 0.87), (0.801, 0.88), (0.8181, 0.89), (0.8248, 0.9),
        (0.8319, 0.91), (0.839, 0.92), (0.8504, 0.93), (0.8643, 0.94), (0.8716, 0.95),
        (0.916, 0.96), (0.9599, 0.97), (0.9714, 0.98), (0.9808, 0.99), (1.0, 1.0),
    ),
)
# fmt: on
"""The default embedder (`models.minilm`), fitted on 552 pairs when all-MiniLM-L6-v2 alone read them. A new fit on 622
pairs agrees within .008 from .8 on; the table stays, because the default of `min_score` rests on its lower part. Raw
cosine of the sources' thresholds: .98 -> .971, .95 -> .872, .90 -> .825, .88 -> .801, .85 -> .761, .80 -> .723,
.65 -> .588, .60 -> .546."""

# fmt: off
HASHING = Calibration(
    "hashing-v1/5f7c41a55c0c",
    (
        (-1.0, -1.0), (-0.1023, 0.0), (-0.0173, 0.01), (0.0046, 0.08), (0.0449, 0.16),
        (0.0668, 0.25), (0.0961, 0.32), (0.1188, 0.38), (0.1545, 0.45), (0.1949, 0.5),
        (0.2185, 0.54), (0.2428, 0.59), (0.2719, 0.64), (0.3, 0.67), (0.3218, 0.7),
        (0.3581, 0.73), (0.3913, 0.75), (0.4142, 0.78), (0.4358, 0.81), (0.4534, 0.83),
        (0.4649, 0.84), (0.4759, 0.85), (0.4976, 0.86), (0.5247, 0.87), (0.5495, 0.88),
        (0.5857, 0.89), (0.5952, 0.9), (0.6181, 0.91), (0.6417, 0.92), (0.6612, 0.93),
        (0.6931, 0.94), (0.712, 0.95), (0.8034, 0.96), (0.8942, 0.97), (0.9198, 0.98),
        (0.9641, 0.99), (1.0, 1.0),
    ),
)
# fmt: on
"""The lexical fallback (`models.hashing`), on 622 pairs. Raw cosine of the same thresholds: .98 -> .920, .95 -> .712,
.90 -> .595, .88 -> .549, .85 -> .476, .80 -> .429, .65 -> .281, .60 -> .249. It orders pairs poorly (rank
correlation .42), which is why nothing is skipped, evolved or merged on it whatever the figure."""
