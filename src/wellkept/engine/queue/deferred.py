"""The queue: a write can be deferred while an agent is busy, and is written in order later.

A queued write is acknowledged only when it survives a crash. Each has its own idempotency key, so that it is
written once, however often the queue is flushed. It passes the same gate as any other write. Kinds whose
policy says `delivery = "sync"` are never queued.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack

from wellkept.core.records.codec import to_plain
from wellkept.core.records.explain import queued_message
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import asked_of, statement
from wellkept.engine.base.retry import repeated, steady
from wellkept.engine.queue import flushing
from wellkept.engine.queue.flushing import MAX_ATTEMPTS
from wellkept.errors import NotFound, WellkeptError
from wellkept.types import MemoryFields, NewMemory, OnConflict, Reason, WriteResult
from wellkept.types.queue import Flushed, QueuedWrite

if TYPE_CHECKING:
    from wellkept.engine.gate import write


@dataclass(slots=True)
class _Block:
    """A `deferred` block. A task started in it may outlive it; its later writes are not queued.

    Attributes:
        lot: Marks the writes of this block.
        lock: Held while a write is queued, so that the block does not end in between.
        is_open: Whether the block will still be flushed.
    """

    lot: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_open: bool = True

    def end(self) -> None:
        """Close the block: later writes are written at once."""
        with self.lock:
            self.is_open = False


_OPEN: ContextVar[Mapping[int, _Block]] = ContextVar("wellkept_deferred", default=MappingProxyType({}))
"""By ledger, the open block of this thread or task."""


@steady
class Queue:
    """The queued writes of one session if the store has one, else of the whole namespace.

    A server uses one per session, `store.in_session(name).queue`, and returns "Queued" while the agent is
    working.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     chat = store.in_session("chat 7").queue
        ...     answer = chat.remember("Funding flips first, see [[Weekends]].", kind="thesis", title="Funding")
        ...     lesson = chat.remember("Never trade weekends.", kind="lesson").outcome
        ...     waited = len(chat.pending())
        ...     written = [result.outcome for result in chat.flush().results]
        >>> answer.message, lesson, waited, written
        ('Queued: "Funding" (will link: Weekends)', 'created', 1, ['created'])
    """

    def __init__(self, ctx: Context, *, lot: str = "", everywhere: bool = False) -> None:
        self._ctx = ctx
        self._lot = lot
        self._everywhere = everywhere

    def remember(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
    ) -> WriteResult:
        """Queue a write, unless its kind is never queued. Arguments as `MemoryStore.remember`.

        Returns:
            The outcome `queued` without a memory, or the result of `remember`.
        """
        from wellkept.engine.gate import write

        new = statement(content, fields, self._ctx.policy)
        ctx = asked_of(self._ctx, {new.kind}, on_conflict)
        return self.put([new], on_conflict)[0] if _may_wait(ctx, new) else write.remember(ctx, new)

    def put(self, items: Sequence[NewMemory], on_conflict: OnConflict | None = None) -> list[WriteResult]:
        """Queue writes, all or none; after the return they survive a crash."""
        ctx = self._ctx
        store, at = ctx.header_of_queue().store_id, ctx.clock()
        waiting = [
            QueuedWrite(
                id=ctx.new_id(),
                store=store,
                namespace=ctx.namespace,
                session=ctx.session,
                lot=self._lot,
                actor=ctx.actor,
                at=at,
                statement=to_plain(new),
                on_conflict=on_conflict,
            )
            for new in items
        ]
        # Repeated with the same ids: with new ids the writes would be queued twice.
        repeated(ctx, lambda: ctx.ledger.put(waiting))
        return [_queued(ctx, new, one) for new, one in zip(items, waiting, strict=True)]

    def pending(self) -> tuple[QueuedWrite, ...]:
        """The queued writes, oldest first, including failed ones."""
        found = flushing.waiting(self._ctx, None if self._everywhere else self._ctx.namespace)
        return tuple(one for one in found if self._has(one))

    def failed(self) -> tuple[QueuedWrite, ...]:
        """Writes that failed, with the reason; each flush tries them again."""
        return tuple(one for one in self.pending() if one.attempts)

    def flush(self, *, again: bool = False) -> Flushed:
        """Write the queue in order; a failed write stays queued and does not stop the others.

        Args:
            again: Also try writes that have reached the limit of automatic attempts.

        Raises:
            StorageError: The store could not be written; unwritten entries stay queued.
        """
        return flushing.flush(
            self._ctx, lambda: [one for one in self.pending() if again or one.attempts < MAX_ATTEMPTS]
        )

    def drop(self, queued_id: str) -> None:
        """Remove an entry that should not be written, such as one that always fails.

        Raises:
            NotFound: This queue has no such entry.
        """
        ledger = self._ctx.ledger
        with ledger.turn():
            found = next((one for one in self.pending() if one.id == queued_id), None)
            if found is None:
                raise NotFound(f"nothing waits as {queued_id!r}", where="queue", todo="List what is pending")
            ledger.settle((queued_id,), {}, namespace=found.namespace)
            ledger.tidy()

    @property
    def depth(self) -> int:
        """Number of queued writes in the whole store, over all namespaces and sessions; for metrics."""
        return len(Queue(self._ctx, everywhere=True).pending())

    def __len__(self) -> int:
        """Number of writes in this queue."""
        return len(self.pending())

    def _has(self, one: QueuedWrite) -> bool:
        if self._everywhere:
            return not self._lot or one.lot == self._lot
        return self._ctx.session in ("", one.session)


@contextmanager
def collecting(ctx: Context) -> Iterator[tuple[Queue, Callable[[], Flushed]]]:
    """Queue the store's writes of this thread or task until the block ends; yields queue and flush function.

    Inside another block it has no effect of its own: the outer block flushes.
    """
    outer = _OPEN.get()
    key = id(ctx.ledger)
    around = outer.get(key)
    if around is not None and around.is_open:
        yield Queue(ctx, lot=around.lot, everywhere=True), Flushed
        return
    block = _Block(ctx.new_id())
    queue = Queue(ctx, lot=block.lot, everywhere=True)

    def flush() -> Flushed:
        block.end()
        # Includes writes that another process with another policy has already tried without success.
        return queue.flush(again=True)

    mark = _OPEN.set({**outer, key: block})
    try:
        yield queue, flush
    finally:
        block.end()
        with suppress(
            ValueError
        ):  # a generator closed by another task than the one that started it: the block has ended
            _OPEN.reset(mark)


@contextmanager
def deferred(ctx: Context) -> Iterator[Queue]:
    """Queue the writes of a block and write them at its end, also when an error ends it.

    Writes that returned "Queued" were acknowledged. Only when the process itself is ending, they stay queued
    for the next start.
    """
    with collecting(ctx) as (queue, flush):
        try:
            yield queue
        except (Exception, GeneratorExit):  # closing the generator early is not the end of the process
            flush()
            raise
        flush()


def remember(ctx: Context, new: NewMemory, on_conflict: OnConflict | None) -> WriteResult:
    """Write now, or queue inside a block; `ctx` already has the policy of the call."""
    from wellkept.engine.gate import write

    if _may_wait(ctx, new):
        with _collector(ctx) as queue:
            if queue is not None:
                return queue.put([new], on_conflict)[0]
    return write.remember(ctx, new)


def remember_all(
    ctx: Context, items: Sequence[NewMemory], cause: write.Cause, *, on_conflict: OnConflict | None
) -> list[WriteResult | WellkeptError]:
    """As `remember`, for many; kinds that are never queued are written now, the others are queued, each in order."""
    from wellkept.engine.gate import write

    results: dict[int, WriteResult | WellkeptError] = {}
    with _collector(ctx) as queue:
        if queue is not None:
            late = [place for place, new in enumerate(items) if _may_wait(ctx, new)]
            results.update(zip(late, queue.put([items[place] for place in late], on_conflict), strict=True))
    now = [place for place in range(len(items)) if place not in results]
    results.update(zip(now, write.remember_all(ctx, [items[place] for place in now], cause), strict=True))
    return [results[place] for place in range(len(items))]


@contextmanager
def _collector(ctx: Context) -> Iterator[Queue | None]:
    """The queue of the open block here; the block is not flushed before this context ends."""
    block = _OPEN.get().get(id(ctx.ledger))
    if block is None:
        yield None
        return
    with block.lock:
        yield Queue(ctx, lot=block.lot, everywhere=True) if block.is_open else None


def _may_wait(ctx: Context, new: NewMemory) -> bool:
    return ctx.policy.for_kind(new.kind).delivery == "queued"


def _queued(ctx: Context, new: NewMemory, one: QueuedWrite) -> WriteResult:
    from wellkept.core.gate.outcomes import born
    from wellkept.core.judging.evidence import Evidence, Moment

    own = ctx.policy.for_kind(new.kind)
    memory = born(new, Evidence(), Moment(one.at, one.id, ctx.namespace, ctx.policy, own))
    return WriteResult(
        outcome="queued",
        memory=None,
        reasons=(Reason("delivery", f"waits as {one.id}"),),
        message=queued_message(memory, linking=own.wikilinks),
    )
