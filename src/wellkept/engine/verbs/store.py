"""`MemoryStore`: every public verb. Each delegates to the module that implements it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack, get_args

from wellkept.engine.base.inputs import asked_of, check_namespace, label, statement
from wellkept.engine.base.retry import steady
from wellkept.engine.lookup import read
from wellkept.engine.queue import deferred
from wellkept.engine.queue.deferred import Queue
from wellkept.engine.recall.question import Asked
from wellkept.engine.verbs.asking import AskingVerbs
from wellkept.engine.verbs.operator import OperatorVerbs
from wellkept.engine.verbs.recording import RecordingVerbs
from wellkept.engine.verbs.statuses import StatusVerbs
from wellkept.errors import InvalidField, use_one_of
from wellkept.types import (
    Filter,
    Resolution,
)
from wellkept.types.packs import PackSpec
from wellkept.types.showing import escaped, shown

if TYPE_CHECKING:
    from wellkept.core.judging.evidence import ContradictionFn
    from wellkept.engine.base.context import Context
    from wellkept.types import (
        BatchResult,
        Conflict,
        Direction,
        Graph,
        Hits,
        JournalEntry,
        Link,
        Memory,
        MemoryFields,
        NewMemory,
        OnConflict,
        PackOptions,
        Reached,
        RecallMode,
        RecallOptions,
        Version,
        WriteResult,
    )
    from wellkept.types.packs import Pack, PackFormat, TokenCounter


@steady
class MemoryStore(StatusVerbs, AskingVerbs, RecordingVerbs, OperatorVerbs):
    """The memory of one agent: one namespace of one store. Opened by `wellkept.open`.

    A store may be used from several threads; other processes may use the same file at the same time.

    Example:
        >>> import wellkept
        >>> store = wellkept.open("memory:", embedder="hashing")
        >>> store.remember("The test database listens on port 5433.").outcome
        'created'
        >>> store.remember("the test database listens on port 5433").outcome
        'duplicate'
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def remember(
        self,
        content: str | NewMemory,
        *,
        on_conflict: OnConflict | None = None,
        contradiction_fn: ContradictionFn | None = None,
        **fields: Unpack[MemoryFields],
    ) -> WriteResult:
        """Store a memory; duplicates, updates and conflicts with stored memories are detected.

        Args:
            content: The text, or a whole `NewMemory`.
            on_conflict: What a conflict does in this call; by default the policy of the kind decides.
                `ignore` stores without looking for duplicates or conflicts.
            contradiction_fn: Your own contradiction function for this call; such a write is never queued.
            **fields: The other fields of `NewMemory`: kind, subject, attribute, tags, …

        Returns:
            The outcome, with the reasons and one sentence for the agent.

        Raises:
            InvalidInput: A field is invalid; nothing was written.
            ConflictError: A conflict under `on_conflict="raise"`; nothing was written.
            StorageError: The store could not be written; the transaction was rolled back.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     old = store.remember("status PLANNED", kind="fact", subject="006")
            ...     new = store.remember("is shipped", kind="fact", subject="006")
            >>> new.outcome, new.links[0].rel
            ('superseded', 'supersedes')
        """
        from wellkept.engine.gate import write

        new = self._new(content, fields)
        ctx = asked_of(self._ctx, {new.kind}, on_conflict, contradiction_fn)
        return deferred.remember(ctx, new, on_conflict) if contradiction_fn is None else write.remember(ctx, new)

    def remember_many(
        self, items: Iterable[str | NewMemory | Mapping[str, Any]], *, on_conflict: OnConflict | None = None
    ) -> BatchResult:
        """Store many memories in order; each is compared with those before it. Invalid items are reported.

        Repeating the same batch changes nothing: its items get idempotency keys made from the whole batch.

        Args:
            items: Texts, `NewMemory` values, or mappings with `content` and other fields.
            on_conflict: As in `remember`, for all items.

        Returns:
            Results in the order of the items, errors with their index, and counts by outcome.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     batch = store.remember_many(["Use ruff.", "use ruff", {"content": ""}])
            >>> dict(batch.counts), batch.errors[0].error
            ({'created': 1, 'duplicate': 1}, 'EmptyContent')
        """
        from wellkept.engine.verbs import batch

        return batch.remember_many(self._ctx, items, self._item, on_conflict=on_conflict)

    def check(
        self,
        content: str | NewMemory,
        *,
        on_conflict: OnConflict | None = None,
        contradiction_fn: ContradictionFn | None = None,
        **fields: Unpack[MemoryFields],
    ) -> WriteResult:
        """What `remember` would do with this text now; nothing is written.

        Args and raises as `remember`, but a conflict under `raise` is returned as `rejected`.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     result = store.check("Use ruff for linting.")
            >>> result.outcome, result.entry
            ('created', 0)
        """
        from wellkept.engine.gate import write

        new = self._new(content, fields)
        return write.check(asked_of(self._ctx, {new.kind}, on_conflict, contradiction_fn), new)

    def revise(self, memory_id: str, **changes: Any) -> Memory:
        """Edit a stored memory. Vector and hashes are updated; the history keeps the old text.

        Args:
            memory_id: Its id, or the beginning of it.
            **changes: New values of its fields, such as `content`, `tags`, `importance`, `ended_at`.

        Raises:
            NotFound: No such memory.
            InvalidInput: A field or value is invalid.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     memory = store.remember("Deploys happen on Monday.").memory
            ...     revised = store.revise(memory.id, tags=["deploy"])
            >>> revised.tags, revised.version
            (('deploy',), 2)
        """
        from wellkept.engine.gate import acts

        return acts.revise(self._ctx, self._id(memory_id), changes)

    def undo(self, entry: int) -> int:
        """Undo a journal entry exactly. Returns the entry of the undo, which can also be undone.

        Raises:
            UndoBlocked: Later entries changed the same memories; `entries` lists them, newest first.
            IllegalTransition: It was already undone, or changed no memory.
            NotFound: No such entry.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     old = store.remember("status PLANNED", kind="fact", subject="006")
            ...     new = store.remember("is shipped", kind="fact", subject="006")
            ...     entry = store.undo(new.entry)
            ...     [memory.content for memory in store.list()]
            ['status PLANNED']
        """
        from wellkept.engine.history import journal

        return journal.undo(self._ctx, entry)

    def link(self, src: str, dst: str, rel: str = "related", *, strict: bool = False) -> Link:
        """Link two memories; repeating a link changes nothing.

        Args:
            src: Id of the source memory.
            dst: Id of the target memory. A missing target is kept and reported as dangling.
            rel: The relation; `relates_to` is an alias of `related`.
            strict: Refuse ids that do not exist.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     rule = store.remember("Test before you merge.").memory
            ...     case = store.remember("The March outage came from an untested merge.").memory
            ...     store.link(case.id, rule.id, "example_of").rel
            'example_of'
        """
        from wellkept.engine.gate import acts

        return acts.link(self._ctx, self._id(src), self._id(dst), rel=rel, strict=strict)

    def unlink(self, src: str, dst: str, rel: str | None = None) -> int:
        """Remove the links from `src` to `dst`, all or of one relation. Returns the number removed.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     a = store.remember("Tea is upstairs.").memory
            ...     b = store.remember("Cups are downstairs.").memory
            ...     _ = store.link(a.id, b.id)
            ...     store.unlink(a.id, b.id)
            1
        """
        from wellkept.engine.gate import acts

        return acts.unlink(self._ctx, self._id(src), self._id(dst), rel=rel)

    def neighbors(
        self, memory_id: str, *, rel: str | None = None, direction: Direction = "both", depth: int = 1
    ) -> Reached:
        """Memories reached over links, each once; `dangling` lists linked ids without a memory.

        Args:
            memory_id: The start.
            rel: Follow only this relation.
            direction: Follow outgoing links, incoming links or both.
            depth: 1 to 20 steps.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     a = store.remember("Tea is upstairs.").memory
            ...     b = store.remember("Cups are downstairs.").memory
            ...     _ = store.link(a.id, b.id)
            ...     [(item.memory.content, item.direction) for item in store.neighbors(a.id)]
            [('Cups are downstairs.', 'out')]
        """
        return read.neighbors(self._ctx, self._id(memory_id), rel=rel, direction=direction, depth=depth)

    def subgraph(self, ids: Sequence[str], *, depth: int = 1) -> Graph:
        """The memories within `depth` links of these, the links between them, and dangling ids.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     a = store.remember("Tea is upstairs.").memory
            ...     b = store.remember("Cups are downstairs.").memory
            ...     _ = store.link(a.id, b.id)
            ...     graph = store.subgraph([a.id])
            ...     len(graph.nodes), graph.edges[0][2], graph.dangling
            (2, 'related', ())
        """
        return read.subgraph(self._ctx, ids, depth=depth)

    def conflicts(
        self, memory_id: str | None = None, *, settled: bool = False, threshold: float = 0.0
    ) -> tuple[Conflict, ...]:
        """Open conflicts for review, oldest first.

        Args:
            memory_id: Only conflicts of this memory.
            settled: Also resolved and expired conflicts.
            threshold: Only conflicts of at least this similarity, 0 to 1.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("The limit is 0.85.", kind="lesson")
            ...     _ = store.remember("The limit is 0.95.", kind="lesson")
            ...     [(item.kind, item.reason) for item in store.conflicts()]
            [('contradiction', 'value_diff')]
        """
        wanted = None if memory_id is None else self._id(memory_id)
        return read.conflicts(self._ctx, memory_id=wanted, settled=settled, threshold=threshold)

    def resolve(self, key: str, resolution: Resolution) -> Conflict:
        """Resolve a conflict.

        Args:
            key: The key of the conflict.
            resolution: `keep_new` or `keep_old` (the other is superseded), `keep_both` (linked by
                `contradicts`), `merge` (the newer text becomes an update of the older memory), `dismissed`.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("The limit is 0.85.", kind="lesson")
            ...     found = store.remember("The limit is 0.95.", kind="lesson").conflicts[0]
            ...     _ = store.resolve(found.key, "keep_new")
            ...     [memory.content for memory in store.list()]
            ['The limit is 0.95.']
        """
        from wellkept.engine.gate import acts

        if resolution not in get_args(Resolution):
            todo = use_one_of(resolution, get_args(Resolution))
            raise InvalidField(f"{resolution!r} is not allowed", where="resolution", todo=todo)
        return acts.resolve(self._ctx, key, resolution)

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
        """Current memories relevant to a query, best first, each with its score parts and open conflicts.

        Args:
            query: Any text.
            limit: 1 to 1000 hits.
            where: Only memories that match this filter (kinds, tags, subject, importance, time, source, …).
            mode: `default` combines embeddings and words; `semantic` sorts by cosine similarity only;
                `hybrid` also weighs age and importance.
            include_superseded: Also return superseded memories.
            explain: Return every part of each score, and the memories left out with reasons.
            touch: Count the hits as used.
            **options: `weights`, `overfetch`, `expand`, `as_of`, `valid_at`, `grouped`,
                `rerank`, `min_score`: see `RecallOptions`.

        Returns:
            A tuple of hits, with the attributes `left_out` and `dangling`. Memories added by `expand` come after
            the `limit` hits.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("The test database listens on port 5433.")
            ...     store.recall("port of the test database")[0].memory.content
            'The test database listens on port 5433.'
        """
        from wellkept.engine.recall import recall

        asked = Asked(
            limit=limit,
            where=where,
            mode=mode,
            include_superseded=include_superseded,
            explain=explain,
            touch=touch,
            options=options,
        )
        return recall.recall(self._ctx, query, asked)

    def pack(
        self,
        query: str,
        *,
        budget_tokens: int = 800,
        format: PackFormat = "markdown",
        exclude: Sequence[str] = (),
        session: str = "",
        where: Filter | None = None,
        count_tokens: TokenCounter | None = None,
        touch: bool = True,
        **options: Unpack[PackOptions],
    ) -> Pack:
        """Current memories relevant to a query as one text block for a prompt, without repeats, within a budget.

        Args:
            query: Any text.
            budget_tokens: Maximum number of tokens of the block.
            format: `markdown`, `json`, or `decisions`: only decisions, one line each, with their outcome.
            exclude: What the prompt already contains: ids, such as those of an earlier pack, or whole texts.
            session: The session that the pack is for. This process remembers the texts handed out; when the same
                text is written through `in_session` of that name, it counts as an access, not as a new memory.
            where: Only memories that match this filter.
            count_tokens: Token counter of your model; by default an estimate.
            touch: Count the memories in the block as used.
            **options: `min_score`: see `PackOptions`.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("The test database listens on port 5433.")
            ...     pack = store.pack("port of the test database", budget_tokens=100)
            >>> "5433" in pack.text, pack.tokens <= 100, pack.left_out
            (True, True, ())
        """
        from wellkept.engine.recall import packing

        if isinstance(exclude, str):
            raise InvalidField("must be a list of texts, not one", where="exclude", todo='Write ["a", "b"]')
        spec = PackSpec(
            budget_tokens=budget_tokens,
            format=format,
            exclude=tuple(exclude),
            session=label("session", session) or self._ctx.session,
            count_tokens=count_tokens,
        )
        where = packing.wanted(self._ctx, where, spec)
        least = packing.min_score_of(options)
        limit = packing.limit_for(spec)
        hits = self.recall(query, limit=limit, where=where, touch=False, grouped=False, min_score=least)
        return packing.pack(self._ctx, hits, spec, touch=touch)

    def get(self, memory_id: str, *, touch: bool = True) -> Memory:
        """One memory of any status, by its id or the beginning of it.

        Raises:
            NotFound: There is none.
            AmbiguousId: Several ids begin like this.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     memory = store.remember("Tea is upstairs.").memory
            ...     store.get(memory.id).content
            'Tea is upstairs.'
        """
        return read.get(self._ctx, self._id(memory_id), touch=touch)

    def list(self, where: Filter | None = None, *, limit: int | None = None) -> tuple[Memory, ...]:
        """Memories that match a filter, oldest first; by default the active ones.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember_many(["Tea is upstairs.", "Cups are downstairs."])
            ...     [memory.content for memory in store.list(wellkept.Filter(kinds=("semantic",)), limit=1)]
            ['Tea is upstairs.']
        """
        return read.listing(self._ctx, where if where is not None else Filter(), limit=limit)

    def history(self, memory_id: str) -> tuple[Version, ...]:
        """Every version of a memory, oldest first, with the decision that made it.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     memory = store.remember("Tea is upstairs.").memory
            ...     _ = store.revise(memory.id, content="Tea is downstairs.")
            ...     [(step.outcome, step.memory.content) for step in store.history(memory.id)]
            [('created', 'Tea is upstairs.'), ('revised', 'Tea is downstairs.')]
        """
        from wellkept.engine.history import journal

        return journal.history(self._ctx, self._id(memory_id))

    def journal(self, *, newest: int | None = None, after: int = 0) -> tuple[JournalEntry, ...]:
        """The journal, oldest first: every decision with its reasons.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     [(entry.seq, entry.verb, entry.outcome) for entry in store.journal()]
            [(1, 'remember', 'created')]
        """
        from wellkept.engine.history import journal

        return journal.log(self._ctx, newest=newest, after=after)

    @property
    def namespace(self) -> str:
        """The namespace of this store."""
        return self._ctx.namespace

    def in_namespace(self, name: str) -> MemoryStore:
        """The same store with another namespace.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     len(store.in_namespace("somebody/else").list())
            0
        """
        return MemoryStore(replace(self._ctx, namespace=check_namespace(name)))

    def in_session(self, name: str) -> MemoryStore:
        """The same store with a session: writing back a text that a pack handed out adds no memory.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     chat = store.in_session("chat 7")
            ...     _ = chat.remember("Ship the export behind a flag.", kind="decision")
            ...     _ = chat.pack("how is the export shipped")
            ...     chat.remember("ship the export behind a flag", kind="decision").outcome
            'duplicate'
        """
        return MemoryStore(replace(self._ctx, session=label("session", name)))

    def deferred(self) -> AbstractContextManager[Queue]:
        """Queue the writes of this thread or task until the block ends, then write them in order.

        Queued writes return `queued` and survive a crash. Kinds with `delivery = "sync"` are written at once.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     with store.deferred():
            ...         answer = store.remember("Funding flips first.", kind="thesis", title="Funding")
            ...         while_thinking = len(store.list())
            ...     answer.message, while_thinking, len(store.list())
            ('Queued: "Funding"', 0, 1)
        """
        return deferred.deferred(self._ctx)

    @property
    def queue(self) -> Queue:
        """The queued writes of this store's session, or of its namespace when it has no session."""
        return Queue(self._ctx)

    def close(self) -> None:
        """Close the store; safe to call twice.

        Example:
            >>> import wellkept
            >>> store = wellkept.open("memory:", embedder="hashing")
            >>> store.close()
        """
        self._ctx.storage.close()

    def __repr__(self) -> str:
        ctx = self._ctx
        said = shown("", {"namespace": ctx.namespace, "session": ctx.session, "embedder": ctx.embedder.id})
        return f"MemoryStore({ctx.storage!r}, {said[1:]}"

    def _repr_html_(self) -> str:
        return f"<code>{escaped(repr(self))}</code>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _new(self, content: str | NewMemory, fields: Mapping[str, Any]) -> NewMemory:
        return statement(content, fields, self._ctx.policy)

    def _item(self, item: str | NewMemory | Mapping[str, Any]) -> NewMemory:
        if isinstance(item, Mapping):
            return self._new(item.get("content", ""), {key: value for key, value in item.items() if key != "content"})
        return self._new(item, {})

    def _id(self, given: str) -> str:
        return read.identify(self._ctx, given)
