"""Decisions recorded on purpose and by themselves, and episodes that begin, go on and end (source 003)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest

from wellkept import decisions_block
from wellkept.errors import IllegalTransition, InvalidField, NotFound
from wellkept.types import ALL_STATUSES, Filter

CHOICE = "Ship the export behind a flag, since two customers still use the old format."
DUMP = "Here's my current status: all services are green."
SKIPPED = "Skipping decision recording: informational response"
WORK = "Moving the billing export to the new format"


def decisions(table):
    return [row.content for row in table.store.list(Filter(kinds=("decision",), statuses=ALL_STATUSES))]


# --------------------------------------------------------------------------------------------
# Decisions


@pytest.mark.parametrize("frame", ["conversation", "question", "creative", "task", "decision", ""])
@pytest.mark.parametrize("text", [CHOICE, DUMP])
def test_what_is_recorded_on_purpose_is_always_kept(make, frame, text):
    """B-19, S3-19, S3-25 tests 16 and 18: an explicit call wins over frame and marks."""
    table = make()
    result = table.store.record_decision(text, frame=frame, automatic=True)
    assert (result.outcome, result.memory.kind) == ("created", "decision")
    assert decisions(table) == [text]


@pytest.mark.parametrize(
    ("text", "frame", "decided", "outcome"),
    [
        (CHOICE, "conversation", False, "rejected"),  # S3-16, S3-25 test 14
        (CHOICE, "question", False, "rejected"),  # test 15
        (CHOICE, "creative", False, "rejected"),  # test 19
        (CHOICE, " Conversation ", False, "rejected"),
        (CHOICE, "conversation", True, "rejected"),  # what was decided on purpose is stored by its own call
        (CHOICE, "task", True, "created"),  # test 16
        (DUMP, "task", True, "created"),  # S3-17: the marks count only where nothing was decided on purpose
        (DUMP, "task", False, "rejected"),  # S3-3, S3-17, test 17
        (DUMP.upper(), "decision", False, "rejected"),
        (CHOICE, "decision", False, "created"),  # test 18
        (CHOICE, "task", False, "created"),
        (CHOICE, "", False, "created"),
    ],
)
def test_a_turn_is_recorded_when_something_was_decided(make, caplog, text, frame, decided, outcome):
    """S3-16 to S3-19, S3-25."""
    table = make()
    with caplog.at_level(logging.DEBUG, logger="wellkept"):
        result = table.store.record_turn(text, frame=frame, decided=decided)
    assert result.outcome == outcome
    assert decisions(table) == ([text] if outcome == "created" else [])
    assert (SKIPPED in caplog.messages) is (outcome == "rejected")  # S3-18


def test_no_model_is_asked_about_what_is_not_recorded(make):
    """S3-19."""
    table = make()
    table.store.record_turn(DUMP, frame="task")
    assert table.fake.texts_seen == []


def test_a_turn_that_was_not_recorded_can_be_brought_back(make):
    """I1, S3-19: a false positive is cheap."""
    table = make()
    refused = table.store.record_turn(CHOICE, frame="question")
    assert table.store.restore(refused.dropped) is True
    assert decisions(table) == [CHOICE]


def test_what_came_of_a_decision_stands_in_its_line(make):
    """S3-21."""
    table = make()
    table.store.record_decision("Ship it behind a flag.", confidence=0.8)
    table.store.record_decision("Drop the old format.", outcome="success", confidence=0.9, metadata={"ticket": 7})
    kept = table.store.list(Filter(kinds=("decision",)))
    assert decisions_block(kept).splitlines()[1:] == [
        "- [pending] Ship it behind a flag. (confidence: 0.80)",
        "- [success] Drop the old format. (confidence: 0.90)",
    ]
    assert dict(kept[1].metadata) == {"ticket": 7, "outcome": "success"}


@pytest.mark.parametrize(
    ("verb", "more"),
    [("record_decision", {}), ("record_turn", {"frame": "task"}), ("start_episode", {})],
)
def test_another_kind_is_refused(make, verb, more):
    table = make()
    with pytest.raises(InvalidField, match="kind"):
        getattr(table.store, verb)(CHOICE, kind="fact", **more)
    assert table.rows() == []


@pytest.mark.parametrize("fields", [{"metadata": "x"}, {"links": "abc"}, {"importance": 9}, {"outcome": 3}])
def test_a_field_that_cannot_be_is_refused_before_anything_is_written(make, fields):
    table = make()
    episode = table.store.start_episode(WORK).memory
    with pytest.raises(InvalidField):
        if "outcome" in fields:
            table.store.record_decision(CHOICE, **fields)
        else:
            table.store.record_turn(CHOICE, frame="task", episode=episode.id, **fields)
    assert decisions(table) == []
    assert table.store.get(episode.id).version == 1


# --------------------------------------------------------------------------------------------
# Episodes


@pytest.mark.parametrize(
    ("minutes", "first", "second", "reused"),
    [
        (0, "Show me your current status", "Show me your current status", True),  # S3-2, S3-24 test 8
        (30, WORK, WORK.upper(), True),
        (31, WORK, WORK, False),  # test 11
        (5, "debugging the flaky login test together", "again debugging the flaky login test", True),  # test 9
        (5, WORK, "Write the release notes", False),  # test 10
        (5, "run batch 41 of the nightly import", "run batch 42 of the nightly import", False),  # I2
    ],
)
def test_an_episode_that_is_under_way_is_gone_on_with(make, minutes, first, second, reused):
    """S3-13, S3-14, S3-24."""
    table = make()
    begun = table.store.start_episode(first)
    table.clock.advance(minutes=minutes)
    again = table.store.start_episode(second)
    assert (begun.outcome, again.outcome) == ("created", "reused" if reused else "created")
    assert (again.memory.id == begun.memory.id) is reused


def test_summaries_are_compared_where_there_are_any_and_empty_ones_match_nothing(make):
    """S3-14, S3-24 test 13."""
    table = make()
    table.store.start_episode("first long text", summary="fix the export")
    assert table.store.start_episode("other words entirely", summary="fix the export").outcome == "reused"
    assert table.store.start_episode("third text of its own", summary="").outcome == "created"


def test_an_episode_has_its_id_at_once_also_while_other_writes_wait(make):
    """S0-43: a queue would have no id to give."""
    table = make()
    with table.store.deferred():
        begun = table.store.start_episode(WORK)
        assert begun.outcome == "created"
        assert table.store.get(begun.memory.id).content == WORK
        assert table.store.record_decision(CHOICE).outcome == "queued"
    assert decisions(table) == [CHOICE]


def test_what_has_ended_is_kept_and_not_reused(make):
    """S3-24 test 12."""
    table = make()
    begun = table.store.start_episode(WORK).memory
    table.clock.advance(minutes=3)
    ended = table.store.end_episode(begun.id[:18], summary="It runs behind a flag.", outcome="success")
    assert (ended.id, ended.ended_at, ended.summary) == (begun.id, table.clock(), "It runs behind a flag.")
    assert ended.metadata["outcome"] == "success"
    assert table.store.start_episode(WORK).outcome == "created"
    assert table.store.verify() == ()


def test_ending_again_changes_nothing(make):
    """I5."""
    table = make()
    begun = table.store.start_episode(WORK).memory
    first = table.store.end_episode(begun.id, summary="Done.")
    entries = len(table.store.journal())
    table.clock.advance(minutes=9)
    assert table.store.end_episode(begun.id) == table.store.end_episode(begun.id, summary="Done.") == first
    assert len(table.store.journal()) == entries
    with pytest.raises(IllegalTransition, match="ended already"):
        table.store.end_episode(begun.id, summary="Something else.")


def test_the_end_of_an_episode_can_be_taken_back(make):
    table = make()
    begun = table.store.start_episode(WORK).memory
    table.store.end_episode(begun.id)
    table.store.undo(table.store.journal()[-1].seq)
    assert table.store.start_episode(WORK).memory.id == begun.id


@pytest.mark.parametrize(
    ("at", "fails"),
    [
        (datetime(2025, 1, 1, tzinfo=UTC), True),
        ("yesterday", True),
        ("2099-01-01", False),
        (None, False),
    ],
)
def test_an_episode_ends_after_it_began(make, at, fails):
    table = make()
    begun = table.store.start_episode(WORK).memory
    if fails:
        with pytest.raises(InvalidField, match="at"):
            table.store.end_episode(begun.id, at=at)
        assert table.store.get(begun.id).ended_at is None
    else:
        assert table.store.end_episode(begun.id, at=at).ended_at is not None


def test_an_episode_does_not_begin_ended(make):
    with pytest.raises(InvalidField, match="ended_at"):
        make().store.start_episode(WORK, ended_at="2026-01-01")


# --------------------------------------------------------------------------------------------
# Turns of an episode


def test_a_turn_updates_its_episode_whether_or_not_it_is_recorded(make):
    """S3-18, S3-25 test 20."""
    table = make()
    episode = table.store.start_episode(WORK, metadata={"ticket": 7}).memory
    table.clock.advance(minutes=1)
    refused = table.store.record_turn(DUMP, frame="task", episode=episode.id)
    table.clock.advance(minutes=1)
    made = table.store.record_turn(CHOICE, frame="task", episode=episode.id[:18])
    assert (refused.outcome, made.outcome) == ("rejected", "created")
    held = table.store.get(episode.id, touch=False)
    last = table.clock().isoformat().replace("+00:00", "Z")
    assert dict(held.metadata) == {"ticket": 7, "turns": 2, "last_turn_at": last}
    assert [item.memory.id for item in table.store.neighbors(episode.id)] == [made.memory.id]
    assert table.store.verify() == ()


def test_a_turn_of_an_episode_is_a_step_that_undo_takes_back(make):
    table = make()
    episode = table.store.start_episode(WORK).memory
    table.store.record_turn(DUMP, frame="task", episode=episode.id)
    table.store.undo(table.store.journal()[-1].seq)
    assert dict(table.store.get(episode.id, touch=False).metadata) == {}


@pytest.mark.parametrize("state", ["none", "fact", "ended", "forgotten", "elsewhere"])
def test_a_turn_of_no_ongoing_episode_writes_nothing(make, state):
    table = make()
    target = table.store.start_episode(WORK).memory.id
    match state:
        case "none":
            target = "nobody"
        case "fact":
            target = table.store.remember("The sky is blue.", kind="fact").memory.id
        case "ended":
            table.store.end_episode(target)
        case "forgotten":
            table.store.forget(target)
        case _:
            target = table.store.in_namespace("somebody/else").start_episode(WORK).memory.id  # I8
    with pytest.raises((NotFound, IllegalTransition)):
        table.store.record_turn(CHOICE, frame="task", episode=target)
    assert decisions(table) == []


def test_only_an_episode_can_be_ended(make):
    table = make()
    fact = table.store.remember("The sky is blue.", kind="fact").memory
    with pytest.raises(IllegalTransition, match="no episode"):
        table.store.end_episode(fact.id)
    with pytest.raises(NotFound):
        table.store.end_episode("nobody")
