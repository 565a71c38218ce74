"""Effects are data: a record moves from one value to another, and None stands for "not there"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from wellkept.types.comparisons import Conflict, Match, Reason
from wellkept.types.links import Link
from wellkept.types.memories import Memory
from wellkept.types.words import Degradation, Outcome


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A memory row appears, changes or goes."""

    before: Memory | None
    after: Memory | None


@dataclass(frozen=True, slots=True)
class AliasChange:
    """A hash starts or stops pointing at a memory; all hashes a row ever absorbed do."""

    memory_id: str
    hash: str
    present: bool


@dataclass(frozen=True, slots=True)
class LinkChange:
    """A link appears or goes."""

    before: Link | None
    after: Link | None


@dataclass(frozen=True, slots=True)
class ConflictChange:
    """A conflict row appears, changes or goes."""

    before: Conflict | None
    after: Conflict | None


Effect: TypeAlias = MemoryChange | AliasChange | LinkChange | ConflictChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What should happen to one write and why; made by the core, applied by the engine.

    Attributes:
        outcome: The word of the outcome vocabulary.
        memory: The memory the writer now has: the new one, or the one that already said it.
        dropped: The refused text as the memory it would have been, kept in the journal;
            None when the text was stored.
        effects: What to apply, in order.
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
