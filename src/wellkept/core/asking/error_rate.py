"""The share of wrong acts among checked ones, with an exact interval."""

from __future__ import annotations

from wellkept.core.judging.risk_bounds import upper_bound
from wellkept.types.showing import count_of

CONFIDENCE = 0.95


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


def in_words(act: str, wrong: int, checked: int) -> str:
    """How often an act was wrong, with the interval.

    Args:
        act: Name of one act, such as `fold`.
        wrong: Number of errors.
        checked: Number of checks.

    Example:
        >>> in_words("fold", 1, 60)
        'of 60 folds checked 1 was wrong: 1.7 %, 95 % interval 0.04 to 8.9 %'
        >>> in_words("mark", 0, 1)
        'of 1 mark checked none was wrong: 0 %, 95 % interval 0 to 97.5 %'
    """
    low, high = interval(wrong, checked)
    errors = "none was" if not wrong else "1 was" if wrong == 1 else f"{wrong} were"
    rate = _percent(wrong / checked if checked else 0.0)
    return (
        f"of {count_of(checked, act)} checked {errors} wrong: {rate} %, "
        f"95 % interval {_percent(low)} to {_percent(high)} %"
    )


def _percent(share: float) -> str:
    """A share in percent, with two decimals below 0.1 %."""
    percent = 100 * share
    return f"{percent:.{2 if 0 < percent < 0.1 else 1}f}".rstrip("0").rstrip(".") or "0"
