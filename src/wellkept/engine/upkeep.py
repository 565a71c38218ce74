"""Upkeep: counts, self-checks, vectors that are missing or foreign, and rows stored unchecked (I7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wellkept.core import conflicts as flags
from wellkept.core.lifecycle import supersede
from wellkept.core.merge import absorbed, segments
from wellkept.engine import late
from wellkept.engine.acts import apply, with_vector
from wellkept.engine.context import Context
from wellkept.engine.embedding import Embeddings, text_of, vector_key
from wellkept.engine.judges import Judgements, NeedsJudgementError
from wellkept.engine.opinions import NeedsOpinionError, Opinions
from wellkept.errors import EmbedderMismatch
from wellkept.storage.port import Tx
from wellkept.types import (
    ALL_STATUSES,
    ConflictChange,
    Effect,
    Filter,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    Problem,
    Reason,
    Stats,
)

PAGE = 128
Progress = Callable[[int, int], None]


def require_embedder(ctx: Context) -> None:
    """Refuse a store whose vectors come from another embedder; a fresh store takes this one.

    Raises:
        EmbedderMismatch: Naming both, and the command that re-embeds.
    """
    header = ctx.storage.header()
    if not header.embedder:
        ctx.storage.configure(embedder=ctx.embedder.id, dim=ctx.embedder.dim, policy=ctx.policy.hash)
    elif header.embedder != ctx.embedder.id:
        raise EmbedderMismatch(
            f"the store's vectors come from {header.embedder!r}, not from {ctx.embedder.id!r}",
            where="embedder",
            todo="Open it with that embedder, or run `wellkept reembed` to make all vectors anew",
        )
    elif header.policy != ctx.policy.hash:
        ctx.storage.configure(embedder=header.embedder, dim=header.dim, policy=ctx.policy.hash)


def stats(ctx: Context) -> Stats:
    """Counts of the namespace."""
    now = ctx.clock()
    header = ctx.storage.header()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        census = tx.census()
        conflicts = sum(flags.is_open(item, now) for item in tx.conflicts())
        journal = tx.seq
    return Stats(
        namespace=ctx.namespace,
        memories=census.statuses,
        kinds=dict(sorted(census.kinds.items())),
        outcomes=census.outcomes,
        links=census.links,
        open_conflicts=conflicts,
        unchecked=census.unchecked,
        without_vector=census.unembedded,
        journal=journal,
        embedder=header.embedder,
        policy=ctx.policy.hash,
        schema=header.schema,
    )


def verify(ctx: Context) -> tuple[Problem, ...]:
    """Everything that is not as it should be, each with what mends it; empty when all is well."""
    problems = [
        Problem("storage", text, "Restore a backup, or export what can be read") for text in ctx.storage.verify()
    ]
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        rows = {memory.id: memory for memory in tx.find(Filter(statuses=ALL_STATUSES))}
        stored = tx.vectors({memory.embedding for memory in rows.values() if memory.embedding})
        for memory in rows.values():
            problems += _row_problems(memory, rows, has_vector=memory.embedding in stored)
        links = {(link.src, link.dst, link.rel) for link in tx.links()}
        for src, dst, rel in sorted(links):
            if src not in rows or dst not in rows:
                problems.append(Problem(f"link {src} -{rel}-> {dst}", "one end does not exist", "Unlink it"))
        for memory in rows.values():
            wanted = (memory.superseded_by, memory.id, "supersedes")
            successor = rows.get(memory.superseded_by)
            if successor is None or successor.status == "erased":  # an erasure takes the links with it
                continue
            if memory.status == "superseded" and wanted not in links:
                problems.append(Problem(memory.id, "is superseded without a `supersedes` link", "Restore it"))
    return tuple(problems)


def _row_problems(memory: Memory, rows: dict[str, Memory], *, has_vector: bool) -> list[Problem]:
    found = []
    if memory.status == "superseded" and memory.superseded_by not in rows:
        found.append(Problem(memory.id, "is superseded by a memory that does not exist", "Restore it"))
    if memory.status == "active" and not memory.checked:
        found.append(Problem(memory.id, "was stored while a check could not run", "Run `wellkept reembed`"))
    if memory.embedding and not has_vector:
        found.append(Problem(memory.id, "has no vector of the store's embedder", "Run `wellkept reembed`"))
    if memory.embedding and memory.embedding != vector_key(text_of(memory)):
        found.append(Problem(memory.id, "has a vector of another text", "Run `wellkept reembed`"))
    return found


def reembed(ctx: Context, progress: Progress | None = None) -> dict[str, int]:
    """Make every vector that is missing or foreign, then check the rows that were stored unchecked.

    Returns:
        Counts: `embedded`, `checked`, `superseded`, `conflicts`, `links`.
    """
    counts = {"embedded": 0, "checked": 0, "superseded": 0, "conflicts": 0, "links": 0}
    header = ctx.storage.header()
    if header.embedder != ctx.embedder.id:
        ctx.storage.configure(embedder=ctx.embedder.id, dim=ctx.embedder.dim, policy=ctx.policy.hash)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        rows = [row for row in tx.find(Filter(statuses=("active", "superseded", "archived")))]
        stored = tx.vectors({row.embedding for row in rows if row.embedding})
    missing = [row for row in rows if not row.embedding or row.embedding not in stored]
    for start in range(0, len(missing), PAGE):
        page = missing[start : start + PAGE]
        vectors = Embeddings(ctx.embedder)
        vectors.fetch([text_of(row) for row in page])
        if vectors.failure is not None:
            raise vectors.failure
        with ctx.storage.begin(ctx.namespace, write=True) as tx:
            for stale in page:
                counts["embedded"] += _embed_row(ctx, tx, stale.id, vectors)
        if progress is not None:
            progress(min(start + PAGE, len(missing)), len(missing))
    unchecked = [row for row in rows if row.status == "active" and not row.checked]
    if unchecked:
        ctx.scale.prepare()
    for row in unchecked:
        _check_row(ctx, row.id, counts)
    return counts


def _embed_row(ctx: Context, tx: Tx, memory_id: str, vectors: Embeddings) -> int:
    rows = tx.find(Filter(ids=(memory_id,), statuses=ALL_STATUSES))
    if not rows or rows[0].status == "erased":
        return 0
    memory = rows[0]
    after, made = with_vector(memory, vectors)
    if not made:
        return 0
    changed = replace(after, version=memory.version + 1, updated_at=ctx.clock())
    apply(
        ctx, tx, [MemoryChange(memory, changed)], verb="reembed", outcome="embedded", memory_id=memory_id, vectors=made
    )
    return 1


def _check_row(ctx: Context, memory_id: str, counts: dict[str, int]) -> None:
    opinions, judgements = Opinions(ctx.relation_model), Judgements(ctx.judge)
    while True:
        try:
            return _recheck(ctx, memory_id, counts, (opinions, judgements))
        except NeedsOpinionError as missing:
            opinions.ask(missing.pairs)
            if opinions.failure is not None:
                raise opinions.failure from None  # still down: the row stays unchecked
        except NeedsJudgementError as missing:
            judgements.ask(missing.pairs)


def _recheck(ctx: Context, memory_id: str, counts: dict[str, int], models: tuple[Opinions, Judgements]) -> None:
    """Decide about a stored row as if it were written now; it is marked, linked or retired, never removed (F-28)."""
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        rows = tx.find(Filter(ids=(memory_id,)))
        if not rows or rows[0].checked:
            return
        memory = rows[0]
        now = ctx.clock()
        checked = replace(memory, checked=True, version=memory.version + 1, updated_at=now)
        effects: list[Effect] = []
        vector = tx.vectors((memory.embedding,)).get(memory.embedding) if memory.embedding else None
        if vector is not None:
            effects = _late_effects(ctx, tx, (memory, checked), counts=counts, models=models)
        if not any(isinstance(item, MemoryChange) and item.before == memory for item in effects):
            effects.insert(0, MemoryChange(memory, checked))
        counts["checked"] += 1
        reasons = (Reason("sweep", "checked after the model came back"),)
        apply(ctx, tx, effects, verb="recheck", outcome="checked", memory_id=memory_id, reasons=reasons)


def _late_effects(
    ctx: Context, tx: Tx, row: tuple[Memory, Memory], *, counts: dict[str, int], models: tuple[Opinions, Judgements]
) -> list[Effect]:
    memory, checked = row
    decision = late.decide(ctx, tx, memory, tx.vectors((memory.embedding,))[memory.embedding], models)
    if decision.outcome == "duplicate" and decision.memory is not None:
        counts["superseded"] += 1
        kept = tx.find(Filter(ids=(decision.memory.id,)))[0]
        hidden, linked = supersede(checked, kept, at=ctx.clock())
        after = hidden.after if isinstance(hidden, MemoryChange) else None
        # Its words lead to the kept row, so that saying them again is a repeat and no reversion (B-8, B-9).
        led = absorbed(kept.id, segments(memory), frozenset())
        return [MemoryChange(memory, replace(after, version=checked.version) if after else None), linked, *led]
    there = {(item.src, item.dst, item.rel) for item in tx.links((memory.id,))}
    effects: list[Effect] = []
    proposed = decision.effects
    if decision.outcome == "evolved" and decision.memory is not None:  # its text is a row already: only linked
        proposed = (LinkChange(None, Link(memory.id, decision.memory.id, "related", ctx.clock())),)
    for effect in proposed:
        match effect:
            case LinkChange(_, Link() as link) if (link.src, link.dst, link.rel) not in there:
                counts["links"] += 1
                effects.append(effect)
            case ConflictChange():
                counts["conflicts"] += 1
                effects.append(effect)
            case MemoryChange(Memory() as before, Memory() as after) if before.id != memory.id:
                counts["superseded"] += after.status == "superseded"
                effects.append(effect)
            case MemoryChange(None, Memory() as after) if after.status == "superseded":
                # It was true earlier than what is stored (B-35): the row itself is the one to hide.
                counts["superseded"] += 1
                buried = replace(
                    checked, status="superseded", superseded_by=after.superseded_by, superseded_at=after.superseded_at
                )
                effects.append(MemoryChange(memory, buried))
            case _:
                pass
    return effects
