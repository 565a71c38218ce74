"""Flushing the queue: in order, each write once, by one process at a time, safe to interrupt.

Each queued write has its own idempotency key, so a write that was stored but not marked as done before a crash
is recognised. Writes abandoned by an ended session or a crashed process are written when the store is next
opened, and by servers once nothing was added to them for a while.
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
from wellkept.engine.models.no_embedder import Unloaded
from wellkept.errors import Busy, Corrupt, Elsewhere, InvalidInput, StorageError, WellkeptError
from wellkept.storage.ledger import UNREADABLE
from wellkept.storage.port import Placing
from wellkept.types import NewMemory, WriteResult
from wellkept.types.queue import Flushed, QueuedWrite
from wellkept.types.showing import count_of

log = logging.getLogger("wellkept")

MAX_ATTEMPTS = 5
"""Automatic attempts for a failing write; it stays listed, and `flush(again=True)` tries it again."""
IDLE = timedelta(minutes=5)
"""Time after the last write of its session after which a queued write counts as abandoned."""
_Away = dict[str, StorageError]
"""Of several databases, those that could not be written, by name."""
_MOST_AT_ONCE = 1_000
_TURN_OF_OTHERS = 0.01
"""Pause in seconds between two parts, so that other threads of this process get the lock."""


def waiting(ctx: Context, namespace: str | None) -> tuple[QueuedWrite, ...]:
    """Queued writes of this store, in one namespace or all; a queue file may also hold those of another store."""
    if ctx.ledger.is_empty():
        return ()
    store = ctx.header_of_queue().store_id
    return tuple(one for one in ctx.ledger.waiting(namespace) if one.store == store or UNREADABLE in one.statement)


def flush(ctx: Context, chosen: Callable[[], Sequence[QueuedWrite]]) -> Flushed:
    """Write chosen queue entries in order; a failed write stays queued and does not stop the others.

    Args:
        ctx: Of any namespace of the store.
        chosen: Returns the entries, called when nobody else is flushing.

    Raises:
        StorageError: The store could not be written; unwritten entries stay queued. Of several databases, the others
            were written.
    """
    if ctx.ledger.is_empty():
        return Flushed()
    away: _Away = {}
    with ctx.ledger.turn():
        told = _flushed(ctx, chosen(), away)
        ctx.ledger.tidy()
    _check_all(away)
    return told


def flush_left(ctx: Context, *, idle: timedelta = IDLE) -> Generator[Flushed]:
    """Write abandoned entries, in all namespaces; stops where another process is flushing.

    The queue is read once to find abandoned entries. They are written in parts, so that others can flush their
    own queue in between; entries written or dropped by them in the meantime are not written again.

    Args:
        ctx: Of any namespace of the store.
        idle: How long nothing must have been added to a session.

    Returns:
        The result of each part after it was written; the next part begins when it is requested.

    Raises:
        StorageError: As `flush`; of several databases, after all parts.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     answer = store.queue.remember("Funding flips first.", kind="thesis")
        ...     [len(part.results) for part in flush_left(store._ctx, idle=timedelta())]
        [1]
    """
    found = left(waiting(ctx, None), idle=idle, now=ctx.clock())
    away: _Away = {}
    try:
        for start in range(0, len(found), _MOST_AT_ONCE):
            if start:
                time.sleep(_TURN_OF_OTHERS)
            with ctx.ledger.turn(wait=False) as ours:
                if not ours:
                    return
                now = ctx.ledger.still(found[start : start + _MOST_AT_ONCE])
                told = _flushed(ctx, [one for one in now if one.attempts < MAX_ATTEMPTS], away)
            yield told
        _check_all(away)
    finally:
        ctx.ledger.tidy()


def _flushed(ctx: Context, chosen: Sequence[QueuedWrite], away: _Away) -> Flushed:
    """Write entries while holding the lock. A namespace that cannot be written does not stop the others.

    Args:
        ctx: Of any namespace of the store.
        chosen: The entries.
        away: Databases that have failed, which are not tried again; further ones are added.
    """
    from wellkept.engine.gate import write

    results: list[WriteResult] = []
    failed: list[QueuedWrite] = []
    passed_over: dict[str, str] = {}
    for (namespace, *_), group in groupby(chosen, key=_together):
        members = list(group)
        if away and (known := away.get(_database_of(ctx, namespace))) is not None:
            passed_over.setdefault(namespace, _reason(known))
        for start in range(0, len(members), write.CHUNK):
            part = members[start : start + write.CHUNK]
            if namespace in passed_over:  # a later write must not come before a queued one
                failed += [replace(one, error=passed_over[namespace]) for one in part]
                continue
            try:
                written, errors = _written(ctx, part)
                ctx.ledger.settle(written, {one.id: one.error for one in errors}, namespace=namespace)
            except (StorageError, *DAMAGE) as error:
                passed_over[namespace] = _reason(error)
                if _concerns_one_namespace(ctx, error):
                    failed += _kept_back(ctx, part, error)
                elif isinstance(error, StorageError) and error.database:
                    away.setdefault(error.database, error)
                    failed += [replace(one, error=_reason(error)) for one in part]
                else:
                    raise
                continue
            results += [result for result in written.values() if result is not None]
            failed += errors
    return Flushed(tuple(results), tuple(failed))


def _database_of(ctx: Context, namespace: str) -> str:
    """The name of the database of a namespace; empty where there is only one."""
    return ctx.storage.database_of(namespace) if isinstance(ctx.storage, Placing) else ""


def _check_all(away: _Away) -> None:
    """Raise if one of several databases could not be written."""
    if not away:
        return
    reasons = "; ".join(f"{name!r}: {error.what} ({error.where})" for name, error in away.items())
    told = StorageError(
        f"{count_of(len(away), 'database')} could not be written: {reasons}; the queued writes of others were tried",
        where="queue",
        todo="Flush the queue again when that is mended; what could not be written waits",
    )
    told.transient = all(error.transient for error in away.values())
    told.database = next(iter(away))
    raise told


def _concerns_one_namespace(ctx: Context, error: Exception) -> bool:
    """Whether other namespaces may be writable although this one was not."""
    if not isinstance(error, StorageError):
        return True
    if isinstance(error, Busy):
        return ctx.ledger.shared and not error.transient  # in a file, one writer blocks all others
    return type(error) in (Corrupt, Elsewhere, StorageError) and not error.transient


def _kept_back(ctx: Context, part: Sequence[QueuedWrite], error: Exception) -> list[QueuedWrite]:
    """Record why a namespace could not be written, unless it was only locked, and return the entries."""
    log.warning("Queued writes of namespace %r could not be written: %s", part[0].namespace, _reason(error))
    if isinstance(error, Busy):
        return [replace(one, error=_reason(error)) for one in part]
    told = [_after(one, error) for one in part]
    with suppress(StorageError):  # they stay queued unchanged
        ctx.ledger.settle((), {one.id: one.error for one in told}, namespace=part[0].namespace)
    return told


def left(found: Sequence[QueuedWrite], *, idle: timedelta, now: datetime) -> list[QueuedWrite]:
    """Entries of sessions without additions for a while; the time doubles with each failed attempt.

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
    """Write what a crash left in the queue; if the store cannot be written now, the entries stay queued.

    Where processes share a queue, most entries belong to a process that is still running: there only entries
    that have been queued for long count as abandoned.
    """
    if isinstance(ctx.embedder, Unloaded):
        return  # without an embedder it would store them without vectors and unchecked
    try:
        if ctx.ledger.shared:
            with closing(flush_left(ctx)) as parts:  # opening a store does not wait for a very long queue
                told = next(parts, Flushed())
        else:
            told = flush(ctx, lambda: [one for one in waiting(ctx, None) if one.attempts < MAX_ATTEMPTS])
    except (WellkeptError, *DAMAGE) as error:  # the store opens whatever is in the queue
        log.warning("Queued writes of an earlier process could not be written: %s", _reason(error))
        return
    if told.results or told.failed:
        log.info("Wrote %d queued writes of an earlier process, %d failed", len(told.results), len(told.failed))


def _together(one: QueuedWrite) -> tuple[str, str, str, str | None]:
    """Key of adjacent entries that can be written in one run."""
    return one.namespace, one.session, one.actor, one.on_conflict


def _written(ctx: Context, members: Sequence[QueuedWrite]) -> tuple[dict[str, WriteResult | None], list[QueuedWrite]]:
    """Results by queue id, None for entries undone in the meantime, and failed entries with the reason."""
    from wellkept.engine.gate import write

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
    """The queued statement with the time it was queued and a key that makes it written only once."""
    if UNREADABLE in one.statement:
        raise InvalidInput(str(one.statement[UNREADABLE]), where="queue", todo="Drop it")
    fields = dict(one.statement)
    check_namespace(one.namespace)
    new = new_memory(fields.pop("content", ""), fields, ctx.policy)
    asked_of(ctx, {new.kind}, one.on_conflict)
    if new.idempotency_key:
        return new  # the caller's own key covers exactly these fields
    return replace(new, idempotency_key=_key(one), recorded_at=new.recorded_at or one.at)


def _key(one: QueuedWrite) -> str:
    return f"queued:{one.id}"


def _taken_back(ctx: Context, members: Sequence[QueuedWrite]) -> list[str]:
    """Entries whose write was undone: an undo frees the key, but a queued write is written only once."""
    from wellkept.engine.history.journal import is_undone

    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        entries = {one.id: tx.journal(key=_key(one)) for one in members}
        return [name for name, found in entries.items() if found and is_undone(tx, found[-1].seq)]


def _after(one: QueuedWrite, error: Exception) -> QueuedWrite:
    return replace(one, attempts=one.attempts + 1, error=_reason(error))


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
