"""Outputs of the operations: the JSON that the command line prints, as models.

A list is an object with one named list here, because MCP requires objects; the command line prints one item
per line.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from wellkept.engine.consolidation.run_list import RunLine
from wellkept.operations.shapes import Answer, answer, shape_of
from wellkept.operations.undone import Change
from wellkept.types import (
    ActionResult,
    BatchResult,
    Conflict,
    Detected,
    Graph,
    Hit,
    JournalEntry,
    LeftOut,
    Link,
    Memory,
    Neighbour,
    Problem,
    RunMode,
    Stats,
    UndoReport,
    Version,
    WriteResult,
)
from wellkept.types.packs import Pack
from wellkept.types.queue import Flushed as FlushedWrites
from wellkept.types.queue import QueuedWrite

_PAGE = "If more is true, others follow."
Written = shape_of(WriteResult)
Batch = shape_of(BatchResult)
Kept = shape_of(Memory)
Recalled = answer(
    "Recalled",
    "Hits, best first; with explain also results left out; linked ids that do not exist. An answer that would be too "
    "large is truncated, and more is true.",
    hits=tuple[Hit, ...],
    left_out=tuple[LeftOut, ...],
    dangling=tuple[str, ...],
    more=bool,
)
Entry = answer("Entry", "The journal entry; 0 when nothing changed.", entry=int)
Restored = answer("Restored", "Whether anything changed.", restored=bool)
Undone = answer(
    "Undone",
    "The entry of the undo, the entry it undid, and each memory before and after.",
    entry=int,
    undone=int,
    changes=tuple[Change, ...],
)
Linked = shape_of(Link)
Removed = answer("Removed", "Number of links removed.", removed=int)
Settled = shape_of(Conflict)
Packed = shape_of(Pack)
Memories = answer(
    "Memories",
    "Memories, oldest first; open marks: the older memory (a) is probably outdated by the newer (b); the number of "
    f"wordings behind each head. {_PAGE}",
    memories=tuple[Memory, ...],
    marks=tuple[Conflict, ...],
    wordings=dict[str, int],
    more=bool,
)
Versions = answer(
    "Versions", f"Every state of a memory, oldest first. {_PAGE}", versions=tuple[Version, ...], more=bool
)
Entries = answer(
    "Entries", f"Entries of the journal, oldest first. {_PAGE}", entries=tuple[JournalEntry, ...], more=bool
)
Conflicts = answer("Conflicts", f"Conflicts, oldest first. {_PAGE}", conflicts=tuple[Conflict, ...], more=bool)
Neighbors = answer(
    "Neighbors",
    f"Memories reached over links, nearest first; linked ids that do not exist. {_PAGE}",
    neighbors=tuple[Neighbour, ...],
    dangling=tuple[str, ...],
    more=bool,
)
Surroundings = shape_of(Graph)
Counts = shape_of(Stats)
Problems = answer("Problems", "Problems found; empty when there are none.", problems=tuple[Problem, ...])
Runs = answer("Runs", f"Runs that changed the store, oldest first. {_PAGE}", runs=tuple[RunLine, ...], more=bool)
RunUndone = shape_of(UndoReport)
Waiting = answer("Waiting", f"Queued writes, oldest first. {_PAGE}", pending=tuple[QueuedWrite, ...], more=bool)
Flushed = shape_of(FlushedWrites)
Dropped = shape_of(QueuedWrite)


class PlanFile(Answer):
    """A plan in the format of a plan file; in scope and actions, empty values and defaults are omitted."""

    format: str
    schema_: int = Field(alias="schema")
    plan_id: str
    config_hash: str
    snapshot: str
    namespace: str
    scope: dict[str, Any]
    detected: shape_of(Detected)  # type: ignore[valid-type]
    planned: dict[str, int] = Field(description="Actions by type.")
    degraded: list[str]
    actions: list[dict[str, Any]]


Run = answer(
    "Run",
    "What a run did, or would do in a dry run; under not_applied what was stale or failed.",
    plan_id=str,
    run_id=str,
    mode=RunMode,
    forced=str,
    namespace=str,
    config_hash=str,
    scope=dict[str, Any],
    detected=Detected,
    degraded=tuple[str, ...],
    planned=dict[str, int],
    executed=int,
    skipped=int,
    errors=int,
    counts=dict[str, dict[str, int]],
    not_applied=tuple[ActionResult, ...],
    seconds=float,
)
