"""The queue: a write may be put off while an agent thinks, and is written in order afterwards.

What waits is acknowledged only when it survives a crash, and it is written under a key of its own, so that
it is written once, whoever flushes and however often. It passes the same gate as any other write.
Kinds whose policy says `delivery = "sync"` never wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Unpack

from wellkept.core.gate.outcomes import born
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.core.records.codec import to_plain
from wellkept.core.records.explain import queued_message
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import asked_of, statement
from wellkept.engine.base.retry import repeated, steady
from wellkept.engine.gate import write
from wellkept.engine.queue import flushing
from wellkept.engine.queue.flushing import MAX_ATTEMPTS
from wellkept.errors import NotFound, WellkeptError
from wellkept.types import MemoryFields, NewMemory, OnConflict, Reason, WriteResult
from wellkept.types.queue import Flushed, QueuedWrite


@dataclass(slots=True)
class _Block:
    """A `deferred` block: a task that was begun in it may outlive it, and must not collect for nobody.

    Attributes:
        lot: Its mark on what it collects.
        lock: Held while something is put; no block ends in the middle of that.
        is_open: Whether it will still be flushed.
    """

    lot: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_open: bool = True

    def end(self) -> None:
        """What is put from now on is written at once."""
        with self.lock:
            self.is_open = False


_OPEN: ContextVar[Mapping[int, _Block]] = ContextVar("wellkept_deferred", default=MappingProxyType({}))
"""By ledger, the block that collects in this thread or task."""


@steady
class Queue:
    """Writes that wait: of one session where the store is bound to one, else all of the namespace.

    A server holds one for each conversation, `store.in_session(name).queue`, and answers "Queued" while
    the agent thinks.

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
        """Put a write off, unless its kind never waits; as `MemoryStore.remember`, which see.

        Returns:
            The outcome `queued` without a memory, or what `remember` answers.
        """
        new = statement(content, fields, self._ctx.policy)
        ctx = asked_of(self._ctx, {new.kind}, on_conflict)
        return self.put([new], on_conflict)[0] if _may_wait(ctx, new) else write.remember(ctx, new)

    def put(self, items: Sequence[NewMemory], on_conflict: OnConflict | None = None) -> list[WriteResult]:
        """Keep writes for later, all or none; when it returns they survive a crash."""
        ctx = self._ctx
        store, at = ctx.storage.header().store_id, ctx.clock()
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
        # By itself, so that it is the same ones that are put again: with new ids they would wait twice.
        repeated(ctx, lambda: ctx.ledger.put(waiting))
        return [_queued(ctx, new, one) for new, one in zip(items, waiting, strict=True)]

    def pending(self) -> tuple[QueuedWrite, ...]:
        """What waits, oldest first, with what failed."""
        found = flushing.waiting(self._ctx, None if self._everywhere else self._ctx.namespace)
        return tuple(one for one in found if self._has(one))

    def failed(self) -> tuple[QueuedWrite, ...]:
        """What was tried and could not be written, with the reason; it is tried again at each flush."""
        return tuple(one for one in self.pending() if one.attempts)

    def flush(self, *, again: bool = False) -> Flushed:
        """Write what waits, in order; one that fails is kept and does not stop the rest.

        Args:
            again: Try also what has failed too often to be tried by itself.

        Raises:
            StorageError: The store could not be written; what is not yet written waits on.
        """
        return flushing.flush(
            self._ctx, lambda: [one for one in self.pending() if again or one.attempts < MAX_ATTEMPTS]
        )

    def drop(self, queued_id: str) -> None:
        """Take one out that shall not be written, such as one that can only fail.

        Raises:
            NotFound: It does not wait here.
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
        """How many wait in the whole store, in all namespaces and sessions; for a gauge."""
        return len(Queue(self._ctx, everywhere=True).pending())

    def __len__(self) -> int:
        """How many wait here."""
        return len(self.pending())

    def _has(self, one: QueuedWrite) -> bool:
        if self._everywhere:
            return not self._lot or one.lot == self._lot
        return self._ctx.session in ("", one.session)


@contextmanager
def collecting(ctx: Context) -> Iterator[tuple[Queue, Callable[[], Flushed]]]:
    """Until the block ends, writes of this thread or task to the store wait; gives queue and flush.

    Inside another block nothing of its own happens: the outer one flushes.
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
        # Also what another process, opened meanwhile with a policy of its own, has tried in vain.
        return queue.flush(again=True)

    mark = _OPEN.set({**outer, key: block})
    try:
        yield queue, flush
    finally:
        block.end()
        with suppress(ValueError):  # a generator that is closed by another task than began it: the block has ended
            _OPEN.reset(mark)


@contextmanager
def deferred(ctx: Context) -> Iterator[Queue]:
    """Collect the writes of a block and write them at its end, even where an error ends it.

    What was answered "Queued" was acknowledged. Only where the process itself is being ended, they wait
    for the next time.
    """
    with collecting(ctx) as (queue, flush):
        try:
            yield queue
        except (Exception, GeneratorExit):  # whoever drops a generator in the middle of its block ends no process
            flush()
            raise
        flush()


def remember(ctx: Context, new: NewMemory, on_conflict: OnConflict | None) -> WriteResult:
    """Write now, or put off inside a block; `ctx` has the policy of the call already."""
    if _may_wait(ctx, new):
        with _collector(ctx) as queue:
            if queue is not None:
                return queue.put([new], on_conflict)[0]
    return write.remember(ctx, new)


def remember_all(
    ctx: Context, items: Sequence[NewMemory], cause: write.Cause, *, on_conflict: OnConflict | None
) -> list[WriteResult | WellkeptError]:
    """The same for many; those that never wait are written in their order, the others wait in theirs."""
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
    """The queue of the block that collects here; it is not flushed before this ends."""
    block = _OPEN.get().get(id(ctx.ledger))
    if block is None:
        yield None
        return
    with block.lock:
        yield Queue(ctx, lot=block.lot, everywhere=True) if block.is_open else None


def _may_wait(ctx: Context, new: NewMemory) -> bool:
    return ctx.policy.for_kind(new.kind).delivery == "queued"


def _queued(ctx: Context, new: NewMemory, one: QueuedWrite) -> WriteResult:
    memory = born(new, Evidence(), Moment(one.at, one.id, ctx.namespace, ctx.policy))
    linking = ctx.policy.for_kind(new.kind).wikilinks
    return WriteResult(
        outcome="queued",
        memory=None,
        reasons=(Reason("delivery", f"waits as {one.id}"),),
        message=queued_message(memory, linking=linking),
    )
