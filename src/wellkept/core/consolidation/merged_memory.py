"""The result of a merge: the winner's text plus the other members' fields.

No text is joined or lost. The winner keeps its text and vector, the other memories are hidden unchanged, and their
hashes become aliases of the winner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import TypeVar, assert_never

from wellkept.core.consolidation.findings import order_of
from wellkept.core.consolidation.rules import Rule, Winner
from wellkept.core.records.codec import USAGE, time_from, to_plain
from wellkept.core.records.merge import MAX_PROVENANCE, united
from wellkept.core.text.forms import slot_key
from wellkept.core.text.titles import FURTHER_TITLES, titles, with_titles
from wellkept.types import Json, Memory, RowChange

MERGED_FROM = "merged_from"
PROMOTED = "promoted"
COUNTS = ("confirmations",)
"""Counts are applied as differences, so that changes between planning and execution are kept."""
_OWN_METADATA = (MERGED_FROM, PROMOTED, FURTHER_TITLES)
_TUPLES = ("tags", "provenance")
T = TypeVar("T")


def winner(members: Sequence[Memory], how: Winner) -> Memory:
    """The member whose text remains; ties go to the newer one."""
    match how:
        case "newest":
            return max(members, key=order_of)
        case "oldest":
            return min(members, key=order_of)
        case "most_used":
            return max(members, key=lambda row: (row.access_count, *order_of(row)))
        case "longest":
            return max(members, key=lambda row: (len(row.content), *order_of(row)))
        case _:
            assert_never(how)


def folded(kept: Memory, others: Sequence[Memory], rule: Rule) -> Memory:
    """The winner after the merge; the caller sets `version` and times.

    Importance is the maximum, accesses and confirmations are summed, tags and provenance are merged, a pin is kept, the
    latest expiry counts (none if any has none), and the other titles become further titles.
    """
    everyone = (kept, *others)
    metadata: dict[str, Json] = {}
    for row in reversed(everyone):
        metadata |= {key: value for key, value in row.metadata.items() if key not in _OWN_METADATA}
    promoted = {rule_id: was for row in reversed(everyone) for rule_id, was in promoted_by(row).items()}
    if promoted:  # the highest importance keeps its record of promotions
        metadata[PROMOTED] = promoted
    metadata[MERGED_FROM] = list(_sources(kept, others))
    counted = frozenset(merged_from(kept))
    fresh = [row for row in others if row.id not in counted]
    subject, attribute = _slot(everyone)
    event_time, event_end = _times(everyone)
    expiries = [row.expires_at for row in everyone]
    whole = replace(
        used_by_all(kept, fresh),
        importance=raised(max(row.importance for row in everyone), rule),
        confirmations=kept.confirmations + sum(row.confirmations + 1 for row in fresh),
        tags=_all(row.tags for row in everyone),
        provenance=_all(row.provenance for row in everyone)[:MAX_PROVENANCE],
        pinned=any(row.pinned for row in everyone),
        subject=subject,
        attribute=attribute,
        source=_first(row.source for row in everyone),
        event_time=event_time,
        event_end=event_end,
        expires_at=None if None in expiries else max(at for at in expiries if at is not None),
        metadata=metadata,
    )
    return with_titles(whole, [title for row in everyone for title in titles(row)])


def used_by_all(kept: Memory, others: Iterable[Memory]) -> Memory:
    """The winner with the usage of all members: reads are summed, the latest read and the highest stability count.

    Members that were merged into it before (and restored since) are already counted.
    """
    counted = frozenset(merged_from(kept))
    everyone = (kept, *(row for row in others if row.id not in counted))
    return replace(
        kept,
        access_count=sum(row.access_count for row in everyone),
        last_accessed_at=max((row.last_accessed_at for row in everyone if row.last_accessed_at), default=None),
        stability=max((row.stability for row in everyone if row.stability is not None), default=None),
    )


def merged_from(row: Memory) -> tuple[str, ...]:
    """Ids that an earlier run merged into a memory; other values in that field are ignored."""
    said = row.metadata.get(MERGED_FROM)
    return tuple(one for one in said if isinstance(one, str)) if isinstance(said, list | tuple) else ()


def promoted_by(row: Memory) -> dict[str, Json]:
    """Rules that promoted a memory, with the earlier importance; other values in that field are ignored."""
    said = row.metadata.get(PROMOTED)
    return dict(said) if isinstance(said, Mapping) else {}


def raised(importance: float, rule: Rule) -> float:
    """Importance after the rule's bump, limited by its cap and never lowered.

    Example:
        >>> from wellkept.core.consolidation.rules import DEFAULT_RULES
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

    Usage fields are left to the caller: usage may have changed since the plan.
    """
    values: dict[str, Json] = {}
    for name, value in change.after.items():
        if name in COUNTS:
            values[name] = getattr(memory, name) + value - change.before[name]
        elif name not in USAGE:
            values[name] = _typed(name, value)
    if values.get("status") in ("superseded", "wording"):
        values["superseded_at"] = at
    return replace(memory, **values, updated_at=at, version=memory.version + 1)


def holds(memory: Memory, after: Mapping[str, Json]) -> bool:
    """Whether a memory already has the values of a change; usage and counts are ignored."""
    loose = {*COUNTS, *USAGE}
    return all(to_plain(getattr(memory, name, None)) == value for name, value in after.items() if name not in loose)


def _typed(name: str, value: Json) -> Json:
    if name in _TUPLES:
        return tuple(value)
    if value is not None and (name.endswith("_at") or name in ("event_time", "event_end")):
        return time_from(value)
    return value


def _sources(kept: Memory, others: Sequence[Memory]) -> tuple[str, ...]:
    """Ids of all memories merged into the winner, including earlier merges."""
    earlier = [one for row in (kept, *others) for one in merged_from(row)]
    return tuple(one for one in dict.fromkeys((*earlier, *(row.id for row in others))) if one != kept.id)


def _all(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    for part in parts:
        found = united(found, part)
    return found


def _slot(everyone: Sequence[Memory]) -> tuple[str, str]:
    """Subject and attribute from one statement; halves of two statements are not combined."""
    return _pair([(row.subject, row.attribute) for row in everyone], ("", ""), slot_key)


def _times(everyone: Sequence[Memory]) -> tuple[datetime | None, datetime | None]:
    """Start and end of one event."""
    return _pair([(row.event_time, row.event_end) for row in everyone], (None, None), lambda value: value)


def _pair(said: Sequence[tuple[T, T]], nothing: tuple[T, T], key: Callable[[T], object]) -> tuple[T, T]:
    """The winner's pair, completed by members that agree in its given half; else the first complete pair."""
    one, other = said[0]
    if one and not other:
        return one, next((b for a, b in said if b and key(a) == key(one)), nothing[1])
    if other and not one:
        return next((a for a, b in said if a and key(b) == key(other)), nothing[0]), other
    if not one:
        whole = next((pair for pair in said if all(pair)), None)
        return whole or next((pair for pair in said if any(pair)), nothing)
    return one, other


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")
