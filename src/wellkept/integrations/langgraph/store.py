"""`WellkeptStore`: the long-term memory of LangGraph agents."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from wellkept.errors import WellkeptError
from wellkept.integrations.common.namespaces import Labels, labels_of, name_of
from wellkept.integrations.keyed import HELD, KeyedRows, drop, is_current, now, rewrite, rows_of, write
from wellkept.integrations.langgraph.items import (
    FIELD,
    is_apart,
    item_of,
    key_of,
    record_of,
    search_item,
    written,
)
from wellkept.integrations.langgraph.matching import checked, fits, is_below, listed
from wellkept.types import Filter, Kind, Memory, RecallMode

log = logging.getLogger("wellkept")

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

MOST_HITS = 1000
"""Hits of one namespace that a search looks at, the most that `recall` gives."""
_SWEEP_MINUTES = 5.0


class WellkeptStore(BaseStore):
    """A store of LangGraph in which each item is a memory, compared with those before it in its namespace.

    `get` and listing give exactly what was put. A search with a query gives what holds now: what is said
    twice is shown once, and a replaced item is left out.

    Args:
        memories: An open store. A namespace of LangGraph is a namespace below that of `memories`.
        kind: The kind of the items, which selects their policy.
        fields: Paths of the texts of an item; by default its field `text`, `content` or `memory`, or all its texts.
        mode: How a search with a query ranks, as in `recall`.
        ttl: Default expiry, as for other stores of LangGraph.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     store = WellkeptStore(memories, kind="fact")
        ...     ada = ("memories", "ada")
        ...     store.put(ada, "1", {"text": "Ada's deploys run on port 8080."})
        ...     store.put(ada, "2", {"text": "Ada's deploys run on port 9090."})
        ...     [item.key for item in store.search(ada, query="port")], store.get(ada, "1").value["text"]
        (['2'], "Ada's deploys run on port 8080.")
    """

    supports_ttl = True

    def __init__(
        self,
        memories: MemoryStore,
        *,
        kind: Kind = "semantic",
        fields: Sequence[str] = (),
        mode: RecallMode = "default",
        ttl: TTLConfig | None = None,
    ) -> None:
        self.root = memories
        self.ttl_config = ttl
        self._kind, self._fields, self._mode = kind, tuple(fields), mode
        self._rows: dict[Labels, KeyedRows] = {}
        self._writing = threading.RLock()
        self._sweeper: _Sweeper | None = None

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> Iterator[Self]:
        """Open a store as other stores of LangGraph are opened: a path, `:memory:`, or `postgresql://…`.

        Args:
            conn_string: As for `wellkept.open`.
            index: `embed` and `dims`, another embedder than the built-in one, and `fields`.
            ttl: Default expiry.

        Example:
            >>> with WellkeptStore.from_conn_string(":memory:") as store:
            ...     store.put(("docs",), "a", {"text": "Tea is upstairs."})
            ...     store.get(("docs",), "a").value
            {'text': 'Tea is upstairs.'}
        """
        import wellkept
        from wellkept.integrations.langgraph.embeddings import LangChainEmbedder

        model = LangChainEmbedder(index["embed"], index["dims"]) if index and "embed" in index else None
        url = "memory:" if conn_string == ":memory:" else conn_string
        with wellkept.open(url, embedder=model) as memories:
            store = cls(memories, fields=(index or {}).get("fields") or (), ttl=ttl)
            try:
                yield store
            finally:
                store.stop_ttl_sweeper()

    def setup(self) -> None:
        """Nothing to do: `wellkept.open` made the store. Here because other stores have it."""

    def memories(self, namespace: Sequence[str]) -> MemoryStore:
        """The memories of a namespace, for `undo`, `history`, `conflicts` and the other verbs.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as memories:
            ...     store = WellkeptStore(memories)
            ...     store.put(("docs",), "a", {"text": "Tea is upstairs."})
            ...     store.put(("docs",), "a", {"text": "Tea is downstairs."})
            ...     docs = store.memories(("docs",))
            ...     _ = docs.undo(docs.journal(newest=1)[0].seq)
            ...     store.get(("docs",), "a").value["text"]
            'Tea is upstairs.'
        """
        return self._of(checked(namespace)).memories

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations together: reads see the store before the writes; of two puts of one key the last counts.

        Raises:
            InvalidNamespaceError: A label is not allowed; nothing was run.
        """
        asked = list(ops)
        for op in asked:
            for labels in _namespaces(op):
                checked(labels)
        results: list[Result] = [None if isinstance(op, PutOp) else self._read(op) for op in asked]
        puts = {(tuple(op.namespace), op.key): op for op in asked if isinstance(op, PutOp)}
        with self._writing:
            for op in puts.values():
                self._put(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, in a thread, so that the event loop is not held up."""
        return await asyncio.to_thread(self.batch, list(ops))

    # ------------------------------------------------------------------ reading

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._get(op)
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return listed([labels for labels in self._names() if _is_live(self._of(labels).memories)], op)
        raise TypeError(f"{type(op).__name__} is no operation of a store")

    def _get(self, op: GetOp) -> Item | None:
        labels = tuple(op.namespace)
        rows = self._of(labels)
        row = rows.newest(op.key)
        if row is None:
            return None
        if op.refresh_ttl:
            self._prolong(rows.memories, row)
        return item_of(row, labels)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = tuple(op.namespace_prefix)
        fits({}, op.filter)  # a filter that is not allowed is refused in an empty store too
        found: list[tuple[float | None, Memory, Labels]] = []
        for labels in self._names():
            if is_below(labels, prefix):
                found += [(score, row, labels) for score, row in self._found(self._of(labels), op)]
        if op.query:
            found.sort(key=lambda one: -(one[0] or 0.0))
        else:
            found.sort(key=lambda one: (one[1].updated_at, one[1].id), reverse=True)
        page = found[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            for _, row, labels in page:
                self._prolong(self._of(labels).memories, row)
        return [search_item(row, labels, score) for score, row, labels in page]

    def _found(self, rows: KeyedRows, op: SearchOp) -> Iterator[tuple[float | None, Memory]]:
        """The matching rows of one namespace; with a query best first, with their scores."""
        memories = rows.memories
        if not op.query:
            yield from ((None, row) for row in rows_of(memories) if fits(record_of(row)["value"], op.filter))
            return
        where = None
        if op.filter:
            ids = tuple(row.id for row in rows_of(memories) if fits(record_of(row)["value"], op.filter))
            where = Filter(ids=ids)
            if not ids:
                return
        wanted, apart = op.limit + op.offset, rows.apart
        asked = min(MOST_HITS, max(1, wanted + len(apart)))
        hits = memories.recall(op.query, limit=asked, where=where, mode=self._mode, min_score=0)
        yield from islice(((hit.score, hit.memory) for hit in hits if hit.memory.id not in apart), wanted)

    def _names(self) -> list[Labels]:
        named = (labels_of(self.root.namespace, name) for name in self.root.namespaces())
        return [labels for labels in named if labels]

    def _of(self, labels: Labels) -> KeyedRows:
        rows = self._rows.get(labels)
        if rows is None:
            memories = self.root.in_namespace(name_of(self.root.namespace, labels))
            rows = self._rows.setdefault(labels, KeyedRows(memories, key_of, is_apart))
        return rows

    # ------------------------------------------------------------------ writing

    def _put(self, op: PutOp) -> None:
        rows = self._of(tuple(op.namespace))
        memories, held = rows.memories, rows.of(op.key)
        if op.value is None:
            for row in held:
                drop(memories, row)
            return
        new = written(op, self._fields)
        expires = None if op.ttl is None else now(memories) + timedelta(minutes=op.ttl)
        for row in held[:-1]:
            drop(memories, row)
        last = held[-1] if held else None
        if last is None:
            metadata = {FIELD: dict(new.record)}
            write(memories, new.content, compared=new.indexed, kind=self._kind, metadata=metadata, expires_at=expires)
        elif (last.content, record_of(last), last.expires_at) != (new.content, new.record, expires):
            metadata = {**last.metadata, FIELD: dict(new.record)}
            rewrite(memories, last, new.content, metadata=metadata, expires_at=expires)

    # ------------------------------------------------------------------ expiry

    def _prolong(self, memories: MemoryStore, row: Memory) -> None:
        minutes = record_of(row).get("ttl")
        if isinstance(minutes, int | float):
            memories.revise(row.id, expires_at=now(memories) + timedelta(minutes=minutes))

    def sweep_ttl(self) -> int:
        """Forget the items that have expired; returns their number. An expired item is hidden before that."""
        swept = 0
        for labels in self._names():
            memories = self._of(labels).memories
            moment = now(memories)
            for row in memories.list(Filter(statuses=HELD)):
                if not is_current(row, moment):
                    drop(memories, row)
                    swept += 1
        return swept

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in a thread, until `stop_ttl_sweeper`.

        Args:
            sweep_interval_minutes: Minutes between two sweeps; by default what `ttl` says, or 5.
        """
        given = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or given or _SWEEP_MINUTES
        if self._sweeper is None:
            self._sweeper = _Sweeper(self, minutes * 60)
            self._sweeper.start()

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the thread that sweeps; whether it has ended."""
        sweeper, self._sweeper = self._sweeper, None
        return sweeper is None or sweeper.end(timeout)


class _Sweeper(threading.Thread):
    """Forgets expired items at intervals."""

    def __init__(self, store: WellkeptStore, seconds: float) -> None:
        super().__init__(name="wellkept-ttl", daemon=True)
        self._sweep, self._seconds, self._ended = partial(store.sweep_ttl), seconds, threading.Event()

    def run(self) -> None:
        """Sweep until the end."""
        while not self._ended.wait(self._seconds):
            try:
                self._sweep()
            except WellkeptError as error:
                log.warning("Expired items could not be forgotten: %s", error)

    def end(self, timeout: float | None) -> bool:
        """End it; whether it has ended."""
        self._ended.set()
        self.join(timeout)
        return not self.is_alive()


def _namespaces(op: Any) -> Iterator[Sequence[str]]:
    """Every namespace that an operation names."""
    match op:
        case GetOp() | PutOp():
            yield op.namespace
        case SearchOp():
            yield op.namespace_prefix
        case ListNamespacesOp():
            yield from (condition.path for condition in op.match_conditions or ())


def _is_live(memories: MemoryStore) -> bool:
    """Whether a namespace has an item; usually its first one has not expired."""
    return bool(rows_of(memories, limit=1) or rows_of(memories))
