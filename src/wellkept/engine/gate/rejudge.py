"""Decisions about a memory that is stored already: swept after an outage, or rewritten by `revise`."""

from __future__ import annotations

from dataclasses import replace

from wellkept.core.gate.admit import settle
from wellkept.core.judging.evidence import Moment
from wellkept.core.records import conflicts as flags
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.engine.gate.gather_evidence import kinds_near, with_opinions, with_vectors, without_vectors
from wellkept.engine.gate.neighbours import Nearby
from wellkept.engine.models.embedding import Embeddings, text_of
from wellkept.engine.models.judgements import Judgements
from wellkept.storage.port import Tx
from wellkept.types import Comparison, ConflictChange, Decision, Memory, NewMemory, Statement, Vector


def decide(ctx: Context, tx: Tx, memory: Memory, vector: Vector, models: tuple[Opinions, Judgements]) -> Decision:
    """What the gate would decide if this memory were written now, with itself left out.

    Raises:
        NeedsOpinionError: The relation model must be asked first, outside the transaction.
        NeedsJudgementError: The judge must.
    """
    opinions, judgements = models
    statement = {name: getattr(memory, name) for name in Statement.__dataclass_fields__}
    new = NewMemory(**statement, recorded_at=memory.created_at)
    vectors = Embeddings(ctx.embedder)
    vectors.adopt(text_of(memory), vector, memory.chunks)
    near = Nearby(1, lambda _: (kinds_near(ctx, memory.kind), vector))
    near.enter(tx)
    near.wrote(replace(memory, status="archived"), None)  # it is not its own neighbour
    evidence = without_vectors(ctx, tx, new)
    evidence = replace(
        evidence,
        verbatim=tuple(hit for hit in evidence.verbatim if hit.memory.id != memory.id),
        slot=tuple(row for row in evidence.slot if row.id != memory.id),
        ongoing=tuple(row for row in evidence.ongoing if row.id != memory.id),
        known_conflicts=frozenset(conflict.key for conflict in tx.conflicts(ids=(memory.id,))),
    )
    moment = Moment(ctx.clock(), memory.id, ctx.namespace, ctx.policy)
    evidence = with_vectors(ctx, tx, new, evidence=evidence, vectors=vectors, near=near, index=0)
    settled = settle(new, evidence, moment)
    return settled or judgements.decided(new, with_opinions(new, evidence, opinions, moment), moment)


def conflicts_of(
    ctx: Context, tx: Tx, memory: Memory, vector: Vector, models: tuple[Opinions, Judgements]
) -> list[ConflictChange]:
    """Conflicts and repeats that a rewritten memory has with others; only flagged."""
    careful = replace(ctx, policy=ctx.policy.with_conflict(memory.kind, "warn"))
    decision = decide(careful, tx, memory, vector, models)
    found = [effect for effect in decision.effects if isinstance(effect, ConflictChange)]
    if decision.outcome == "duplicate" and decision.memory is not None:
        comparison = Comparison("same", decision.matches[0].similarity, decision.matches[0].cosine)
        moment = (ctx.clock(), ctx.policy.conflict_days)
        found.append(flags.opened(flags.between(decision.memory, memory, comparison, kind="duplicate", moment=moment)))
    known = {conflict.key for conflict in tx.conflicts(ids=(memory.id,))}
    return [change for change in found if change.after is not None and change.after.key not in known]
