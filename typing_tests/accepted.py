"""What a user may write under `mypy --strict`: every line here must be accepted, and have the type it says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never, assert_type

import wellkept
from wellkept import (
    BatchResult,
    Conflict,
    Hits,
    ImportReport,
    JournalEntry,
    KindPolicy,
    Link,
    Match,
    Memory,
    MemoryStore,
    NewMemory,
    Policy,
    Reason,
    Stats,
    Version,
    WriteResult,
)
from wellkept.storage.memory import DictStorage
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import (
    AliasChange,
    ConflictChange,
    ConflictKind,
    DefaultKind,
    Effect,
    Lifecycle,
    LinkChange,
    MatchAction,
    MemoryChange,
    Outcome,
    Reached,
    Relation,
    Resolution,
    Stage,
    Status,
)


def contradicts(old: Memory, new: wellkept.types.Statement) -> bool:
    """A judge of one's own."""
    return old.content != new.content


def opening(path: Path) -> None:
    """The composition root."""
    assert_type(wellkept.open("memory:"), MemoryStore)
    assert_type(wellkept.open(DictStorage(), policy=Policy(), embedder="hashing", namespace="a/b"), MemoryStore)
    with wellkept.open(str(path), embedder=FakeEmbedder(), clock=FrozenClock(), new_id=CountingIds()) as store:
        assert_type(store, MemoryStore)
        assert_type(store.in_namespace("other"), MemoryStore)
        assert_type(store.namespace, str)
        assert_type(store.namespaces(), tuple[str, ...])
    wellkept.open("memory:", contradiction_fn=contradicts, clock=lambda: datetime.now(UTC)).close()


def writing(store: MemoryStore) -> None:
    """Verbs that write."""
    assert_type(store.remember("text"), WriteResult)
    store.remember(NewMemory(content="text", kind="fact"), on_conflict="supersede")
    store.remember("text", kind="a-kind-of-ones-own")
    known: DefaultKind = "preference"
    store.remember("text", kind=known)
    store.remember(
        "text",
        kind="fact",
        subject="006",
        attribute="status",
        tags=["a", "b"],
        importance=0.9,
        confidence=1,
        polarity=-1,
        event_time="2026-01-01",
        expires_at=datetime.now(UTC),
        metadata={"any": [1, {"json": None}]},
        pinned=True,
        idempotency_key="once",
    )
    assert_type(store.check("text", on_conflict="raise", kind="note", tags=("a",)), WriteResult)
    assert_type(store.remember_many(["text", {"content": "text", "kind": "note"}, NewMemory(content="x")]), BatchResult)
    assert_type(store.revise("id", content="other"), Memory)
    assert_type(store.supersede("old", "new"), int)
    assert_type(store.restore("id"), bool)
    assert_type(store.split("id"), int)
    assert_type(store.forget("id"), int)
    assert_type(store.undo(3), int)
    assert_type(store.link("a", "b", strict=True), Link)
    assert_type(store.resolve("key", "keep_both"), Conflict)


def reading(store: MemoryStore) -> None:
    """Verbs that read."""
    assert_type(store.recall("query", limit=3, where=wellkept.Filter(kinds=("fact",)), touch=False), Hits)
    assert_type(store.get("id"), Memory)
    assert_type(store.list(), tuple[Memory, ...])
    assert_type(store.history("id"), tuple[Version, ...])
    assert_type(store.journal(newest=3), tuple[JournalEntry, ...])
    assert_type(store.conflicts(), tuple[Conflict, ...])
    assert_type(store.neighbors("id", direction="in"), Reached)
    assert_type(store.import_(Path("file")), ImportReport)
    assert_type(store.stats(), Stats)


def results(result: WriteResult, batch: BatchResult) -> None:
    """What comes back."""
    assert_type(result.outcome, Outcome)
    assert_type(result.id, str)
    assert_type(result.memory, Memory | None)
    assert_type(result.links, tuple[Link, ...])
    assert_type(result.conflicts, tuple[Conflict, ...])
    assert_type(result.matches, tuple[Match, ...])
    assert_type(result.reasons, tuple[Reason, ...])
    assert_type(result.message, str)
    assert_type(result.entry, int)
    assert_type(result.dropped, str)
    assert_type(batch.results, tuple[WriteResult | None, ...])
    assert_type(batch.counts, Mapping[str, int])
    for match in result.matches:
        assert_type(match.similarity, float | None)
        assert_type(match.action, MatchAction)
        assert_type(match.relation, Relation)
        assert_type(match.stage, Stage)
        assert_type(match.lifecycle, Lifecycle)
    for conflict in result.conflicts:
        assert_type(conflict.kind, ConflictKind)
        assert_type(conflict.resolution, Resolution | None)
    if result.memory is not None:
        assert_type(result.memory.status, Status)


def every_outcome(outcome: Outcome) -> str:
    """A user's own `match` is known to be complete."""
    match outcome:
        case "created" | "superseded" | "queued":
            return "stored"
        case "duplicate" | "restated" | "reused":
            return "known"
        case "evolved":
            return "grown"
        case "rejected":
            return "refused"
        case _:
            assert_never(outcome)


def every_effect(effect: Effect) -> str:
    """Effects are a closed union."""
    match effect:
        case MemoryChange(before, after):
            assert_type(before, Memory | None)
            return after.id if after else ""
        case AliasChange(memory_id):
            return memory_id
        case LinkChange(_, link):
            return link.rel if link else ""
        case ConflictChange(_, conflict):
            return conflict.key if conflict else ""
        case _:
            assert_never(effect)


def policies() -> None:
    """Policies as values."""
    assert_type(Policy().for_kind("fact"), KindPolicy)
    assert_type(Policy.from_toml(""), Policy)
    assert_type(Policy().hash, str)
    KindPolicy(preset="mine", bands=(wellkept.Band(0.9, "skip"),), on_conflict="raise")
