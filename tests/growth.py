"""How the time of work grows with its size, measured so that other work on the machine does not decide."""

from __future__ import annotations

import math
from collections.abc import Callable

FLOOR = 0.02
"""Seconds below which a time is not judged: the clock cannot."""
TURNS = 10


def too_slow(seconds: Callable[[int], float], smaller: int, larger: int, bound: float) -> str:
    """How the time grows from one size to another where it grows too fast, otherwise "".

    Both sizes are measured in turns and the least time of each counts: what disturbs one disturbs the other. The
    first turn within the bound is the last one, so only work that is too slow in each of them is called so.

    Args:
        seconds: One run of the work at a size; gives its CPU time.
        smaller: A size.
        larger: Another size.
        bound: How many times as long the larger size may take, 1 or more.
    """
    before = after = math.inf
    for _ in range(TURNS):
        after = min(after, seconds(larger))
        if after < FLOOR:
            return ""
        before = min(before, seconds(smaller))
        if after <= bound * max(before, FLOOR / bound):
            return ""
    return f"{smaller}: {before:.3f} s, {larger}: {after:.3f} s"
