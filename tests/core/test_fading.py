"""What time does to a store: stages by kind, and what a decay pass archives."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.consolidation.rules import Rule, When
from wellkept.core.consolidation.upkeep_rules import TTL_DAYS, Aging, KindFading, fading, fading_plan
from wellkept.errors import InvalidField
from wellkept.policy import Policy
from wellkept.types import Memory, Plan, Scope

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def memory(name: str, days: float, kind: str = "lesson") -> Memory:
    """A memory of this age in days that was never used."""
    at = NOW - timedelta(days=days)
    return Memory(id=name, namespace="n", content=f"About {name}.", kind=kind, created_at=at, updated_at=at)


def plan(*rows: Memory, aging: Aging | None = None) -> Plan:
    return fading_plan(
        rows, (), aging or Aging(), policy=Policy(), namespace="n", scope=Scope(), now=NOW
    )  # fmt: skip


def test_each_kind_is_counted_by_its_stages_and_what_faded_lately_is_named() -> None:
    rows = [memory("new", 0), memory("weak", 83), memory("gone", 800), memory("signal", 1, "signal")]
    kinds, moved = fading(rows, Policy(), now=NOW, days=5)
    assert kinds == (KindFading("lesson", 1, 1, 1), KindFading("signal", 1, 0, 0))
    assert [(one.memory_id, one.before, one.after) for one in moved] == [("weak", "ACTIVE", "WEAK")]


@pytest.mark.parametrize(
    ("row", "archived"),
    [
        (memory("fresh", 1), False),
        (memory("faded", 2_000), True),
        (replace(memory("lapsed", 1), expires_at=NOW - timedelta(hours=1)), True),
        (replace(memory("lasting", 1), expires_at=NOW + timedelta(hours=1)), False),
        (replace(memory("pinned", 2_000), pinned=True), False),
        (memory("procedure", 9_000, "procedural"), False),
    ],
    ids=lambda one: getattr(one, "id", ""),
)
def test_what_has_lapsed_or_faded_is_archived_by_default(row: Memory, *, archived: bool) -> None:
    assert [action.type for action in plan(row).actions] == ["archive"] * archived


@pytest.mark.parametrize(
    ("ttl", "row", "reasons"),
    [
        ({"note": 30.0}, memory("old", 31, "note"), ("nobody changed or confirmed it for 30 days",)),
        ({"note": 30.0}, memory("young", 29, "note"), None),
        ({"note": 30.0}, replace(memory("revised", 31, "note"), updated_at=NOW - timedelta(days=1)), None),
        ({"note": 30.0}, replace(memory("tagged", 31), tags=("note",)), None),
        ({"lesson": None}, memory("faded for good", 2_000), None),
        (TTL_DAYS, memory("yesterday's", 2, "temp_note"), ("nobody changed or confirmed it for 1 days",)),
    ],
    ids=lambda one: getattr(one, "id", ""),
)
def test_a_time_to_live_concerns_its_kind_and_runs_from_the_last_change(
    ttl: dict[str, float | None], row: Memory, reasons: tuple[str, ...] | None
) -> None:
    found = [action.rationale.reasons for action in plan(row, aging=Aging(ttl=ttl)).actions]
    assert found == ([] if reasons is None else [reasons])


def test_a_rule_that_spares_a_memory_plans_nothing_for_it() -> None:
    spares = Rule(id="keep", trigger="always", action="noop", when=When(categories_any=("keep",)))
    aging = Aging(rules=(spares, *Aging().rules))
    rows = (replace(memory("kept", 2_000), tags=("keep",)), memory("faded", 2_000))
    assert [(action.type, action.targets) for action in plan(*rows, aging=aging).actions] == [("archive", ("faded",))]


def test_archivings_stand_in_the_order_of_the_memories_and_one_plan_has_one_id() -> None:
    rows = [memory("b", 2_000), memory("a", 2_000, "note"), memory("c", 2_000)]
    assert [action.targets for action in plan(*rows).actions] == [("b",), ("a",), ("c",)]
    assert plan(*rows) == plan(*rows)
    assert plan(*rows).plan_id != plan(*rows[:2]).plan_id


@pytest.mark.parametrize("days", [0, -1, True, "7", 40_000])
def test_a_time_to_live_is_a_number_of_days(days: object) -> None:
    with pytest.raises(InvalidField, match="is not a number of days"):
        Aging(ttl={"note": days})  # type: ignore[dict-item]


@pytest.mark.parametrize("days", [-1, True, "7", 40_000])
def test_the_days_that_are_looked_back_are_a_number(days: object) -> None:
    with pytest.raises(InvalidField, match="is not a number of days"):
        Aging(days=days)  # type: ignore[arg-type]
