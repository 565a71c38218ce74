"""From the relation model's probabilities to actions, with a bound on the error rate.

A probability alone permits nothing. Each model ships with thresholds that keep the error rate of an action under a
bound with a stated confidence, found on a held-out calibration split. A policy names a risk, never a raw probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma, log, log1p

from wellkept.core.judging.list_head import Head
from wellkept.frozen import frozen


@frozen
class Bounds:
    """Least probability of a relation for each action; above 1 the action never happens.

    Attributes:
        skip: P(*same* or *generalises*) to drop a text as a duplicate.
        link: The same probability, to store the text as a possible duplicate, linked and listed for review.
        evolve: P(*refines*) to append the text to the stored memory.
        flag: P(*conflict*) to list a possible conflict.
        supersede: P(*conflict*) to hide the older memory where the policy supersedes.
        words_near / words_far: Share of content words that a duplicate must also have in common, at or above
            similarity `NEAR_AT` and below it. Vague texts are similar to many others.
        fold: Decides over all candidates whether a text is kept as a wording of the memory that it restates.
        mark: Decides over all candidates whether a memory is marked as outdated.
    """

    skip: float
    link: float
    evolve: float
    flag: float
    supersede: float
    words_near: float = 0.0
    words_far: float = 0.0
    fold: Head | None = None
    mark: Head | None = None


NEAR_AT = 0.90
"""Similarity from which `words_near` applies."""
NEVER = Bounds(2.0, 2.0, 2.0, 2.0, 2.0)
"""Bounds under which no probability permits an action."""


def upper_bound(errors: int, trials: int, confidence: float) -> float:
    """Upper bound of the error rate (Clopper-Pearson, one-sided).

    Args:
        errors: Number of wrong actions.
        trials: Number of actions that could have been wrong.
        confidence: Confidence of the bound, such as 0.95.

    Returns:
        The bound, 0 to 1; 1 if every trial was wrong or there are no trials.

    Example:
        >>> round(upper_bound(0, 300, 0.95), 4)
        0.0099
    """
    if errors >= trials:
        return 1.0
    low, high = errors / trials, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        # In logarithms, because counts are in the thousands.
        seen = sum(
            exp(_log_choose(trials, k) + k * log(middle) + (trials - k) * log1p(-middle)) for k in range(errors + 1)
        )
        low, high = (middle, high) if seen > 1 - confidence else (low, middle)
    return high


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def least_threshold(scores: Sequence[float], wrong: Sequence[bool], *, most: float, confidence: float = 0.95) -> float:
    """The lowest threshold that keeps the error rate under a bound.

    Thresholds are tried from the highest down; the search stops at the first failure, so that one confidence holds for
    the whole search (fixed-sequence testing).

    Args:
        scores: The model's probability of the action, per pair.
        wrong: Whether the action is an error, per pair.
        most: Largest error rate among pairs for which the action is an error.
        confidence: Confidence of the bound.

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
