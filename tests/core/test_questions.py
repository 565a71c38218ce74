"""Which stored memories the relation model is asked about, as tables (design §5, §12: eight candidates)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wellkept.core.judging.calibration import IDENTITY
from wellkept.core.judging.compare import LONG_TEXT
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.core.judging.what_to_ask import ALIKE_ASKED, NEAREST_ASKED, asked_from, questions
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import Candidate, Memory, NewMemory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NEW = "The pipeline ships every merge by itself"
OPEN = "Deploys are started by hand"


def stored(name: str = "m", content: str = OPEN, **values: Any) -> Memory:
    made = {"namespace": "n", "kind": "fact", "created_at": NOW - timedelta(days=1), "updated_at": NOW} | values
    return Memory(id=name, content=content, **made)


def asked(*near: tuple[Memory, float | None], new: NewMemory | None = None, **more: Any) -> list[str]:
    policy = more.pop("policy", Policy())
    evidence = Evidence(
        neighbours=tuple(Candidate(row, "vector", cosine) for row, cosine in near), calibration=IDENTITY
    )
    evidence = replace(evidence, **more)
    new = new or NewMemory(content=NEW, kind="fact")
    found = questions(new, evidence, Moment(NOW, "new", "n", policy, policy.for_kind(new.kind)))
    return [row.id for row in found]


def test_at_most_eight_are_asked_about_and_the_nearest_come_first() -> None:
    rows = [(stored(f"m{place}", f"{OPEN} {'.' * place}"), 0.6 + place / 100) for place in range(12)]
    eight = ["m11", "m10", "m9", "m8", "m7", "m6", "m5", "m4"]
    assert NEAREST_ASKED + ALIKE_ASKED == len(eight)
    assert asked(*rows) == eight
    assert asked(*reversed(rows)) == eight  # the backend's order says nothing (I9)


def test_beyond_the_nearest_those_that_share_most_words_are_asked_about() -> None:
    """A vector misses what the words show, most of all in languages that the embedder hardly knows."""
    near = [(stored(f"m{place}", f"{OPEN} {'.' * place}"), 0.9 - place / 100) for place in range(9)]
    worded = (stored("w", "Nothing ships by itself"), 0.4)
    assert asked(*near, worded) == ["m0", "m1", "m2", "m3", "w", "m4", "m5", "m6"]
    assert "w" not in asked(*near, (stored("w", "Lunch is at noon"), 0.4))


def test_of_equally_near_ones_the_order_is_that_of_their_ids() -> None:
    """I4."""
    rows = [(stored(name, f"{OPEN} {name}"), 0.7) for name in "jihgfedcba"]
    assert asked(*rows) == asked(*reversed(rows)) == ["a", "b", "c", "d", "e", "f", "g", "h"]


def test_what_is_left_out_takes_no_place_among_them() -> None:
    closed = [(stored(f"x{place}", f"  {NEW}{'!' * place}"), 0.99) for place in range(8)]
    open_ones = [(stored(f"m{place}", f"{OPEN} {'.' * place}"), 0.6) for place in range(8)]
    assert asked(*closed, *open_ones) == [f"m{place}" for place in range(8)]


LEFT_OUT: dict[str, tuple[Memory, float | None, NewMemory | None]] = {
    "verbatim but for spelling": (stored(content=f"{NEW.upper()}!"), 0.99, None),
    "another number in the same statement": (
        stored(content="The retry limit is 3"), 0.9, NewMemory(content="The retry limit is 5", kind="fact"),
    ),
    "another value in the same statement": (
        stored(content="Use ruff for linting"), 0.9, NewMemory(content="Use flake8 for linting", kind="fact"),
    ),
    "opposed polarity": (stored(polarity=1), 0.8, NewMemory(content=NEW, kind="fact", polarity=-1)),
    "another subject": (stored(subject="Nous"), 0.9, NewMemory(content=NEW, kind="fact", subject="Hynous")),
    "another attribute": (
        stored(subject="Nous", attribute="speed"), 0.9,
        NewMemory(content=NEW, kind="fact", subject="nous", attribute="price"),
    ),
    "another time": (
        stored(event_time=NOW), 0.9, NewMemory(content=NEW, kind="fact", event_time=NOW + timedelta(days=3)),
    ),
    "a long stored text": (stored(content="word " * (LONG_TEXT // 5) + "x"), 0.9, None),
    "a long new text": (stored(), 0.9, NewMemory(content="word " * (LONG_TEXT // 5) + "x", kind="fact")),
    "superseded": (stored(status="superseded"), 0.9, None),
    "archived": (stored(status="archived"), 0.9, None),
    "expired": (stored(expires_at=NOW - timedelta(seconds=1)), 0.9, None),
    "another agent": (stored(agent="ana"), 0.9, NewMemory(content=NEW, kind="fact", agent="bo")),
    "too far away": (stored(), asked_from(NEW) - 0.001, None),
    "in another language, and less than nothing in common": (
        stored(content="Die Miete beträgt 900 Euro."), -0.001, NewMemory(content="办公室搬到了北京。", kind="fact"),
    ),
    "no cosine": (stored(), None, None),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_pair_that_is_decided_or_out_of_reach_is_not_asked_about(
    case: tuple[Memory, float | None, NewMemory | None],
) -> None:
    row, cosine, new = case
    assert asked((row, cosine), new=new) == []


ASKED: dict[str, tuple[Memory, float, NewMemory | None]] = {
    "just near enough": (stored(), asked_from(NEW), None),
    "in another language at any similarity": (
        stored(content="我们的办公室在上海。"), 0.0, NewMemory(content="办公室搬到了北京。", kind="fact"),
    ),
    "a word more": (stored(content=f"{OPEN} today"), 1.0, None),
    "a number elsewhere": (
        stored(content="The retry limit is 3 for uploads"), 0.7,
        NewMemory(content="Uploads give up after 5 attempts", kind="fact"),
    ),
    "an added condition": (
        stored(content="Use it on weekends"), 0.9,
        NewMemory(content="Use it on weekends unless it rains", kind="fact"),
    ),
    "a subject on one side only": (stored(subject="Nous"), 0.9, None),
    "the same subject in another case": (
        stored(subject="Nous"), 0.9, NewMemory(content=NEW, kind="fact", subject="NOUS"),
    ),
    "the longest text that is read": (stored(content="w" * LONG_TEXT), 0.9, None),
    "expiring later": (stored(expires_at=NOW + timedelta(days=1)), 0.9, None),
    "a denial": (  # B-14: "no other than X" denies nothing, so a decisive negation is asked again
        stored(content="We always use black for formatting"), 0.9,
        NewMemory(content="We never use black for formatting", kind="fact"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ASKED.values(), ids=ASKED)
def test_what_the_rules_leave_open_is_asked_about(case: tuple[Memory, float, NewMemory | None]) -> None:
    row, cosine, new = case
    assert asked((row, cosine), new=new) == ["m"]


def test_without_a_scale_nothing_is_asked() -> None:
    """B-34: an unmeasured cosine is no similarity."""
    assert asked((stored(), 0.9), calibration=None) == []


def test_a_write_that_ignores_conflicts_asks_nothing() -> None:
    """B-37."""
    assert asked((stored(), 0.9), policy=Policy().with_conflict("fact", "ignore")) == []


@pytest.mark.parametrize(
    ("new", "old", "found"),
    [
        ("decision", "fact", ["m"]),
        ("fact", "decision", ["m"]),
        ("episode", "fact", ["m"]),
        ("note", "lesson", ["m"]),
        ("semantic", "lesson", ["m"]),  # one family
        ("episodic", "lesson", []),  # raw chat stays among itself
        ("feedback", "semantic", ["m"]),  # an update crosses every kind but the append-only ones
        ("lesson", "knowledge", ["m"]),
        ("decision", "decision", ["m"]),  # compared by no vector stage of its own, so only for a contradiction
        ("thesis", "fact", []),  # append-only kinds are events: neither asked nor asked about
        ("fact", "thesis", []),
        ("signal", "signal", []),
    ],
)
def test_another_kind_is_asked_about_only_where_both_look_further(new: str, old: str, found: list[str]) -> None:
    """§12: kinds are kept apart for dropping only; restatements cross a family, marks every kind but events."""
    assert asked((stored(kind=old), 0.7), new=NewMemory(content=NEW, kind=new)) == found


@pytest.mark.parametrize("closed", ["decision", "fact"])
def test_one_kind_that_keeps_to_its_own_is_enough_to_ask_nothing(closed: str) -> None:
    own = replace(DEFAULT_KINDS[closed], conflicts_with="own_kind", family="", updates="list")
    policy = Policy(kinds={**DEFAULT_KINDS, closed: own})
    assert asked((stored(), 0.7), new=NewMemory(content=NEW, kind="decision"), policy=policy) == []


def test_of_another_kind_too_the_scope_of_the_agent_holds() -> None:
    decision = NewMemory(content=NEW, kind="decision", agent="bo")
    assert asked((stored(agent="ana"), 0.7), new=decision) == []
    assert asked((stored(agent="bo"), 0.7), new=decision) == ["m"]


def test_tags_limit_the_search_within_a_kind() -> None:
    """S2-21: common tags, or none on either side."""
    tagged = stored(kind="semantic", tags=("ops",))
    assert asked((tagged, 0.7), new=NewMemory(content=NEW, tags=("ops",))) == ["m"]
    assert asked((tagged, 0.7), new=NewMemory(content=NEW, tags=("billing",))) == []
