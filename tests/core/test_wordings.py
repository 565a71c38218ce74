"""Wordings among hits give their rank to their head."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellkept.core.recall.wordings import heads_only
from wellkept.types import Hit, Memory

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def hit(name: str, score: float, *, behind: str = "") -> Hit:
    row = Memory(
        id=name, namespace="n", content=name, created_at=NOW, updated_at=NOW,
        status="wording" if behind else "active", superseded_by=behind,
    )  # fmt: skip
    return Hit(row, score, {"lexical": score})


@pytest.mark.parametrize(
    ("hits", "told"),
    [
        ([hit("a", 0.5), hit("b", 0.6)], [("b", 0.6, ""), ("a", 0.5, "")]),
        ([hit("a", 0.5), hit("w", 0.9, behind="a"), hit("b", 0.6)], [("a", 0.9, "w"), ("b", 0.6, "")]),
        ([hit("w", 0.9, behind="a"), hit("x", 0.8, behind="a"), hit("a", 0.5)], [("a", 0.9, "w")]),
        ([hit("a", 0.5), hit("w", 0.4, behind="a")], [("a", 0.5, "")]),
        ([hit("a", 0.5), hit("w", 0.5, behind="a")], [("a", 0.5, "")]),
    ],
)
def test_a_head_is_shown_once_with_the_rank_of_the_text_that_fits_best(hits: list[Hit], told: list[object]) -> None:
    found = heads_only(hits)
    assert [(one.memory.id, one.score, one.wording.id if one.wording else "") for one in found] == told
    assert all(one.parts == {"lexical": one.score} for one in found)
