"""A new text and a memory that has grown: parts and opinions in, outcome out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.gate.admit import judge
from wellkept.core.judging.calibration import IDENTITY
from wellkept.core.judging.compare import LONG_TEXT
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.judging.what_to_ask import MOST_PARTS, questions, texts_to_read
from wellkept.core.records.merge import GROWN_AT_MOST, SHOWN_UPDATES, evolve, has_room, without
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import Candidate, Memory, MemoryChange, NewMemory, Opinion

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
FIRST = "The hook runs after each session."
PARTS = (
    "The hook runs after each session with the rights of the user.",
    "The hook runs after each session and takes 2 seconds.",
    "The hook runs after each session and writes a summary.",
)
REFINES = Opinion(same=0.03, refines=0.9, generalises=0.02, conflict=0.03, distinct=0.02)
SAME = Opinion(same=0.97, refines=0.01, generalises=0.01, conflict=0.0, distinct=0.01)
BOUNDS = Bounds(skip=0.95, link=0.5, evolve=0.85, flag=0.9, supersede=0.95)


def memory(name="head", content=FIRST, **values):
    then = NOW - 9 * DAY
    fields = {"kind": "knowledge", "created_at": then, "updated_at": then, **values}
    return Memory(id=name, namespace="n", content=content, **fields)


def grown(parts=PARTS):
    head = memory()
    for text in parts:
        head = evolve(head, text, at=NOW - DAY, similarity=0.9)
    wordings = [memory(f"part {n}", text, status="wording", superseded_by="head") for n, text in enumerate(parts)]
    return head, wordings


def policy(repeats):
    return Policy(kinds={**DEFAULT_KINDS, "knowledge": replace(DEFAULT_KINDS["knowledge"], repeats=repeats)})


def moment(repeats):
    one = policy(repeats)
    return Moment(NOW, "new", "n", one, one.for_kind("knowledge"))


def evidence_of(head, wordings, opinions=None, near=0.9):
    return Evidence(
        neighbours=tuple(Candidate(row, "vector", near - n / 100) for n, row in enumerate((*wordings, head))),
        heads={row.id: head for row in wordings},
        opinions=opinions or {}, bounds=BOUNDS, calibration=IDENTITY,
    )  # fmt: skip


def decided(text, head, wordings, opinions=None, repeats="fold"):
    evidence = evidence_of(head, wordings, {"head": REFINES, **(opinions or {})})
    return judge(NewMemory(content=text, kind="knowledge"), evidence, moment(repeats))


@pytest.mark.parametrize(
    ("text", "opinions", "outcome"),
    [
        ("The hook runs after each session in a separate process.", {}, "evolved"),
        ("The hook runs after each session, unless the session was empty.", {}, "evolved"),
        # an addition speaks of the same: another value, a repeat, no more than that
        ("The hook runs after each session with the rights of root.", {}, "created"),
        ("The hook runs after each session and takes 5 seconds.", {}, "created"),
        ("After each session the hook runs and writes a summary.", {}, "restated"),
        ("The hook runs after each session, writing a summary each time.", {"part 2": SAME}, "restated"),
        # the model is not sure that it refines the original
        ("The hook runs after each session on the server.", {"head": replace(REFINES, refines=0.8)}, "created"),
    ],
)
def test_an_addition_is_judged_beside_the_original_and_each_part(text, opinions, outcome):
    decision = decided(text, *grown(), opinions)
    assert decision.outcome == outcome
    if outcome != "created":
        [new] = [effect.after for effect in decision.effects if getattr(effect, "before", 0) is None
                 and isinstance(effect, MemoryChange)]  # fmt: skip
        assert (new.status, new.superseded_by, new.content) == ("wording", "head", text)
        assert decision.dropped is None and decision.memory.id == "head"


def test_nothing_is_added_to_a_memory_that_has_lapsed():
    head, wordings = grown()
    text = "The hook runs after each session in a separate process."
    assert decided(text, replace(head, expires_at=NOW - DAY), wordings).outcome == "created"
    assert decided(text, replace(head, expires_at=NOW + DAY), wordings).outcome == "evolved"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("钩子在每次会话后运行，耗时五秒。", "evolved"),
        ("钩子在每次会话后运行，权衡利弊。", "evolved"),  # a sign in common, no word
        ("钩子在每次会话后运行，使用普通用户权限。", "created"),  # other rights
    ],
)
def test_additions_in_a_script_without_spaces_are_told_apart_by_words_and_not_by_signs(text, outcome):
    part = "钩子在每次会话后运行，使用管理员权限。"
    head = evolve(memory(content="钩子在每次会话后运行。"), part, at=NOW - DAY, similarity=0.9)
    assert decided(text, head, [memory("part 0", part, status="wording", superseded_by="head")]).outcome == outcome


@pytest.mark.parametrize(("parts", "outcome"), [(SHOWN_UPDATES - 1, "evolved"), (SHOWN_UPDATES, "restated")])
def test_an_addition_to_a_memory_without_room_is_a_wording_only(parts, outcome):
    verbs = ("weighs", "paints", "counts", "prints", "sends", "checks", "moves", "opens", "names", "reads")
    head, wordings = grown(tuple(f"The hook runs after each session and {verb} it." for verb in verbs[:parts]))
    decision = decided("The hook runs after each session in a separate process.", head, wordings)
    assert decision.outcome == outcome
    assert ("no_room_to_grow" in {reason.rule for reason in decision.reasons}) is (outcome == "restated")


def test_another_value_of_an_addition_is_listed_as_a_conflict_of_the_head():
    decision = decided("The hook runs after each session and takes 5 seconds.", *grown())
    assert [item.a for item in decision.conflicts] == ["head"]


def test_a_part_that_the_head_has_no_room_for_is_contradicted_like_the_others():
    head, _ = grown(PARTS[:1])
    decision = decided("The hook runs after each session and takes 5 seconds.", head, grown()[1])
    assert (decision.outcome, [item.a for item in decision.conflicts]) == ("created", ["head"])


@pytest.mark.parametrize(("repeats", "outcome", "dropped"), [("fold", "evolved", False), ("drop", "evolved", True)])
def test_the_first_addition_is_a_wording_where_repeats_are_folded(repeats, outcome, dropped):
    decision = decided(PARTS[0], memory(), [], repeats=repeats)
    assert (decision.outcome, decision.dropped is not None) == (outcome, dropped)
    assert decision.memory.content.endswith(PARTS[0])


@pytest.mark.parametrize(
    ("updates", "length", "room"),
    [(0, 100, True), (SHOWN_UPDATES - 1, 100, True), (SHOWN_UPDATES, 100, False), (0, GROWN_AT_MOST, False)],
)
def test_a_memory_takes_additions_up_to_its_bound(updates, length, room):
    row = memory(content="x" * length)
    for _ in range(updates):
        row = evolve(row, "y", at=NOW, similarity=0.9)
    assert has_room(row, "more", at=NOW) is room


def test_no_memory_grows_beyond_what_is_compared_as_one_text():
    assert GROWN_AT_MOST <= LONG_TEXT


def test_a_part_can_be_taken_out_again():
    head, _ = grown()
    left = without(head, PARTS[1], at=NOW)
    assert [update.text for update in left.updates] == [PARTS[0], PARTS[2]]
    assert PARTS[1] not in left.content and (left.embedding, left.version) == ("", head.version + 1)


@pytest.mark.parametrize(("repeats", "read"), [("fold", FIRST), ("drop", None)])
def test_the_model_reads_the_original_of_a_memory_with_parts(repeats, read):
    head, wordings = grown()
    assert texts_to_read((head, wordings[0]), policy(repeats)) == [read or head.content, PARTS[0]]


def test_the_original_is_asked_about_before_its_nearest_parts():
    head, wordings = grown()
    other = memory("other", "The hook of the editor runs on save.")
    evidence = evidence_of(head, wordings)
    evidence = replace(evidence, neighbours=(*evidence.neighbours, Candidate(other, "vector", 0.7)))
    new = NewMemory(content="The hook runs after each session in a separate process.", kind="knowledge")
    asked = questions(new, evidence, moment("fold"))
    assert [row.id for row in asked] == ["head", "part 0", "part 1", "other"]
    assert MOST_PARTS == 2
