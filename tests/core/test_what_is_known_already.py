"""What counts as known already, and which memory a new text takes the place of: evidence in, decision out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.gate.admit import allowed, judge, settle
from wellkept.core.judging.calibration import IDENTITY
from wellkept.core.judging.evidence import Evidence, Judged, Moment
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import Candidate, Comparison, Memory, NewMemory, Opinion, Update

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
TEXT, OTHER = "The office is in Frankfurt.", "The office is in Dublin."
BOUNDS = Bounds(skip=0.9, link=0.8, evolve=0.9, flag=0.5, supersede=0.9, words_near=0.0, words_far=0.0)


def memory(name="old", content=TEXT, **values):
    made = {"kind": "fact", "created_at": NOW - DAY, "updated_at": NOW - DAY, **values}
    return Memory(id=name, namespace="n", content=content, **made)


def moment(kind="fact", **options):
    kinds = {**DEFAULT_KINDS, kind: replace(DEFAULT_KINDS[kind], **options)}
    return Moment(NOW, "new", "n", Policy(kinds=kinds), kinds[kind])


def said_before(*rows, **values):
    """Evidence that rows hold the same words."""
    found = tuple(Candidate(row, "content_hash") for row in rows)
    return Evidence(verbatim=found, calibration=IDENTITY, **values)


def superseded(decision):
    """The ids of the memories that the decision supersedes."""
    return [link.dst for link in decision.links if link.rel == "supersedes"]


# --------------------------------------------------------------------------------------------
# A repeat of a memory that another one has superseded

PAST = memory(status="superseded", superseded_by="head")
HEAD = memory("head", OTHER)
SUMMARY = memory("head", OTHER, tags=("reflection", "level:1"), provenance=("old",))


@pytest.mark.parametrize(
    ("head", "dated", "outcome"),
    [
        (HEAD, None, None),  # said again today: a new assertion
        (HEAD, NOW - 2 * DAY, "duplicate"),  # of a time before the head: known history
        (HEAD, NOW - DAY, None),  # of the very time of the head
        (replace(HEAD, status="forgotten"), NOW - 2 * DAY, None),
        (replace(HEAD, id="old"), NOW - 2 * DAY, None),
        (replace(HEAD, event_time=NOW + DAY), NOW - DAY, "duplicate"),  # a head of the future counts as of now
        (SUMMARY, None, "duplicate"),  # a summary does not replace what it was made from
    ],
)
def test_what_was_superseded_is_known_only_as_history(head, dated, outcome):
    decision = settle(NewMemory(content=TEXT, kind="fact", recorded_at=dated), said_before(PAST, heads={"old": head}),
                      moment())  # fmt: skip
    assert (decision and decision.outcome) == outcome


@pytest.mark.parametrize(
    ("head", "replaced"),
    [
        (HEAD, ["head"]),
        (None, []),
        (replace(HEAD, status="forgotten"), []),
        (SUMMARY, []),
        (replace(HEAD, event_time=NOW + DAY), []),
    ],
)
def test_a_text_that_holds_again_supersedes_what_superseded_it(head, replaced):
    heads = {} if head is None else {"old": head}
    decision = judge(NewMemory(content=TEXT, kind="fact"), said_before(PAST, heads=heads), moment())
    assert superseded(decision) == replaced


# --------------------------------------------------------------------------------------------
# A repeat of a wording

WORDING = memory("wording", status="wording", superseded_by="head")
STANDS = memory("head", "Frankfurt has our office.")
MOVED = replace(STANDS, content=OTHER, updates=(Update(NOW - DAY, OTHER, 0.9),))


@pytest.mark.parametrize(
    ("head", "outcome"),
    [
        (STANDS, "duplicate"),
        (replace(STANDS, expires_at=NOW + DAY), "duplicate"),
        (replace(STANDS, expires_at=NOW), None),  # nothing that holds says it
        (replace(STANDS, status="archived"), None),
        (MOVED, None),  # it says otherwise by now
        (None, None),
    ],
)
def test_a_repeat_of_a_wording_confirms_a_head_that_still_holds(head, outcome):
    evidence = said_before(WORDING, heads={} if head is None else {"wording": head})
    decision = settle(NewMemory(content=TEXT, kind="fact"), evidence, moment())
    assert (decision and (decision.outcome, decision.memory.id)) == (outcome and (outcome, "head"))


@pytest.mark.parametrize("head", [STANDS, MOVED, replace(STANDS, expires_at=NOW)])
def test_the_head_of_a_wording_has_not_replaced_it_so_a_repeat_brings_nothing_back(head):
    decision = judge(NewMemory(content=TEXT, kind="fact"), said_before(WORDING, heads={"wording": head}), moment())
    assert superseded(decision) == []


def test_an_equal_text_about_another_subject_brings_nothing_back():
    past = replace(PAST, subject="Dublin")
    new = NewMemory(content=TEXT, kind="fact", subject="Frankfurt")
    assert superseded(judge(new, said_before(past, heads={"old": HEAD}), moment())) == []


def test_where_repeats_are_kept_nothing_is_known_and_nothing_comes_back():
    new, evidence = NewMemory(content=TEXT, kind="fact"), said_before(memory(), PAST, heads={"old": HEAD})
    assert settle(new, evidence, moment(on_conflict="ignore")) is None
    assert superseded(judge(new, evidence, moment(on_conflict="ignore"))) == []


@pytest.mark.parametrize(
    ("shown", "outcome"),
    [("The office is in Frankfurt. It has a kitchen.", "duplicate"), (OTHER, None)],
)
def test_a_memory_that_says_otherwise_by_now_is_not_repeated_by_its_old_words(shown, outcome):
    row = memory(content=shown, updates=(Update(NOW - DAY, shown, 0.9),))
    decision = settle(NewMemory(content=TEXT, kind="fact"), said_before(row), moment())
    assert (decision and decision.outcome) == outcome


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        (None, "duplicate"),
        (memory("b", OTHER), None),  # another value fills the slot: which one holds has to be decided
        (memory("b", TEXT + "!"), "duplicate"),
        (memory("b", OTHER, event_time=NOW + DAY), "duplicate"),
    ],
)
def test_a_repeat_in_a_slot_with_two_values_is_not_settled_at_once(row, outcome):
    evidence = said_before(memory(), slot=(memory(),) if row is None else (memory(), row))
    decision = settle(NewMemory(content=TEXT, kind="fact", subject="office"), evidence, moment())
    assert (decision and decision.outcome) == outcome


# --------------------------------------------------------------------------------------------
# An ongoing episode

MEETING = "The team met the client about the new contract in the office"


@pytest.mark.parametrize(
    ("content", "row", "outcome"),
    [
        (MEETING + ".", {}, "reused"),
        (MEETING, {"created_at": NOW - timedelta(minutes=31)}, None),
        (MEETING, {"event_time": NOW - DAY}, None),
        (MEETING, {"agent": "somebody"}, None),
        ("The team cooked lunch", {}, None),
        (MEETING.replace("met", "never met"), {}, None),  # most words are the same, and it denies the other
    ],
)
def test_an_episode_goes_on_in_nearly_the_same_words_for_a_while(content, row, outcome):
    ongoing = memory(**{"content": MEETING, "kind": "episode", "created_at": NOW - timedelta(minutes=5), **row})
    decision = settle(NewMemory(content=content, kind="episode"), Evidence(ongoing=(ongoing,)), moment("episode"))
    assert (decision and decision.outcome) == outcome


# --------------------------------------------------------------------------------------------
# The slot


@pytest.mark.parametrize(
    ("new", "row", "outcome"),
    [
        ({}, {}, "superseded"),
        ({"subject": ""}, {}, "created"),
        ({}, {"event_time": NOW + DAY}, "created"),  # it holds from tomorrow on
        ({}, {"expires_at": NOW}, "created"),
        ({"agent": "a"}, {"agent": "b"}, "created"),
        ({"content": OTHER, "event_time": NOW}, {"event_time": NOW - DAY}, "created"),  # it happened twice
    ],
)
def test_a_new_value_replaces_what_holds_in_its_slot(new, row, outcome):
    new = NewMemory(**{"content": TEXT, "kind": "fact", "subject": "office", **new})
    slot = (memory(**{"content": OTHER, "subject": "office", **row}),)
    assert judge(new, Evidence(slot=slot, calibration=IDENTITY), moment()).outcome == outcome


@pytest.mark.parametrize(
    ("cosine", "values", "outcome"),
    [
        (0.8, {}, "superseded"),
        (0.79, {}, "created"),
        (None, {}, "created"),
        (0.8, {"lexical": True}, "created"),
        (0.8, {"calibration": None}, "created"),
    ],
)
def test_a_value_that_has_to_be_similar_replaces_only_a_similar_one(cosine, values, outcome):
    row = memory(content="The plan is ready.", subject="office")
    neighbours = () if cosine is None else (Candidate(row, "vector", cosine),)
    evidence = Evidence(**{"slot": (row,), "neighbours": neighbours, "calibration": IDENTITY, **values})
    new = NewMemory(content="Tea is upstairs.", kind="fact", subject="office")
    decision = judge(new, evidence, moment(on_same_subject="replace_if_similar", replace_at=0.8))
    assert decision.outcome == outcome


# --------------------------------------------------------------------------------------------
# Opinions


@pytest.mark.parametrize(("refines", "expected"), [(0.9, "evolve"), (0.89, None)])
def test_a_memory_grows_where_the_model_is_sure_enough_that_the_text_adds(refines, expected):
    opinion = Opinion(same=0.0, refines=refines, generalises=0.0, conflict=0.0, distinct=round(1 - refines, 4))
    told = Comparison("refines", 0.85, 0.85, opinion=opinion)
    found = Judged(Candidate(memory(kind="knowledge"), "vector"), told)
    assert allowed(found, DEFAULT_KINDS["knowledge"], Evidence(bounds=BOUNDS)) == expected


def test_a_text_that_a_newer_memory_contradicts_repeats_an_old_value():
    """It is no repeat of the older memory that says the same: it says the old value again."""
    rows = memory("a", "threshold 0.85", kind="knowledge"), memory("b", "threshold 0.95", kind="knowledge")
    for newer, outcome in ((-1, "restated"), (1, "created")):
        older, later = rows[0], replace(rows[1], created_at=NOW - 2 * DAY + newer * DAY)
        older = replace(older, created_at=NOW - 2 * DAY)
        near = tuple(Candidate(row, "vector", cosine) for row, cosine in ((older, 0.99), (later, 0.95)))
        new = NewMemory(content="The threshold is 0.85", kind="knowledge")
        assert judge(new, Evidence(neighbours=near, calibration=IDENTITY), moment("knowledge")).outcome == outcome
