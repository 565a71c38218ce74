"""Effects of a merge or a fold: the planned row changes, and the current usage, hashes, links and conflicts.

A read, a link, a conflict or a supersession of another memory makes no new version of a target, so it does
not make the action stale; it is included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from wellkept.core.consolidation.merged_memory import used_by_all
from wellkept.core.consolidation.repointing import behind, carried, edge_to, relinked
from wellkept.core.records import conflicts as flags
from wellkept.core.records.codec import USAGE
from wellkept.core.records.merge import absorbed, segments
from wellkept.engine.base.context import Context
from wellkept.engine.consolidation.summaries import born_in
from wellkept.storage.port import Tx
from wellkept.types import (
    Action,
    AliasChange,
    Comparison,
    Conflict,
    ConflictChange,
    Edge,
    Effect,
    Filter,
    Flag,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
)


def merged(
    ctx: Context,
    tx: Tx,
    action: Action,
    *,
    changes: Sequence[Effect],
    rows: Mapping[str, Memory],
    conflicts: Iterable[Conflict],
) -> list[Effect]:
    """All effects of a merge or a fold.

    Args:
        ctx: The store.
        tx: A write transaction.
        action: The merge or fold.
        changes: Its planned changes of memories.
        rows: The current memories that it reads or changes.
        conflicts: All current conflicts of its targets.
    """
    now = ctx.clock()
    kept, gone = rows[action.canonical], frozenset(action.targets) - {action.canonical}
    effects = list(changes)
    if action.type == "merge":
        effects = [_used(item, kept, [rows[one] for one in action.targets if one in gone]) for item in changes]
    links = tx.links(action.targets)
    planned = {one.memory_id for one in action.rows}
    hidden = behind(links, gone)
    for row in tx.find(Filter(ids=hidden, statuses=("superseded", "wording"))) if hidden else ():
        if row.superseded_by in gone and row.id not in planned:
            led = replace(row, superseded_by=kept.id, updated_at=now, version=row.version + 1)
            effects.append(MemoryChange(row, led))
    made, removed = relinked(links, kept.id, gone)
    held = [
        edge_to(kept.id, item.after)
        for item in effects
        if isinstance(item, MemoryChange) and item.after is not None and item.after.superseded_by == kept.id
    ]
    effects += relinks(tx, tuple(sorted({*made, *held})), tuple(sorted(removed)), effects)
    effects += _aliases(tx, action, rows, gone)
    found = list(conflicts)
    sides = tuple(dict.fromkeys(one for item in found for one in (item.a, item.b) if one not in action.targets))
    others = {row.id: row for row in tx.find(Filter(ids=sides))} if sides else {}
    settles, opened = carried(found, kept, gone, others=others, now=now)
    known = {item.key: item for item in found}
    return [*effects, *conflict_changes(ctx, opened, settles, rows={**others, **rows}, known=known)]


def _used(change: Effect, kept: Memory, others: Sequence[Memory]) -> Effect:
    """The change of the canonical memory, with the current usage of all targets added."""
    if not isinstance(change, MemoryChange) or change.after is None or change.after.id != kept.id:
        return change
    used = used_by_all(kept, others)
    return MemoryChange(change.before, replace(change.after, **{name: getattr(used, name) for name in USAGE}))


def _aliases(tx: Tx, action: Action, rows: Mapping[str, Memory], gone: Collection[str]) -> list[Effect]:
    """Hashes of the other targets also point at the canonical one, including those of earlier merges."""
    if not action.aliases:
        return []
    effects: list[Effect] = []
    for source in action.aliases:
        effects += absorbed(action.canonical, segments(rows[source]), frozenset())
    held: dict[str, None] = {}
    for entry in tx.journal(memory_ids=action.aliases):
        for effect in entry.effects:
            if isinstance(effect, AliasChange) and effect.memory_id in gone:
                if effect.present:
                    held[effect.hash] = None
                else:
                    held.pop(effect.hash, None)
    told = {effect.hash for effect in effects if isinstance(effect, AliasChange)}
    return [*effects, *(AliasChange(action.canonical, one, present=True) for one in held if one not in told)]


def relinks(tx: Tx, links: Sequence[Edge], unlinks: Sequence[Edge], effects: Sequence[Effect]) -> list[Effect]:
    """The links to make that do not exist yet, and the links to remove that still exist."""
    born = born_in(effects)
    named = {one for edge in (*links, *unlinks) for one in edge[:2] if one}
    there = {(item.src, item.dst, item.rel): item for item in tx.links(named)} if named else {}
    moment = next((item.after.updated_at for item in effects if isinstance(item, MemoryChange) and item.after), None)
    found: list[Effect] = [LinkChange(there[edge], None) for edge in unlinks if edge in there]
    for src, dst, rel in links:
        edge = (src or (born.id if born else ""), dst, rel)
        if edge not in there and edge[0] != edge[1]:
            found.append(LinkChange(None, Link(*edge, moment)))
    return found


def conflict_changes(
    ctx: Context,
    opens: Sequence[Flag],
    settles: Sequence[str],
    *,
    rows: Mapping[str, Memory],
    known: Mapping[str, Conflict],
) -> list[Effect]:
    """Conflicts that are opened, each pair once, and those that a merge or a fold resolves."""
    found: list[Effect] = []
    moment = (ctx.clock(), ctx.policy.conflict_days)
    for flag in opens:
        old, new = rows.get(flag.a), rows.get(flag.b)
        if flags.key_of(flag.a, flag.b, flag.kind) in known or old is None or new is None:
            continue
        comparison = Comparison("conflict", flag.similarity, None, flag.differences, flag.reason)
        opened = flags.between(old, new, comparison, kind=flag.kind, moment=moment)
        if flag.kind == "outdated":
            opened = replace(opened, probability=flag.probability, expires_at=None)
        found.append(ConflictChange(None, opened))
    for key in settles:
        item = known.get(key)
        if item is not None and item.resolution is None:
            found.append(ConflictChange(item, flags.settled(item, "merge", at=moment[0])))
    return found


def marked(ctx: Context, action: Action, *, rows: Mapping[str, Memory], known: Mapping[str, Conflict]) -> list[Effect]:
    """The mark, and the contradiction whose place it takes."""
    replaced: list[Effect] = [ConflictChange(known[key], None) for key in action.settles if key in known]
    return [*replaced, *conflict_changes(ctx, action.flags, (), rows=rows, known=known)]
