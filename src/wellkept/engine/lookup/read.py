"""Reading: get, list, neighbours, conflicts. A read never waits for a write."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from wellkept.core.records.conflicts import is_open
from wellkept.core.records.fits import is_backward, matching, misfit
from wellkept.core.records.lifecycle import grown_stability
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import at_most, count, share
from wellkept.engine.base.paging import pages
from wellkept.engine.lookup import filters
from wellkept.errors import AmbiguousId, Busy, Elsewhere, Full, InvalidField, NotFound, ReadOnly
from wellkept.storage.port import Counting, Tx
from wellkept.types import (
    ALL_STATUSES,
    Conflict,
    Direction,
    Filter,
    Graph,
    Memory,
    Neighbour,
    Reached,
)

log = logging.getLogger("wellkept")

_AT_ONCE = 50
MAX_DEPTH = 20
MAX_ID = 200
_MIN_PREFIX = 4
_MIN_END = 6


def identify(ctx: Context, short_id: object) -> str:
    """The full id for an id or for its beginning or end; unknown text is returned unchanged.

    Raises:
        AmbiguousId: Several memories match; names some.
        InvalidField: Not a possible id.
    """
    asked = _an_id(short_id)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        [found] = _identified(tx, [asked])
    return found


def _an_id(given: object) -> str:
    if not isinstance(given, str) or not 0 < len(given) <= MAX_ID or not given.isprintable():
        raise InvalidField(f"{str(given)[:40]!r} is not an id", where="id", todo="List the memories to see their ids")
    return given


def _identified(tx: Tx, asked: Sequence[str]) -> list[str]:
    """The full ids, in order; ids that are already full are looked up together."""
    known = {row.id for row in tx.find(Filter(ids=tuple(dict.fromkeys(asked)), statuses=ALL_STATUSES))} if asked else ()
    return [one if one in known else _completed(tx, one) for one in asked]


def _completed(tx: Tx, short_id: str) -> str:
    if len(short_id) < _MIN_PREFIX:
        return short_id
    found = tx.find(Filter(id_prefix=short_id, statuses=ALL_STATUSES), limit=4)
    if not found and len(short_id) >= _MIN_END:
        found = tx.find(Filter(id_end=short_id, statuses=ALL_STATUSES), limit=4)
    if len(found) > 1:
        names = ", ".join(memory.id for memory in found[:3])
        raise AmbiguousId(f"{short_id!r} fits several memories: {names}", where="id", todo="Give more of it")
    return found[0].id if found else short_id


def fetch(tx: Tx, memory_id: str) -> Memory:
    """One memory of any status.

    Raises:
        NotFound: There is none in this namespace.
    """
    rows = tx.find(Filter(ids=(memory_id,), statuses=ALL_STATUSES))
    if not rows:
        raise NotFound(f"no memory {memory_id!r}", where=tx.namespace, todo="List the memories to see their ids")
    return rows[0]


def get(ctx: Context, memory_id: str, *, touch: bool) -> Memory:
    """One memory of any status; a read by id increases its stability."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        memory = fetch(tx, memory_id)
    if touch and memory.status == "active":
        note_use(ctx, [replace(memory, stability=grown_stability(memory, ctx.policy.for_kind(memory.kind).decay))])
    return memory


def neighbors(ctx: Context, memory_id: str, *, rel: str | None, direction: Direction, depth: int) -> Reached:
    """Memories reached over links, each once, breadth first; and dangling ids."""
    if direction not in ("out", "in", "both"):
        raise InvalidField(f"{direction!r} is not allowed", where="direction", todo="Use out, in or both")
    count("depth", depth, MAX_DEPTH)
    wanted = "related" if rel == "relates_to" else rel
    seen, edge, found = {memory_id}, [memory_id], []
    dangling: dict[str, None] = {}
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        fetch(tx, memory_id)
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
    return Reached(found, dangling=dangling)


def subgraph(ctx: Context, ids: Sequence[str], *, depth: int) -> Graph:
    """The memories within `depth` links of the given ones, and all links between them."""
    if isinstance(ids, str):  # a string would be read as a list of one-letter ids
        raise InvalidField("is one text", where="ids", todo="Pass a list of ids")
    count("depth", depth, MAX_DEPTH)
    nodes: dict[str, Memory] = {}
    dangling: dict[str, None] = {}
    asked = [_an_id(item) for item in ids]
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        edge = list(dict.fromkeys(_identified(tx, asked)))
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
    """Matching memories, oldest first."""
    limit, where = at_most("limit", limit), filters.checked(where)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        if not filters.looks(where):
            return tuple(tx.find(where, limit=limit))
        return tuple(matching(tx.find(filters.proposed(where)), where, limit=limit))


def walk(ctx: Context, where: Filter, *, at_once: int) -> Iterator[Memory]:
    """The memories of `listing`, read a few rows at a time; with `before` the newest first.

    Args:
        ctx: The store.
        where: Which memories.
        at_once: Rows read at once, at most 50.
    """
    where, size = filters.checked(where), min(at_once, _AT_ONCE)
    unfit = misfit(where)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        for rows in _chunks(tx, filters.proposed(where), size):
            yield from (row for row in rows if not unfit(row))


def _chunks(tx: Tx, where: Filter, size: int) -> Iterator[Sequence[Memory]]:
    if where.ids is not None:
        for start in range(0, len(where.ids), size):
            yield tx.find(replace(where, ids=where.ids[start : start + size]))
    elif is_backward(where):
        while rows := tx.find(where, limit=size):
            yield rows[::-1]
            where = replace(where, before=(rows[0].created_at, rows[0].id))
    else:
        yield from pages(tx, where, size=size)


def conflicts(ctx: Context, *, memory_id: str | None, settled: bool, threshold: float) -> tuple[Conflict, ...]:
    """Open conflicts, oldest first, and for one write the most similar first; with `settled` all conflicts.

    A conflict without a similarity, between values of one slot, is above every threshold.
    """
    threshold = share("threshold", threshold)
    now = ctx.clock()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        found = tx.conflicts(ids=None if memory_id is None else (memory_id,))
    # Keys are random: alone they would give conflicts of one write a random order.
    found.sort(key=lambda item: (item.created_at, -(item.similarity or 0.0), item.key))
    near = (item for item in found if item.similarity is None or item.similarity >= threshold)
    return tuple(item for item in near if settled or is_open(item, now))


def note_use(ctx: Context, memories: Sequence[Memory]) -> None:
    """Count the use, after the result is known; if the store cannot be written now, only the count is lost."""
    if not memories:
        return
    now = ctx.clock()
    usage = {memory.id: (memory.access_count + 1, now, memory.stability) for memory in memories}
    try:
        if isinstance(ctx.storage, Counting):
            ctx.storage.count_use(ctx.namespace, usage)  # a read never waits for a writer
            return
        with ctx.storage.begin(ctx.namespace, write=True) as tx:
            tx.touch(usage)
    except (Busy, Elsewhere, Full, ReadOnly) as error:
        log.debug("use of %d memories not counted: %s", len(memories), error)
