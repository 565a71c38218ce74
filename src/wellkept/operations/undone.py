"""The changes made by an undo, for people and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.errors import NotFound
from wellkept.frozen import frozen
from wellkept.types import Memory, MemoryChange

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore


@frozen
class Change:
    """A memory before the undo and now; None when it does not exist."""

    memory_id: str
    before: Memory | None
    after: Memory | None


def changes_of(store: MemoryStore, made: int) -> tuple[Change, ...]:
    """The changes of each memory by an undo.

    Args:
        store: The store.
        made: The journal entry of the undo.
    """
    [entry] = [item for item in store.journal(after=made - 1) if item.seq == made]
    changes = []
    for effect in entry.effects:
        if not isinstance(effect, MemoryChange):
            continue
        changed = effect.before or effect.after
        if changed is not None:
            changes.append(Change(changed.id, effect.before, stored(store, changed.id)))
    return tuple(changes)


def stored(store: MemoryStore, memory_id: str) -> Memory | None:
    """A memory, if it exists; reading it here does not count as use."""
    try:
        return store.get(memory_id, touch=False)
    except NotFound:
        return None
