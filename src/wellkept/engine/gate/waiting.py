"""The writes of a namespace that are stored and wait to be judged, in the order in which they were written.

A waiting write is a memory that is unchecked, and whose journal entry says that its judging was put off. The ledger is
thus the store itself: it survives what the store survives, and changes in the same transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from wellkept.core.gate.may_wait import WAITS
from wellkept.core.judging.what_to_ask import asked_from
from wellkept.core.records.effects import touched
from wellkept.core.records.vectors import cosines
from wellkept.engine.base.context import Context
from wellkept.engine.models.unanswered import UnansweredError
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import Effect, Filter, JournalEntry, Memory, MemoryChange


@frozen
class Waiting:
    """A stored write that waits to be judged.

    Attributes:
        memory: Its memory.
        entry: The journal entry that wrote it.
    """

    memory: Memory
    entry: JournalEntry


def waiting(tx: Tx) -> list[Waiting]:
    """The writes that wait, oldest first.

    A memory that somebody has changed since, or whose judging was taken back, does not wait: a sweep checks it as it
    is now.
    """
    rows = {row.id: row for row in tx.find(Filter(unchecked=True)) if row.version == 1}
    if not rows:
        return []
    written: dict[str, JournalEntry] = {}
    taken_up: set[int] = set()
    for entry in tx.journal(memory_ids=tuple(rows)):
        taken_up.add(entry.undoes)
        if entry.memory_id in rows and WAITS in entry.degraded and _inserts(entry):
            written[entry.memory_id] = entry
    found = [Waiting(rows[one], entry) for one, entry in written.items() if entry.seq not in taken_up]
    return sorted(found, key=lambda one: one.entry.seq)


def _inserts(entry: JournalEntry) -> bool:
    made = (one.after for one in entry.effects if isinstance(one, MemoryChange) and one.before is None)
    return any(row is not None and row.id == entry.memory_id for row in made)


@dataclass(slots=True)
class Later:
    """What a run of writes may put off, and what must be judged before a write that acts on others.

    Attributes:
        ctx: The store.
        judge: Judges what waits, outside of any transaction.
        defers: Whether this run may put off writes itself; not where the call has an answer to conflicts of its own.
        insisted: The items that have had the waiting writes judged once; after an outage they go on without.
    """

    ctx: Context
    judge: Callable[[Iterable[int]], object]
    defers: bool = True
    insisted: set[int] = field(default_factory=set)

    def is_waiting(self, tx: Tx) -> bool:
        """Whether anything in the namespace waits; an unchecked memory of an outage counts as well."""
        return bool(tx.find(Filter(unchecked=True), limit=1))

    def before(self, tx: Tx, index: int, effects: Iterable[Effect] | None = None) -> None:
        """Let the waiting writes be judged before an item acts; with its effects, only those that may concern them.

        Raises:
            UnansweredError: They are to be judged first.
        """
        if index in self.insisted or not self.is_waiting(tx):
            return
        found = waiting(tx)
        if found and (effects is None or self._may_concern(tx, found, touched(effects))):
            self.insisted.add(index)
            raise UnansweredError(self._ask, (index,))

    def _ask(self, _: Iterable[int]) -> None:
        self.judge(())

    def _may_concern(self, tx: Tx, found: list[Waiting], ids: tuple[str, ...]) -> bool:
        """Whether a waiting write is among these memories, or near enough to one to be read beside it."""
        late = {one.memory.embedding for one in found}
        if any(one.memory.id in ids for one in found) or "" in late:
            return True
        behind = [link.src for link in tx.links(ids) if link.rel == "restates" and link.dst in ids]
        rows = tx.find(Filter(ids=(*ids, *behind), statuses=("active", "wording")))
        vectors = tx.vectors({*late, *(row.embedding for row in rows)})
        theirs = [vectors[one] for one in late if one in vectors]
        if len(theirs) < len(late):
            return True
        least = {one.memory.embedding: asked_from(one.memory.content) for one in found}
        floors = np.array([self.ctx.scale.calibration.cosine(least[one]) - 1e-3 for one in late])
        own = (vectors[row.embedding] for row in rows if row.embedding in vectors)
        return any(bool((cosines(one, np.asarray(theirs)) >= floors).any()) for one in own)
