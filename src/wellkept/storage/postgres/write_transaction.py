"""The writing transaction: applies effects, appends the journal, erases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wellkept.core.records.codec import dumps, iso, record_text
from wellkept.core.records.effects import scrubbed, tombstone, touched
from wellkept.core.records.vectors import quantise, restore, unit
from wellkept.errors import EmbedderMismatch, InvalidField
from wellkept.storage.journal_codec import concerned_ids, is_done, packed, same_link, usage_of
from wellkept.storage.memory_rows import conflict_of, link_of, micros, said, usage_columns
from wellkept.storage.port import Stale
from wellkept.storage.postgres.read_transaction import ReadTx
from wellkept.storage.postgres.rows import columns, words_of
from wellkept.storage.postgres.session import Half
from wellkept.storage.vectors.index import Row
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
"""How much of an entry's record tells it from another one of the same number; as in `tx.header`."""
PLACES_OF_AN_ENTRY = 1 << 20
"""`place` tells the order of insertion without a counter of its own: the entry's number, then the row's."""


@dataclass(slots=True)
class _Held:
    """What becomes of one memory while an entry is applied; written once at the end.

    Attributes:
        at: Which memory of the entry it is.
        former: Its place in the order of insertion when the entry began; None when there was no row.
        place: The same at this point.
        version: As it is at this point.
        status: As it is at this point.
        after: What the row is to be; None when it is to go.
        usage: Usage to set, where an effect means to.
        words: Whether the full text has to be made anew.
    """

    at: int
    former: int | None = None
    place: int | None = None
    version: int = 0
    status: str = ""
    after: Memory | None = None
    usage: tuple[Any, ...] | None = None
    words: bool = False


def _present(at: int, place: int, version: int, status: str) -> _Held:
    return _Held(at, place, place, version, status)


class WriteTx(ReadTx):
    """The only writer of its namespace while it is open."""

    _newest = True

    def _begun(self) -> int:
        """Lock the namespace by advancing its number; from here on nobody else writes in it."""
        row = self._session.row("namespace.take", {"ns": self._ns})
        if row is None:
            row = self._session.row("namespace.make", {"ns": self._ns, "name": self.namespace})
        seq = self._checked(row)
        self._taken = seq + 1
        self._newest_head: str | None = None
        self._mark: str | None = None
        self._unfed = False  # whether rows changed that no entry tells of
        return seq

    def finish(self) -> None:
        """Before the commit: the number becomes that of the newest entry, which is mostly the one that was taken."""
        if self._taken != self.seq:
            self._session.run("namespace.set_seq", {"ns": self._ns, "seq": self.seq})

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """See `Tx.apply`. An effect that is already so changes nothing and is not journaled."""
        kept: list[Effect] = []
        texts: list[str] = []
        fresh = self._keep_vectors(vectors or {})
        held = self._held(entry.effects)
        for effect in entry.effects:
            text = ""
            match effect:
                case MemoryChange(before, after):
                    text = record_text(after) if after else ""
                    self._change_memory(before, after, held)
                case AliasChange():
                    if not self._change_alias(effect):
                        continue
                case LinkChange():
                    if not self._change_link(effect):
                        continue
                case ConflictChange():
                    if not self._change_conflict(effect):
                        continue
            kept.append(effect)
            texts.append(text)
        self._write_memories(held)
        self._move(held, fresh)
        others = self._others(entry, fresh, held)
        self._uncommitted |= self._index_rows(others) if others else {}
        return self._append(entry, kept, texts, [*held, *others])

    # ---- memories ----

    def _held(self, effects: Iterable[Effect]) -> dict[str, _Held]:
        """The present state of every memory that is changed, in the order of the effects."""
        held: dict[str, _Held] = {}
        for effect in effects:
            memory = (effect.after or effect.before) if isinstance(effect, MemoryChange) else None
            if memory is None:
                continue
            if memory.namespace != self.namespace:
                raise InvalidField(
                    "a memory of another namespace cannot be written here", where=f"{memory.namespace!r}, {memory.id}"
                )
            held.setdefault(memory.id, _Held(at=len(held)))
        if held:
            for memory_id, *now in self._session.rows("memory.held", {"ns": self._ns, "ids": list(held)}):
                held[memory_id] = _present(held[memory_id].at, *now)
        return held

    def _change_memory(self, before: Memory | None, after: Memory | None, held: dict[str, _Held]) -> None:
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
        row.after = after
        if after is None:
            row.place, row.words, row.usage = None, True, None
            return
        if before is None:
            row.place = (self.seq + 1) * PLACES_OF_AN_ENTRY + row.at
            row.usage = usage_of(after)
        elif usage_of(after) != usage_of(before):
            row.usage = usage_of(after)
        row.words |= before is None or before.status != after.status or said(before) != said(after)
        row.version, row.status = after.version, after.status

    def _write_memories(self, held: Mapping[str, _Held]) -> None:
        gone = [memory_id for memory_id, row in held.items() if row.former is not None and row.place is None]
        if gone:
            self._session.run("memory.delete", {"ns": self._ns, "ids": gone})
        inserts: list[Sequence[Any]] = []
        updates: list[Sequence[Any]] = []
        usage: dict[str, tuple[Any, ...]] = {}
        for memory_id, row in held.items():
            memory = row.after
            if memory is None:
                continue
            if row.former is None:
                used = usage_columns(memory) if row.usage is None else _usage_columns(row.usage)
                inserts.append((self._ns, memory_id, row.place, *columns(memory), *used, record_text(memory)))
                continue
            updates.append((row.place, *columns(memory), record_text(memory), self._ns, memory_id))
            if row.usage is not None:
                usage[memory_id] = row.usage
        self._session.many("memory.insert", inserts)
        self._session.many("memory.update", updates)
        if usage:
            self.touch(usage)
        self._write_words(held)

    def _write_words(self, held: Mapping[str, _Held]) -> None:
        changed = [row for row in held.values() if row.words]
        shown = [row for row in changed if row.after is not None and row.after.status == "active"]
        places = {row.place for row in shown}
        stale = [row.former for row in changed if row.former is not None and row.former not in places]
        if stale:
            self._session.run("words.delete", {"ns": self._ns, "places": stale})
        rows = [(self._ns, row.place, row.after.id, words_of(row.after, self._ns)) for row in shown if row.after]
        self._session.many("words.put", rows)

    def _move(self, held: Mapping[str, _Held], fresh: Mapping[str, Vector]) -> None:
        """What searches of this transaction shall see of the rows it changed."""
        wanted = {row.after.embedding for row in held.values() if row.after} - fresh.keys() - {""}
        vectors = {**self.vectors(wanted), **fresh}
        for memory_id, row in held.items():
            after = row.after
            self._uncommitted[memory_id] = (
                None if after is None else Row(after.kind, after.status, vectors.get(after.embedding))
            )

    # ---- vectors ----

    def _keep_vectors(self, vectors: Mapping[str, Vector]) -> dict[str, Vector]:
        """Store them; give back what was stored, by hash."""
        blobs = {digest: self._checked_vector(digest, vector) for digest, vector in vectors.items()}
        rows = [{"ns": self._ns, "hash": one, "model": self._model, "vec": Half(blob)} for one, blob in blobs.items()]
        self._session.many("vector.put", rows)
        if self._mixed and blobs:
            self._session.run("vector.drop_former", {"ns": self._ns, "hashes": list(blobs), "model": self._model})
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
        try:
            direction = unit(vector)
            if not direction.any():
                raise ValueError("it has no length")
            return quantise(direction)
        except ValueError as error:
            raise InvalidField(f"a vector cannot be stored: {error}", where=digest) from error

    def _others(self, entry: JournalEntry, fresh: Mapping[str, Vector], moved: Mapping[str, object]) -> list[str]:
        """Memories that get a vector without being changed: a new embedder reads the same texts."""
        changes = [effect for effect in entry.effects if isinstance(effect, MemoryChange)]
        others = fresh.keys() - {change.after.embedding for change in changes if change.after}
        if not others:
            return []
        ids: Iterable[str] = entry.memory_ids
        if not entry.memory_ids:
            ids = [row[0] for row in self._session.rows("vector.users", {"ns": self._ns, "hashes": sorted(others)})]
        return [memory_id for memory_id in dict.fromkeys(ids) if memory_id not in moved]

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
            "outcome": entry.outcome,
            "run": entry.run_id,
            "record": dumps(packed(entry, effects, texts)),
            "key": entry.idempotency_key or None,
            "moved": list(moved),
        }
        marked = self._session.row("journal.insert", values)
        if marked is None:
            raise Stale(f"idempotency key {entry.idempotency_key!r} is already used")
        ids = concerned_ids(entry, touched(effects))
        if ids:
            changed = list(touched(effect for effect in effects if isinstance(effect, MemoryChange)))
            self._session.run("journal.memory", {"ns": self._ns, "seq": seq, "ids": list(ids), "changed": changed})
        self.seq, self._newest_head = seq, values["record"][:HEAD]
        self._mark = marked[0]
        return seq

    @property
    def wrote(self) -> bool:
        """Whether an entry was appended."""
        return self._mark is not None

    def has(self, other: WriteTx) -> bool:
        """Whether the newest entry that another transaction wrote in this namespace is there."""
        asked = {"ns": self._ns, "seq": other.seq, "mark": other._mark}
        return other._mark is not None and self._session.row("journal.marked", asked) is not None

    def touch(self, usage: Mapping[str, tuple[int, datetime | None, float | None]]) -> None:
        """See `Tx.touch`."""
        rows = [
            {
                "ns": self._ns,
                "id": memory_id,
                "access_count": count,
                "last_accessed_at": None if last is None else iso(last),
                "stability": stability,
            }
            for memory_id, (count, last, stability) in usage.items()
        ]
        self._session.many("memory.set_usage", rows)

    # ---- erasure ----

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """See `Tx.erase`. A vector stays only when another memory has the very same text."""
        gone = frozenset(ids)
        hashes = self._scrub_journal(gone)
        rows = self.find(Filter(ids=tuple(sorted(gone)), statuses=ALL_STATUSES))
        hashes.update(row.embedding for row in rows)
        held = self._held([MemoryChange(row, None) for row in rows])
        for row in rows:
            left = tombstone(row, at=entry.at)
            held[row.id].after, held[row.id].usage, held[row.id].words = left, usage_of(left), True
            self._uncommitted[row.id] = None
        self._write_memories(held)
        listed = sorted(gone)
        for name in ("alias.erase", "link.erase", "conflict.erase"):
            self._session.run(name, {"ns": self._ns, "ids": listed})
        self._drop_vectors(hashes - {""})
        clean = scrubbed(entry, gone)
        return self._append(clean, clean.effects, _texts(clean), listed)

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
            if clean is not entry:
                record = dumps(packed(clean, clean.effects, _texts(clean)))
                self._session.run("journal.rewrite", {"ns": self._ns, "seq": entry.seq, "record": record})
        return hashes

    def _drop_vectors(self, hashes: set[str]) -> None:
        if not hashes:
            return
        asked = {"ns": self._ns, "hashes": sorted(hashes)}
        used = {row[0] for row in self._session.rows("memory.embeddings_in_use", asked)}
        self._session.run("vector.delete", {"ns": self._ns, "hashes": sorted(hashes - used)})

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
                    space.advance(self.seq, self._uncommitted, head=self._newest_head or "")


def _usage_columns(usage: tuple[Any, ...]) -> tuple[Any, ...]:
    count, last, stability = usage
    return (count, None if last is None else iso(last), stability)


def _texts(entry: JournalEntry) -> list[str]:
    """Beside each effect the JSON of the memory it leaves; empty when it leaves none."""
    return [
        record_text(effect.after) if isinstance(effect, MemoryChange) and effect.after else ""
        for effect in entry.effects
    ]
