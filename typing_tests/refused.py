"""What `mypy --strict` must find in a user's code: were a line accepted, its `ignore` would be an error itself."""

from __future__ import annotations

from typing import assert_never

import wellkept
from wellkept import Memory, MemoryStore, NewMemory, WriteResult
from wellkept.types import DefaultKind, Outcome


def opening() -> None:
    """Wrong, missing and misspelt arguments of `open`."""
    wellkept.open()  # type: ignore[call-arg]
    wellkept.open("memory:", None)  # type: ignore[call-arg]
    wellkept.open("memory:", policy="strict")  # type: ignore[arg-type]
    wellkept.open("memory:", embeder="hashing")  # type: ignore[call-arg]
    wellkept.open("memory:", clock=lambda: 0)  # type: ignore[arg-type, return-value]


def writing(store: MemoryStore) -> None:
    """Wrong and misspelt arguments of the verbs."""
    store.remember("text", knd="fact")  # type: ignore[call-arg]
    store.remember("text", None)  # type: ignore[call-arg]
    store.remember(7)  # type: ignore[arg-type]
    store.remember("text", tags="a")  # type: ignore[arg-type]
    store.remember("text", importance="high")  # type: ignore[arg-type]
    store.remember("text", polarity=2)  # type: ignore[arg-type]
    store.remember("text", on_conflict="overwrite")  # type: ignore[arg-type]
    store.check("text", subjct="006")  # type: ignore[call-arg]
    store.resolve("key", "newest")  # type: ignore[arg-type]
    store.neighbors("id", direction="up")  # type: ignore[arg-type]
    store.recall("query", 3)  # type: ignore[call-arg]
    store.recall("query", mode="semantics")  # type: ignore[arg-type]
    store.recall("query", mode="hybrid", weights="events")  # type: ignore[arg-type]
    store.recall("query", where={"kinds": ["fact"]})  # type: ignore[arg-type]
    misspelled: DefaultKind = "preferense"  # type: ignore[assignment]
    store.remember("text", kind=misspelled)
    NewMemory("text")  # type: ignore[call-arg]
    NewMemory(content="text", status="active")  # type: ignore[call-arg]


def results(result: WriteResult, memory: Memory) -> None:
    """Fields that may be None, are not there, or cannot be set."""
    _ = result.memory.id  # type: ignore[union-attr]
    _ = result.status  # type: ignore[attr-defined]
    result.outcome = "created"  # type: ignore[misc]
    memory.content = "other"  # type: ignore[misc]
    if result.outcome == "updated":  # type: ignore[comparison-overlap]
        raise AssertionError


def forgotten(outcome: Outcome) -> str:
    """A `match` that leaves an outcome out."""
    match outcome:
        case "created" | "superseded" | "queued" | "duplicate" | "reused" | "evolved":
            return "stored or known"
        case _:
            assert_never(outcome)  # type: ignore[arg-type]
