"""Decay and lifecycle: computed stages, archiving as a plan, and a trash that gives everything back (D1, D2, D4)."""

from __future__ import annotations

import pytest

from stores import Desk, desk
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.consolidation.upkeep_rules import FADED, LIFECYCLE_RULES, TTL_DAYS, Aging, KindFading
from wellkept.errors import InvalidField, UnknownKind
from wellkept.types import Scope

TEXTS = ("A text about apples", "A text about bridges", "A text about canals", "A text about dunes")


def keep(table: Desk, text=TEXTS[0], **values) -> str:
    return table.store.remember(text, on_conflict="ignore", **values).memory.id


def planned(table: Desk, *args, **options):
    """Rule and memory of every action."""
    plan = table.store.decay(*args, **options).plan
    return [(action.rationale.rule, action.targets[0]) for action in plan.actions]


def status(table: Desk, memory_id: str) -> str:
    return table.store.get(memory_id, touch=False).status


# --------------------------------------------------------------------------------------------
# Stages


def test_counts_tell_where_each_kind_stands(table):
    """D1: a lesson is ACTIVE for 82 days, WEAK for 269; a signal fades within days."""
    keep(table, kind="lesson")
    table.clock.advance(days=100)
    keep(table, TEXTS[1], kind="lesson")
    keep(table, TEXTS[2], kind="signal")
    table.clock.advance(days=4)
    assert table.store.decay().kinds == (KindFading("lesson", 1, 1, 0), KindFading("signal", 0, 0, 1))
    assert table.store.decay(scope=Scope(kinds=("signal",))).kinds == (KindFading("signal", 0, 0, 1),)


def test_what_faded_lately_is_told_and_no_longer_the_day_after(table):
    """D1: a decay pass reports transitions."""
    kept = keep(table, kind="lesson")
    table.clock.advance(days=82.4)
    assert table.store.decay().transitions == ()
    table.clock.advance(days=0.5)
    (moved,) = table.store.decay().transitions
    assert (moved.memory_id, moved.kind, moved.before, moved.after) == (kept, "lesson", "ACTIVE", "WEAK")
    table.clock.advance(days=1)
    assert table.store.decay().transitions == ()
    assert len(table.store.decay(Aging(days=7)).transitions) == 1


def test_a_decay_pass_changes_nothing(table):
    """I11, B-10: stages follow from time and use; looking is neither."""
    keep(table, kind="signal")
    table.clock.advance(days=40)
    before = table.snapshot()
    assert table.store.decay().plan.actions and table.snapshot() == before


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_a_reactivated_lesson_survives_a_decay_pass_and_a_read(tmp_path, backend):
    """S0-35, F-5."""
    table = desk(backend, tmp_path)
    kept = keep(table, kind="lesson")
    table.clock.advance(days=300)
    assert planned(table) == [(FADED.id, kept)]
    assert table.store.remember(TEXTS[0], kind="lesson").matches[0].lifecycle == "DORMANT"  # S0-25: it still blocks
    assert table.store.restore(kept)
    assert planned(table) == []
    table.store.get(kept)
    table.store.recall(TEXTS[0])
    table.store.execute(table.store.decay().plan)
    table.clock.advance(days=30)
    assert planned(table) == [] and table.store.decay().kinds == (KindFading("lesson", 1, 0, 0),)
    table.store.close()


def test_a_read_by_id_makes_a_memory_last_longer_and_a_recall_counts_as_a_use(table):
    """D1: stability grows on get alone; both are a use."""
    read, recalled, left = (keep(table, text, kind="curiosity") for text in TEXTS[:3])
    table.store.get(read)
    table.store.get(left, touch=False)
    table.clock.advance(days=41)
    assert [hit.memory.id for hit in table.store.recall(TEXTS[1], limit=1)] == [recalled]
    table.clock.advance(days=5)
    assert planned(table) == [(FADED.id, left)]
    held = table.store.get(read, touch=False)
    assert held.stability == pytest.approx(14 * 2.55)


# --------------------------------------------------------------------------------------------
# Archiving


def test_what_has_faded_or_expired_is_archived_and_comes_back(table):
    """D2: a recoverable trash; I1: nothing is erased."""
    faded, fresh = keep(table, kind="signal"), keep(table, TEXTS[1], kind="lesson")
    over = keep(table, TEXTS[2], kind="lesson", expires_at=table.clock())
    table.clock.advance(days=40)
    run = table.store.execute(table.store.decay().plan)
    assert run.executed == 2
    assert [status(table, one) for one in (faded, fresh, over)] == ["archived", "active", "archived"]
    assert table.store.get(faded, touch=False).content == TEXTS[0]
    assert table.store.verify() == ()
    table.store.undo_run(run.run_id)
    assert [status(table, one) for one in (faded, fresh, over)] == ["active"] * 3


def test_a_plan_executed_twice_archives_once(table):
    """I5."""
    keep(table, kind="signal")
    table.clock.advance(days=40)
    plan = table.store.decay().plan
    assert (table.store.execute(plan).executed, table.store.execute(plan).executed) == (1, 0)


def test_what_was_restored_from_the_trash_is_not_thrown_away_again(table):
    """S0-35: a restore is a use."""
    kept = keep(table, kind="signal")
    table.clock.advance(days=40)
    table.store.execute(table.store.decay().plan)
    assert table.store.restore(kept) and planned(table) == []


@pytest.mark.parametrize(
    ("values", "goes"),
    [
        ({}, True),
        ({"pinned": True}, False),  # D2
        ({"kind": "procedural"}, False),  # D2
        ({"importance": 1.0}, True),
        ({"kind": "lesson"}, False),  # worth little by its score, yet ACTIVE
    ],
)
def test_pinned_and_procedural_memories_are_protected(table, values, goes):
    kept = keep(table, **{"kind": "signal", **values})
    table.clock.advance(days=60)
    assert planned(table) == ([(FADED.id, kept)] if goes else [])


def test_a_dormant_memory_of_worth_stays_until_its_score_has_faded_too(table):
    keep(table, kind="signal", importance=1.0)
    table.clock.advance(days=10)
    assert table.store.decay().kinds[0].dormant == 1 and planned(table) == []


def test_what_is_in_dispute_waits_for_its_end(table):
    old, new = "The tide gate is open", "The tide gate is not open"
    table.near(old, new, 0.9)
    for text in (old, new):
        table.store.remember(text)
    table.clock.advance(days=10)
    assert table.store.conflicts() and planned(table, Aging(ttl={"semantic": 5})) == []
    table.clock.advance(days=10)  # expired: both are kept
    assert len(planned(table, Aging(ttl={"semantic": 5}))) == 2


def test_the_same_rules_serve_a_consolidation(table):
    faded = keep(table, kind="signal")
    table.clock.advance(days=40)
    plan = table.store.plan(Consolidation(rules=LIFECYCLE_RULES))
    assert [(action.type, action.targets) for action in plan.actions] == [("archive", (faded,))]


# --------------------------------------------------------------------------------------------
# Times to live (D4), only when asked for


@pytest.mark.parametrize(
    ("kind", "days", "goes"),
    [
        ("decision", 89.9, False),
        ("decision", 90, True),
        ("summary", 6.9, False),
        ("summary", 7, True),
        ("temp_note", 0.9, False),
        ("temp_note", 1, True),
        ("lesson", 3000, False),
        ("note", 50, False),
    ],
)
def test_each_kind_lives_as_long_as_the_host_says(table, kind, days, goes):
    kept = keep(table, "We decided to use canals for the freight", kind=kind)
    table.clock.advance(days=days)
    assert planned(table, Aging(ttl=TTL_DAYS)) == ([(f"lifecycle-ttl-{kind}", kept)] if goes else [])


def test_without_being_asked_nobody_has_a_time_to_live(table):
    keep(table, kind="temp_note", importance=1.0)
    table.clock.advance(days=3)
    assert planned(table) == []


def test_a_tag_of_that_name_is_no_kind(table):
    keep(table, kind="note", tags=("temp_note",))
    table.clock.advance(days=5)
    assert planned(table, Aging(ttl=TTL_DAYS)) == []


def test_a_pinned_memory_outlives_its_time(table):
    keep(table, kind="temp_note", pinned=True)
    table.clock.advance(days=5)
    assert planned(table, Aging(ttl=TTL_DAYS)) == []


@pytest.mark.parametrize("renewed", ["revise", "confirm", "restore"])
def test_a_memory_that_somebody_cared_for_has_its_time_again(table, renewed):
    kept = keep(table, kind="temp_note")
    table.clock.advance(days=2)
    match renewed:
        case "revise":
            table.store.revise(kept, importance=0.7)
        case "confirm":
            assert table.store.remember(TEXTS[0], kind="temp_note").outcome == "duplicate"
        case _:
            table.store.execute(table.store.decay(Aging(ttl=TTL_DAYS)).plan)
            assert table.store.restore(kept)
    assert planned(table, Aging(ttl=TTL_DAYS)) == []
    table.clock.advance(days=1)
    assert planned(table, Aging(ttl=TTL_DAYS)) == [("lifecycle-ttl-temp_note", kept)]


def test_the_reason_says_how_long(table):
    keep(table, kind="summary")
    table.clock.advance(days=8)
    (action,) = table.store.decay(Aging(ttl=TTL_DAYS)).plan.actions
    assert action.rationale.reasons == ("nobody changed or confirmed it for 7 days",)


def test_the_plan_has_no_time_and_other_settings_are_another_plan(table):
    """B-22."""
    keep(table, kind="signal")
    table.clock.advance(days=40)
    first = table.store.decay().plan
    table.clock.advance(days=1)
    assert table.store.decay().plan.plan_id == first.plan_id
    assert table.store.decay(Aging(ttl=TTL_DAYS)).plan.plan_id != first.plan_id


@pytest.mark.parametrize("days", [0, -1, float("nan"), True, "7", 10**9])
def test_a_time_to_live_must_be_days(days):
    with pytest.raises(InvalidField):
        Aging(ttl={"note": days})


def test_an_unknown_kind_is_refused(table):
    with pytest.raises(UnknownKind):
        table.store.decay(Aging(ttl={"rumour": 3}))
