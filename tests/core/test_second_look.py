"""Folds and marks that a consolidation plans from a repeated decision of the gate."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wellkept.core.consolidation.plan import Setting, plan_of
from wellkept.core.consolidation.plan_limits import refuse_beyond
from wellkept.core.consolidation.rules import DEFAULT_RULES, Consolidation, Rule, When
from wellkept.core.consolidation.survey import Survey
from wellkept.core.judging.second_look import SecondLook, second_look
from wellkept.core.records.conflicts import key_of
from wellkept.errors import InvalidPlan
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import Conflict, Decision, Link, Match, Memory, Plan, Reason, Scope

NOW = datetime(2026, 3, 1, tzinfo=UTC)
KIND = replace(DEFAULT_KINDS["fact"], repeats="fold", updates="mark")
POLICY = Policy(kinds={"fact": KIND})


def row(name: str, minutes: float, **fields: Any) -> Memory:
    at = NOW + timedelta(minutes=minutes)
    given = {"content": f"text {name}", "kind": "fact", "created_at": at, "updated_at": at, **fields}
    return Memory(id=name, namespace="n", **given)


A, B, C, D = (row(name, at) for at, name in enumerate("abcd"))


def conflict(a: str, b: str, **fields: Any) -> Conflict:
    values: dict[str, Any] = {
        "kind": "contradiction",
        "reason": "model",
        "similarity": 0.8,
        "created_at": NOW,
        **fields,
    }
    return Conflict(key=key_of(a, b, values["kind"]), a=a, b=b, **values)


MARK = conflict("a", "b", kind="outdated", probability=0.7)


def decision(outcome: Any, head: Memory | None = None, conflicts: tuple[Conflict, ...] = ()) -> Decision:
    match = Match("a", "", "ACTIVE", "vector", "same", "restate", 0.8, 0.8)
    return Decision(
        outcome=outcome, memory=head, matches=(match,), reasons=(Reason("restates", "told"),), conflicts=conflicts
    )


@pytest.mark.parametrize(
    ("made", "policy", "head", "marks"),
    [
        (decision("restated", A), KIND, "a", ()),
        (decision("duplicate", A), KIND, "a", ()),  # in the words of a wording of that head
        (decision("duplicate", replace(A, content="TEXT B")), KIND, "", ()),  # an equal text is merged
        (decision("restated", replace(A, content="TEXT B", kind="note")), KIND, "a", ()),  # one of another kind is not
        (decision("duplicate", A), replace(KIND, repeats="drop"), "", ()),
        (decision("created", B, (MARK,)), KIND, "", (MARK,)),
        (decision("created", B, (MARK,)), replace(KIND, updates="list"), "", ()),
        (decision("created", B, (conflict("a", "b"),)), KIND, "", ()),  # listed by another rule
        (decision("evolved", A), KIND, "", ()),
    ],
)
def test_a_consolidation_takes_over_folds_and_marks_alone(made, policy, head, marks):
    look = second_look(B, made, policy)
    assert (look.head, look.marks) == (head, marks)


def planned(*looks: SecondLook, rules: tuple[Rule, ...] = DEFAULT_RULES, **parts: Any) -> Plan:
    survey = Survey(rows=parts.pop("rows", (A, B, C, D)), looks=looks, **parts)
    config = Consolidation(rules=rules)
    plan = plan_of(
        survey, Setting(policy=POLICY, config=config, scope=Scope(), namespace="n", models=("e", "r"), now=NOW)
    )
    refuse_beyond(plan)
    return plan


def look(name: str, head: str = "", **fields: Any) -> SecondLook:
    return SecondLook(memory_id=name, head=head, reason="told", similarity=0.8, **fields)


def test_all_that_restates_one_memory_is_one_fold_and_the_older_stays():
    (action,) = planned(look("b", "a"), look("d", "a")).actions
    assert (action.type, action.targets, action.canonical) == ("fold", ("b", "d", "a"), "a")
    assert [(one.memory_id, one.after.get("status", "active")) for one in action.rows] == [
        ("a", "active"), ("b", "wording"), ("d", "wording"),
    ]  # fmt: skip
    assert action.rows[0].after["confirmations"] == 2
    assert set(action.links) == {("b", "a", "restates"), ("d", "a", "restates")}


def test_what_stands_behind_a_folded_memory_moves_to_the_head():
    wording = row("w", 3, status="wording", superseded_by="b")
    (action,) = planned(
        look("b", "a"),
        hidden={"b": (wording,)},
        links=(Link("w", "b", "restates"),),
        rows=(A, replace(B, confirmations=1)),
    ).actions
    assert action.rows[-1].after == {"superseded_by": "a"}
    assert action.rows[0].after["confirmations"] == 2
    assert ("w", "a", "restates") in action.links and ("w", "b", "restates") in action.unlinks


@pytest.mark.parametrize(
    ("listed", "actions", "settles"),
    [
        ((), ["mark"], ()),
        ((conflict("a", "b"),), ["mark"], (key_of("a", "b", "contradiction"),)),  # its place is taken
        ((conflict("a", "b", reason="value_diff"),), [], ()),  # the rules saw it
        ((conflict("a", "b", resolution="keep_both"),), [], ()),
        ((conflict("a", "b", expires_at=NOW),), [], ()),  # expired means keep both
        ((replace(MARK, resolution="dismissed"),), [], ()),
        ((MARK,), [], ()),
        ((conflict("a", "b", kind="duplicate"),), ["mark"], ()),
    ],
)
def test_a_mark_is_made_once_and_never_over_what_somebody_decided(listed, actions, settles):
    made = planned(look("b", marks=(MARK,)), conflicts=listed).actions
    assert [action.type for action in made] == actions
    assert all((action.settles, action.flags[0].probability) == (settles, 0.7) for action in made)


def test_a_mark_needs_both_memories_in_the_scope_and_a_rule_that_is_met():
    mark = look("b", marks=(MARK,))
    sure = Rule(id="R7", trigger="on_contradiction", action="mark", when=When(min_score=0.71))
    assert planned(mark).planned["mark"] == 1
    assert planned(mark, rows=(B, C)).actions == planned(mark, rows=(A, C)).actions == ()
    assert planned(mark, rules=(sure,)).actions == ()


@pytest.mark.parametrize(
    "rules",
    [
        DEFAULT_RULES[:5],
        (Rule(id="R6", trigger="on_similarity", action="fold", when=When(min_similarity=0.81)),),
        (Rule(id="spare", trigger="on_similarity", action="noop"), *DEFAULT_RULES),
    ],
)
def test_rules_can_spare_what_would_be_folded(rules):
    assert planned(look("b", "a"), rules=rules).planned["fold"] == 0


@pytest.mark.parametrize(
    "forged",
    [
        {"status": "archived", "superseded_by": "a"},
        {"status": "wording", "superseded_by": "c"},
        {"status": "wording", "superseded_by": "a", "importance": 1.0},
    ],
)
def test_a_forged_fold_is_refused(forged):
    plan = planned(look("b", "a"))
    (action,) = plan.actions
    rows = (action.rows[0], replace(action.rows[1], after=forged))
    with pytest.raises(InvalidPlan, match="may change status to wording"):
        refuse_beyond(replace(plan, actions=(replace(action, rows=rows),)))


def test_a_forged_mark_is_refused():
    plan = planned(look("b", marks=(MARK,)))
    (action,) = plan.actions
    for edit in (
        {"settles": ("x",)},
        {"flags": (replace(action.flags[0], probability=None),)},
        {"targets": ("a", "c")},
    ):
        with pytest.raises(InvalidPlan):
            refuse_beyond(replace(plan, actions=(replace(action, **edit),)))
