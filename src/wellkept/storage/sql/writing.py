"""The writing transaction of the SQL backends: applies effects, appends journal entries, erases, restores.

An entry is applied in two steps: the new state of each memory is computed first, and written once at the end.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wellkept.core.records.codec import dumps, iso, record_text
from wellkept.core.records.effects import scrubbed, tombstone, touched
from wellkept.errors import EmbedderMismatch, InvalidField
from wellkept.storage.journal_codec import concerned_ids, ends_of, is_done, packed, same_link, usage_of
from wellkept.storage.memory_rows import conflict_of, link_of, micros, said, usage_columns, vector_blob
from wellkept.storage.port import Stale, Usage
from wellkept.storage.sql.reading import ReadTx
from wellkept.storage.vectors.rows import Row
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

_TABLES = ("memory", "vector", "alias", "link", "conflict", "journal_memory", "journal")
HEAD = 1000
"""Characters of an entry's record that identify it among entries of the same number; as in `journal.head`."""


@dataclass(slots=True)
class Held:
    """The state of one memory while an entry is applied; written once at the end.

    Attributes:
        new_place: Its place in the insertion order if it is inserted.
        former: Its place before the entry; None without a row.
        place: Its current place.
        version: Its current version.
        status: Its current status.
        found_by: Its full-text content before the entry, in the backend's form.
        after: The new state of the row; None if it is removed.
        text: The record of `after`.
        usage: Usage fields to set, if an effect changes them.
        words: Whether its full text must be rebuilt.
    """

    new_place: int
    former: int | None = None
    place: int | None = None
    version: int = 0
    status: str = ""
    found_by: str | None = None
    after: Memory | None = None
    text: str = ""
    usage: tuple[Any, ...] | None = None
    words: bool = False


class WriteTx(ReadTx):
    """A writing transaction, the only writer of its namespace."""

    _newest = True
    _newest_head = ""
    _unfed = False
    """Whether rows changed without a journal entry."""

    # ---- implemented by a backend ----

    @abstractmethod
    def _insert_entry(self, values: dict[str, Any]) -> bool:
        """Insert a journal entry; False if its idempotency key is already used."""

    @abstractmethod
    def _columns(self, memory: Memory) -> tuple[Any, ...]:
        """The columns derived from the record, in the order of `memory.update`."""

    @abstractmethod
    def _write_words(self, held: Iterable[Held]) -> None:
        """Update the full text of rows with `words` set."""

    @abstractmethod
    def _clear_words(self) -> None:
        """Remove the namespace from the full text."""

    def _open(self) -> None:
        """Create the namespace if it does not exist."""

    def _first_place(self) -> int:
        """The place of the first row that an entry inserts."""
        return self._next_place()

    def _next_place(self) -> int:
        """The place after all existing rows."""
        last: int = self._session.row("memory.last_place", {"ns": self._ns})[0]
        return last + 1

    # ---- entries ----

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """See `Tx.apply`. An effect that changes nothing is not journaled."""
        self._open()
        kept: list[Effect] = []
        texts: list[str] = []
        fresh = self._keep_vectors(vectors or {})
        aliases = [effect for effect in entry.effects if isinstance(effect, AliasChange)]
        held, counts, known = self._held(entry.effects, self._first_place, aliases, fresh)
        changed = iter(counts)
        for effect in entry.effects:
            text = ""
            match effect:
                case MemoryChange(before, after):
                    text = record_text(after) if after else ""
                    self._change_memory(before, after, text, held)
                case AliasChange():
                    if not next(changed):
                        continue
                case LinkChange():
                    if not self._change_link(effect):
                        continue
                case ConflictChange():
                    if not self._change_conflict(effect):
                        continue
            kept.append(effect)
            texts.append(text)
        self._write_memories(held, {**known, **fresh})
        others = self._others(entry, fresh, held)
        self._uncommitted |= self._index_rows(others, self._session) if others else {}
        return self._append(entry, kept, texts, [*held, *others])

    # ---- memories ----

    def _held(
        self,
        effects: Sequence[Effect],
        first_place: Callable[[], int],
        aliases: Sequence[AliasChange] = (),
        fresh: Mapping[str, Vector] = MappingProxyType({}),
    ) -> tuple[dict[str, Held], list[int], dict[str, Vector]]:
        """The current state of every changed memory, in the order of the effects.

        Aliases are changed on the same trip; for each, whether it was. So are the vectors of the new texts read, by
        hash, besides the fresh ones.
        """
        held: dict[str, Held] = {}
        new_place = 0
        for effect in effects:
            memory = (effect.after or effect.before) if isinstance(effect, MemoryChange) else None
            if memory is None:
                continue
            if memory.namespace != self.namespace:
                raise InvalidField(
                    "a memory of another namespace cannot be written here", where=f"{memory.namespace!r}, {memory.id}"
                )
            if memory.id not in held:
                new_place = new_place + 1 if held else first_place()
                held[memory.id] = Held(new_place)
        asked: list[tuple[str, Mapping[str, Any]]] = [self._alias(effect) for effect in aliases]
        ends = [effect.after for effect in effects if isinstance(effect, MemoryChange)]
        texts = self._vectors_of({after.embedding for after in ends if after} - fresh.keys() - {""})
        if held:
            asked += [*texts, ("memory.held", {"ns": self._ns, "ids": list(held)})]
        answers = self._session.batch(asked) if asked else []
        known: dict[str, Vector] = {}
        if held:
            for memory_id, place, version, status, found_by in answers.pop().rows:
                held[memory_id] = Held(held[memory_id].new_place, place, place, version, status, found_by)
            if texts:
                known = self._usable_vectors(answers.pop().rows)
        return held, [one.changed for one in answers], known

    def _change_memory(self, before: Memory | None, after: Memory | None, text: str, held: Mapping[str, Held]) -> None:
        memory = after or before
        if memory is None:
            return
        row = held[memory.id]
        if before is None and row.place is not None:
            raise Stale(f"memory {memory.id} is already there")
        if before is not None and row.place is None:
            raise Stale(f"memory {memory.id} is gone")
        if before is not None and (row.version, row.status) != (before.version, before.status):
            raise Stale(f"memory {memory.id} is at version {row.version} ({row.status}), not {before.version}")
        row.after, row.text = after, text
        if after is None:
            row.place, row.words, row.usage = None, True, None
            return
        if before is None:
            row.place = row.new_place
            row.usage = usage_of(after)
        elif usage_of(after) != usage_of(before):
            row.usage = usage_of(after)
        row.words |= before is None or before.status != after.status or said(before) != said(after)
        row.version, row.status = after.version, after.status

    def _write_memories(self, held: Mapping[str, Held], known: Mapping[str, Vector]) -> None:
        gone = [one for one, row in held.items() if row.former is not None and row.place != row.former]
        if gone:
            self._session.put("memory.delete", [{"ns": self._ns, "ids": list(gone)}])
        inserts: list[Sequence[Any]] = []
        updates: list[Sequence[Any]] = []
        usage: dict[str, tuple[Any, ...]] = {}
        for memory_id, row in held.items():
            memory = row.after
            if memory is None:
                continue
            if row.place != row.former:
                used = usage_columns(*(row.usage or usage_of(memory)))
                inserts.append((self._ns, memory_id, row.place, *self._columns(memory), *used, row.text))
                continue
            updates.append((*self._columns(memory), row.text, self._ns, memory_id))
            if row.usage is not None:
                usage[memory_id] = row.usage
        self._session.put("memory.insert", inserts)
        self._session.put("memory.update", updates)
        if usage:
            self.touch(usage)
        self._write_words([row for row in held.values() if row.words])
        self._move(held, known)

    def _move(self, held: Mapping[str, Held], known: Mapping[str, Vector]) -> None:
        """Make changed rows visible to searches in this transaction; some of their vectors are known."""
        wanted = {row.after.embedding for row in held.values() if row.after} - known.keys() - {""}
        vectors = {**self.vectors(wanted), **known}
        for memory_id, row in held.items():
            after = row.after
            self._uncommitted[memory_id] = (
                None if after is None else Row(after.kind, after.status, vectors.get(after.embedding))
            )

    # ---- vectors ----

    def _keep_vectors(self, vectors: Mapping[str, Vector]) -> dict[str, Vector]:
        """Store vectors; returns the stored ones by hash."""
        from wellkept.core.records.vectors import restore

        blobs = {digest: self._checked_vector(digest, vector) for digest, vector in vectors.items()}
        at = {"ns": self._ns, "model": self._model}
        rows = [{**at, "hash": one, "vec": self._session.vector(blob)} for one, blob in blobs.items()]
        self._session.put("vector.put", rows)
        if self._mixed and blobs:
            self._session.put("vector.drop_former", [{**at, "hashes": list(blobs)}])
        return {digest: restore(blob) for digest, blob in blobs.items()}

    def _checked_vector(self, digest: str, vector: Vector) -> bytes:
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
        return vector_blob(digest, vector)

    def _others(self, entry: JournalEntry, fresh: Mapping[str, Vector], moved: Mapping[str, object]) -> list[str]:
        """Unchanged memories that get a vector, as after a change of the embedder."""
        changes = [effect for effect in entry.effects if isinstance(effect, MemoryChange)]
        others = fresh.keys() - {change.after.embedding for change in changes if change.after}
        if not others:
            return []
        ids: Iterable[str] = entry.memory_ids
        if not entry.memory_ids:
            asked = {"ns": self._ns, "hashes": sorted(others)}
            ids = [memory_id for (memory_id,) in self._session.rows("vector.users", asked)]
        return [memory_id for memory_id in dict.fromkeys(ids) if memory_id not in moved]

    # ---- aliases, links, conflicts ----

    def _alias(self, effect: AliasChange) -> tuple[str, Mapping[str, Any]]:
        """The statement that changes an alias, and its values."""
        values = {"ns": self._ns, "hash": effect.hash, "id": effect.memory_id}
        return "alias.insert" if effect.present else "alias.delete", values

    def _change_link(self, effect: LinkChange) -> bool:
        link = effect.after or effect.before
        if link is None:
            return False
        row = self._session.row("link.get", self._edge(link))
        stored: Link | None = link_of(*row) if row else None
        if is_done(effect, stored):
            return False
        if not same_link(effect.before, stored):
            raise Stale(f"link {link.src} -> {link.dst} ({link.rel}) is not what it was")
        if stored is not None:
            self._session.run("link.delete", self._edge(link))
        self._put_link(effect.after)
        return True

    def _take_link(self, effect: LinkChange) -> None:
        """Store the `after` state of the effect, whatever the stored state is."""
        link = effect.after or effect.before
        if link is not None:
            self._session.run("link.delete", self._edge(link))
            self._put_link(effect.after)

    def _put_link(self, link: Link | None) -> None:
        if link is not None:
            made = link.created_at
            self._session.run("link.put", {**self._edge(link), "created_at": None if made is None else iso(made)})

    def _edge(self, link: Link) -> dict[str, Any]:
        return {"ns": self._ns, "src": link.src, "dst": link.dst, "rel": link.rel}

    def _change_conflict(self, effect: ConflictChange) -> bool:
        conflict = effect.after or effect.before
        if conflict is None:
            return False
        row = self._session.row("conflict.get", {"ns": self._ns, "key": conflict.key})
        stored: Conflict | None = conflict_of(row[0]) if row else None
        if is_done(effect, stored):
            return False
        if stored != effect.before:
            raise Stale(f"conflict {conflict.key} is not what it was")
        self._take_conflict(effect)
        return True

    def _take_conflict(self, effect: ConflictChange) -> None:
        """Store the `after` state of the effect, whatever the stored state is."""
        before, after = effect.before, effect.after
        if after is not None:
            row = {"a": after.a, "b": after.b, "created": micros(after.created_at), "record": dumps(after)}
            self._session.run("conflict.put", {"ns": self._ns, "key": after.key, **row})
        elif before is not None:
            self._session.run("conflict.delete", {"ns": self._ns, "key": before.key})

    # ---- journal ----

    def _append(
        self, entry: JournalEntry, effects: Sequence[Effect], texts: Sequence[str], moved: Iterable[str]
    ) -> int:
        seq = self.seq + 1
        values: dict[str, Any] = {
            "ns": self._ns,
            "seq": seq,
            "undoes": entry.undoes,
            "outcome": entry.outcome,
            "day": iso(entry.at)[:10],
            "run": entry.run_id,
            "record": dumps(packed(entry, effects, texts)),
            "key": entry.idempotency_key or None,
            "moved": " ".join(moved),
        }
        ids = concerned_ids(entry, touched(effects))
        changed = frozenset(touched(effect for effect in effects if isinstance(effect, MemoryChange)))
        rows = [{"ns": self._ns, "seq": seq, "id": one, "changed": one in changed} for one in ids]
        self._session.put("journal.memory", rows)
        if not self._insert_entry(values):
            raise Stale(f"idempotency key {entry.idempotency_key!r} is already used")
        self.seq, self._newest_head = seq, values["record"][:HEAD]
        return seq

    def note_asking(self, text: str) -> None:
        """See `Tx.note_asking`."""
        self._open()
        self._session.put("namespace.note", [{"ns": self._ns, "asking": text}])
        self._asking = text

    def touch(self, usage: Mapping[str, Usage]) -> None:
        """See `Tx.touch`."""
        rows = [(*usage_columns(*used), self._ns, memory_id) for memory_id, used in usage.items()]
        self._session.put("memory.set_usage", rows)

    # ---- erasure ----

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """See `Tx.erase`. A vector is kept only if another memory has exactly the same text."""
        self._open()
        gone = frozenset(ids)
        hashes = self._scrub_journal(gone)
        rows = self.find(Filter(ids=tuple(sorted(gone)), statuses=ALL_STATUSES))
        hashes.update(row.embedding for row in rows)
        held, *_ = self._held([MemoryChange(row, None) for row in rows], self._first_place)
        for memory in rows:
            row, left = held[memory.id], tombstone(memory, at=entry.at)
            row.after, row.text, row.usage, row.words = left, record_text(left), usage_of(left), True
        self._write_memories(held, {})
        self._uncommitted |= dict.fromkeys(held)
        listed = sorted(gone)
        for name in ("alias.erase", "link.erase", "conflict.erase"):
            self._session.run(name, {"ns": self._ns, "ids": list(listed)})
        self._drop_vectors(hashes - {""})
        clean = scrubbed(entry, gone)
        return self._append(clean, clean.effects, _texts(clean), listed)

    def _scrub_journal(self, gone: frozenset[str]) -> set[str]:
        """Remove the memories' content from all journal entries; returns the hashes of their former texts."""
        seqs = {
            seq
            for one in gone
            for (seq,) in self._session.rows("journal.mentions", {"ns": self._ns, "id": dumps(one)[1:-1]})
        }
        hashes: set[str] = set()
        if not seqs:
            return hashes
        for entry in self.journal(seqs=seqs):
            hashes.update(end.embedding for end in ends_of(entry.effects) if end.id in gone)
            if entry.dropped is not None:
                hashes.add(entry.dropped.embedding)
            clean = scrubbed(entry, gone)
            if clean is not entry:
                record = dumps(packed(clean, clean.effects, _texts(clean)))
                self._session.run("journal.rewrite", {"ns": self._ns, "seq": entry.seq, "record": record})
        return hashes

    def _drop_vectors(self, hashes: set[str]) -> None:
        if not hashes:
            return
        asked = {"ns": self._ns, "hashes": sorted(hashes)}
        used = {row[0] for row in self._session.rows("memory.embeddings_in_use", asked)}
        self._session.run("vector.delete", {**asked, "hashes": sorted(hashes - used)})

    # ---- restoring ----

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
        fresh = self._keep_vectors(vectors or {})
        before = self.seq
        for entry in entries:
            if entry.seq != self.seq + 1:
                raise Stale(f"entry {entry.seq} does not follow entry {self.seq}")
            texts, moved = self._take_over(entry.effects, fresh, self._first_place)
            self._append(entry, entry.effects, texts, moved)
        left = tuple(loose)
        if left:
            self._take_over(left, fresh, self._next_place)
        self._unfed = self._unfed or bool(left) or (bool(fresh) and self.seq == before)
        return self.seq

    def _empty(self) -> None:
        """Remove all data of the namespace."""
        at = {"ns": self._ns}
        self._clear_words()
        self._uncommitted |= {memory_id: None for (memory_id,) in self._session.rows("clear.ids", at)}
        for table in _TABLES:
            self._session.run(f"clear.{table}", at)
        self.note_asking("")
        self.seq = 0
        self._unfed = True

    def _take_over(
        self, effects: Sequence[Effect], fresh: Mapping[str, Vector], first_place: Callable[[], int]
    ) -> tuple[list[str], list[str]]:
        """Store the `after` state of effects, whatever the stored state is.

        Returns:
            For each effect the JSON of the memory's new state, and the ids of the memories.
        """
        held, _, known = self._held(effects, first_place, fresh=fresh)
        texts = []
        for effect in effects:
            text = ""
            match effect:
                case MemoryChange(before, after):
                    memory = after or before
                    if memory is not None:
                        text = record_text(after) if after else ""
                        row = held[memory.id]
                        row.after, row.text, row.words = after, text, True
                        row.usage = usage_of(after) if after else None
                        row.place = None if after is None else row.place or row.new_place
                case AliasChange():
                    name, values = self._alias(effect)
                    self._session.put(name, [values])
                case LinkChange():
                    self._take_link(effect)
                case ConflictChange():
                    self._take_conflict(effect)
            texts.append(text)
        self._write_memories(held, {**known, **fresh})
        return texts, list(held)

    # ---- end ----

    def committed(self) -> None:
        """After the commit, update the shared matrix with the changes.

        If another transaction has already changed it, nothing is done; the next search catches up.
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


def _texts(entry: JournalEntry) -> list[str]:
    """For each effect, the JSON of the memory's new state; empty if there is none."""
    return [
        record_text(effect.after) if isinstance(effect, MemoryChange) and effect.after else ""
        for effect in entry.effects
    ]
