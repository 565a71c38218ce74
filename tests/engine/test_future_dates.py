"""What begins later than now replaces nothing until then, and is not taken for what holds (D4)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import wellkept
from wellkept.testing.clock import FrozenClock

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OFFICE = {"kind": "fact", "subject": "office", "attribute": "city"}


def _active(store: wellkept.MemoryStore) -> set[str]:
    return {row.content for row in store.list(limit=20)}


def test_one_far_date_does_not_own_a_fact_for_ever() -> None:
    clock = FrozenClock(NOW)
    with wellkept.open("memory:", clock=clock) as store:
        store.remember("The office is in Vilnius.", event_time="9999-01-01", **OFFICE)
        outcomes = []
        for city in ("Graz", "Linz", "Wels"):
            clock.advance(days=1)
            result = store.remember(f"The office is in {city}.", **OFFICE)
            outcomes.append((result.outcome, result.memory.status if result.memory else ""))
        assert outcomes == [("created", "active"), ("superseded", "active"), ("superseded", "active")]
        assert _active(store) == {"The office is in Vilnius.", "The office is in Wels."}
        assert store.recall("where is the office?")[0].memory.content == "The office is in Wels."


def test_an_announcement_replaces_nothing_until_its_day_and_then_it_counts() -> None:
    clock = FrozenClock(NOW)
    with wellkept.open("memory:", clock=clock) as store:
        store.remember("The office is in Graz.", **OFFICE)
        told = store.remember("The office is in Linz.", event_time="2026-06-01", **OFFICE)
        assert told.outcome == "created" and _active(store) == {"The office is in Graz.", "The office is in Linz."}
        assert store.recall("where is the office?")[0].memory.content == "The office is in Graz."
        again = store.remember("The office is in Graz.", **OFFICE)
        assert again.outcome == "duplicate"
        clock.advance(days=122)
        later = store.remember("The office is in Wels.", **OFFICE)
        assert later.outcome == "superseded" and _active(store) == {"The office is in Wels."}


def test_what_began_before_the_announced_day_came_is_history_afterwards() -> None:
    clock = FrozenClock(NOW)
    with wellkept.open("memory:", clock=clock) as store:
        store.remember("The office is in Linz.", event_time="2026-06-01", **OFFICE)
        clock.advance(days=122)
        late = store.remember("The office is in Graz.", event_time="2025-01-01", **OFFICE)
        assert late.memory is not None and late.memory.status == "superseded"
        assert _active(store) == {"The office is in Linz."}


@pytest.mark.parametrize("kind", ["fact", "semantic", "knowledge"])
def test_what_holds_is_a_repeat_when_told_again_whatever_is_announced(kind: str) -> None:
    clock = FrozenClock(NOW)
    with wellkept.open("memory:", clock=clock) as store:
        first = store.remember("The office is in Graz.", kind=kind, subject="office")
        second = store.remember("The office is in Linz.", kind=kind, subject="office", event_time="2027-01-01")
        assert first.memory is not None and second.memory is not None
        again = store.remember("The office is in Graz.", kind=kind, subject="office")
        assert again.outcome == "duplicate" and again.memory is not None and again.memory.id == first.memory.id
        assert store.get(first.memory.id).status == "active"


def test_the_same_announced_day_with_another_value_is_a_correction() -> None:
    with wellkept.open("memory:", clock=FrozenClock(NOW)) as store:
        store.remember("The office is in Linz.", event_time="2026-06-01", **OFFICE)
        store.remember("The office is in Wels.", event_time="2026-06-01", **OFFICE)
        assert _active(store) == {"The office is in Wels."}
