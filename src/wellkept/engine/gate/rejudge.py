"""Decisions about stored memories: after an outage (sweep), or after an edit (`revise`)."""

from __future__ import annotations

from dataclasses import replace

from wellkept.core.records import conflicts as flags
from wellkept.engine.base.context import Context
from wellkept.engine.gate.judging import Judging, Models
from wellkept.engine.models.embedding import text_of
from wellkept.storage.port import Tx
from wellkept.types import Comparison, ConflictChange, Decision, Memory, NewMemory, Statement, Vector


def decide(ctx: Context, tx: Tx, memory: Memory, vector: Vector, models: Models) -> Decision:
    """What the gate would decide if this memory were written now, without comparing it with itself.

    Raises:
        UnansweredError: A model must be asked first, outside the transaction.
    """
    statement = {name: getattr(memory, name) for name in Statement.__dataclass_fields__}
    new = NewMemory(**statement, keep=True, recorded_at=memory.created_at)  # it is stored: only its relations are asked
    models.vectors.adopt(text_of(memory), vector, memory.chunks)
    judging = Judging(ctx, (new,), models, stored=memory)
    judging.near.enter(tx)
    judging.near.wrote(replace(memory, status="archived"), None)  # not its own neighbour
    return judging.decide(tx, 0)


def conflicts_of(ctx: Context, tx: Tx, memory: Memory, vector: Vector, models: Models) -> list[ConflictChange]:
    """Conflicts and duplicates of an edited memory with others; only flagged."""
    careful = replace(ctx, policy=ctx.policy.with_conflict(memory.kind, "warn"))
    decision = decide(careful, tx, memory, vector, models)
    found = [effect for effect in decision.effects if isinstance(effect, ConflictChange)]
    if decision.outcome in ("duplicate", "restated") and decision.memory is not None:
        comparison = Comparison("same", decision.matches[0].similarity, decision.matches[0].cosine)
        moment = (ctx.clock(), ctx.policy.conflict_days)
        found.append(flags.opened(flags.between(decision.memory, memory, comparison, kind="duplicate", moment=moment)))
    known = {conflict.key for conflict in tx.conflicts(ids=(memory.id,))}
    return [change for change in found if change.after is not None and change.after.key not in known]
