"""Audit: duplicates, conflicts and junk in a foreign store, found by the usual comparison, without changing it.

The memories are copied without the gate into a scratch store, and the consolidation plan for it is counted and
reported. So an audit finds exactly what Wellkept would clean. Rules based on usage (promote, archive) are left
out, because the usage of foreign memories is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from wellkept.core.consolidation.findings import exact_groups
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.gate.worth_keeping import refusal
from wellkept.core.records.explain import reason_words
from wellkept.core.text.redaction import redacted
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import check_namespace
from wellkept.engine.consolidation import planning
from wellkept.engine.gate.acts import apply, with_vector
from wellkept.engine.models.embedding import Embeddings, text_of
from wellkept.engine.transfer.import_lines import Relations, Row, shown
from wellkept.engine.transfer.importer import Importer, Reject
from wellkept.errors import InvalidField, InvalidInput
from wellkept.frozen import frozen
from wellkept.types import (
    Action,
    Filter,
    Flag,
    ImportReport,
    ItemError,
    Memory,
    MemoryChange,
    NewMemory,
    Plan,
    Statement,
)

Progress: TypeAlias = Callable[[str, int, int], None]
Owned: TypeAlias = tuple[Row, str]
"""A row and its target namespace."""
Topic: TypeAlias = Literal["exact", "near", "conflict", "stale", "junk"]
TOPICS: tuple[Topic, ...] = ("exact", "near", "conflict", "stale", "junk")
EXAMPLES = 5
_CHUNK = 2_000
_ID = 120


@frozen(kw_only=True)
class Example:
    """One example finding of an audit.

    Attributes:
        topic: The kind of finding.
        ids: The ids of the memories in the source, older first.
        texts: The beginnings of their texts, without secrets.
        why: The deciding reason, in words.
    """

    topic: Topic
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    why: str


@frozen(kw_only=True)
class Audit:
    """The result of an audit.

    Attributes:
        read: Rows read.
        memories: Rows that are valid memories.
        unreadable: Invalid rows, with their positions.
        namespaces: Number of memories by namespace; nothing is compared across namespaces.
        junk: Memories without content; they are excluded from the following counts.
        exact: Memories that repeat an earlier one in any spelling.
        near: Memories that paraphrase an earlier one.
        conflicts: Pairs that contradict each other.
        stale: Memories surely replaced by a later one, also counted as conflicts.
        examples: The first findings of each kind.
        plans: Cleaning plans by namespace, with the memory ids of the source.
        degraded: Components that failed or were unavailable; their findings are missing.
    """

    read: int = 0
    memories: int = 0
    unreadable: tuple[ItemError, ...] = ()
    namespaces: Mapping[str, int] = field(default_factory=dict)
    junk: int = 0
    exact: int = 0
    near: int = 0
    conflicts: int = 0
    stale: int = 0
    examples: tuple[Example, ...] = ()
    plans: tuple[Plan, ...] = ()
    degraded: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether there is nothing to clean."""
        return not (self.junk or self.exact or self.near or self.conflicts or self.unreadable)


def owned(rows: Iterable[Row], base: str, *, key: str = "owner") -> Iterator[Owned]:
    """Rows with their namespaces: below `base` by the row's owner, else `base` itself.

    An owner that is not a valid namespace makes the row invalid; reading continues.

    Args:
        rows: The rows read.
        base: The base namespace.
        key: Key of the source row that names the owner; empty to put all rows into `base`.
    """
    for row in rows:
        name = row.outer.get(key) if key else None
        if row.new is None or name is None or name == "":
            yield row, base
            continue
        try:
            if isinstance(name, bool) or not isinstance(name, str | int):
                raise InvalidField("names no namespace", where=key, todo="Give each row a text there")
            yield row, check_namespace(f"{base}/{name}")
        except InvalidInput as error:
            yield replace(row, new=None, error=error), base


def audit(ctx: Context, rows: Iterable[Owned], *, in_order: bool = False, progress: Progress | None = None) -> Audit:
    """Analyse rows in a scratch store; their source is not changed.

    Args:
        ctx: An empty scratch store; it keeps the rows afterwards.
        rows: The output of `owned`.
        in_order: Whether reading order is time order for rows without a time.
        progress: Called with the step, the number done and the total.

    Raises:
        InvalidInput: The scratch store is not empty.

    Example:
        >>> import pathlib, tempfile, wellkept
        >>> from wellkept.adapters import read
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "notes.jsonl"
        >>> _ = path.write_text('{"text": "Tea is upstairs."}\\n{"text": "tea is upstairs"}\\n')
        >>> with wellkept.open("memory:", embedder="hashing") as scratch:
        ...     found = scratch.audit(owned(read(path), scratch.namespace))
        >>> found.memories, found.exact, found.plans[0].planned["merge"]
        (2, 1, 1)
    """
    if ctx.storage.header().namespaces:
        raise InvalidInput("is not empty", where="scratch store", todo="Open a new one: wellkept.open('memory:')")
    scratch = _Scratch(ctx)
    for row, namespace in rows:
        scratch.take(row, namespace)
        if progress is not None and scratch.read % _CHUNK == 0:
            progress("read", scratch.read, 0)
    scratch.flush()
    config = Consolidation(rules=tuple(r for r in Consolidation().rules if r.action in ("merge", "flag_contradiction")))
    found = _Findings(in_order=in_order, timed=scratch.timed)
    plans = []
    for namespace in sorted(scratch.namespaces):
        inside = replace(ctx, namespace=namespace)
        plans.append(planning.plan(inside, config, progress=progress))
        with ctx.storage.begin(namespace, write=False) as tx:
            found.look(plans[-1], {row.id: row for row in tx.find(Filter())}, inside)
    degraded = [one for plan in plans for one in plan.degraded] + (["embedding"] if scratch.without_vector else [])
    return Audit(
        read=scratch.read,
        memories=sum(scratch.namespaces.values()) + scratch.junk,
        unreadable=tuple(scratch.unreadable),
        namespaces=dict(sorted(scratch.namespaces.items())),
        junk=scratch.junk,
        exact=found.counts["exact"],
        near=found.counts["near"],
        conflicts=found.counts["conflict"],
        stale=found.counts["stale"],
        examples=tuple(sorted((*found.examples, *scratch.examples), key=lambda one: TOPICS.index(one.topic))),
        plans=tuple(plans),
        degraded=tuple(dict.fromkeys(degraded)),
    )


def take_over(ctx: Context, rows: Iterable[Owned], *, run_id: str = "", reject: Reject | None = None) -> ImportReport:
    """Import rows into a store through the gate; repeating it changes nothing.

    Args:
        ctx: The store.
        rows: The output of `owned`.
        run_id: Recorded in each journal entry; generated when empty.
        reject: Called with each rejected row.
    """
    importer = Importer(ctx, run_id or f"import-{ctx.new_id()}", reject=reject)
    for row, namespace in rows:
        importer.take(row, namespace)
    return importer.report()


class _Scratch:
    """Stores rows unchanged: without the gate, with the ids of the source, many rows per journal entry."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._start = ctx.clock()
        self._waiting: list[Memory] = []
        self._namespace = ctx.namespace
        self._names: set[tuple[str, str]] = set()
        self.read = 0
        self.junk = 0
        self.without_vector = 0
        self.namespaces: Counter[str] = Counter()
        self.unreadable: list[ItemError] = []
        self.examples: list[Example] = []
        self.timed: set[tuple[str, str]] = set()

    def take(self, row: Row, namespace: str) -> None:
        self.read += 1
        if row.new is None:
            error = row.error or InvalidInput("is not a memory")
            self.unreadable.append(ItemError(row.line, shown(row.raw), type(error).__name__, str(error)))
            return
        name = self._named(row, namespace)
        refused = refusal(row.new, self._ctx.policy.for_kind(row.new.kind))
        if refused is not None:
            self.junk += 1
            if len(self.examples) < EXAMPLES:
                why = refused.detail or reason_words(refused.rule)
                self.examples.append(Example(topic="junk", ids=(name,), texts=(redacted(row.new.content),), why=why))
            return
        if namespace != self._namespace or len(self._waiting) >= _CHUNK:
            self.flush()
            self._namespace = namespace
        self.namespaces[namespace] += 1
        if row.new.recorded_at is not None:
            self.timed.add((namespace, name))
        self._waiting.append(self._memory(row.new, name, namespace, row.relations))

    def flush(self) -> None:
        """Store the collected rows."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        vectors = Embeddings(self._ctx.embedder, on_failure="Audit without vectors")
        vectors.fetch([text_of(memory) for memory in waiting])
        made = [with_vector(memory, vectors) for memory in waiting]
        self.without_vector += sum(not memory.checked for memory, _ in made)
        kept = {key: vector for _, one in made for key, vector in one.items()}
        effects = [MemoryChange(None, memory) for memory, _ in made]
        ctx = replace(self._ctx, namespace=self._namespace)
        with ctx.storage.begin(self._namespace, write=True) as tx:
            apply(ctx, tx, effects, verb="import", outcome="created", memory_id="", vectors=kept)

    def _memory(self, new: NewMemory, name: str, namespace: str, relations: Relations | None) -> Memory:
        # A row without a time keeps its position: one microsecond after the one before it.
        at: datetime = new.recorded_at or self._start + timedelta(microseconds=self.read)
        statement = {key: getattr(new, key) for key in Statement.__dataclass_fields__}
        memory = Memory(**statement, id=name, namespace=namespace, created_at=at, updated_at=at)
        replaced = relations.superseded_by if relations is not None else ""
        return replace(memory, status="superseded", superseded_by=replaced) if replaced else memory

    def _named(self, row: Row, namespace: str) -> str:
        """The id in the source, so that the reader recognises it; else the position."""
        given = row.outer.get("id")
        name = str(given).strip()[:_ID] if isinstance(given, str | int) and not isinstance(given, bool) else ""
        if not name or not name.isprintable():
            name = f"line-{row.line}"
        while (namespace, name) in self._names:
            name = f"{name[:_ID]}~{row.line}" if not name.endswith(f"~{row.line}") else f"{name}+"
        self._names.add((namespace, name))
        return name


class _Findings:
    """Counts the findings of plans, and keeps the first of each kind as examples."""

    def __init__(self, *, in_order: bool, timed: set[tuple[str, str]]) -> None:
        self._in_order = in_order
        self._timed = timed
        self.counts: Counter[str] = Counter()
        self.examples: list[Example] = []

    def look(self, plan: Plan, rows: Mapping[str, Memory], ctx: Context) -> None:
        """Add one plan, with its memories."""
        groups = exact_groups(tuple(rows.values()), ctx.policy)
        repeats = sum(len(group) - 1 for group in groups)
        self.counts["exact"] += repeats
        for group in groups:
            self._show("exact", group, "the same to the letter, or in another spelling")
        merged = 0
        stale: set[str] = set()
        for action in plan.actions:
            if action.type == "merge":
                merged += len(action.targets) - 1
                if action.rationale.similarity != 1.0:
                    self._show("near", [rows[one] for one in action.targets], action.rationale.reasons[0])
            for flag in action.flags if action.type == "flag_contradiction" else ():
                self._conflict(action, flag, rows, stale)
        self.counts["near"] += max(0, merged - repeats)
        self.counts["stale"] += len(stale)

    def _conflict(self, action: Action, flag: Flag, rows: Mapping[str, Memory], stale: set[str]) -> None:
        self.counts["conflict"] += 1
        pair = (rows[flag.a], rows[flag.b])
        why = ", ".join(action.rationale.reasons)
        if _is_sure(flag) and self._is_later(*pair):
            stale.add(flag.a)
            self._show("stale", pair, why)
        else:
            self._show("conflict", pair, why)

    def _is_later(self, old: Memory, new: Memory) -> bool:
        """Whether the source tells which of the two is later."""
        timed = [(row.namespace, row.id) in self._timed for row in (old, new)]
        if not any(timed):
            return self._in_order
        return all(timed) and old.created_at < new.created_at

    def _show(self, topic: Topic, rows: Iterable[Memory], why: str) -> None:
        if sum(one.topic == topic for one in self.examples) < EXAMPLES:
            shown_rows = tuple(rows)[:3]
            texts = tuple(redacted(row.content) for row in shown_rows)
            self.examples.append(Example(topic=topic, ids=tuple(row.id for row in shown_rows), texts=texts, why=why))


def _is_sure(flag: Flag) -> bool:
    """Whether one value was replaced by another in the same statement, as in the gate."""
    decisive = [item for item in flag.differences if item.decisive]
    return flag.reason not in ("", "model") and bool(decisive) and all(item.sure for item in decisive)
