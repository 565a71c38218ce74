"""Recall at another time: the content of the store then, and facts valid then."""

from __future__ import annotations

from datetime import timedelta

import pytest

from wellkept.errors import ModelUnavailable
from wellkept.types import ExpandSpec, Filter, HybridWeights

SLOT = {"kind": "fact", "subject": "billing team", "attribute": "lead"}


def found(table, query, **options):
    return [hit.memory.content for hit in table.store.recall(query, **options)]


@pytest.fixture
def story(make):
    """Ana leads until March, Ben from March on; that is written down on the second and on the fifth day."""
    table = make()
    table.times = {}
    table.clock.advance(days=1)
    table.store.remember("Ana leads the billing team", event_time="2025-06-01T00:00:00Z", **SLOT)
    table.times["ana"] = table.clock()
    table.clock.advance(days=3)
    table.store.remember("Ben leads the billing team", event_time="2026-01-03T00:00:00Z", **SLOT)
    table.times["ben"] = table.clock()
    table.clock.advance(days=10)
    return table


# --------------------------------------------------------------------------------------------
# What the store held


def test_the_past_is_asked_as_the_store_was(story):
    """B-29: before anything was written, after the first, before the second, and now."""
    first, second = story.times["ana"], story.times["ben"]
    for moment, expected in (
        (first - timedelta(microseconds=1), []),
        (first, ["Ana leads the billing team"]),
        (second - timedelta(seconds=1), ["Ana leads the billing team"]),
        (second, ["Ben leads the billing team"]),
        (story.clock(), ["Ben leads the billing team"]),
    ):
        for mode in ("default", "semantic", "hybrid"):
            assert found(story, "who leads the billing team", as_of=moment, mode=mode) == expected
    assert found(story, "who leads the billing team") == ["Ben leads the billing team"]


def test_a_moment_may_be_written_as_text(story):
    assert found(story, "billing", as_of="2026-01-02T13:00:00Z") == ["Ana leads the billing team"]


def test_the_past_knows_former_texts_by_meaning(make):
    """A revised memory answers with the words and the vector of then."""
    table = make()
    table.near("The door is red", "colour", 0.6)
    table.near("The door is blue", "colour", 0.4)
    row = table.store.remember("The door is red").memory
    then = table.clock()
    table.clock.advance(days=1)
    table.store.revise(row.id, content="The door is blue")
    [before] = table.store.recall("colour", as_of=then)
    [now] = table.store.recall("colour")
    assert (before.memory.content, before.memory.version, before.parts["cosine"]) == ("The door is red", 1, 0.6)
    assert (now.memory.content, now.parts["cosine"]) == ("The door is blue", 0.4)


def test_what_was_forgotten_undone_and_restored_since_is_as_it_was(make):
    table = make()
    row = table.store.remember("Tea is served at four").memory
    stops = [table.clock()]
    acts = (table.store.forget, table.store.restore, lambda _: table.store.undo(3))
    for act in acts:
        table.clock.advance(hours=1)
        act(row.id)
        stops.append(table.clock())
    assert [bool(found(table, "tea", as_of=at)) for at in stops] == [True, False, True, False]


def test_what_was_erased_since_is_not_shown_of_any_time(make):
    """I1: of an erased memory nothing is left to show."""
    table = make()
    row = table.store.remember("My PIN is 4711").memory
    then = table.clock()
    table.clock.advance(days=1)
    table.store.erase(row.id)
    answer = table.store.recall("PIN 4711", as_of=then, explain=True)
    assert answer == () and "4711" not in repr(answer.left_out)


def test_looking_at_the_past_counts_no_use_and_later_use_changes_no_answer(story):
    """I4: the same question about the same moment, whenever it is asked."""
    at = story.times["ben"]
    options = {"as_of": at, "mode": "hybrid"}
    before = story.store.recall("billing team", **options)
    rows = story.snapshot()
    story.store.recall("billing team", **options)
    assert story.snapshot() == rows
    story.clock.advance(days=30)
    for _ in range(3):
        story.store.recall("billing team")
    assert story.store.recall("billing team", **options) == before


def test_what_ran_out_since_still_held_then(make):
    table = make()
    table.store.remember("The code word is swordfish", expires_at="2026-01-02T00:00:00Z")
    then = table.clock()
    table.clock.advance(days=5)
    assert found(table, "code word") == []
    assert found(table, "code word", as_of=then) == ["The code word is swordfish"]


def test_filters_links_and_reasons_work_on_the_past_too(make):
    table = make()
    case = table.store.remember("The March outage came from an untested merge", tags=["Ops"], importance=0.9).memory
    rule = table.store.remember("Test before you merge", kind="lesson").memory
    table.store.link(case.id, rule.id, "example_of")
    then = table.clock()
    table.clock.advance(days=1)
    table.store.unlink(case.id, rule.id)
    table.store.forget(case.id)
    where = Filter(tags=("ops",), min_importance=0.5, id_prefix=case.id[:8])
    answer = table.store.recall("untested merge", as_of=then, where=where, expand=ExpandSpec(), explain=True)
    assert [hit.memory.id for hit in answer] == [case.id, rule.id]
    narrow = table.store.recall(
        "untested merge", as_of=then, where=Filter(kinds=("lesson",)), explain=True, min_score=0
    )
    assert [item.why for item in narrow.left_out] == ["does not fit the filter: kinds"]


def test_a_clock_that_was_set_back_loses_nothing(make):
    """The store then contained a text with a wrong time too."""
    table = make()
    table.clock.advance(days=300)
    table.store.remember("Remark about apples")
    table.clock.advance(days=-299)
    table.store.remember("Remark about bridges")
    assert set(found(table, "remark", as_of=table.clock())) == {"Remark about apples", "Remark about bridges"}


def test_long_journals_are_read_page_by_page(make):
    table = make()
    row = table.store.remember("Counter at 0").memory
    stops = []
    for number in range(1, 150):
        table.clock.advance(minutes=1)
        table.store.revise(row.id, content=f"Counter at {number}")
        stops.append((number, table.clock()))
    for number, at in (stops[3], stops[126], stops[127], stops[148]):
        assert found(table, "counter", as_of=at) == [f"Counter at {number}"]


def test_the_past_answers_by_words_during_an_outage(story):
    """I7."""
    story.fake.fail_with = ModelUnavailable("down")
    [hit] = story.store.recall("billing team", as_of=story.times["ana"])
    assert hit.memory.content.startswith("Ana") and hit.degraded == ("embedding",)


def test_a_conflict_is_told_as_it_stood_then(make):
    table = make()
    table.near("Use ruff for linting", "Use flake8 for linting", 0.85)
    for text in ("Use ruff for linting", "Use flake8 for linting"):
        found_now = table.store.remember(text)
    then = table.clock()
    table.clock.advance(days=1)
    table.store.resolve(found_now.conflicts[0].key, "keep_new")
    hits = table.store.recall("linting", as_of=then)
    assert [len(hit.conflicts) for hit in hits] == [1, 1]
    assert [hit.memory.content for hit in table.store.recall("linting")] == ["Use flake8 for linting"]


# --------------------------------------------------------------------------------------------
# What held in the world


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2025-01-01", []),
        ("2025-06-01", ["Ana leads the billing team"]),
        ("2026-01-02T23:59:59", ["Ana leads the billing team"]),
        ("2026-01-03", ["Ben leads the billing team"]),
        ("2027-01-01", ["Ben leads the billing team"]),
    ],
)
def test_the_world_is_asked_by_the_times_the_statements_name(story, moment, expected):
    """Written down later than it became true: the change counts from when it happened."""
    assert found(story, "who leads the billing team", valid_at=moment) == expected


def test_both_times_at_once_tell_what_was_believed_about_a_day(story):
    """Before the text about Ben was stored, the store's answer was Ana."""
    day = "2026-01-04"
    assert found(story, "billing team", valid_at=day) == ["Ben leads the billing team"]
    assert found(story, "billing team", valid_at=day, as_of=story.times["ana"]) == ["Ana leads the billing team"]


def test_an_event_that_ended_is_not_shown_of_a_later_day(make):
    table = make()
    fields = {"event_time": "2026-01-01T00:00:00Z", "event_end": "2026-01-10T00:00:00Z"}
    table.store.remember("The office is closed for repairs", **fields)
    assert found(table, "office", valid_at="2026-01-05") == ["The office is closed for repairs"]
    answer = table.store.recall("office", valid_at="2026-02-01", explain=True)
    assert answer == () and [item.why for item in answer.left_out] == ["not so at 2026-02-01T00:00:00Z"]


def test_what_was_forgotten_is_shown_of_no_day(make):
    table = make()
    table.store.forget(table.store.remember("Remark about apples").memory.id)
    assert found(table, "apples", valid_at=table.clock()) == []


def test_freshness_in_the_past_counts_to_that_moment(make):
    table = make()
    table.store.remember("Remark about apples")
    then = table.clock.advance(days=10)
    table.clock.advance(days=100)
    weights = HybridWeights(recency_basis="created")
    [hit] = table.store.recall("apples", as_of=then, mode="hybrid", weights=weights)
    assert hit.parts["recency"] == pytest.approx(0.3679)
