"""Queued writes of a process that serves: where they wait, when they are written, and who wants theirs to wait.

Needs nothing but the engine, so that the command line, REST and MCP can all use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.errors import InvalidField, NotFound, WellkeptError

if TYPE_CHECKING:
    from wellkept.engine.base.context import Context
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.types.queue import QueuedWrite

QUEUE_HEADER = "Wellkept-Queue"
"""A request that says `on` puts its writes off, as a program does while its agent thinks."""
MAY_WAIT = frozenset({"remember", "remember_many", "record_decision", "record_turn"})
"""Operations that heed the header. An episode never waits, since its id is needed at once; no act does."""


def in_file(store: MemoryStore, file: Path) -> MemoryStore:
    """A store whose queued writes wait beside its file, so that what was acknowledged survives a crash.

    One that was opened by its storage queues in the process otherwise.
    """
    from wellkept.engine.base.queue_ledger import FileLedger
    from wellkept.engine.verbs.store import MemoryStore

    ctx = _context(store)
    if isinstance(ctx.ledger, FileLedger):
        return store
    beside = file.absolute()
    return MemoryStore(replace(ctx, ledger=FileLedger(beside.with_name(f"{beside.name}.queue"))))


def recovered(store: MemoryStore) -> MemoryStore:
    """The store, after what an earlier process left in the queue was written."""
    from wellkept.engine.queue.flushing import recover

    recover(_context(store))
    return store


def flush_left(store: MemoryStore, *, idle: timedelta, ended: Callable[[], bool] = bool) -> str:
    """Write what conversations have put off and left, in all namespaces.

    Args:
        store: Of any namespace.
        idle: How long a conversation has to have added nothing.
        ended: Asked now and then whether to stop.

    Returns:
        Why nothing could be written, in words; it is kept for later. Empty when all is well.
    """
    from wellkept.engine.queue.flushing import flush_left

    try:
        with closing(flush_left(_context(store), idle=idle)) as parts:
            while not ended() and next(parts, None) is not None:
                pass
    except WellkeptError as error:
        return f"the queue waits: {error}"
    return ""


def flush(store: MemoryStore) -> str:
    """Write what waits in the queues of all conversations, in all namespaces, before the store is closed.

    Returns:
        What could not be written, in words; empty when nothing waits any more. It is kept for the next start.
    """
    from wellkept.engine.queue.deferred import Queue

    try:
        failed = Queue(_context(store), everywhere=True).flush().failed
    except WellkeptError as error:
        return f"the queue waits for the next start: {error}"
    return f"{len(failed)} queued writes could not be written and wait for the next start" if failed else ""


def queued_write(store: MemoryStore, queued_id: str) -> QueuedWrite:
    """One that waits in the queue of a store.

    Raises:
        NotFound: It does not wait here.
    """
    for one in store.queue.pending():
        if one.id == queued_id:
            return one
    raise NotFound(f"there is no queued write {queued_id!r}", where="queue", todo="List the queue")


def wants_queue_by_header(header: str | None) -> bool:
    """Whether a request wants its writes to wait.

    Args:
        header: What `Wellkept-Queue` says; None where it is not there.

    Raises:
        InvalidField: It says neither `on` nor `off`.

    Example:
        >>> wants_queue_by_header("on"), wants_queue_by_header(None)
        (True, False)
    """
    match header:
        case "on":
            return True
        case "off" | None:
            return False
        case _:
            raise InvalidField("is neither on nor off", where=QUEUE_HEADER, todo="Send on, or omit it")


@contextmanager
def queueing(store: MemoryStore, *, wanted: bool) -> Iterator[None]:
    """While it lasts, writes of this thread wait in the queue of the store's session, if they are wanted to.

    Its end writes nothing: whoever asked for it flushes the queue when the agent has thought. Kinds that
    never wait do not wait here either.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     with queueing(store, wanted=True):
        ...         told = store.remember("Funding flips first.", kind="thesis").outcome
        ...     told, len(store.queue)
        ('queued', 1)
    """
    if not wanted:
        yield
        return
    from wellkept.engine.queue.deferred import collecting

    with collecting(_context(store)):
        yield


def _context(store: MemoryStore) -> Context:
    return store._ctx
