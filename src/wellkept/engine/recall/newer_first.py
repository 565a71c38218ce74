"""Moves the newer of two hits about the same thing before the older.

A recorded contradiction is one such pair. But most updates use other words ("she works at Acme", then
"Globex hired her in May"), and recorded contradictions must have very few errors. The order may have more
errors, because it hides nothing. So the relation model is asked about a few pairs of this query: the best
hits, and newer hits that also answer it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from wellkept.core.reading.chat_turns import asks
from wellkept.core.recall import moves, rank
from wellkept.core.recall.moves import Pair
from wellkept.core.records.conflicts import is_reviewed
from wellkept.core.records.lifecycle import effective_time
from wellkept.core.records.merge import original
from wellkept.core.records.vectors import cosines
from wellkept.core.text.time_stamps import without_stamp
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.storage.port import Tx
from wellkept.types import Conflict, Hit, Memory, Move, Opinion


@dataclass(frozen=True, slots=True)
class Later:
    """An older, better hit and a newer one, with their similarity."""

    older: Hit
    newer: Hit
    similarity: float

    @property
    def share(self) -> float:
        """The newer hit's score divided by the older one's."""
        return self.newer.score / self.older.score if self.older.score > 0 else 1.0

    @property
    def texts(self) -> tuple[str, str]:
        """The texts for the model, the older first; of a memory that has grown the original, whose date is compared."""
        # Chat lines begin with a time stamp, which is no difference in content.
        return without_stamp(original(self.older.memory)), without_stamp(original(self.newer.memory))

    @property
    def worth(self) -> tuple[float, str, str]:
        """Sort key: pairs with high scores and similar texts are asked about first."""
        return -self.newer.score * self.similarity, self.older.memory.id, self.newer.memory.id


def newer_first(tx: Tx, scored: list[Hit], now: datetime) -> list[Hit]:
    """The newer of two contradicting memories comes first, also after the conflict has expired.

    A memory that becomes valid after `now` is not moved before a valid one.
    """
    by_id = {hit.memory.id: hit for hit in scored}
    pairs = []
    for item in tx.conflicts(ids=tuple(by_id)) if by_id else ():
        ends = [by_id[end].memory for end in (item.a, item.b) if end in by_id]
        overruled = is_reviewed(item) and item.resolution != "keep_new"
        if item.kind == "duplicate" or overruled or len(ends) < 2:
            continue
        older, newer = sorted(ends, key=lambda end: _asserted(end, now))
        pairs.append((effective_time(newer, newer.created_at), Pair(newer.id, _said(item, older, newer))))
    pairs.sort(key=lambda one: (one[0], one[1].older, one[1].newer))
    return moves.newer_first(scored, [pair for _, pair in pairs])


def _said(item: Conflict, older: Memory, newer: Memory) -> Move:
    if item.kind == "outdated" and item.b == newer.id:
        return Move(older.id, "outdates", item.probability)
    return Move(older.id, "contradicts")


def updates_first(hits: Sequence[Hit], pairs: Sequence[Later], opinions: Opinions, now: datetime) -> list[Hit]:
    """Move a hit that the relation model classifies as an update of a better hit before it.

    For a pair without an opinion, the newer hit is moved only if it is very similar to the older one and scores
    nearly as high.

    Args:
        hits: The hits, best first.
        pairs: The pairs found by `later`.
        opinions: Opinions of this call, not to be used inside a transaction; records a failure of the model.
        now: The time of the query.
    """
    opinions.ask(pair.texts for pair in pairs)
    told = opinions.told(pair.texts for pair in pairs) if opinions.available else {}
    first = [pair for pair in pairs if _comes_first(pair, told.get(pair.texts))]
    first.sort(key=lambda pair: (_asserted(pair.newer.memory, now), pair.older.memory.id))
    return moves.newer_first(hits, [_update(pair, told.get(pair.texts)) for pair in first])


def _update(pair: Later, said: Opinion | None) -> Pair:
    probability = None if said is None else said.conflict
    return Pair(pair.newer.memory.id, Move(pair.older.memory.id, "updates", probability))


def _comes_first(pair: Later, said: Opinion | None) -> bool:
    if said is None:
        return pair.similarity >= rank.NEAR_AT and pair.share >= rank.NEAR_SHARE
    return said.conflict >= rank.UPDATE_AT


def later(ctx: Context, tx: Tx, hits: Sequence[Hit], now: datetime) -> list[Later]:
    """The few pairs of a best hit and a newer one that may be its update, most promising first."""
    if ctx.embedder.lexical:
        return []
    return sorted(_pairs(ctx, tx, hits, now), key=lambda pair: pair.worth)[: rank.MOST_ASKED]


def _pairs(ctx: Context, tx: Tx, hits: Sequence[Hit], now: datetime) -> Iterator[Later]:
    best = [hit for hit in hits[: rank.LATER_AMONG] if hit.memory.status == "active" and hit.memory.embedding]
    stored = tx.vectors(hit.memory.embedding for hit in best)
    best = [hit for hit in best if hit.memory.embedding in stored]
    settled = _settled(tx, best)
    for place, older in enumerate(best[: rank.OLDER_AMONG]):
        rest = [hit for hit in best[place + 1 :] if _may_update(older, hit, now) and _pair(older, hit) not in settled]
        if not rest:
            continue
        matrix = np.asarray([stored[hit.memory.embedding] for hit in rest])
        near = cosines(stored[older.memory.embedding], matrix)
        for newer, value in zip(rest, near, strict=True):
            similarity = ctx.scale.calibration.similarity(float(value))
            if similarity >= rank.UPDATE_NEAR:
                yield Later(older, newer, similarity)


def _may_update(older: Hit, newer: Hit, now: datetime) -> bool:
    """Whether the newer hit was asserted later and scores nearly as high; no questions, not the same source."""
    one, other = older.memory, newer.memory
    if newer.score < rank.LEAST_SHARE * older.score or _asserted(one, now) >= _asserted(other, now):
        return False
    return not (one.source and one.source == other.source) and not asks(one.content) and not asks(other.content)


def _settled(tx: Tx, best: Sequence[Hit]) -> set[frozenset[str]]:
    """Pairs whose conflict was resolved: their order follows the resolution."""
    if len(best) < 2:
        return set()
    return {frozenset((it.a, it.b)) for it in tx.conflicts(ids=[hit.memory.id for hit in best]) if is_reviewed(it)}


def _pair(one: Hit, other: Hit) -> frozenset[str]:
    return frozenset((one.memory.id, other.memory.id))


def _asserted(row: Memory, now: datetime) -> tuple[bool, datetime, datetime, str]:
    since = effective_time(row, row.created_at)
    return since <= now, since, row.created_at, row.id
