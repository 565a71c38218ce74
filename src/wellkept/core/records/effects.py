"""Effects as values: inverse, touched memories, and erasure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import fields, replace
from datetime import datetime
from operator import attrgetter
from typing import assert_never

from wellkept.core.records.codec import USAGE
from wellkept.core.records.wikilinks import is_waiting
from wellkept.types import (
    AliasChange,
    ConflictChange,
    Effect,
    JournalEntry,
    LinkChange,
    Match,
    Memory,
    MemoryChange,
    Reason,
)

_recorded = attrgetter(*(field.name for field in fields(Memory) if field.name not in USAGE))


def invert(effect: Effect) -> Effect:
    """The inverse effect; inverting twice gives the original."""
    match effect:
        case MemoryChange(before, after):
            return MemoryChange(after, before)
        case AliasChange(memory_id, digest, present):
            return AliasChange(memory_id, digest, not present)
        case LinkChange(before_link, after_link):
            return LinkChange(after_link, before_link)
        case ConflictChange(before_conflict, after_conflict):
            return ConflictChange(after_conflict, before_conflict)
        case _:
            assert_never(effect)


def touched(effects: Iterable[Effect]) -> tuple[str, ...]:
    """Ids of the memories that effects touch, each once, in order of appearance.

    Both ends of a link and both sides of a conflict count; the name of a waiting link does not.
    """
    ids: dict[str, None] = {}
    for effect in effects:
        for memory_id in _named(effect):
            ids.setdefault(memory_id)
    return tuple(ids)


def _named(effect: Effect) -> tuple[str, ...]:
    match effect:
        case MemoryChange(before, after):
            memory = before or after
            return (memory.id,) if memory else ()
        case AliasChange(memory_id):
            return (memory_id,)
        case LinkChange(before_link, after_link):
            link = before_link or after_link
            return tuple(end for end in (link.src, link.dst) if not is_waiting(end)) if link else ()
        case ConflictChange(before_conflict, after_conflict):
            conflict = before_conflict or after_conflict
            return (conflict.a, conflict.b) if conflict else ()
        case _:
            assert_never(effect)


def same_record(a: Memory | None, b: Memory | None) -> bool:
    """Whether two memories are equal apart from usage fields; None equals only None."""
    if a is None or b is None:
        return a is b
    return a is b or bool(_recorded(a) == _recorded(b))


# --------------------------------------------------------------------------------------------
# Erasure


def tombstone(memory: Memory, *, at: datetime | None = None) -> Memory:
    """The remains of an erased memory: id, namespace, kind, times and status.

    Args:
        memory: The memory before the erasure.
        at: Time of the erasure; the tombstone is then the next version. None keeps version and time, for copies of
            earlier versions in the journal.
    """
    return Memory(
        id=memory.id,
        namespace=memory.namespace,
        kind=memory.kind,
        content="",
        status="erased",
        created_at=memory.created_at,
        updated_at=at or memory.updated_at,
        version=memory.version + 1 if at else memory.version,
    )


def scrubbed(entry: JournalEntry, ids: Collection[str]) -> JournalEntry:
    """The entry without any content of the erased memories.

    Their earlier versions become tombstones; their aliases, links and conflicts are removed. If the entry concerns one
    of them, the refused text and the reason details are removed, because they may quote it. If one was only a match,
    its title and differences are removed. A reading of it is removed: its digest could confirm a guessed text.
    """
    if entry.reading is not None and any(one in ids for one in entry.reading.memory_ids):
        entry = replace(entry, reading=None)
    matched = any(match.memory_id in ids for match in entry.matches)
    concerned = (
        entry.memory_id in ids
        or any(one in ids for one in entry.memory_ids)
        or any(one in ids for one in touched(entry.effects))
        or (entry.dropped is not None and entry.dropped.id in ids)
    )
    if not (concerned or matched):
        return entry
    dropped = entry.dropped
    return replace(
        entry,
        effects=tuple(left for effect in entry.effects if (left := _scrubbed_effect(effect, ids)) is not None),
        dropped=tombstone(dropped) if dropped is not None and concerned else dropped,
        reasons=tuple(Reason(reason.rule, "") for reason in entry.reasons),
        matches=tuple(_scrubbed_match(match, ids, whole=concerned) for match in entry.matches),
        payload="" if concerned else entry.payload,  # a short secret could be guessed from its hash
        reading=None if concerned else entry.reading,
    )


def _scrubbed_effect(effect: Effect, ids: Collection[str]) -> Effect | None:
    if not any(one in ids for one in _named(effect)):
        return effect
    if not isinstance(effect, MemoryChange):
        return None
    return MemoryChange(
        tombstone(effect.before) if effect.before else None,
        tombstone(effect.after) if effect.after else None,
    )


def _scrubbed_match(match: Match, ids: Collection[str], *, whole: bool) -> Match:
    if match.memory_id in ids:
        return replace(match, title="", differences=())
    # A difference quotes both texts, so it is removed when either is erased.
    return replace(match, differences=()) if whole else match
