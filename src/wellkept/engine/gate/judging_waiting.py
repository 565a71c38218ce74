"""Judges the writes that wait, oldest first, as the gate would have judged them when they were written.

A write that turns out to be a new memory is marked as judged. Any other is taken back and passes the gate again, in one
transaction: so it leaves what it would have left at once. It is compared with what was there before it, and not with
writes after it, which wait as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from wellkept.core.gate.may_wait import VERB, is_plain, why
from wellkept.engine.base.context import Context
from wellkept.engine.base.handed_out import Handed
from wellkept.engine.base.retry import repeated
from wellkept.engine.gate.judging import Judging, Models
from wellkept.engine.gate.mentions import RULES, is_awaited
from wellkept.engine.gate.new_questions import raised
from wellkept.engine.gate.waiting import Waiting, waiting
from wellkept.engine.history.journal import taken_back
from wellkept.engine.models.embedding import Embeddings, text_of
from wellkept.engine.models.unanswered import until_answered
from wellkept.errors import ModelError
from wellkept.frozen import frozen
from wellkept.policy import Policy
from wellkept.storage.port import Stale, Tx
from wellkept.types import (
    ALL_STATUSES,
    Decision,
    Filter,
    ImportedMemory,
    JournalEntry,
    LinkChange,
    MemoryChange,
    NewMemory,
    Statement,
)

_TOGETHER = 32
"""Texts embedded in one call."""
Again: TypeAlias = Callable[[Context, Tx, NewMemory, Judging, Embeddings, Waiting], None]
"""Lets a write that was taken back pass the gate again, in the transaction."""


@frozen
class Late:
    """What became of the writes that waited.

    Attributes:
        judged: How many were judged.
        changed: How many of them became something else than a new memory.
        kept: Memories that other memories link to, so that their write cannot be taken back; a sweep checks them.
        unread: Memories that a broken part of the embedder cannot read; they go on waiting.
        failure: The outage that ended it, or that left some unread; None where nothing waits any more.
    """

    judged: int = 0
    changed: int = 0
    kept: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    failure: ModelError | None = None


class _KeptError(Exception):
    """The write cannot be taken back."""


def judge_waiting(ctx: Context, again: Again, *, limit: int | None = None) -> Late:
    """Judge what waits in a namespace; any number of processes may do so at once."""
    models, queue, told = Models.of(ctx), _Queue(ctx), Late()
    while (limit is None or told.judged < limit) and (one := queue.first((*told.kept, *told.unread))) is not None:
        models.vectors.fetch(queue.texts())
        if models.vectors.outage_of(text_of(one.memory)) is not None and not models.vectors.is_down:
            told = replace(told, unread=(*told.unread, one.memory.id), failure=models.vectors.failure)
            continue
        try:
            changed = repeated(ctx, partial(_judged, ctx, again, one, queue, models))
        except (_KeptError, Stale):
            told = replace(told, kept=(*told.kept, one.memory.id))
            continue
        failure = _failure(models)
        if failure is not None:
            return replace(told, failure=failure)
        told = replace(told, judged=told.judged + (changed is not None), changed=told.changed + bool(changed))
    return told


def _judged(ctx: Context, again: Again, one: Waiting, queue: _Queue, models: Models) -> bool | None:
    """Judge one write: whether it is something else than a new memory; None if it waits no more, or after an outage."""
    new, late = _given(one), _then(ctx, one)

    def decided(tx: Tx, hidden: Collection[str]) -> tuple[Judging, Decision]:
        judging = Judging(late, (new,), models, hidden=hidden)
        judging.near.enter(tx)
        return judging, judging.decide(tx, 0)

    def looked() -> tuple[int, Decision] | None:
        with ctx.storage.begin(ctx.namespace, write=False) as tx:
            hidden = queue.not_before(tx, one)
            return None if hidden is None else (tx.seq, decided(tx, hidden)[1])

    found = until_answered(looked)  # the models are asked before the lock is taken

    def acted() -> bool | None:
        with ctx.storage.begin(ctx.namespace, write=True) as tx:
            hidden = queue.not_before(tx, one)
            if found is None or hidden is None or _failure(models) is not None:
                return None
            decision = found[1] if tx.seq == found[0] else decided(tx, hidden)[1]
            changed = not is_plain(decision) or _is_linked(tx, one)
            if changed:
                tx.apply(_taken_up(ctx, one))
                judging = Judging(late, (replace(new, links=_there(tx, new.links)),), models, hidden=hidden)
                judging.near.enter(tx)
                again(replace(ctx, actor=one.entry.actor), tx, judging.items[0].new, judging, models.vectors, one)
                _refuse_if_missed(tx, one)
            else:
                _mark(replace(ctx, actor=one.entry.actor), tx, one, decision)
            seq = tx.seq
        queue.took(one, seq)
        return changed

    return until_answered(acted)


def _failure(models: Models) -> ModelError | None:
    of_all = models.vectors.failure if models.vectors.is_down else None
    return of_all or models.opinions.failure or models.judgements.failure


def _then(ctx: Context, one: Waiting) -> Context:
    """The context of the decision: the time and the id of the write, and nothing that was recalled since."""
    entry = one.entry
    return replace(
        ctx,
        clock=lambda: entry.at,
        new_id=lambda: one.memory.id,
        actor=entry.actor,
        session="",
        handed=Handed(),
        policy=_without_refusals(ctx.policy, one.memory.kind),
    )


def _without_refusals(policy: Policy, kind: str) -> Policy:
    """The policy for a text that is stored already, so that it can no longer be refused."""
    own = policy.for_kind(kind)
    if own.on_conflict == "raise" or own.on_error == "raise":
        warned = "warn" if own.on_conflict == "raise" else own.on_conflict
        own = replace(own, on_conflict=warned, on_error="store")
        return replace(policy, kinds={**policy.kinds, kind: own})
    return policy


def _given(one: Waiting) -> NewMemory:
    """The statement that was written, with its uses since."""
    memory, entry = one.memory, one.entry
    statement = {name: getattr(memory, name) for name in Statement.__dataclass_fields__}
    return ImportedMemory(
        **statement,
        keep=True,  # it was found worth keeping
        links=_own_links(entry),
        recorded_at=memory.created_at if memory.created_at != entry.at else None,
        access_count=memory.access_count,
        last_accessed_at=memory.last_accessed_at,
        updated_at=memory.updated_at,
    )


def _own_links(entry: JournalEntry) -> tuple[str, ...]:
    """The memories that the caller linked to; the links of the text itself are made again."""
    made = [one.after for one in entry.effects if isinstance(one, LinkChange) and one.after is not None]
    return tuple(link.dst for link in made[sum(reason.rule in RULES for reason in entry.reasons) :])


def _there(tx: Tx, ids: tuple[str, ...]) -> tuple[str, ...]:
    rows = {row.id for row in tx.find(Filter(ids=ids, statuses=ALL_STATUSES))} if ids else set()
    return tuple(one for one in ids if one in rows)


def _is_linked(tx: Tx, one: Waiting) -> bool:
    """Whether the text has links, or others name it: such links are made again among the judged memories."""
    return any(reason.rule in RULES for reason in one.entry.reasons) or is_awaited(tx, one.memory)


def _taken_up(ctx: Context, one: Waiting) -> JournalEntry:
    back = taken_back(ctx, one.entry, run_id=one.entry.run_id, reasons=(why(one.entry),))
    return replace(back, verb=VERB, outcome="taken_up")


def _mark(ctx: Context, tx: Tx, one: Waiting, decision: Decision) -> None:
    """Mark a memory as judged, with the question about it."""
    memory = one.memory
    checked = replace(memory, checked=True, version=memory.version + 1)
    entry = replace(
        ctx.entry(VERB, "checked"),
        memory_id=memory.id,
        memory_ids=(memory.id,),
        reasons=(why(one.entry),),
        effects=(MemoryChange(memory, checked),),
        run_id=one.entry.run_id,
        reading=decision.reading,
    )
    tx.apply(replace(entry, asks=raised(ctx, tx, decision)))


def _refuse_if_missed(tx: Tx, one: Waiting) -> None:
    """Raise where the text has no row any more, but others link to it."""
    if not tx.find(Filter(ids=(one.memory.id,), statuses=ALL_STATUSES)) and tx.links((one.memory.id,)):
        raise _KeptError


class _Queue:
    """The waiting writes, read again only where somebody else has written."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._seq = -1
        self._found: list[Waiting] = []

    def first(self, kept: Collection[str]) -> Waiting | None:
        """The oldest write that waits."""
        with self._ctx.storage.begin(self._ctx.namespace, write=False) as tx:
            self._see(tx)
        return next((one for one in self._found if one.memory.id not in kept), None)

    def texts(self) -> list[str]:
        """The texts of the next writes, to be embedded together."""
        return [text_of(one.memory) for one in self._found[:_TOGETHER]]

    def not_before(self, tx: Tx, one: Waiting) -> frozenset[str] | None:
        """The memories of this write and of those after it; None if it waits no more."""
        self._see(tx)
        after = [other.memory.id for other in self._found if other.entry.seq >= one.entry.seq]
        return frozenset(after) if one.memory.id in after else None

    def took(self, one: Waiting, seq: int) -> None:
        """Record that a transaction that ends with entry `seq` has judged a write."""
        self._seq = seq
        self._found = [other for other in self._found if other is not one and other.memory.id != one.memory.id]

    def _see(self, tx: Tx) -> None:
        if tx.seq != self._seq:
            self._found = waiting(tx)
            self._seq = tx.seq
