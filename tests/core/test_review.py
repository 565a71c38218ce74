"""Questions to a judge; its answer can only add a possible conflict to a decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.gate.admit import judge
from wellkept.core.gate.judge_review import FLAG_AT, MOST_JUDGED, left_open, reviewed, unreviewed
from wellkept.core.judging.calibration import IDENTITY
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import Candidate, ConflictChange, Memory, MemoryChange, NewMemory, Opinion

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OLD, NEW = "Ana works at Acme", "Globex hired her in May"
BOUNDS = Bounds(skip=0.9, link=0.5, evolve=0.8, flag=0.5, supersede=0.9)


def memory(name="old", content=OLD, **values):
    made = {"namespace": "n", "created_at": NOW - timedelta(days=1), "updated_at": NOW, **values}
    return Memory(id=name, content=content, **made)


def moment(kind="semantic", **policy):
    own = replace(DEFAULT_KINDS[kind], **policy)
    return Moment(NOW, "new", "n", Policy(kinds={**DEFAULT_KINDS, kind: own}), own)


def near(*pairs, **values):
    rows = tuple(Candidate(row, "vector", cosine) for row, cosine in pairs)
    return Evidence(neighbours=rows, calibration=IDENTITY, bounds=BOUNDS, **values)


def opinion(**shares):
    values = {"same": 0.0, "refines": 0.0, "generalises": 0.0, "conflict": 0.0, "distinct": 0.0} | shares
    return Opinion(**values, model="m")


def decided(evidence, *, content=NEW, at=None, **fields):
    new, at = NewMemory(content=content, **fields), at or moment(fields.get("kind", "semantic"))
    return new, judge(new, evidence, at), at


def asked(evidence, **how):
    new, decision, at = decided(evidence, **how)
    return [item.memory.id for item in left_open(decision, new, evidence, at)]


@pytest.mark.parametrize(("similarity", "wanted"), [(0.61, True), (0.6, True), (0.5999, False)])
def test_a_near_memory_without_a_known_conflict_is_a_question(similarity, wanted):
    """From the policy's `conflict_at` on, inclusive, also where the texts share no word."""
    assert asked(near((memory(), similarity))) == (["old"] if wanted else [])


def test_a_memory_without_a_vector_is_no_question():
    assert asked(near((memory(), None))) == []


@pytest.mark.parametrize(
    ("content", "old", "fields"),
    [
        ("Never use X", memory(content="Use X"), {}),  # the rules found the conflict
        ("use X!", memory(content="Use X"), {"kind": "thesis"}),  # the same words
        (NEW, memory(status="archived"), {}),
        (NEW, memory(expires_at=NOW - timedelta(days=1)), {}),
        (NEW, memory(kind="thesis"), {}),  # S0-52: a kind that is compared with no other
        (NEW, memory(subject="Ana"), {"subject": "Bo"}),  # B-4
        (NEW, memory(event_time=NOW), {"event_time": NOW - timedelta(days=9)}),  # F-22
    ],
)
def test_what_is_decided_already_is_no_question(content, old, fields):
    assert asked(near((old, 0.85)), content=content, **fields) == []


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (opinion(conflict=0.6), False),  # reported already
        (opinion(conflict=0.45, distinct=0.4), True),  # a doubt below the bound
        (opinion(distinct=0.99), True),
        (opinion(same=0.6, distinct=0.4), False),  # listed as a possible repeat
        (opinion(same=0.45, distinct=0.3), True),
        (opinion(refines=0.85), False),  # linked as a refinement
        (opinion(refines=0.7), True),
        (opinion(generalises=0.95), False),
    ],
)
def test_a_memory_the_relation_model_is_sure_of_is_no_question(told, wanted):
    evidence = near((memory(), 0.7), opinions={"old": told})
    assert asked(evidence) == (["old"] if wanted else [])


def test_another_name_stays_a_question_although_the_relation_model_is_sure_of_a_repeat():
    row, new = memory(content="Contracts are signed by Mara"), "It is Ilse who puts her name under contracts"
    evidence = near((row, 0.7), opinions={"old": opinion(same=0.97, distinct=0.03)})
    assert decided(evidence, content=new)[1].matches[0].relation == "same"
    assert asked(evidence, content=new) == ["old"]


def test_at_most_four_are_asked_the_nearest_first():
    rows = [(memory(f"old {n}", f"{OLD} {n}"), 0.61 + n / 100) for n in range(7)]
    assert MOST_JUDGED == 4
    assert asked(near(*rows)) == ["old 6", "old 5", "old 4", "old 3"]


@pytest.mark.parametrize(
    ("policy", "kind", "content", "similarity"),
    [
        ({"on_conflict": "ignore"}, "semantic", NEW, 0.9),
        ({}, "lesson", "Ana works for Acme", 0.99),  # skipped as a repeat: nothing is stored that could conflict
        ({}, "knowledge", "Ana works for Acme", 0.7),  # evolved
    ],
)
def test_where_no_memory_of_its_own_is_stored_nothing_is_asked(policy, kind, content, similarity):
    evidence = near((memory(kind=kind), similarity))
    new, decision, at = decided(evidence, content=content, kind=kind, at=moment(kind, **policy))
    assert decision.outcome == {"semantic": "created", "lesson": "restated", "knowledge": "evolved"}[kind]
    assert left_open(decision, new, evidence, at) == ()


def test_what_the_text_replaces_and_what_is_only_history_are_no_questions():
    """B-35: a statement about the past does not contradict the present."""
    slot = memory(kind="fact", subject="ana", attribute="job")
    fields = {"kind": "fact", "subject": "ana", "attribute": "job"}
    evidence = near((slot, 0.9), slot=(slot,))
    new, decision, at = decided(evidence, **fields)
    assert decision.outcome == "superseded" and left_open(decision, new, evidence, at) == ()
    other = memory("other", "Ana is at Acme all day", kind="fact")
    evidence = near((slot, 0.9), (other, 0.8), slot=(slot,))
    new, decision, at = decided(evidence, event_time=NOW - timedelta(days=900), **fields)
    assert decision.memory.status == "superseded" and left_open(decision, new, evidence, at) == ()


# --------------------------------------------------------------------------------------------
# What the answer adds


def answered(share, *, evidence=None, at=None):
    evidence = evidence or near((memory(), 0.7))
    new, decision, at = decided(evidence, at=at)
    questions = left_open(decision, new, evidence, at)
    return decision, reviewed(decision, questions, {"old": share}, judge="judge 7", moment=at)


@pytest.mark.parametrize("share", [FLAG_AT, 1.0])
def test_a_judge_that_is_sure_adds_a_possible_conflict(share):
    before, after = answered(share)
    (conflict,) = after.conflicts
    assert (conflict.a, conflict.b, conflict.kind, conflict.reason) == ("old", "new", "contradiction", "judge")
    assert (conflict.similarity, conflict.resolution, conflict.created_at) == (0.7, None, NOW)
    assert [(item.kind, item.old, item.new, item.decisive) for item in conflict.differences][0] == (
        "custom", OLD, NEW, False,
    )  # fmt: skip
    assert [(match.memory_id, match.action) for match in after.matches] == [("old", "conflict")]
    assert [(reason.rule, reason.detail) for reason in after.reasons] == [
        ("conflict_judge", f"probability {share:.4f} by judge 7; 0.7000 to old")
    ]
    assert after.effects == (*before.effects, ConflictChange(None, conflict))


@pytest.mark.parametrize("share", [None, 0.0, 0.5, FLAG_AT - 0.0001])
def test_a_judge_that_is_not_sure_changes_nothing(share):
    """E-3.5: judges over-call contradictions."""
    before, after = answered(share)
    assert after == before


@pytest.mark.parametrize("on_conflict", ["warn", "supersede_sure", "supersede", "raise"])
@pytest.mark.parametrize("similarity", [0.65, 0.99])
@pytest.mark.parametrize("told", [None, opinion(distinct=0.6, conflict=0.4)])
def test_whatever_the_policy_a_judge_neither_hides_nor_refuses_nor_keeps_anything(on_conflict, similarity, told):
    """I4, design §5: outcome, memory, links, earlier effects and conflicts are unchanged."""
    opinions = {} if told is None else {"old": told}
    evidence = near((memory(content="Acme is where Ana spends her days"), similarity), opinions=opinions)
    before, after = answered(1.0, evidence=evidence, at=moment(on_conflict=on_conflict))
    assert (after.outcome, after.memory, after.links, after.dropped, after.degraded) == (
        before.outcome, before.memory, before.links, before.dropped, before.degraded,
    )  # fmt: skip
    assert after.effects[: len(before.effects)] == before.effects
    assert after.conflicts[: len(before.conflicts)] == before.conflicts
    assert all(isinstance(effect, ConflictChange) for effect in after.effects[len(before.effects) :])


def test_why_it_was_stored_is_told_beside_the_conflict():
    rows = [(memory("warned", "Never use X"), 0.9), (memory("old", OLD), 0.7)]
    evidence = near(*rows)
    new, decision, at = decided(evidence, content="Use X")
    after = reviewed(decision, left_open(decision, new, evidence, at), {"old": 0.95}, judge="j", moment=at)
    assert [reason.rule for reason in after.reasons] == ["conflict_warn", "conflict_judge"]
    assert [(conflict.a, conflict.reason) for conflict in after.conflicts] == [
        ("warned", "negation_diff"), ("old", "judge"),
    ]  # fmt: skip


def test_long_texts_are_told_by_their_beginning():
    old, new = "a " * 2000 + "end", "b " * 2000 + "end"
    evidence = near((memory(content=old), 0.7))
    statement, decision, at = decided(evidence, content=new)
    after = reviewed(decision, left_open(decision, statement, evidence, at), {"old": 1.0}, judge="j", moment=at)
    assert max(len(item.old) for item in after.conflicts[0].differences) < 300


def test_without_an_answer_the_memory_is_stored_unchecked_and_the_result_says_so():
    """I7."""
    before, _ = answered(None)
    after = unreviewed(before)
    assert (after.outcome, after.degraded, after.memory.checked) == ("created", (*before.degraded, "judge"), False)
    assert [effect.after for effect in after.effects if isinstance(effect, MemoryChange)] == [after.memory]
    assert unreviewed(after) == after
