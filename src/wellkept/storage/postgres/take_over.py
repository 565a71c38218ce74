"""Taking over what another store holds: rows and entries to the letter, without a decision (`storage.port.Moving`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from wellkept.core.records.codec import dumps, iso, record_text
from wellkept.storage.journal_codec import usage_of
from wellkept.storage.memory_rows import micros
from wellkept.storage.port import Stale
from wellkept.storage.postgres.write_transaction import PLACES_OF_AN_ENTRY, WriteTx
from wellkept.types import AliasChange, ConflictChange, Effect, JournalEntry, LinkChange, MemoryChange

if TYPE_CHECKING:
    from wellkept.types import Vector

_TABLES = ("memory", "words", "vector", "alias", "link", "conflict", "journal_memory", "journal")


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
        if afresh:
            self._empty()
        fresh = self._keep_vectors(vectors or {})
        before = self.seq
        for entry in entries:
            if entry.seq != self.seq + 1:
                raise Stale(f"entry {entry.seq} does not follow entry {self.seq}")
            texts, moved = self._take_over(entry.effects, fresh, self.seq + 1)
            self._append(entry, entry.effects, texts, moved)
        left = tuple(loose)
        if left:
            self._take_over(left, fresh, 0)
        self._unfed = self._unfed or bool(left) or (bool(fresh) and self.seq == before)
        return self.seq

    def _empty(self) -> None:
        """Remove everything the namespace holds."""
        at = {"ns": self._ns}
        self._uncommitted |= {memory_id: None for (memory_id,) in self._session.rows("clear.ids", at)}
        for table in _TABLES:
            self._session.run(f"clear.{table}", at)
        self.seq = 0
        self._unfed = True

    def _take_over(
        self, effects: Sequence[Effect], fresh: Mapping[str, Vector], seq: int
    ) -> tuple[list[str], list[str]]:
        """Put in force what effects leave, whatever is there.

        Args:
            effects: In their order.
            fresh: Vectors that came with them.
            seq: The entry they belong to; 0 for none.

        Returns:
            Beside each effect the JSON of the memory it leaves, and the ids of the memories.
        """
        held = self._held(effects)
        # Rows without an entry come behind all that are there; entries have room for very many of them.
        first = seq * PLACES_OF_AN_ENTRY or self._session.row("memory.last_place", {"ns": self._ns})[0] + 1
        texts = []
        for effect in effects:
            text = ""
            match effect:
                case MemoryChange(before, after):
                    memory = after or before
                    if memory is not None:
                        row = held[memory.id]
                        row.after, row.words = after, True
                        row.usage = usage_of(after) if after else None
                        row.place = None if after is None else first + row.at if row.place is None else row.place
                        text = record_text(after) if after else ""
                case AliasChange():
                    self._change_alias(effect)
                case LinkChange():
                    self._take_link(effect)
                case ConflictChange():
                    self._take_conflict(effect)
            texts.append(text)
        self._write_memories(held)
        self._move(held, fresh)
        return texts, list(held)

    def _take_link(self, effect: LinkChange) -> None:
        link = effect.after or effect.before
        if link is None:
            return
        at = {"ns": self._ns, "src": link.src, "dst": link.dst, "rel": link.rel}
        self._session.run("link.delete", at)
        if effect.after is not None:
            made = effect.after.created_at
            self._session.run("link.put", {**at, "created_at": None if made is None else iso(made)})

    def _take_conflict(self, effect: ConflictChange) -> None:
        conflict, after = effect.after or effect.before, effect.after
        if conflict is None:
            return
        at = {"ns": self._ns, "key": conflict.key}
        if after is None:
            self._session.run("conflict.delete", at)
            return
        created = micros(after.created_at)
        self._session.run(
            "conflict.put", {**at, "a": after.a, "b": after.b, "created": created, "record": dumps(after)}
        )
