"""The share of wrong acts among checked ones, with an exact interval."""

from __future__ import annotations

from functools import lru_cache

from wellkept.core.judging.risk_bounds import upper_bound

CONFIDENCE = 0.95


@lru_cache(maxsize=256)
def interval(wrong: int, checked: int) -> tuple[float, float]:
    """The 95 % interval of a share by Clopper and Pearson (1934): exact, also for no error at all.

    Args:
        wrong: Number of errors.
        checked: Number of checks; for 0 the interval is all.

    Example:
        >>> [round(bound, 4) for bound in interval(1, 60)]
        [0.0004, 0.0894]
    """
    if checked < 1:
        return 0.0, 1.0
    each = (1 + CONFIDENCE) / 2
    return 1 - upper_bound(checked - wrong, checked, each), upper_bound(wrong, checked, each)
