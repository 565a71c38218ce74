"""From the relation model's probabilities to acts, under a stated bound on errors.

A probability by itself permits nothing. Each model ships with the probabilities from which an act
keeps its error rate under a bound with a stated confidence, found on pairs of a calibration split
that the model never saw. A policy names the risk it takes, never a raw probability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log, log1p

from wellkept.policy import Risk


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least probability of a relation for each act; above 1 an act never happens.

    Attributes:
        skip: *same* or *generalises*, to drop a text as a repeat.
        link: the same two, to store it as a possible repeat, linked and listed for review.
        evolve: *refines*, to append it to the stored memory.
        flag: *conflict*, to list a possible conflict.
        supersede: *conflict*, to hide the older memory where the policy supersedes on its own.
        words_near / words_far: Share of content words that two texts must have in common besides, to be a
            repeat: from similarity `NEAR_AT` on, and below. What is vague is near to much.
    """

    skip: float
    link: float
    evolve: float
    flag: float
    supersede: float
    words_near: float = 0.0
    words_far: float = 0.0


NEAR_AT = 0.90
"""Similarity from which `words_near` is enough."""
NEVER = Bounds(2.0, 2.0, 2.0, 2.0, 2.0)
"""Without bounds nothing is done on a probability."""

RiskTable = Mapping[Risk, Bounds]


def upper_bound(errors: int, trials: int, confidence: float) -> float:
    """The largest error rate that could still have shown so few errors (Clopper and Pearson, one-sided).

    Args:
        errors: How often the act was wrong.
        trials: How often it could have been wrong.
        confidence: How sure the bound is, such as 0.95.

    Returns:
        The bound, 0 to 1; 1 without any trial.

    Example:
        >>> round(upper_bound(0, 300, 0.95), 4)
        0.0099
    """
    if errors >= trials:
        return 1.0
    low, high = errors / trials, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        # In logarithms: the counts of pairs are in the thousands.
        seen = sum(
            exp(_log_choose(trials, k) + k * log(middle) + (trials - k) * log1p(-middle)) for k in range(errors + 1)
        )
        low, high = (middle, high) if seen > 1 - confidence else (low, middle)
    return high


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def least_threshold(scores: Sequence[float], wrong: Sequence[bool], *, most: float, confidence: float = 0.95) -> float:
    """The lowest probability from which acting keeps the error rate under a bound.

    Thresholds are tried from the highest down and the search stops at the first that fails, so that
    one confidence holds for the whole search (fixed-sequence testing).

    Args:
        scores: The model's probability of the act, for each pair that could be acted on wrongly.
        wrong: Whether acting on that pair is an error.
        most: Largest error rate among the pairs for which acting is an error.
        confidence: How sure the bound is.

    Returns:
        The threshold, at least .25; 2.0 when none keeps the bound.

    Example:
        >>> least_threshold([0.9, 0.6, 0.2], [True, True, True], most=0.5)
        2.0
    """
    bad = sorted((score for score, error in zip(scores, wrong, strict=True) if error), reverse=True)
    best = 2.0
    for step in range(200, 49, -1):
        threshold = step / 200
        acted = sum(1 for score in bad if score >= threshold)
        if upper_bound(acted, len(bad), confidence) > most:
            break
        best = threshold
    return best
