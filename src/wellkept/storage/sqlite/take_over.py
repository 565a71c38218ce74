"""Taking over what another store holds: rows and entries to the letter, without a decision (`storage.port.Moving`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from wellkept.core.records.codec import dumps, iso, record_text
from wellkept.errors import InvalidField
from wellkept.storage.journal_codec import usage_of
from wellkept.storage.memory_rows import columns, memory_of, micros
from wellkept.storage.port import Stale
from wellkept.storage.sqlite.write_transaction import WriteTx
from wellkept.storage.vectors.index import Row
from wellkept.types import (
    AliasChange,
    Conflict,
    ConflictChange,
    Effect,
    JournalEntry,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
)

if TYPE_CHECKING:
    from wellkept.types import Vector

_TABLES = ("memory", "vector", "alias", "link", "conflict", "journal_memory", "journal")
_ROWS_AT_ONCE = 1000


class RestoringTx(WriteTx):
    """A writing transaction that can also take over what another store holds."""

    def restore(
        self,
        entries: Iterable[JournalEntry],
        *,
        loose: Iterable[Effect] = (),
        vectors: Mapping[str, Vector] | None = None,
        afresh: bool = False,
    ) -> int:
        """See `Moving.restore`."""
        self._open()
        if afresh:
            self._empty()
        fresh = {digest: self._keep_vector(digest, vector) for digest, vector in (vectors or {}).items()}
        before = self.seq
        moved: dict[str, None] = {}
        for entry in entries:
            if entry.seq != self.seq + 1:
                raise Stale(f"entry {entry.seq} does not follow entry {self.seq}")
            moved = {}
            texts = [self._take_over(effect, fresh, moved) for effect in entry.effects]
            self._append(entry, entry.effects, texts, moved)
        for effect in loose:
            self._take_over(effect, fresh, moved)
            self._unfed = True
        self._unfed = self._unfed or (bool(fresh) and self.seq == before)
        return self.seq

    def _empty(self) -> None:
        """Remove everything the namespace holds."""
        at = {"ns": self._ns}
        for rows in self._session.blocks("clear.words", at, _ROWS_AT_ONCE):
            for place, record in rows:
                self._unword(place, record)
        self._uncommitted |= {memory_id: None for (memory_id,) in self._session.rows("clear.ids", at)}
        for table in _TABLES:
            self._session.run(f"clear.{table}", at)
        self._session.run("words.optimize")  # else the terms of what is gone stay in the full text
        self._session.run("namespace.set_seq", {**at, "seq": 0})
        self.seq = 0
        self.erased = self._unfed = True

    def _take_over(self, effect: Effect, fresh: Mapping[str, Vector], moved: dict[str, None]) -> str:
        """Put in force what an effect leaves; returns the JSON of the memory it leaves, if any."""
        match effect:
            case MemoryChange(before, after):
                memory = after or before
                return "" if memory is None else self._take_memory(memory, after, fresh, moved)
            case AliasChange():
                self._change_alias(effect)
            case LinkChange(before_link, after_link):
                link = after_link or before_link
                if link is not None:
                    self._take_link(link, after_link)
            case ConflictChange(before_conflict, after_conflict):
                conflict = after_conflict or before_conflict
                if conflict is not None:
                    self._take_conflict(conflict, after_conflict)
        return ""

    def _take_memory(
        self, memory: Memory, after: Memory | None, fresh: Mapping[str, Vector], moved: dict[str, None]
    ) -> str:
        if memory.namespace != self.namespace:
            raise InvalidField(
                "a memory of another namespace cannot be written here", where=f"{memory.namespace!r}, {memory.id}"
            )
        text = record_text(after) if after is not None else ""
        stored = self._session.row("memory.stored", {"ns": self._ns, "id": memory.id})
        if stored is None:
            if after is not None:
                self._insert(after, text)
        else:
            place, _, status, _, record = stored
            self._reword(place, status, record, memory_of(record, 0, None, None), after)
            if after is None:
                self._session.run("memory.delete", {"place": place})
            else:
                self._session.run("memory.update", (*columns(after), text, place))
                self.touch({after.id: usage_of(after)})
        moved[memory.id] = None
        self._uncommitted[memory.id] = (
            None if after is None else Row(after.kind, after.status, self._vector(after.embedding, fresh))
        )
        return text

    def _take_link(self, link: Link, after: Link | None) -> None:
        at = {"ns": self._ns, "src": link.src, "dst": link.dst, "rel": link.rel}
        self._session.run("link.delete", at)
        if after is not None:
            made = after.created_at
            self._session.run("link.put", {**at, "created_at": None if made is None else iso(made)})

    def _take_conflict(self, conflict: Conflict, after: Conflict | None) -> None:
        at = {"ns": self._ns, "key": conflict.key}
        if after is None:
            self._session.run("conflict.delete", at)
            return
        created = micros(after.created_at)
        row = {**at, "a": after.a, "b": after.b, "created": created, "record": dumps(after)}
        self._session.run("conflict.put", row)
