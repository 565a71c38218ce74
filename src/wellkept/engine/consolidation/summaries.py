"""Summaries on execution of a plan: storing the new memory, and finding an existing one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from wellkept.core.records.conflicts import is_open
from wellkept.core.records.merge import absorbed
from wellkept.core.records.summary_levels import is_summary
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import new_memory
from wellkept.engine.gate.acts import with_vector
from wellkept.engine.models.embedding import Embeddings
from wellkept.storage.port import Tx
from wellkept.types import Action, Conflict, Effect, Filter, Link, Memory, MemoryChange, Statement, Vector

DERIVED = "derived_from"


def born_summary(
    ctx: Context, action: Action, vectors: Embeddings, *, at: datetime
) -> tuple[list[Effect], dict[str, Vector]]:
    """Effects that store the planned summary, and its vector.

    Raises:
        UnansweredError: It must be embedded first, outside the transaction.
        InvalidInput: The planned memory is invalid.
    """
    fields = dict(action.summary)
    new = new_memory(fields.pop("content", ""), fields, ctx.policy)
    said = {name: getattr(new, name) for name in Statement.__dataclass_fields__}
    memory = Memory(**said, id=ctx.new_id(), namespace=ctx.namespace, created_at=at, updated_at=at)
    memory, made = with_vector(memory, vectors)
    return [MemoryChange(None, memory), *absorbed(memory.id, (memory.content,), frozenset())], made


def behind_summary(effects: Sequence[Effect]) -> list[Effect]:
    """The effects, with the new id of the summary as successor of its sources."""
    made = born_in(effects)
    found: list[Effect] = []
    for item in effects:
        if made is not None and isinstance(item, MemoryChange) and item.before is not None and item.after is not None:
            if item.after.status == "superseded":
                item = MemoryChange(item.before, replace(item.after, superseded_by=made.id))
        found.append(item)
    return found


def born_in(effects: Iterable[Effect]) -> Memory | None:
    """The memory that these effects create; None when they create none."""
    return next((item.after for item in effects if isinstance(item, MemoryChange) and item.before is None), None)


def summed_up(tx: Tx, action: Action) -> str:
    """Id of an active summary of exactly these memories; empty when there is none.

    Sources may stay unchanged (`keep`), so their versions do not show that the action is done.
    """
    if action.type != "summarize":
        return ""
    wanted = set(action.targets)
    for summary in living_summaries(tx, tx.links(action.targets)):
        if set(summary.provenance) == wanted:
            return summary.id
    return ""


def about(action: Action, effects: Iterable[Effect]) -> str:
    """The main memory of an action for its journal entry: the new one, the canonical one, or the first target."""
    made = born_in(effects)
    return made.id if made is not None else action.canonical or action.targets[-1]


def held_back(action: Action, conflicts: Iterable[Conflict], now: datetime) -> str:
    """Why these memories must not be summarised any more; empty when they may.

    A conflict opened after planning changes no version. Two contradicting memories are not summarised together,
    and a memory with an open conflict is not hidden.
    """
    targets, hides = set(action.targets), bool(action.rows)
    for item in conflicts:
        both = {item.a, item.b} <= targets
        if both and item.kind == "contradiction" and item.resolution in (None, "keep_both"):
            return f"since then {item.a} and {item.b} are held apart by a conflict"
        if hides and is_open(item, now) and {item.a, item.b} & targets:
            return f"since then conflict {item.key} is open"
    return ""


def living_summaries(tx: Tx, links: Iterable[Link]) -> list[Memory]:
    """The summaries derived from others by these links, without archived and erased ones."""
    sources = tuple(dict.fromkeys(link.src for link in links if link.rel == DERIVED))
    rows = tx.find(Filter(ids=sources, statuses=("active", "superseded"))) if sources else []
    return [row for row in rows if is_summary(row)]
