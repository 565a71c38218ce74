"""Grouping of hits: grouped ones, ones that never are, and no conflict disappears (B-26, I2, S3-20, S3-26)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellkept.core.judging.compare import compare
from wellkept.core.recall import grouping
from wellkept.core.recall.grouping import grouped, open_pairs
from wellkept.core.text.forms import canonical, canonical_hash
from wellkept.types import Conflict, Hit, Memory, Opinion

START = datetime(2026, 3, 1, tzinfo=UTC)
SURE = {"semantic": 0.9}


def memory(number: int, content: str, **values: object) -> Memory:
    at = START + timedelta(days=number)
    fields: dict[str, object] = {"created_at": at, "updated_at": at, **values}
    return Memory(id=f"m{number}", namespace="n", content=content, **fields)  # type: ignore[arg-type]


def hit(number: int, content: str, *conflicts: Conflict, score: float = 0.5, **values: object) -> Hit:
    return Hit(memory(number, content, **values), score, {}, conflicts=conflicts)


def decision(number: int, content: str, **values: object) -> Hit:
    return hit(number, content, kind="decision", **values)


def contradiction(a: int, b: int) -> Conflict:
    return Conflict(
        key=f"{a}-{b}", a=f"m{a}", b=f"m{b}", kind="contradiction", reason="model", similarity=0.9, created_at=START
    )


def opinion(**shares: float) -> Opinion:
    values = {"same": 0.0, "refines": 0.0, "generalises": 0.0, "conflict": 0.0, "distinct": 0.0}
    return Opinion(**{**values, **shares})


def ids(hits: list[Hit], **told: object) -> list[tuple[str, ...]]:
    return [group.ids for group in grouped(hits, **told)]  # type: ignore[arg-type]


# -- the same words --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use ruff.", "use  RUFF!"),
        ("数据库在 5433 端口。", "数据库在 5433 端口"),
        ("База слушает порт 5433.", "база слушает порт 5433"),
        ("قاعدة البيانات على المنفذ 5433.", "قاعدة البيانات على المنفذ 5433"),
    ],
)
def test_the_same_words_in_another_spelling_are_one_thing_in_every_script(old: str, new: str) -> None:
    assert ids([hit(0, old), hit(1, new)]) == [("m1", "m0")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use X", "Never use X"),  # negation
        ("threshold 0.85", "threshold 0.95"),  # number
        ("needs v1.5", "needs v15"),  # I10
        ("written in C++", "written in C"),  # I10
        ("Use ruff for linting", "Use flake8 for linting"),  # F-12
        ("数据库在 5433 端口", "数据库在 5434 端口"),
        ("Alerts go to the duty phone", "The duty phone gets the alerts"),  # likeness alone says nothing (I2)
    ],
)
def test_texts_that_differ_in_words_that_matter_stay_apart(old: str, new: str) -> None:
    assert ids([hit(0, old), hit(1, new)]) == [("m0",), ("m1",)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"subject": "006"}, {"subject": "007"}),
        ({"subject": "006", "attribute": "status"}, {"subject": "006", "attribute": "owner"}),
        ({"polarity": 1}, {"polarity": -1}),  # S2-22
        ({"event_time": START}, {"event_time": START + timedelta(days=1)}),  # F-22: it happened twice
        ({"kind": "fact"}, {"kind": "lesson"}),  # S0-52
        ({"agent": "alice"}, {"agent": "bob"}),
        ({"trigger": "Alpha"}, {"trigger": "Beta"}),  # B-37
        ({"metadata": {"outcome": "success"}}, {"metadata": {"outcome": "failure"}}),  # B-26
        ({"metadata": {}}, {"metadata": {"outcome": "failure"}}),
    ],
)
def test_equal_words_with_something_else_beside_them_stay_apart(old: dict[str, object], new: dict[str, object]) -> None:
    assert ids([hit(0, "is shipped", **old), hit(1, "is shipped", **new)]) == [("m0",), ("m1",)]


def test_equal_words_under_another_title_are_one() -> None:
    """A title heads a text, it does not say anything."""
    assert ids([hit(0, "is shipped", title="Alpha"), hit(1, "is shipped", title="Beta")]) == [("m1", "m0")]


def test_the_newest_is_shown_at_the_best_rank_with_the_best_score() -> None:
    """B-26; the others are listed newest first."""
    hits = [hit(1, "Use ruff.", score=0.9), hit(5, "Tea at four.", score=0.8), hit(3, "use ruff", score=0.7)]
    hits += [hit(0, "USE RUFF", score=0.6)]
    first, second = grouped(hits)
    assert (first.ids, first.score, first.shown.score) == (("m3", "m1", "m0"), 0.9, 0.7)
    assert second.ids == ("m5",)


def test_the_worlds_time_tells_what_is_newest() -> None:
    """B-35: a text written later may be about an earlier time."""
    hits = [hit(0, "is shipped"), hit(1, "is shipped", event_time=START - timedelta(days=9))]
    assert ids(hits) == [("m0", "m1")]


def test_a_current_memory_is_shown_before_a_newer_superseded_one() -> None:
    assert ids([hit(0, "is shipped"), hit(1, "is shipped", status="superseded")]) == [("m0", "m1")]


# -- the relation model ----------------------------------------------------------------------

OLD, NEW = "Alerts go to the duty phone", "The duty phone gets the alerts"


@pytest.mark.parametrize(
    ("told", "one"),
    [
        (opinion(same=0.95), True),
        (opinion(same=0.89, distinct=0.11), False),  # below the bound of the risk
        (opinion(same=0.2, conflict=0.8), False),
        (opinion(generalises=0.95), False),  # the newer says less, and would be shown instead of what says more
        (opinion(refines=0.95), False),
    ],
)
def test_the_models_word_groups_only_what_it_surely_calls_the_same(told: Opinion, *, one: bool) -> None:
    found = ids([hit(0, OLD), hit(1, NEW)], opinions={(OLD, NEW): told}, sure_at=SURE)
    assert found == ([("m1", "m0")] if one else [("m0",), ("m1",)])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The threshold is 0.85", "The threshold is 0.95"),
        ("Call Ana about billing", "Call Bo about billing"),
        ("Deploys happen on Monday", "Deploys do not happen on Monday"),
        ("Do deploys happen on Monday?", "On Monday deploys happen?"),  # it learnt from statements only
        ("Toimitus lähtee maanantaisin", "Maanantaisin toimitus ei lähde"),  # nobody reads its "not" here
    ],
)
def test_no_opinion_overrules_a_veto(old: str, new: str) -> None:
    """I2: the same vetoes as in the gate."""
    told = {(old, new): opinion(same=0.999)}
    found = ids([hit(0, old), hit(1, new)], opinions=told, sure_at=SURE)
    assert found == [("m0",), ("m1",)]


def test_an_opinion_without_a_bound_for_the_kind_groups_nothing() -> None:
    assert len(ids([hit(0, OLD), hit(1, NEW)], opinions={(OLD, NEW): opinion(same=1.0)})) == 2


def test_a_chain_of_repeats_is_no_group() -> None:
    """Every member repeats every other: a third that only the second repeats stays outside."""
    third = "When something breaks, the duty phone rings"
    told = {(OLD, NEW): opinion(same=0.95), (NEW, third): opinion(same=0.95), (OLD, third): opinion(conflict=0.9)}
    assert ids([hit(0, OLD), hit(1, NEW), hit(2, third)], opinions=told, sure_at=SURE) == [("m1", "m0"), ("m2",)]


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        (hit(0, OLD), hit(1, NEW), True),
        (hit(0, "Use ruff."), hit(1, "use ruff"), False),  # equal texts need nobody
        (hit(0, "threshold 0.85"), hit(1, "threshold 0.95"), False),  # nor does what is vetoed
        (hit(0, OLD, subject="a"), hit(1, NEW, subject="b"), False),
        (hit(0, OLD), hit(1, NEW * 40), False),  # B-33
    ],
)
def test_only_what_rules_leave_open_is_asked_older_text_first(old: Hit, new: Hit, *, asked: bool) -> None:
    assert list(open_pairs([new, old])) == ([(old.memory, new.memory)] if asked else [])


def test_only_near_pairs_are_asked_about_where_nearness_is_known() -> None:
    hits = [hit(0, OLD), hit(1, NEW), hit(2, "Somebody is called at night")]
    assert list(open_pairs(hits, near=[frozenset(("m0", "m1"))])) == [(hits[0].memory, hits[1].memory)]


# -- decisions (S3) --------------------------------------------------------------------------

REPORT = "Here's my full live status! All systems are running and no task waits"


def test_five_decisions_that_say_the_same_are_one_and_the_newest_is_shown() -> None:
    """S3-20, S3-26 tests 21 and 26."""
    variants = [REPORT, f"{REPORT}.", REPORT.replace("my full", "my current"), REPORT.lower(), f"Well, {REPORT}"]
    [group] = grouped([decision(number, text) for number, text in enumerate(variants)])
    assert group.shown.memory.id == "m4"
    assert len(group.repeats) == 4


@pytest.mark.parametrize(
    ("new", "shown"),
    [
        (REPORT.replace("my full", "my current"), "m1"),  # the words say so, and the newest is shown
        ("Everything is up, nothing is pending", "m0"),  # the guess alone joins them
    ],
)
def test_a_possible_restatement_keeps_the_better_hit_only_where_nothing_else_joins_the_two(
    new: str, shown: str
) -> None:
    [group] = grouped([decision(0, REPORT), decision(1, new)], alike=[frozenset(("m0", "m1"))])
    assert group.shown.memory.id == shown


def test_three_distinct_decisions_are_kept() -> None:
    """S3-26 test 22."""
    texts = ["Use PostgreSQL for events", "Ship the export behind a flag", "Hire a second reviewer"]
    assert len(ids([decision(number, text) for number, text in enumerate(texts)])) == 3


def test_of_a_mix_only_the_repeats_become_one() -> None:
    """S3-26 test 23."""
    hits = [decision(0, REPORT), decision(1, "Ship the export behind a flag"), decision(2, f"Well, {REPORT}")]
    assert ids(hits) == [("m2", "m0"), ("m1",)]


@pytest.mark.parametrize("hits", [[], [decision(0, REPORT)]])
def test_none_and_one_are_left_as_they_are(hits: list[Hit]) -> None:
    """S3-20, S3-26 tests 24 and 25."""
    assert [group.shown for group in grouped(hits)] == hits


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use Postgres for the events store", "Use SQLite for the events store"),  # F-25: .833 of the words
        ("Set the alert threshold to 0.85", "Set the alert threshold to 0.95"),  # B-26: .75
        ("Ship the export behind a flag", "Never ship the export behind a flag"),
        ("Ship it", "We will ship it on Monday behind a flag"),  # two words match anything
        ("Ship the export behind a flag for customers in Kenya", "Ship the export behind a flag"),  # leaves a name out
        ("Ship the export behind a flag by release 2.4", "Ship the export behind a flag"),
        ("Şifreleri depoya kaydetmek yasak değil", "Şifreleri depoya bugün kaydetmek yasak değil"),  # no word list
        ("Отправляем отчёт каждый понедельник утром", "Не отправляем отчёт каждый понедельник утром"),
    ],
)
def test_common_words_do_not_make_two_decisions_one(old: str, new: str) -> None:
    assert len(ids([decision(0, old), decision(1, new)])) == 2


def test_common_words_count_for_no_other_kind() -> None:
    assert len(ids([hit(0, REPORT), hit(1, f"Well, {REPORT}")])) == 2


# -- conflicts -------------------------------------------------------------------------------


def test_a_recorded_contradiction_keeps_equal_texts_apart() -> None:
    found = contradiction(0, 1)
    assert ids([hit(0, "Use ruff.", found), hit(1, "use ruff", found)]) == [("m0",), ("m1",)]
    settled = [frozenset(("m0", "m1"))]
    assert ids([hit(0, "Use ruff."), hit(1, "use ruff")], apart=settled) == [("m0",), ("m1",)]


def test_a_conflict_of_a_listed_repeat_stays_in_sight() -> None:
    found = contradiction(0, 9)
    [group] = grouped([hit(0, "Use ruff.", found), hit(1, "use ruff")])
    assert (group.shown.conflicts, group.conflicts) == ((), (found,))


def test_grouping_lifts_no_older_statement_over_the_newer_one_that_contradicts_it() -> None:
    """S2-29: the newer first, although an older repeat had the best rank."""
    found = contradiction(1, 2)
    hits = [hit(0, "Use black."), hit(2, "Never use black", found), hit(1, "use black", found)]
    assert ids(hits) == [("m2",), ("m1", "m0")]


TEXTS = (
    "Use ruff",
    "use ruff.",
    "Never use ruff",
    "Use flake8",
    "The limit is 0.85",
    "The limit is 0.95",
    "the LIMIT is 0.85!",
    "Ship the export behind a flag",
    "We ship the export behind a flag",
    "Ship no export behind a flag",
    "数据库在 5433 端口",
    "数据库在 5434 端口",
    "数据库在 5433 端口。",
)


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[Hit], dict[tuple[str, str], Opinion]]:
    texts = draw(st.lists(st.sampled_from(TEXTS), max_size=7))
    kinds = draw(st.lists(st.sampled_from(("semantic", "decision")), min_size=len(texts), max_size=len(texts)))
    pairs = list(combinations(range(len(texts)), 2))
    found = [
        contradiction(a, b) for a, b in draw(st.lists(st.sampled_from(pairs), max_size=3) if pairs else st.just([]))
    ]
    hits = [
        hit(number, text, *(item for item in found if f"m{number}" in (item.a, item.b)), kind=kind)
        for number, (text, kind) in enumerate(zip(texts, kinds, strict=True))
    ]
    sure = {(old, new): opinion(same=1.0) for old in TEXTS for new in TEXTS if old != new}
    return draw(st.permutations(hits)), draw(st.sampled_from(({}, sure)))


@settings(max_examples=60)
@given(answers())
def test_grouping_never_hides_a_conflict(given_: tuple[list[Hit], dict[tuple[str, str], Opinion]]) -> None:
    """I2, even when the model calls everything the same: every hit once, no two of a group in conflict."""
    hits, opinions = given_
    groups = grouped(hits, opinions=opinions, sure_at={"semantic": 0.9, "decision": 0.9})
    assert sorted(key for group in groups for key in group.ids) == sorted(one.memory.id for one in hits)
    recorded = {item.key: item for one in hits for item in one.conflicts}
    assert {item.key for group in groups for item in group.conflicts} == set(recorded)
    for group in groups:
        assert all(not {item.a, item.b} <= set(group.ids) for item in recorded.values())
        for one, other in combinations(group.members, 2):
            older, newer = sorted((one.memory, other.memory), key=lambda row: row.created_at)
            assert compare(newer, older, cosine=None, similarity=None).relation != "conflict"
            assert compare(older, newer, cosine=None, similarity=None).relation != "conflict"
        assert group.shown.memory.created_at == max(one.memory.created_at for one in group.members)


@settings(max_examples=30)
@given(answers())
def test_grouping_twice_changes_nothing(given_: tuple[list[Hit], dict[tuple[str, str], Opinion]]) -> None:
    hits, opinions = given_
    first = grouped(hits, opinions=opinions, sure_at=SURE)
    assert grouped(hits, opinions=opinions, sure_at=SURE) == first
    shown = [group.shown for group in first]
    assert {group.ids for group in grouped(shown, opinions=opinions, sure_at=SURE)} == {
        (one.memory.id,) for one in shown
    }


# -- possible restatements -------------------------------------------------------------------


def linked(*pairs: tuple[int, int]) -> frozenset[frozenset[str]]:
    return frozenset(frozenset((f"m{a}", f"m{b}")) for a, b in pairs)


def test_of_two_possible_restatements_the_better_hit_is_shown_and_the_other_listed() -> None:
    for first, second in ((hit(0, OLD), hit(1, NEW)), (hit(1, NEW), hit(0, OLD))):
        (group,) = grouped([first, second], alike=linked((0, 1)))
        assert group.members == (first, second)
        assert group.shown == first


def test_a_possible_restatement_joins_no_third_text_by_a_chain() -> None:
    hits = [hit(0, OLD), hit(1, NEW), hit(2, "Whoever is on duty is called for alerts")]
    assert ids(hits, alike=linked((0, 1), (1, 2))) == [("m0", "m1"), ("m2",)]
    assert ids(hits, alike=linked((0, 1), (1, 2), (0, 2))) == [("m0", "m1", "m2")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Alerts go to the duty phone", "Alerts do not go to the duty phone"),
        ("The threshold is 0.85", "The threshold is 0.95"),
        ("Die Datenbank hört auf Port 5433.", "Die Datenbank hört auf Port 5434."),
        ("База слушает порт 5433.", "База слушает порт 5434."),
        ("数据库在 5433 端口", "数据库在 5434 端口"),
    ],
)
def test_a_contradiction_by_rule_outweighs_a_possible_restatement(old: str, new: str) -> None:
    for hits in ([hit(0, old), hit(1, new)], [hit(1, new), hit(0, old)]):
        assert all(len(group) == 1 for group in ids(hits, alike=linked((0, 1))))


@settings(max_examples=80)
@given(answers(), st.data())
def test_possible_restatements_hide_nothing_and_group_no_contradiction(
    given_: tuple[list[Hit], dict[tuple[str, str], Opinion]], data: st.DataObject
) -> None:
    """Whatever the gate has linked: every hit once, none beside what it contradicts, the best hit shown."""
    hits, opinions = given_
    numbers = list(combinations(range(len(hits)), 2))
    pairs = st.lists(st.sampled_from(numbers), max_size=8) if numbers else st.just([])
    alike, apart = linked(*data.draw(pairs)), linked(*data.draw(pairs)[:2])
    groups = grouped(hits, opinions=opinions, sure_at=SURE, alike=alike, apart=apart)
    assert sorted(key for group in groups for key in group.ids) == sorted(one.memory.id for one in hits)
    recorded = {item.key: item for one in hits for item in one.conflicts}
    assert {item.key for group in groups for item in group.conflicts} == set(recorded)
    place = {one.memory.id: at for at, one in enumerate(hits)}
    for group in groups:
        assert all(not {item.a, item.b} <= set(group.ids) for item in recorded.values())
        within = {frozenset(pair) for pair in combinations(group.ids, 2)}
        assert not apart & within
        for one, other in combinations(group.members, 2):
            older, newer = sorted((one.memory, other.memory), key=lambda row: row.created_at)
            assert compare(newer, older, cosine=None, similarity=None).relation != "conflict"
            assert compare(older, newer, cosine=None, similarity=None).relation != "conflict"
        pairs_of_hits = combinations(sorted(group.members, key=lambda hit: place[hit.memory.id]), 2)
        guessed = [
            two
            for two in pairs_of_hits
            if frozenset(hit.memory.id for hit in two) in alike
            and len(grouped(list(two), opinions=opinions, sure_at=SURE)) == len(two)
        ]
        if guessed:  # nothing but the link joins two of them
            assert [place[key] for key in group.ids] == sorted(place[key] for key in group.ids)


def test_long_texts_of_the_same_words_are_shown_once() -> None:
    text = "Tea is upstairs. " * 6_000
    found = grouped([hit(0, text), hit(1, f"{text.strip()}!"), hit(2, text.replace("Tea", "Rum")), hit(3, "Tea.")])
    assert [{one.memory.id for one in group.members} for group in found] == [{"m0", "m1"}, {"m2"}, {"m3"}]


@pytest.mark.parametrize(("one", "other"), [("caf\u00e9", "cafe\u0301"), ("12", "\uff11\uff12")])
def test_a_long_text_spelled_in_other_characters_is_shown_once(one: str, other: str) -> None:
    rest = " Tea is upstairs." * 6_000
    assert canonical(one) == canonical(other)
    assert len(grouped([hit(0, one + rest), hit(1, other + rest)])) == 1


def test_a_long_text_beside_short_ones_stands_alone() -> None:
    found = grouped([hit(0, "Tea is upstairs. " * 6_000), hit(1, "Tea is upstairs."), hit(2, "tea is upstairs")])
    assert [{one.memory.id for one in group.members} for group in found] == [{"m0"}, {"m1", "m2"}]


@pytest.mark.parametrize("kind", ["note", "decision"])
def test_of_several_long_texts_only_those_of_the_same_letters_are_read_and_each_once(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    for name, reads in (("canonical", canonical), ("canonical_hash", canonical_hash)):
        counted = lambda text, reads=reads: [read.append(text), reads(text)][1]  # noqa: E731
        monkeypatch.setattr(grouping, name, counted, raising=False)
    texts = [f"Tea is upstairs in the kitchen. {'x' * 100_000}{number}" for number in range(6)]
    hits = [hit(number, text, kind=kind) for number, text in enumerate(texts)]
    assert len(grouped(hits)) == len(texts) and list(open_pairs(hits)) == []
    assert not [text for text in read if len(text) > 1_000]
    alike = [f"{texts[0]}{mark}" for mark in ("", "!", "?", " 1")]
    assert len(grouped([hit(number, text, kind=kind) for number, text in enumerate(alike)])) == 3
    assert sorted(text for text in read if len(text) > 1_000) == sorted(alike[:3])
