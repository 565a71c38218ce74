"""What points at a memory that is merged away, and where it points from then on: links, conflicts, older rows.

A plan shows it as it stands when the plan is made; the execution computes it anew from what stands in
the store by then, since a link or a conflict made in between changes no version of a memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from wellkept.core.consolidation.findings import order_of
from wellkept.core.consolidation.merged_memory import merged_from
from wellkept.core.records.conflicts import is_open, key_of
from wellkept.types import Conflict, Difference, Edge, Flag, Link, Memory


def relinked(links: Iterable[Link], kept: str, gone: Collection[str]) -> tuple[list[Edge], list[Edge]]:
    """Links to be made and links to go: what led to the others leads to the winner, and what they
    pointed at, it points at too.

    A link that hides an older row moves with the row's `superseded_by`; links inside the cluster say
    nothing any more and stay with the rows they join.
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


def carried(
    conflicts: Iterable[Conflict], kept: Memory, gone: Collection[str], *, others: Mapping[str, Memory], now: datetime
) -> tuple[tuple[str, ...], tuple[Flag, ...]]:
    """Open conflicts of the memories that go: their keys, and the same conflicts between the winner and the other side.

    Inside the cluster a conflict is settled and nothing is left of it. One whose pair is known by the
    winner's name already, open or settled, is not opened again.

    Args:
        conflicts: All that name the winner or one of those that go.
        kept: The winner.
        gone: Ids of those that go.
        others: The other sides that are still current; a conflict with any other row ends here.
        now: Conflicts past their time are left as they are.
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
        if key not in known:
            old, new = sorted((other, kept), key=order_of)
            swapped = (new.id == other.id) != (item.b == other.id)
            flags.setdefault(key, _flag(item, old.id, new.id, swapped=swapped))
    return tuple(sorted(closed)), tuple(flags[key] for key in sorted(flags))


def _flag(item: Conflict, a: str, b: str, *, swapped: bool) -> Flag:
    told = tuple(swap(one) for one in item.differences) if swapped else item.differences
    return Flag(a=a, b=b, kind=item.kind, reason=item.reason, similarity=item.similarity, differences=told)


def swap(item: Difference) -> Difference:
    """A difference told from the other side: the older memory became the newer one."""
    return replace(item, old=item.new, new=item.old)


def heirs(rows: Iterable[Memory]) -> dict[str, str]:
    """Who speaks for a memory that an earlier run merged away: its id to that of the row that absorbed it.

    What was decided about the one holds for the other: a pair that somebody kept apart stays apart,
    and a conflict that was settled is not opened again under another name.
    """
    known = list(rows)
    current = {row.id for row in known}
    return {one: row.id for row in known for one in merged_from(row) if one not in current}


def apart(conflicts: Iterable[Conflict], now_named: Mapping[str, str]) -> dict[str, set[str]]:
    """Pairs that somebody, or the gate, holds apart, both ways: an open or kept contradiction, a repeat
    that was denied."""
    found: dict[str, set[str]] = {}
    for item in conflicts:
        kept_apart = (
            item.resolution == "keep_both"
            or (item.kind == "contradiction" and item.resolution is None)
            or (item.kind == "duplicate" and item.resolution == "dismissed")
        )
        a, b = now_named.get(item.a, item.a), now_named.get(item.b, item.b)
        if kept_apart and a != b:
            found.setdefault(a, set()).add(b)
            found.setdefault(b, set()).add(a)
    return found
