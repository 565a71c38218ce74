"""Whether the fields of a record hold what their types say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from wellkept.core.records.field_types import misfit
from wellkept.types import Conflict, JournalEntry, Link, Memory, Update
from wellkept.types.jobs import QueuedJob

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("record", "values"),
    [
        (Memory, {}),
        (Memory, {"content": "x", "pinned": True, "version": 10**30, "importance": 1, "confidence": 0.5}),
        (Memory, {"polarity": -1, "status": "erased", "tags": ("a",), "metadata": {"x": [None]}, "expires_at": None}),
        (
            Memory,
            {"expires_at": NOW, "updates": (Update(NOW, "x", 0.5),), "stability": None, "no_such_field": object()},
        ),
        (Link, {"src": "a", "created_at": NOW}),
        (Conflict, {"kind": "duplicate", "resolution": None, "similarity": None}),
    ],
)
def test_what_the_types_allow_fits(record: type, values: dict[str, Any]) -> None:
    assert misfit(record, values) == ""


@pytest.mark.parametrize(
    ("record", "name", "value"),
    [
        (Memory, "content", 5),
        (Memory, "content", None),
        (Memory, "content", b"x"),
        (Memory, "version", 1.0),
        (Memory, "version", True),
        (Memory, "pinned", 1),
        (Memory, "polarity", 99),
        (Memory, "polarity", 1.0),
        (Memory, "polarity", []),
        (Memory, "status", "zombie"),
        (Memory, "status", {}),
        (Memory, "confidence", "x"),
        (Memory, "confidence", True),
        (Memory, "confidence", float("nan")),
        (Memory, "stability", float("inf")),
        (Memory, "importance", 10**400),
        (Memory, "tags", ["a"]),
        (Memory, "tags", ("a", 1)),
        (Memory, "metadata", []),
        (Memory, "expires_at", "2026-03-01"),
        (Memory, "created_at", None),
        (Memory, "updates", ({},)),
        (Link, "src", 3),
        (Conflict, "kind", "quarrel"),
        (Conflict, "resolution", "keep"),
        (JournalEntry, "verb", 3),
        (QueuedJob, "state", "lost"),
        (QueuedJob, "turn", "1"),
    ],
)
def test_what_the_types_do_not_allow_is_named(record: type, name: str, value: Any) -> None:
    assert misfit(record, {"no_such_field": 1, name: value}) == name
