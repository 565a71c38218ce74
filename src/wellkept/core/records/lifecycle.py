"""Status and lifecycle of memories.

Status is stored and changes only by supersede, restore or archive. Lifecycle (ACTIVE, WEAK, DORMANT) is computed from
time and use, so decay never revives a superseded memory or undoes a reactivation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from wellkept.errors import CycleError, IllegalTransition, SelfReference
from wellkept.policy import Decay
from wellkept.types import (
    Conflict,
    ConflictChange,
    Effect,
    Lifecycle,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    Statement,
)

_DAY = 86_400.0


def last_use(memory: Memory) -> datetime:
    """Time of the last read or reactivation; the creation time if never used."""
    return memory.last_accessed_at or memory.created_at


def days_since(time: datetime, now: datetime) -> float:
    """Days from a time to now; a future time counts as now."""
    return max(0.0, (now - time).total_seconds() / _DAY)


def retrievability(memory: Memory, decay: Decay, now: datetime) -> float:
    """`exp(-days since last use / stability)`, 0 to 1; a use in the future counts as now."""
    return math.exp(-days_since(last_use(memory), now) / (memory.stability or decay.stability_days))


def lifecycle(memory: Memory, decay: Decay, now: datetime) -> Lifecycle:
    """ACTIVE, WEAK or DORMANT; pinned memories are always ACTIVE.

    Example:
        An untouched lesson (stability 90 days, bounds .4 and .05) is WEAK after 82.5 days and
        DORMANT after 269.6 days.
    """
    if memory.pinned:
        return "ACTIVE"
    left = retrievability(memory, decay, now)
    if left > decay.weak_below:
        return "ACTIVE"
    return "WEAK" if left > decay.dormant_below else "DORMANT"


DECAY_RATE = 0.1
"""Rate per day of the exponential decay of an unused memory."""


def decay_score(memory: Memory, now: datetime) -> float:
    """Importance after decay: `importance * exp(-0.1 * days since last use)`."""
    return memory.importance * math.exp(-DECAY_RATE * days_since(last_use(memory), now))


def grown_stability(memory: Memory, decay: Decay) -> float:
    """Stability after one more read by id: `min(S * growth * (1 - difficulty / 2), cap)`."""
    grown = (memory.stability or decay.stability_days) * decay.growth * (1 - 0.5 * decay.difficulty)
    return min(grown, decay.cap_days)


def is_expired(memory: Memory, now: datetime) -> bool:
    """Whether `expires_at` has passed."""
    return memory.expires_at is not None and memory.expires_at <= now


def age_of(memory: Memory) -> tuple[datetime, datetime, str]:
    """Sort key: oldest first by event time, creation time and id."""
    return effective_time(memory, memory.created_at), memory.created_at, memory.id


def asserted(memories: Iterable[Memory], now: datetime) -> dict[str, tuple[bool, datetime, datetime, str]]:
    """Sort key of each memory by its id: oldest first, and before all others what begins after `now` only."""
    ages = {memory.id: age_of(memory) for memory in memories}
    return {key: (age[0] <= now, *age) for key, age in ages.items()}


def effective_time(statement: Statement, recorded: datetime) -> datetime:
    """Event time of a statement, or its recording time without one."""
    return statement.event_time or recorded


def is_ahead(new: Statement, old: Memory, *, recorded: datetime, now: datetime) -> bool:
    """Whether one of two statements starts in the future, at another time than the other; neither replaces the other.

    Args:
        new: The newer statement; `recorded` is its recording time.
        old: The stored memory.
        now: Time of the decision.
    """
    ours, theirs = effective_time(new, recorded), effective_time(old, old.created_at)
    return max(ours, theirs) > now and ours != theirs


def next_version(memory: Memory, *, at: datetime) -> Memory:
    """The memory as its next version, in which the caller changes what has changed."""
    return replace(memory, updated_at=at, version=memory.version + 1)


def supersede(old: Memory, new: Memory, *, at: datetime) -> tuple[Effect, ...]:
    """Effects that supersede `old` by `new` and add the `supersedes` link.

    The caller keeps the pin (`inherit`) and checks for cycles (`check_supersession`).
    """
    hidden = replace(next_version(old, at=at), status="superseded", superseded_by=new.id, superseded_at=at)
    return MemoryChange(old, hidden), LinkChange(None, Link(new.id, old.id, "supersedes", at))


def born_superseded(new: Memory, head: Memory, *, at: datetime) -> tuple[Memory, LinkChange]:
    """A late statement about an earlier time: stored as superseded by the current head."""
    hidden = replace(new, status="superseded", superseded_by=head.id, superseded_at=at)
    return hidden, LinkChange(None, Link(head.id, new.id, "supersedes", at))


def born_wording(new: Memory, head: Memory, *, at: datetime) -> tuple[Memory, Link]:
    """A restatement, or an addition that the head took: stored as a wording of its head."""
    kept = replace(new, status="wording", superseded_by=head.id, superseded_at=at)
    return kept, Link(new.id, head.id, "restates", at)


def inherit(new: Memory, old: Memory) -> Memory:
    """The replacement, pinned if the old memory was."""
    return replace(new, pinned=True) if old.pinned and not new.pinned else new


def check_supersession(old: Memory, new: Memory, successor: Callable[[str], str]) -> None:
    """Check that a supersession is valid.

    Args:
        old: The memory to supersede.
        new: The memory to supersede it.
        successor: Gives the id that superseded a given id; empty for a head.

    Raises:
        SelfReference: Both are the same memory.
        CycleError: `old` supersedes `new`, directly or along a chain.
        IllegalTransition: One of them is not active.
    """
    if old.id == new.id:
        raise SelfReference("a memory cannot supersede itself", where=old.id, todo="Name two different memories")
    step, seen = new.id, {old.id}
    while step := successor(step):
        if step == old.id:
            raise CycleError(
                f"{new.id} is already superseded by {old.id}",
                where="supersede",
                todo=f"Restore {new.id} first if it should be current again",
            )
        if step in seen:
            break
        seen.add(step)
    for memory in (old, new):
        if memory.status != "active":
            follow = f" by {memory.superseded_by}" if memory.superseded_by else ""
            raise IllegalTransition(
                f"{memory.id} is {memory.status}{follow}", where="supersede", todo="Restore it first, or name its head"
            )


def restore(
    memory: Memory, *, at: datetime, links: tuple[Link, ...], conflicts: tuple[Conflict, ...]
) -> tuple[Effect, ...]:
    """Effects that make a superseded or archived memory, or a wording, active again.

    The `supersedes` or `restates` link is removed. A conflict resolved against this memory is reopened for review.

    Raises:
        IllegalTransition: The memory was erased.
    """
    if memory.status == "erased":
        raise IllegalTransition(f"{memory.id} was erased; nothing is left to restore", where="restore")
    back = replace(next_version(memory, at=at), status="active", superseded_by="", superseded_at=None)
    if memory.status == "archived":
        # Restoring counts as a use, so that the next decay pass does not archive it again.
        back = replace(back, access_count=memory.access_count + 1, last_accessed_at=at)
    effects: list[Effect] = [MemoryChange(memory, back)]
    effects += [
        LinkChange(link, None)
        for link in links
        if (link.rel, link.src, link.dst)
        in (("supersedes", memory.superseded_by, memory.id), ("restates", memory.id, memory.superseded_by))
    ]
    for conflict in conflicts:
        lost = {"keep_new": conflict.a, "keep_old": conflict.b}.get(conflict.resolution or "")
        if lost == memory.id:
            effects.append(ConflictChange(conflict, replace(conflict, resolution=None, resolved_at=None)))
    return tuple(effects)


def archive(memory: Memory, *, at: datetime) -> tuple[Effect, ...]:
    """Effects of `forget`: the memory is archived and can be restored.

    Raises:
        IllegalTransition: The memory is not active.
    """
    if memory.status == "wording":
        todo = "Erase it, forget its head, or split it off first"
        raise IllegalTransition(f"{memory.id} is a wording of {memory.superseded_by}", where="forget", todo=todo)
    if memory.status != "active":
        raise IllegalTransition(f"{memory.id} is {memory.status} already", where="forget", todo="Nothing is to be done")
    return (MemoryChange(memory, replace(next_version(memory, at=at), status="archived")),)


def head_of(memory: Memory, known: Mapping[str, Memory]) -> Memory:
    """The head of a supersession chain, as far as `known` contains it."""
    seen = {memory.id}
    while memory.superseded_by in known and memory.superseded_by not in seen:
        memory = known[memory.superseded_by]
        seen.add(memory.id)
    return memory
