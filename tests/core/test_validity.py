"""When a memory held in the world: from its event to its end or its replacement."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellkept.core.records.validity import held_at
from wellkept.types import Memory


def day(month: int) -> datetime:
    return datetime(2026, month, 1, tzinfo=UTC)


def memory(created: int, **fields: object) -> Memory:
    return Memory(id="m", namespace="n", content="x", created_at=day(created), updated_at=day(created), **fields)  # type: ignore[arg-type]


GONE = {"status": "superseded", "superseded_by": "s"}


@pytest.mark.parametrize(
    ("old", "new", "held"),
    [
        (memory(3), None, (False, True, True)),  # nobody said so before it was written
        (memory(3, event_time=day(1)), None, (True, True, True)),
        (memory(1, event_time=day(5)), None, (False, False, True)),  # a plan for later
        (memory(1, event_end=day(4)), None, (True, True, False)),  # its last moment counts
        (memory(1, expires_at=day(4)), None, (True, False, False)),
        # Replaced in June by what was true from April on: the world changed in April.
        (memory(1, superseded_at=day(6), **GONE), memory(6, event_time=day(4)), (True, False, False)),
        (memory(1, superseded_at=day(6), **GONE), memory(6), (True, True, False)),
        # The other statement is the older one: so it held until somebody decided.
        (memory(1, superseded_at=day(4), **GONE), memory(1, event_time=day(1)), (True, False, False)),
        (memory(1, superseded_at=day(4), **GONE), None, (True, False, False)),
    ],
)
def test_a_statement_holds_from_its_beginning_to_its_end(old, new, held):
    """B-35; asked in February, on the first of April, and in July."""
    assert tuple(held_at(old, new, at) for at in (day(2), day(4), day(7))) == held
