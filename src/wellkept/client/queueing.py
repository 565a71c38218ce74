"""Writing later, over HTTP: the queue of a conversation, and blocks whose writes wait until they end.

What waits lies with the server, so it survives a client that dies; the server then writes it by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, Unpack

from wellkept.client import calls
from wellkept.client.exchange import NAMESPACE, QUEUE, SESSION, Call, Setting, new_key
from wellkept.types import MemoryFields, NewMemory, OnConflict, WriteResult
from wellkept.types.queue import Flushed, QueuedWrite

T = TypeVar("T")


class Sending(Protocol):
    """What sends a call and reads its answer, as `Client` does."""

    def _send(self, call: Call[T]) -> T: ...


class Awaiting(Protocol):
    """The same for tasks, as `AsyncClient` does."""

    async def _send(self, call: Call[T]) -> T: ...


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
        return self._client._send(calls.queue_remember(content, {"on_conflict": on_conflict, **fields}))

    def pending(self) -> tuple[QueuedWrite, ...]:
        """As `Queue.pending`."""
        return self._client._send(calls.queue_pending())

    def failed(self) -> tuple[QueuedWrite, ...]:
        """As `Queue.failed`."""
        return tuple(one for one in self.pending() if one.attempts)

    def flush(self, *, again: bool = False) -> Flushed:
        """As `Queue.flush`. Sent again after a lost answer: nothing is written twice, but its results are not told."""
        return self._client._send(calls.queue_flush(again=again))

    def drop(self, queued_id: str) -> None:
        """As `Queue.drop`; needs a token that may erase."""
        self._client._send(calls.queue_drop(queued_id))

    def __len__(self) -> int:
        """How many wait here."""
        return len(self.pending())


class AsyncClientQueue:
    """`ClientQueue`, each verb awaited; how many wait is `len(await queue.pending())`.

    Args:
        client: Sends its calls.
    """

    def __init__(self, client: Awaiting) -> None:
        self._client = client

    async def remember(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
    ) -> WriteResult:
        """As `Queue.remember`. Sent again under one key, so a lost answer leaves no second memory."""
        return await self._client._send(calls.queue_remember(content, {"on_conflict": on_conflict, **fields}))

    async def pending(self) -> tuple[QueuedWrite, ...]:
        """As `Queue.pending`."""
        return await self._client._send(calls.queue_pending())

    async def failed(self) -> tuple[QueuedWrite, ...]:
        """As `Queue.failed`."""
        return tuple(one for one in await self.pending() if one.attempts)

    async def flush(self, *, again: bool = False) -> Flushed:
        """As `Queue.flush`. Sent again after a lost answer: nothing is written twice, but its results are not told."""
        return await self._client._send(calls.queue_flush(again=again))

    async def drop(self, queued_id: str) -> None:
        """As `Queue.drop`; needs a token that may erase."""
        await self._client._send(calls.queue_drop(queued_id))


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
