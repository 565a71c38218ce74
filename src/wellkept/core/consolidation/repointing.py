"""Repointing: links, conflicts, superseded rows and wordings of merged memories move to the remaining memory.

The plan shows the state at planning time; execution recomputes it, because links and conflicts change without a new
version of a memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from wellkept.core.consolidation.findings import order_of
from wellkept.core.consolidation.merged_memory import merged_from
from wellkept.core.records.conflicts import is_open, key_of, parts
from wellkept.types import Conflict, Difference, Edge, Flag, Link, Memory


def relinked(links: Iterable[Link], kept: str, gone: Collection[str]) -> tuple[list[Edge], list[Edge]]:
    """Links to add and links to remove: links of merged memories move to the winner.

    A `supersedes` or `restates` link moves together with the row's `superseded_by`. Links inside the cluster stay
    unchanged.
    """
    found = list(links)
    there = {(link.src, link.dst, link.rel) for link in found}
    made: dict[Edge, None] = {}
    removed: dict[Edge, None] = {}
    for link in found:
        if {link.src, link.dst} <= {kept, *gone}:
            continue
        edge = (link.src, link.dst, link.rel)
        moved = (kept if link.src in gone else link.src, kept if link.dst in gone else link.dst, link.rel)
        if moved == edge:
            continue
        if moved not in there:
            made[moved] = None
        if link.dst in gone or link.rel == "supersedes":
            removed[edge] = None
    return list(made), list(removed)


def behind(links: Iterable[Link], fronts: Collection[str]) -> tuple[str, ...]:
    """Ids of what may stand behind these memories: what they supersede, and their wordings."""
    found = (
        link.dst if link.rel == "supersedes" and link.src in fronts else
        link.src if link.rel == "restates" and link.dst in fronts else ""
        for link in links
    )  # fmt: skip
    return tuple(dict.fromkeys(one for one in found if one))


def edge_to(front: str, row: Memory) -> Edge:
    """The link that a row has with the memory that it stands behind."""
    return (row.id, front, "restates") if row.status == "wording" else (front, row.id, "supersedes")


def carried(
    conflicts: Iterable[Conflict], kept: Memory, gone: Collection[str], *, others: Mapping[str, Memory], now: datetime
) -> tuple[tuple[str, ...], tuple[Flag, ...]]:
    """Open conflicts of merged memories: their keys, and the replacing flags between winner and other side.

    Conflicts inside the cluster are closed. A pair that already has a conflict with the winner, open or resolved, is
    not flagged again.

    Args:
        conflicts: All conflicts of the winner or the merged memories.
        kept: The winner.
        gone: Ids of the merged memories.
        others: Other sides that are still current; conflicts with other rows end.
        now: Expired conflicts are not changed.
    """
    found = list(conflicts)
    known = {item.key for item in found}
    closed: list[str] = []
    flags: dict[str, Flag] = {}
    for item in found:
        ends = {item.a, item.b}
        if not is_open(item, now) or ends.isdisjoint(gone):
            continue
        closed.append(item.key)
        other = others.get(next(iter(ends - {*gone, kept.id}), ""))
        if other is None:
            continue
        key = key_of(other.id, kept.id, item.kind)
        marked = item.kind == "contradiction" and key_of(other.id, kept.id, "outdated") in known
        if key not in known and not marked:
            old, new = sorted((other, kept), key=order_of)
            swapped = (new.id == other.id) != (item.b == other.id)
            flags.setdefault(key, flag_of(replace(item, a=old.id, b=new.id), swapped=swapped))
    return tuple(sorted(closed)), tuple(flags[key] for key in sorted(flags))


def flag_of(item: Conflict, *, swapped: bool = False) -> Flag:
    """The flag that opens a conflict; `swapped` when its sides have changed places."""
    return Flag(
        a=item.a,
        b=item.b,
        kind=item.kind,
        reason=item.reason,
        similarity=item.similarity,
        differences=tuple(map(swap, item.differences)) if swapped else item.differences,
        probability=item.probability,
    )


def swap(item: Difference) -> Difference:
    """The difference seen from the other side, for a pair whose order changed."""
    return replace(item, old=item.new, new=item.old)


def heirs(rows: Iterable[Memory]) -> dict[str, str]:
    """Map of merged memory ids to the id of the row that absorbed them.

    Decisions about a merged memory hold for that row: pairs kept apart stay apart, and resolved conflicts are not
    reopened.
    """
    known = list(rows)
    current = {row.id for row in known}
    return {one: row.id for row in known for one in merged_from(row) if one not in current}


def known_of(
    conflicts: Iterable[Conflict], rows: Iterable[Memory], remaining: Mapping[str, Memory]
) -> dict[str, Conflict]:
    """The conflicts by the key that their pairs have once a plan is executed; of several the first.

    Args:
        conflicts: All conflicts that name one of the rows.
        rows: The rows that were read.
        remaining: For each merged or folded memory, the memory that stands for it.
    """
    names = {one: remaining[row].id if row in remaining else row for one, row in heirs(rows).items()}
    names |= {one: row.id for one, row in remaining.items()}
    found: dict[str, Conflict] = {}
    for item in conflicts:
        found.setdefault(key_of(names.get(item.a, item.a), names.get(item.b, item.b), item.kind), item)
    return found


def apart(conflicts: Iterable[Conflict], now_named: Mapping[str, str], *, folding: bool = False) -> dict[str, set[str]]:
    """Pairs kept apart, in both directions.

    These are open contradictions and marks, pairs resolved as keep both, and dismissed duplicates; for a fold, every
    dismissed pair.
    """
    found: dict[str, set[str]] = {}
    for item in conflicts:
        kept_apart = (
            item.resolution == "keep_both"
            or (item.kind != "duplicate" and item.resolution is None)
            or (folding and item.resolution == "dismissed")
            or parts(item)
        )
        a, b = now_named.get(item.a, item.a), now_named.get(item.b, item.b)
        if kept_apart and a != b:
            found.setdefault(a, set()).add(b)
            found.setdefault(b, set()).add(a)
    return found
