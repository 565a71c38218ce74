"""Consolidation end to end on both backends: detect, plan, execute, execute again, take back (S1, F-26, F-27).

Merges of different texts are those of a policy that drops repeats; the default policy folds them instead.
"""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import wellkept
from letter import to_the_letter
from scenarios.cases import CASES, VERBATIM_BLOCKS, Case
from scenarios.tidy import (
    ALL_NEAR,
    BUS,
    NO_TEA,
    TEA,
    Worlds,
    all_the_same,
    counted,
    fill,
    flag_by_hand,
    model,
    of_type,
    states,
    texts,
)
from scenarios.world import BACKENDS, make, snapshot
from wellkept.core.consolidation.rules import DEFAULT_RULES, Consolidation, Rule, When
from wellkept.core.judging.compare import compare
from wellkept.core.text.forms import canonical
from wellkept.errors import Full, InvalidField, InvalidPlan, InvalidText, ModelUnavailable, NotFound, UndoBlocked
from wellkept.storage.memory import DictStorage
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.faults import FaultyStorage
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Scope

MERGE = "merge"
FOLD = "fold"
FLAG = "flag_contradiction"
KEPT = {"letter": to_the_letter(), "default": None}
"""Policies that merge and that fold what the model takes for the same."""


@pytest.fixture
def merging(world: Worlds) -> Worlds:
    """Creates worlds that merge what the model takes for the same, instead of keeping it as a wording."""
    return partial(world, policy=to_the_letter())


# -- F-26: a cluster of three and a contradiction inside -------------------------------------


def test_a_cluster_of_three_is_merged_and_the_contradiction_inside_is_flagged_once(merging: Worlds) -> None:
    """F-26, B-6, S1-4, S1-31: dry run twice, execute twice."""
    here = merging(ALL_NEAR)
    rows = fill(here, [*TEA, NO_TEA])
    with here.store._ctx.storage.begin("default", write=True) as tx:
        tx.touch({row.id: (count, here.clock(), None) for row, count in zip(rows, (1, 2, 4, 0), strict=True)})
    all_the_same(here, TEA)
    before = snapshot(here.store)
    first, second = here.store.plan(), here.store.plan()
    assert first == second and first.plan_id == second.plan_id
    assert snapshot(here.store) == before  # S1-1, S1-10: a plan writes nothing
    assert counted(first) == {MERGE: 1, FLAG: 1}
    merge, flag = of_type(first, MERGE)[0], of_type(first, FLAG)[0]
    assert merge.canonical == rows[2].id and merge.targets == (rows[0].id, rows[1].id, rows[2].id)
    assert flag.targets == (rows[2].id, rows[3].id)  # in the name of the one that stays
    assert "negation" in flag.rationale.signals

    done = here.store.execute(first)
    assert states(done) == [(FLAG, "executed"), (MERGE, "executed")]
    (conflict,) = here.store.conflicts()
    assert (conflict.a, conflict.b, conflict.kind) == (rows[2].id, rows[3].id, "contradiction")
    assert texts(here.rows()) == [TEA[2], NO_TEA]
    assert here.rows()[0].access_count == 7
    after = snapshot(here.store)
    again = here.store.execute(first)
    assert (again.executed, again.skipped, again.errors) == (0, 2, 0)
    assert [result.state for result in again.results] == ["done", "done"]
    assert snapshot(here.store) == after  # the second execute changes no row, the sum is not doubled
    assert here.store.plan().actions == ()
    assert here.store.verify() == ()


def test_by_default_a_cluster_of_three_is_folded_and_the_contradiction_inside_is_flagged_once(world: Worlds) -> None:
    """Design 12: the oldest text stays the head, the others are its wordings, and nothing is dropped."""
    here = world(ALL_NEAR)
    rows = fill(here, [*TEA, NO_TEA])
    all_the_same(here, TEA)
    plan = here.store.plan()
    assert counted(plan) == {FOLD: 1, FLAG: 1}
    (fold,) = of_type(plan, FOLD)
    assert fold.canonical == rows[0].id and set(fold.targets) == {row.id for row in rows[:3]}
    done = here.store.execute(plan)
    assert [result.state for result in done.results] == ["executed", "executed"]
    (conflict,) = here.store.conflicts()
    assert (conflict.a, conflict.b, conflict.kind) == (rows[0].id, rows[3].id, "contradiction")
    assert texts(here.rows()) == [TEA[0], NO_TEA]
    wordings = here.rows("wording")
    assert texts(wordings) == [*TEA[1:]] and {row.superseded_by for row in wordings} == {rows[0].id}
    assert here.rows()[0].confirmations == 2
    after = snapshot(here.store)
    assert [result.state for result in here.store.execute(plan).results] == ["done", "done"]
    assert snapshot(here.store) == after
    assert here.store.plan().actions == () and here.store.verify() == ()


def test_a_cluster_that_fails_is_rolled_back_alone_and_a_later_execute_finishes(tmp_path: Path) -> None:
    """F-27, S1-44: the failure strikes in the second of two merges."""
    for call in ("apply", "commit"):
        broken = FaultyStorage(DictStorage(), error=Full("no space is left"), only=(call,))
        clock, model_ = FrozenClock(), FakeRelationModel()
        store = wellkept.open(
            broken,
            policy=to_the_letter(),
            embedder=FakeEmbedder({**ALL_NEAR}),
            clock=clock,
            new_id=CountingIds(),
            relation_model=model_,
        )
        for text in (*TEA, *BUS):
            store.remember(text, on_conflict="ignore")
            clock.advance(minutes=1)
        for a in (*TEA, *BUS):
            for b in (*TEA, *BUS):
                if a != b and (a in TEA) == (b in TEA):
                    model_.declare(a, b, same=1.0)
        plan = store.plan()
        assert plan.planned[MERGE] == 2
        before = snapshot(store)
        broken.fail_at(2)
        report = store.execute(plan)
        assert states(report) == [(MERGE, "executed"), (MERGE, "failed")]
        assert (report.executed, report.skipped, report.errors) == (1, 0, 1)  # S1-53
        assert "no space is left" in report.results[1].why
        broken.fail_at(0)
        half = snapshot(store)
        assert texts(store.list()) == [TEA[2], *BUS]
        assert [row for row in half.memories if row.content in BUS] == [
            row for row in before.memories if row.content in BUS
        ]
        rest = store.execute(plan)
        assert states(rest) == [(MERGE, "done"), (MERGE, "executed")]
        assert texts(store.list()) == [TEA[2], BUS[1]]
        assert store.verify() == ()
        store.close()


def test_a_flag_that_failed_alone_is_opened_by_a_later_execute_although_its_memory_was_merged(merging: Worlds) -> None:
    """S1-44: executed actions of a plan do not make its other actions stale."""
    here = merging(ALL_NEAR)
    fill(here, [*TEA, NO_TEA])
    all_the_same(here, TEA)
    plan = here.store.plan()
    here.store.execute(plan, only=[MERGE])
    report = here.store.execute(plan)
    assert states(report) == [(FLAG, "executed"), (MERGE, "done")]
    here.store.undo_run(report.run_id)
    here.store.revise(here.rows()[0].id, tags=["moved"])  # but somebody else's change does
    assert states(here.store.execute(plan))[0] == (FLAG, "stale")


# -- S1-55: the cases the sources ship -------------------------------------------------------


def test_planning_emits_one_merge_of_two_a_promotion_and_an_archiving(world: Worlds) -> None:
    """S1-55, S1-33, S1-35, S1-36: 45 days old, importance 1.0 of 3 (0.5), never read."""
    here = world()
    (old,) = fill(here, ["A note that nobody ever reads."], importance=0.5)
    here.clock.advance(days=45)
    sop = fill(here, [{"content": "Restart the worker before the queue.", "tags": ["SOP"], "importance": 0.75}])[0]
    pair = fill(here, ["Use SQLite.", "use sqlite!"])
    with here.store._ctx.storage.begin("default", write=True) as tx:
        tx.touch({sop.id: (5, here.clock(), None)})
    plan = here.store.plan()
    assert counted(plan) == {MERGE: 1, "promote": 1, "archive": 1}
    merge, promote, archive = plan.actions
    assert set(merge.targets) == {row.id for row in pair} and merge.rationale.rule == "R1-exact-duplicate-merge"
    assert promote.targets == (sop.id,) and promote.rows[0].after["importance"] == 0.875  # 2.0 to 2.5 of 3
    assert archive.targets == (old.id,)
    here.store.execute(plan)
    again = here.store.plan()
    assert again.actions == ()  # E-2.2: a promotion is not repeated every night
    assert here.store.get(old.id).content == "A note that nobody ever reads."  # S1-42


def test_retries_allowed_and_not_allowed_are_one_finding_by_injected_similarity(
    world: Worlds,
) -> None:
    """S1-55, S1-25, S1-27, S1-28: and executing the same flag twice leaves one row."""
    pair = ("system allows 3 retries", "system does not allow 5 retries")
    here = world({pair: 0.96})
    fill(here, pair)
    plan = here.store.plan()
    (flag,) = plan.actions
    assert flag.type == FLAG and {"negation", "number"} <= set(flag.rationale.signals)
    assert here.store.execute(plan).executed == 1
    assert here.store.execute(plan).executed == 0
    assert len(here.store.conflicts()) == 1
    assert len(here.rows()) == 2


# -- plans are determined by what stands in the store ----------------------------------------


@pytest.mark.parametrize(
    ("policy", "expected"), [("letter", {MERGE: 3, FLAG: 1}), ("default", {MERGE: 1, FOLD: 2, FLAG: 1})]
)
def test_both_backends_give_the_same_plan(tmp_path: Path, policy: str, expected: dict[str, int]) -> None:
    """S1-5, I4, I9: same store, same plan_id."""
    plans = []
    for backend in BACKENDS:
        here = make(backend, tmp_path, ALL_NEAR, policy=KEPT[policy])
        fill(here, [*TEA, NO_TEA, *BUS, "Use SQLite.", "use sqlite!"])
        all_the_same(here, TEA, BUS)
        plans.append(here.store.plan())
        here.store.close()
    assert all(plan == plans[0] for plan in plans)
    assert counted(plans[0]) == expected


def test_a_day_later_the_plan_is_the_same(world: Worlds) -> None:
    """B-22: a plan has no time in it, not even in its reasons."""
    here = world(ALL_NEAR)
    fill(here, [*TEA, NO_TEA, "A note that nobody ever reads."])
    all_the_same(here, TEA)
    here.clock.advance(days=45)
    first = here.store.plan()
    assert first.planned["archive"] >= 1
    here.clock.advance(days=60)  # ACTIVE has become WEAK meanwhile
    assert here.store.plan() == first


# -- what changes between plan and execution -------------------------------------------------


def test_only_the_action_whose_row_has_changed_is_stale(merging: Worlds) -> None:
    """B-22: the others are executed."""
    here = merging(ALL_NEAR)
    rows = fill(here, [*TEA, *BUS])
    all_the_same(here, TEA, BUS)
    plan = here.store.plan()
    here.store.revise(rows[0].id, tags=["kitchen"])
    before = here.store.get(rows[0].id)
    report = here.store.execute(plan)
    assert states(report) == [(MERGE, "stale"), (MERGE, "executed")]
    assert rows[0].id in report.results[0].why
    assert report.skipped == 1
    assert here.store.get(rows[0].id).tags == before.tags
    assert texts(here.rows()) == [*TEA, BUS[1]]


def test_a_conflict_that_came_up_since_the_plan_vetoes_the_merge(merging: Worlds) -> None:
    """B-6: a conflict changes no version of a memory, and is seen nevertheless."""
    here = merging(ALL_NEAR)
    rows = fill(here, BUS)
    all_the_same(here, BUS)
    plan = here.store.plan()
    flag_by_hand(here, rows[0], rows[1])
    report = here.store.execute(plan)
    assert states(report) == [(MERGE, "stale")]
    assert "held apart" in report.results[0].why
    assert of_type(here.store.plan(), MERGE) == []


def test_reads_links_and_conflicts_made_since_the_plan_are_taken_along(merging: Worlds) -> None:
    """S1-39: none of them makes a new version of a row, so none makes the action stale."""
    here = merging(ALL_NEAR)
    older, newer = fill(here, BUS)
    other, hidden = fill(here, ["Rain is wet.", "Old words about a bus."])
    all_the_same(here, BUS)
    plan = here.store.plan()
    for _ in range(3):
        here.store.get(older.id)
    here.clock.advance(hours=1)
    here.store.get(newer.id)
    read = here.store._ctx.clock()
    here.store.link(other.id, older.id, "example_of")
    here.store.link(older.id, other.id, "refines")
    here.store.supersede(hidden.id, older.id)
    assert states(here.store.execute(plan)) == [(MERGE, "executed")]
    picture = snapshot(here.store)
    kept = next(row for row in picture.memories if row.id == newer.id)
    assert (kept.access_count, kept.last_accessed_at) == (4, read)
    edges = {link[:3] for link in picture.links}
    assert {(other.id, newer.id, "example_of"), (newer.id, other.id, "refines")} <= edges
    assert (other.id, older.id, "example_of") not in edges
    assert next(row for row in picture.memories if row.id == hidden.id).superseded_by == newer.id
    assert (newer.id, hidden.id, "supersedes") in edges
    assert here.store.verify() == ()


def test_a_plan_executed_after_one_entry_was_taken_back_by_hand_does_just_that_again(merging: Worlds) -> None:
    here = merging(ALL_NEAR)
    fill(here, [*TEA, *BUS])
    all_the_same(here, TEA, BUS)
    plan = here.store.plan()
    first = here.store.execute(plan)
    here.store.undo(first.results[1].entry)
    assert states(here.store.execute(plan)) == [(MERGE, "done"), (MERGE, "executed")]


def test_a_merged_away_memory_can_be_restored_and_the_plan_is_stale_then_not_done(merging: Worlds) -> None:
    """S1-56: a restore corrects a wrong merge; after it, the action is not `done`."""
    here = merging(ALL_NEAR)
    rows = fill(here, BUS)
    all_the_same(here, BUS)
    plan = here.store.plan()
    here.store.execute(plan)
    here.store.restore(rows[0].id)
    assert texts(here.rows()) == [*BUS]
    assert states(here.store.execute(plan)) == [(MERGE, "stale")]
    assert here.store.verify() == ()


def test_what_was_merged_before_and_restored_is_not_counted_twice(merging: Worlds) -> None:
    """F-26: the access sum is that of the reads there were."""
    here = merging(ALL_NEAR)
    rows = fill(here, BUS)
    for _ in range(3):
        here.store.get(rows[0].id)
    all_the_same(here, BUS)
    for _ in range(3):
        here.store.execute(here.store.plan())
        here.store.restore(rows[0].id)
    here.store.execute(here.store.plan())
    kept = next(row for row in snapshot(here.store).memories if row.id == rows[1].id)
    assert (kept.access_count, kept.confirmations) == (3, 1)


# -- what a merge leaves ---------------------------------------------------------------------


def test_the_merged_away_text_said_again_is_a_duplicate_of_the_winner(merging: Worlds) -> None:
    """B-8, I5."""
    here = merging(ALL_NEAR)
    fill(here, BUS, kind="lesson")
    all_the_same(here, BUS)
    here.store.execute(here.store.plan())
    result = here.write(BUS[0], kind="lesson")
    assert result.outcome == "duplicate"
    assert result.memory is not None and result.memory.content == BUS[1]


def test_hashes_follow_over_two_merges(merging: Worlds) -> None:
    """B-8: a → b in one run, b → c in the next; a repeat of a finds c."""
    three = dict.fromkeys([(TEA[0], TEA[1]), (TEA[0], TEA[2]), (TEA[1], TEA[2])], 0.97)
    here = merging(three)
    fill(here, TEA[:2])
    all_the_same(here, TEA)
    here.store.execute(here.store.plan())
    fill(here, TEA[2:])
    here.store.execute(here.store.plan())
    assert texts(here.rows()) == [TEA[2]]
    for text in TEA:
        result = here.write(text)
        assert result.outcome == "duplicate", text
        assert result.memory is not None and result.memory.content == TEA[2]
    assert set(here.rows()[0].metadata["merged_from"]) == {
        row.id for row in snapshot(here.store).memories if row.status == "archived"
    }  # S1-39, E-2.4: all of them, and not itself


def test_conflicts_are_carried_over_to_the_winner(merging: Worlds) -> None:
    """An open conflict of the memory that goes lives on in the name of the one that stays, once."""
    here = merging(ALL_NEAR)
    older = fill(here, [BUS[0]])[0]
    against = here.write("The bus to town leaves at one.", on_conflict="warn")
    here.clock.advance(minutes=1)
    newer = fill(here, [BUS[1]])[0]
    assert against.memory is not None
    flag_by_hand(here, older, against.memory)
    all_the_same(here, BUS)
    plan = here.store.plan()
    here.store.execute(plan)
    (open_one,) = here.store.conflicts()
    assert {open_one.a, open_one.b} == {newer.id, against.memory.id}
    assert (open_one.a, open_one.b) == (against.memory.id, newer.id)  # by age
    assert open_one.excerpt_b == BUS[1]
    assert [item.resolution for item in here.store.conflicts(settled=True)].count("merge") == 1
    assert here.store.plan().actions == ()


def test_a_conflict_between_two_memories_that_both_go_is_carried_to_both_winners(merging: Worlds) -> None:
    """Two merges of one plan that concern each other: neither loses the conflict or a link of the other."""
    pairs = {
        ("The door is red.", "Red is the colour of the door."): 0.97,
        ("The door is blue.", "Blue is the colour of the door."): 0.97,
    }
    here = merging(pairs | dict.fromkeys(product(*pairs), 0.9))
    a = fill(here, ["The door is red."])[0]
    c = here.write("The door is blue.").memory
    assert c is not None and len(here.store.conflicts()) == 1
    here.clock.advance(minutes=1)
    b, d = fill(here, ["Red is the colour of the door.", "Blue is the colour of the door."])
    here.store.link(a.id, c.id, "related")
    all_the_same(here, ("The door is red.", b.content), ("The door is blue.", d.content))
    plan = here.store.plan()
    assert plan.planned[MERGE] == 2
    here.store.execute(plan)
    (conflict,) = here.store.conflicts()
    assert (conflict.a, conflict.b) == (b.id, d.id)
    edges = {link[:3] for link in snapshot(here.store).links}
    assert (b.id, d.id, "related") in edges
    assert here.store.plan().actions == ()
    assert here.store.verify() == ()


def test_a_settled_conflict_stays_settled_under_the_winners_name(world: Worlds) -> None:
    """E-0: a dismissed conflict of a memory is not listed again for the memory that absorbed it."""
    pairs = {("The door is red.", "the door is RED!"): 1.0, ("The door is red.", "The door is blue."): 0.9,
             ("the door is RED!", "The door is blue."): 0.9}  # fmt: skip
    here = world(pairs)
    fill(here, ["The door is red."])
    here.write("The door is blue.")
    here.store.resolve(here.store.conflicts()[0].key, "dismissed")
    here.clock.advance(minutes=1)
    fill(here, ["the door is RED!"])
    for _ in range(2):
        plan = here.store.plan()
        assert of_type(plan, FLAG) == []
        here.store.execute(plan)
    assert here.store.conflicts() == ()


@pytest.mark.parametrize("resolution", ["keep_both", "dismissed"])
def test_what_somebody_keeps_apart_stays_apart_whatever_says_the_same(merging: Worlds, resolution: Any) -> None:
    """B-6: of three that the model calls the same, two were kept by a person."""
    here = merging({pair: 0.97 for pair in [(TEA[0], TEA[1]), (TEA[0], TEA[2]), (TEA[1], TEA[2])]})
    here.write(TEA[0])
    here.clock.advance(minutes=1)
    here.write(TEA[1])  # reported as a possible repeat
    here.clock.advance(minutes=1)
    (repeat,) = here.store.conflicts()
    here.store.resolve(repeat.key, resolution)
    fill(here, [TEA[2]])
    all_the_same(here, TEA)
    for _ in range(3):
        here.store.execute(here.store.plan())
    active = {row.id for row in here.rows()}
    assert len(active) == 2
    merged = next(row for row in here.rows() if "merged_from" in row.metadata)
    assert {merged.id, *merged.metadata["merged_from"]} & {repeat.a, repeat.b} != {repeat.a, repeat.b}


def test_complete_linkage_holds_from_night_to_night(merging: Worlds) -> None:
    """S1-21: a chain of neighbours is not eaten up one link a night."""
    a, b, c = TEA
    here = merging({(a, b): 0.97, (b, c): 0.96, (a, c): 0.9})
    fill(here, TEA)
    all_the_same(here, (a, b), (b, c))
    for _ in range(3):
        here.store.execute(here.store.plan())
    assert texts(here.rows()) == [b, c]


def test_equal_texts_with_different_times_are_not_joined_by_one_without(world: Worlds) -> None:
    """I2, F-22: the timeless one agrees with either, and they not with each other."""
    here = world()
    march, may = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 5))
    fill(here, [{"content": "The audit took place.", "event_time": march}])
    fill(here, [{"content": "The audit took place.", "event_time": may}])
    fill(here, [{"content": "The audit took place!", "importance": 0.9}])
    for _ in range(3):
        here.store.execute(here.store.plan())
    assert sorted(str(row.event_time) for row in here.rows() if row.event_time) == [str(march), str(may)]
    assert len(here.rows()) == 2


# -- what never merges -----------------------------------------------------------------------

LIES = [
    ("threshold 0.85", "threshold 0.95"),
    ("MRR +5%", "MRR -5%"),
    ("Use X", "Never use X"),
    ("The API listens on port 8000.", "The API listens on port 8001."),
    ("Invoices are due on 3 March 2026.", "Invoices are due on 4 March 2026."),
    ("The meeting is at 14:00.", "The meeting is at 15:00."),
    ("We run version 1.5 of the client.", "We run version 15 of the client."),
    ("The cache holds 5 MB.", "The cache holds 5 GB."),
    ("Ana leads billing.", "Ben leads billing."),
    ("Use ruff for linting", "Use flake8 for linting"),
    ("Alice reports to Bob.", "Bob reports to Alice."),
    ("Always wear a helmet in the lab.", "Never wear a helmet in the lab."),
    ("Only deploy on Mondays.", "Only deploy on Fridays."),
    ("See PR#441 for the fix.", "See PR#442 for the fix."),
    ("Written in C.", "Written in C++."),
    ("Die Schwelle liegt bei 0,85.", "Die Schwelle liegt bei 0,95."),
    ("Der Server ist erreichbar.", "Der Server ist nicht erreichbar."),
    ("Le seuil est de 3 jours.", "Le seuil est de 4 jours."),
    ("Le serveur répond.", "Le serveur ne répond pas."),
    ("El puerto es 8000.", "El puerto es 8001."),
    ("Порт сервера 8000.", "Порт сервера 8001."),
    ("服务器端口是8000。", "服务器端口是8001。"),
    ("データベースは東京にあります。", "データベースは大阪にあります。"),
    ("数据库在东京。", "数据库不在东京。"),
    ("서버 포트는 8000입니다.", "서버 포트는 8001입니다."),
    ("منفذ الخادم 8000.", "منفذ الخادم 8001."),
    ("पोर्ट ८००० है।", "पोर्ट ८००१ है।"),
]


@pytest.mark.parametrize("kind", ["semantic", "lesson", "fact", "knowledge"])
@pytest.mark.parametrize("pair", LIES, ids=[f"{number:02}" for number in range(len(LIES))])
def test_texts_that_differ_are_never_merged_whatever_the_model_says(
    tmp_path: Path, kind: str, pair: tuple[str, str]
) -> None:
    """I2, E-c: cosine .99 and a model that wrongly answers "same, 1.0"; in either order, with every merge rule."""
    for number, order in enumerate((pair, pair[::-1])):
        here = make("memory", tmp_path, {pair: 0.99}, name=f"{number}.db")
        for text in order:
            here.write(text, kind=kind, on_conflict="ignore")
            here.clock.advance(minutes=1)
        all_the_same(here, pair)
        greedy = Rule(id="greedy", trigger="always", action="merge")
        for config in (None, Consolidation(rules=(greedy,), ask_at=0.0, look_at=0.0)):
            plan = here.store.plan(config)
            assert of_type(plan, MERGE) == of_type(plan, FOLD) == []
            here.store.execute(plan)
        assert sorted(texts(here.rows())) == sorted(pair)
        here.store.close()


@pytest.mark.parametrize("kind", ["thesis", "trade", "turn_summary", "episode", "decision"])
def test_kinds_whose_repeats_are_events_never_merge(world: Worlds, kind: str) -> None:
    """S0-3, B-37: neither equal texts nor near ones."""
    here = world(ALL_NEAR)
    ended = {"ended_at": datetime(2026, 1, 1, tzinfo=UTC)} if kind == "episode" else {}
    for text in (TEA[0], TEA[0], TEA[1]):
        here.write(text, kind=kind, on_conflict="ignore", **ended)
        here.clock.advance(minutes=90)
    before = len(here.rows())
    all_the_same(here, TEA)
    plan = here.store.plan(Consolidation(rules=(Rule(id="greedy", trigger="always", action="merge"),), look_at=0.0))
    assert before == 3 and plan.actions == ()


@pytest.mark.parametrize("policy", KEPT)
@pytest.mark.parametrize(
    "other",
    [
        {"kind": "knowledge"},
        {"agent": "somebody else", "kind": "fact"},
        {"subject": "Nous"},
        {"subject": "006", "attribute": "colour"},
        {"event_time": datetime(2026, 3, 2, tzinfo=UTC)},
        {"polarity": -1},
        {"trigger": "At another time"},
    ],
    ids=str,
)
def test_the_same_words_about_something_else_are_another_memory(
    world: Worlds, other: dict[str, Any], policy: str
) -> None:
    """I2, B-37, S0-52: and the model's word does not change that; only a kind of the same family may be folded."""
    base: dict[str, Any] = {
        "kind": "fact", "subject": "006", "attribute": "status", "polarity": 1, "trigger": "At a time",
        "event_time": datetime(2026, 3, 1, tzinfo=UTC),
    }  # fmt: skip
    here = world({("Done.", "It is done."): 0.99}, policy=KEPT[policy])
    for text, fields in (("It is all done now.", base), ("It is all done now!", {**base, **other})):
        here.write(text, on_conflict="ignore", **fields)
        here.clock.advance(minutes=1)
    rows = here.rows()
    all_the_same(here, ("It is all done now.", "It is all done now!"))
    plan = here.store.plan(Consolidation(look_at=0.0, ask_at=0.0))
    assert of_type(plan, MERGE) == [], rows
    assert of_type(plan, FOLD) == [] or set(other) == {"kind"}, rows


def test_contradictions_across_kinds_are_flagged_and_never_merged(world: Worlds) -> None:
    """S0-52, S1-4: a fact and a lesson may contradict; they are never one."""
    pair = ("Use ruff for linting", "Never use ruff for linting")
    here = world({pair: 0.97})
    fill(here, [pair[0]], kind="lesson")
    fill(here, [pair[1]], kind="fact")
    plan = here.store.plan()
    assert [action.type for action in plan.actions] == [FLAG]
    all_the_same(here, pair)
    plan = here.store.plan()
    assert of_type(plan, MERGE) == of_type(plan, FOLD) == []


# -- who is protected ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "goes"),
    [
        ({}, True),
        ({"pinned": True}, False),
        ({"kind": "procedural"}, False),
        ({"importance": 0.63}, False),
        ({"importance": 0.625}, True),
        ({"pinned": True, "expires_at": datetime(2026, 1, 2, tzinfo=UTC)}, True),
        ({"kind": "procedural", "expires_at": datetime(2026, 1, 2, tzinfo=UTC)}, True),
    ],
    ids=str,
)
def test_pinned_and_procedural_memories_are_archived_only_when_they_have_expired(
    world: Worlds, fields: dict[str, Any], *, goes: bool
) -> None:
    """S1-36, B-18, host-systems D2: 1.5 of 3 is .625."""
    here = world()
    fill(here, [{"content": "A note that nobody ever reads.", **fields}])
    here.clock.advance(days=30)
    assert bool(of_type(here.store.plan(), "archive")) is goes
    here.clock.advance(days=-2)
    assert of_type(here.store.plan(), "archive") == []


def test_a_memory_in_dispute_is_not_archived_away(world: Worlds) -> None:
    pair = ("The door is red.", "The door is blue.")
    here = world({pair: 0.9})
    fill(here, pair)
    here.clock.advance(days=40)
    plan = here.store.plan()
    assert [action.type for action in plan.actions] == [FLAG]
    here.store.execute(plan)
    assert here.store.plan().actions == ()
    here.store.resolve(here.store.conflicts()[0].key, "keep_both")
    assert here.store.plan().planned["archive"] == 2


def test_expired_memories_neither_merge_nor_contradict(merging: Worlds) -> None:
    """B-9: an outdated statement is not active together with the current one."""
    here = merging({("The door is red.", "The door is blue."): 0.9, **ALL_NEAR})
    soon = here.clock() + timedelta(hours=1)
    fill(here, [{"content": "The door is red.", "expires_at": soon}, {"content": BUS[0], "expires_at": soon}])
    fill(here, ["The door is blue.", BUS[1], {"content": "Rain is wet.", "expires_at": soon}, "rain is wet"][:2])
    all_the_same(here, BUS)
    assert here.store.plan().planned[MERGE] == 1
    here.clock.advance(hours=2)
    assert here.store.plan().actions == ()


def test_a_copy_that_never_expires_keeps_the_merged_memory_alive(merging: Worlds) -> None:
    """I1: also when the text that stays is that of a copy which would have expired."""
    here = merging(ALL_NEAR)
    soon = here.clock() + timedelta(hours=1)
    fill(here, [BUS[0], {"content": BUS[1], "expires_at": soon}])
    all_the_same(here, BUS)
    here.store.execute(here.store.plan())
    here.clock.advance(days=9)
    (kept,) = here.rows()
    assert (kept.content, kept.expires_at) == (BUS[1], None)
    assert [hit.memory.id for hit in here.store.recall(BUS[1])] == [kept.id]


def test_rules_that_say_noop_shield_clusters_and_memories(merging: Worlds) -> None:
    """S1-14: the first rule that fits decides; left alone is left alone by every later rule."""
    here = merging(ALL_NEAR)
    fill(here, [*BUS, "A note that nobody ever reads."], tags=["keep"])
    here.clock.advance(days=60)
    all_the_same(here, BUS)
    assert counted(here.store.plan()) == {MERGE: 1, "archive": 1}
    kept = When(categories_any=("KEEP",))
    shields = (
        Rule(id="clusters", trigger="on_similarity", action="noop", when=kept),
        Rule(id="rows", trigger="always", action="noop", when=kept),
    )
    plan = here.store.plan(Consolidation(rules=(*shields, *DEFAULT_RULES)))
    assert counted(plan) == {"noop": 2}
    report = here.store.execute(plan)
    assert (report.executed, report.skipped) == (0, 2)


def test_rules_of_a_schedule_wait_for_it(world: Worlds) -> None:
    """B-21."""
    here = world()
    fill(here, ["A note."])
    rule = Rule(id="weekly", trigger="weekly", action="archive")
    assert here.store.plan(Consolidation(rules=(rule,))).actions == ()
    assert here.store.plan(Consolidation(rules=(rule,), trigger="daily")).actions == ()
    assert here.store.plan(Consolidation(rules=(rule,), trigger="weekly")).planned["archive"] == 1


@pytest.mark.parametrize("how", ["newest", "oldest", "most_used", "longest"])
@pytest.mark.parametrize("older", ["archive", "supersede"])
def test_the_policy_says_whose_text_stays_and_what_becomes_of_the_others(world: Worlds, how: Any, older: Any) -> None:
    """S1-39, S1-40: nothing is deleted, links and chains hold."""
    here = world(ALL_NEAR)
    rows = fill(here, TEA)
    behind = fill(here, ["Words that the first one replaced."])[0]
    here.store.supersede(behind.id, rows[0].id)
    here.store.get(rows[1].id)
    all_the_same(here, TEA)
    rule = Rule(id="mine", trigger="on_similarity", action="merge", winner=how, older=older)
    run = here.store.execute(here.store.plan(Consolidation(rules=(rule,))))
    assert run.executed == 1
    kept = {"newest": 2, "oldest": 0, "most_used": 1, "longest": max(range(3), key=lambda at: (len(TEA[at]), at))}[how]
    assert texts(here.rows()) == [TEA[kept]]
    others = [row for row in snapshot(here.store).memories if row.id in {one.id for one in rows} - {rows[kept].id}]
    assert {row.status for row in others} == {"archived" if older == "archive" else "superseded"}
    assert sorted(texts(others)) == sorted(set(TEA) - {TEA[kept]})
    hidden = next(row for row in snapshot(here.store).memories if row.id == behind.id)
    assert hidden.superseded_by == rows[kept].id
    assert here.store.verify() == ()
    for row in others:
        here.store.restore(row.id)
    assert len(here.rows()) == 3
    assert here.store.verify() == ()


# -- scope -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(), 6),
        (Scope(kinds=("lesson",)), 2),
        (Scope(kinds=("lesson", "knowledge")), 4),
        (Scope(tags=("INFRA",)), 2),
        (Scope(limit=4), 4),
        (Scope(limit=0), 0),
        (Scope(limit=99), 6),
        (Scope(created_from=datetime(2026, 1, 1, 12, 2, tzinfo=UTC)), 4),
        (Scope(created_to=datetime(2026, 1, 1, 12, 2, tzinfo=UTC)), 2),
        (Scope(kinds=("nothing-of-the-kind",)), 0),
    ],
    ids=str,
)
def test_a_scope_looks_at_what_it_says_and_nothing_else(world: Worlds, scope: Scope, expected: int) -> None:
    """S1-7: kind, tag, window, at most so many of the newest."""
    here = world()
    for kind, tags in (("lesson", []), ("knowledge", ["infra"]), ("semantic", [])):
        fill(here, [f"Say hello in {kind}", f"say hello in {kind}!"], kind=kind, tags=tags)
    plan = here.store.plan(scope=scope)
    assert plan.detected.memories == expected
    assert plan.scope == scope
    assert plan.planned[MERGE] == expected // 2


def test_a_scope_that_makes_no_sense_is_refused(world: Worlds) -> None:
    """E-4.3: nothing is silently something else."""
    here = world()
    for scope in (Scope(limit=-1), Scope(limit=True), Scope(created_from=datetime(2026, 1, 1))):  # noqa: DTZ001
        with pytest.raises(InvalidField):
            here.store.plan(scope=scope)


def test_namespaces_do_not_meet(merging: Worlds) -> None:
    """I8: neither in a plan, nor in its execution, nor in taking it back."""
    here = merging(ALL_NEAR)
    other = here.store.in_namespace("other")
    fill(here, [TEA[0], BUS[0]])
    for text in (TEA[1], BUS[0]):
        other.remember(text, on_conflict="ignore")
    all_the_same(here, TEA)
    assert here.store.plan().actions == () == other.plan().actions
    other.remember("Bus to town: leaves at noon?", on_conflict="ignore")
    other.remember(TEA[2], on_conflict="ignore")
    plan = other.plan()
    assert plan.planned[MERGE] == 1
    untouched = snapshot(here.store)
    with pytest.raises(InvalidPlan):
        here.store.execute(plan)
    run = other.execute(plan)
    with pytest.raises(NotFound):
        here.store.undo_run(run.run_id)
    assert snapshot(here.store) == untouched


# -- single actions --------------------------------------------------------------------------


def test_single_actions_can_be_asked_for_or_left_out(merging: Worlds) -> None:
    here = merging(ALL_NEAR)
    fill(here, [*TEA, NO_TEA, *BUS])
    all_the_same(here, TEA, BUS)
    plan = here.store.plan()
    first, second = (action.id for action in of_type(plan, MERGE))
    report = here.store.execute(plan, only=[second])
    assert [result.state for result in report.results] == ["left_out", "left_out", "executed"]
    report = here.store.execute(plan, skip=[FLAG])
    assert [result.state for result in report.results] == ["left_out", "executed", "done"]
    for named in ({"only": ["nothing"]}, {"skip": ["promote-it"]}):
        with pytest.raises(InvalidPlan):
            here.store.execute(plan, **named)
    assert [result.action_id for result in report.results[1:]] == [first, second]


# -- taking a run back -----------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "action"), [("letter", MERGE), ("default", FOLD)])
def test_undo_of_a_run_restores_everything_and_can_be_taken_back_itself(
    world: Worlds, policy: str, action: str
) -> None:
    """I1: rows with their usage, links, conflicts, aliases, to the byte."""
    here = world(ALL_NEAR, policy=KEPT[policy])
    rows = fill(here, [*TEA, NO_TEA, *BUS])
    here.store.link(rows[3].id, rows[0].id, "related")
    here.store.get(rows[1].id)
    all_the_same(here, TEA, BUS)
    before = snapshot(here.store).without_journal()
    plan = here.store.plan()
    assert counted(plan) == {action: 2, FLAG: 1}
    run = here.store.execute(plan)
    after = snapshot(here.store).without_journal()
    here.clock.advance(days=1)
    report = here.store.undo_run(run.run_id)
    assert snapshot(here.store).without_journal() == before
    assert report.undone == tuple(sorted((result.entry for result in run.results), reverse=True))
    assert here.store.plan() == plan
    with pytest.raises(NotFound):
        here.store.undo_run(run.run_id)
    here.store.undo_run(f"undo-{run.run_id}")
    assert snapshot(here.store).without_journal() == after
    here.store.undo_run(run.run_id)
    assert snapshot(here.store).without_journal() == before
    assert here.store.verify() == ()


def test_undo_refuses_naming_what_stands_on_it_and_takes_back_the_rest_on_request(merging: Worlds) -> None:
    here = merging(ALL_NEAR)
    fill(here, [*TEA, *BUS])
    all_the_same(here, TEA, BUS)
    before = snapshot(here.store)
    run = here.store.execute(here.store.plan())
    tea = next(row for row in here.rows() if row.content == TEA[2])
    here.store.revise(tea.id, tags=["mine"])
    later = here.store.journal()[-1].seq
    standing = snapshot(here.store)
    with pytest.raises(UndoBlocked) as blocked:
        here.store.undo_run(run.run_id)
    assert list(blocked.value.entries) == [later]
    assert snapshot(here.store) == standing
    report = here.store.undo_run(run.run_id, force_except=True)
    assert dict(report.blocked) == {run.results[0].entry: (later,)}
    assert report.undone == (run.results[1].entry,)
    assert texts(here.rows()) == [TEA[2], *BUS]
    here.store.undo(later)
    here.store.undo_run(run.run_id)
    assert snapshot(here.store).without_journal() == before.without_journal()


def test_what_was_erased_since_does_not_come_back_and_blocks_only_its_own_cluster(merging: Worlds) -> None:
    """I1: erase is for good; the rest of the run can still be taken back."""
    here = merging(ALL_NEAR)
    rows = fill(here, [*TEA, *BUS])
    all_the_same(here, TEA, BUS)
    run = here.store.execute(here.store.plan())
    here.store.erase(rows[0].id)
    erased = here.store.journal()[-1].seq
    with pytest.raises(UndoBlocked) as blocked:
        here.store.undo_run(run.run_id)
    assert erased in blocked.value.entries
    report = here.store.undo_run(run.run_id, force_except=True)
    assert report.undone == (run.results[1].entry,)
    assert sorted(texts(here.rows())) == sorted([TEA[2], *BUS])
    assert here.store.verify() == ()


# -- others write meanwhile ------------------------------------------------------------------


def test_a_writer_in_another_thread_is_neither_lost_nor_in_the_way(backend: str, tmp_path: Path) -> None:
    """I3: twenty merges with a concurrent writer; every merge is complete, done or stale."""
    pairs = {(f"Machine {n} is painted.", f"There is paint on machine {n}."): 0.97 for n in range(20)}
    here = make(backend, tmp_path, pairs, policy=to_the_letter())
    fill(here, [text for pair in pairs for text in pair])
    all_the_same(here, *pairs)
    plan = here.store.plan()
    assert plan.planned[MERGE] == 20
    victims = [of.targets[0] for of in of_type(plan, MERGE)][::-4]
    wrote: list[str] = []

    def write() -> None:
        for number, victim in enumerate(victims):
            here.store.revise(victim, tags=[f"by-hand-{number}"])
            written = here.write(f"Said meanwhile, {number}.", on_conflict="ignore").memory
            assert written is not None
            wrote.append(written.id)

    writer = threading.Thread(target=write)
    writer.start()
    report = here.store.execute(plan)
    writer.join()
    assert len(wrote) == len(victims)
    assert report.errors == 0 and report.executed + report.skipped == 20
    rows = {row.id: row for row in snapshot(here.store).memories}
    for action, result in zip(plan.actions, report.results, strict=True):
        gone = [rows[one].status for one in action.targets[:-1]]
        assert gone == (["archived"] if result.state == "executed" else ["active"]), result
    assert all(one in rows for one in wrote)
    assert here.store.verify() == ()
    here.store.close()


# -- hostile content -------------------------------------------------------------------------


def test_hostile_texts_are_planned_in_safe_and_short_samples(world: Worlds) -> None:
    """S1-16: control characters, markup, reading direction, secrets, length."""
    hostile = [
        "<script>alert(1)</script> & <b>bold</b>",
        "an\u202eesrever\u202c word",
        "line one\nline two\ttab",
        "My password is hunter2, mail me at ana@example.org",
        "The key is sk-a1b2c3d4e5f6g7h8i9j0k1l2",
    ]
    here = world()
    for text in hostile:
        fill(here, [text, f"{text} !".replace(" !", "  ")], apart=1)
    plan = here.store.plan()
    assert plan.planned[MERGE] == len(hostile)
    samples = [sample for action in plan.actions for sample in action.samples]
    assert all(len(sample) <= 80 and "\n" not in sample and "\u202e" not in sample for sample in samples)
    told = json.dumps(samples)
    assert "hunter2" not in told and "example.org" not in told and "sk-a1b2" not in told
    assert here.store.execute(plan).executed == len(hostile)
    for bad in ("lone \ud800 surrogate", "nul \x00", "bell \x07"):
        with pytest.raises(InvalidText):
            here.write(bad)


def test_a_very_long_text_is_merged_only_with_its_equal(tmp_path: Path) -> None:
    """B-33: the vector of a long text says nothing, its hash does."""
    long = "All work and no play makes a dull text. " * 700
    here = make("memory", tmp_path)
    fill(here, [long, long.replace("dull", "DULL"), long + "One more sentence."], kind="semantic")
    here.embedder.calls = 0
    all_the_same(here, (long, long + "One more sentence."))
    plan = here.store.plan()
    assert [len(action.targets) for action in of_type(plan, MERGE)] == [2]
    assert all(len(sample) <= 80 for action in plan.actions for sample in action.samples)
    here.store.close()


@pytest.mark.parametrize(
    "metadata",
    [{"merged_from": 5, "promoted": 7}, {"merged_from": "abc", "promoted": "R3"}, {"merged_from": [{}, 1, ["x"]]},
     {"merged_from": {"a": 1}, "promoted": ["R3-promote-high-value-procedural"]}],
    ids=str,
)  # fmt: skip
def test_metadata_that_only_looks_like_ours_does_no_harm(merging: Worlds, metadata: dict[str, Any]) -> None:
    """A writer may put anything there; no plan breaks of it."""
    here = merging(ALL_NEAR)
    rows = fill(here, [*BUS, "A procedure."], metadata=metadata, tags=["sop"], importance=0.8)
    with here.store._ctx.storage.begin("default", write=True) as tx:
        tx.touch({row.id: (9, here.clock(), None) for row in rows})
    all_the_same(here, BUS)
    plan = here.store.plan()
    assert (plan.planned[MERGE], plan.planned["promote"]) == (1, 1)
    assert here.store.execute(plan).executed == 2
    merged = next(row for row in here.rows() if row.content == BUS[1])
    assert merged.metadata["merged_from"] == [rows[0].id]


# -- what could not run ----------------------------------------------------------------------


def test_without_the_model_only_equal_texts_merge_and_the_plan_says_what_is_missing(world: Worlds) -> None:
    """I7."""
    here = world(ALL_NEAR)
    fill(here, [*BUS, "Use SQLite.", "use sqlite!"])
    all_the_same(here, BUS)
    model(here).failure = ModelUnavailable("down")
    plan = here.store.plan()
    assert "relation" in plan.degraded
    assert [action.rationale.similarity for action in of_type(plan, MERGE)] == [1.0]


# -- every scenario also goes through the pass -----------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("liar", [False, True], ids=["silent", "liar"])
def test_what_a_write_has_decided_a_pass_does_not_undo(world: Worlds, case: Case, *, liar: bool) -> None:
    """S1-4, B-5, B-6: memories separated by a difference stay separate, even if the model's opinion is *same*."""
    here = world(case.cosines, policy=case.policy)
    here.batch(case.items)
    before = {row.id: row for row in here.rows()}
    settled = {item.key: item.resolution for item in here.store.conflicts(settled=True)}
    if liar:
        all_the_same(here, [row.content for row in before.values()])
    plan = here.store.plan()
    run = here.store.execute(plan)
    assert run.errors == 0 and here.store.execute(plan).executed == 0
    assert here.store.verify() == ()
    for action in (*of_type(plan, MERGE), *of_type(plan, FOLD)):
        merged = [before[one] for one in action.targets]
        assert compare(merged[0], merged[-1], cosine=None, similarity=0.99).relation != "conflict"
    for action in of_type(plan, MERGE):
        merged = [before[one] for one in action.targets]
        assert liar or len({canonical(row.content) for row in merged}) == 1
        assert len({row.kind for row in merged}) == 1 and merged[0].kind in VERBATIM_BLOCKS
        for one in merged:
            for other in merged:
                assert compare(one, other, cosine=None, similarity=0.99).relation != "conflict"
    for item in here.store.conflicts(settled=True):
        assert item.resolution == settled.get(item.key) or item.resolution == "merge"
    if run.executed:
        here.store.undo_run(run.run_id)
    assert {row.id: row for row in here.rows()} == before
