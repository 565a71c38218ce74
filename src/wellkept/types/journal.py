"""The journal: one entry per applied decision, and the versions read from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from wellkept.types.comparisons import Match, Reason
from wellkept.types.effects import Effect
from wellkept.types.memories import Memory
from wellkept.types.words import Degradation


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One applied decision: what was done, by whom, under which policy, why, and how to take it back.

    Attributes:
        seq: Position in the namespace's journal, from 1; 0 before it is applied.
        verb: The call that caused it (remember, supersede, resolve, undo, …).
        memory_id: The memory it is mainly about.
        memory_ids: Every memory it touched.
        policy: Hash of the policy in force.
        effects: What was applied. Read back from a store, each effect still has its `before`;
            of the `after` only what later entries or the present rows do not tell.
        undoes: The entry this one took back; 0 when it is no undo.
        idempotency_key: The caller's key, with `payload` the hash of what came with it.
        run_id: The import or run this entry belongs to; empty outside one.
        dropped: The text that was not stored, as the memory it would have been.
    """

    seq: int = 0
    at: datetime
    verb: str
    actor: str = ""
    policy: str = ""
    outcome: str
    memory_id: str = ""
    memory_ids: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    matches: tuple[Match, ...] = ()
    conflict_keys: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    effects: tuple[Effect, ...] = ()
    dropped: Memory | None = None
    undoes: int = 0
    idempotency_key: str = ""
    payload: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """A memory as one journal entry left it; `memory` is None where the entry removed it."""

    seq: int
    at: datetime
    verb: str
    outcome: str
    actor: str
    reasons: tuple[Reason, ...]
    memory: Memory | None
