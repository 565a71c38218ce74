"""`AsyncClient`: the verbs of `MemoryStore` over HTTP, for asyncio.

Each method is the method of `Client` with `await`; a test compares their signatures.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from wellkept.client.exchange import Bound, Call, Tries, outcome, request, setting
from wellkept.client.pages import Calls
from wellkept.client.queueing import AsyncClientQueue, Block, awaited, collecting, waiting
from wellkept.client.sync import Client

T = TypeVar("T")


class _Unsent(Client):
    """Returns each call instead of sending it."""

    def _send(self, call: Call[Any] | Calls[Any]) -> Any:
        return call


class AsyncClient(Bound):
    """`Client` for an event loop: the same verbs, each awaited; usable from many tasks at once.

    A cancelled task leaves the client usable. Whether its pending write reached the server is then unknown;
    repeating the write with the same `idempotency_key` is safe.

    Args:
        url / token / namespace / session / timeout / retries: As for `Client`.
        transport: For tests: an asynchronous `httpx2` transport that replaces the network.

    Example:
        >>> async with AsyncClient("http://127.0.0.1:8000") as store:  # doctest: +SKIP
        ...     result = await store.remember("Use ruff for linting.")
    """

    _verbs: Client = object.__new__(_Unsent)

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        namespace: str = "",
        session: str = "",
        timeout: float = 30.0,
        retries: int = 2,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._setting = setting(
            url, token=token, namespace=namespace, session=session, retries=retries, timeout=timeout
        )
        self._http = httpx2.AsyncClient(timeout=timeout, transport=transport)
        self._sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    remember = awaited(Client.remember)
    remember_many = awaited(Client.remember_many)
    check = awaited(Client.check)
    revise = awaited(Client.revise)
    check_similar = awaited(Client.check_similar)
    record_decision = awaited(Client.record_decision)
    record_turn = awaited(Client.record_turn)
    start_episode = awaited(Client.start_episode)
    end_episode = awaited(Client.end_episode)
    recall = awaited(Client.recall)
    pack = awaited(Client.pack)
    get = awaited(Client.get)
    list = awaited(Client.list)
    history = awaited(Client.history)
    journal = awaited(Client.journal)
    conflicts = awaited(Client.conflicts)
    neighbors = awaited(Client.neighbors)
    subgraph = awaited(Client.subgraph)
    stats = awaited(Client.stats)
    verify = awaited(Client.verify)
    supersede = awaited(Client.supersede)
    restore = awaited(Client.restore)
    split = awaited(Client.split)
    forget = awaited(Client.forget)
    erase = awaited(Client.erase)
    undo = awaited(Client.undo)
    link = awaited(Client.link)
    unlink = awaited(Client.unlink)
    resolve = awaited(Client.resolve)
    questions = awaited(Client.questions)
    answer = awaited(Client.answer)
    undo_answers = awaited(Client.undo_answers)
    asking = awaited(Client.asking)
    forget_lessons = awaited(Client.forget_lessons)
    judge = awaited(Client.judge)
    plan = awaited(Client.plan)
    execute = awaited(Client.execute)
    runs = awaited(Client.runs)
    undo_run = awaited(Client.undo_run)

    @property
    def queue(self) -> AsyncClientQueue:
        """Like `MemoryStore.queue`, with each verb awaited."""
        return AsyncClientQueue(self)

    def deferred(self) -> AbstractAsyncContextManager[AsyncClientQueue]:
        """Like `Client.deferred`, for the writes of the current task: `async with store.deferred(): ...`."""
        return self._deferred()

    async def close(self) -> None:
        """Close the connections; repeated calls are allowed."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @asynccontextmanager
    async def _deferred(self) -> AsyncIterator[AsyncClientQueue]:
        with collecting(self._setting, self._http) as (to, block):
            try:
                yield AsyncClientQueue(self._bound(to))
            except (Exception, GeneratorExit):  # writes already answered with "queued" are flushed anyway
                await self._flush(block)
                raise
            await self._flush(block)

    async def _flush(self, block: Block | None) -> None:
        for to in block.end() if block is not None else ():
            await self._bound(to).queue.flush(again=True)

    async def _send(self, call: Call[T] | Calls[T]) -> T:
        if isinstance(call, Call):
            return await self._sent(call)
        answer: Any = None
        while True:
            try:
                one = call.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = await self._sent(one)

    async def _sent(self, call: Call[T]) -> T:
        sent = request(call, waiting(call, self._setting, self._http))
        tries = Tries(call, self._setting)
        while isinstance(now := tries.after(await self._once(sent)), float):
            await self._sleep(now)
        return outcome(call, now, self._setting.host)

    async def _once(self, sent: dict[str, Any]) -> httpx2.Response | httpx2.HTTPError:
        """Send one request with a timeout for the whole answer; the timeout of the transport restarts at each read."""
        try:
            async with asyncio.timeout(self._setting.timeout):
                return await self._http.request(**sent)
        except TimeoutError:
            return httpx2.ReadTimeout("the answer was not complete in time")
        except httpx2.HTTPError as error:
            return error
