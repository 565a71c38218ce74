"""`Client`: the verbs of `MemoryStore` over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx2

from wellkept.client.calls import call, entry_of, figures, number, plan_of, said, similar, statement, truth
from wellkept.client.exchange import Bound, Call, Tries, outcome, request, setting
from wellkept.client.from_json import hits, record, records
from wellkept.client.pages import Calls, batch, listing, pages, reached
from wellkept.client.queueing import Block, ClientQueue, collecting, waiting
from wellkept.core.consolidation.plan_file import plan_text
from wellkept.core.consolidation.rules import Consolidation
from wellkept.engine.consolidation.run_list import RunLine
from wellkept.models.endpoints.deadline import Lines
from wellkept.types import (
    BatchResult,
    Conflict,
    Direction,
    Filter,
    Graph,
    Hits,
    JournalEntry,
    Json,
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


class Client(Bound):
    """A store behind `wellkept serve`, with the verbs of `MemoryStore`: same names, parameters, results and errors.

    A client may be used from several threads. What can be repeated without a second effect is sent
    again after a lost connection; `remember` carries a key of its own for that.

    Args:
        url: Of the server, such as `http://127.0.0.1:8000`.
        token: Sent as a bearer token; never shown.
        namespace: The namespace to work in; the one of the server or of the token otherwise.
        session: The conversation that the calls belong to.
        timeout: Seconds to wait for each answer, from the first byte sent to the last received.
        retries: How often a call is sent again.
        transport: For tests: an `httpx2` transport in place of the network.

    Raises:
        ConfigError: The address is none of HTTP, or a number is out of range.

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
        """As `MemoryStore.remember`. Sent again under one key, so a lost answer leaves no second memory.

        A call that had arrived already answers with the rule `replay`, and changes nothing.
        """
        return self._ask("remember", record(WriteResult), **statement(content, {"on_conflict": on_conflict, **fields}))

    def remember_many(
        self, items: Iterable[str | NewMemory | Mapping[str, Any]], *, on_conflict: OnConflict | None = None
    ) -> BatchResult:
        """As `MemoryStore.remember_many`."""
        return self._send(batch(items, on_conflict))

    def check(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
    ) -> WriteResult:
        """As `MemoryStore.check`."""
        return self._ask("check", record(WriteResult), **statement(content, {"on_conflict": on_conflict, **fields}))

    def revise(self, memory_id: str, **changes: Any) -> Memory:
        """As `MemoryStore.revise`."""
        return self._ask("revise", record(Memory), **changes, memory_id=memory_id)

    def check_similar(self, content: str, title: str, subtype: str, limit: int = 5) -> dict[str, Any]:
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
        return self._send(similar({"content": content, "title": title, "subtype": subtype, "limit": limit}))

    # ----------------------------------------------------------------------------------------
    # Decisions and episodes

    def record_decision(self, content: str, *, outcome: str = "", **fields: Unpack[MemoryFields]) -> WriteResult:
        """As `MemoryStore.record_decision`. Sent again under one key, as `remember`."""
        return self._ask("record_decision", record(WriteResult), content=content, outcome=outcome, **fields)

    def record_turn(
        self, response: str, *, frame: str, decided: bool = False, episode: str = "", **fields: Any
    ) -> WriteResult:
        """As `MemoryStore.record_turn`."""
        own = {"frame": frame, "decided": decided, "episode": episode}
        return self._ask("record_turn", record(WriteResult), response=response, **fields, **own)

    def start_episode(self, content: str, **fields: Unpack[MemoryFields]) -> WriteResult:
        """As `MemoryStore.start_episode`. Sent again under one key, as `remember`."""
        return self._ask("start_episode", record(WriteResult), content=content, **fields)

    def end_episode(
        self, episode_id: str, *, summary: str = "", outcome: str = "", at: datetime | str | None = None
    ) -> Memory:
        """As `MemoryStore.end_episode`."""
        fields = said(summary=summary, outcome=outcome, at=at)
        return self._ask("end_episode", record(Memory), episode_id=episode_id, **fields)

    # ----------------------------------------------------------------------------------------
    # Reading

    def recall(
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
        return self._ask(
            "recall",
            hits,
            query=query,
            limit=limit,
            where=where,
            mode=mode,
            include_superseded=include_superseded,
            explain=explain,
            touch=touch,
            **options,
        )

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
    ) -> Pack:
        """As `MemoryStore.pack`; tokens are counted by the server's estimate."""
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
        )

    def get(self, memory_id: str, *, touch: bool = True) -> Memory:
        """As `MemoryStore.get`."""
        return self._ask("get", record(Memory), memory_id=memory_id, touch=touch)

    def list(self, where: Filter | None = None, *, limit: int | None = None) -> tuple[Memory, ...]:
        """As `MemoryStore.list`."""
        return self._send(listing(where, limit))

    def history(self, memory_id: str) -> tuple[Version, ...]:
        """As `MemoryStore.history`."""
        return self._send(pages("history", Version, lambda one: one.seq, memory_id=memory_id))

    def journal(self, *, newest: int | None = None, after: int = 0) -> tuple[JournalEntry, ...]:
        """As `MemoryStore.journal`."""
        return self._send(pages("journal", JournalEntry, lambda one: one.seq, newest=newest, after=after))

    def conflicts(
        self, memory_id: str | None = None, *, settled: bool = False, threshold: float = 0.0
    ) -> tuple[Conflict, ...]:
        """As `MemoryStore.conflicts`."""
        asked = {"memory_id": memory_id, "settled": settled, "threshold": threshold}
        return self._send(pages("conflicts", Conflict, lambda one: one.key, **asked))

    def neighbors(
        self, memory_id: str, *, rel: str | None = None, direction: Direction = "both", depth: int = 1
    ) -> Reached:
        """As `MemoryStore.neighbors`."""
        return self._send(reached(memory_id=memory_id, rel=rel, direction=direction, depth=depth))

    def subgraph(self, ids: Sequence[str], *, depth: int = 1) -> Graph:
        """As `MemoryStore.subgraph`."""
        return self._ask("subgraph", record(Graph), ids=list(ids), depth=depth)

    def stats(self) -> Stats:
        """As `MemoryStore.stats`."""
        return self._ask("stats", record(Stats))

    def verify(self) -> tuple[Problem, ...]:
        """As `MemoryStore.verify`."""
        return self._ask("verify", records(Problem))

    # ----------------------------------------------------------------------------------------
    # Acting

    def supersede(self, old_id: str, new_id: str) -> int:
        """As `MemoryStore.supersede`."""
        return self._ask("supersede", entry_of, old_id=old_id, new_id=new_id)

    def restore(self, memory_id: str) -> bool:
        """As `MemoryStore.restore`."""
        return self._ask("restore", truth, memory_id=memory_id)

    def forget(self, memory_id: str) -> int:
        """As `MemoryStore.forget`."""
        return self._ask("forget", entry_of, memory_id=memory_id)

    def erase(self, memory_id: str) -> int:
        """As `MemoryStore.erase`."""
        return self._ask("erase", entry_of, memory_id=memory_id)

    def undo(self, entry: int) -> int:
        """As `MemoryStore.undo`."""
        return self._ask("undo", entry_of, entry=entry)

    def link(self, src: str, dst: str, rel: str = "related", *, strict: bool = False) -> Link:
        """As `MemoryStore.link`."""
        return self._ask("link", record(Link), src=src, dst=dst, rel=rel, strict=strict)

    def unlink(self, src: str, dst: str, rel: str | None = None) -> int:
        """As `MemoryStore.unlink`."""
        return self._ask("unlink", number, src=src, dst=dst, rel=rel)

    def resolve(self, key: str, resolution: Resolution) -> Conflict:
        """As `MemoryStore.resolve`."""
        return self._ask("resolve", record(Conflict), key=key, resolution=resolution)

    # ----------------------------------------------------------------------------------------
    # Writing later

    @property
    def queue(self) -> ClientQueue:
        """As `MemoryStore.queue`."""
        return ClientQueue(self)

    def deferred(self) -> AbstractContextManager[ClientQueue]:
        """As `MemoryStore.deferred`. If the client dies in the block, the server writes what waits after a while."""
        return self._deferred()

    # ----------------------------------------------------------------------------------------
    # Plans and runs

    def plan(self, config: Consolidation | None = None, scope: Scope | None = None) -> Plan:
        """As `MemoryStore.plan`, by the default rules: rules of your own stay on their machine."""
        return self._ask("plan", plan_of, **said(config=None if config is None else figures(config), scope=scope))

    def execute(
        self, plan: Plan, *, only: Collection[str] = (), skip: Collection[str] = (), dry_run: bool = False
    ) -> dict[str, Any]:
        """As `MemoryStore.execute`; gives the report as the server's JSON, with what was not applied."""
        planned = json.loads(plan_text(plan))
        return self._ask("execute", dict, plan=planned, only=[*only], skip=[*skip], dry_run=dry_run)

    def runs(self) -> tuple[RunLine, ...]:
        """As `MemoryStore.runs`."""
        return self._send(pages("runs", RunLine, lambda one: one.run_id))

    def undo_run(self, run_id: str, *, force_except: bool = False) -> UndoReport:
        """As `MemoryStore.undo_run`."""
        return self._ask("undo_run", record(UndoReport), run_id=run_id, force_except=force_except)

    # ----------------------------------------------------------------------------------------
    # The client itself

    def close(self) -> None:
        """Close the connections; safe to call twice."""
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
            except (Exception, GeneratorExit):  # what was answered "Queued" is written all the same
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
