"""Moves the newer of two hits about the same thing before the older, by what the gate has recorded.

A recorded contradiction and a mark are such pairs. Most updates use other words ("she works at Acme", then "Globex
hired her in May") and are too uncertain for either; the gate records these as links `may_update`. An answer that a part
of a memory is outdated is a link `updates_part`. No model is asked at the time of the query. An order may have more
errors than a mark, because it hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from wellkept.core.recall.reordering import FAR_BETTER, VERBATIM_AT, Pair, reordered
from wellkept.core.records.conflicts import is_reviewed
from wellkept.core.records.lifecycle import asserted
from wellkept.engine.recall.recorded_relations import Recorded
from wellkept.storage.port import Tx
from wellkept.types import MAY_UPDATE, UPDATES_PART, Conflict, Filter, Hit, Link, Memory, Move

UPDATING = (MAY_UPDATE, UPDATES_PART)
"""Relations of a newer memory to an older one, of which the newer is shown first."""


def newer_first(tx: Tx, scored: list[Hit], recorded: Recorded, now: datetime, *, possible: bool) -> list[Hit]:
    """The newer of two memories that contradict each other comes first, also after the conflict has expired.

    A memory that becomes valid after `now` is not moved before a valid one. A resolution by a person decides the order
    of its pair. Possible updates are moved in the order of their scores, since most possible updates of a memory are
    none; then the sure ones once more, so that none of them is undone.

    Args:
        tx: The view of the store.
        scored: The hits, best first.
        recorded: The conflicts and links between them.
        now: The time of the query.
        possible: Whether possible updates count too, not only conflicts and marks.
    """
    by_id = {hit.memory.id: hit.memory for hit in scored}
    since = asserted(by_id.values(), now)
    sure: list[Pair] = []
    perhaps: list[Pair] = []
    for item in recorded.conflicts:
        overruled = is_reviewed(item) and item.resolution != "keep_new"
        if item.kind == "duplicate" or overruled or not {item.a, item.b} <= by_id.keys():
            continue
        older, newer = sorted((by_id[item.a], by_id[item.b]), key=lambda end: since[end.id])
        sure.append(Pair(newer.id, _reason(item, older, newer)))
    known = {frozenset((item.a, item.b)) for item in recorded.conflicts}
    by_score = {hit.memory.id: hit.score for hit in scored}
    verbatim = {hit.memory.id for hit in scored if hit.parts.get("cosine", 0.0) >= VERBATIM_AT}
    for rel, newer, older in _linked(tx, by_id, recorded.links):
        if by_score[older.id] - by_score[newer.id] > FAR_BETTER:
            continue
        if rel == UPDATES_PART:
            sure.append(Pair(newer.id, Move(older.id, "updates_part")))
        elif not possible or older.id in verbatim or frozenset((newer.id, older.id)) in known:
            continue
        elif since[older.id] < since[newer.id]:
            perhaps.append(Pair(newer.id, Move(older.id, "updates")))
    sure.sort(key=lambda one: (*since[one.newer], one.move.over))
    perhaps.sort(key=lambda one: (*since[one.move.over], -by_score[one.newer], one.newer))
    return reordered(scored, [*sure, *perhaps, *sure])


def _linked(tx: Tx, rows: Mapping[str, Memory], recorded: Sequence[Link]) -> Iterator[tuple[str, Memory, Memory]]:
    """Relation, newer and older of these memories, where one may update the other; a wording speaks for its head."""
    links = [link for link in recorded if link.rel in UPDATING]
    heads = heads_of_sources(tx, links, rows)
    for link in links:
        newer, older = rows.get(heads.get(link.src, link.src)), rows.get(link.dst)
        if newer is not None and older is not None and newer.id != older.id:
            yield link.rel, newer, older


def heads_of_sources(tx: Tx, links: Sequence[Link], rows: Mapping[str, Memory]) -> dict[str, str]:
    """The head of each link's source that is a wording, by the id of the wording."""
    unknown = tuple({link.src for link in links} - rows.keys())
    found = tx.find(Filter(ids=unknown, statuses=("wording",))) if unknown else []
    return {row.id: row.superseded_by for row in found}


def _reason(item: Conflict, older: Memory, newer: Memory) -> Move:
    if item.kind == "outdated" and item.b == newer.id:
        return Move(older.id, "outdates", item.probability)
    return Move(older.id, "contradicts")
