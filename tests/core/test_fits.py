"""What a filter means: the first of its parts that a memory does not match."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wellkept.core.records.fits import matching, misfit
from wellkept.types import Filter, Memory

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)
ROW = Memory(
    id="mem_a1b2", namespace="n", content="Ann drinks tea", created_at=NOW, updated_at=NOW, kind="fact", subject="Ann",
    attribute="Drink", tags=("Kitchen", "tea"), source="chat", importance=0.5, metadata={"cups": 1, "with": ["milk"]},
)  # fmt: skip


@pytest.mark.parametrize(
    ("part", "fitting", "unfit"),
    [
        ("ids", {"ids": ("mem_a1b2", "x")}, {"ids": ()}),
        ("id", {"id_prefix": "mem_a1"}, {"id_prefix": "a1"}),
        ("id", {"id_end": "b2"}, {"id_end": "b"}),
        ("after", {"after": (NOW, "mem_a1b1")}, {"after": (NOW, "mem_a1b2")}),
        ("before", {"before": (NOW, "mem_a1b3")}, {"before": (NOW, "mem_a1b2")}),
        ("kinds", {"kinds": ("fact", "note")}, {"kinds": ("note",)}),
        ("subject", {"subject": "ANN "}, {"subject": ""}),
        ("attribute", {"attribute": "drink"}, {"attribute": "drinks"}),
        ("tags", {"tags": ("kitchen", "x")}, {"tags": ("x", "y")}),
        ("sources", {"sources": ("mail", "chat")}, {"sources": ("Chat",)}),
        ("metadata.cups", {"metadata": {"cups": 1}}, {"metadata": {"cups": True}}),
        ("metadata.with", {"metadata": {"with": ("milk",)}}, {"metadata": {"with": ["tea"]}}),
        ("metadata.who", {"metadata": {}}, {"metadata": {"who": None}}),
        ("statuses", {"statuses": ("archived", "active")}, {"statuses": ("archived",)}),
        ("ongoing", {"ongoing": True}, {"ongoing": False}),
        ("created_from", {"created_from": NOW}, {"created_from": LATER}),
        ("created_to", {"created_to": LATER}, {"created_to": NOW}),
        ("min_importance", {"min_importance": 0.5}, {"min_importance": 0.6}),
        ("unchecked", {"unchecked": False}, {"unchecked": True}),
    ],
)
def test_each_part_lets_a_memory_through_or_is_named(part: str, fitting: dict[str, Any], unfit: dict[str, Any]) -> None:
    assert misfit(Filter(**fitting))(ROW) == ""
    assert misfit(Filter(**unfit))(ROW) == part


def test_a_filter_without_conditions_on_the_status_means_active_memories() -> None:
    assert misfit(Filter())(replace(ROW, status="superseded")) == "statuses"
    assert misfit(Filter(statuses=()))(replace(ROW, status="superseded")) == ""


@pytest.mark.parametrize(
    ("where", "limit", "ids"),
    [
        (Filter(), None, "abcd"),
        (Filter(), 2, "ab"),
        (Filter(), -1, ""),
        (Filter(before=(LATER, "")), 2, "cd"),
        (Filter(before=(LATER, ""), ids=("a", "b", "c")), 2, "ab"),
    ],
)
def test_before_a_row_the_last_ones_are_meant_and_otherwise_the_first(where: Filter, limit: int, ids: str) -> None:
    rows = [replace(ROW, id=name) for name in "abcd"]
    assert "".join(row.id for row in matching(rows, where, limit=limit)) == ids
