"""The journal: one entry per applied decision, and the memory versions derived from it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.frozen import frozen
from wellkept.types.comparisons import Match, Reading, Reason
from wellkept.types.effects import Effect
from wellkept.types.memories import Memory
from wellkept.types.questions import QuestionRecord
from wellkept.types.words import Degradation

Rightness: TypeAlias = Literal["right", "wrong", "unsure"]
"""What somebody says about a past decision."""


@frozen(kw_only=True)
class JournalEntry:
    """One applied decision: what was done, by whom, under which policy, why, and how to undo it.

    Attributes:
        seq: Position in the namespace's journal, from 1; 0 before it is applied.
        verb: The call that made it (remember, supersede, resolve, undo, …).
        memory_id: The main memory.
        memory_ids: Every memory that was changed.
        policy: Hash of the policy in force.
        effects: The applied effects. Read back from a store, each effect has its complete `before`; its
            `after` holds only what later entries and the current rows do not contain.
        undoes: The entry that this entry undid; 0 when it is not an undo.
        idempotency_key: The caller's key; `payload` is the hash of the call's arguments.
        run_id: The import or run that the entry belongs to; else empty.
        dropped: A text that was not stored, as the memory it would have become.
        asks: The question that the entry asks; None where nobody is asked.
        answers: The entry whose question this entry answers; 0 when it is no answer.
        reading: What the relation model said of all candidates; None where it was not asked.
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
    asks: QuestionRecord | None = None
    answers: int = 0
    reading: Reading | None = None


@frozen
class Version:
    """A memory as one journal entry left it; `memory` is None when the entry removed it."""

    seq: int
    at: datetime
    verb: str
    outcome: str
    actor: str
    reasons: tuple[Reason, ...]
    memory: Memory | None
