"""`Client`: the verbs of `MemoryStore` over HTTP."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from inspect import Parameter
from operator import attrgetter
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, cast

import httpx2

from wellkept.client.calls import (
    answered,
    asked,
    call,
    entry_of,
    figures,
    given_fields,
    nothing,
    number,
    plan_of,
    similar,
    statement,
    truth,
)
from wellkept.client.exchange import Bound, Call, Tries, outcome, request, setting
from wellkept.client.from_json import hits, record, records
from wellkept.client.pages import Calls, batch, listing, pages, reached
from wellkept.client.queueing import Block, ClientQueue, collecting, waiting
from wellkept.core.consolidation.plan_file import plan_text
from wellkept.core.consolidation.rules import Consolidation
from wellkept.engine.consolidation.run_list import RunLine
from wellkept.engine.verbs.store import MemoryStore
from wellkept.models.endpoints.deadline import Lines
from wellkept.types import (
    AskingReport,
    Conflict,
    Filter,
    Graph,
    JournalEntry,
    Json,
    Link,
    Memory,
    MemoryFields,
    NewMemory,
    OnConflict,
    Plan,
    Problem,
    Scope,
    Stats,
    UndoReport,
    Version,
    WriteResult,
)
from wellkept.types.packs import Pack, PackFormat

P = ParamSpec("P")
T = TypeVar("T")


def _sending(
    verb: Callable[Concatenate[MemoryStore, P], T], calls: Callable[..., Call[Any] | Calls[Any]]
) -> Callable[Concatenate[Client, P], T]:
    """Make a verb of `MemoryStore` that works over HTTP, with the same name, parameters and result.

    Args:
        verb: The verb of the library.
        calls: Builds the calls from all parameters of the verb, passed by name.
    """
    signature = inspect.signature(verb)

    @wraps(verb)
    def send(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        fields: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            fields |= value if signature.parameters[name].kind is Parameter.VAR_KEYWORD else {name: value}
        del fields["self"]
        return cast("T", self._send(calls(**fields)))

    send.__doc__ = f"As `MemoryStore.{verb.__name__}`."
    return send


def _asking(
    verb: Callable[Concatenate[MemoryStore, P], T], read: Callable[[Json], Any]
) -> Callable[Concatenate[Client, P], T]:
    """Make a verb that is one call of the operation with the same name.

    Args:
        verb: The verb of the library.
        read: Converts the answer to the result.
    """
    return _sending(verb, lambda **fields: call(verb.__name__, read, fields))


class Client(Bound):
    """A store behind `wellkept serve`, with the verbs of `MemoryStore`: same names, parameters, results and errors.

    A client may be used from several threads. A call that is safe to repeat is sent again after a lost
    connection; `remember`, `record_decision` and `start_episode` send a generated idempotency key for that.

    Args:
        url: Address of the server, such as `http://127.0.0.1:8000`.
        token: Access token, sent as a bearer token; never shown.
        namespace: The namespace; by default that of the token or the server.
        session: The session of the calls.
        timeout: Seconds to wait for each answer, from the first byte sent to the last received.
        retries: Maximum number of retries per call.
        transport: For tests: an `httpx2` transport that replaces the network.

    Raises:
        ConfigError: The address is not an HTTP URL, or a number is out of range.

    Example:
        >>> with Client("http://127.0.0.1:8000", token="wk_...", namespace="acme/alice") as store:  # doctest: +SKIP
        ...     store.remember("Use ruff for linting.").outcome
        'created'
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
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._setting = setting(
            url, token=token, namespace=namespace, session=session, retries=retries, timeout=timeout
        )
        self._http = httpx2.Client(timeout=timeout, transport=transport)
        self._lines = Lines()
        self._sleep: Callable[[float], None] = time.sleep

    # ----------------------------------------------------------------------------------------
    # Writing

    def remember(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
    ) -> WriteResult:
        """Like `MemoryStore.remember`. Retries use one key, so a lost answer causes no second memory.

        When the first attempt had reached the server, the retry answers with the rule `replay` and changes nothing.
        """
        return self._ask("remember", record(WriteResult), **statement(content, {"on_conflict": on_conflict, **fields}))

    remember_many = _sending(MemoryStore.remember_many, batch)

    def check(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
    ) -> WriteResult:
        """Like `MemoryStore.check`."""
        return self._ask("check", record(WriteResult), **statement(content, {"on_conflict": on_conflict, **fields}))

    revise = _asking(MemoryStore.revise, record(Memory))  # type: ignore[arg-type] # Python refuses a change named self

    def check_similar(self, content: str, title: str, subtype: str, limit: int = 5) -> dict[str, Any]:
        """Find memories similar to a text of one subtype, by `POST /v1/nodes/check-similar`.

        Args:
            content: The text.
            title: Its title.
            subtype: The kind, with or without `custom:` before it.
            limit: Maximum number of matches.

        Returns:
            `matches` and `recommendation`.

        Raises:
            httpx2.HTTPStatusError: The request failed; the answer is passed on unchanged.
        """
        return self._send(similar({"content": content, "title": title, "subtype": subtype, "limit": limit}))

    # ----------------------------------------------------------------------------------------
    # Decisions and episodes

    record_decision = _asking(MemoryStore.record_decision, record(WriteResult))
    record_turn = _asking(MemoryStore.record_turn, record(WriteResult))  # type: ignore[arg-type] # as above
    start_episode = _asking(MemoryStore.start_episode, record(WriteResult))
    end_episode = _asking(MemoryStore.end_episode, record(Memory))

    # ----------------------------------------------------------------------------------------
    # Reading

    recall = _asking(MemoryStore.recall, hits)

    def pack(
        self,
        query: str,
        *,
        budget_tokens: int = 800,
        format: PackFormat = "markdown",
        exclude: Sequence[str] = (),
        session: str = "",
        where: Filter | None = None,
        touch: bool = True,
        min_score: float | None = None,
    ) -> Pack:
        """Like `MemoryStore.pack`; the server estimates the number of tokens."""
        return self._ask(
            "pack",
            record(Pack),
            query=query,
            budget_tokens=budget_tokens,
            format=format,
            exclude=exclude,
            session=session,
            where=where,
            touch=touch,
            min_score=min_score,
        )

    get = _asking(MemoryStore.get, record(Memory))
    list = _sending(MemoryStore.list, listing)
    history = _sending(MemoryStore.history, partial(pages, "history", Version, attrgetter("seq")))
    journal = _sending(MemoryStore.journal, partial(pages, "journal", JournalEntry, attrgetter("seq")))
    conflicts = _sending(MemoryStore.conflicts, partial(pages, "conflicts", Conflict, attrgetter("key")))
    neighbors = _sending(MemoryStore.neighbors, reached)

    def subgraph(self, ids: Sequence[str], *, depth: int = 1) -> Graph:
        """Like `MemoryStore.subgraph`."""
        return self._ask("subgraph", record(Graph), ids=list(ids), depth=depth)

    stats = _asking(MemoryStore.stats, record(Stats))
    verify = _asking(MemoryStore.verify, records(Problem))

    # ----------------------------------------------------------------------------------------
    # Acting

    supersede = _asking(MemoryStore.supersede, entry_of)
    split = _asking(MemoryStore.split, entry_of)
    forget = _asking(MemoryStore.forget, entry_of)
    erase = _asking(MemoryStore.erase, entry_of)
    undo = _asking(MemoryStore.undo, entry_of)
    restore = _asking(MemoryStore.restore, truth)
    link = _asking(MemoryStore.link, record(Link))
    unlink = _asking(MemoryStore.unlink, number)
    resolve = _asking(MemoryStore.resolve, record(Conflict))

    # ----------------------------------------------------------------------------------------
    # Questions

    questions = _sending(MemoryStore.questions, asked)
    answer = _asking(MemoryStore.answer, answered)
    undo_answers = _asking(MemoryStore.undo_answers, record(UndoReport))
    asking = _asking(MemoryStore.asking, record(AskingReport))
    forget_lessons = _asking(MemoryStore.forget_lessons, nothing)
    judge = _asking(MemoryStore.judge, entry_of)

    # ----------------------------------------------------------------------------------------
    # Deferred writes

    @property
    def queue(self) -> ClientQueue:
        """Like `MemoryStore.queue`."""
        return ClientQueue(self)

    def deferred(self) -> AbstractContextManager[ClientQueue]:
        """Like `MemoryStore.deferred`. If the client dies in the block, the server flushes the queue after a while."""
        return self._deferred()

    # ----------------------------------------------------------------------------------------
    # Plans and runs

    def plan(self, config: Consolidation | None = None, scope: Scope | None = None) -> Plan:
        """Like `MemoryStore.plan`, with the default rules; custom rules cannot be sent."""
        return self._ask(
            "plan", plan_of, **given_fields(config=None if config is None else figures(config), scope=scope)
        )

    def execute(
        self, plan: Plan, *, only: Collection[str] = (), skip: Collection[str] = (), dry_run: bool = False
    ) -> dict[str, Any]:
        """Like `MemoryStore.execute`; returns the report as JSON, including the actions not applied."""
        planned = json.loads(plan_text(plan))
        return self._ask("execute", dict, plan=planned, only=[*only], skip=[*skip], dry_run=dry_run)

    runs = _sending(MemoryStore.runs, partial(pages, "runs", RunLine, attrgetter("run_id")))
    undo_run = _asking(MemoryStore.undo_run, record(UndoReport))

    # ----------------------------------------------------------------------------------------
    # The client itself

    def close(self) -> None:
        """Close the connections; repeated calls are allowed."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _deferred(self) -> Iterator[ClientQueue]:
        with collecting(self._setting, self._http) as (to, block):
            try:
                yield ClientQueue(self._bound(to))
            except (Exception, GeneratorExit):  # writes already answered with "queued" are flushed anyway
                self._flush(block)
                raise
            self._flush(block)

    def _flush(self, block: Block | None) -> None:
        for to in block.end() if block is not None else ():
            self._bound(to).queue.flush(again=True)

    def _ask(self, name: str, read: Callable[[Json], T], /, **fields: Any) -> T:
        return self._send(call(name, read, fields))

    def _send(self, call: Call[T] | Calls[T]) -> T:
        if isinstance(call, Call):
            return self._sent(call)
        answer: Any = None
        while True:
            try:
                one = call.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = self._sent(one)

    def _sent(self, call: Call[T]) -> T:
        sent = request(call, waiting(call, self._setting, self._http))
        tries = Tries(call, self._setting)
        while isinstance(now := tries.after(self._once(sent)), float):
            self._sleep(now)
        return outcome(call, now, self._setting.host)

    def _once(self, sent: dict[str, Any]) -> httpx2.Response | httpx2.HTTPError:
        try:
            with self._lines.within(self._setting.timeout) as trace:
                return self._http.request(**sent, extensions={"trace": trace})
        except httpx2.HTTPError as error:
            return error
