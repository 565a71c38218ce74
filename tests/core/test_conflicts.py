"""Conflict rows: one key for a pair, open until settled or expired."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.records.conflicts import between, is_open, is_reviewed, key_of, opened, retold, settled
from wellkept.types import Comparison, Difference, Memory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def memory(name, text="text"):
    return Memory(id=name, namespace="n", content=text, created_at=NOW, updated_at=NOW)


def test_the_key_is_the_same_for_a_pair_in_either_order():
    """S1-31."""
    assert key_of("a", "b", "contradiction") == key_of("b", "a", "contradiction")
    assert len(key_of("a", "b", "contradiction")) == 16


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("a", "b", "contradiction"), ("a", "b", "duplicate")),
        (("a", "b", "contradiction"), ("a", "c", "contradiction")),
        (("ab", "c", "contradiction"), ("a", "bc", "contradiction")),
    ],
)
def test_other_pairs_and_kinds_have_other_keys(left, right):
    assert key_of(*left) != key_of(*right)


def test_a_conflict_tells_the_pair_the_reason_the_similarity_and_both_texts():
    """S2-26, S1-30."""
    difference = Difference("number", "0.85", "0.95", decisive=True)
    comparison = Comparison("conflict", 0.99, 0.99, (difference,), "value_diff")
    made = between(
        memory("old", "threshold 0.85"), memory("new", "threshold 0.95"), comparison, kind="contradiction",
        moment=(NOW, 14.0),
    )  # fmt: skip
    assert (made.a, made.b, made.kind, made.reason, made.similarity) == (
        "old",
        "new",
        "contradiction",
        "value_diff",
        0.99,
    )
    assert (made.excerpt_a, made.excerpt_b, made.differences) == ("threshold 0.85", "threshold 0.95", (difference,))
    assert (made.created_at, made.expires_at, made.resolution) == (NOW, NOW + timedelta(days=14), None)
    assert opened(made).before is None and opened(made).after == made


def test_a_long_text_is_cut_in_a_conflict():
    made = between(
        memory("a", "word " * 500), memory("b"), Comparison("same", 1.0, 1.0), kind="duplicate", moment=(NOW, 1.0)
    )
    assert len(made.excerpt_a) <= 200
    assert made.reason == "repeat"


@pytest.mark.parametrize(
    ("days", "resolution", "open_"),
    [
        (0, None, True),
        (13.99, None, True),
        (14, None, False),  # expired means both are kept (E-0)
        (15, None, False),
        (0, "keep_new", False),
        (0, "dismissed", False),
    ],
)
def test_a_conflict_is_open_until_it_is_settled_or_expires(days, resolution, open_):
    made = between(memory("a"), memory("b"), Comparison("conflict", 0.9, 0.9), kind="contradiction", moment=(NOW, 14.0))
    if resolution is not None:
        made = settled(made, resolution, at=NOW)
        assert (made.resolution, made.resolved_at) == (resolution, NOW)
    assert is_open(made, NOW + timedelta(days=days)) is open_


@pytest.mark.parametrize(
    ("resolution", "after", "reviewed"),
    [
        (None, 0, False),
        ("keep_both", 13, True),
        ("keep_both", 14, False),
        ("keep_new", 15, True),
    ],
)
def test_a_conflict_that_was_closed_because_its_time_was_over_was_reviewed_by_nobody(resolution, after, reviewed):
    made = between(memory("old"), memory("new"), Comparison("conflict", 0.9, 0.9), kind="contradiction",
                   moment=(NOW, 14.0))  # fmt: skip
    if resolution is not None:
        made = settled(made, resolution, at=NOW + timedelta(days=after))
    assert is_reviewed(made) == reviewed


def test_a_conflict_told_again_shows_the_words_of_now():
    made = between(memory("old"), memory("new"), Comparison("conflict", 0.9, 0.9, (), "value_diff"),
                   kind="contradiction", moment=(NOW, 14.0))  # fmt: skip
    again = retold(made, memory("old", "port 1"), memory("new", "port 2"), Comparison("conflict", 0.9, 0.9))
    assert (again.excerpt_a, again.excerpt_b, again.reason) == ("port 1", "port 2", made.reason)
    assert (again.key, again.a, again.b) == (made.key, made.a, made.b)
