"""The write gate: gather, decide, apply, journal, in one transaction; models are asked outside it.

One item and a thousand take the same path. Items are decided in order, so that each is compared with those
before it; texts are embedded in one batch before the lock is taken.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from wellkept.core.asking.candidates import question_of
from wellkept.core.gate.feedback_guard import is_echo
from wellkept.core.gate.may_wait import WAITS, why
from wellkept.core.records.effects import touched
from wellkept.core.records.explain import dropped_line, message
from wellkept.engine.base.context import Context
from wellkept.engine.base.retry import repeated
from wellkept.engine.gate import judging_waiting
from wellkept.engine.gate.idempotency import next_key, payload_of, replayed
from wellkept.engine.gate.judging import Judging, Models
from wellkept.engine.gate.judging_waiting import Late
from wellkept.engine.gate.mentions import with_mentions
from wellkept.engine.gate.new_questions import raised
from wellkept.engine.gate.waiting import Later, Waiting
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.engine.models.unanswered import UnansweredError, ask_all, until_answered
from wellkept.errors import ConflictError, NotFound, StorageError, WellkeptError
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import (
    ALL_STATUSES,
    SEARCHED,
    Decision,
    Filter,
    ImportedMemory,
    JournalEntry,
    Link,
    LinkChange,
    Match,
    Memory,
    MemoryChange,
    NewMemory,
    Question,
    Vector,
    WriteResult,
)

log = logging.getLogger("wellkept")

CHUNK = 128
_JOURNALED_MATCHES = 5


@frozen
class Cause:
    """The cause of a run of writes: the verb, and the import or batch it belongs to.

    Attributes:
        judges: The entry of the waiting write that is written again, judged.
    """

    verb: str = "remember"
    run_id: str = ""
    judges: JournalEntry | None = None


def remember(ctx: Context, new: NewMemory) -> WriteResult:
    """Decide and apply one write.

    Raises:
        ConflictError: A conflict under `on_conflict="raise"`; nothing was written.
        IdempotencyMismatch: The key was used before with another payload.
        NotFound: A link target does not exist.
        ModelError: The embedder failed and the policy says `on_error="raise"`.
        StorageError: The store could not be written; the transaction was rolled back.
    """
    result = remember_all(ctx, [new], Cause())[0]
    if isinstance(result, WellkeptError):
        raise result
    return result


def remember_all(ctx: Context, items: Sequence[NewMemory], cause: Cause) -> list[WriteResult | WellkeptError]:
    """Decide and apply writes in order; a failed item becomes its error, the others continue."""
    results: list[WriteResult | WellkeptError] = []
    for start in range(0, len(items), CHUNK):
        results += _run(ctx, items[start : start + CHUNK], cause)
    return results


def check(ctx: Context, new: NewMemory) -> WriteResult:
    """What `remember` would do now; nothing is written."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        new, before = replayed(tx, new)
        if before is not None:
            return before
        _check_links(tx, new)
    judging = Judging(ctx, (new,), Models.of(ctx))
    judging.ahead()
    return _result(until_answered(judging.only), entry=0, asked_only=True)


def _run(ctx: Context, items: Sequence[NewMemory], cause: Cause) -> list[WriteResult | WellkeptError]:
    """Decide and apply a chunk; uncommitted items are decided again, committed ones are kept."""
    models = Models.of(ctx)
    results: list[WriteResult | WellkeptError] = []
    while len(results) < len(items):
        results += repeated(ctx, partial(_pass, ctx, items[len(results) :], cause, models))
    return results


def _pass(ctx: Context, items: Sequence[NewMemory], cause: Cause, models: Models) -> list[WriteResult | WellkeptError]:
    """The results of the items, or of the first ones when a later transaction failed transiently."""
    later = None
    if ctx.policy.judging == "later":
        whole = ctx if ctx.store_policy is None else replace(ctx, policy=ctx.store_policy, store_policy=None)
        later = Later(ctx, lambda _: judge_waiting(whole), defers=whole is ctx)
    judging = Judging(ctx, items, models, later=later)
    judging.ahead()
    results: list[WriteResult | WellkeptError] = []
    while len(results) < len(items):
        missing: list[UnansweredError] = []
        kept = len(results)
        try:
            with ctx.storage.begin(ctx.namespace, write=True) as tx:
                judging.near.enter(tx)
                gate = _Gate(ctx, tx, items, vectors=models.vectors, judging=judging, cause=cause)
                while len(results) < len(items):
                    try:
                        results.append(gate.pass_through(len(results)))
                    except UnansweredError as lacking:
                        missing.append(lacking)  # commit the items decided so far, ask outside, continue
                        break
                    except StorageError:
                        raise
                    except WellkeptError as error:
                        results.append(error)
        except StorageError as error:
            if error.transient and kept:
                return results[:kept]
            raise
        ask_all(missing)
    return results


@frozen
class _Gate:
    """The gate inside one write transaction."""

    ctx: Context
    tx: Tx
    items: Sequence[NewMemory]
    vectors: Embeddings
    judging: Judging
    cause: Cause

    def pass_through(self, index: int) -> WriteResult:
        """Decide and apply one item."""
        new = self.items[index]
        if not self.judging.look.is_unused(index, new, self.tx):
            new, before = replayed(self.tx, new)
            if before is not None:
                return before
        _check_links(self.tx, new)
        decision = self.judging.decide(self.tx, index)
        if decision.reasons and decision.reasons[0].rule == "conflict_raise":
            raise ConflictError(
                message(decision).rstrip("."),
                conflicts=decision.conflicts,
                todo='Supersede or revise the stored one, or write with on_conflict="warn"',
            )
        item = self.judging.items[index]
        vector = self.vectors.vector(item.text)
        decision = with_mentions(
            self.ctx,
            self.tx,
            decision,
            item.policy,
            text=new.content,
            own=new.links,
            vector=vector,
            hidden=self.judging.hidden,
        )
        decision = self._with_links(new, decision)
        decision, made = self._embedded(decision)
        entry = self._entry(new, decision)
        seq = self.tx.apply(entry, vectors=made)
        self.judging.look.wrote(seq, new.idempotency_key, decision.effects)
        self._count_use(new, decision)
        self.judging.near.applied(seq)
        for effect in decision.effects:
            if isinstance(effect, MemoryChange) and effect.after is not None and _moved(effect):
                self.judging.near.wrote(effect.after, made.get(effect.after.embedding))
        if decision.outcome == "duplicate" and decision.dropped is not None:
            log.info("%s", dropped_line(decision.dropped, decision.matches[0]))
        elif decision.outcome == "superseded" and decision.memory is not None:
            for link in decision.links:
                if link.rel == "supersedes":
                    subject = decision.memory.subject
                    log.info("Superseded fact %s (subject=%s) with %s", link.dst, subject, link.src)
        elif decision.outcome == "reused" and decision.memory is not None:
            log.debug("Skipping duplicate episode, reusing %s", decision.memory.id)
        elif decision.outcome == "rejected" and decision.reasons[0].rule == "recording_filter":
            log.debug("Skipping decision recording: informational response")
        return replace(_result(decision, entry=seq), question=self._question(replace(entry, seq=seq)))

    def _question(self, entry: JournalEntry) -> Question | None:
        """The question that the entry asks, as the caller sees it."""
        if entry.asks is None:
            return None
        ids = (entry.asks.memory_id, *(one.memory_id for one in entry.asks.chances))
        rows = {row.id: row for row in self.tx.find(Filter(ids=ids, statuses=SEARCHED))}
        return question_of(entry.asks, entry, rows)

    def _count_use(self, new: NewMemory, decision: Decision) -> None:
        """Count an echo of a pack as an access, and add the imported usage of a duplicate; changes usage data only."""
        heard = decision.memory
        if heard is None:
            return
        if is_echo(decision):
            self.tx.touch({heard.id: (heard.access_count + 1, self.ctx.clock(), heard.stability)})
        elif isinstance(new, ImportedMemory) and new.access_count and decision.dropped is not None:
            last = max(filter(None, (heard.last_accessed_at, new.last_accessed_at)), default=heard.created_at)
            self.tx.touch({heard.id: (heard.access_count + new.access_count, last, heard.stability)})

    def _with_links(self, new: NewMemory, decision: Decision) -> Decision:
        """The decision with the caller's own links, each to an existing memory."""
        memory = decision.memory
        if not new.links or memory is None:
            return decision
        stored = decision.outcome in ("created", "superseded")
        there = () if stored else self.tx.links((memory.id,))  # a duplicate's links belong to the memory it repeats
        made = {(link.src, link.dst, link.rel) for link in (*decision.links, *there)}
        now = memory.updated_at
        extra = [
            Link(memory.id, dst, "related", now)
            for dst in new.links
            if dst != memory.id and (memory.id, dst, "related") not in made
        ]
        return replace(
            decision,
            links=(*extra, *decision.links),
            effects=(*decision.effects, *(LinkChange(None, link) for link in extra)),
        )

    def _embedded(self, decision: Decision) -> tuple[Decision, dict[str, Vector]]:
        """The decision with vectors for every changed text; an evolved text needs a new one."""
        made: dict[str, Vector] = {}
        effects = list(decision.effects)
        memory = decision.memory
        for place, effect in enumerate(effects):
            if not isinstance(effect, MemoryChange) or effect.after is None:
                continue
            if _reworded(effect) or _revectored(effect):
                after = self._with_vector(effect.after, reworded=_reworded(effect))
                vector = self.vectors.vector(text_of(after))
                if vector is not None:
                    made[after.embedding] = vector
                if after is not effect.after:
                    memory = after if memory is not None and memory.id == after.id else memory
                    effects[place] = MemoryChange(effect.before, after)
                    decision = replace(decision, effects=tuple(effects), memory=memory)
        return decision, made

    def _with_vector(self, memory: Memory, *, reworded: bool) -> Memory:
        if not reworded and (memory.embedding or not memory.updates):
            return memory
        text = text_of(memory)
        embedded = self.vectors.get(text)
        if embedded is None:
            return replace(memory, embedding="", chunks=0, checked=False)
        if embedded.vector is None:
            return replace(memory, embedding="", chunks=0) if reworded else memory
        return replace(memory, embedding=vector_key(text), chunks=embedded.chunks)

    def _entry(self, new: NewMemory, decision: Decision) -> JournalEntry:
        memory = decision.memory
        told = tuple(match for match in decision.matches if match.action != "none")[:_JOURNALED_MATCHES]
        judges = self.cause.judges
        return JournalEntry(
            at=self.ctx.clock(),
            verb=self.cause.verb,
            actor=self.ctx.actor,
            policy=self.ctx.policy.hash,
            outcome=decision.outcome,
            memory_id=memory.id if memory is not None else "",
            memory_ids=_ids(decision, told),
            reasons=decision.reasons if judges is None else (*decision.reasons, why(judges)),
            matches=told,
            conflict_keys=tuple(conflict.key for conflict in decision.conflicts),
            degraded=decision.degraded,
            effects=decision.effects,
            dropped=decision.dropped,
            idempotency_key=new.idempotency_key
            if judges is None
            else next_key(self.tx, judges.idempotency_key, judges.payload),
            payload=judges.payload if judges is not None else payload_of(new) if new.idempotency_key else "",
            run_id=self.cause.run_id,
            asks=None if WAITS in decision.degraded else raised(self.ctx, self.tx, decision),
            reading=decision.reading,
        )


# --------------------------------------------------------------------------------------------
# Writes that wait to be judged


def judge_waiting(ctx: Context, *, limit: int | None = None) -> Late:
    """Judge the writes that wait, oldest first, as the gate would have judged them when they were written.

    Args:
        ctx: The store.
        limit: At most this many.
    """
    return judging_waiting.judge_waiting(ctx, _again, limit=limit)


def _again(ctx: Context, tx: Tx, new: NewMemory, judging: Judging, vectors: Embeddings, one: Waiting) -> None:
    """Let a write that was taken back pass the gate again."""
    cause = Cause(one.entry.verb, one.entry.run_id, judges=one.entry)
    _Gate(ctx, tx, (new,), vectors=vectors, judging=judging, cause=cause).pass_through(0)


def _check_links(tx: Tx, new: NewMemory) -> None:
    """Check that the links of a new memory lead to existing memories; only `link` can make dangling ones."""
    if not new.links:
        return
    there = {row.id for row in tx.find(Filter(ids=new.links, statuses=ALL_STATUSES))}
    missing = [link for link in new.links if link not in there]
    if missing:
        raise NotFound(
            f"no memory {missing[0]!r} to link to", where="links", todo="Pass the id of a memory of this namespace"
        )


def _ids(decision: Decision, told: tuple[Match, ...]) -> tuple[str, ...]:
    ids = [*touched(decision.effects), *(match.memory_id for match in told)]
    if decision.dropped is not None:
        ids.append(decision.dropped.id)
    return tuple(dict.fromkeys(ids))


def _revectored(effect: MemoryChange) -> bool:
    """Whether the embedded text of the memory has changed."""
    return effect.before is None or effect.after is None or effect.before.embedding != effect.after.embedding


def _reworded(effect: MemoryChange) -> bool:
    """Whether a duplicate filled in a title or summary, so that the vector belongs to another text."""
    before, after = effect.before, effect.after
    if before is None or after is None or not before.embedding or before.embedding != after.embedding:
        return False
    return text_of(before) != text_of(after)


def _moved(effect: MemoryChange) -> bool:
    """Whether the neighbours of the memory change: a new vector, or no longer active."""
    return _revectored(effect) or (
        effect.before is not None and effect.after is not None and effect.before.status != effect.after.status
    )


def _result(decision: Decision, *, entry: int, asked_only: bool = False) -> WriteResult:
    return WriteResult(
        outcome=decision.outcome,
        memory=decision.memory,
        links=decision.links,
        conflicts=decision.conflicts,
        matches=decision.matches,
        reasons=decision.reasons,
        degraded=decision.degraded,
        message=message(decision, asked_only=asked_only),
        entry=entry,
        dropped=decision.dropped.id if decision.dropped is not None else "",
    )
