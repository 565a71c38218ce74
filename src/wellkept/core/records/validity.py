"""Valid time of a memory: from its event to its end or its replacement."""

from __future__ import annotations

from datetime import datetime

from wellkept.core.records.lifecycle import effective_time, is_expired
from wellkept.types import Memory


def replaced_at(memory: Memory, successor: Memory | None) -> datetime | None:
    """When another statement replaced this one in valid time; None if none did.

    That is the successor's event time, which may precede its recording. If the successor is the older one, it is the
    time of supersession.
    """
    if memory.status != "superseded":
        return None
    if successor is not None:
        then = effective_time(successor, successor.created_at)
        if then > effective_time(memory, memory.created_at):
            return then
    return memory.superseded_at or memory.updated_at


def held_at(memory: Memory, successor: Memory | None, at: datetime) -> bool:
    """Whether the statement held at a time: started, not ended, not replaced.

    Args:
        memory: The memory. Without `event_time` it starts at its recording time. `event_end` is inclusive.
        successor: The memory that replaced it, if known.
        at: The time.
    """
    end = replaced_at(memory, successor)
    return (
        effective_time(memory, memory.created_at) <= at
        and (memory.event_end is None or at <= memory.event_end)
        and not is_expired(memory, at)
        and (end is None or at < end)
    )
