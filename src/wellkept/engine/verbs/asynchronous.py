"""`AsyncMemoryStore`: every verb of `MemoryStore`, run in a thread so that the event loop is not blocked.

The engine is synchronous; this class adds no behaviour. A call that is cancelled before a thread takes it
is not made; one that has begun runs to its end in its thread, with its transaction. In both cases the
store can be used at once.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import copy_context
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from wellkept.engine.asking.answering_with import Questioning
from wellkept.engine.queue.deferred import Queue, collecting
from wellkept.engine.verbs.store import MemoryStore
from wellkept.types import (
    AnswersReport,
    Memory,
    ModelAnswers,
    Question,
    WriteResult,
)

THREADS = 8
"""Number of concurrent calls; further calls wait. SQLite has one writer at a time anyway."""

P = ParamSpec("P")
T = TypeVar("T")
Verbs = TypeVar("Verbs")


class _Threaded(Protocol[Verbs]):
    """What has its verbs run in a thread."""

    _store: Verbs

    async def _run(self, work: Callable[[], T]) -> T: ...


def _in_thread(
    verb: Callable[Concatenate[Verbs, P], T],
) -> Callable[Concatenate[_Threaded[Verbs], P], Coroutine[Any, Any, T]]:
    """The verb as a coroutine with the same name, signature and docstring."""

    @functools.wraps(verb)
    async def run(self: _Threaded[Verbs], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(functools.partial(verb, self._store, *args, **kwargs))

    said = (inspect.getdoc(verb) or "").partition("Example:")[0].rstrip()
    run.__doc__ = f"{said}\n\nAs the synchronous `{verb.__name__}`, awaited."
    return run


class AsyncMemoryStore:
    """`MemoryStore` for asyncio: the same verbs, arguments and results, each awaited.

    Opened by `wellkept.open_async`, or built from an open store. Any number of tasks may use it, on any event
    loop. Callbacks such as `progress` are called in the worker thread.

    Args:
        store: The store; closing this object closes it.
        threads: Number of concurrent calls.

    Example:
        >>> import asyncio, wellkept
        >>> async def work():
        ...     async with await wellkept.open_async("memory:", embedder="hashing") as store:
        ...         texts = ["Tea is upstairs.", "Cups are downstairs.", "tea is upstairs"]
        ...         await asyncio.gather(*(store.remember(text) for text in texts))
        ...         return len(await store.list())
        >>> asyncio.run(work())
        2
    """

    def __init__(self, store: MemoryStore, *, threads: int = THREADS) -> None:
        self._store = store
        self._threads = _Threads(threads)

    def __repr__(self) -> str:
        return f"Async{self._store!r}"

    # The agent's verbs
    remember = _in_thread(MemoryStore.remember)
    remember_many = _in_thread(MemoryStore.remember_many)
    check = _in_thread(MemoryStore.check)
    supersede = _in_thread(MemoryStore.supersede)
    restore = _in_thread(MemoryStore.restore)
    split = _in_thread(MemoryStore.split)
    forget = _in_thread(MemoryStore.forget)
    erase = _in_thread(MemoryStore.erase)
    undo = _in_thread(MemoryStore.undo)
    link = _in_thread(MemoryStore.link)
    unlink = _in_thread(MemoryStore.unlink)
    neighbors = _in_thread(MemoryStore.neighbors)
    subgraph = _in_thread(MemoryStore.subgraph)
    conflicts = _in_thread(MemoryStore.conflicts)
    resolve = _in_thread(MemoryStore.resolve)
    questions = _in_thread(MemoryStore.questions)
    answer = _in_thread(MemoryStore.answer)
    recall = _in_thread(MemoryStore.recall)
    pack = _in_thread(MemoryStore.pack)
    get = _in_thread(MemoryStore.get)
    list = _in_thread(MemoryStore.list)
    history = _in_thread(MemoryStore.history)
    journal = _in_thread(MemoryStore.journal)
    record_decision = _in_thread(MemoryStore.record_decision)
    start_episode = _in_thread(MemoryStore.start_episode)
    end_episode = _in_thread(MemoryStore.end_episode)

    # The operator's verbs
    import_ = _in_thread(MemoryStore.import_)
    export = _in_thread(MemoryStore.export)
    plan = _in_thread(MemoryStore.plan)
    execute = _in_thread(MemoryStore.execute)
    consolidate = _in_thread(MemoryStore.consolidate)
    runs = _in_thread(MemoryStore.runs)
    undo_run = _in_thread(MemoryStore.undo_run)
    undo_answers = _in_thread(MemoryStore.undo_answers)
    asking = _in_thread(MemoryStore.asking)
    forget_lessons = _in_thread(MemoryStore.forget_lessons)
    judge = _in_thread(MemoryStore.judge)
    reflect = _in_thread(MemoryStore.reflect)
    decay = _in_thread(MemoryStore.decay)
    replay = _in_thread(MemoryStore.replay)
    audit = _in_thread(MemoryStore.audit)
    take_over = _in_thread(MemoryStore.take_over)
    stats = _in_thread(MemoryStore.stats)
    verify = _in_thread(MemoryStore.verify)
    reembed = _in_thread(MemoryStore.reembed)
    sweep = _in_thread(MemoryStore.sweep)
    judge_waiting = _in_thread(MemoryStore.judge_waiting)
    repair = _in_thread(MemoryStore.repair)
    expire_conflicts = _in_thread(MemoryStore.expire_conflicts)
    namespaces = _in_thread(MemoryStore.namespaces)

    async def revise(self, memory_id: str, **changes: Any) -> Memory:
        """Edit a stored memory. As `MemoryStore.revise`, awaited."""
        return await self._run(functools.partial(self._store.revise, memory_id, **changes))

    async def answer_with(
        self,
        model: Callable[[Sequence[Question]], ModelAnswers | Awaitable[ModelAnswers]],
        *,
        limit: int | None = None,
        again: bool = False,
    ) -> AnswersReport:
        """Let a model answer the open questions. As `MemoryStore.answer_with`, awaited; `model` may be a coroutine
        function.
        """
        asking = await self._run(functools.partial(Questioning, self._store._ctx, model, limit=limit, again=again))
        while batch := await self._run(asking.batch):
            said = await self._run(functools.partial(model, batch))
            answers = await said if isinstance(said, Awaitable) else said
            await self._run(functools.partial(asking.take, batch, answers))
        return asking.report()

    async def record_turn(
        self, response: str, *, frame: str, decided: bool = False, episode: str = "", **fields: Any
    ) -> WriteResult:
        """Record an agent's response as a decision, if it is one. As `MemoryStore.record_turn`, awaited."""
        turn = functools.partial(self._store.record_turn, response, frame=frame, decided=decided, episode=episode)
        return await self._run(functools.partial(turn, **fields))

    @property
    def namespace(self) -> str:
        """The namespace of this store."""
        return self._store.namespace

    @property
    def queue(self) -> AsyncQueue:
        """`MemoryStore.queue`, each verb awaited."""
        return AsyncQueue(self._store.queue, self)

    def in_namespace(self, name: str) -> AsyncMemoryStore:
        """The same store with another namespace; it shares the threads."""
        return self._beside(self._store.in_namespace(name))

    def in_session(self, name: str) -> AsyncMemoryStore:
        """The same store with a session; it shares the threads."""
        return self._beside(self._store.in_session(name))

    def deferred(self) -> AbstractAsyncContextManager[AsyncQueue]:
        """As `MemoryStore.deferred`, for the writes of this task: `async with store.deferred(): ...`."""
        return self._deferred()

    def judging(self, *, every: float = 0.2) -> AbstractAsyncContextManager[None]:
        """As `MemoryStore.judging`, in a thread of its own: `async with store.judging(): ...`."""
        return self._judging(every)

    async def close(self) -> None:
        """Close store and threads when running calls have finished; safe to call twice."""
        await asyncio.to_thread(self._end)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @asynccontextmanager
    async def _deferred(self) -> AsyncIterator[AsyncQueue]:
        with collecting(self._store._ctx) as (queue, flush):
            try:
                yield AsyncQueue(queue, self)
            except (Exception, GeneratorExit):  # as `deferred.deferred`
                await self._run(flush)
                raise
            await self._run(flush)

    @asynccontextmanager
    async def _judging(self, every: float) -> AsyncIterator[None]:
        judging = self._store.judging(every=every)
        await self._run(judging.__enter__)
        try:
            yield
        finally:
            await self._run(lambda: judging.__exit__(None, None, None))

    async def _run(self, work: Callable[[], T]) -> T:
        # The thread gets the task's context variables, such as an open `deferred` block.
        return await asyncio.get_running_loop().run_in_executor(self._threads.pool, copy_context().run, work)

    def _beside(self, store: MemoryStore) -> AsyncMemoryStore:
        other = object.__new__(AsyncMemoryStore)
        other._store, other._threads = store, self._threads
        return other

    def _end(self) -> None:
        self._threads.end()
        self._store.close()


class AsyncQueue:
    """`Queue` for asyncio: each verb awaited, in a thread of the store; for its length use `await queue.pending()`.

    Args:
        queue: The queue.
        store: The store whose threads are used.

    Example:
        >>> import asyncio, wellkept
        >>> async def work():
        ...     async with await wellkept.open_async("memory:", embedder="hashing") as store:
        ...         chat = store.in_session("chat 7").queue
        ...         await chat.remember("Funding flips first.", kind="thesis")
        ...         return len(await chat.pending()), len((await chat.flush()).results)
        >>> asyncio.run(work())
        (1, 1)
    """

    def __init__(self, queue: Queue, store: AsyncMemoryStore) -> None:
        self._store = queue
        self._run = store._run

    remember = _in_thread(Queue.remember)
    pending = _in_thread(Queue.pending)
    failed = _in_thread(Queue.failed)
    flush = _in_thread(Queue.flush)
    drop = _in_thread(Queue.drop)


async def opened(make: Callable[[], MemoryStore]) -> AsyncMemoryStore:
    """The store that `make` opens, opened in a thread because loading a model is slow."""
    return AsyncMemoryStore(await asyncio.to_thread(make))


class _Threads:
    """The threads shared by a store and its views of other namespaces and sessions.

    Attributes:
        pool: Where calls run; None after `end`: the closed store then raises its own error.
    """

    def __init__(self, most: int) -> None:
        self.pool: ThreadPoolExecutor | None = ThreadPoolExecutor(most, thread_name_prefix="wellkept")

    def end(self) -> None:
        """Wait for all submitted calls, including those not yet started."""
        pool, self.pool = self.pool, None
        if pool is not None:
            pool.shutdown(wait=True)
