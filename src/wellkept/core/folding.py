"""What a merge leaves: one memory with the winner's text and what the others know beside it (S1-39).

No text is joined and none is lost: the winner keeps its words and its vector, the others are kept
as they are, out of sight, and their hashes lead to the winner (B-8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime

from wellkept.core.codec import time_from, to_plain
from wellkept.core.findings import order_of
from wellkept.core.merge import MAX_PROVENANCE, united
from wellkept.core.rules import Rule, Winner
from wellkept.types import Json, Memory, RowChange

MERGED_FROM = "merged_from"
PROMOTED = "promoted"
COUNTS = ("access_count", "confirmations")
"""Counts change by a difference, so that what happens between plan and execution is not lost."""
_OWN_METADATA = (MERGED_FROM, PROMOTED)
_TUPLES = ("tags", "provenance")


def winner(members: Sequence[Memory], how: Winner) -> Memory:
    """The member whose text stays; ties go to the newer one (S1-39)."""
    match how:
        case "newest":
            return max(members, key=order_of)
        case "oldest":
            return min(members, key=order_of)
        case "most_used":
            return max(members, key=lambda row: (row.access_count, *order_of(row)))
        case "longest":
            return max(members, key=lambda row: (len(row.content), *order_of(row)))


def folded(kept: Memory, others: Sequence[Memory], rule: Rule) -> Memory:
    """The winner after the merge; `version` and times are left to whoever applies it.

    Importance is the highest of all, accesses and confirmations add up, tags and provenance are
    united, a pin stays a pin, and a copy that never expires makes the whole not expire.
    """
    everyone = (kept, *others)
    metadata: dict[str, Json] = {}
    for row in reversed(everyone):
        metadata |= {key: value for key, value in row.metadata.items() if key not in _OWN_METADATA}
    if PROMOTED in kept.metadata:
        metadata[PROMOTED] = kept.metadata[PROMOTED]
    metadata[MERGED_FROM] = list(_sources(kept, others))
    expiries = [row.expires_at for row in everyone]
    stabilities = [row.stability for row in everyone if row.stability is not None]
    uses = [row.last_accessed_at for row in everyone if row.last_accessed_at is not None]
    return replace(
        kept,
        importance=raised(max(row.importance for row in everyone), rule),
        access_count=sum(row.access_count for row in everyone),
        confirmations=sum(row.confirmations for row in everyone) + len(others),
        last_accessed_at=max(uses, default=None),
        stability=max(stabilities, default=None),
        tags=_all(row.tags for row in everyone),
        provenance=_all(row.provenance for row in everyone)[:MAX_PROVENANCE],
        pinned=any(row.pinned for row in everyone),
        subject=_first(row.subject for row in everyone),
        attribute=_first(row.attribute for row in everyone),
        source=_first(row.source for row in everyone),
        event_time=next((row.event_time for row in everyone if row.event_time), None),
        event_end=next((row.event_end for row in everyone if row.event_end), None),
        expires_at=None if None in expiries else max(at for at in expiries if at is not None),
        metadata=metadata,
    )


def raised(importance: float, rule: Rule) -> float:
    """An importance after the rule's bump, never above its cap and never lowered (S1-39, S1-41).

    Example:
        >>> from wellkept.core.rules import DEFAULT_RULES
        >>> raised(0.75, DEFAULT_RULES[2]), raised(0.95, DEFAULT_RULES[2])
        (0.875, 1.0)
    """
    bump = rule.share_of_bump()
    if not bump:
        return importance
    return max(importance, round(min(importance + bump, rule.share(rule.cap)), 6))


def change_of(before: Memory, after: Memory) -> RowChange:
    """The fields in which two states of a memory differ, as plain values."""
    names = [item.name for item in fields(Memory) if getattr(before, item.name) != getattr(after, item.name)]
    return RowChange(
        before.id,
        {name: to_plain(getattr(before, name)) for name in names},
        {name: to_plain(getattr(after, name)) for name in names},
    )


def changed(memory: Memory, change: RowChange, *, at: datetime) -> Memory:
    """The memory with a planned change applied, as its next version.

    Counts move by the planned difference: accesses between plan and execution are kept.
    """
    values: dict[str, Json] = {}
    for name, value in change.after.items():
        if name in COUNTS:
            values[name] = getattr(memory, name) + value - change.before[name]
        else:
            values[name] = _typed(name, value)
    if values.get("status") == "superseded":
        values["superseded_at"] = at
    return replace(memory, **values, updated_at=at, version=memory.version + 1)


def holds(memory: Memory, after: Mapping[str, Json]) -> bool:
    """Whether a memory already is what a change would make of it; usage and counts do not tell."""
    loose = {*COUNTS, "last_accessed_at", "stability"}
    return all(to_plain(getattr(memory, name)) == value for name, value in after.items() if name not in loose)


def _typed(name: str, value: Json) -> Json:
    if name in _TUPLES:
        return tuple(value)
    if value is not None and (name.endswith("_at") or name in ("event_time", "event_end")):
        return time_from(value)
    return value


def _sources(kept: Memory, others: Sequence[Memory]) -> tuple[str, ...]:
    """Ids of everything the winner is made of but itself, earlier merges included (S1-39, E-2.4)."""
    earlier = [one for row in (kept, *others) for one in row.metadata.get(MERGED_FROM, ())]
    return tuple(one for one in dict.fromkeys((*earlier, *(row.id for row in others))) if one != kept.id)


def _all(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    for part in parts:
        found = united(found, part)
    return found


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")
