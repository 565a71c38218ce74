"""Effects as values: inverse, what they touch, what an erasure leaves (I1)."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from wellkept.core.records.codec import USAGE
from wellkept.core.records.effects import invert, same_record, scrubbed, tombstone, touched
from wellkept.types import (
    AliasChange,
    Conflict,
    ConflictChange,
    Difference,
    Effect,
    JournalEntry,
    Link,
    LinkChange,
    Match,
    Memory,
    MemoryChange,
    Reading,
    Reason,
)

T = datetime(2026, 3, 1, tzinfo=UTC)
LATER = datetime(2026, 4, 1, tzinfo=UTC)


def memory(memory_id: str, **changes: Any) -> Memory:
    return replace(Memory(id=memory_id, namespace="n", content="secret", created_at=T, updated_at=T), **changes)


A, B = memory("a"), memory("b")
A2 = replace(A, version=2, content="more secret", title="t")
LINK = Link("a", "b")
OPEN = Conflict(key="k", a="a", b="b", kind="contradiction", reason="value_diff", similarity=None, created_at=T)
SETTLED = replace(OPEN, resolution="keep_both")

INVERSES: list[tuple[Effect, Effect]] = [
    (MemoryChange(None, A), MemoryChange(A, None)),
    (MemoryChange(A, A2), MemoryChange(A2, A)),
    (AliasChange("a", "h", present=True), AliasChange("a", "h", present=False)),
    (LinkChange(None, LINK), LinkChange(LINK, None)),
    (ConflictChange(OPEN, SETTLED), ConflictChange(SETTLED, OPEN)),
]


@pytest.mark.parametrize(("effect", "inverse"), INVERSES)
def test_the_inverse_of_an_effect_swaps_its_ends(effect: Effect, inverse: Effect) -> None:
    assert invert(effect) == inverse
    assert invert(inverse) == effect


@pytest.mark.parametrize(
    ("effects", "ids"),
    [
        ((), ()),
        ((MemoryChange(None, B), MemoryChange(A, None), MemoryChange(B, A2)), ("b", "a")),
        ((AliasChange("x", "h", present=True), AliasChange("x", "i", present=False)), ("x",)),
        ((LinkChange(LINK, None),), ("a", "b")),
        ((ConflictChange(None, OPEN), MemoryChange(None, memory("c"))), ("a", "b", "c")),
        ((MemoryChange(None, None), LinkChange(None, None)), ()),
    ],
)
def test_effects_touch_memories_in_order_and_each_once(effects: tuple[Effect, ...], ids: tuple[str, ...]) -> None:
    assert touched(effects) == ids


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        (A, memory("a"), "same"),
        (A, replace(A, access_count=7, last_accessed_at=LATER, stability=2.0), "same"),
        (A, A2, "different"),
        (A, replace(A, metadata={"k": 1}), "different"),
        (A, None, "different"),
        (None, None, "same"),
    ],
)
def test_two_records_are_the_same_but_for_their_use(one: Memory | None, other: Memory | None, verdict: str) -> None:
    assert same_record(one, other) is (verdict == "same")
    assert same_record(other, one) is (verdict == "same")


def test_a_tombstone_keeps_only_id_namespace_kind_times_and_status() -> None:
    full = replace(A2, kind="fact", subject="s", tags=("t",), metadata={"m": 1}, embedding="e", access_count=4)
    left = tombstone(full, at=LATER)
    kept = {"id", "namespace", "kind", "created_at"}
    assert left == Memory(
        id="a", namespace="n", kind="fact", content="", status="erased", created_at=T, updated_at=LATER, version=3
    )
    defaults = tombstone(memory("other"))
    for field in fields(Memory):
        if field.name not in kept | {"content", "status", "updated_at", "version"}:
            assert getattr(left, field.name) == getattr(defaults, field.name), field.name
    assert set(USAGE).isdisjoint(kept)


def entry(**values: Any) -> JournalEntry:
    return JournalEntry(**{"at": T, "verb": "remember", "outcome": "created", **values})


DIFFERENCE = Difference("value", "secret", "other")
MATCHED = Match("a", "secret", "ACTIVE", "vector", "variant", "connect", 0.9, 0.9, (DIFFERENCE,))
OTHER_MATCH = Match("b", "other title", "ACTIVE", "vector", "variant", "none", 0.8, 0.8, (DIFFERENCE,))
WHY = (Reason("bands", "secret against other"),)


def test_an_entry_that_never_names_the_memory_stays_as_it_is() -> None:
    untouched = entry(memory_id="b", effects=(MemoryChange(None, B),), reasons=WHY, matches=(OTHER_MATCH,))
    assert scrubbed(untouched, {"a"}) is untouched


def test_an_entry_about_the_memory_keeps_what_happened_and_loses_what_was_said() -> None:
    whole = entry(
        memory_id="a",
        effects=(
            MemoryChange(A, A2),
            AliasChange("a", "h", present=True),
            LinkChange(None, LINK),
            ConflictChange(None, OPEN),
            MemoryChange(None, B),
            AliasChange("b", "h", present=True),
        ),
        reasons=WHY,
        matches=(OTHER_MATCH,),
        dropped=memory("d"),
    )
    left = scrubbed(whole, {"a"})
    assert left.effects == (
        MemoryChange(tombstone(A), tombstone(A2)),
        MemoryChange(None, B),
        AliasChange("b", "h", present=True),
    )
    assert left.dropped == tombstone(memory("d"))
    assert left.reasons == (Reason("bands", ""),)
    assert left.matches == (replace(OTHER_MATCH, differences=()),)
    assert scrubbed(left, {"a"}) == left


def test_an_entry_keeps_no_reading_of_the_memory_or_about_it() -> None:
    """Its digest could confirm a guessed text."""
    read = Reading(model="m", memory_ids=("a", "c"), texts="digest", opinions="AA")
    beside = entry(memory_id="b", effects=(MemoryChange(None, B),), reading=read)
    assert scrubbed(beside, {"a"}) == replace(beside, reading=None)
    assert scrubbed(beside, {"d"}) is beside
    assert scrubbed(beside, {"b"}).reading is None


def test_an_entry_that_only_considered_the_memory_loses_its_title_and_words() -> None:
    considered = entry(
        memory_id="b", effects=(MemoryChange(None, B),), reasons=WHY, matches=(MATCHED, OTHER_MATCH), dropped=B
    )
    left = scrubbed(considered, {"a"})
    assert left.matches == (replace(MATCHED, title="", differences=()), OTHER_MATCH)
    assert (left.effects, left.dropped) == (considered.effects, considered.dropped)
    assert left.reasons == (Reason("bands", ""),)
