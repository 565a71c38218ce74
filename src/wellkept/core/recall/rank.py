"""Ranking: combines parts into one score; the same for every backend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import assert_never

from wellkept.core.records.lifecycle import effective_time, last_use
from wellkept.types import HybridWeights, Memory

SEMANTIC_SHARE = 0.7
LEXICAL_SHARE = 0.3
_DAY = 86_400.0


def blends(cosines: Sequence[float | None], lexical: Sequence[float]) -> list[float]:
    """One score of each memory from its cosine and its lexical part; without a vector the lexical part alone."""
    return [
        words if cosine is None else SEMANTIC_SHARE * max(0.0, cosine) + LEXICAL_SHARE * words
        for cosine, words in zip(cosines, lexical, strict=True)
    ]


def recency(memory: Memory, weights: HybridWeights, now: datetime) -> float:
    """`exp(-decay_rate * days)` since the reference time, 1 to 0; a future time counts as now.

    Args:
        memory: The memory.
        weights: Gives `decay_rate` and `recency_basis`.
        now: Time of the query.
    """
    match weights.recency_basis:
        case "accessed":
            since = last_use(memory)
        case "created":
            since = memory.created_at
        case "event":
            since = effective_time(memory, memory.created_at)
        case _:
            assert_never(weights.recency_basis)
    return math.exp(-weights.decay_rate * max(0.0, (now - since).total_seconds() / _DAY))


def hybrid(parts: Mapping[str, float | None], weights: HybridWeights) -> tuple[float, Mapping[str, float]]:
    """Weighted sum of the parts, with the effective weights.

    The weight of a missing part (None: no vector, no document with a query word) is spread over the others, so that all
    scores have one scale.

    Args:
        parts: The parts by name; parts without a weight may be missing.
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
    """Spreading activation over links, 0 to 1, the best memory being 1.

    In each step a memory passes its damped value to its neighbours in equal parts, in both directions; received values
    are summed. A memory's own score is not included.

    Args:
        seeds: Score of each memory; negative counts as 0.
        links: (src, dst) of links among them.
        damping: Share that remains after one step.
        steps: Number of steps.

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
        # Sorted by id, so that floating-point sums do not depend on the order of the links.
        flow = {
            key: damping * sum(flow[other] / len(beside[other]) for other in sorted(others))
            for key, others in beside.items()
        }
        for key, worth in flow.items():
            reached[key] += worth
    best = max(reached.values(), default=0.0)
    return {key: worth / best for key, worth in reached.items()} if best > 0 else reached
