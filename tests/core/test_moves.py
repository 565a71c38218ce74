"""Newer before older, with the reason on the hit that was moved."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellkept.core.recall.reordering import Pair, reordered
from wellkept.types import Hit, Memory, Move

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def hits(**scores: float) -> list[Hit]:
    return [
        Hit(Memory(id=key, namespace="n", content=key, created_at=DAY, updated_at=DAY), score, {})
        for key, score in scores.items()
    ]


@pytest.mark.parametrize(
    ("scores", "pairs", "order", "moved"),
    [
        ({"a": 0.9, "x": 0.8, "b": 0.7}, ["ab"], "bax", {"b": "a"}),
        ({"b": 0.9, "a": 0.7}, ["ab"], "ba", {}),  # the score gave the place
        ({"a": 0.9, "b": 0.1}, ["ab"], "ab", {}),  # too far behind
        ({"a": 0.9, "x": 0.8}, ["ab", "ba"], "ax", {}),  # one of the two is no answer
        ({"a": 0.9, "b": 0.8, "c": 0.7}, ["ab", "bc"], "cba", {"b": "a", "c": "b"}),
        ({"a": 0.9, "b": 0.8, "c": 0.7}, ["bc", "ac"], "cab", {"c": "a"}),  # the best that was passed
    ],
)
def test_a_hit_that_was_put_before_a_better_one_says_before_which(scores, pairs, order, moved):
    found = reordered(hits(**scores), [Pair(pair[1], Move(pair[0], "outdates", 0.9)) for pair in pairs])
    assert "".join(hit.memory.id for hit in found) == order
    assert {hit.memory.id: hit.moved.over for hit in found if hit.moved is not None} == moved
