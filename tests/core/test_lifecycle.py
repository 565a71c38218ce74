"""Status changes by acts, lifecycle by time: the two never touch each other (I11)."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.records.lifecycle import (
    archive,
    asserted,
    born_superseded,
    check_supersession,
    effective_time,
    grown_stability,
    head_of,
    inherit,
    is_expired,
    lifecycle,
    restore,
    retrievability,
    supersede,
)
from wellkept.errors import CycleError, IllegalTransition, SelfReference
from wellkept.policy import DEFAULT_KINDS
from wellkept.types import Conflict, ConflictChange, Link, LinkChange, Memory, MemoryChange, NewMemory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def memory(name="m1", **values):
    made = {"content": "text", "namespace": "n", "created_at": NOW, "updated_at": NOW, **values}
    return Memory(id=name, **made)


def decay_of(kind):
    return DEFAULT_KINDS[kind].decay


# --------------------------------------------------------------------------------------------
# Decay (host-systems D1)


@pytest.mark.parametrize(
    ("kind", "stability", "growth", "weak", "dormant", "cap"),
    [
        ("lesson", 90, 3.0, 0.4, 0.05, 365),
        ("curiosity", 14, 3.0, 0.4, 0.05, 365),
        ("thesis", 30, 3.0, 0.4, 0.05, 365),
        ("knowledge", 60, 3.0, 0.4, 0.05, 365),
        ("procedural", 120, 3.5, 0.3, 0.03, 365),
        ("signal", 2, 1.5, 0.5, 0.15, 30),
        ("watchpoint", 5, 1.5, 0.5, 0.15, 30),
        ("episode", 14, 2.0, 0.5, 0.1, 180),
        ("episodic", 14, 2.0, 0.5, 0.1, 180),
        ("trade_entry", 21, 2.0, 0.5, 0.1, 180),
        ("trade_close", 21, 2.0, 0.5, 0.1, 180),
        ("turn_summary", 7, 2.0, 0.5, 0.1, 180),
        ("session_summary", 14, 2.0, 0.5, 0.1, 180),
    ],
)
def test_each_kind_fades_by_its_own_figures(kind, stability, growth, weak, dormant, cap):
    decay = decay_of(kind)
    figures = (decay.stability_days, decay.growth, decay.weak_below, decay.dormant_below, decay.cap_days)
    assert figures == (stability, growth, weak, dormant, cap)


@pytest.mark.parametrize(
    ("kind", "days", "stage"),
    [
        ("lesson", 0, "ACTIVE"),
        ("lesson", 82.4, "ACTIVE"),
        ("lesson", 82.5, "WEAK"),
        ("lesson", 269.5, "WEAK"),
        ("lesson", 269.7, "DORMANT"),
        ("curiosity", 12.8, "ACTIVE"),
        ("curiosity", 12.9, "WEAK"),
        ("curiosity", 41.9, "WEAK"),
        ("curiosity", 42.0, "DORMANT"),
        ("signal", 1.3, "ACTIVE"),
        ("signal", 1.4, "WEAK"),
        ("signal", 3.7, "WEAK"),
        ("signal", 3.8, "DORMANT"),
        ("episode", 9.6, "ACTIVE"),
        ("episode", 9.8, "WEAK"),
        ("episode", 32.3, "DORMANT"),
    ],
)
def test_an_unused_memory_is_weak_and_dormant_after_the_hosts_days(kind, days, stage):
    """D1: lesson 82.5 and 269.6 days, curiosity 12.8 and 41.9."""
    assert lifecycle(memory(kind=kind), decay_of(kind), NOW + timedelta(days=days)) == stage


@pytest.mark.parametrize(("bound", "days"), [("weak_below", 82.5), ("dormant_below", 269.6)])
def test_the_hosts_days_follow_from_the_formula(bound, days):
    decay = decay_of("lesson")
    assert round(-decay.stability_days * math.log(getattr(decay, bound)), 1) == days


def test_retrievability_is_e_to_the_minus_days_over_stability():
    old = memory(last_accessed_at=NOW - timedelta(days=10), stability=20.0)
    assert retrievability(old, decay_of("lesson"), NOW) == pytest.approx(math.exp(-0.5))


def test_a_last_access_in_the_future_counts_as_now():
    """S2-11: a clock that was wrong must not make a memory immortal or negative."""
    ahead = memory(last_accessed_at=NOW + timedelta(days=400))
    assert retrievability(ahead, decay_of("lesson"), NOW) == 1.0
    assert lifecycle(ahead, decay_of("lesson"), NOW) == "ACTIVE"


def test_a_use_starts_the_days_anew():
    used = memory(last_accessed_at=NOW + timedelta(days=80))
    assert lifecycle(used, decay_of("lesson"), NOW + timedelta(days=82.6)) == "ACTIVE"


def test_a_pinned_memory_never_fades():
    assert lifecycle(memory(pinned=True), decay_of("signal"), NOW + timedelta(days=9999)) == "ACTIVE"


@pytest.mark.parametrize(
    ("kind", "reads", "stability"),
    [
        ("lesson", 1, 90 * 2.55),
        ("lesson", 2, 365.0),  # 585 days, capped
        ("curiosity", 1, 14 * 2.55),
        ("signal", 1, 2 * 1.5 * 0.85),
        ("signal", 60, 30.0),
        ("episode", 1, 14 * 2.0 * 0.85),
        ("procedural", 1, 120 * 3.5 * 0.85),
    ],
)
def test_a_read_by_id_multiplies_stability_up_to_a_cap(kind, reads, stability):
    """D1: S = min(S * growth * (1 - 0.5 * difficulty), cap); a lesson grows by 2.55."""
    row = memory(kind=kind)
    for _ in range(reads):
        row = replace(row, stability=grown_stability(row, decay_of(kind)))
    assert row.stability == pytest.approx(stability)


@pytest.mark.parametrize(("seconds", "expired"), [(-1, False), (0, True), (1, True)])
def test_a_memory_holds_until_it_expires(seconds, expired):
    assert is_expired(memory(expires_at=NOW), NOW + timedelta(seconds=seconds)) is expired
    assert not is_expired(memory(), NOW + timedelta(days=9999))


def test_world_time_counts_before_arrival_time():
    """B-35."""
    arrived, happened = NOW, NOW - timedelta(days=30)
    assert effective_time(NewMemory(content="x", event_time=happened), arrived) == happened
    assert effective_time(NewMemory(content="x"), arrived) == arrived


def test_what_begins_later_comes_before_what_holds_and_then_the_oldest_first():
    days = {"later": 1, "old": -30, "new": -1}
    rows = [replace(memory(event_time=NOW + timedelta(days=day)), id=name) for name, day in days.items()]
    found = asserted(rows, NOW)
    assert sorted(found, key=found.__getitem__) == ["later", "old", "new"]


# --------------------------------------------------------------------------------------------
# Status


def test_supersession_writes_column_and_link_together():
    """S2-19, S2-20, S2-55, S2-59: the column is the truth, the link is written with it."""
    old, new = memory("old"), memory("new")
    change, linked = supersede(old, new, at=NOW)
    assert change == MemoryChange(
        old,
        replace(old, status="superseded", superseded_by="new", superseded_at=NOW, updated_at=NOW, version=2),
    )
    assert linked == LinkChange(None, Link("new", "old", "supersedes", NOW))


def test_a_late_assertion_is_born_behind_the_head():
    """B-35."""
    hidden, linked = born_superseded(memory("late"), memory("head"), at=NOW)
    assert (hidden.status, hidden.superseded_by, hidden.superseded_at) == ("superseded", "head", NOW)
    assert linked.after == Link("head", "late", "supersedes", NOW)


def test_a_replacement_keeps_the_pin_of_what_it_replaces():
    assert inherit(memory("new"), memory("old", pinned=True)).pinned
    assert not inherit(memory("new"), memory("old")).pinned


CHAIN = {"a": "b", "b": "c", "c": ""}


@pytest.mark.parametrize(
    ("old", "new", "error", "said"),
    [
        ("a", "a", SelfReference, "itself"),  # S2-32
        ("b", "a", CycleError, "already superseded by b"),  # S2-31
        ("c", "a", CycleError, "already superseded by c"),  # S2-31, along a chain
        ("a", "c", IllegalTransition, "a is superseded by b"),
        ("x", "a", IllegalTransition, "a is superseded by b"),
        ("y", "x", IllegalTransition, "y is archived"),
        ("z", "x", IllegalTransition, "z is erased"),
    ],
)
def test_a_supersession_that_makes_no_sense_is_refused(old, new, error, said):
    rows = {
        "a": memory("a", status="superseded", superseded_by="b"),
        "b": memory("b", status="superseded", superseded_by="c"),
        "c": memory("c"),
        "x": memory("x"),
        "y": memory("y", status="archived"),
        "z": memory("z", status="erased"),
    }
    with pytest.raises(error, match=said) as caught:
        check_supersession(rows[old], rows[new], lambda one: CHAIN.get(one, ""))
    assert caught.value.todo


def test_two_active_memories_may_supersede_each_other_in_one_direction():
    check_supersession(memory("x"), memory("y"), lambda _: "")


def test_a_stored_circle_does_not_hang_the_check():
    circle = {"x": "y", "y": "x"}
    check_supersession(memory("old"), memory("x"), lambda one: circle.get(one, ""))


@pytest.mark.parametrize(
    ("start", "known", "head"),
    [
        ("a", "abc", "c"),  # S2-30
        ("b", "abc", "c"),
        ("c", "abc", "c"),
        ("a", "a", "a"),  # as far as is known
    ],
)
def test_the_end_of_a_chain_is_its_head(start, known, head):
    rows = {name: memory(name, superseded_by=CHAIN[name]) for name in CHAIN}
    assert head_of(rows[start], {name: rows[name] for name in known}).id == head


def test_the_head_of_a_circle_is_found_without_hanging():
    rows = {"x": memory("x", superseded_by="y"), "y": memory("y", superseded_by="x")}
    assert head_of(rows["x"], rows).id == "y"


# --------------------------------------------------------------------------------------------
# Restore and archive

SETTLED = {
    "key": "k", "a": "old", "b": "new", "kind": "contradiction", "reason": "value_diff", "similarity": 0.9,
    "created_at": NOW, "resolved_at": NOW,
}  # fmt: skip


def test_restoring_takes_back_the_column_and_the_link():
    """S2-27."""
    hidden = memory("old", status="superseded", superseded_by="new", superseded_at=NOW, version=2)
    links = (
        Link("new", "old", "supersedes"),
        Link("new", "old", "related"),
        Link("other", "old", "supersedes"),
        Link("old", "older", "supersedes"),
    )
    later = NOW + timedelta(days=1)
    effects = restore(hidden, at=later, links=links, conflicts=())
    assert effects == (
        MemoryChange(hidden, memory("old", version=3, updated_at=later)),
        LinkChange(links[0], None),
    )


@pytest.mark.parametrize(
    ("resolution", "restored", "reopened"),
    [
        ("keep_new", "old", True),
        ("keep_new", "new", False),
        ("keep_old", "new", True),
        ("keep_both", "old", False),
        ("dismissed", "old", False),
    ],
)
def test_a_conflict_settled_against_a_restored_memory_is_open_again(resolution, restored, reopened):
    conflict = Conflict(resolution=resolution, **SETTLED)
    row = memory(restored, status="superseded", superseded_by="other")
    opened = [
        effect for effect in restore(row, at=NOW, links=(), conflicts=(conflict,)) if type(effect) is ConflictChange
    ]
    assert bool(opened) is reopened
    for effect in opened:
        assert (effect.after.resolution, effect.after.resolved_at) == (None, None)


def test_an_erased_memory_cannot_be_restored():
    with pytest.raises(IllegalTransition, match="nothing is left"):
        restore(memory(status="erased"), at=NOW, links=(), conflicts=())


def test_forgetting_hides_an_active_memory_and_keeps_it():
    row = memory(content="keep me")
    (change,) = archive(row, at=NOW)
    assert (change.after.status, change.after.content, change.after.version) == ("archived", "keep me", 2)


def test_restoring_what_was_archived_counts_as_a_use():
    """Otherwise the next decay would archive it again."""
    later = NOW + timedelta(days=1)
    (change,) = restore(memory(status="archived", access_count=2), at=later, links=(), conflicts=())
    assert (change.after.status, change.after.access_count, change.after.last_accessed_at) == ("active", 3, later)
    (change,) = restore(memory(status="superseded", access_count=2), at=later, links=(), conflicts=())
    assert (change.after.status, change.after.access_count, change.after.last_accessed_at) == ("active", 2, None)


def test_a_wording_cannot_be_forgotten_alone():
    with pytest.raises(IllegalTransition, match="is a wording of m2") as caught:
        archive(memory(status="wording", superseded_by="m2"), at=NOW)
    assert "forget its head" in caught.value.todo


@pytest.mark.parametrize("status", ["superseded", "archived", "erased"])
def test_only_an_active_memory_can_be_forgotten(status):
    with pytest.raises(IllegalTransition, match=f"is {status} already"):
        archive(memory(status=status), at=NOW)


def test_lifecycle_and_status_do_not_touch_each_other():
    """I11, B-10: a superseded memory is not brought back by being fresh, nor a dormant one superseded."""
    decay = decay_of("lesson")
    hidden = memory(status="superseded")
    assert lifecycle(hidden, decay, NOW) == "ACTIVE" and hidden.status == "superseded"
    faded = memory()
    assert lifecycle(faded, decay, NOW + timedelta(days=400)) == "DORMANT" and faded.status == "active"
