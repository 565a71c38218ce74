"""Writing what waits: in order, each once, by one at a time, whoever does it and whenever it is interrupted.

A write that waits has a key of its own, so one that was written before a crash could mark it as done is
found again and not written twice. What was left, by a conversation that ended or a process that died, is
written by the next one that opens the store, and by servers once nobody has added to it for a while.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from wellkept.core.records.codec import DAMAGE
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import asked_of, check_namespace, new_memory
from wellkept.engine.gate import write
from wellkept.engine.history.journal import is_undone
from wellkept.engine.models.no_embedder import Unloaded
from wellkept.errors import Busy, Corrupt, InvalidInput, StorageError, WellkeptError
from wellkept.storage.ledger import UNREADABLE
from wellkept.types import NewMemory, WriteResult
from wellkept.types.queue import Flushed, QueuedWrite

log = logging.getLogger("wellkept")

MAX_ATTEMPTS = 5
"""How often a write that fails is tried by itself; it stays listed, and `flush(again=True)` tries it anew."""
IDLE = timedelta(minutes=5)
"""How long after the last write of its conversation a write counts as left."""
_MOST_AT_ONCE = 1_000
_TURN_OF_OTHERS = 0.01
"""Seconds between two parts: whoever waits in this process for the turn gets it only while nobody takes it back."""


def waiting(ctx: Context, namespace: str | None) -> tuple[QueuedWrite, ...]:
    """What waits for this store, in one namespace or in all; a file may hold what was said to another store."""
    if ctx.ledger.is_empty():
        return ()
    store = ctx.storage.header().store_id
    return tuple(one for one in ctx.ledger.waiting(namespace) if one.store == store or UNREADABLE in one.statement)


def flush(ctx: Context, chosen: Callable[[], Sequence[QueuedWrite]]) -> Flushed:
    """Write some of what waits, in order; one that fails is kept and does not stop the rest.

    Args:
        ctx: Of any namespace of the store.
        chosen: Says which, once nobody else is writing any of them.

    Raises:
        StorageError: The store could not be written; what is not yet written waits on.
    """
    if ctx.ledger.is_empty():
        return Flushed()
    with ctx.ledger.turn():
        told = _flushed(ctx, chosen())
        ctx.ledger.tidy()
    return told


def flush_left(ctx: Context, *, idle: timedelta = IDLE) -> Generator[Flushed]:
    """Write what was left, in all namespaces; where somebody else is writing it now, the rest is left to him.

    All that waits is read once, and told by that what was left. It is written in parts, so that whoever wants
    a queue of his own flushed has his turn between two of them; what he wrote or dropped meanwhile is not
    written again.

    Args:
        ctx: Of any namespace of the store.
        idle: How long a conversation has to have added nothing.

    Returns:
        What became of each part, when it has been written; the next one is begun when it is asked for.

    Raises:
        StorageError: The store could not be written; what is not yet written waits on.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     answer = store.queue.remember("Funding flips first.", kind="thesis")
        ...     [len(part.results) for part in flush_left(store._ctx, idle=timedelta())]
        [1]
    """
    found = left(waiting(ctx, None), idle=idle, now=ctx.clock())
    try:
        for start in range(0, len(found), _MOST_AT_ONCE):
            if start:
                time.sleep(_TURN_OF_OTHERS)
            with ctx.ledger.turn(wait=False) as ours:
                if not ours:
                    return
                now = ctx.ledger.still(found[start : start + _MOST_AT_ONCE])
                told = _flushed(ctx, [one for one in now if one.attempts < MAX_ATTEMPTS])
            yield told
    finally:
        ctx.ledger.tidy()


def _flushed(ctx: Context, chosen: Sequence[QueuedWrite]) -> Flushed:
    """Some that wait, written; the turn is ours. Where one namespace cannot be written, the others are."""
    results: list[WriteResult] = []
    failed: list[QueuedWrite] = []
    passed_over: dict[str, str] = {}
    for (namespace, *_), group in groupby(chosen, key=_together):
        members = list(group)
        for start in range(0, len(members), write.CHUNK):
            part = members[start : start + write.CHUNK]
            if namespace in passed_over:  # a later write must not come before one that waits
                failed += [replace(one, error=passed_over[namespace]) for one in part]
                continue
            try:
                written, errors = _written(ctx, part)
                ctx.ledger.settle(written, {one.id: one.error for one in errors}, namespace=namespace)
            except (StorageError, *DAMAGE) as error:
                if not _concerns_one_namespace(ctx, error):
                    raise
                passed_over[namespace] = _reason(error)
                failed += _kept_back(ctx, part, error)
                continue
            results += [result for result in written.values() if result is not None]
            failed += errors
    return Flushed(tuple(results), tuple(failed))


def _concerns_one_namespace(ctx: Context, error: Exception) -> bool:
    """Whether other namespaces may well be written although this one could not."""
    if not isinstance(error, StorageError):
        return True
    if isinstance(error, Busy):
        return ctx.ledger.shared and not error.transient  # in a file one writer keeps all others waiting
    return type(error) in (Corrupt, StorageError) and not error.transient


def _kept_back(ctx: Context, part: Sequence[QueuedWrite], error: Exception) -> list[QueuedWrite]:
    """Note why a namespace could not be written, unless it was only locked, and tell it."""
    log.warning("Queued writes of namespace %r could not be written: %s", part[0].namespace, _reason(error))
    if isinstance(error, Busy):
        return [replace(one, error=_reason(error)) for one in part]
    told = [_after(one, error) for one in part]
    with suppress(StorageError):  # they wait on as they are
        ctx.ledger.settle((), {one.id: one.error for one in told}, namespace=part[0].namespace)
    return told


def left(found: Sequence[QueuedWrite], *, idle: timedelta, now: datetime) -> list[QueuedWrite]:
    """Those of conversations that have added nothing for a while; what has failed waits twice as long each time.

    Example:
        >>> from datetime import UTC
        >>> said = datetime(2026, 3, 1, tzinfo=UTC)
        >>> one = QueuedWrite(id="1", store="s", namespace="n", at=said, statement={})
        >>> [len(left([one], idle=IDLE, now=said + timedelta(minutes=minutes))) for minutes in (4, 5)]
        [0, 1]
    """
    last: dict[tuple[str, str], datetime] = {}
    for one in found:
        key = (one.namespace, one.session)
        last[key] = max(one.at, last.get(key, one.at))
    return [
        one
        for one in found
        if one.attempts < MAX_ATTEMPTS and last[one.namespace, one.session] + idle * 2**one.attempts <= now
    ]


def recover(ctx: Context) -> None:
    """Write what a crash left in the queue; a store that cannot be written now keeps it for later.

    Where processes share a queue, most of what waits belongs to one that still runs: there only what has
    waited for long is taken for left.
    """
    if isinstance(ctx.embedder, Unloaded):
        return  # one who only reads would store it without a vector and unjudged
    try:
        if ctx.ledger.shared:
            with closing(flush_left(ctx)) as parts:  # whoever opens a store does not wait for all of very much
                told = next(parts, Flushed())
        else:
            told = flush(ctx, lambda: [one for one in waiting(ctx, None) if one.attempts < MAX_ATTEMPTS])
    except (WellkeptError, *DAMAGE) as error:  # whatever waits there, the store can be opened
        log.warning("Queued writes of an earlier process could not be written: %s", _reason(error))
        return
    if told.results or told.failed:
        log.info("Wrote %d queued writes of an earlier process, %d failed", len(told.results), len(told.failed))


def _together(one: QueuedWrite) -> tuple[str, str, str, str | None]:
    """Neighbours that may be written in one run."""
    return one.namespace, one.session, one.actor, one.on_conflict


def _written(ctx: Context, members: Sequence[QueuedWrite]) -> tuple[dict[str, WriteResult | None], list[QueuedWrite]]:
    """Results by queue id, None for what was taken back meanwhile, and those that failed with the reason."""
    first = members[0]
    taken: list[tuple[QueuedWrite, NewMemory]] = []
    failed: list[QueuedWrite] = []
    for one in members:
        try:
            taken.append((one, _statement_of(ctx, one)))
        except (InvalidInput, *DAMAGE) as error:  # the policy has changed since, or the record was edited
            failed.append(_after(one, error))
    ctx = replace(ctx, namespace=first.namespace, session=first.session, actor=first.actor)
    ctx = asked_of(ctx, {new.kind for _, new in taken}, first.on_conflict if taken else None)
    results: dict[str, WriteResult | None] = dict.fromkeys(_taken_back(ctx, members))
    taken = [(one, new) for one, new in taken if one.id not in results]
    answers = write.remember_all(ctx, [new for _, new in taken], write.Cause())
    for (one, _), answer in zip(taken, answers, strict=True):
        if isinstance(answer, WriteResult):
            results[one.id] = answer
        else:
            failed.append(_after(one, answer))
    return results, failed


def _statement_of(ctx: Context, one: QueuedWrite) -> NewMemory:
    """What was said, at the time it was said, under a key that makes it written once."""
    if UNREADABLE in one.statement:
        raise InvalidInput(str(one.statement[UNREADABLE]), where="queue", todo="Drop it")
    fields = dict(one.statement)
    check_namespace(one.namespace)
    new = new_memory(fields.pop("content", ""), fields, ctx.policy)
    asked_of(ctx, {new.kind}, one.on_conflict)
    if new.idempotency_key:
        return new  # the caller's own key stands for these very fields
    return replace(new, idempotency_key=_key(one), recorded_at=new.recorded_at or one.at)


def _key(one: QueuedWrite) -> str:
    return f"queued:{one.id}"


def _taken_back(ctx: Context, members: Sequence[QueuedWrite]) -> list[str]:
    """Those whose write stands undone: an undo makes a key free again, but the queue's word was one write."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        entries = {one.id: tx.journal(key=_key(one)) for one in members}
        return [name for name, found in entries.items() if found and is_undone(tx, found[-1].seq)]


def _after(one: QueuedWrite, error: Exception) -> QueuedWrite:
    return replace(one, attempts=one.attempts + 1, error=_reason(error))


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
