"""The score of a memory for a query: words and meaning in one score, raised by its neighbours in time.

A memory scores higher if its neighbours in the conversation match too. Each step is measured on public questions
(docs/retrieval.md). Pure functions, so every backend gives the same order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

MEANING = 0.7
"""Weight of the cosine; the lexical score has the rest."""
CONTEXT = 0.4
"""Share of the distance to the best neighbour's score that a memory gains."""
REACH = 3
"""Neighbours considered, in positions to each side."""
FADING = 0.8
"""Factor per further position of a neighbour."""

Key = TypeVar("Key", bound=Hashable)


def fused(cosines: Sequence[float | None], lexical: Sequence[float], *, meaning: float = MEANING) -> list[float]:
    """Blend cosine and lexical score of each memory.

    Args:
        cosines: Cosine of each memory; None without a vector. If all are None, the lexical scores are returned.
        lexical: Lexical score of each memory, 0 to 1.
        meaning: Weight of the cosine, 0 to 1.

    Example:
        >>> [round(score, 2) for score in fused([0.5, 0.5], [1.0, 0.0])], fused([None], [0.5])
        ([0.65, 0.35], [0.5])
    """
    if all(cosine is None for cosine in cosines):
        return list(lexical)
    pairs = zip(cosines, lexical, strict=True)
    return [meaning * max(0.0, cosine or 0.0) + (1 - meaning) * words for cosine, words in pairs]


# --------------------------------------------------------------------------------------------
# Context


def told_beside(sittings: Iterable[Sequence[Key]], *, reach: int = REACH) -> dict[Key, tuple[tuple[Key, int], ...]]:
    """The neighbours of each memory within its sitting, with their distance in positions.

    Args:
        sittings: Sequences of memories recorded together (from one source), in order.
        reach: Positions to each side.

    Example:
        >>> told_beside([["a", "b", "c"], ["d"]], reach=1)["b"]
        (('a', 1), ('c', 1))
    """
    found: dict[Key, tuple[tuple[Key, int], ...]] = {}
    for told in sittings:
        for at, key in enumerate(told):
            around = range(max(0, at - reach), min(len(told), at + reach + 1))
            found[key] = tuple((told[other], abs(other - at)) for other in around if other != at)
    return found


def in_context(
    scores: Mapping[Key, float],
    beside: Mapping[Key, Sequence[tuple[Key, int]]],
    *,
    context: float = CONTEXT,
    fading: float = FADING,
) -> dict[Key, float]:
    """Raise each score towards that of its best neighbour, if the neighbour scores higher.

    An answer often follows the text that names its subject: "Where did Ana move?" is answered by "To Lisbon!" after "I
    have moved." No score falls and the best one is unchanged. Only one neighbour counts, so that the middle of a long
    sitting has no advantage.

    Args:
        scores: Score of each memory found.
        beside: Its neighbours, from `told_beside`; neighbours without a score count 0.
        context: Share of the distance gained, 0 to 1.
        fading: Factor per further position.

    Example:
        >>> in_context({"a": 0.9, "b": 0.2, "c": 0.3}, {"a": [("b", 1)], "b": [("a", 1)]})
        {'a': 0.9, 'b': 0.48, 'c': 0.3}
    """
    raised = {}
    for key, own in scores.items():
        around = (scores.get(other, 0.0) * fading ** (steps - 1) for other, steps in beside.get(key, ()))
        raised[key] = own + context * max(0.0, max(around, default=0.0) - own)
    return raised
