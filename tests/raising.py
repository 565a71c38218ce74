"""Questions that a test raises itself, without a model."""

from __future__ import annotations

from datetime import timedelta

import wellkept
from wellkept.core.asking.budget import opened
from wellkept.core.asking.state import state_of, state_text
from wellkept.types import Chance, JournalEntry, QuestionRecord


def raise_question(store: wellkept.MemoryStore, memory_id: str, *candidates: str, worth: float = 0.5) -> str:
    """Ask about a memory and these candidates, as the gate does after a write, without a model."""
    ctx = store._ctx
    chances = tuple(Chance(one, repeats=0.1, replaces=0.3, number=at) for at, one in enumerate(candidates, 1))
    record = QuestionRecord(memory_id, chances, worth, expires_at=ctx.clock() + timedelta(days=14))
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        entry = JournalEntry(at=ctx.clock(), verb="remember", actor=ctx.actor, outcome="created", memory_id=memory_id,
                             memory_ids=(memory_id,), asks=record)  # fmt: skip
        seq = tx.apply(entry)
        tx.note_asking(state_text(state_of(tx.asking()).with_question(opened(record, seq))))
    return f"q{seq}"
