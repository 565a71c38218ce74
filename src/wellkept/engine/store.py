"""`MemoryStore`: every public verb, each a few lines over the module that does the work."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, Unpack, cast, get_args

from wellkept.core.text import check_text
from wellkept.engine import acts, journal, read, transfer, upkeep, write
from wellkept.engine.context import Context
from wellkept.engine.inputs import new_memory
from wellkept.errors import InvalidField, InvalidInput, StorePathError, WellkeptError
from wellkept.types import (
    BatchResult,
    Conflict,
    Direction,
    Filter,
    Graph,
    Hit,
    ImportReport,
    ItemError,
    JournalEntry,
    Link,
    Memory,
    MemoryFields,
    Neighbour,
    NewMemory,
    OnConflict,
    Problem,
    Resolution,
    Stats,
    Version,
    WriteResult,
)

MAX_NAMESPACE = 200


class MemoryStore:
    """The memory of one agent: one namespace of one store. Made by `wellkept.open`.

    A store may be used from several threads; other processes may use the same file at the same time.

    Example:
        >>> import wellkept
        >>> store = wellkept.open("memory:", embedder="hashing")
        >>> store.remember("The test database listens on port 5433.").outcome
        'created'
        >>> store.remember("the test database listens on port 5433").outcome
        'duplicate'
        >>> store.close()
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    # -- writing ----------------------------------------------------------------------------

    def remember(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
    ) -> WriteResult:
        """Decide whether the text is new, known, an update or in conflict, and store it accordingly.

        Args:
            content: The text, or a whole `NewMemory`.
            on_conflict: What a conflict does for this call: ignore, warn, supersede_sure,
                supersede or raise; the policy of the kind otherwise. `ignore` stores without
                looking for repeats or conflicts (B-37).
            **fields: The other fields of `NewMemory`: kind, subject, attribute, tags, …

        Returns:
            What became of it, with the reason and one sentence for the agent.

        Raises:
            InvalidInput: A field cannot be used; nothing was written.
            ConflictError: A conflict under `raise`; nothing was written (S2-28).
            StorageError: The store could not be written; nothing was half written.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     old = store.remember("status PLANNED", kind="fact", subject="006")
            ...     new = store.remember("is shipped", kind="fact", subject="006")
            >>> new.outcome, new.links[0].rel
            ('superseded', 'supersedes')
        """
        new = self._new(content, fields)
        return write.remember(self._with(new.kind, on_conflict), new)

    def remember_many(
        self, items: Iterable[str | NewMemory | Mapping[str, Any]], *, on_conflict: OnConflict | None = None
    ) -> BatchResult:
        """Write many texts in order; each sees those before it, a bad one does not stop the rest (S4-14, S4-15).

        The same batch again changes nothing (I5): its items carry keys made from the whole batch.

        Args:
            items: Texts, `NewMemory` values, or mappings with `content` and other fields.
            on_conflict: As in `remember`, for all items.

        Returns:
            Results in the order of the items, errors with their places, counts by outcome.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     batch = store.remember_many(["Use ruff.", "use ruff", {"content": ""}])
            >>> dict(batch.counts), batch.errors[0].error
            ({'created': 1, 'duplicate': 1}, 'EmptyContent')
        """
        taken: list[NewMemory] = []
        places: list[int] = []
        results: dict[int, WriteResult] = {}
        errors: list[ItemError] = []
        given = list(items)
        for place, item in enumerate(given):
            try:
                taken.append(self._item(item))
                places.append(place)
            except WellkeptError as error:
                errors.append(_item_error(place, item, error))
        keyed = _keyed(taken)
        ctx = self._with_all({new.kind for new in taken}, on_conflict)
        for place, result in zip(places, write.remember_all(ctx, keyed, write.Cause("remember_many")), strict=True):
            if isinstance(result, WriteResult):
                results[place] = result
            else:
                errors.append(_item_error(place, given[place], result))
        counts: Counter[str] = Counter(result.outcome for result in results.values())
        ordered = tuple(results.get(place) for place in range(len(given)))
        return BatchResult(ordered, tuple(sorted(errors, key=lambda error: error.index)), dict(counts))

    def check(
        self, content: str | NewMemory, *, on_conflict: OnConflict | None = None, **fields: Unpack[MemoryFields]
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
        new = self._new(content, fields)
        return write.check(self._with(new.kind, on_conflict), new)

    def revise(self, memory_id: str, **changes: Any) -> Memory:
        """Edit a stored memory as an act of its own; its vector and hashes follow, its history keeps the old text.

        Args:
            memory_id: Its id, or the beginning of it.
            **changes: New values of its fields, such as `content`, `tags`, `importance`, `ended_at`.

        Raises:
            NotFound: No such memory.
            InvalidInput: A field or value that cannot be used.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     memory = store.remember("Deploys happen on Monday.").memory
            ...     revised = store.revise(memory.id, tags=["deploy"])
            >>> revised.tags, revised.version
            (('deploy',), 2)
        """
        return acts.revise(self._ctx, self._id(memory_id), changes)

    def supersede(self, old_id: str, new_id: str) -> int:
        """Hide one memory behind another that replaces it; restorable (S2-27).

        Returns:
            The journal entry.

        Raises:
            CycleError, SelfReference, IllegalTransition, NotFound: It cannot be; nothing changed.
        """
        return acts.supersede(self._ctx, self._id(old_id), self._id(new_id))

    def restore(self, memory_id: str) -> bool:
        """Make a superseded, forgotten or faded memory current again, or store a text the gate had dropped.

        Returns:
            Whether anything had to change (S2-27).
        """
        return bool(acts.restore(self._ctx, self._id(memory_id)))

    def forget(self, memory_id: str) -> int:
        """Archive a memory: hidden from recall, kept, restorable. Returns the journal entry."""
        return acts.forget(self._ctx, self._id(memory_id))

    def erase(self, memory_id: str) -> int:
        """Remove a memory's content for good, from everything: vectors, full text, journal, conflicts, exports.

        Returns:
            The journal entry; 0 when it was erased before.
        """
        return acts.erase(self._ctx, self._id(memory_id))

    def undo(self, entry: int) -> int:
        """Take a journal entry back, to the byte. Returns the entry of the undo, which can be undone too.

        Raises:
            UndoBlocked: Later entries changed the same memories; `entries` names them, newest first.
            IllegalTransition: It was taken back before, or changed no memory.
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
        return journal.undo(self._ctx, entry)

    # -- links and conflicts ----------------------------------------------------------------

    def link(self, src: str, dst: str, rel: str = "related", *, strict: bool = False) -> Link:
        """Link two memories; the same link twice is one (S2-44).

        Args:
            src: Id the link starts from.
            dst: Id it leads to. A missing one is kept and reported as dangling (S2-42).
            rel: The relation; `relates_to` is an alias of `related`.
            strict: Refuse ids that do not exist.
        """
        return acts.link(self._ctx, self._id(src), self._id(dst), rel=rel, strict=strict)

    def unlink(self, src: str, dst: str, rel: str | None = None) -> int:
        """Remove the links from `src` to `dst`, all or of one relation. Returns how many there were."""
        return acts.unlink(self._ctx, self._id(src), self._id(dst), rel=rel)

    def neighbors(
        self, memory_id: str, *, rel: str | None = None, direction: Direction = "both", depth: int = 1
    ) -> tuple[Neighbour, ...]:
        """Memories reached over links, each once; links to nowhere are told by `subgraph` (S2-41, S2-42).

        Args:
            memory_id: Where to start.
            rel: Follow only this relation.
            direction: Follow links out, in or both.
            depth: 1 to 20 steps.
        """
        found, _ = read.neighbors(self._ctx, self._id(memory_id), rel=rel, direction=direction, depth=depth)
        return found

    def subgraph(self, ids: Sequence[str], *, depth: int = 1) -> Graph:
        """The memories within `depth` links of these, the links among them, and ids that lead nowhere."""
        return read.subgraph(self._ctx, [self._id(item) for item in ids], depth=depth)

    def conflicts(self, memory_id: str | None = None, *, settled: bool = False) -> tuple[Conflict, ...]:
        """Open conflicts to look at, oldest first; with `settled` also those that are decided or expired."""
        wanted = None if memory_id is None else self._id(memory_id)
        return read.conflicts(self._ctx, memory_id=wanted, settled=settled)

    def resolve(self, key: str, resolution: Resolution) -> Conflict:
        """Settle a conflict.

        Args:
            key: Its key.
            resolution: `keep_new` or `keep_old` (the other is superseded), `keep_both` (linked
                `contradicts`), `merge` (the older takes the newer text as an update), `dismissed`.
        """
        if resolution not in get_args(Resolution):
            allowed = ", ".join(get_args(Resolution))
            raise InvalidField(f"{resolution!r} is not allowed", where="resolution", todo=f"Use one of: {allowed}")
        return acts.resolve(self._ctx, key, resolution)

    # -- reading ----------------------------------------------------------------------------

    def recall(
        self, query: str, *, limit: int = 5, where: Filter | None = None, include_superseded: bool = False,
        touch: bool = True,
    ) -> tuple[Hit, ...]:  # fmt: skip
        """What holds now about the query, best first, each with its score parts and open conflicts.

        Args:
            query: Any text.
            limit: 1 to 1000 hits.
            where: Only memories that fit this filter (kinds, tags, subject, …).
            include_superseded: Show what was replaced too.
            touch: Count the hits as used.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("The test database listens on port 5433.")
            ...     store.recall("port of the test database")[0].memory.content
            'The test database listens on port 5433.'
        """
        fits = where if where is not None else Filter()
        return read.recall(
            self._ctx, query, limit=limit, where=fits, include_superseded=include_superseded, touch=touch
        )

    def get(self, memory_id: str, *, touch: bool = True) -> Memory:
        """One memory of any status, by its id or the beginning of it.

        Raises:
            NotFound: There is none.
            AmbiguousId: The beginning fits several.
        """
        return read.get(self._ctx, self._id(memory_id), touch=touch)

    def list(self, where: Filter | None = None, *, limit: int | None = None) -> tuple[Memory, ...]:
        """Memories that fit a filter, oldest first; the active ones by default."""
        return read.listing(self._ctx, where if where is not None else Filter(), limit=limit)

    def history(self, memory_id: str) -> tuple[Version, ...]:
        """Every state a memory has had, oldest first, with the decision that made it."""
        return journal.history(self._ctx, self._id(memory_id))

    def journal(self, *, newest: int | None = None, after: int = 0) -> tuple[JournalEntry, ...]:
        """The journal, oldest first: every decision with its reasons and how to take it back."""
        return journal.log(self._ctx, newest=newest, after=after)

    # -- operating --------------------------------------------------------------------------

    def import_(
        self, path: str | Path, spec: transfer.ImportSpec | None = None, *, namespace_from: str = "",
        rejects: str | Path | None = None, progress: Callable[[int], None] | None = None,
    ) -> ImportReport:  # fmt: skip
        """Take a file of JSON lines (or one of our exports) through the gate; the same file again changes nothing.

        Args:
            path: The file; `.gz` is unpacked on the way.
            spec: How lines become memories.
            namespace_from: Key of each line that names its namespace, below this store's.
            rejects: Where bad lines are written; beside the file by default, only if there are any.
            progress: Called with the bytes read so far.
        """
        source = Path(path)
        spec = spec if spec is not None else transfer.ImportSpec(source=source.name)
        run_id = f"import-{self._ctx.new_id()}"
        target = Path(rejects) if rejects is not None else source.with_name(source.name + ".rejects.jsonl")
        with ExitStack() as stack:
            lines = _counted(stack.enter_context(_opened(source)), source, progress)
            first = next(lines, b"")
            if transfer.is_export(first):
                return transfer.import_export(self._ctx, lines, run_id=run_id)
            sink = _Rejects(target, stack)
            importer = transfer.Importer(self._ctx, run_id, reject=sink)
            for row in transfer.rows(_chained(first, lines), spec, self._ctx.policy):
                try:
                    namespace = self._namespace_of(row, namespace_from)
                except InvalidInput as error:  # the line is bad, not the import (S4-14)
                    row, namespace = replace(row, new=None, error=row.error or error), self._ctx.namespace
                importer.take(row, namespace)
            return importer.report(str(target))

    def export(self, path: str | Path) -> int:
        """Write the namespace to a file of JSON lines; `import_` brings it back. Returns the number of lines."""
        with _writing(Path(path)) as out:
            count = 0
            for line in transfer.export_lines(self._ctx):
                out.write(line + "\n")
                count += 1
        return count

    def stats(self) -> Stats:
        """Counts of the namespace."""
        return upkeep.stats(self._ctx)

    def verify(self) -> tuple[Problem, ...]:
        """What is not as it should be, each with what mends it; empty when all is well."""
        return upkeep.verify(self._ctx)

    def reembed(self, progress: upkeep.Progress | None = None) -> dict[str, int]:
        """Make missing or foreign vectors anew and check what was stored unchecked. Returns counts."""
        return upkeep.reembed(self._ctx, progress)

    def namespaces(self) -> tuple[str, ...]:
        """All namespaces of the store."""
        return self._ctx.storage.header().namespaces

    @property
    def namespace(self) -> str:
        """The namespace this store is bound to."""
        return self._ctx.namespace

    def in_namespace(self, name: str) -> MemoryStore:
        """The same store, bound to another namespace."""
        return MemoryStore(replace(self._ctx, namespace=check_namespace(name)))

    def close(self) -> None:
        """Release the store; safe to call twice."""
        self._ctx.storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- parts ------------------------------------------------------------------------------

    def _new(self, content: str | NewMemory, fields: Mapping[str, Any]) -> NewMemory:
        if isinstance(content, NewMemory):
            given = {name: getattr(content, name) for name in NewMemory.__dataclass_fields__ if name != "content"}
            return new_memory(content.content, {**given, **fields}, self._ctx.policy)
        return new_memory(content, fields, self._ctx.policy)

    def _item(self, item: str | NewMemory | Mapping[str, Any]) -> NewMemory:
        if isinstance(item, Mapping):
            return self._new(item.get("content", ""), {key: value for key, value in item.items() if key != "content"})
        return self._new(item, {})

    def _with(self, kind: str, on_conflict: OnConflict | None) -> Context:
        return self._with_all({kind}, on_conflict)

    def _with_all(self, kinds: set[str], on_conflict: OnConflict | None) -> Context:
        if on_conflict is None:
            return self._ctx
        if on_conflict not in get_args(OnConflict):
            allowed = ", ".join(get_args(OnConflict))
            raise InvalidField(f"{on_conflict!r} is not allowed", where="on_conflict", todo=f"Use one of: {allowed}")
        policy = self._ctx.policy
        for kind in sorted(kinds):
            policy = policy.with_conflict(kind, on_conflict)
        return replace(self._ctx, policy=policy)

    def _id(self, given: str) -> str:
        return read.identify(self._ctx, given)

    def _namespace_of(self, row: transfer.Row, key: str) -> str:
        if not key:
            return self._ctx.namespace
        name = row.outer.get(key)
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise InvalidField("names no namespace", where=key, todo="Give each line a text there")
        return check_namespace(f"{self._ctx.namespace}/{name}")


def check_namespace(name: object) -> str:
    """A namespace's name as it is kept: a path of 1 to 200 characters without blanks around its parts.

    Raises:
        InvalidField: It cannot be one.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidField("is empty", where="namespace", todo="Use a path such as acme/alice/coder")
    check_text(name, limit=MAX_NAMESPACE)
    parts = [part.strip() for part in name.split("/")]
    if not all(parts) or not name.isprintable():
        raise InvalidField(f"{name[:60]!r} is no path", where="namespace", todo="Use a path such as acme/alice/coder")
    return "/".join(parts)


def _keyed(items: Sequence[NewMemory]) -> list[NewMemory]:
    """The items with keys from the whole batch, where the caller gave none (I5)."""
    whole = hashlib.sha256("".join(write.payload_of(new) for new in items).encode()).hexdigest()[:24]
    return [
        new if new.idempotency_key else replace(new, idempotency_key=f"batch:{whole}:{place}")
        for place, new in enumerate(items)
    ]


def _item_error(place: int, item: object, error: WellkeptError) -> ItemError:
    content = item.get("content", "") if isinstance(item, Mapping) else getattr(item, "content", item)
    return ItemError(place, transfer.shown(str(content)), type(error).__name__, str(error))


def _opened(path: Path) -> IO[bytes]:
    try:
        return cast("IO[bytes]", gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb"))
    except OSError as error:
        raise StorePathError(f"cannot be read: {error.strerror}", where=str(path), todo="Check the path") from error


def _writing(path: Path) -> IO[str]:
    try:
        # Half a character becomes its escape, which JSON reads back as it was.
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise StorePathError(f"cannot be written: {error.strerror}", where=str(path), todo="Check the path") from error


def _counted(lines: IO[bytes], path: Path, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    done = 0
    while True:
        try:
            line = lines.readline()
        except (OSError, EOFError, zlib.error) as error:  # a packed file that is damaged or cut off
            todo = "Mend the file and import it again; what was taken is not taken twice"
            raise StorePathError(f"cannot be read to its end: {error}", where=str(path), todo=todo) from error
        if not line:
            return
        done += len(line)
        if progress is not None:
            progress(done)
        yield line


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


class _Rejects:
    """Writes rejected lines to a file that is made only when there is one."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path = path
        self._stack = stack
        self._out: IO[str] | None = None

    def __call__(self, row: Mapping[str, Any]) -> None:
        if self._out is None:
            self._out = self._stack.enter_context(_writing(self._path))
        self._out.write(json.dumps(row, ensure_ascii=False) + "\n")
