"""A namespace as it was at one entry of its journal, in memory: a scratch store for the gate.

The effects of journal entries are applied one by one, so that the gate sees the store as it was. The real store
is not connected: changes here stay here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from wellkept.core.records.effects import touched
from wellkept.core.records.vectors import quantise, restore, unit
from wellkept.core.text.forms import slot_key
from wellkept.errors import ReadOnly
from wellkept.storage.contents import Contents, ReadTx
from wellkept.storage.port import Tx
from wellkept.storage.vectors.index import Space
from wellkept.storage.vectors.rows import Stamp
from wellkept.types import Effect, Filter, Header, JournalEntry, Memory, MemoryChange, Neighbours, Status, Vector

_FIELDS = tuple(field.name for field in fields(Memory))


class Past(ReadTx):
    """One namespace at one moment: storage and transaction in one, for a single thread.

    Args:
        namespace: The namespace.
        header: The header of the real store.
    """

    def __init__(self, namespace: str, header: Header) -> None:
        super().__init__(namespace, Contents(), header.embedder, header.dim)
        self.applied: tuple[Effect, ...] = ()
        """Effects that the gate applied last."""
        self.statuses: Counter[Status] = Counter()
        """How many memories have each status at this moment."""
        self._header = header
        self._slots: dict[str, dict[str, dict[str, None]]] = {}
        self._near = Space()
        self._near.load(Stamp(header.store_id, 0, header.dim), 0, ())

    # -- applying the journal ----------------------------------------------------------------

    def learn(self, vectors: Mapping[str, Vector]) -> None:
        """Add vectors by hash of the text, in stored form."""
        for key, vector in vectors.items():
            self.contents.vectors.put(key, (self._embedder, vector))

    def keep(self, vectors: Mapping[str, Vector]) -> None:
        """Add new vectors, converted to the stored form and back, so that they compare like stored ones."""
        self.learn({key: restore(quantise(unit(vector))) for key, vector in vectors.items()})

    def knows(self, key: str) -> bool:
        """Whether the vector of a text is present."""
        return key in self.contents.vectors

    def row(self, memory_id: str) -> Memory | None:
        """A memory at this moment; None when there is none."""
        return self.contents.memories.get(memory_id)

    def follow(self, effects: Iterable[Effect]) -> None:
        """Apply the effects of an entry."""
        self.seq += 1
        for effect in effects:
            memory = (effect.after or effect.before) if isinstance(effect, MemoryChange) else None
            former = self.row(memory.id) if memory is not None else None
            self.contents.take_over(effect)
            if former is not None:
                self._forget(former)
            if memory is not None and memory.id in self.contents.memories:
                self._index(memory)

    def adapt(self, effects: Iterable[Effect]) -> list[str]:
        """Apply effects from the original history, where they fit this one.

        Of a changed memory only the changed fields are applied.

        Returns:
            Ids of memories that do not fit: missing, already present, or with another status.
        """
        unfit: list[str] = []
        beside: list[Effect] = []
        for effect in effects:
            if not isinstance(effect, MemoryChange):
                beside.append(effect)
                continue
            before, after = effect.before, effect.after
            memory = after or before
            here = self.row(memory.id) if memory is not None else None
            if (here and here.status) != (before and before.status):
                unfit.append(memory.id if memory is not None else "")
            elif before is None or after is None or here is None:
                self.follow((effect,))
            else:
                changed = {name: getattr(after, name) for name in _FIELDS if _differ(before, after, name)}
                self.follow((MemoryChange(here, replace(here, **changed)),))
        left_out = set(unfit)
        self.follow(effect for effect in beside if not left_out & set(touched((effect,))))
        return unfit

    def _forget(self, row: Memory) -> None:
        self.statuses[row.status] -= 1
        self._slots[row.kind][slot_key(row.subject)].pop(row.id)
        self._near.drop(row.id)

    def _index(self, row: Memory) -> None:
        self.statuses[row.status] += 1
        self._slots.setdefault(row.kind, {}).setdefault(slot_key(row.subject), {})[row.id] = None
        self._near.put(row.id, row.kind, row.status, self._vector(row.embedding))

    # -- storage, as far as the gate uses it -----------------------------------------------------

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[Tx]:
        """See `Storage.begin`; there is one view, without other users."""
        yield self

    def header(self) -> Header:
        """See `Storage.header`."""
        return self._header

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """See `Tx.apply`; the effects are kept in `applied`, the entry is not kept."""
        self.keep(vectors or {})
        self.applied = entry.effects
        self.follow(entry.effects)
        return self.seq

    def note_asking(self, text: str) -> None:
        """See `Tx.note_asking`."""
        self.contents.asking = text

    def _candidates(self, where: Filter) -> list[Memory]:
        if where.ids is not None or where.hashes or not where.kinds:
            return super()._candidates(where)
        slots = [self._slots.get(kind, {}) for kind in dict.fromkeys(where.kinds)]
        if where.subject is None:
            found = [ids for subjects in slots for ids in subjects.values()]
        else:
            subject = slot_key(where.subject)
            found = [subjects.get(subject, {}) for subjects in slots]
        return [self.contents.memories[one] for ids in found for one in ids]

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """See `Tx.nearest`; exact, from a matrix that follows each change."""
        return self._near.nearest(queries, limit=limit, kinds=kinds, statuses=statuses)

    # -- not used by writes ----------------------------------------------------------------------

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """Not supported."""
        raise ReadOnly("a replay does not configure a store", todo="Report this")

    def verify(self) -> list[str]:
        """See `Storage.verify`; dicts have no damage."""
        return []

    def close(self) -> None:
        """Nothing to close."""


def _differ(before: Memory, after: Memory, name: str) -> bool:
    return bool(getattr(before, name) != getattr(after, name))
