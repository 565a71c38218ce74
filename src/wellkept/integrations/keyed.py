"""Memories that a framework finds by a key of its own: which row holds a key, and writing a row for one.

A framework expects that what it put under a key is there. So a text goes through the gate, which compares it, and if
the gate adds no row for it, because it is known or looks like filler, the key gets a row all the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Unpack

from wellkept.errors import IllegalTransition, WellkeptError
from wellkept.types import ALL_STATUSES, Filter, Memory, MemoryFields, Status

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

HELD: tuple[Status, ...] = ("active", "wording", "superseded")
"""Statuses of a row that still holds its key; a forgotten one is archived."""


class KeyedRows:
    """The rows of one namespace by key, kept in step with the journal, so that a key is found without a scan.

    Other processes may write too: each question first reads what the journal has gained.

    Args:
        memories: The namespace.
        key_of: The key of a row.
        is_apart: Whether a row is left out of searches; `apart` has the ids of those.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     rows = KeyedRows(store, lambda row: row.title)
        ...     _ = store.remember("Tea is upstairs.", title="tea")
        ...     [row.content for row in rows.of("tea")]
        ['Tea is upstairs.']
    """

    def __init__(
        self, memories: MemoryStore, key_of: Callable[[Memory], str], is_apart: Callable[[Memory], bool] | None = None
    ) -> None:
        self.memories = memories
        self._key_of, self._is_apart = key_of, is_apart
        self._apart: set[str] = set()
        self._seen = -1
        self._ids: dict[str, list[str]] = {}
        self._keys: dict[str, str] = {}
        self._lock = threading.RLock()

    def of(self, key: str) -> list[Memory]:
        """The rows that hold a key, oldest first; more than one if two processes wrote it at the same time."""
        with self._lock:
            self._catch_up()
            ids = tuple(self._ids.get(key, ()))
        return [row for row in rows_of(self.memories, ids=ids) if self._key_of(row) == key] if ids else []

    def newest(self, key: str) -> Memory | None:
        """The row that a key stands for; None if there is none, or if it has expired."""
        return next((row for row in reversed(self.of(key)) if is_current(row, now(self.memories))), None)

    @property
    def apart(self) -> frozenset[str]:
        """Ids of the rows that are left out of searches."""
        with self._lock:
            self._catch_up()
            return frozenset(self._apart)

    def _catch_up(self) -> None:
        if self._seen < 0:
            newest = self.memories.journal(newest=1)  # before the rows: what comes between is read again
            rows = self.memories.list(Filter(statuses=HELD))
            self._seen = newest[-1].seq if newest else 0
        else:
            entries = self.memories.journal(after=self._seen)
            if not entries:
                return
            changed = tuple(dict.fromkeys(one for entry in entries for one in entry.memory_ids))
            rows = self.memories.list(Filter(ids=changed, statuses=ALL_STATUSES)) if changed else ()
            self._drop(changed)
            self._seen = entries[-1].seq
        for row in rows:
            if row.status in HELD:
                key = self._keys[row.id] = self._key_of(row)
                self._ids.setdefault(key, []).append(row.id)
                if self._is_apart is not None and self._is_apart(row):
                    self._apart.add(row.id)

    def _drop(self, ids: Sequence[str]) -> None:
        self._apart.difference_update(ids)
        for one in ids:
            if (key := self._keys.pop(one, None)) is not None:
                self._ids[key].remove(one)
                if not self._ids[key]:
                    del self._ids[key]


def rows_of(memories: MemoryStore, *, ids: tuple[str, ...] | None = None, limit: int | None = None) -> list[Memory]:
    """The rows of a namespace that hold a key and have not expired, oldest first."""
    moment = now(memories)
    rows = memories.list(Filter(ids=ids, statuses=HELD), limit=limit)
    return [row for row in rows if is_current(row, moment)]


def is_current(row: Memory, moment: datetime) -> bool:
    """Whether a row has not expired."""
    return row.expires_at is None or row.expires_at > moment


def now(memories: MemoryStore) -> datetime:
    """The time by the clock of a store."""
    return memories._ctx.clock()


def new_key(memories: MemoryStore) -> str:
    """A key that nothing has, from the ids of a store: for a write that may repeat the words of another one."""
    return f"once:{memories._ctx.new_id()}"


def write(memories: MemoryStore, content: str, *, compared: bool = True, **fields: Unpack[MemoryFields]) -> Memory:
    """Write a text through the gate; the row that holds it alone.

    Args:
        memories: The namespace.
        content: The text.
        compared: False stores it without looking for duplicates or conflicts.
        **fields: As of `remember`.

    Returns:
        The row: active, or a wording behind the memory that it restates.

    Raises:
        IllegalTransition: The write waits in a queue; a framework cannot read it back.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     first, again = write(store, "Tea is upstairs."), write(store, "tea is upstairs")
        ...     first.id == again.id, write(store, "ok").content
        (False, 'ok')
    """
    fields["keep"] = True
    memories = type(memories)(replace(memories._ctx, store_policy=memories._ctx.policy))  # judged at once
    result = memories.remember(content, on_conflict=None if compared else "ignore", **fields)
    match result.outcome:
        case "rejected" | "reused":
            memories.restore(result.dropped)
            return memories.get(result.dropped, touch=False)
        case "restated":
            own = next(link.src for link in result.links if link.rel == "restates")
            return memories.get(own, touch=False)
        case "duplicate" if compared:  # the confirmation stays
            return write(memories, content, compared=False, **fields)
        case "evolved":
            memories.undo(result.entry)
            return write(memories, content, compared=False, **fields)
        case _ if result.memory is None:
            todo = "Leave the `deferred` block, or open the store again"
            raise IllegalTransition("a framework reads its writes back; this one waits", where="queue", todo=todo)
        case _:
            return result.memory


def rewrite(memories: MemoryStore, row: Memory, content: str, **fields: Unpack[MemoryFields]) -> Memory:
    """Give the row of a key another text. A wording or a replaced row that says something else becomes one of its own.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     row = rewrite(store, write(store, "Tea is upstairs."), "Tea is downstairs.")
        ...     row.content, row.version
        ('Tea is downstairs.', 2)
    """
    if row.status == "active" or row.content == content:
        return memories.revise(row.id, content=content, **fields)
    if row.status == "wording":
        parted = memories.split(row.id)
    else:
        memories.restore(row.id)
        parted = memories.journal(newest=1)[0].seq
    try:
        return memories.revise(row.id, content=content, **fields)
    except WellkeptError:
        memories.undo(parted)  # a refused text leaves the row as it was
        raise


def drop(memories: MemoryStore, row: Memory) -> None:
    """Forget the row of a key, whatever its status. Wordings behind it hold keys of their own: they are listed again.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     row = write(store, "Tea is upstairs.")
        ...     drop(store, row)
        ...     rows_of(store)
        []
    """
    match row.status:
        case "wording":
            memories.split(row.id)
        case "superseded":
            memories.restore(row.id)
        case _:
            for behind in memories.list(Filter(statuses=("wording",))):
                if behind.superseded_by == row.id:
                    memories.split(behind.id)
    memories.forget(row.id)
