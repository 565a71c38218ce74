"""Queued writes in a serving process: where they are stored, when they are flushed, and which requests queue.

Depends on the engine only, so that the command line, REST and MCP can all use it.
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
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.types.queue import QueuedWrite

QUEUE_HEADER = "Wellkept-Queue"
"""A request with the value `on` queues its writes, for example while the agent is thinking."""
MAY_WAIT = frozenset({"remember", "remember_many", "record_decision", "record_turn"})
"""Operations that respect the header. Episodes are never queued, since their id is needed at once; nor are acts."""


def in_file(store: MemoryStore, file: Path) -> MemoryStore:
    """A store whose queue is kept in a file next to its own, so that acknowledged writes survive a crash.

    A store opened from a storage object keeps its queue in memory instead.
    """
    from wellkept.engine.base.queue_ledger import FileLedger
    from wellkept.engine.verbs.store import MemoryStore

    ctx = store._ctx
    if isinstance(ctx.ledger, FileLedger):
        return store
    beside = file.absolute()
    return MemoryStore(replace(ctx, ledger=FileLedger(beside.with_name(f"{beside.name}.queue"))))


def recovered(store: MemoryStore) -> MemoryStore:
    """The store, after flushing the writes queued by an earlier process."""
    from wellkept.engine.queue.flushing import recover

    recover(store._ctx)
    return store


def flush_left(store: MemoryStore, *, idle: timedelta, ended: Callable[[], bool] = bool) -> str:
    """Flush the queues of idle sessions, in all namespaces.

    Args:
        store: A store bound to any namespace.
        idle: Minimum time since the last queued write of a session.
        ended: Polled to stop early.

    Returns:
        The reason why nothing could be written; the writes stay queued. Empty on success.
    """
    from wellkept.engine.queue.flushing import flush_left

    try:
        with closing(flush_left(store._ctx, idle=idle)) as parts:
            while not ended() and next(parts, None) is not None:
                pass
    except WellkeptError as error:
        return f"the queue could not be flushed: {error}"
    return ""


def flush(store: MemoryStore) -> str:
    """Flush the queues of all sessions in all namespaces before the store is closed.

    Returns:
        The writes that failed, in words; they stay queued for the next start. Empty when the queues are empty.
    """
    from wellkept.engine.queue.deferred import Queue

    try:
        failed = Queue(store._ctx, everywhere=True).flush().failed
    except WellkeptError as error:
        return f"the queue could not be flushed and waits for the next start: {error}"
    return f"{len(failed)} queued writes could not be written and wait for the next start" if failed else ""


def queued_write(store: MemoryStore, queued_id: str) -> QueuedWrite:
    """Return one queued write.

    Raises:
        NotFound: It is not in this queue.
    """
    for one in store.queue.pending():
        if one.id == queued_id:
            return one
    raise NotFound(f"there is no queued write {queued_id!r}", where="queue", todo="List the queue")


def wants_queue_by_header(header: str | None) -> bool:
    """Whether a request queues its writes.

    Args:
        header: The value of `Wellkept-Queue`; None when absent.

    Raises:
        InvalidField: The value is neither `on` nor `off`.

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
    """Queue the writes of this thread in the store's session while the context is active, if `wanted`.

    Leaving the context writes nothing: the caller flushes the queue later. Kinds that cannot be deferred are
    written at once here too.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     with queueing(store, wanted=True):
        ...         outcome = store.remember("Funding flips first.", kind="thesis").outcome
        ...     outcome, len(store.queue)
        ('queued', 1)
    """
    if not wanted:
        yield
        return
    from wellkept.engine.queue.deferred import collecting

    with collecting(store._ctx):
        yield
