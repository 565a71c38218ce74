"""Reading: get, list, recall, neighbours, conflicts. A read never waits for a write."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from wellkept.core import rank
from wellkept.core.conflicts import is_open, is_reviewed
from wellkept.core.lifecycle import effective_time, grown_stability, is_expired
from wellkept.core.text import check_text, search_terms, slot_key
from wellkept.core.vectors import cosines, rounded
from wellkept.engine.context import Context
from wellkept.engine.embedding import Embeddings
from wellkept.errors import AmbiguousId, Busy, EmptyContent, InvalidField, NotFound, ReadOnly
from wellkept.storage.port import Tx
from wellkept.types import (
    ALL_STATUSES,
    Conflict,
    Direction,
    Filter,
    Graph,
    Hit,
    Memory,
    Neighbour,
    Status,
    Vector,
)

log = logging.getLogger("wellkept")

MAX_QUERY_CHARS = 20_000
MAX_LIMIT = 1_000
MAX_COUNT = 2**53
MAX_DEPTH = 20
MAX_ID = 200
_OVERFETCH = 4
_MIN_PREFIX = 4
_MIN_END = 6


def count(name: str, value: object, most: int) -> int:
    """A whole number from 1 to `most`.

    Raises:
        InvalidField: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InvalidField(f"{value!r} is not a whole number from 1 to {most}", where=name, todo="Change it")
    return value


def at_most(name: str, value: object) -> int | None:
    """A bound that may be left out: a whole number from 0.

    Raises:
        InvalidField: It is something else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise InvalidField(f"{value!r} is no count", where=name, todo="Use a whole number from 0, or leave it out")
    return value


def identify(ctx: Context, short_id: object) -> str:
    """The full id for an id or the beginning or end of one; unknown text is returned as it is.

    Raises:
        AmbiguousId: It fits several memories; names some.
        InvalidField: It cannot be an id.
    """
    if not isinstance(short_id, str) or not 0 < len(short_id) <= MAX_ID or not short_id.isprintable():
        raise InvalidField(f"{str(short_id)[:40]!r} is no id", where="id", todo="List the memories to see their ids")
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        if tx.find(Filter(ids=(short_id,), statuses=ALL_STATUSES)):
            return short_id
        if len(short_id) < _MIN_PREFIX:
            return short_id
        found = tx.find(Filter(id_prefix=short_id, statuses=ALL_STATUSES), limit=4)
        if not found and len(short_id) >= _MIN_END:
            found = tx.find(Filter(id_end=short_id, statuses=ALL_STATUSES), limit=4)
    if len(found) > 1:
        names = ", ".join(memory.id for memory in found[:3])
        raise AmbiguousId(f"{short_id!r} fits several memories: {names}", where="id", todo="Give more of it")
    return found[0].id if found else short_id


def get(ctx: Context, memory_id: str, *, touch: bool) -> Memory:
    """One memory of any status; reading by id makes it last longer (D1)."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        rows = tx.find(Filter(ids=(memory_id,), statuses=ALL_STATUSES))
    if not rows:
        raise NotFound(f"no memory {memory_id!r}", where=ctx.namespace, todo="List the memories to see their ids")
    memory = rows[0]
    if touch and memory.status == "active":
        _touch(ctx, [replace(memory, stability=grown_stability(memory, ctx.policy.for_kind(memory.kind).decay))])
    return memory


def recall(
    ctx: Context, query: str, *, limit: int, where: Filter, include_superseded: bool, touch: bool
) -> tuple[Hit, ...]:
    """What holds now about the query, best first: vectors and full text as a union (design §8)."""
    if not isinstance(query, str):
        raise InvalidField(f"must be text, not {type(query).__name__}", where="query", todo="Pass a str")
    try:
        check_text(query, limit=MAX_QUERY_CHARS)
    except EmptyContent as error:
        raise EmptyContent("The query is empty", where="query", todo="Ask something") from error
    vectors = Embeddings(ctx.embedder, on_failure="Recall without vectors, by words alone")
    vectors.fetch([query])
    embedded = vectors.get(query)
    vector = embedded.vector if embedded is not None else None
    degraded = vectors.degraded(query)
    statuses: tuple[Status, ...] = ("active", "superseded") if include_superseded else ("active",)
    pool = count("limit", limit, MAX_LIMIT) * _OVERFETCH
    terms = list(dict.fromkeys(search_terms(query)))
    now = ctx.clock()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        near: dict[str, float] = {}
        if where == Filter(kinds=where.kinds, statuses=where.statuses):
            near = _near(tx, vector, where, pool=pool, statuses=statuses)
            ids = tuple(dict.fromkeys((*near, *tx.match(terms, limit=pool, kinds=where.kinds))))
            rows = tx.find(replace(where, ids=ids, statuses=statuses)) if ids else []
        else:  # what a filter leaves may lie outside any pool, so all of it is looked at
            rows = tx.find(replace(where, statuses=statuses, tags=()))
        rows = [row for row in rows if not is_expired(row, now) and _fits(row, where)]
        _add_missing_cosines(tx, vector, rows, near)
        lexical = rank.bm25(terms, [search_terms(f"{row.title} {row.content} {row.subject}") for row in rows])
        scored = []
        for row, words in zip(rows, lexical, strict=True):
            score, parts = rank.blend(near.get(row.id), words)
            scored.append(Hit(row, round(score, 6), parts, degraded=degraded))
        scored.sort(key=_order)
        hits = _fresher_first(ctx, tx, _newer_first(tx, scored))[:limit]
        flagged = [item for item in tx.conflicts(ids=[hit.memory.id for hit in hits]) if is_open(item, now)]
    if touch:
        _touch(ctx, [hit.memory for hit in hits if hit.memory.status == "active"])
    return tuple(
        replace(hit, conflicts=tuple(item for item in flagged if hit.memory.id in (item.a, item.b))) for hit in hits
    )


def _newer_first(tx: Tx, scored: list[Hit]) -> list[Hit]:
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


def _fresher_first(ctx: Context, tx: Tx, hits: list[Hit]) -> list[Hit]:
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


def _order(hit: Hit) -> tuple[float, float, float, str]:
    """Best first; ties by importance, then the newer (S2-12)."""
    memory = hit.memory
    return -hit.score, -memory.importance, -memory.created_at.timestamp(), memory.id


def _near(tx: Tx, vector: Vector | None, where: Filter, *, pool: int, statuses: Sequence[Status]) -> dict[str, float]:
    if vector is None:
        return {}
    found = tx.nearest(np.asarray([vector], dtype=np.float32), limit=pool, kinds=where.kinds, statuses=statuses)[0]
    if not found.ids:
        return {}
    # Rounded, so that storage precision orders no hits that are equal (S2-12, design §10).
    return {key: rounded(float(value)) for key, value in zip(found.ids, cosines(vector, found.vectors), strict=True)}


def _add_missing_cosines(tx: Tx, vector: Vector | None, rows: Sequence[Memory], near: dict[str, float]) -> None:
    """Hits of the full text get their exact cosine too, so that the parts of all scores compare."""
    if vector is None:
        return
    missing = {row.id: row.embedding for row in rows if row.id not in near and row.embedding}
    stored = tx.vectors(missing.values())
    for key, name in missing.items():
        if name in stored:
            near[key] = rounded(float(cosines(vector, np.asarray([stored[name]]))[0]))


def _fits(row: Memory, where: Filter) -> bool:
    if where.subject is not None and slot_key(row.subject) != slot_key(where.subject):
        return False
    wanted = {slot_key(tag) for tag in where.tags}
    return not wanted or bool(wanted & {slot_key(tag) for tag in row.tags})


def neighbors(
    ctx: Context, memory_id: str, *, rel: str | None, direction: Direction, depth: int
) -> tuple[tuple[Neighbour, ...], tuple[str, ...]]:
    """Memories reached over links, each once, breadth first; and ids that links name but nobody holds (S2-42)."""
    if direction not in ("out", "in", "both"):
        raise InvalidField(f"{direction!r} is not allowed", where="direction", todo="Use out, in or both")
    count("depth", depth, MAX_DEPTH)
    wanted = "related" if rel == "relates_to" else rel
    seen, edge, found = {memory_id}, [memory_id], []
    dangling: dict[str, None] = {}
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        _exists(tx, memory_id)
        for level in range(1, depth + 1):
            steps: dict[str, tuple[str, str]] = {}
            for link in tx.links(edge):
                if wanted is not None and link.rel != wanted:
                    continue
                if direction != "in" and link.src in edge and link.dst not in seen:
                    steps.setdefault(link.dst, (link.rel, "out"))
                if direction != "out" and link.dst in edge and link.src not in seen:
                    steps.setdefault(link.src, (link.rel, "in"))
            rows = {row.id: row for row in tx.find(Filter(ids=tuple(steps), statuses=ALL_STATUSES))} if steps else {}
            for key, (name, way) in steps.items():
                if key in rows:
                    found.append(Neighbour(rows[key], name, "out" if way == "out" else "in", level))
                else:
                    dangling[key] = None
            seen |= set(steps)
            edge = [key for key in steps if key in rows]
            if not edge:
                break
    return tuple(found), tuple(dangling)


def subgraph(ctx: Context, ids: Sequence[str], *, depth: int) -> Graph:
    """The memories within `depth` links of the given ones, and all links among them (S2-41)."""
    count("depth", depth, MAX_DEPTH)
    nodes: dict[str, Memory] = {}
    dangling: dict[str, None] = {}
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        edge = list(dict.fromkeys(ids))
        for _ in range(depth + 1):
            rows = {row.id: row for row in tx.find(Filter(ids=tuple(edge), statuses=ALL_STATUSES))} if edge else {}
            nodes.update(rows)
            dangling.update(dict.fromkeys(key for key in edge if key not in rows))
            reached = (end for link in tx.links(list(rows)) for end in (link.src, link.dst)) if rows else ()
            edge = [key for key in dict.fromkeys(reached) if key not in nodes and key not in dangling]
            if not edge:
                break
        edges = tuple(
            (link.src, link.dst, link.rel)
            for link in (tx.links(list(nodes)) if nodes else ())
            if link.src in nodes and (link.dst in nodes or link.dst in dangling)
        )
    return Graph(nodes, edges, tuple(dangling))


def listing(ctx: Context, where: Filter, *, limit: int | None) -> tuple[Memory, ...]:
    """Memories that fit, oldest first."""
    limit = at_most("limit", limit)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        if not where.tags:
            return tuple(tx.find(where, limit=limit))
        # Backends compare tags to the letter; the case of a tag says nothing.
        found = tuple(row for row in tx.find(replace(where, tags=())) if _fits(row, where))
        return found[:limit]


def conflicts(ctx: Context, *, memory_id: str | None, settled: bool) -> tuple[Conflict, ...]:
    """Open conflicts, oldest first, and of one write the most similar first; all of them with `settled`."""
    now = ctx.clock()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        found = tx.conflicts(ids=None if memory_id is None else (memory_id,))
    # Keys are made from random ids: alone they would list two conflicts of one write in any order (I4).
    found.sort(key=lambda item: (item.created_at, -(item.similarity or 0.0), item.key))
    return tuple(item for item in found if settled or is_open(item, now))


def _exists(tx: Tx, memory_id: str) -> None:
    if not tx.find(Filter(ids=(memory_id,), statuses=ALL_STATUSES)):
        raise NotFound(f"no memory {memory_id!r}", where=tx.namespace, todo="List the memories to see their ids")


def _touch(ctx: Context, memories: Sequence[Memory]) -> None:
    """Count the use, after the answer is known; a store that cannot be written now loses only the count."""
    if not memories:
        return
    now = ctx.clock()
    try:
        with ctx.storage.begin(ctx.namespace, write=True) as tx:
            tx.touch({memory.id: (memory.access_count + 1, now, memory.stability) for memory in memories})
    except (Busy, ReadOnly) as error:
        log.debug("use of %d memories not counted: %s", len(memories), error)
