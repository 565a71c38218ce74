"""Deferred writes over HTTP: the queue of a session, and blocks whose writes are flushed at their end.

The queue is on the server, so queued writes survive a crash of the client; the server then flushes them itself.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, cast

from wellkept.client.calls import call, statement
from wellkept.client.exchange import NAMESPACE, QUEUE, SESSION, Call, Setting, new_key
from wellkept.client.from_json import record
from wellkept.client.pages import Calls, pages
from wellkept.types import Json, MemoryFields, NewMemory, OnConflict, WriteResult
from wellkept.types.queue import Flushed, QueuedWrite

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V")
Verbs = TypeVar("Verbs", covariant=True)


class Sending(Protocol):
    """Sends a call and reads its answer, like `Client`."""

    def _send(self, call: Call[T] | Calls[T]) -> T: ...


class Awaiting(Protocol[Verbs]):
    """Sends a call and awaits its answer, like `AsyncClient`."""

    @property
    def _verbs(self) -> Verbs:
        """The same verbs, returning each call instead of sending it."""
        ...

    async def _send(self, call: Call[T] | Calls[T]) -> T: ...


def awaited(
    verb: Callable[Concatenate[V, P], T],
) -> Callable[Concatenate[Awaiting[V], P], Coroutine[Any, Any, T]]:
    """A verb as a coroutine of the same name, signature and docstring, which sends the same call."""

    @wraps(verb)
    async def run(self: Awaiting[V], /, *args: P.args, **kwargs: P.kwargs) -> T:
        unsent: Any = verb(self._verbs, *args, **kwargs)
        return await self._send(cast("Call[T]", unsent))

    return run


class ClientQueue:
    """The queue of the client's session, or of its namespace without a session; like `MemoryStore.queue`.

    Args:
        client: The client that sends the calls.

    Example:
        >>> from wellkept.client import Client
        >>> with Client("http://127.0.0.1:8642") as store:  # doctest: +SKIP
        ...     chat = store.in_session("chat 7").queue
        ...     chat.remember("Funding flips first.", kind="thesis").outcome, len(chat.flush().results)
        ('queued', 1)
    """

    def __init__(self, client: Sending) -> None:
        self._client = client

    def remember(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
    ) -> WriteResult:
        """Like `Queue.remember`. Retries use one key, so a lost answer causes no second memory."""
        return self._ask(
            "queue_remember", record(WriteResult), **statement(content, {"on_conflict": on_conflict, **fields})
        )

    def pending(self) -> tuple[QueuedWrite, ...]:
        """Like `Queue.pending`."""
        return self._client._send(_pending())

    def failed(self) -> tuple[QueuedWrite, ...]:
        """Like `Queue.failed`."""
        return self._client._send(_failed())

    def flush(self, *, again: bool = False) -> Flushed:
        """Like `Queue.flush`. A retry after a lost answer writes nothing twice, but the earlier results are missing."""
        return self._ask("queue_flush", record(Flushed), again=again)

    def drop(self, queued_id: str) -> None:
        """Like `Queue.drop`; requires the `admin` scope."""
        return self._ask("queue_drop", _dropped, queued_id=queued_id)

    def __len__(self) -> int:
        """The number of queued writes."""
        return len(self.pending())

    def _ask(self, name: str, read: Callable[[Json], T], /, **fields: Any) -> T:
        return self._client._send(call(name, read, fields))


class AsyncClientQueue:
    """`ClientQueue` with each verb awaited; the number of queued writes is `len(await queue.pending())`.

    Args:
        client: The client that sends the calls.
    """

    def __init__(self, client: Awaiting[Any]) -> None:
        self._client = client
        self._verbs = ClientQueue(client._verbs)

    remember = awaited(ClientQueue.remember)
    pending = awaited(ClientQueue.pending)
    failed = awaited(ClientQueue.failed)
    flush = awaited(ClientQueue.flush)
    drop = awaited(ClientQueue.drop)

    async def _send(self, call: Call[T] | Calls[T]) -> T:
        return await self._client._send(call)


def _pending() -> Calls[tuple[QueuedWrite, ...]]:
    return pages("queue_pending", QueuedWrite, lambda one: one.id)


def _failed() -> Calls[tuple[QueuedWrite, ...]]:
    found = yield from _pending()
    return tuple(one for one in found if one.attempts)


def _dropped(answer: Json) -> None:
    record(QueuedWrite)(answer)


@dataclass(slots=True)
class Block:
    """A `deferred` block.

    Attributes:
        session: The session whose queue holds its writes: the session of the client, or a new one for the block, so
            that its end flushes no other writes.
        places: The queues used, in the order of first use.
        is_open: Whether the block will still flush; a task can outlive the block in which it started.
    """

    session: str
    places: dict[str, Setting] = field(default_factory=dict)
    is_open: bool = True

    def end(self) -> tuple[Setting, ...]:
        """Close the block, so that later calls are not queued; returns the queues to flush."""
        self.is_open = False
        return tuple(self.places.values())


_OPEN: ContextVar[Mapping[int, Block]] = ContextVar("wellkept_client_deferred", default=MappingProxyType({}))
"""The open block of this thread or task, by the id of the connections that clients share."""


def waiting(call: Call[Any], to: Setting, shared: object) -> Setting:
    """The setting for a call: inside a block, a call that may wait goes to the block's queue.

    Args:
        call: The call to send.
        to: Its setting outside a block.
        shared: The connections shared with bound clients.
    """
    block = _OPEN.get().get(id(shared))
    if block is None or not block.is_open or not call.may_wait:
        return to
    session = to.headers.get(SESSION, block.session)
    there = to.bound(**{SESSION: session})
    block.places.setdefault(f"{to.headers.get(NAMESPACE, '')} {session}", there)
    return there.bound(**{QUEUE: "on"})


@contextmanager
def collecting(to: Setting, shared: object) -> Iterator[tuple[Setting, Block | None]]:
    """Queue the writes of this thread or task until the block ends.

    Yields the setting and the block; None instead of the block for an inner one, which leaves the flush to the outer.
    """
    outer = _OPEN.get()
    around = outer.get(id(shared))
    if around is not None and around.is_open:
        yield to.bound(**{SESSION: to.headers.get(SESSION, around.session)}), None
        return
    block = Block(to.headers.get(SESSION) or f"deferred-{new_key()}")
    mark = _OPEN.set({**outer, id(shared): block})
    try:
        yield to.bound(**{SESSION: block.session}), block
    finally:
        block.end()
        with suppress(ValueError):  # a generator may be closed by another task, whose context is different
            _OPEN.reset(mark)
