"""The writing transaction: applies effects, appends the journal, erases."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wellkept.core.records.codec import dumps, iso, record_text
from wellkept.core.records.effects import scrubbed, tombstone, touched
from wellkept.core.records.vectors import quantise, restore, unit
from wellkept.errors import EmbedderMismatch, InvalidField
from wellkept.storage.journal_codec import concerned_ids, is_done, packed, same_link, usage_of
from wellkept.storage.memory_rows import columns, conflict_of, link_of, memory_of, micros, said, usage_columns
from wellkept.storage.port import Stale
from wellkept.storage.sqlite.read_transaction import ReadTx
from wellkept.storage.sqlite.rows import words_of
from wellkept.storage.sqlite.session import Session
from wellkept.storage.vectors.index import Row
from wellkept.storage.vectors.matrices import VectorIndex
from wellkept.types import (
    ALL_STATUSES,
    AliasChange,
    Conflict,
    ConflictChange,
    Effect,
    Filter,
    JournalEntry,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
)

if TYPE_CHECKING:
    from wellkept.types import Vector


HEAD = 1000
"""How much of an entry's record tells it from another one of the same number; as in `tx.open`."""


class WriteTx(ReadTx):
    """The only writer of the store while it is open.

    Attributes:
        erased: True when content was removed, so that the file must be wiped after the commit.
    """

    _newest = True

    def __init__(
        self,
        session: Session,
        namespace: str,
        index: VectorIndex,
        snapshot: Callable[[], AbstractContextManager[Session]],
    ) -> None:
        super().__init__(session, namespace, index, snapshot)
        self.erased = False
        self._newest_head = self._head
        self._unfed = False  # whether rows changed that no entry tells of

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """See `Tx.apply`. An effect that is already so changes nothing and is not journaled."""
        self._open()
        kept: list[Effect] = []
        texts: list[str] = []
        moved: dict[str, None] = {}
        fresh = {digest: self._keep_vector(digest, vector) for digest, vector in (vectors or {}).items()}
        for effect in entry.effects:
            match effect:
                case MemoryChange(before, after):
                    texts.append(self._change_memory(before, after, fresh, moved))
                case AliasChange():
                    if not self._change_alias(effect):
                        continue
                    texts.append("")
                case LinkChange():
                    if not self._change_link(effect):
                        continue
                    texts.append("")
                case ConflictChange():
                    if not self._change_conflict(effect):
                        continue
                    texts.append("")
            kept.append(effect)
        self._move_others(entry, fresh, moved)
        return self._append(entry, kept, texts, moved)

    def _open(self) -> None:
        if not self._ns:
            self._ns = self._session.insert("namespace.add", {"name": self.namespace})

    # ---- memories ----

    def _change_memory(
        self,
        before: Memory | None,
        after: Memory | None,
        fresh: Mapping[str, Vector],
        moved: dict[str, None],
    ) -> str:
        memory = after or before
        if memory is None:
            return ""
        if memory.namespace != self.namespace:
            raise InvalidField(
                "a memory of another namespace cannot be written here", where=f"{memory.namespace!r}, {memory.id}"
            )
        text = record_text(after) if after else ""
        if before is None:
            self._insert(memory, text)
        else:
            self._replace(before, after, text)
        moved[memory.id] = None
        self._uncommitted[memory.id] = (
            Row(after.kind, after.status, self._vector(after.embedding, fresh)) if after else None
        )
        return text

    def _insert(self, memory: Memory, text: str) -> None:
        values = (self._ns, memory.id, *columns(memory), *usage_columns(memory), text)
        try:
            place = self._session.insert("memory.insert", values)
        except sqlite3.IntegrityError as error:
            raise Stale(f"memory {memory.id} is already there") from error
        if memory.status == "active":
            self._session.run("words.insert", {"place": place, "terms": words_of(memory, self._ns)})

    def _replace(self, before: Memory, after: Memory | None, text: str) -> None:
        stored = self._session.row("memory.stored", {"ns": self._ns, "id": before.id})
        if stored is None:
            raise Stale(f"memory {before.id} is gone")
        place, version, status, _, record = stored
        if version != before.version or status != before.status:
            raise Stale(f"memory {before.id} is at version {version} ({status}), not {before.version}")
        self._reword(place, status, record, before, after)
        if after is None:
            self._session.run("memory.delete", {"place": place})
            return
        self._session.run("memory.update", (*columns(after), text, place))
        if usage_of(after) != usage_of(before):
            self.touch({after.id: usage_of(after)})

    def _reword(self, place: int, status: str, record: str, before: Memory, after: Memory | None) -> None:
        """Bring the full text in line; what is taken out must be, to the letter, what was put in."""
        shown = after is not None and after.status == "active"
        if status == "active" and shown and after is not None and said(before) == said(after):
            return
        if status == "active":
            self._unword(place, record)
        if shown and after is not None:
            self._session.run("words.insert", {"place": place, "terms": words_of(after, self._ns)})

    def _unword(self, place: int, record: str) -> None:
        stored = memory_of(record, 0, None, None)
        self._session.run("words.delete", {"place": place, "terms": words_of(stored, self._ns)})

    # ---- vectors ----

    def _keep_vector(self, digest: str, vector: Vector) -> Vector:
        if self.foreign:
            raise EmbedderMismatch(
                "the store was moved to another embedder while it was open here",
                where=self._session.where,
                todo="Open it again with that embedder; nothing was written",
            )
        if vector.shape != (self._dim,):
            raise EmbedderMismatch(
                f"a vector has {vector.size} components, the store's embedder {self._dim}",
                where=self._session.where,
                todo="Configure the store for this embedder first",
            )
        try:
            direction = unit(vector)
            if not direction.any():
                raise ValueError("it has no length")
            blob = quantise(direction)
        except ValueError as error:
            raise InvalidField(f"a vector cannot be stored: {error}", where=digest) from error
        self._session.run("vector.put", {"ns": self._ns, "hash": digest, "model": self._model, "vec": blob})
        if self._mixed:
            self._session.run("vector.drop_former", {"ns": self._ns, "hash": digest, "model": self._model})
        return restore(blob)

    def _vector(self, digest: str, fresh: Mapping[str, Vector]) -> Vector | None:
        if not digest:
            return None
        vector = fresh.get(digest)
        return self.vectors([digest]).get(digest) if vector is None else vector

    def _move_others(self, entry: JournalEntry, fresh: Mapping[str, Vector], moved: dict[str, None]) -> None:
        """Memories that get a vector without being changed: a new embedder reads the same texts."""
        if not fresh:
            return
        changes = [effect for effect in entry.effects if isinstance(effect, MemoryChange)]
        others = fresh.keys() - {change.after.embedding for change in changes if change.after}
        if not others:
            return
        if entry.memory_ids:
            ids: Iterable[str] = entry.memory_ids
        else:
            asked = {"ns": self._ns, "hashes": json.dumps(sorted(others), ensure_ascii=False)}
            ids = [memory_id for (memory_id,) in self._session.rows("vector.users", asked)]
        ids = [memory_id for memory_id in ids if memory_id not in moved]
        moved.update(dict.fromkeys(ids))
        self._uncommitted |= self._index_rows(ids, self._session)

    # ---- aliases, links, conflicts ----

    def _change_alias(self, effect: AliasChange) -> bool:
        values = {"ns": self._ns, "hash": effect.hash, "id": effect.memory_id}
        return self._session.run("alias.insert" if effect.present else "alias.delete", values) > 0

    def _change_link(self, effect: LinkChange) -> bool:
        link = effect.after or effect.before
        if link is None:
            return False
        at = {"ns": self._ns, "src": link.src, "dst": link.dst, "rel": link.rel}
        row = self._session.row("link.get", at)
        stored: Link | None = link_of(*row) if row else None
        if is_done(effect, stored):
            return False
        if not same_link(effect.before, stored):
            raise Stale(f"link {link.src} -> {link.dst} ({link.rel}) is not what it was")
        if stored is not None:
            self._session.run("link.delete", at)
        if effect.after is not None:
            made = effect.after.created_at
            self._session.run("link.put", {**at, "created_at": None if made is None else iso(made)})
        return True

    def _change_conflict(self, effect: ConflictChange) -> bool:
        conflict = effect.after or effect.before
        if conflict is None:
            return False
        at = {"ns": self._ns, "key": conflict.key}
        row = self._session.row("conflict.get", at)
        stored: Conflict | None = conflict_of(row[0]) if row else None
        if is_done(effect, stored):
            return False
        if stored != effect.before:
            raise Stale(f"conflict {conflict.key} is not what it was")
        if effect.after is None:
            self._session.run("conflict.delete", at)
            return True
        new = effect.after
        created = micros(new.created_at)
        self._session.run("conflict.put", {**at, "a": new.a, "b": new.b, "created": created, "record": dumps(new)})
        return True

    # ---- journal ----

    def _append(
        self, entry: JournalEntry, effects: Sequence[Effect], texts: Sequence[str], moved: Iterable[str]
    ) -> int:
        seq = self.seq + 1
        values: dict[str, Any] = {
            "ns": self._ns,
            "seq": seq,
            "undoes": entry.undoes,
            "record": dumps(packed(entry, effects, texts)),
            "key": entry.idempotency_key or None,
            "moved": " ".join(moved),
        }
        try:
            self._session.run("journal.insert", values)
        except sqlite3.IntegrityError as error:
            raise Stale(f"idempotency key {entry.idempotency_key!r} is already used") from error
        changed = touched(effect for effect in effects if isinstance(effect, MemoryChange))
        for memory_id in concerned_ids(entry, touched(effects)):
            at = {"ns": self._ns, "id": memory_id, "seq": seq, "changed": memory_id in changed}
            self._session.run("journal.memory", at)
        self._session.run("namespace.set_seq", {"ns": self._ns, "seq": seq})
        self.seq, self._newest_head = seq, values["record"][:HEAD]
        return seq

    def touch(self, usage: Mapping[str, tuple[int, datetime | None, float | None]]) -> None:
        """See `Tx.touch`."""
        self._session.many(
            "memory.set_usage",
            [
                {
                    "ns": self._ns,
                    "id": memory_id,
                    "access_count": count,
                    "last_accessed_at": None if last is None else iso(last),
                    "stability": stability,
                }
                for memory_id, (count, last, stability) in usage.items()
            ],
        )

    # ---- erasure ----

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """See `Tx.erase`. A vector stays only when another memory has the very same text."""
        self._open()
        self.erased = True
        gone = frozenset(ids)
        hashes = self._scrub_journal(gone)
        for memory in self.find(Filter(ids=tuple(gone), statuses=ALL_STATUSES)):
            hashes.add(memory.embedding)
            self._bury(memory, entry.at)
        listed = json.dumps(sorted(gone), ensure_ascii=False)
        for name in ("alias.erase", "link.erase", "conflict.erase"):
            self._session.run(name, {"ns": self._ns, "ids": listed})
        self._drop_vectors(hashes)
        self._session.run("words.optimize")
        clean = scrubbed(entry, gone)
        texts = [
            record_text(effect.after) if isinstance(effect, MemoryChange) and effect.after else ""
            for effect in clean.effects
        ]
        return self._append(clean, clean.effects, texts, sorted(gone))

    def _bury(self, memory: Memory, at: datetime) -> None:
        place, _, status, _, record = self._session.row("memory.stored", {"ns": self._ns, "id": memory.id})
        if status == "active":
            self._unword(place, record)
        left = tombstone(memory, at=at)
        self._session.run("memory.update", (*columns(left), record_text(left), place))
        self.touch({left.id: usage_of(left)})
        self._uncommitted[left.id] = None

    def _scrub_journal(self, gone: frozenset[str]) -> set[str]:
        """Take the memories out of every entry that names them; return the hashes of their former texts."""
        seqs = {
            seq
            for one in gone
            for (seq,) in self._session.rows("journal.mentions", {"ns": self._ns, "id": dumps(one)[1:-1]})
        }
        hashes: set[str] = set()
        if not seqs:
            return hashes
        for entry in self.journal(seqs=seqs):
            for effect in entry.effects:
                if isinstance(effect, MemoryChange):
                    ends = [end for end in (effect.before, effect.after) if end is not None and end.id in gone]
                    hashes.update(end.embedding for end in ends)
            if entry.dropped is not None:
                hashes.add(entry.dropped.embedding)
            clean = scrubbed(entry, gone)
            if clean is entry:
                continue
            texts = [
                record_text(effect.after) if isinstance(effect, MemoryChange) and effect.after else ""
                for effect in clean.effects
            ]
            record = dumps(packed(clean, clean.effects, texts))
            self._session.run("journal.rewrite", {"ns": self._ns, "seq": entry.seq, "record": record})
        return hashes

    def _drop_vectors(self, hashes: set[str]) -> None:
        listed = json.dumps(sorted(hashes - {""}), ensure_ascii=False)
        used = {row[0] for row in self._session.rows("memory.embeddings_in_use", {"ns": self._ns, "hashes": listed})}
        left = json.dumps(sorted(hashes - used - {""}), ensure_ascii=False)
        self._session.run("vector.delete", {"ns": self._ns, "hashes": left})

    # ---- end ----

    def committed(self) -> None:
        """After the commit: bring the shared matrix from the state before to the state after.

        When another transaction has been faster, nothing is done; the next search catches up.
        """
        if self.seq == self._committed and not self._unfed:
            return
        with self._index.use_loaded(self.namespace) as space:
            if space is None:
                return
            with space.lock.changing():
                if self._unfed:
                    space.stamp = None
                elif space.stamp == self._stamp and space.seq == self._committed and space.head == self._head:
                    space.advance(self.seq, self._uncommitted, head=self._newest_head)
