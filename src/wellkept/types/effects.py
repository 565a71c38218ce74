"""Effects: row changes as data, each with the value before and after; None means "no row"."""

from __future__ import annotations

from typing import TypeAlias

from wellkept.frozen import frozen
from wellkept.types.comparisons import Conflict, Match, Reading, Reason
from wellkept.types.links import Link
from wellkept.types.memories import Memory
from wellkept.types.questions import Chance
from wellkept.types.words import Degradation, Outcome


@frozen
class MemoryChange:
    """A memory row is inserted, changed or deleted."""

    before: Memory | None
    after: Memory | None


@frozen
class AliasChange:
    """A content hash starts or stops pointing at a memory. Merged memories keep all their hashes."""

    memory_id: str
    hash: str
    present: bool


@frozen
class LinkChange:
    """A link is inserted or deleted."""

    before: Link | None
    after: Link | None


@frozen
class ConflictChange:
    """A conflict row is inserted, changed or deleted."""

    before: Conflict | None
    after: Conflict | None


Effect: TypeAlias = MemoryChange | AliasChange | LinkChange | ConflictChange


@frozen(kw_only=True)
class Decision:
    """The decision about one write, with reasons; made by the core, applied by the engine.

    Attributes:
        outcome: The outcome of the write.
        memory: The resulting memory: the new one, or the existing one that already says it.
        dropped: A text that was not stored, as the memory it would have become; kept in the journal.
            None when the text was stored.
        effects: The effects to apply, in order.
        chances: What the gate thinks of each candidate, where somebody may be asked.
        reading: What the relation model said of all candidates; None where it was not asked.
    """

    outcome: Outcome
    memory: Memory | None
    effects: tuple[Effect, ...] = ()
    dropped: Memory | None = None
    matches: tuple[Match, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    links: tuple[Link, ...] = ()
    reasons: tuple[Reason, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    chances: tuple[Chance, ...] = ()
    reading: Reading | None = None
