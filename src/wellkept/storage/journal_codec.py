"""Compact encoding of journal entries, and decoding to complete entries.

For each changed memory, an entry stores the full former value and only a digest of the new value. The new value is
the former value in the next entry about that memory, or the current row. So an insert does not store its text twice,
and every effect can still be decoded with both its states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from wellkept.core.records.codec import (
    USAGE,
    effect_from,
    entry_from,
    entry_head,
    memory_from,
    text_digest,
    time_from,
    to_plain,
)
from wellkept.errors import Corrupt
from wellkept.types import (
    AliasChange,
    ConflictChange,
    Effect,
    JournalEntry,
    Json,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
)

_FRESH: tuple[Any, ...] = (0, None, None)
"""Usage fields of a memory that was never used, in the order of USAGE."""


def packed(entry: JournalEntry, effects: Sequence[Effect], texts: Sequence[str]) -> Json:
    """The entry as a plain object.

    Args:
        entry: The entry; its own effects and number are ignored.
        effects: The effects that changed something.
        texts: For each effect, the JSON of the memory's new state; empty when there is none.
    """
    plain = entry_head(entry)
    if effects:
        plain["effects"] = [_packed_effect(effect, text) for effect, text in zip(effects, texts, strict=True)]
    return plain


def _packed_effect(effect: Effect, text: str) -> Json:
    if not isinstance(effect, MemoryChange):
        return to_plain(effect)
    memory = effect.before or effect.after
    plain: dict[str, Json] = {"type": "memory", "id": memory.id if memory else ""}
    if effect.before is not None:
        plain["before"] = to_plain(effect.before)
    if effect.after is not None:
        plain["after"] = {"digest": text_digest(text)}
        usage = usage_of(effect.after)
        if usage != (usage_of(effect.before) if effect.before else _FRESH):
            plain["after"]["usage"] = to_plain(usage)
    return plain


def usage_of(memory: Memory) -> tuple[Any, ...]:
    """Access count, last access and stability."""
    return (memory.access_count, memory.last_accessed_at, memory.stability)


def ends_of(effects: Iterable[Effect]) -> list[Memory]:
    """The memories that effects change, as they were before and as they are afterwards."""
    changes = [effect for effect in effects if isinstance(effect, MemoryChange)]
    return [end for effect in changes for end in (effect.before, effect.after) if end is not None]


def changed_ids(plain: Mapping[str, Json]) -> tuple[str, ...]:
    """Ids of the memories whose record a packed entry changed, each once."""
    return tuple(dict.fromkeys(part["id"] for part in plain.get("effects", ()) if part["type"] == "memory"))


def first_before(plain: Mapping[str, Json], memory_id: str) -> Memory | None:
    """The state of a memory before a packed entry."""
    for part in plain.get("effects", ()):
        if part["type"] == "memory" and part["id"] == memory_id:
            before = part.get("before")
            return None if before is None else memory_from(before)
    return None


def unpacked(plain: Mapping[str, Json], seq: int, left: Mapping[str, Memory | None]) -> JournalEntry:
    """The complete entry.

    Args:
        plain: Result of `packed`.
        seq: The entry's number.
        left: State after the entry of each memory that it changed.

    Raises:
        Corrupt: A change left a memory that is neither in a later entry nor in the current rows.
    """
    state: MutableMapping[str, Memory | None] = dict(left)
    effects: list[Effect] = []
    for part in reversed(plain.get("effects", ())):
        if part["type"] != "memory":
            effects.append(effect_from(part))
            continue
        before = memory_from(part["before"]) if "before" in part else None
        after = _after(part, before, state.get(part["id"]), seq) if "after" in part else None
        state[part["id"]] = before
        effects.append(MemoryChange(before, after))
    return entry_from({**plain, "seq": seq}, effects=tuple(reversed(effects)))


def _after(part: Mapping[str, Json], before: Memory | None, state: Memory | None, seq: int) -> Memory:
    if state is None:
        raise Corrupt(
            f"journal entry {seq} left memory {part['id']}, and nothing knows it any more",
            todo="Run `wellkept verify`",
        )
    if state.status == "erased":
        return state
    usage = usage_of(before) if before else _FRESH
    if "usage" in part["after"]:
        count, last, stability = part["after"]["usage"]
        usage = (count, None if last is None else time_from(last), stability)
    return state if usage == usage_of(state) else replace(state, **dict(zip(USAGE, usage, strict=True)))


def concerned_ids(entry: JournalEntry, touched: Iterable[str]) -> tuple[str, ...]:
    """All memory ids under which an entry is listed: its own, those it touched, and the id of a refused text."""
    ids = [entry.memory_id, *entry.memory_ids, *touched]
    if entry.dropped is not None:
        ids.append(entry.dropped.id)
    return tuple(dict.fromkeys(one for one in ids if one))


def same_link(a: Link | None, b: Link | None) -> bool:
    """Whether both are the same edge; the creation time is ignored."""
    if a is None or b is None:
        return a is b
    return (a.src, a.dst, a.rel) == (b.src, b.dst, b.rel)


def is_done(effect: AliasChange | LinkChange | ConflictChange, stored: object) -> bool:
    """Whether the store already has the effect's `after` state, so that the effect changes nothing.

    Such an effect is not journaled: undo of the entry must not remove what existed before it.

    Args:
        effect: The effect.
        stored: For an alias whether it exists; otherwise the stored link or conflict, or None.
    """
    match effect:
        case AliasChange(present=present):
            return present is stored
        case LinkChange(before, after):
            return (after is None) == (stored is None) and not same_link(before, after)
        case ConflictChange(before, after):
            if after is None:
                return stored is None
            return stored == after or (before is None and stored is not None)
