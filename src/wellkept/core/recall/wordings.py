"""Wordings among hits: the head is shown once, with the rank of whichever text fits the query best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from wellkept.types import Hit


def heads_only(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without wordings; a head takes score and parts of a wording that fits the query better.

    Args:
        hits: Hits with their scores, in any order. The head of each wording is among them.

    Returns:
        The heads in order of their new scores; `Hit.wording` names the wording that fitted better.
    """
    heads = {hit.memory.id: hit for hit in hits if hit.memory.status != "wording"}
    for hit in hits:
        head = heads.get(hit.memory.superseded_by) if hit.memory.status == "wording" else None
        if head is not None and hit.score > head.score:
            heads[head.memory.id] = replace(
                head, score=hit.score, parts=hit.parts, weights=hit.weights, wording=hit.memory
            )
    return best_first(heads.values())


def best_first(hits: Iterable[Hit]) -> list[Hit]:
    """Hits by score; ties by importance, then the newer first."""
    return sorted(hits, key=_order)


def _order(hit: Hit) -> tuple[float, float, float, str]:
    memory = hit.memory
    return -hit.score, -memory.importance, -memory.created_at.timestamp(), memory.id
