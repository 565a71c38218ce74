"""When a memory held in the world, as far as it says: from its event to its end or its replacement."""

from __future__ import annotations

from datetime import datetime

from wellkept.core.records.lifecycle import effective_time, is_expired
from wellkept.types import Memory


def replaced_at(memory: Memory, successor: Memory | None) -> datetime | None:
    """When another statement took this one's place in the world; None if none did.

    That is when the successor became true, which may be long before somebody wrote it down. Where that
    cannot be, since the other is the older one, it is when the memory was superseded.
    """
    if memory.status != "superseded":
        return None
    if successor is not None:
        then = effective_time(successor, successor.created_at)
        if then > effective_time(memory, memory.created_at):
            return then
    return memory.superseded_at or memory.updated_at


def held_at(memory: Memory, successor: Memory | None, at: datetime) -> bool:
    """Whether the statement was true at a moment: begun, and neither ended nor replaced yet.

    Args:
        memory: The memory. Without `event_time` it counts from when it was written: before that, nobody
            had said so. Its last moment, `event_end`, still counts.
        successor: What replaced it, if that is known.
        at: The moment.
    """
    end = replaced_at(memory, successor)
    return (
        effective_time(memory, memory.created_at) <= at
        and (memory.event_end is None or at <= memory.event_end)
        and not is_expired(memory, at)
        and (end is None or at < end)
    )
