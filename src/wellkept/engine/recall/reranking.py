"""Sorts the best hits with a reranker."""

from __future__ import annotations

import logging
import math
from dataclasses import replace

from wellkept.engine.models.fail_open import guarded
from wellkept.errors import ModelError, ModelResponseInvalid
from wellkept.models.port import Reranker
from wellkept.types import Hit

log = logging.getLogger("wellkept")

AMONG = 20
"""How many of the best hits are read; one takes some ten milliseconds on a CPU."""


def reranked(reranker: Reranker, hits: list[Hit], query: str) -> list[Hit]:
    """The first hits in the reranker's order, unreadable ones after them; the others unchanged.

    The part `rerank` contains its value; scores are unchanged. When it fails or exceeds its time limit, the order
    is unchanged, and the hits report it. Not to be called inside a transaction.
    """
    first = hits[:AMONG]
    if len(first) < 2:
        return hits
    try:
        told = _told(reranker, query, [hit.memory.content for hit in first])
    except ModelError as error:
        log.warning("Reranker failed, the answers keep their order: %s", error)
        return [replace(hit, degraded=(*hit.degraded, "reranker")) for hit in hits]
    read = [
        replace(hit, parts={**hit.parts, "rerank": round(said, 4)}) if said is not None else hit
        for hit, said in zip(first, told, strict=True)
    ]
    order = sorted(range(len(read)), key=lambda at: (told[at] is None, -(told[at] or 0.0), at))
    return [*(read[at] for at in order), *hits[AMONG:]]


def _told(reranker: Reranker, query: str, texts: list[str]) -> list[float | None]:
    """The reranker's values, one per text.

    Raises:
        ModelError: The reranker failed in any way, or did not return a number for each text.
    """
    with guarded("the reranker failed", str(reranker.id)):
        told = list(reranker.rerank(query, texts))
    if len(told) != len(texts) or not all(said is None or _is_number(said) for said in told):
        raise ModelResponseInvalid("the reranker gave no number for each text", where=str(reranker.id))
    return told


def _is_number(said: object) -> bool:
    return isinstance(said, float | int) and not isinstance(said, bool) and math.isfinite(said)
