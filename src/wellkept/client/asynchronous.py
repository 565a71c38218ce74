"""`AsyncClient`: the verbs of `MemoryStore` over HTTP, for tasks of an event loop.

Each method is that of `Client` with `await`; a test compares them one by one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx2

from wellkept.client import calls
from wellkept.client.exchange import NAMESPACE, SESSION, Call, Setting, Tries, header, outcome, request, setting
from wellkept.client.failures import unreachable
from wellkept.client.queueing import AsyncClientQueue, Block, collecting, waiting
from wellkept.core.consolidation.rules import Consolidation
from wellkept.engine.consolidation.run_list import RunLine
from wellkept.types import (
    BatchResult,
    Conflict,
    Direction,
    Filter,
    Graph,
    Hits,
    JournalEntry,
    Link,
    Memory,
    MemoryFields,
    NewMemory,
    OnConflict,
    Plan,
    Problem,
    Reached,
    RecallMode,
    RecallOptions,
    Resolution,
    Scope,
    Stats,
    UndoReport,
    Version,
    WriteResult,
)
from wellkept.types.packs import Pack, PackFormat

T = TypeVar("T")


class AsyncClient:
    """`Client` for an event loop: the same verbs, each awaited; usable from many tasks at once.

    A task that is cancelled while it waits leaves the client usable. Whether a write that was under way
    arrived is then not known; the same `idempotency_key` tells.

    Args:
        url / token / namespace / session / timeout / retries: As for `Client`.
        transport: For tests: an asynchronous `httpx2` transport in place of the network.

    Example:
        >>> async with AsyncClient("http://127.0.0.1:8000") as store:  # doctest: +SKIP
        ...     result = await store.remember("Use ruff for linting.")
    """

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

    # ----------------------------------------------------------------------------------------
    # Writing

    async def remember(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
    ) -> WriteResult:
        """As `MemoryStore.remember`. Sent again under one key, so a lost answer leaves no second memory.

        A call that had arrived already answers with the rule `replay`, and changes nothing.
        """
        return await self._send(calls.remember(content, {"on_conflict": on_conflict, **fields}))

    async def remember_many(
        self, items: Iterable[str | NewMemory | Mapping[str, Any]], *, on_conflict: OnConflict | None = None
    ) -> BatchResult:
        """As `MemoryStore.remember_many`."""
        return await self._send(calls.remember_many(items, on_conflict))

    async def check(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
    ) -> WriteResult:
        """As `MemoryStore.check`."""
        return await self._send(calls.check(content, {"on_conflict": on_conflict, **fields}))

    async def revise(self, memory_id: str, **changes: Any) -> Memory:
        """As `MemoryStore.revise`."""
        return await self._send(calls.revise(memory_id, changes))

    async def check_similar(self, content: str, title: str, subtype: str, limit: int = 5) -> dict[str, Any]:
        """What is near a text of one subtype, as `POST /v1/nodes/check-similar` answers.

        Args:
            content: The text.
            title: Its title.
            subtype: The kind, with or without `custom:` before it.
            limit: Most matches to show.

        Returns:
            `matches` and `recommendation`.

        Raises:
            httpx2.HTTPStatusError: The answer is no success; nothing is made of it here.
        """
        call = calls.similar({"content": content, "title": title, "subtype": subtype, "limit": limit})
        answer = await self._answer(call)
        answer.raise_for_status()
        return outcome(call, answer, self._setting.host)

    # ----------------------------------------------------------------------------------------
    # Decisions and episodes

    async def record_decision(self, content: str, *, outcome: str = "", **fields: Unpack[MemoryFields]) -> WriteResult:
        """As `MemoryStore.record_decision`. Sent again under one key, as `remember`."""
        return await self._send(calls.record_decision(content, {"outcome": outcome, **fields}))

    async def record_turn(
        self, response: str, *, frame: str, decided: bool = False, episode: str = "", **fields: Any
    ) -> WriteResult:
        """As `MemoryStore.record_turn`."""
        own = {"frame": frame, "decided": decided, "episode": episode}
        return await self._send(calls.record_turn(response, {**fields, **own}))

    async def start_episode(self, content: str, **fields: Unpack[MemoryFields]) -> WriteResult:
        """As `MemoryStore.start_episode`. Sent again under one key, as `remember`."""
        return await self._send(calls.start_episode(content, fields))

    async def end_episode(
        self, episode_id: str, *, summary: str = "", outcome: str = "", at: datetime | str | None = None
    ) -> Memory:
        """As `MemoryStore.end_episode`."""
        return await self._send(calls.end_episode(episode_id, {"summary": summary, "outcome": outcome, "at": at}))

    # ----------------------------------------------------------------------------------------
    # Reading

    async def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        where: Filter | None = None,
        mode: RecallMode = "default",
        include_superseded: bool = False,
        explain: bool = False,
        touch: bool = True,
        **options: Unpack[RecallOptions],
    ) -> Hits:
        """As `MemoryStore.recall`."""
        asked: dict[str, Any] = {
            "limit": limit,
            "where": where,
            "mode": mode,
            "include_superseded": include_superseded,
            "explain": explain,
            "touch": touch,
            **options,
        }
        return await self._send(calls.recall(query, asked))

    async def pack(
        self,
        query: str,
        *,
        budget_tokens: int = 800,
        format: PackFormat = "markdown",
        exclude: Sequence[str] = (),
        session: str = "",
        where: Filter | None = None,
        touch: bool = True,
    ) -> Pack:
        """As `MemoryStore.pack`; tokens are counted by the server's estimate."""
        asked: dict[str, Any] = {
            "budget_tokens": budget_tokens,
            "format": format,
            "exclude": exclude,
            "session": session,
            "where": where,
            "touch": touch,
        }
        return await self._send(calls.pack(query, asked))

    async def get(self, memory_id: str, *, touch: bool = True) -> Memory:
        """As `MemoryStore.get`."""
        return await self._send(calls.get(memory_id, {"touch": touch}))

    async def list(self, where: Filter | None = None, *, limit: int | None = None) -> tuple[Memory, ...]:
        """As `MemoryStore.list`."""
        return await self._send(calls.listing({"where": where, "limit": limit}))

    async def history(self, memory_id: str) -> tuple[Version, ...]:
        """As `MemoryStore.history`."""
        return await self._send(calls.history(memory_id))

    async def journal(self, *, newest: int | None = None, after: int = 0) -> tuple[JournalEntry, ...]:
        """As `MemoryStore.journal`."""
        return await self._send(calls.journal({"newest": newest, "after": after}))

    async def conflicts(
        self, memory_id: str | None = None, *, settled: bool = False, threshold: float = 0.0
    ) -> tuple[Conflict, ...]:
        """As `MemoryStore.conflicts`."""
        query = {"memory_id": memory_id, "settled": settled, "threshold": threshold}
        return await self._send(calls.conflicts(query))

    async def neighbors(
        self, memory_id: str, *, rel: str | None = None, direction: Direction = "both", depth: int = 1
    ) -> Reached:
        """As `MemoryStore.neighbors`."""
        return await self._send(calls.neighbors(memory_id, {"rel": rel, "direction": direction, "depth": depth}))

    async def subgraph(self, ids: Sequence[str], *, depth: int = 1) -> Graph:
        """As `MemoryStore.subgraph`."""
        return await self._send(calls.subgraph(ids, depth))

    async def stats(self) -> Stats:
        """As `MemoryStore.stats`."""
        return await self._send(calls.stats())

    async def verify(self) -> tuple[Problem, ...]:
        """As `MemoryStore.verify`."""
        return await self._send(calls.verify())

    # ----------------------------------------------------------------------------------------
    # Acting

    async def supersede(self, old_id: str, new_id: str) -> int:
        """As `MemoryStore.supersede`."""
        return await self._send(calls.supersede(old_id, new_id))

    async def restore(self, memory_id: str) -> bool:
        """As `MemoryStore.restore`."""
        return await self._send(calls.restore(memory_id))

    async def forget(self, memory_id: str) -> int:
        """As `MemoryStore.forget`."""
        return await self._send(calls.forget(memory_id))

    async def erase(self, memory_id: str) -> int:
        """As `MemoryStore.erase`."""
        return await self._send(calls.erase(memory_id))

    async def undo(self, entry: int) -> int:
        """As `MemoryStore.undo`."""
        return await self._send(calls.undo(entry))

    async def link(self, src: str, dst: str, rel: str = "related", *, strict: bool = False) -> Link:
        """As `MemoryStore.link`."""
        return await self._send(calls.link({"src": src, "dst": dst, "rel": rel, "strict": strict}))

    async def unlink(self, src: str, dst: str, rel: str | None = None) -> int:
        """As `MemoryStore.unlink`."""
        return await self._send(calls.unlink({"src": src, "dst": dst, "rel": rel}))

    async def resolve(self, key: str, resolution: Resolution) -> Conflict:
        """As `MemoryStore.resolve`."""
        return await self._send(calls.resolve(key, resolution))

    # ----------------------------------------------------------------------------------------
    # Writing later

    @property
    def queue(self) -> AsyncClientQueue:
        """As `MemoryStore.queue`, each verb awaited."""
        return AsyncClientQueue(self)

    def deferred(self) -> AbstractAsyncContextManager[AsyncClientQueue]:
        """As `Client.deferred`, for the writes of this task: `async with store.deferred(): ...`."""
        return self._deferred()

    # ----------------------------------------------------------------------------------------
    # Plans and runs

    async def plan(self, config: Consolidation | None = None, scope: Scope | None = None) -> Plan:
        """As `MemoryStore.plan`, by the default rules: rules of your own stay on their machine."""
        return await self._send(calls.plan(config, scope))

    async def execute(
        self, plan: Plan, *, only: Collection[str] = (), skip: Collection[str] = (), dry_run: bool = False
    ) -> dict[str, Any]:
        """As `MemoryStore.execute`; gives the report as the server's JSON, with what was not applied."""
        fields = {"only": [*only], "skip": [*skip], "dry_run": dry_run}
        return await self._send(calls.execute(plan, fields))

    async def runs(self) -> tuple[RunLine, ...]:
        """As `MemoryStore.runs`."""
        return await self._send(calls.runs())

    async def undo_run(self, run_id: str, *, force_except: bool = False) -> UndoReport:
        """As `MemoryStore.undo_run`."""
        return await self._send(calls.undo_run(run_id, {"force_except": force_except}))

    # ----------------------------------------------------------------------------------------
    # The client itself

    def in_namespace(self, name: str) -> Self:
        """The same server, bound to another namespace; both share their connections."""
        return self._bound(self._setting.bound(**{NAMESPACE: header(name)}))

    def in_session(self, name: str) -> Self:
        """The same server, bound to a conversation."""
        return self._bound(self._setting.bound(**{SESSION: header(name)}))

    async def close(self) -> None:
        """Close the connections; safe to call twice."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._setting.host!r})"  # no token, no password of an address

    def _bound(self, to: Setting) -> Self:
        made = object.__new__(type(self))
        made._setting, made._http, made._sleep = to, self._http, self._sleep
        return made

    @asynccontextmanager
    async def _deferred(self) -> AsyncIterator[AsyncClientQueue]:
        with collecting(self._setting, self._http) as (to, block):
            try:
                yield AsyncClientQueue(self._bound(to))
            except (Exception, GeneratorExit):  # what was answered "Queued" is written all the same
                await self._flush(block)
                raise
            await self._flush(block)

    async def _flush(self, block: Block | None) -> None:
        for to in block.end() if block is not None else ():
            await self._bound(to).queue.flush(again=True)

    async def _send(self, call: Call[T]) -> T:
        return outcome(call, await self._answer(call), self._setting.host)

    async def _answer(self, call: Call[Any]) -> httpx2.Response:
        sent = request(call, waiting(call, self._setting, self._http))
        tries = Tries(call, self._setting)
        while True:
            try:
                answer = await self._once(sent)
            except httpx2.HTTPError as error:
                wait = tries.after_error(error)
                if wait is None:
                    raise unreachable(error, self._setting.host) from None
            else:
                wait = tries.after_answer(answer)
                if wait is None:
                    return answer
            await self._sleep(wait)

    async def _once(self, sent: dict[str, Any]) -> httpx2.Response:
        """One answer within the time for all of it; each read of it alone would wait anew."""
        try:
            async with asyncio.timeout(self._setting.timeout):
                return await self._http.request(**sent)
        except TimeoutError as error:
            raise httpx2.ReadTimeout("the answer was not complete in time") from error
