"""Which candidates a second network reads: those that are not clearly distinct, of a list that leaves a doubt.

Only the heads know its opinion. So it reads where the first network is in doubt about the most probable repetition or
the most probable contradiction. Reading every candidate of every list brings hardly more (`training/reader/both.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from wellkept.types import Opinion

DOUBTFUL_REPETITION = (0.1, 0.95)
"""Between these the most probable repetition of a list is in doubt."""
DOUBTFUL_CONFLICT = (0.2, 0.9)
"""Between these the most probable contradiction is."""
CLEARLY_DISTINCT = 0.9
"""Probability of *distinct* from which a candidate is not read again."""


def doubtful(told: Mapping[str, Opinion | None]) -> list[str]:
    """The candidates that a second network reads together; none where the first one leaves no doubt.

    Args:
        told: What the first network says of each candidate of a list; None for one that it cannot read.

    Example:
        >>> unsure, other = Opinion(0.6, 0.1, 0.1, 0.1, 0.1), Opinion(0.0, 0.0, 0.0, 0.01, 0.99)
        >>> doubtful({"Tea at four.": unsure, "Sour milk.": other}), doubtful({"Sour milk.": other})
        (['Tea at four.'], [])
    """
    known = {text: opinion for text, opinion in told.items() if opinion is not None}
    most = (
        (DOUBTFUL_REPETITION, max((opinion.repeats for opinion in known.values()), default=0.0)),
        (DOUBTFUL_CONFLICT, max((opinion.conflict for opinion in known.values()), default=0.0)),
    )
    if not any(low < probability < high for (low, high), probability in most):
        return []
    return [text for text, opinion in known.items() if opinion.distinct < CLEARLY_DISTINCT]
