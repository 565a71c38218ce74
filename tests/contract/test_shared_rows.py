"""Rows that are read again: what is decoded once is shared, but nothing that a caller can change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from wellkept.core.records.codec import record_text
from wellkept.core.records.vectors import quantise, restore, unit
from wellkept.errors import Corrupt
from wellkept.storage.memory_rows import memory_of, vectors_of
from wellkept.types import Memory

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def row(**fields: Any) -> Memory:
    return Memory(id="m1", namespace="n", created_at=NOW, updated_at=NOW, **{"content": "Tea at four.", **fields})


@pytest.mark.parametrize(
    ("memory", "is_shared"),
    [
        (row(), True),
        (row(content='It says "metadata" and "signals".'), True),
        (row(metadata={"seen": [1]}), False),
        (row(signals={"door": "open"}), False),
    ],
    ids=["plain", "the words in the text", "metadata", "signals"],
)
def test_a_record_is_shared_unless_it_holds_values_of_the_caller(memory: Memory, *, is_shared: bool) -> None:
    one, other = (memory_of(record_text(memory), 0, None, None) for _ in range(2))
    assert one == other == memory
    assert (one is other) == is_shared


def test_a_change_of_own_values_in_a_result_does_not_reach_the_next_read() -> None:
    text = record_text(row(metadata={"seen": [1]}))
    memory_of(text, 0, None, None).metadata["seen"].append(2)
    assert memory_of(text, 0, None, None).metadata == {"seen": [1]}


def test_the_use_of_a_memory_is_read_anew_although_its_record_is_known() -> None:
    text = record_text(row())
    assert [memory_of(text, count, None, None).access_count for count in (0, 1, 2, 1)] == [0, 1, 2, 1]


def test_a_damaged_record_is_corrupt_each_time() -> None:
    for _ in range(2):
        with pytest.raises(Corrupt):
            memory_of('{"content":1}', 0, None, None)


def test_a_stored_vector_is_shared_and_cannot_be_written_to() -> None:
    blob = quantise(unit(np.arange(1.0, 9.0)))
    [vector] = vectors_of(blob, 8)
    assert vector is not None and vectors_of(bytes(bytearray(blob)), 8)[0] is vector
    assert np.array_equal(vector, restore(blob))
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1.0
    assert vectors_of(blob[:-2], 8) == [None]
