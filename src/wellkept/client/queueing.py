"""Writing later, over HTTP: the queue of a conversation, and blocks whose writes wait until they end.

What waits lies with the server, so it survives a client that dies; the server then writes it by itself.
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
    """What sends a call and reads its answer, as `Client` does."""

    def _send(self, call: Call[T] | Calls[T]) -> T: ...


class Awaiting(Protocol[Verbs]):
    """What sends a call and awaits its answer, as `AsyncClient` does."""

    @property
    def _verbs(self) -> Verbs:
        """The same verbs, giving each call back in place of its answer."""
        ...

    async def _send(self, call: Call[T] | Calls[T]) -> T: ...


def awaited(
    verb: Callable[Concatenate[V, P], T],
) -> Callable[Concatenate[Awaiting[V], P], Coroutine[Any, Any, T]]:
    """A verb as a coroutine of the same name, signature and explanation; what it sends is the same call."""

    @wraps(verb)
    async def run(self: Awaiting[V], /, *args: P.args, **kwargs: P.kwargs) -> T:
        unsent: Any = verb(self._verbs, *args, **kwargs)
        return await self._send(cast("Call[T]", unsent))

    return run


class ClientQueue:
    """The queue of a client's session, or without one of its namespace; as `MemoryStore.queue`.

    Args:
        client: Sends its calls.

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
        """As `Queue.remember`. Sent again under one key, so a lost answer leaves no second memory."""
        return self._ask(
            "queue_remember", record(WriteResult), **statement(content, {"on_conflict": on_conflict, **fields})
        )

    def pending(self) -> tuple[QueuedWrite, ...]:
        """As `Queue.pending`."""
        return self._client._send(_pending())

    def failed(self) -> tuple[QueuedWrite, ...]:
        """As `Queue.failed`."""
        return self._client._send(_failed())

    def flush(self, *, again: bool = False) -> Flushed:
        """As `Queue.flush`. Sent again after a lost answer: nothing is written twice, but its results are not told."""
        return self._ask("queue_flush", record(Flushed), again=again)

    def drop(self, queued_id: str) -> None:
        """As `Queue.drop`; needs a token that may erase."""
        return self._ask("queue_drop", _dropped, queued_id=queued_id)

    def __len__(self) -> int:
        """How many wait here."""
        return len(self.pending())

    def _ask(self, name: str, read: Callable[[Json], T], /, **fields: Any) -> T:
        return self._client._send(call(name, read, fields))


class AsyncClientQueue:
    """`ClientQueue`, each verb awaited; how many wait is `len(await queue.pending())`.

    Args:
        client: Sends its calls.
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
        session: The conversation its writes wait in: the client's own, or one made for the block, so that its
            end writes nothing of others.
        places: Where writes were put off, in the order of the first ones.
        is_open: Whether it will still be flushed; a task may outlive the block it was begun in.
    """

    session: str
    places: dict[str, Setting] = field(default_factory=dict)
    is_open: bool = True

    def end(self) -> tuple[Setting, ...]:
        """What is sent from now on is written at once; gives where something waits."""
        self.is_open = False
        return tuple(self.places.values())


_OPEN: ContextVar[Mapping[int, Block]] = ContextVar("wellkept_client_deferred", default=MappingProxyType({}))
"""By what clients share, the block that collects in this thread or task."""


def waiting(call: Call[Any], to: Setting, shared: object) -> Setting:
    """Where a call is sent: inside a block, what may wait is sent to wait in the block's conversation.

    Args:
        call: What is about to be sent.
        to: Where it would be sent otherwise.
        shared: What a client shares with those bound beside it.
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
    """Until the block ends, writes of this thread or task wait.

    Gives where they wait, and the block; None for an inner one, which leaves the flush to the outer.
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
        with suppress(ValueError):  # a generator that is closed by another task than began it: the block has ended
            _OPEN.reset(mark)
