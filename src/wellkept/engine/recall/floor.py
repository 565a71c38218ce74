"""The floor of recall: memories whose relevance is below `min_score` are left out, and `explain` lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wellkept.core.recall.bm25 import Statistics, document_terms, query_terms
from wellkept.core.recall.relevance import matches, relevances, word_shares
from wellkept.core.text.titles import headed_texts
from wellkept.engine.recall.candidates import Pool
from wellkept.engine.recall.question import Question
from wellkept.types import Hit, LeftOut, Memory


def matched(
    pool: Pool, scored: Sequence[tuple[Memory, Sequence[str]]], of_pool: Statistics, q: Question
) -> dict[str, float]:
    """How far each candidate matches the query by itself; a memory that replaced others, also by their words.

    Args:
        pool: The candidates.
        scored: Each scored row with the terms of its text.
        of_pool: Word statistics of these rows.
        q: The question.
    """
    heads = {row.id: row.id for row, _ in scored}
    behind = [row for row, head in pool.former if head in heads]
    former = list(zip(behind, map(document_terms, headed_texts(behind)), strict=True))
    heads |= {row.id: head for row, head in pool.former if head in heads}
    every = [*scored, *former]
    shares = word_shares(query_terms(q.text), [[*told, *_beside(row)] for row, told in every], of_pool)
    near = q.scale.similarities([pool.plain.get(row.id) for row, _ in every])
    found = dict.fromkeys(heads.values(), 0.0)
    for (row, _), value in zip(every, matches(near, shares, trust=q.trust), strict=True):
        found[heads[row.id]] = max(found[heads[row.id]], value)
    return found


def _beside(row: Memory) -> Sequence[str]:
    """The terms by which full text search finds a row and that its score does not count."""
    parts = (row.summary, row.attribute, *row.tags)
    return document_terms("\n".join(parts)) if any(parts) else ()


def relevance_of(scored: Sequence[Hit], matched: Mapping[str, float]) -> dict[str, float]:
    """The relevance of each head by id; a head counts with the best of its wordings.

    Args:
        scored: Hits, with the wordings among them.
        matched: How far each of them matches the query by itself.
    """
    best: dict[str, float] = {}
    for hit in scored:
        head = hit.memory.superseded_by if hit.memory.status == "wording" else hit.memory.id
        best[head] = max(best.get(head, 0.0), matched[hit.memory.id])
    return relevances(best)


def above(hits: Sequence[Hit], relevance: Mapping[str, float], q: Question) -> tuple[list[Hit], list[LeftOut]]:
    """The hits from the floor on, and those below it with the reason.

    A newer memory that was put before a relevant one stays: it is the present answer, whatever its words.

    Args:
        hits: Hits in their final order.
        relevance: Relevance of each, from `relevance_of`.
        q: The question, with the floor.
    """
    kept, low = [], []
    for hit in hits:
        own = relevance[hit.memory.id]
        told = replace(hit, parts={**hit.parts, "relevance": own}) if q.explain else hit
        if max(own, relevance.get(hit.moved.over, 0.0) if hit.moved else 0.0) >= q.min_score:
            kept.append(told)
        else:
            why = f"relevance {own:.4f}, below the min_score of {q.min_score:g}"
            low.append(LeftOut(hit.memory, why, hit.score, told.parts))
    return kept, low
