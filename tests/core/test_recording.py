"""The filters before the gate: nothing but filler, and status reports that are no decisions."""

from __future__ import annotations

import pytest

from wellkept.core.gate.worth_keeping import INFORMATIONAL_FRAMES, refusal, status_markers
from wellkept.policy import PRESETS
from wellkept.types import NewMemory

DECISION = PRESETS["decision"]
CHOICE = "Ship the export behind a flag, since two customers still use the old format."


def test_the_frames_and_marks_are_those_of_the_seed():
    """S3-16, S3-17."""
    assert INFORMATIONAL_FRAMES == {"conversation", "question", "creative"}
    assert status_markers() == (
        "here's", "current status", "here is", "available tools", "i remember", "my memory", "what i know",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "frame", "automatic", "kept"),
    [
        (CHOICE, "conversation", True, False),  # S3-25 test 14
        (CHOICE, "question", True, False),  # S3-25 test 15
        (CHOICE, "task", False, True),  # S3-25 test 16: recorded on purpose
        ("Here's my current status: all green.", "task", True, False),  # S3-25 test 17
        (CHOICE, "decision", True, True),  # S3-25 test 18
        (CHOICE, "creative", True, False),  # S3-25 test 19
        (CHOICE, "conversation", False, True),  # B-19, F-24: an explicit call always wins
        ("Here's what I know about it.", "conversation", False, True),
        (CHOICE, "", True, True),
        (CHOICE, "debug", True, True),
    ],
)
def test_a_decision_is_recorded_on_purpose_or_when_something_was_decided(text, frame, automatic, kept):
    new = NewMemory(content=text, kind="decision", frame=frame, automatic=automatic)
    assert (refusal(new, DECISION) is None) is kept


@pytest.mark.parametrize("mark", status_markers())
@pytest.mark.parametrize("spelling", [str.lower, str.upper, str.title])
def test_each_mark_is_seen_in_any_case(mark, spelling):
    """S3-17."""
    found = refusal(NewMemory(content=f"Well: {spelling(mark)}, as ever.", kind="decision", automatic=True), DECISION)
    assert found is not None
    assert found.rule == "recording_filter"
    assert mark in found.detail.lower() or mark in found.detail.replace('"', "").lower()


def test_a_typographic_apostrophe_is_seen_too():
    new = NewMemory(content="Here\u2019s the plan I was given.", kind="decision", automatic=True)
    assert refusal(new, DECISION) is not None


@pytest.mark.parametrize(("before", "kept"), [(486, False), (487, True), (600, True)])
def test_only_the_first_500_characters_are_looked_at(before, kept):
    """S3-17."""
    words = ("decide " * 100)[: before - 1] + " "
    new = NewMemory(content=words + "current status is green", kind="decision", automatic=True)
    assert (refusal(new, DECISION) is None) is kept


def test_the_frame_is_named_in_the_reason():
    found = refusal(NewMemory(content=CHOICE, kind="decision", automatic=True, frame="question"), DECISION)
    assert found is not None and "question" in found.detail


@pytest.mark.parametrize(
    ("preset", "text", "kept"),
    [
        ("general", "ok", False),
        ("general", "aaaaaaaaaaaaaaaaaaaa", False),
        ("general", "🚀🚀", False),
        ("general", "Use X", True),
        ("general", "Ja", False),
        ("general", "好的", False),
        ("general", "数据库在 5433 端口", True),
        ("insight", "thanks!", False),
        ("fact", "ok", False),
        ("append_only", "ok", True),  # S0-3: created at once, without a check
        ("episode", "ok", True),
        ("decision", "ok", True),  # explicit
    ],
)
def test_a_text_that_says_nothing_is_refused_where_the_policy_looks(preset, text, kept):
    found = refusal(NewMemory(content=text), PRESETS[preset])
    assert (found is None) is kept
    if found is not None:
        assert found.rule == "junk" and found.detail


def test_the_recording_filter_is_for_decisions_only():
    new = NewMemory(content="Here is the current status: the export is done.", automatic=True, frame="conversation")
    assert refusal(new, PRESETS["general"]) is None
