"""From raw cosine to similarity: one published scale for every embedder (design §5, B-1, B-30).

A similarity of 1 means "says exactly the same", .8 "mostly the same, details differ", .6 "roughly
the same, something that matters differs", 0 "nothing in common". Each embedder spreads its cosines
differently, so each has a table that maps its raw cosine to that scale; thresholds in policies
speak of similarity only.

The tables below are fitted by `benchmarks/calibrate.py`: the share of graded sentence pairs below
a grade and the share of cosines below a value are matched (quantile matching), with one knot for
each grade. The grades are the mean relatedness scores of SICK (Marelli et al. 2014; 6,359 pairs,
grades 1 to 5 rescaled to 0 to 1). SICK decides alone because its means are nearly continuous: in
the STS benchmark the best grade is shared by so many pairs that everything from .95 to 1 would
hang on two points. Only the fitted figures are kept here, none of the texts.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import TypeAlias

from wellkept.core.vectors import rounded

Knots: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A strictly rising, piecewise linear map from raw cosine to similarity, and back.

    Attributes:
        name: Names embedder and table; stands beside what was computed with it.
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

        The cosine is rounded first: what is shown beside a similarity is then always what it was
        made from, and storage precision never decides (design §10). Out of range is clamped.
        """
        return rounded(_interpolate(rounded(cosine), self.knots, source=0))

    def cosine(self, similarity: float) -> float:
        """The raw cosine of a similarity; not rounded, so that it maps back to the same similarity."""
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


IDENTITY = Calibration("identity", ((-1.0, -1.0), (1.0, 1.0)))
"""For injected test vectors: similarity is the cosine."""

UNCALIBRATED = Calibration("uncalibrated", ((-1.0, -1.0), (1.0, 1.0)))
"""For embedders nobody has measured yet; the name says that thresholds are only nominal there."""

# fmt: off
MINILM = Calibration(
    "minilm-l6-v2-int8/sick",
    (
        (-1.0, -1.0), (-0.0001, 0.0), (0.1002, 0.025), (0.1522, 0.05), (0.1749, 0.075),
        (0.1962, 0.1), (0.2096, 0.125), (0.2272, 0.15), (0.2425, 0.175), (0.2548, 0.2),
        (0.2662, 0.225), (0.281, 0.25), (0.2952, 0.275), (0.3141, 0.3), (0.3286, 0.325),
        (0.3477, 0.35), (0.3719, 0.375), (0.395, 0.4), (0.4212, 0.425), (0.4452, 0.45),
        (0.4722, 0.475), (0.4994, 0.5), (0.53, 0.525), (0.5592, 0.55), (0.5928, 0.575),
        (0.6305, 0.6), (0.667, 0.625), (0.6989, 0.65), (0.7316, 0.675), (0.7558, 0.7),
        (0.7783, 0.725), (0.7999, 0.75), (0.8191, 0.775), (0.8365, 0.8), (0.8541, 0.825),
        (0.8741, 0.85), (0.8928, 0.875), (0.9086, 0.9), (0.925, 0.925), (0.9443, 0.95),
        (0.9714, 0.975), (1.0, 1.0),
    ),
)
# fmt: on
"""all-MiniLM-L6-v2, int8 (`models.minilm`). Raw cosine of the sources' thresholds:
.98 -> .977, .95 -> .944, .90 -> .909, .88 -> .896, .85 -> .874, .80 -> .837, .65 -> .699."""

# fmt: off
HASHING = Calibration(
    "hashing-v1/sick",
    (
        (-1.0, -1.0), (0.0803, 0.0), (0.1229, 0.025), (0.1385, 0.05), (0.1481, 0.075),
        (0.1578, 0.1), (0.1656, 0.125), (0.1713, 0.15), (0.1777, 0.175), (0.1844, 0.2),
        (0.1934, 0.225), (0.2035, 0.25), (0.213, 0.275), (0.2233, 0.3), (0.235, 0.325),
        (0.2505, 0.35), (0.2675, 0.375), (0.2862, 0.4), (0.3025, 0.425), (0.3222, 0.45),
        (0.3469, 0.475), (0.3719, 0.5), (0.4009, 0.525), (0.4295, 0.55), (0.4615, 0.575),
        (0.5014, 0.6), (0.5464, 0.625), (0.5946, 0.65), (0.6362, 0.675), (0.6766, 0.7),
        (0.7139, 0.725), (0.7474, 0.75), (0.7766, 0.775), (0.8037, 0.8), (0.8288, 0.825),
        (0.8559, 0.85), (0.879, 0.875), (0.9007, 0.9), (0.9165, 0.925), (0.94, 0.95),
        (0.9749, 0.975), (1.0, 1.0),
    ),
)
# fmt: on
"""The lexical fallback (`models.hashing`). Raw cosine of the same thresholds:
.98 -> .980, .95 -> .940, .90 -> .901, .88 -> .883, .85 -> .856, .80 -> .804, .65 -> .595."""
