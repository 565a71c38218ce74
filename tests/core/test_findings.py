"""Groups of equal texts, verdicts on pairs, and pairs that are excluded (S1-19, S1-28, I2, E-2.6, E-3.8)."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.consolidation.findings import (
    MOST_CLOSED,
    MOST_CONFLICTS,
    MOST_IN_SLOT,
    Court,
    Finding,
    Near,
    Nears,
    Patience,
    Verdict,
    comparable,
    exact_groups,
    families,
    is_open,
    is_plainly_apart,
    judged,
    looked_at,
    nearest_only,
    of_one_subject,
    order_of,
    says_something,
)
from wellkept.core.judging.evidence import says_the_same
from wellkept.core.judging.other_fields import agreed, agreeing, beside
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.policy import CONFLICT_REPORT_AT, Policy
from wellkept.types import Memory, Opinion, Update

POLICY = Policy()
T0 = datetime(2026, 1, 1, tzinfo=UTC)
BOUNDS = Bounds(0.9, 0.5, 0.8, 0.5, 0.9)


def row(name: str, content: str, minutes: float = 0, **fields: Any) -> Memory:
    at = T0 + timedelta(minutes=minutes)
    return Memory(id=name, namespace="n", content=content, created_at=at, updated_at=at, **fields)


def near(a: Memory, b: Memory, similarity: float | None = 0.96) -> Near:
    return Near(a, b, similarity, similarity)


def verdict(pair: Near, opinion: Opinion | None = None, *, lexical: bool = False) -> Verdict:
    said = {} if opinion is None else {(pair.a.content, pair.b.content): opinion}
    court = Court(policy=POLICY, bounds_of=lambda kind: BOUNDS, opinions=said, lexical=lexical)
    return judged(pair, court, looked_at(pair)).verdict


SAME = Opinion(1.0, 0, 0, 0, 0)


# -- groups ----------------------------------------------------------------------------------


def groups_of(rows: Sequence[Memory]) -> list[list[str]]:
    return [[one.id for one in group] for group in exact_groups(rows, POLICY)]


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ("Use SQLite", "use sqlite!", True),
        ("  Use\tSQLite\n", "Use SQLite", True),
        ("Use SQLite 3.40", "Use SQLite 340", False),  # I10
        ("C++", "C", False),
        ("MRR +5%", "MRR -5%", False),
        ("1.5", "15", False),
        ("数据库在东京。", "数据库在东京", True),
        ("数据库在东京", "数据库在大阪", False),
        ("Привет, мир", "привет мир", True),
        ("Straße", "STRASSE", True),
    ],
)
def test_spellings_of_one_text_are_a_group(a: str, b: str, *, alike: bool) -> None:
    """S1-19: and nothing that carries meaning is dropped."""
    assert bool(groups_of([row("a", a), row("b", b, 1)])) is alike


def test_kinds_agents_and_namesakes_are_not_mixed() -> None:
    rows = [
        row("1", "Said.", 1),
        row("2", "Said.", 2, kind="lesson"),
        row("3", "Said.", 3, agent="ana"),
        row("4", "said", 4, subject="Nous"),
        row("5", "said", 5, subject="Ana"),
        row("6", "said!", 6, subject=" nous "),
        row("7", "Said.", 7, kind="thesis"),
        row("8", "Said.", 8, kind="thesis"),
    ]
    assert groups_of(rows) == [["1", "4", "6"]]
    assert groups_of(rows[::-1]) == [["1", "4", "6"]]


fields = st.fixed_dictionaries(
    {},
    optional={
        "subject": st.sampled_from(["", "A", "b"]),
        "attribute": st.sampled_from(["", "x", "y"]),
        "title": st.sampled_from(["", "T", "t!", "U"]),
        "summary": st.sampled_from(["", "S"]),
        "trigger": st.sampled_from(["", "when", "then"]),
        "event_time": st.sampled_from([None, T0, T0 + timedelta(1)]),
        "event_end": st.sampled_from([None, T0, T0 + timedelta(1)]),
        "polarity": st.sampled_from([-1, 0, 1]),
    },
)


@given(said=st.lists(fields, min_size=1, max_size=14))
def test_members_of_a_group_all_say_the_same_and_each_stands_in_the_first_that_it_agrees_with(
    said: list[dict[str, Any]],
) -> None:
    """I2, B-37: the quick way finds what asking everybody would find."""
    rows = [row(f"{at:02}", "Equal.", at, **one) for at, one in enumerate(said)]
    slow: list[list[Memory]] = []
    for one in rows:
        home = next((group for group in slow if all(says_the_same(one, other) for other in group)), None)
        if home is None:
            slow.append([one])
        else:
            home.append(one)
    assert agreeing([(one, beside(one)) for one in rows]) == slow
    for group in slow:
        assert agreed(beside(one) for one in group) is not None
    for a, b in combinations(rows, 2):
        assert (agreed((beside(a), beside(b))) is not None) is says_the_same(b, a)


def test_twenty_thousand_equal_texts_of_as_many_times_are_grouped_in_seconds() -> None:
    """No trap: neither in the number of groups nor in the size of one."""
    rows = [row(f"{at:05}", "Deployed.", at, event_time=T0 + timedelta(minutes=at)) for at in range(10_000)]
    rows += [row(f"x{at:05}", "Deployed!", 20_000 + at, event_time=T0) for at in range(10_000)]
    began = time.perf_counter()
    (group,) = exact_groups(rows, POLICY)
    assert len(group) == 10_001
    assert time.perf_counter() - began < 30


# -- which pairs -----------------------------------------------------------------------------


def test_families_keep_apart_what_is_never_compared() -> None:
    rows = [row(kind, "x", kind=kind) for kind in ("lesson", "fact", "semantic", "episodic", "thesis", "decision")]
    told = [sorted(one.kind for one in family) for family in families(rows, POLICY)]
    assert told == [["decision", "fact", "lesson"], ["episodic"], ["semantic"]]


def test_one_subject_with_many_memories_costs_its_number() -> None:
    """E-2.6: each with its neighbours in time, whatever the vectors say."""
    rows = [row(f"{at:04}", f"v{at}", at, subject="Nous", attribute="Version") for at in range(5000)]
    pairs = of_one_subject([*rows, row("z", "v", subject="nous"), row("y", "v", attribute="version")])
    assert len(pairs) == sum(min(at, MOST_IN_SLOT) for at in range(5000))
    assert (rows[0], rows[8]) in pairs and (rows[0], rows[9]) not in pairs


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({}, {}, True),
        ({"tags": ("x",)}, {"tags": ("y",)}, True),  # S1-39 unites tags; they do not part what is stored
        ({"kind": "fact", "agent": "a"}, {"kind": "fact", "agent": "b"}, False),
        ({"kind": "fact"}, {"kind": "lesson"}, True),
        ({"kind": "semantic"}, {"kind": "lesson"}, False),
        ({"kind": "thesis"}, {"kind": "thesis"}, True),
    ],
)
def test_the_policy_says_what_is_compared(a: dict[str, Any], b: dict[str, Any], *, expected: bool) -> None:
    assert comparable(near(row("a", "x", **a), row("b", "x", 1, **b)), POLICY) is expected


@pytest.mark.parametrize(
    ("a", "b", "similarity", "expected"),
    [
        ("Tea is upstairs.", "Upstairs is the tea.", 0.8, True),
        ("Tea is upstairs.", "Upstairs is the tea.", 0.7999, False),
        ("Tea is upstairs.", "Upstairs is the tea.", None, False),
        ("Tea is upstairs.", "tea is upstairs", 1.0, False),  # decided already
        ("threshold 0.85", "threshold 0.95", 0.99, False),
        ("Use X", "Never use X", 0.99, True),  # a denial may be only a matter of words
        ("Tea is upstairs. " * 100, "Upstairs is the tea.", 0.9, False),  # B-33
    ],
)
def test_only_near_pairs_that_the_rules_leave_open_are_read_by_the_model(
    a: str, b: str, similarity: float | None, *, expected: bool
) -> None:
    pair = near(row("a", a), row("b", b, 1), similarity)
    assert is_open(pair, looked_at(pair), ask_at=0.8) is expected


UPDATED = {"updates": (Update(T0, "Coffee is downstairs.", 0.7),)}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (("Tea is upstairs.", {}), ("Upstairs is the tea.", {}), True),
        (("Tea is upstairs.", {}), ("We deploy on Mondays.", {}), True),
        (("Tea is upstairs.", {}), ("tea is upstairs", {}), False),  # the same words
        (("Use X", {}), ("Never use X", {}), False),
        (("threshold 0.85", {}), ("threshold 0.95", {}), False),
        (("Tea is upstairs.", {"polarity": 1}), ("Upstairs is the tea.", {"polarity": -1}), False),
        (("Tea is upstairs.", UPDATED), ("Upstairs is the tea.", {}), False),  # each update is compared
        (("The bank is dovish.", {}), ("The bank is hawkish.", {}), True),
    ],
    ids=str,
)
def test_a_pair_is_plainly_apart_only_where_the_whole_comparison_says_so(
    a: tuple[str, dict[str, Any]], b: tuple[str, dict[str, Any]], *, expected: bool
) -> None:
    pair = near(row("a", a[0], **a[1]), row("b", b[0], 1, **b[1]))
    assert is_plainly_apart(pair) is expected
    assert not expected or verdict(pair) == "apart"


def test_the_antonyms_of_a_policy_are_never_plainly_apart() -> None:
    pair = near(row("a", "The bank is dovish."), row("b", "The bank is hawkish.", 1))
    antonyms = frozenset({frozenset({"dovish", "hawkish"})})
    assert not is_plainly_apart(pair, antonyms)
    assert looked_at(pair, antonyms).relation == "conflict"


# -- verdicts --------------------------------------------------------------------------------

TEA, TEA_TOO = "Tea is kept in the upper cupboard.", "The upper cupboard is where tea is kept."


@pytest.mark.parametrize(
    ("opinion", "expected"),
    [
        (SAME, "same"),
        (Opinion(0.5, 0, 0.4, 0.05, 0.05), "same"),
        (Opinion(0.89, 0, 0.0, 0.0, 0.11), "apart"),  # below the bound
        (Opinion(0.0, 1.0, 0, 0, 0), "apart"),  # it adds something
        (Opinion(0, 0, 0, 0.95, 0.05), "conflict"),
        (Opinion(0, 0, 0, 0.49, 0.51), "apart"),
        (None, "apart"),  # I2: nearness alone never is
    ],
)
def test_the_model_decides_within_its_bounds(opinion: Opinion | None, expected: str) -> None:
    assert verdict(near(row("a", TEA), row("b", TEA_TOO, 1)), opinion) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({}, {}, "same"),
        ({"kind": "lesson"}, {"kind": "fact"}, "apart"),
        ({"kind": "thesis"}, {"kind": "thesis"}, "apart"),
        ({"subject": "x"}, {"subject": "y"}, "apart"),
        ({"title": "x"}, {"title": "y"}, "same"),
        ({"event_time": T0}, {"event_time": T0 + timedelta(1)}, "apart"),
        ({"polarity": 1}, {"polarity": -1}, "conflict"),
        ({"agent": "x"}, {"agent": "y"}, "apart"),
    ],
    ids=str,
)
def test_what_stands_beside_the_texts_is_stronger_than_the_model(
    a: dict[str, Any], b: dict[str, Any], expected: str
) -> None:
    """I2, B-37, S0-52; for equal texts and for paraphrases."""
    for text in (TEA, TEA_TOO):
        assert verdict(near(row("a", TEA, **a), row("b", text, 1, **b)), SAME) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The upper cupboard is where coffee is kept.", "conflict"),
        ("Ana: the upper cupboard is where coffee is kept.", "apart"),
        ("Is the upper cupboard where coffee is kept?", "apart"),
    ],
)
def test_the_model_alone_sees_no_contradiction_in_talk(text: str, expected: str) -> None:
    assert verdict(near(row("a", TEA), row("b", text, 1)), Opinion(0, 0, 0, 0.95, 0.05)) == expected


@pytest.mark.parametrize(
    ("similarity", "words", "expected"),
    [(0.96, (0.9, 0.0), "apart"), (0.96, (0.1, 0.9), "same"), (0.8, (0.1, 0.9), "apart"), (0.8, (0.9, 0.1), "same")],
)
def test_the_model_alone_sees_a_repeat_only_in_enough_of_the_same_words(
    similarity: float, words: tuple[float, float], expected: str
) -> None:
    bounds = replace(BOUNDS, words_near=words[0], words_far=words[1])
    pair = near(row("a", TEA), row("b", TEA_TOO, 1), similarity)
    court = Court(policy=POLICY, bounds_of=lambda kind: bounds, opinions={(TEA, TEA_TOO): SAME})
    assert judged(pair, court, looked_at(pair)).verdict == expected


def test_letters_alone_never_make_two_texts_the_same() -> None:
    """A lexical embedder's vectors compare letters."""
    pair = near(row("a", TEA), row("b", TEA_TOO, 1))
    assert verdict(pair, SAME, lexical=True) == "apart"
    assert verdict(near(row("a", "Use X."), row("b", "use x", 1)), lexical=True) == "same"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("Ana leads billing.", "Ben leads billing.", "apart"),
        ("ana leads billing", "ben leads billing", "apart"),
        ("データベースは東京にあります。", "データベースは大阪にあります。", "apart"),
        ("Tea is green.", "Tea is black.", "apart"),
        ("The deploymnet runs nightly.", "The deployment runs nightly.", "same"),  # a slip of the finger
    ],
)
def test_one_word_in_the_place_of_another_is_not_overruled_by_the_model(a: str, b: str, expected: str) -> None:
    """I2: in a short text the replaced word is the topic, although the model is certain of *same*."""
    found = verdict(near(row("a", a), row("b", b, 1), 0.99), SAME)
    assert found == expected or (expected == "apart" and found == "conflict")


@pytest.mark.parametrize(
    ("similarity", "a", "b", "expected"),
    [
        (CONFLICT_REPORT_AT, {}, {}, "conflict"),
        (CONFLICT_REPORT_AT - 0.0001, {}, {}, "apart"),
        (0.3, {"subject": "s", "attribute": "t"}, {"subject": "S", "attribute": "T"}, "conflict"),
        (None, {"subject": "s", "attribute": "t"}, {"subject": "s", "attribute": "t"}, "conflict"),
        (0.3, {"subject": "s", "attribute": "t"}, {}, "apart"),  # only one of them says what it is about
        (0.3, {}, {"subject": "s", "attribute": "t"}, "apart"),
    ],
    ids=str,
)
def test_a_contradiction_needs_nearness_or_one_slot(
    similarity: float | None, a: dict[str, Any], b: dict[str, Any], expected: str
) -> None:
    """S1-28, E-2.6: where the rules find a denial, which is not as sure as a value replaced in one frame."""
    pair = near(row("a", "Use the cache", **a), row("b", "Never use the cache", 1, **b), similarity)
    assert verdict(pair) == expected


@pytest.mark.parametrize("similarity", [0.99, CONFLICT_REPORT_AT, 0.3, -0.1, None])
def test_a_value_replaced_in_one_frame_is_a_contradiction_at_any_similarity(similarity: float | None) -> None:
    pair = near(row("a", "threshold 0.85"), row("b", "threshold 0.95", 1), similarity)
    assert verdict(pair) == "conflict"


def test_of_the_models_contradictions_only_the_nearest_of_each_newer_memory_stays() -> None:
    """E-3.8: findings of the rules stay, whatever the model's opinion."""
    new = row("n", "Billing is run by Bo.", 9)
    court = Court(
        policy=POLICY, bounds_of=lambda kind: BOUNDS,
        opinions={(text, new.content): Opinion(0, 0, 0, 1.0, 0) for text in ("One old thing.", "Another old thing.")},
    )  # fmt: skip
    pairs = [near(row("a", "One old thing."), new, 0.9), near(row("b", "Another old thing.", 1), new, 0.91)]
    rule = near(row("c", "Billing is not run by Bo.", 2), new, 0.85)
    found: list[Finding] = [judged(pair, court, looked_at(pair)) for pair in (*pairs, rule)]
    assert [one.verdict for one in found] == ["conflict"] * 3
    assert [one.near.a.id for one in nearest_only(found)] == ["b", "c"]


# -- patience --------------------------------------------------------------------------------


def test_likeliest_repeats_are_looked_at_first() -> None:
    """Vectors hardly see numbers; the same numbers come before nearness, nearness before age."""
    new = row("n", "Port 8001.", 99)
    given = [
        near(row("a", "Port 8000.", 1), new, 0.99),
        near(row("b", "The port is 8001.", 2), new, 0.95),
        near(row("c", "Port 8002.", 3), new, 0.99),
        near(row("d", "8001 it is.", 4), new, 0.96),
    ]
    told = [_of(pairs, [*(one.a for one in given), new]) for pairs in (given, given[::-1])]
    assert [one.a.id for page in told[0].in_turn(3) for one in page] == ["d", "b", "c", "a"]
    assert list(told[0].in_turn(9)) == list(told[1].in_turn(9))


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 2), st.sampled_from(["", " 1", " 2"])), max_size=9),
    st.randoms(use_true_random=False),
)
def test_pairs_come_as_if_each_was_kept_and_sorted(texts: list[tuple[str, int, str]], chance: random.Random) -> None:
    rows = [row(f"{chance.random()}{at}", name + end, when) for at, (name, when, end) in enumerate(texts)]
    rows.sort(key=order_of)
    every = [near(old, new, chance.choice([None, 0.0, 0.5, -0.25])) for old, new in combinations(rows, 2)]
    chance.shuffle(every)
    kept = every[: len(every) * 2 // 3]
    found = _of(kept, rows)
    assert len(found) == len(kept)
    assert [found.has(pair.a, pair.b) for pair in every] == [pair in kept for pair in every]
    in_turn = sorted(
        kept, key=lambda pair: (*order_of(pair.b), pair.a.content[1:] != pair.b.content[1:], _nearness(pair))
    )
    assert [pair for page in found.in_turn(4) for pair in page] == in_turn
    nearest = {
        pair.b.id: pair.key for pair in sorted(kept, key=lambda pair: (-(pair.similarity or 0.0), pair.a.id))[::-1]
    }
    assert found.nearest() == set(nearest.values())


def _nearness(pair: Near) -> tuple[float, float, str]:
    return -(pair.similarity or 0.0), -pair.a.created_at.timestamp(), pair.a.id


def _of(pairs: Sequence[Near], rows: Sequence[Memory]) -> Nears:
    found = Nears(rows)
    for pair in pairs:
        found.add(pair)
    return found


def test_after_enough_contradictions_or_strangers_no_further_neighbour_is_looked_at() -> None:
    """Thousands of values of one thing differ all; the square of them is not looked at."""
    new = row("n", "Port 8001.", 99)
    old = row("a", "Port 8000.")
    patience = Patience()
    for _ in range(MOST_CONFLICTS):
        assert not patience.is_out(near(old, new))
        patience.told(near(old, new), conflict=True)
    assert patience.is_out(near(old, new))
    assert not patience.is_out(near(old, row("m", "Port 8001.", 98)))  # each newer memory has its own
    other = Patience()
    for _ in range(MOST_CLOSED):
        assert not other.is_out(near(old, new))
        other.told(near(old, new), conflict=False)
    assert other.is_out(near(old, new))


def test_a_finding_that_says_nothing_is_not_kept() -> None:
    pair = near(row("a", TEA), row("b", TEA_TOO, 1))
    assert not says_something(Finding(pair, looked_at(pair), "apart"))
    assert says_something(Finding(pair, replace(looked_at(pair), opinion=SAME), "apart"))
    assert says_something(Finding(pair, looked_at(pair), "same"))
