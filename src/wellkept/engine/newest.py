"""Of two answers about one thing the newer comes first (S2-15, S2-29, E-3.8)."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from wellkept.core import rank
from wellkept.core.conflicts import is_reviewed
from wellkept.core.lifecycle import effective_time
from wellkept.core.vectors import cosines
from wellkept.engine.context import Context
from wellkept.storage.port import Tx
from wellkept.types import Hit, Memory


def newer_first(tx: Tx, scored: list[Hit]) -> list[Hit]:
    """The newer of two memories that contradict each other comes first, also after the review has expired."""
    by_id = {hit.memory.id: hit for hit in scored}
    pairs = []
    for item in tx.conflicts(ids=tuple(by_id)) if by_id else ():
        ends = [by_id[end].memory for end in (item.a, item.b) if end in by_id]
        overruled = is_reviewed(item) and item.resolution != "keep_new"
        if item.kind != "contradiction" or overruled or len(ends) < 2:
            continue
        older, newer = sorted(ends, key=_asserted)
        pairs.append((effective_time(newer, newer.created_at), older.id, newer.id))
    scores = {hit.memory.id: hit.score for hit in scored}
    return [by_id[key] for key in rank.newer_first(scores, [(older, newer) for _, older, newer in sorted(pairs)])]


def fresher_first(ctx: Context, tx: Tx, hits: list[Hit]) -> list[Hit]:
    """Of the best answers that speak of one thing the newer comes first, if it answers nearly as well (S2-15)."""
    best = [hit for hit in hits[: rank.FRESH_AMONG] if hit.memory.status == "active" and hit.memory.embedding]
    if ctx.embedder.lexical or len(best) < 2:
        return hits
    stored = tx.vectors(hit.memory.embedding for hit in best)
    rows = [hit.memory for hit in best if hit.memory.embedding in stored]
    floor = ctx.scale.calibration.cosine(rank.SAME_TOPIC_AT)
    settled = {frozenset((item.a, item.b)) for item in tx.conflicts(ids=[row.id for row in rows]) if is_reviewed(item)}
    pairs = []
    for at, first in enumerate(rows):
        rest = rows[at + 1 :]
        near = cosines(stored[first.embedding], np.asarray([stored[row.embedding] for row in rest])) if rest else ()
        for second, value in zip(rest, near, strict=True):
            if value >= floor and frozenset((first.id, second.id)) not in settled:
                older, newer = sorted((first, second), key=_asserted)
                pairs.append((_asserted(newer), older.id, newer.id))
    by_id = {hit.memory.id: hit for hit in hits}
    scores = {hit.memory.id: hit.score for hit in hits}
    ordered = [(older, newer) for _, older, newer in sorted(pairs)]
    return [by_id[key] for key in rank.newer_first(scores, ordered, least=rank.FRESH_SHARE)]


def _asserted(row: Memory) -> tuple[datetime, datetime, str]:
    return effective_time(row, row.created_at), row.created_at, row.id
