"""The gate as a pure function: a statement and the evidence about it become a decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from letter import to_the_letter
from wellkept.core.gate import admit
from wellkept.core.gate.admit import allowed
from wellkept.core.judging.calibration import IDENTITY, Calibration
from wellkept.core.judging.evidence import Evidence, Judged, Moment, apart, in_scope, says_the_same
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.records.merge import aliases
from wellkept.policy import DEFAULT_KINDS, PRESETS, Band, Policy
from wellkept.types import (
    AliasChange,
    Candidate,
    Comparison,
    ConflictChange,
    Difference,
    LinkChange,
    Memory,
    MemoryChange,
    NewMemory,
    Opinion,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DEFAULT = Policy()
OLD, SAME, CLASH, MORE = (
    "Never trade during low-volume weekends",
    "Avoid trading on weekends when volume is low",
    "Use flake8 for linting",
    "Never trade during low-volume weekends unless funding is negative",
)


def memory(name="old", content=OLD, **values):
    made = {"namespace": "n", "created_at": NOW - timedelta(days=1), "updated_at": NOW - timedelta(days=1), **values}
    return Memory(id=name, content=content, **made)


def moment(new, policy):
    return Moment(NOW, "new", "n", policy, policy.for_kind(new.kind))


def settle(new, evidence, policy=DEFAULT):
    return admit.settle(new, evidence, moment(new, policy))


def judge(new, evidence, policy=DEFAULT):
    return admit.judge(new, evidence, moment(new, policy))


def near(*pairs, **values):
    """Evidence with neighbours at exact similarities."""
    return Evidence(
        neighbours=tuple(Candidate(row, "vector", cosine) for row, cosine in pairs), calibration=IDENTITY, **values
    )


def verbatim(*rows, stage="content_hash", **values):
    return Evidence(verbatim=tuple(Candidate(row, stage) for row in rows), calibration=IDENTITY, **values)


def kinds_of(decision):
    return [type(effect).__name__ for effect in decision.effects]


# --------------------------------------------------------------------------------------------
# What needs no vector


STOPS = {
    "lesson", "curiosity", "semantic", "episodic", "procedural", "feedback", "note", "fact", "preference", "knowledge",
    "summary", "temp_note",
}  # fmt: skip


@pytest.mark.parametrize("kind", list(DEFAULT_KINDS))
@pytest.mark.parametrize("stage", ["content_hash", "canonical_hash"])
def test_a_verbatim_repeat_is_stopped_in_these_kinds_and_never_in_the_others(kind, stage):
    """B-37, S0-2, S0-3, S4-1, S4-2: where the same words can be another event they are never a repeat."""
    policy = DEFAULT_KINDS[kind]
    assert ("hash" in policy.stages and "canonical" in policy.stages) is (kind in STOPS)
    if kind in STOPS:
        row = memory(kind=kind)
        decision = settle(NewMemory(content=OLD, kind=kind), verbatim(row, stage=stage))
        assert decision is not None and decision.outcome == "duplicate"
        assert decision.matches[0].similarity == (1.0 if stage == "content_hash" else 0.95)
        assert decision.reasons[0].rule == stage


@pytest.mark.parametrize(
    ("new", "old", "same"),
    [
        ({}, {}, True),
        ({"subject": "a"}, {"subject": "A "}, True),
        ({"subject": "a"}, {"subject": "b"}, False),
        ({"subject": "a"}, {}, True),  # one side says nothing about it
        ({"attribute": "x"}, {"attribute": "y"}, False),
        ({"title": "T!"}, {"title": "t"}, True),
        ({"title": "T"}, {"title": "U"}, True),  # a title heads, it does not say
        ({"event_time": NOW}, {"event_time": NOW}, True),
        ({"event_time": NOW}, {"event_time": NOW - timedelta(days=1)}, False),
        ({"event_time": NOW}, {}, True),
        ({"polarity": 1}, {"polarity": -1}, False),
        ({"polarity": 1}, {"polarity": 0}, True),
        ({"agent": "a"}, {"agent": "b"}, False),
        ({"kind": "note"}, {"kind": "semantic"}, False),
        ({"importance": 0.1, "tags": ("x",)}, {"importance": 0.9}, True),
    ],
)
def test_equal_words_are_an_equal_statement_unless_something_beside_them_differs(new, old, same):
    """B-37, I2, F-22."""
    assert says_the_same(NewMemory(content=OLD, **new), memory(**old)) is same


@pytest.mark.parametrize(
    ("status", "expires", "stops"),
    [
        ("active", None, True),
        ("superseded", None, False),  # B-9: a new assertion
        ("active", NOW, False),  # an expired row does not block
        ("active", NOW + timedelta(seconds=1), True),
    ],
)
def test_only_what_is_current_stops_a_repeat(status, expires, stops):
    row = memory(status=status, expires_at=expires)
    decision = settle(NewMemory(content=OLD), verbatim(row))
    assert (decision is not None) is stops


def test_a_repeat_confirms_the_stored_row_and_keeps_the_refused_text():
    """B-38, I1."""
    row = memory()
    evidence = verbatim(row, stage="canonical_hash", held={"old": frozenset({aliases(OLD)[1]})})
    decision = settle(NewMemory(content=OLD + "!", tags=("x",)), evidence)
    assert decision.dropped.content == OLD + "!"
    assert (decision.memory.confirmations, decision.memory.tags, decision.memory.importance) == (1, ("x",), 0.5)
    assert decision.effects == (
        MemoryChange(row, decision.memory),
        AliasChange("old", aliases(OLD + "!")[0], present=True),
    )


def test_a_repeat_of_a_wording_and_of_its_head_is_a_repeat_of_the_head_once():
    head, wording = memory(), memory("w", status="wording", superseded_by="old")
    for rows in ((wording,), (wording, head)):
        decision = settle(NewMemory(content=OLD), verbatim(*rows, heads={"w": head}))
        assert [match.memory_id for match in decision.matches] == ["old"]


def test_nothing_is_decided_without_vectors_where_nothing_is_known():
    """S4-4: then, and only then, the model is asked."""
    assert settle(NewMemory(content=OLD), Evidence()) is None


# --------------------------------------------------------------------------------------------
# Bands and vetoes


@pytest.mark.parametrize(
    ("preset", "relation", "kinds", "similarity", "expected"),
    [
        ("insight", "same", (), 0.95, "skip"),
        ("insight", "same", (), 0.94, "link"),
        ("insight", "variant", ("detail",), 0.99, "link"),  # S0-50, F-8
        ("insight", "variant", ("condition",), 0.99, "link"),
        ("insight", "conflict", ("number",), 0.99, None),  # B-6
        ("insight", "none", (), 0.99, None),
        ("knowledge", "same", (), 0.89, "skip"),
        ("knowledge", "same", (), 0.88, "evolve"),
        ("knowledge", "variant", ("detail",), 0.95, "evolve"),
        ("knowledge", "variant", ("condition",), 0.70, "evolve"),
        ("knowledge", "variant", ("number",), 0.70, None),  # I2: what differs is not appended
        ("knowledge", "variant", ("date",), 0.95, None),
        ("knowledge", "variant", ("name",), 0.95, None),
        ("knowledge", "variant", ("version",), 0.95, None),
        ("knowledge", "variant", ("negation",), 0.95, None),
        ("knowledge", "variant", ("length",), 0.95, None),  # B-33
        ("knowledge", "variant", ("event_time",), 0.95, None),  # F-22
        ("knowledge", "variant", ("subject",), 0.95, None),
        ("knowledge", "conflict", ("value",), 0.70, None),
        ("general", "same", (), 0.99, None),  # merges only under `supersede`
        ("general!", "same", (), 0.95, "merge"),
        ("general!", "variant", ("detail",), 0.99, None),
        ("append_only", "same", (), 1.0, None),
    ],
)
def test_a_band_acts_only_where_no_difference_forbids_it(preset, relation, kinds, similarity, expected):
    """I2, B-3, B-6."""
    policy = PRESETS[preset.rstrip("!")]
    if preset.endswith("!"):
        policy = replace(policy, on_conflict="supersede")
    differences = tuple(Difference(kind, "a", "b") for kind in kinds)
    found = Judged(Candidate(memory(), "vector"), Comparison(relation, similarity, similarity, differences))
    assert allowed(found, policy, Evidence()) == expected
    assert allowed(found, policy, Evidence(lexical=True)) is None  # letters alone never act (I7)


@pytest.mark.parametrize(
    ("scope", "new", "old", "inside"),
    [
        (("kind",), {}, {}, True),
        (("kind",), {"kind": "lesson"}, {"kind": "curiosity"}, False),  # S0-52, S4-16
        ((), {"kind": "lesson"}, {"kind": "curiosity"}, False),  # the kind always counts
        (("kind",), {"tags": ("a",)}, {"tags": ("b",)}, True),
        (("kind", "tags"), {"tags": ("a",)}, {"tags": ("A", "b")}, True),  # S2-21, B-12
        (("kind", "tags"), {"tags": ("a",)}, {"tags": ("b",)}, False),
        (("kind", "tags"), {"tags": ("a",)}, {}, False),
        (("kind", "tags"), {}, {}, True),
        (("kind", "agent"), {"agent": "x"}, {"agent": "y"}, False),
        (("kind", "agent"), {"agent": "x"}, {"agent": "x"}, True),
        (("kind", "subject"), {"subject": "Nous"}, {"subject": "nous"}, True),
        (("kind", "subject"), {"subject": "Nous"}, {"subject": "006"}, False),
    ],
)
def test_the_scope_says_what_is_compared_at_all(scope, new, old, inside):
    policy = replace(PRESETS["general"], scope=scope)
    new, old = {"kind": "semantic", **new}, {"kind": "semantic", **old}
    assert in_scope(NewMemory(content="x", **new), memory(**old), policy) is inside


@pytest.mark.parametrize(
    ("kind", "inside", "beside"),
    [
        ("fact", ["fact"], ["note", "decision"]),
        ("decision", [], ["fact", "note", "decision"]),  # decisions are never searched by vector
        ("trade", [], []),
    ],
)
def test_memories_are_parted_into_those_of_the_scope_and_those_beside_it(kind, inside, beside):
    rows = [memory(name, kind=name) for name in ("fact", "note", "decision", "trade")]
    found = apart(NewMemory(content="x", kind=kind), rows, DEFAULT_KINDS[kind], Policy())
    assert [[row.id for row in part] for part in found] == [inside, beside]


# --------------------------------------------------------------------------------------------
# Whole decisions


@pytest.mark.parametrize(
    ("kind", "old", "new", "similarity", "outcome", "rules"),
    [
        ("lesson", OLD, SAME, 0.95, "restated", ["similarity_skip"]),
        ("lesson", OLD, SAME, 0.9499, "created", ["similarity_link"]),
        ("lesson", OLD, MORE, 0.97, "created", ["similarity_link"]),
        ("knowledge", OLD, SAME, 0.8801, "restated", ["similarity_skip"]),
        ("knowledge", OLD, SAME, 0.8800, "evolved", ["similarity_evolve"]),
        ("knowledge", OLD, SAME, 0.6500, "evolved", ["similarity_evolve"]),
        ("semantic", OLD, SAME, 0.97, "created", ["possible_repeat", "similarity_link"]),
        ("semantic", "Use ruff for linting", CLASH, 0.85, "created", ["conflict_warn"]),
        ("fact", "Use ruff for linting", CLASH, 0.85, "superseded", ["conflict_supersede"]),
        ("thesis", OLD, SAME, 0.99, "created", ["own_event"]),
        ("lesson", OLD, SAME, 0.3, "created", ["nothing_like_it"]),
    ],
)
def test_evidence_becomes_a_decision_with_its_reasons(kind, old, new, similarity, outcome, rules):
    """I6: every outcome names the rules that fired."""
    evidence = near((memory(content=old, kind=kind), similarity)) if kind != "thesis" else Evidence()
    decision = judge(NewMemory(content=new, kind=kind), evidence)
    assert decision.outcome == outcome
    assert [reason.rule for reason in decision.reasons] == rules


def test_the_same_evidence_gives_the_same_decision():
    """I4: no clock, no chance; time and id come from outside."""
    rows = [(memory(f"m{n}", content=f"{OLD} {word}", kind="lesson"), 0.91) for n, word in enumerate("abc")]
    new = NewMemory(content=SAME, kind="lesson")
    first, second = judge(new, near(*rows)), judge(new, near(*rows))
    assert first == second
    assert first.memory.id == "new" and first.memory.created_at == NOW
    assert judge(new, near(*reversed(rows))).matches == first.matches  # the order found in does not matter


def test_the_published_scale_decides_not_the_raw_cosine():
    """B-30: a calibration moves every bound."""
    steep = Calibration("steep", ((-1.0, -1.0), (0.8, 0.95), (1.0, 1.0)))
    evidence = replace(near((memory(kind="lesson"), 0.80)), calibration=steep)
    decision = judge(NewMemory(content=SAME, kind="lesson"), evidence)
    assert decision.outcome == "restated"
    assert (decision.matches[0].similarity, decision.matches[0].cosine) == (0.95, 0.80)


def test_a_paraphrase_below_the_default_bound_is_a_repeat_where_the_policy_says_so():
    """B-31: unset by default, so that the source's tiers hold to the letter."""
    lenient = replace(DEFAULT_KINDS["lesson"], bands=(Band(0.80, "skip"),))
    policy = Policy(kinds={**DEFAULT_KINDS, "lesson": lenient})
    evidence = near((memory(kind="lesson"), 0.80))
    new = NewMemory(content=SAME, kind="lesson")
    assert judge(new, evidence, policy).outcome == "restated"
    assert judge(new, evidence, to_the_letter(policy)).outcome == "duplicate"
    assert judge(new, evidence).outcome == "created"
    assert judge(replace(new, content=MORE), evidence, policy).outcome == "created"


def test_a_conflict_vetoes_the_repeat_beside_it():
    """B-6: the same text is near one row and denies another; the nearest does not decide alone."""
    rows = ((memory("a", "threshold 0.85", kind="knowledge"), 0.99),)
    decision = judge(NewMemory(content="threshold 0.95", kind="knowledge"), near(*rows))
    assert decision.outcome == "created"
    assert kinds_of(decision).count(ConflictChange.__name__) == 1


@pytest.mark.parametrize(("similarity", "reasons"), [(0.95, ["custom_fn"]), (0.3, [])])
def test_a_contradiction_that_the_callers_check_finds_is_listed_where_the_texts_are_near(similarity, reasons):
    evidence = near((memory(), similarity), contradiction_fn=lambda old, new: True)
    decision = judge(NewMemory(content=SAME), evidence)
    assert [conflict.reason for conflict in decision.conflicts] == reasons
    quiet = replace(evidence, contradiction_fn=lambda old, new: False)
    again = judge(NewMemory(content=SAME), quiet)
    assert "custom_fn" not in {conflict.reason for conflict in again.conflicts}


@pytest.mark.parametrize(("old", "matches"), [("The car is red", []), ("Never use flake8 for linting", ["old"])])
def test_a_memory_of_a_kind_that_is_never_merged_is_only_looked_at_for_contradictions(old, matches):
    decision = judge(NewMemory(content=CLASH, kind="decision"), near((memory(content=old, kind="fact"), 0.9)))
    assert [match.memory_id for match in decision.matches] == matches


@pytest.mark.parametrize(("share", "outcome"), [(0.95, "superseded"), (0.9499, "created")])
def test_what_only_the_model_sees_is_sure_from_its_own_bound_on(share, outcome):
    told = Opinion(same=0.0, refines=0.0, generalises=0.0, conflict=share, distinct=1 - share)
    bounds = Bounds(skip=0.9, link=0.5, evolve=0.8, flag=0.5, supersede=0.95)
    evidence = near((memory(content="Ana works at Acme", kind="fact"), 0.8), opinions={"old": told}, bounds=bounds)
    policy = Policy().with_conflict("fact", "supersede_sure")
    assert judge(NewMemory(content="Globex hired Ana", kind="fact"), evidence, policy).outcome == outcome


def test_a_text_whose_embedder_failed_says_so_instead_of_that_nothing_is_near():
    decision = judge(NewMemory(content=OLD, kind="lesson"), Evidence(degraded=("embedding",)))
    assert [reason.rule for reason in decision.reasons] == ["not_compared"]


def test_a_memory_has_one_link_to_another_however_it_was_found():
    row = memory(kind="lesson")
    decision = judge(NewMemory(content=SAME, kind="lesson"), near((row, 0.93), (row, 0.92)))
    assert [(link.dst, link.rel) for link in decision.links] == [("old", "related")]
    assert kinds_of(decision).count("LinkChange") == 1


def test_what_is_replaced_is_not_linked_as_near_too():
    row = memory(content="Ana works at Acme in Graz", kind="fact", subject="Ana")
    linking = replace(DEFAULT_KINDS["fact"], bands=(Band(0.9, "link"),))
    policy = Policy(kinds={**DEFAULT_KINDS, "fact": linking})
    new = NewMemory(content="Ana is also at Globex in Wien now", kind="fact", subject="Ana")
    for slot, rel in (((row,), "supersedes"), ((), "related")):
        assert [link.rel for link in judge(new, near((row, 0.93), slot=slot), policy).links] == [rel]


def test_a_late_statement_stands_behind_one_of_the_statements_that_are_later():
    rows = [memory(name, f"status {name}", kind="fact", subject="006", event_time=NOW) for name in ("aa", "bb")]
    late = NewMemory(content="status cc", kind="fact", subject="006", event_time=NOW - timedelta(days=5))
    decision = judge(late, Evidence(slot=tuple(rows), calibration=IDENTITY))
    assert (decision.memory.superseded_by, [reason.rule for reason in decision.reasons]) == ("aa", ["older_assertion"])


def test_a_known_conflict_is_told_but_not_opened_again():
    """S1-31."""
    row = memory("a", "threshold 0.85")
    new = NewMemory(content="threshold 0.95")
    first = judge(new, near((row, 0.99)))
    known = frozenset(conflict.key for conflict in first.conflicts)
    again = judge(new, near((row, 0.99), known_conflicts=known))
    assert len(again.conflicts) == 1 and ConflictChange.__name__ not in kinds_of(again)


def test_effects_are_complete_the_row_its_hashes_and_what_follows():
    """Effects are data: exactly the changes that a backend writes."""
    row = memory(kind="fact", content="status PLANNED", subject="006", pinned=True)
    new = NewMemory(content="is shipped", kind="fact", subject="006")
    decision = judge(new, Evidence(slot=(row,), calibration=IDENTITY))
    assert decision.outcome == "superseded"
    assert kinds_of(decision) == ["MemoryChange", "AliasChange", "AliasChange", "MemoryChange", "LinkChange"]
    inserted, *hashes, hidden, linked = decision.effects
    assert (inserted.before, inserted.after.pinned) == (None, True)
    assert {effect.hash for effect in hashes} == set(aliases("is shipped"))
    assert (hidden.before, hidden.after.superseded_by) == (row, "new")
    assert isinstance(linked, LinkChange) and linked.after.rel == "supersedes"


@pytest.mark.parametrize("mode", ["raise"])
def test_a_refusal_has_no_effects_at_all(mode):
    """F-13, B-11."""
    policy = Policy().with_conflict("semantic", mode)
    decision = judge(NewMemory(content="threshold 0.95"), near((memory("a", "threshold 0.85"), 0.99)), policy)
    assert (decision.outcome, decision.memory, decision.effects) == ("rejected", None, ())
    assert decision.dropped.content == "threshold 0.95"
