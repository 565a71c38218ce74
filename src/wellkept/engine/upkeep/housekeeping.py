"""Counts of a namespace, and expired conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from wellkept.core.records import conflicts as flags
from wellkept.engine.base.context import Context
from wellkept.engine.base.retry import whole
from wellkept.engine.gate.acts import apply
from wellkept.engine.gate.waiting import waiting
from wellkept.engine.upkeep.reembed import Progress as Progress
from wellkept.engine.upkeep.reembed import Swept as Swept
from wellkept.engine.upkeep.reembed import reembed as reembed
from wellkept.engine.upkeep.reembed import sweep as sweep
from wellkept.engine.upkeep.verifying import verify as verify
from wellkept.storage.port import Tx
from wellkept.types import (
    ALL_STATUSES,
    Conflict,
    ConflictChange,
    Effect,
    Filter,
    JournalEntry,
    Link,
    LinkChange,
    Reason,
    Stats,
)

_AT_ONCE = 100


def stats(ctx: Context) -> Stats:
    """Counts of the namespace."""
    now = ctx.clock()
    header = ctx.header()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        census = tx.census()
        conflicts = sum(flags.is_open(item, now) for item in tx.conflicts())
        journal = tx.seq
        unjudged = len(waiting(tx)) if census.unchecked else 0
    return Stats(
        namespace=ctx.namespace,
        memories=census.statuses,
        kinds=dict(sorted(census.kinds.items())),
        outcomes=census.outcomes,
        links=census.links,
        open_conflicts=conflicts,
        unchecked=census.unchecked,
        waiting=unjudged,
        without_vector=census.unembedded,
        journal=journal,
        embedder=header.embedder,
        policy=ctx.policy.hash,
        schema=header.schema,
    )


def expire_conflicts(ctx: Context) -> int:
    """Resolve expired open conflicts as "keep both".

    Before, they only count as resolved; now the journal records it, and both memories are linked. There is one
    entry per conflict, so that each can be undone alone; an undone one is not resolved again.

    Returns:
        The number of conflicts resolved.

    Example:
        >>> import wellkept
        >>> from wellkept.engine.upkeep.housekeeping import expire_conflicts
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     expire_conflicts(store._ctx)
        0
    """
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        keys = [item.key for item in tx.conflicts() if _has_expired(item, ctx.clock())]
    settled = 0
    for start in range(0, len(keys), _AT_ONCE):
        settled += _expire_all(ctx, keys[start : start + _AT_ONCE])
    return settled


@whole
def _expire_all(ctx: Context, keys: Sequence[str]) -> int:
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        due = (conflict for conflict in tx.conflicts(keys=keys) if _has_expired(conflict, ctx.clock()))
        return sum(_expire(ctx, tx, conflict) for conflict in due)


def _has_expired(conflict: Conflict, now: datetime) -> bool:
    return conflict.resolution is None and not flags.is_open(conflict, now)


def _expire(ctx: Context, tx: Tx, conflict: Conflict) -> bool:
    ends = (conflict.a, conflict.b)
    for entry in tx.journal(memory_ids=ends):
        if entry.verb == "expire" and _settles(entry, conflict.key):
            return False  # someone undid it; it is not resolved automatically again
    now = ctx.clock()
    effects: list[Effect] = [ConflictChange(conflict, flags.settled(conflict, "keep_both", at=now))]
    there = {row.id for row in tx.find(Filter(ids=ends, statuses=ALL_STATUSES)) if row.status != "erased"}
    if there == set(ends):
        rel = "contradicts" if conflict.kind == "contradiction" else "related"
        effects.insert(0, LinkChange(None, Link(conflict.b, conflict.a, rel, now)))
    reasons = (Reason("expired", "nobody decided in time, so both are kept"),)
    apply(ctx, tx, effects, verb="expire", outcome="keep_both", memory_id=conflict.b, reasons=reasons)
    return True


def _settles(entry: JournalEntry, key: str) -> bool:
    changes = (item.after for item in entry.effects if isinstance(item, ConflictChange))
    return any(after is not None and after.key == key and after.resolution is not None for after in changes)
