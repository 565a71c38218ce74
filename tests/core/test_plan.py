"""Rules meet findings: which action is planned for what, and that the plan is a value without time (S1-10, B-22)."""

from __future__ import annotations

import random
import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from letter import to_the_letter
from wellkept.core.consolidation.findings import Finding, Near, Verdict, exact_groups, looked_at
from wellkept.core.consolidation.flagging import MOST_OF_ONE
from wellkept.core.consolidation.plan import Setting, Survey, config_hash, plan_id_of, plan_of
from wellkept.core.consolidation.plan_limits import refuse_beyond
from wellkept.core.consolidation.rules import DEFAULT_RULES, Consolidation, Rule, When
from wellkept.core.records.conflicts import key_of
from wellkept.policy import Policy
from wellkept.types import Action, Conflict, Link, Memory, Opinion, Plan, Scope

T0 = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = to_the_letter()


def row(name: str, minutes: float = 0, **fields: Any) -> Memory:
    at = T0 + timedelta(minutes=minutes)
    fields = {"content": f"text {name}", **fields}
    return Memory(id=name, namespace="n", created_at=at, updated_at=at, **fields)


def found(a: Memory, b: Memory, verdict: Verdict = "same", similarity: float = 0.97) -> Finding:
    pair = Near(a, b, similarity, similarity)
    return Finding(pair, looked_at(pair), verdict)


def conflict(a: str, b: str, **fields: Any) -> Conflict:
    kind = fields.pop("kind", "contradiction")
    return Conflict(
        key=key_of(a, b, kind), a=a, b=b, kind=kind, reason="value_diff", similarity=0.9, created_at=T0, **fields
    )


def setting(config: Consolidation | None = None, *, days: float = 0, **fields: Any) -> Setting:
    values: dict[str, Any] = {
        "policy": POLICY, "config": config or Consolidation(), "scope": Scope(), "namespace": "n", "models": ("e", "r"),
        "now": T0 + timedelta(days=days),
    }  # fmt: skip
    return Setting(**(values | fields))


def planned(rows: list[Memory], findings: tuple[Finding, ...] = (), *, days: float = 0, **parts: Any) -> Plan:
    config = parts.pop("config", None)
    survey = Survey(rows=tuple(rows), findings=findings, groups=tuple(exact_groups(rows, POLICY)), **parts)
    return plan_of(survey, setting(config, days=days))


def told(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(action.type, action.targets) for action in plan.actions]


A, B, C, D = (row(name, at) for at, name in enumerate("abcd"))


# -- reconciliation --------------------------------------------------------------------------


def test_flags_come_first_then_merges_promotions_archivings_and_what_is_left_alone() -> None:
    rows = [
        replace(A, content="Said."), replace(B, content="said"), replace(C, content="Port 1."),
        replace(D, content="Port 2."),
        row("e", 5, importance=0.8, access_count=9, tags=("Coding",)), row("f", 6), row("g", 7, tags=("keep",)),
    ]  # fmt: skip
    shield = Rule(id="keep", trigger="always", action="noop", when=When(categories_any=("keep",)))
    config = Consolidation(rules=(shield, *DEFAULT_RULES))
    plan = planned(rows, (found(rows[2], rows[3], "conflict"),), days=45, config=config)
    assert told(plan) == [
        ("flag_contradiction", ("c", "d")),
        ("merge", ("a", "b")),
        ("promote", ("e",)),
        ("archive", ("f",)),
        ("noop", ("g",)),
    ]
    assert [action.rationale.rule for action in plan.actions] == [
        "R5-flag-contradiction", "R1-exact-duplicate-merge", "R3-promote-high-value-procedural",
        "R4-archive-low-utility", "keep",
    ]  # fmt: skip


def test_a_memory_has_one_action_a_run() -> None:
    """E-2.3: merged memories, including the winner, are not archived or promoted as well."""
    rows = [replace(A, content="Said."), row("b", 1, content="said", access_count=9, importance=0.9, tags=("sop",))]
    assert told(planned(rows, days=99)) == [("merge", ("a", "b"))]


def test_a_merge_of_exact_repeats_and_a_paraphrase_is_one_merge() -> None:
    rows = [replace(A, content="Said."), replace(B, content="said"), C]
    plan = planned(rows, (found(rows[1], C),))
    assert told(plan) == [("merge", ("a", "b", "c"))]
    assert plan.actions[0].rationale.similarity == 0.97
    assert plan.actions[0].rationale.rule == "R2-near-duplicate-merge"


@pytest.mark.parametrize(("similarity", "rule"), [(0.9499, ""), (0.95, "R2"), (0.9799, "R2"), (0.98, "R1")])
def test_the_least_similarity_of_a_cluster_picks_the_rule(similarity: float, rule: str) -> None:
    """S1-33, S1-34."""
    plan = planned([A, B], (found(A, B, "same", similarity),))
    assert [action.rationale.rule[:2] for action in plan.actions] == ([rule] if rule else [])


# -- vetoes ----------------------------------------------------------------------------------

GROUP = [replace(A, content="Said."), replace(B, content="said"), replace(C, content="said!")]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (conflict("a", "c"), [("merge", ("a", "b"))]),  # open
        (conflict("a", "c", resolution="keep_both"), [("merge", ("a", "b"))]),
        (conflict("a", "c", expires_at=T0), [("merge", ("a", "b"))]),  # expired means keep both
        (conflict("a", "c", kind="duplicate", resolution="dismissed"), [("merge", ("a", "b"))]),
        (conflict("a", "c", resolution="dismissed"), [("merge", ("a", "b", "c"))]),
        (conflict("a", "c", kind="duplicate"), [("merge", ("a", "b", "c"))]),
        (conflict("a", "z"), [("merge", ("a", "b", "c"))]),
    ],
)
def test_a_pair_held_apart_cuts_the_group_and_no_more(item: Conflict, expected: list[Any]) -> None:
    """B-6: the rest of the group is still one."""
    assert told(planned(GROUP, conflicts=(item,))) == expected


def test_a_pair_held_apart_holds_apart_what_says_the_same_as_either() -> None:
    """The repeat of a memory is as much in dispute as the memory."""
    rows = [*GROUP, D]
    assert told(planned(rows, (found(GROUP[2], D),), conflicts=(conflict("a", "d"),))) == [("merge", ("a", "b", "c"))]
    merged = replace(C, metadata={"merged_from": ["a", "b"]})
    assert (
        told(planned([merged, D], (found(merged, D),), conflicts=(conflict("a", "d", resolution="keep_both"),))) == []
    )


def test_what_is_said_beside_the_texts_holds_whole_clusters_apart() -> None:
    """I2: the pair agrees, their groups do not."""
    march, may = T0, T0 + timedelta(60)
    rows = [row("a", 0, content="Said.", event_time=march), row("b", 1, content="said"), row("c", 2, event_time=may)]
    assert told(planned(rows, (found(rows[1], rows[2]),))) == [("merge", ("a", "b"))]


# -- flags -----------------------------------------------------------------------------------


def test_a_flag_names_those_that_remain_and_speaks_of_their_texts() -> None:
    """The contradiction was found on a memory that goes; older and newer change places."""
    one, two, other = (
        row("a", 0, content="The limit is 5."), row("c", 2, content="the limit is 5"),
        row("b", 1, content="The limit is 7."),
    )  # fmt: skip
    plan = planned([one, other, two], (found(one, other, "conflict"),))
    flag = plan.actions[0]
    assert flag.targets == ("b", "c")
    (difference,) = flag.flags[0].differences
    assert (difference.old, difference.new) == ("7", "5")
    assert set(flag.expect) == {"a", "b", "c"}
    assert flag.samples == ("The limit is 7.", "the limit is 5")


def test_what_was_found_between_the_remaining_themselves_is_told_first() -> None:
    one, two, other = row("a", 0, content="5 of it."), row("b", 1, content="5 of it"), row("c", 2, content="7 of it.")
    direct = found(two, other, "conflict", 0.9)
    for findings in ((direct, found(one, other, "conflict", 0.99)), (found(one, other, "conflict", 0.99), direct)):
        flag = planned([one, two, other], findings).actions[0]
        assert flag.rationale.similarity == 0.9


@pytest.mark.parametrize(
    "known",
    [
        conflict("c", "d"),
        conflict("d", "c"),
        conflict("c", "d", resolution="dismissed"),
        conflict("b", "d", resolution="keep_new"),  # of what is merged into c now
        conflict("z", "d", resolution="dismissed"),  # of what was merged into c before
    ],
)
def test_a_pair_that_any_conflict_names_is_not_flagged_again(known: Conflict) -> None:
    """S1-31: whatever became of it, and under whichever name."""
    rows = [
        replace(B, content="Port 5."),
        row("c", 2, content="port 5", metadata={"merged_from": ["z"]}),
        row("d", 3, content="Port 7."),
    ]
    plan = planned(rows, (found(rows[1], rows[2], "conflict"),), conflicts=(known,))
    assert [action.type for action in plan.actions] == ["merge"]


def test_thousands_of_contradictions_with_one_memory_are_flagged_a_few_times_each() -> None:
    rows = [row(f"{at:03}", at, content=f"Port {at}.") for at in range(40)]
    findings = tuple(found(a, b, "conflict", 0.9) for at, b in enumerate(rows) for a in rows[:at])
    flags = planned(rows, findings).actions
    of_newest = [action.targets[0] for action in flags if action.targets[1] == "039"]
    assert (
        of_newest == ["035", "036", "037", "038"] and len(of_newest) == MOST_OF_ONE
    )  # the latest of equally near ones
    known = tuple(conflict(*action.targets) for action in flags)
    assert planned(rows, findings, conflicts=known).actions == ()  # and the next run does not go on with the rest


def test_a_contradiction_within_what_is_merged_is_not_flagged() -> None:
    plan = planned(GROUP, (found(GROUP[0], GROUP[2], "conflict"),))
    assert told(plan) == [("merge", ("a", "b", "c"))]


def test_where_the_policy_ignores_conflicts_none_is_flagged_and_none_is_merged() -> None:
    quiet = POLICY.with_conflict("semantic", "ignore")
    rows = (row("a", 0, content="Port 5."), row("b", 1, content="Port 7."))
    survey = Survey(rows=rows, findings=(found(*rows, "conflict"),))
    assert plan_of(survey, setting(policy=quiet)).actions == ()
    assert len(plan_of(survey, setting()).actions) == 1


def test_a_rule_may_ask_how_near_a_contradiction_is_or_leave_it_alone() -> None:
    """S1-14, S1-50: high thresholds against false alarms."""
    rows = [row("a", 0, content="Port 5."), row("b", 1, content="Port 7.")]
    findings = (found(rows[0], rows[1], "conflict", 0.9),)
    near_only = Rule(id="f", trigger="on_contradiction", action="flag_contradiction", when=When(min_similarity=0.95))
    spares = Rule(id="n", trigger="on_contradiction", action="noop")
    assert planned(rows, findings, config=Consolidation(rules=(near_only,))).actions == ()
    assert planned(rows, findings, config=Consolidation(rules=(spares, *DEFAULT_RULES))).actions == ()


def test_a_models_contradiction_says_so() -> None:
    pair = Near(A, B, 0.9, 0.9)
    comparison = replace(looked_at(pair), relation="conflict", differences=(), opinion=Opinion(0, 0, 0, 0.97, 0.03))
    (flag,) = planned([A, B], (Finding(pair, comparison, "conflict"),)).actions
    assert flag.rationale.signals == ("model",) and flag.rationale.score == 0.97
    assert flag.flags[0].reason == "model"


@pytest.mark.parametrize(
    ("least", "flagged"),
    [(None, ["model", "rules"]), (0.97, ["model", "rules"]), (0.98, ["rules"]), (1.0, ["rules"])],
    ids=str,
)
def test_a_rule_may_ask_how_sure_a_contradiction_is(least: float | None, flagged: list[str]) -> None:
    """S1-28: from the score on that the user names a contradiction is flagged."""
    by_rules = row("p", 0, content="Port 5."), row("q", 1, content="Port 7.")
    pair = Near(A, B, 0.9, 0.9)
    by_model = replace(looked_at(pair), relation="conflict", differences=(), opinion=Opinion(0, 0, 0, 0.97, 0.03))
    findings = (found(*by_rules, "conflict", 0.9), Finding(pair, by_model, "conflict"))
    rule = Rule(id="f", trigger="on_contradiction", action="flag_contradiction", when=When(min_score=least))
    actions = planned([A, B, *by_rules], findings, config=Consolidation(rules=(rule,))).actions
    assert sorted("model" if "model" in action.rationale.signals else "rules" for action in actions) == flagged
    spared = replace(rule, id="n", action="noop"), replace(rule, when=When())
    actions = planned([A, B, *by_rules], findings, config=Consolidation(rules=spared)).actions
    assert len(actions) == 2 - len(flagged)


# -- merges ----------------------------------------------------------------------------------


def merge(rows: list[Memory], **parts: Any) -> Action:
    (action,) = planned(rows, **parts).actions
    return action


def test_a_merge_tells_everything_it_will_do() -> None:
    """S1-15, S1-39, S1-53: rows before and after, links, conflicts, versions, evidence."""
    hidden = row("h", -1, status="superseded", superseded_by="a", version=4)
    links = tuple(Link(*edge) for edge in (("x", "a", "related"), ("a", "y", "refines"), ("a", "b", "related"),
                                           ("a", "h", "supersedes"), ("c", "y", "refines")))  # fmt: skip
    action = merge(GROUP, links=links, hidden={"a": (hidden,)}, conflicts=(conflict("a", "b", kind="duplicate"),))
    assert (action.canonical, action.targets) == ("c", ("a", "b", "c"))
    assert {change.memory_id: dict(change.after).get("status") for change in action.rows} == {
        "c": None, "a": "archived", "b": "archived", "h": None,
    }  # fmt: skip
    assert dict(action.rows[3].after) == {"superseded_by": "c"}
    assert action.expect == {"a": 1, "b": 1, "c": 1, "h": 4}
    assert set(action.links) == {("x", "c", "related"), ("c", "h", "supersedes")}
    assert set(action.unlinks) == {("x", "a", "related"), ("a", "h", "supersedes")}
    assert action.aliases == ("a", "b")
    assert action.settles == (key_of("a", "b", "duplicate"),)
    assert action.rationale.reasons[0].startswith("3 memories say the same")
    assert (action.rationale.score, action.rationale.similarity) == (1.0, 1.0) and action.rationale.cluster


def test_an_open_conflict_of_one_that_goes_is_handed_on_by_age() -> None:
    rows = [*GROUP, row("d", 9, content="Different.")]
    action = merge(rows, conflicts=(conflict("a", "d"),))
    assert [(flag.a, flag.b) for flag in action.flags] == [("c", "d")]
    assert action.settles == (key_of("a", "d", "contradiction"),)


def test_a_merge_may_leave_the_others_superseded_by_the_one_that_stays() -> None:
    """S1-39: then their links say so."""
    rule = replace(DEFAULT_RULES[0], older="supersede")
    action = merge(GROUP, config=Consolidation(rules=(rule,)))
    assert [dict(change.after) for change in action.rows[1:]] == [{"status": "superseded", "superseded_by": "c"}] * 2
    assert set(action.links) == {("c", "a", "supersedes"), ("c", "b", "supersedes")}
    refuse_beyond(planned(GROUP, config=Consolidation(rules=(rule,))))


def test_a_cluster_that_a_rule_leaves_alone_is_neither_merged_nor_archived() -> None:
    spares = Rule(id="spare", trigger="on_similarity", action="noop", when=When(min_similarity=0.9))
    plan = planned([*GROUP, row("d", 3)], days=45, config=Consolidation(rules=(spares, *DEFAULT_RULES)))
    assert told(plan) == [("archive", ("d",)), ("noop", ("a", "b", "c"))]


def test_what_the_model_takes_for_a_repeat_is_merged_only_where_repeats_are_not_folded() -> None:
    survey = Survey(rows=(A, B), findings=(found(A, B),))
    assert told(plan_of(survey, setting())) == [("merge", ("a", "b"))]
    assert told(plan_of(survey, setting(policy=Policy()))) == []


@pytest.mark.parametrize(("known", "flags"), [((), [("c", "d")]), ((conflict("c", "d", kind="outdated"),), [])])
def test_a_conflict_is_not_handed_on_where_a_mark_tells_it_already(
    known: tuple[Conflict, ...], flags: list[Any]
) -> None:
    rows = [*GROUP, row("d", 9, content="Different.")]
    action = merge(rows, conflicts=(conflict("a", "d"), *known))
    assert [(flag.a, flag.b) for flag in action.flags] == flags


# -- archiving and promoting -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "archive"),
        ({"pinned": True}, ""),
        ({"kind": "procedural"}, ""),
        ({"pinned": True, "expires_at": T0}, "archive"),
        ({"access_count": 1}, ""),
        ({"importance": 0.8, "access_count": 5, "tags": ("SOP",)}, "promote"),
        ({"importance": 0.8, "access_count": 5, "kind": "procedural"}, "promote"),
        (
            {
                "importance": 0.8,
                "access_count": 5,
                "tags": ("sop",),
                "metadata": {"promoted": {DEFAULT_RULES[2].id: 0.5}},
            },
            "",
        ),
        ({"importance": 1.0, "access_count": 5, "tags": ("sop",)}, ""),
    ],
    ids=str,
)
def test_the_first_rule_that_can_do_something_decides(fields: dict[str, Any], expected: str) -> None:
    """S1-35, S1-36, E-2.2."""
    actions = planned([row("a", **fields)], days=45).actions
    assert [action.type for action in actions] == ([expected] if expected else [])


def test_a_promotion_remembers_its_rule_and_what_was_before() -> None:
    (action,) = planned([row("a", importance=0.95, access_count=5, tags=("sop",), metadata={"x": 1})]).actions
    assert dict(action.rows[0].before) == {"importance": 0.95, "metadata": {"x": 1}}
    assert dict(action.rows[0].after) == {
        "importance": 1.0, "metadata": {"x": 1, "promoted": {"R3-promote-high-value-procedural": 0.95}},
    }  # fmt: skip


def test_a_rule_may_pin() -> None:
    """S1-41."""
    rule = Rule(id="pin", trigger="always", action="promote", pin=True)
    (action,) = planned([row("a")], config=Consolidation(rules=(rule,))).actions
    assert action.rows[0].after["pinned"] is True
    assert planned([row("a", pinned=True)], config=Consolidation(rules=(rule,))).actions == ()


def test_a_disputed_memory_stays_until_the_dispute_ends() -> None:
    assert planned([A], days=45, conflicts=(conflict("a", "z"),)).actions == ()
    assert len(planned([A], days=45, conflicts=(conflict("a", "z", resolution="keep_both"),)).actions) == 1
    assert len(planned([A], days=45, conflicts=(conflict("a", "z", expires_at=T0),)).actions) == 1


def test_rules_for_clusters_may_ask_how_far_they_have_faded() -> None:
    """The most alive of its members counts."""
    faded = Rule(id="m", trigger="always", action="merge", when=When(lifecycle_any=("DORMANT",), max_score=0.01))
    config = Consolidation(rules=(faded,))
    assert planned(GROUP, days=2000, config=config).planned["merge"] == 1
    alive = [*GROUP[:2], replace(GROUP[2], last_accessed_at=T0 + timedelta(days=1999))]
    assert planned(alive, days=2000, config=config).actions == ()


# -- identity --------------------------------------------------------------------------------


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_what_is_found_decides_nothing(seed: int) -> None:
    """S1-5, S1-24."""
    rows = [*GROUP, D, row("e", 5, content="Port 5."), row("f", 6, content="Port 6."), row("g", 7)]
    findings = [found(GROUP[2], D), found(rows[4], rows[5], "conflict"), found(D, rows[6], "same", 0.96)]
    conflicts = [conflict("a", "e"), conflict("b", "c", kind="duplicate"), conflict("d", "f", resolution="keep_both")]
    links = [Link("a", "e"), Link("f", "b"), Link("d", "c"), Link("b", "g")]
    expected = planned(rows, tuple(findings), conflicts=tuple(conflicts), links=tuple(links), days=45)
    chance = random.Random(seed)
    for part in (findings, links):
        chance.shuffle(part)
    again = planned(rows, tuple(findings), conflicts=tuple(conflicts), links=tuple(links), days=45)
    assert again == expected and len(expected.actions) >= 3


def test_the_plan_id_names_configuration_snapshot_and_actions_and_no_time() -> None:
    """B-22, S1-16, E-2.1."""
    plan = planned(GROUP)
    assert re.fullmatch("[0-9a-f]{16}", plan.plan_id) and re.fullmatch("sha256:[0-9a-f]{16}", plan.config_hash)
    assert plan.plan_id == plan_id_of(plan.config_hash, plan.snapshot, plan.actions)
    assert planned(GROUP, days=20) == plan
    assert planned([*GROUP[:2], replace(GROUP[2], version=2)]).plan_id != plan.plan_id
    assert planned([*GROUP, D]).plan_id != plan.plan_id
    assert planned([replace(GROUP[0], access_count=3), *GROUP[1:]]).plan_id != plan.plan_id  # the sum is another


@pytest.mark.parametrize(
    "other",
    [
        {"config": Consolidation(rules=DEFAULT_RULES[:4])},
        {
            "config": Consolidation(
                rules=(replace(DEFAULT_RULES[0], when=When(min_similarity=0.99)), *DEFAULT_RULES[1:])
            )
        },
        {"config": Consolidation(trigger="daily")},
        {"config": Consolidation(ask_at=0.7)},
        {"config": Consolidation(look_at=0.7)},
        {"config": Consolidation(nearest=5)},
        {"policy": POLICY.with_conflict("semantic", "ignore")},
        {"models": ("e", "")},
        {"models": ("f", "r")},
    ],
    ids=str,
)
def test_whatever_decides_is_part_of_the_configuration_hash(other: dict[str, Any]) -> None:
    """S1-45, E-2.1: one number is not a configuration."""
    assert config_hash(setting(**other)) != config_hash(setting())
    assert config_hash(setting(days=9)) == config_hash(setting())


def test_thousands_of_merges_among_many_links_and_conflicts_are_planned_in_seconds() -> None:
    """A merge reads its own surroundings, not everybody's."""
    rows = [row(f"{at:05}{half}", at, content=f"Fact {at}{half}") for at in range(3_000) for half in ("", "!")]
    links = tuple(Link(rows[at].id, rows[at - 7].id) for at in range(7, len(rows), 2))
    conflicts = tuple(conflict(rows[at].id, f"z{at}", resolution="dismissed") for at in range(0, len(rows), 2))
    groups = tuple((rows[at], rows[at + 1]) for at in range(0, len(rows), 2))
    survey = Survey(rows=tuple(rows), groups=groups, links=links, conflicts=conflicts)
    began = time.perf_counter()
    plan = plan_of(survey, setting())
    assert plan.planned["merge"] == 3_000
    assert time.perf_counter() - began < 30
