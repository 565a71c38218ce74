"""The result of a merge: the winner's text, and fields of the others (S1-39, S1-41)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.consolidation.merged_memory import (
    change_of,
    changed,
    folded,
    holds,
    merged_from,
    promoted_by,
    raised,
    used_by_all,
    winner,
)
from wellkept.core.consolidation.repointing import edge_to
from wellkept.core.consolidation.rules import DEFAULT_RULES, Rule
from wellkept.core.records.merge import MAX_PROVENANCE
from wellkept.types import Memory

MERGE = DEFAULT_RULES[0]
T0 = datetime(2026, 1, 1, tzinfo=UTC)


def row(name: str, minutes: float = 0, **fields: Any) -> Memory:
    at = T0 + timedelta(minutes=minutes)
    fields = {"content": f"text {name}", **fields}
    return Memory(id=name, namespace="n", created_at=at, updated_at=at, **fields)


A, B, C = row("a", 1, access_count=2), row("b", 2, content="the longest of all texts"), row("c", 3, access_count=1)


@pytest.mark.parametrize(("how", "expected"), [("newest", "c"), ("oldest", "a"), ("most_used", "a"), ("longest", "b")])
def test_the_winner_is_the_one_the_rule_names(how: Any, expected: str) -> None:
    assert winner((A, B, C), how).id == winner((C, B, A), how).id == expected


def test_ties_go_to_the_newer_and_at_one_time_to_the_greater_id() -> None:
    """S1-24."""
    same = [row(name, 5) for name in ("x", "z", "y")]
    assert {winner(same, how).id for how in ("newest", "most_used", "longest")} == {"z"}
    assert winner(same, "oldest").id == "x"


CASES: list[tuple[str, list[dict[str, Any]], Any]] = [
    ("importance", [{"importance": 0.4}, {"importance": 0.9}], 0.9),
    ("access_count", [{"access_count": 3}, {"access_count": 4}], 7),
    ("confirmations", [{"confirmations": 3}, {"confirmations": 4}, {}], 9),
    ("tags", [{"tags": ("b", "a")}, {"tags": ("a", "c")}], ("b", "a", "c")),
    ("provenance", [{"provenance": ("p",)}, {"provenance": ("q", "p")}], ("p", "q")),
    ("pinned", [{}, {"pinned": True}], True),
    ("source", [{}, {"source": "s"}], "s"),
    ("source", [{"source": "mine"}, {"source": "s"}], "mine"),
    ("last_accessed_at", [{"last_accessed_at": T0}, {}, {"last_accessed_at": T0 + timedelta(1)}], T0 + timedelta(1)),
    ("stability", [{"stability": 3.0}, {}, {"stability": 9.0}], 9.0),
    ("stability", [{}, {}], None),
    ("expires_at", [{"expires_at": T0}, {}], None),
    ("expires_at", [{"expires_at": T0}, {"expires_at": T0 + timedelta(1)}], T0 + timedelta(1)),
    ("title", [{}, {"title": "theirs"}], ""),  # a title is part of what the vector stands for
    ("subject", [{}, {"subject": "Nous"}], "Nous"),
    ("attribute", [{"subject": "nous"}, {"subject": "NOUS", "attribute": "status"}], "status"),
    ("attribute", [{"attribute": "colour"}, {"subject": "car"}], "colour"),
    ("subject", [{"attribute": "colour"}, {"subject": "car"}], ""),  # a slot put together from two is nobody's
    ("subject", [{"attribute": "colour"}, {"subject": "car", "attribute": "Colour"}], "car"),
    ("subject", [{}, {"subject": "car"}, {"subject": "Car", "attribute": "colour"}], "Car"),
    ("event_time", [{}, {"event_time": T0}], T0),
    ("event_end", [{"event_time": T0}, {"event_time": T0, "event_end": T0 + timedelta(1)}], T0 + timedelta(1)),
    ("event_time", [{"event_end": T0}, {"event_time": T0 + timedelta(5)}], None),  # it would end before it began
    ("event_end", [{"event_end": T0}, {"event_time": T0 + timedelta(5)}], T0),
]


@pytest.mark.parametrize(("field", "members", "expected"), CASES)
def test_each_field_of_the_others_is_kept_where_the_winner_has_room_for_it(
    field: str, members: list[dict[str, Any]], expected: Any
) -> None:
    """S1-39: nothing is invented, and nothing of the winner is replaced."""
    rows = [row(f"m{at}", -at, **fields) for at, fields in enumerate(members)]
    after = folded(rows[0], rows[1:], MERGE)
    assert getattr(after, field) == expected
    assert (after.content, after.id, after.version, after.embedding) == (rows[0].content, "m0", 1, "")


def test_metadata_of_all_is_kept_and_the_winners_word_counts() -> None:
    rows = (
        row("a", 3, metadata={"x": 1, "merged_from": ["old"]}),
        row("b", 2, metadata={"x": 2, "y": 2, "merged_from": ["older", "a"], "promoted": {"R3": 0.5}}),
        row("c", 1, metadata={"y": 3, "z": 3}),
    )
    after = folded(rows[0], rows[1:], MERGE).metadata
    assert after == {"x": 1, "y": 2, "z": 3, "merged_from": ["old", "older", "b", "c"], "promoted": {"R3": 0.5}}


def test_of_too_many_sources_the_winners_are_kept() -> None:
    """Every source stays readable in the memory that went."""
    rows = [row(f"m{at}", -at, provenance=tuple(f"{at}-{n}" for n in range(800))) for at in range(3)]
    kept = folded(rows[0], rows[1:], MERGE).provenance
    assert len(kept) == MAX_PROVENANCE
    assert kept[:800] == rows[0].provenance


@pytest.mark.parametrize(
    ("importance", "rule", "expected"),
    [
        (0.75, DEFAULT_RULES[2], 0.875),
        (0.95, DEFAULT_RULES[2], 1.0),
        (1.0, DEFAULT_RULES[2], 1.0),
        (0.4, Rule(id="r", trigger="always", action="promote", bump=0.2), 0.6),
        (0.4, Rule(id="r", trigger="always", action="promote", bump=0.2, cap=0.5), 0.5),
        (0.9, Rule(id="r", trigger="always", action="promote", bump=0.2, cap=0.5), 0.9),  # never lowered
        (0.5, Rule(id="r", trigger="always", action="promote", bump=0.5, cap=2.0, scale="1-3"), 0.625),
        (0.4, MERGE, 0.4),
    ],
)
def test_a_bump_stops_at_its_cap_on_either_scale(importance: float, rule: Rule, expected: float) -> None:
    """S1-35, S1-39, S1-41, B-18."""
    assert raised(importance, rule) == pytest.approx(expected)


@pytest.mark.parametrize("said", [None, 5, "ab", {"a": 1}, [1, None, {}], b"x"])
def test_foreign_metadata_under_our_names_says_nothing(said: Any) -> None:
    odd = row("a", metadata={"merged_from": said, "promoted": said})
    assert merged_from(odd) == ()
    assert promoted_by(odd) == (said if isinstance(said, dict) else {})
    assert folded(odd, (row("b", -1),), MERGE).metadata["merged_from"] == ["b"]


values = st.fixed_dictionaries(
    {},
    optional={
        "importance": st.sampled_from([0.0, 0.3, 1.0]),
        "access_count": st.integers(0, 5),
        "confirmations": st.integers(0, 5),
        "tags": st.lists(st.sampled_from("xyz"), unique=True).map(tuple),
        "pinned": st.booleans(),
        "subject": st.sampled_from(["", "Nous"]),
        "attribute": st.sampled_from(["", "status"]),
        "event_time": st.sampled_from([None, T0]),
        "expires_at": st.sampled_from([None, T0, T0 + timedelta(3)]),
        "metadata": st.dictionaries(st.sampled_from("xyz"), st.integers(0, 3)),
        "last_accessed_at": st.sampled_from([None, T0]),
        "stability": st.sampled_from([None, 2.0]),
    },
)


@pytest.mark.parametrize(("status", "hidden"), [("superseded", True), ("wording", True), ("archived", False)])
def test_what_steps_behind_another_memory_notes_when(status: Any, *, hidden: bool) -> None:
    applied = changed(A, change_of(A, replace(A, status=status)), at=T0)
    assert (applied.status, applied.superseded_at) == (status, T0 if hidden else None)


@pytest.mark.parametrize(
    ("status", "edge"), [("wording", ("a", "front", "restates")), ("superseded", ("front", "a", "supersedes"))]
)
def test_what_stands_behind_a_memory_is_linked_by_its_status(status: Any, edge: tuple[str, str, str]) -> None:
    assert edge_to("front", replace(A, status=status)) == edge


@given(members=st.lists(values, min_size=2, max_size=5), later=st.integers(0, 9))
def test_a_planned_change_applied_is_the_fold_and_is_recognised(members: list[dict[str, Any]], later: int) -> None:
    """`done` means that the state after holds and the state before does not; later usage counts are kept."""
    rows = [row(f"m{at}", -at, **fields) for at, fields in enumerate(members)]
    whole = folded(rows[0], rows[1:], MERGE)
    change = change_of(rows[0], whole)
    now = replace(rows[0], confirmations=rows[0].confirmations + later)
    applied = changed(now, change, at=T0)
    expected = replace(
        whole, confirmations=whole.confirmations + later, updated_at=T0, version=2,
        access_count=now.access_count, last_accessed_at=now.last_accessed_at, stability=now.stability,
    )  # fmt: skip
    assert applied == expected
    assert used_by_all(rows[0], rows[1:]).access_count == whole.access_count
    assert holds(applied, change.after)
    assert not holds(rows[0], change.after)
    assert set(change.before) == set(change.after)
