"""The best answers in the order of a reranker, if the store was opened with one; it decides nothing else."""

from __future__ import annotations

import logging
import math
from dataclasses import replace

from wellkept.engine.base.context import Context
from wellkept.engine.recall.question import Question
from wellkept.errors import ModelError, ModelResponseInvalid, ModelUnavailable
from wellkept.models.port import Reranker
from wellkept.types import Hit

log = logging.getLogger("wellkept")

AMONG = 20
"""How many of the best answers are read; one takes some ten milliseconds on a CPU."""


def reranked(ctx: Context, hits: list[Hit], q: Question) -> list[Hit]:
    """The first of the hits in the reranker's order, those it cannot read behind them; the others as they are.

    The part `rerank` tells what it said; scores stay what they are. When it fails or is late, the order
    stays too, and the hits say so. Not to be called inside a transaction.
    """
    first = hits[:AMONG]
    if ctx.reranker is None or not q.rerank or len(first) < 2:
        return hits
    try:
        told = _told(ctx.reranker, q.text, [hit.memory.content for hit in first])
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
    """What it says of each text.

    Raises:
        ModelError: It failed, in whatever way, or said something that is no number for each.
    """
    try:
        told = list(reranker.rerank(query, texts))
    except ModelError:
        raise
    except Exception as error:  # foreign code; the hits say `degraded`
        raise ModelUnavailable(f"the reranker failed: {type(error).__name__}", where=str(reranker.id)) from error
    if len(told) != len(texts) or not all(said is None or _is_number(said) for said in told):
        raise ModelResponseInvalid("the reranker gave no number for each text", where=str(reranker.id))
    return told


def _is_number(said: object) -> bool:
    return isinstance(said, float | int) and not isinstance(said, bool) and math.isfinite(said)
