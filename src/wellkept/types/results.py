"""What a caller gets back from writing and operating."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from wellkept.types.judging import Conflict, Match, Reason
from wellkept.types.links import Link
from wellkept.types.memories import Memory
from wellkept.types.words import Degradation, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What became of one write; the same object is returned, journaled, shown and logged (I6).

    Attributes:
        outcome: created, duplicate, evolved, superseded, reused, rejected or queued.
        memory: The memory the caller now has; None when the text was rejected, or waits in the queue.
        links: Links made.
        conflicts: Conflicts found.
        matches: Stored memories that were considered, most similar first.
        reasons: The rules that fired, in order.
        degraded: What could not run (I7).
        message: One sentence for the agent.
        entry: Number of the journal entry, for `undo`; 0 for a check or a replayed call.
        dropped: Id under which a text that was not stored can be brought back by `restore`.
    """

    outcome: Outcome
    memory: Memory | None
    links: tuple[Link, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    matches: tuple[Match, ...] = ()
    reasons: tuple[Reason, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    message: str = ""
    entry: int = 0
    dropped: str = ""


@dataclass(frozen=True, slots=True)
class ItemError:
    """One item of a batch that could not be written: its place, its beginning, and why (S4-14)."""

    index: int
    excerpt: str
    error: str
    message: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of a batch, item by item in the order given; None where an item failed."""

    results: tuple[WriteResult | None, ...]
    errors: tuple[ItemError, ...]
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    Attributes:
        run_id: Stands in every journal entry of the import.
        read: Lines read.
        counts: Outcomes by word; `replayed` counts lines an earlier run of this source had done.
        conflicts: Conflicts opened.
        errors: Lines that were not taken, with their line numbers as `index`.
        rejects: Path of the file those lines were written to; empty when there are none.
        seconds: Wall time.
    """

    run_id: str
    read: int
    counts: Mapping[str, int]
    conflicts: int
    errors: tuple[ItemError, ...]
    rejects: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one namespace."""

    namespace: str
    memories: Mapping[str, int]
    kinds: Mapping[str, int]
    outcomes: Mapping[str, int]
    links: int
    open_conflicts: int
    unchecked: int
    without_vector: int
    journal: int
    embedder: str
    policy: str
    schema: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something `verify` found: where, what, and what mends it."""

    where: str
    what: str
    todo: str


@dataclass(frozen=True, slots=True)
class Census:
    """What a backend can count in one namespace without reading texts.

    Attributes:
        statuses: Memories by status.
        kinds: Active memories by kind.
        outcomes: Journal entries by outcome.
    """

    statuses: Mapping[str, int]
    kinds: Mapping[str, int]
    outcomes: Mapping[str, int]
    links: int
    unchecked: int
    unembedded: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a store says of itself; `namespaces` names all that hold anything, sorted."""

    store_id: str
    schema: int
    embedder: str
    dim: int
    policy: str
    created_at: datetime
    namespaces: tuple[str, ...] = ()
