"""Cosines and similarities as numbers to compare and to show."""

from __future__ import annotations

SIMILARITY_DECIMALS = 4
"""Decimals to which cosines and similarities are rounded before a threshold."""


def rounded(x: float) -> float:
    """A cosine or similarity, rounded as it is shown, stored and compared."""
    # Adding 0.0 turns -0.0 into 0.0, so that one number has one spelling.
    return round(float(x), SIMILARITY_DECIMALS) + 0.0
