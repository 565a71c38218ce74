"""The order of answers: parts into one score, and the newer before the older; the same for every backend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from wellkept.core.records.lifecycle import effective_time, last_use
from wellkept.types import HybridWeights, Memory

SEMANTIC_SHARE = 0.7
LEXICAL_SHARE = 0.3
_DAY = 86_400.0


def blend(cosine: float | None, lexical: float) -> tuple[float, Mapping[str, float]]:
    """One score from both parts, and the parts; without vectors the words decide alone."""
    if cosine is None:
        return lexical, {"lexical": round(lexical, 4)}
    score = SEMANTIC_SHARE * max(0.0, cosine) + LEXICAL_SHARE * lexical
    return score, {"cosine": round(cosine, 4), "lexical": round(lexical, 4)}


def recency(memory: Memory, weights: HybridWeights, now: datetime) -> float:
    """`exp(-decay_rate * days)` since the weights' basis of age, 1 to 0; what lies ahead counts as now.

    Args:
        memory: The memory.
        weights: Its `decay_rate` and `recency_basis`.
        now: The moment asked about.
    """
    match weights.recency_basis:
        case "accessed":
            since = last_use(memory)
        case "created":
            since = memory.created_at
        case "event":
            since = effective_time(memory, memory.created_at)
    return math.exp(-weights.decay_rate * max(0.0, (now - since).total_seconds() / _DAY))


def hybrid(parts: Mapping[str, float | None], weights: HybridWeights) -> tuple[float, Mapping[str, float]]:
    """The sum of the parts by their weights, and what each part counted.

    A part that is missing (None: no vector, no document that holds a word of the query) is dropped, and
    its weight is spread over the others, so that scores stay on one scale.

    Args:
        parts: The parts by name; those without a weight may be left out.
        weights: The weights.

    Example:
        >>> score, counted = hybrid({"cosine": 0.5, "lexical": None, "recency": 1.0, "importance": 0.5},
        ...                         HybridWeights(cosine=0.6, lexical=0.2, recency=0.1, importance=0.1))
        >>> round(score, 4), {name: round(share, 4) for name, share in counted.items()}
        (0.5625, {'cosine': 0.75, 'recency': 0.125, 'importance': 0.125})
    """
    shares = weights.shares()
    held = {name: value for name in shares if (value := parts.get(name)) is not None}
    left = sum(shares[name] for name in held)
    if not left:
        return 0.0, {}
    scale = sum(shares.values()) / left
    counted = {name: shares[name] * scale for name in held}
    return sum(counted[name] * value for name, value in held.items()), counted


def activation(
    seeds: Mapping[str, float], links: Sequence[tuple[str, str]], *, damping: float = 0.5, steps: int = 3
) -> dict[str, float]:
    """What links pass on from the memories that answer best, 0 to 1, the best being 1.

    In each step a memory shares what it has with its neighbours, either way and in equal parts, damped;
    what arrives is added up. What a memory is worth itself is not part of it.

    Args:
        seeds: Worth of each memory by itself; negative counts as nothing.
        links: (src, dst) of links among them.
        damping: What is left of the worth after one step.
        steps: How far it goes.

    Example:
        >>> activation({"a": 1.0, "b": 0.0, "c": 0.0}, [("a", "b")])["b"]
        1.0
    """
    beside: dict[str, set[str]] = {key: set() for key in seeds}
    for src, dst in links:
        if src in beside and dst in beside and src != dst:
            beside[src].add(dst)
            beside[dst].add(src)
    reached = dict.fromkeys(seeds, 0.0)
    flow = {key: max(0.0, worth) for key, worth in seeds.items()}
    for _ in range(steps):
        # In the order of the ids, so that sums have the same last digit whatever the order of the links.
        flow = {
            key: damping * sum(flow[other] / len(beside[other]) for other in sorted(others))
            for key, others in beside.items()
        }
        for key, worth in flow.items():
            reached[key] += worth
    best = max(reached.values(), default=0.0)
    return {key: worth / best for key, worth in reached.items()} if best > 0 else reached


OLDER_AMONG = 3
"""How many of the best answers a newer one may come before."""
LATER_AMONG = 5
"""Among how many of the best answers that newer one is looked for: what is further down answers something else."""
UPDATE_NEAR = 0.3
"""Least similarity of two answers of which the newer may be an update."""
MOST_ASKED = 6
"""How many pairs the relation model is asked about for one question."""
UPDATE_AT = 0.3
"""Probability of a conflict from which the newer comes first. Far below what would be listed: nothing is hidden."""
NEAR_AT = 0.8
"""Where the relation model says nothing: similarity from which the newer comes first."""
NEAR_SHARE = 0.8
"""Where the relation model says nothing: least share of the older one's score that the newer must have."""
LEAST_SHARE = 0.2
"""A newer statement takes an older one's place only if it answers the query at least a fifth as well."""


def newer_first(
    scores: Mapping[str, float], contradicted: Sequence[tuple[str, str]], *, least: float = LEAST_SHARE
) -> list[str]:
    """Ids by score, but of two that contradict each other the newer stands before the older.

    Most updates are told in other words and nobody finds the contradiction. So of two good answers about the
    same topic the newer stands first too, if it is nearly as good an answer.

    Args:
        scores: Score of each id, best first.
        contradicted: (older, newer) ids of pairs of which the newer should come first, oldest pair first.
        least: Share of the older one's score that the newer must have.

    Example:
        >>> newer_first({"a": 0.9, "x": 0.8, "b": 0.7}, [("a", "b")])
        ['b', 'a', 'x']
        >>> newer_first({"a": 0.9, "x": 0.8, "b": 0.1}, [("a", "b")])
        ['a', 'x', 'b']
    """
    order = list(scores)
    for older, newer in contradicted:
        if older not in scores or newer not in scores or scores[newer] < least * scores[older]:
            continue
        if order.index(newer) > order.index(older):
            order.remove(newer)
            order.insert(order.index(older), newer)
    return order
