"""Restores relations between imported memories from their source: replacements and links.

The gate gives each memory a new id, so this is done once both ends are written. Each relation has its own journal
entry with an idempotency key, so that repeating the import does not overwrite later changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from wellkept.core.records import lifecycle
from wellkept.core.text.forms import content_hash, is_line
from wellkept.engine.base.context import Context
from wellkept.engine.gate.acts import MAX_REL, entry_of
from wellkept.engine.lookup.read import fetch
from wellkept.engine.transfer.import_lines import Relations, Row
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import Effect, Link, LinkChange, Memory, MemoryChange, Reason, WriteResult


@frozen
class _Own:
    """An imported memory, its relations in the source, and the key of its write."""

    namespace: str
    memory_id: str
    relations: Relations
    key: str


@dataclass(slots=True)
class Related:
    """Maps ids of the source to memories here, and collects pending relations."""

    here: dict[str, dict[str, str]] = field(default_factory=dict)
    waiting: list[_Own] = field(default_factory=list)

    def note(self, namespace: str, row: Row, result: WriteResult) -> None:
        """Record the result of a row."""
        if row.relations is None or result.memory is None:
            return
        self.here.setdefault(namespace, {})[row.relations.id] = result.memory.id
        if row.new is not None and (row.relations.superseded_by or row.relations.links):
            self.waiting.append(_Own(namespace, result.memory.id, row.relations, row.new.idempotency_key))

    def ready(self, *, last: bool) -> list[_Own]:
        """Relations whose other ends have been written; with `last`, all remaining ones."""
        now: list[_Own] = []
        later: list[_Own] = []
        for one in self.waiting:
            ends = {one.relations.superseded_by, *(end for end, _ in one.relations.links)} - {""}
            known = ends <= self.here[one.namespace].keys()
            (now if last or known else later).append(one)
        self.waiting = later
        return now


def relate(ctx: Context, related: Related, run_id: str, *, last: bool = False) -> None:
    """Store the relations that are ready.

    Args:
        ctx: A context of any namespace of the store.
        related: The recorded rows; the rest stays there until its other ends are written.
        run_id: The id of the import.
        last: No more rows will be written, so nothing stays pending.
    """
    ready = related.ready(last=last)
    for namespace in dict.fromkeys(one.namespace for one in ready):
        inside = replace(ctx, namespace=namespace)
        with ctx.storage.begin(namespace, write=True) as tx:
            for one in ready:
                if one.namespace == namespace:
                    _relate(inside, tx, one, related.here[namespace], run_id)


def _relate(ctx: Context, tx: Tx, one: _Own, here: dict[str, str], run_id: str) -> None:
    key = f"import:{content_hash(f'related {one.memory_id} {one.key}')[:40]}"
    if tx.journal(key=key):
        return
    effects: list[Effect] = []
    reasons: list[Reason] = []
    if one.relations.superseded_by and _is_own(tx, one):
        memory = fetch(tx, one.memory_id)
        hidden, reason = _hidden(ctx, tx, memory, one.relations, here)
        effects += hidden
        reasons += [reason] if hidden else []
    effects += _links(ctx, tx, one, here)
    if effects:
        outcome = "superseded" if reasons else "linked"
        entry = entry_of(ctx, effects, verb="import", outcome=outcome, memory_id=one.memory_id, reasons=tuple(reasons))
        tx.apply(replace(entry, idempotency_key=key, run_id=run_id))


def _is_own(tx: Tx, one: _Own) -> bool:
    """Whether the memory was created by this row; a row that was a duplicate of a memory must not change it."""
    made = tx.journal(memory_ids=(one.memory_id,))[0]
    return made.idempotency_key.partition("~")[0] == one.key


def _hidden(
    ctx: Context, tx: Tx, memory: Memory, relations: Relations, here: dict[str, str]
) -> tuple[tuple[Effect, ...], Reason]:
    """Supersede a memory by its replacement; archive it when the replacement was not imported."""
    reason = Reason("import", f"superseded by {relations.superseded_by[:80]} where it comes from")
    if memory.status != "active":
        return (), reason
    now = ctx.clock()
    successor = fetch(tx, here[relations.superseded_by]) if relations.superseded_by in here else None
    if successor is None or successor.status == "erased":
        return lifecycle.archive(memory, at=now), reason
    if memory.id in _chain(tx, successor.id):
        return (), reason
    change, link = lifecycle.supersede(memory, successor, at=now)
    assert isinstance(change, MemoryChange)
    assert change.after is not None
    hidden = replace(change.after, superseded_at=relations.superseded_at or now)
    return (MemoryChange(memory, hidden), link), reason


def _chain(tx: Tx, memory_id: str) -> Iterator[str]:
    """A memory and its successors."""
    seen: set[str] = set()
    while memory_id and memory_id not in seen:
        yield memory_id
        seen.add(memory_id)
        memory_id = fetch(tx, memory_id).superseded_by


def _links(ctx: Context, tx: Tx, one: _Own, here: dict[str, str]) -> list[Effect]:
    """Links that do not exist yet; a replacement makes its own `supersedes` link."""
    there = {(link.src, link.dst, link.rel) for link in tx.links((one.memory_id,))}
    wanted = {
        (one.memory_id, here[end], rel)
        for end, rel in one.relations.links
        if end in here and here[end] != one.memory_id and rel != "supersedes" and len(rel) <= MAX_REL and is_line(rel)
    }
    return [LinkChange(None, Link(*link, ctx.clock())) for link in sorted(wanted - there)]
