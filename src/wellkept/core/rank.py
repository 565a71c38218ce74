"""The order of answers: exact cosine and BM25 over the pool, computed here for every backend (I9)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

SEMANTIC_SHARE = 0.7
LEXICAL_SHARE = 0.3
_K1, _B = 1.5, 0.75


def bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> list[float]:
    """BM25 of each document with word statistics of this pool alone (S2-4), divided by the best; 0 to 1.

    Args:
        query: Search terms.
        documents: Search terms of each document.

    Example:
        >>> bm25(["ruff"], [["use", "ruff"], ["use", "black"]])
        [1.0, 0.0]
    """
    if not documents:
        return []
    counts = [Counter(document) for document in documents]
    mean = sum(len(document) for document in documents) / len(documents) or 1.0
    scores = [0.0] * len(documents)
    for term in dict.fromkeys(query):
        holders = sum(1 for count in counts if term in count)
        if not holders:
            continue
        idf = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
        for place, count in enumerate(counts):
            often = count[term]
            if often:
                length = _K1 * (1 - _B + _B * len(documents[place]) / mean)
                scores[place] += idf * often * (_K1 + 1) / (often + length)
    best = max(scores)
    return [score / best for score in scores] if best > 0 else scores


def blend(cosine: float | None, lexical: float) -> tuple[float, Mapping[str, float]]:
    """One score from both parts, and the parts; without vectors the words decide alone."""
    if cosine is None:
        return lexical, {"lexical": round(lexical, 4)}
    score = SEMANTIC_SHARE * max(0.0, cosine) + LEXICAL_SHARE * lexical
    return score, {"cosine": round(cosine, 4), "lexical": round(lexical, 4)}


SAME_TOPIC_AT = 0.8
"""Similarity of two answers from which the newer may tell what became of the older."""
FRESH_SHARE = 0.8
"""Least share of the older one's score that the newer must have, to come before it on its age alone."""
FRESH_AMONG = 12
"""How many of the best answers are put in order of time where they speak of one thing."""
LEAST_SHARE = 0.2
"""A newer statement takes an older one's place only if it answers the query at least a fifth as well."""


def newer_first(
    scores: Mapping[str, float], contradicted: Sequence[tuple[str, str]], *, least: float = LEAST_SHARE
) -> list[str]:
    """Ids by score, but of two that contradict each other the newer stands before the older (S2-29, E-3.8).

    Most updates are told in other words and nobody finds the contradiction. So of two good answers about the
    same topic the newer stands first too, if it is nearly as good an answer (S2-15).

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
