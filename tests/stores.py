"""A store on a desk: backend, embedder, clock and ids that a test decides, and a picture of everything stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

import wellkept
from postgres.given import EVERYWHERE
from wellkept.core.asking.budget import opened
from wellkept.core.asking.candidates import id_of
from wellkept.core.asking.state import state_of, state_text
from wellkept.core.records.lifecycle import born_wording
from wellkept.core.records.merge import confirmed
from wellkept.engine.gate import acts
from wellkept.engine.models.embedding import text_of
from wellkept.storage.port import Storage
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import (
    ALL_STATUSES,
    AutomaticAct,
    Chance,
    Filter,
    JournalEntry,
    LinkChange,
    MemoryChange,
    NewMemory,
    QuestionRecord,
    Reason,
)

EVERY_BACKEND = ("memory", "sqlite", "postgres")
BACKENDS = ("postgres",) if EVERYWHERE else ("memory", "sqlite")
"""What tests of the engine run on; see `postgres.given`."""
EACH_BACKEND: tuple[Any, ...] = BACKENDS if EVERYWHERE else (pytest.param("memory", marks=pytest.mark.soak), "sqlite")
"""The same as parameters of a test. That in memory is left to `make soak`: the conformance kit, the scenarios and the
lives of `properties/test_long_lives.py` compare it with the others."""
LIGHT, LASTING = BACKENDS[0], BACKENDS[-1]
"""What a test uses that cares for neither, and one whose store outlives its process."""
EVERYTHING = Filter(statuses=ALL_STATUSES)


Place = Path | str
"""A file, or a database by its URL."""


@dataclass
class Desk:
    """An open store with all that surrounds it."""

    store: wellkept.MemoryStore
    fake: FakeEmbedder
    clock: FrozenClock
    path: Path | None
    folder: Path
    options: dict[str, Any] = field(default_factory=dict)

    def near(self, old: str | NewMemory, new: str | NewMemory, cosine: float) -> None:
        """Declare the cosine of two statements; a text means a statement without a title."""
        self.fake.relate(embedded(old), embedded(new), cosine)

    def snapshot(self) -> tuple[Any, ...]:
        """Everything the namespace holds, journal included."""
        return snapshot(self.store)

    def rows(self, *statuses: str) -> list[str]:
        """Contents by order of age; of any status when none is named."""
        return [row.content for row in self.store.list(Filter(statuses=statuses or ALL_STATUSES))]


def place(path: Path) -> Place:
    """Address of a test's store: this file, or a database in place of it until the end of the test."""
    if not EVERYWHERE:
        return path
    from postgres.server import shelf

    return shelf.hold(path)


def scratch(folder: Path) -> str:
    """Where a test keeps a store that it opens once: in memory, or in a database."""
    return str(place(folder / "scratch")) if EVERYWHERE else "memory:"


def embedded(statement: str | NewMemory) -> str:
    """The embedded text of a statement."""
    return text_of(NewMemory(content=statement) if isinstance(statement, str) else statement)


def desk(backend: str | Storage, folder: Path, *, fake: FakeEmbedder | None = None, **options: Any) -> Desk:
    """Open a store of a test's own."""
    fake = fake if fake is not None else FakeEmbedder(dim=64)
    clock = options.pop("clock", None) or FrozenClock()
    options.setdefault("new_id", CountingIds())
    # Exact cosines are a test's business: the bands then speak for themselves (B-30).
    options.setdefault("relation_model", FakeRelationModel())
    name = options.pop("name", "memory.db")
    path = folder / name if backend == "sqlite" else None
    where = "memory:" if backend == "memory" else str(path) if path is not None else backend
    if backend == "postgres":
        from postgres.server import shelf

        where = shelf.open(folder / name)
    store = wellkept.open(where, embedder=fake, clock=clock, **options)
    return Desk(store, fake, clock, path, folder, options)


def fold(store: wellkept.MemoryStore, memory_id: str, head_id: str) -> int:
    """Make a memory a wording of another one, as the gate does with a restatement, without a model."""
    ctx = store._ctx
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        row, head = acts.fetch(tx, memory_id), acts.fetch(tx, head_id)
        behind, link = born_wording(row, head, at=ctx.clock())
        changes = (MemoryChange(row, replace(behind, version=row.version + 1)),
                   MemoryChange(head, confirmed(head, at=ctx.clock())), LinkChange(None, link))  # fmt: skip
        return acts.apply(ctx, tx, changes, verb="fold", outcome="restated", memory_id=row.id)


def ask(
    store: wellkept.MemoryStore, memory_id: str, *chances: tuple[str, float, float], worth: float = 0.5,
    audited: AutomaticAct | Literal[""] = "",
) -> str:  # fmt: skip
    """Ask about a memory, as the gate does with an undecided write, without a model; the id of the question.

    Each chance is a candidate, and the probabilities that the memory repeats and that it replaces it.
    """
    ctx = store._ctx
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        record = QuestionRecord(
            memory_id=memory_id,
            chances=tuple(Chance(*one, number) for number, one in enumerate(chances, 1)),
            worth=worth,
            expires_at=ctx.clock() + timedelta(days=14),
            audited=audited,
        )
        entry = JournalEntry(
            at=ctx.clock(), verb="remember", actor="", policy=ctx.policy.hash, outcome="created", memory_id=memory_id,
            memory_ids=(memory_id,), reasons=(Reason("nothing_like_it", ""),), effects=(), asks=record,
        )  # fmt: skip
        seq = tx.apply(entry, vectors={})
        tx.note_asking(state_text(state_of(tx.asking()).with_question(opened(record, seq))))
        return id_of(seq)


def snapshot(store: wellkept.MemoryStore) -> tuple[Any, ...]:
    """Memories, links, conflicts, journal and vectors of the namespace, and the names of all namespaces."""
    ctx = store._ctx
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        rows = tuple(tx.find(EVERYTHING))
        vectors = tuple(sorted(tx.vectors({row.embedding for row in rows if row.embedding})))
        return rows, tuple(tx.links()), tuple(tx.conflicts()), tuple(tx.journal()), vectors, store.namespaces()
