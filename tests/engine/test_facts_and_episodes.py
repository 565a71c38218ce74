"""Context quality: facts replaced by subject, episodes reused, status reports not recorded (source 003)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest

from wellkept.core.text.forms import text_overlap
from wellkept.types import ALL_STATUSES, Filter

STATUS = "Show me your current status"
CHOICE = "Ship the export behind a flag, since two customers still use the old format."


def fact(table, content, **fields):
    return table.store.remember(content, kind="fact", **fields)


# --------------------------------------------------------------------------------------------
# Facts


@pytest.mark.parametrize(
    ("old_subject", "new_subject", "superseded"),
    [
        ("006", "006", True),  # S3-1, S3-5, S3-23 test 1, F-19
        ("Nous", "nous", True),  # S3-23 test 6
        ("  NOUS ", "nous", True),
        ("Ленинград", "ЛЕНИНГРАД", True),
        ("数据库", "数据库", True),
        ("006", "007", False),  # S3-7, S3-23 test 3
        ("006", "", False),  # S3-8, S3-23 test 4
        ("", "006", False),
        ("", "", False),
        ("Nous", "Nous database", False),  # exact, not similar
    ],
)
def test_a_new_fact_about_the_same_subject_replaces_the_old_one(make, old_subject, new_subject, superseded):
    """S3-5, S3-7, S3-8, S3-30: match by subject, whatever the similarity (here 0.7, S3-1)."""
    table = make()
    table.near("status PLANNED", "is shipped", 0.7)
    old = fact(table, "status PLANNED", subject=old_subject).memory
    new = fact(table, "is shipped", subject=new_subject)
    assert new.outcome == ("superseded" if superseded else "created")
    held = table.store.get(old.id, touch=False)
    # S3-23 test 2: inactive, and it says by whom it was replaced.
    assert (held.status, held.superseded_by) == (("superseded", new.memory.id) if superseded else ("active", ""))
    shown = [hit.memory.content for hit in table.store.recall("status shipped PLANNED", min_score=0)]
    assert ("status PLANNED" in shown) is not superseded  # S3-11, S3-23 test 7
    assert "is shipped" in shown


def test_all_old_facts_of_a_subject_are_replaced(make):
    """S3-5, S3-9, S3-23 test 5."""
    table = make()
    olds = [
        fact(table, text, subject="006", attribute=slot).memory.id
        for text, slot in (("status PLANNED", "a"), ("owner Priya", "b"), ("budget open", "c"))
    ]
    for one in olds:
        table.store.revise(one, attribute="")
    new = fact(table, "is shipped", subject="006")
    assert {link.dst for link in new.links if link.rel == "supersedes"} == set(olds)
    assert table.rows("active") == ["is shipped"]


@pytest.mark.parametrize("confidence", [0.0, 0.1, 1.0])
def test_the_confidence_of_the_newer_fact_does_not_matter(make, confidence):
    """S3-10, S3-30: recency wins."""
    table = make()
    fact(table, "status PLANNED", subject="006", confidence=1.0)
    fact(table, "is shipped", subject="006", confidence=confidence)
    assert table.rows("active") == ["is shipped"]


def test_the_replacement_is_logged_in_the_words_of_the_source(make, caplog):
    """S3-6."""
    table = make()
    old = fact(table, "status PLANNED", subject="006").memory
    with caplog.at_level(logging.INFO, logger="wellkept"):
        new = fact(table, "is shipped", subject="006").memory
    assert f"Superseded fact {old.id} (subject=006) with {new.id}" in caplog.messages


def test_only_facts_of_the_same_agent_are_replaced(make):
    """S3-5."""
    table = make()
    fact(table, "status PLANNED", subject="006", agent="alice")
    assert fact(table, "is shipped", subject="006", agent="bob").outcome == "created"
    assert fact(table, "is delayed", subject="006", agent="alice").outcome == "superseded"
    assert table.rows("active") == ["is shipped", "is delayed"]


@pytest.mark.parametrize(("old", "new", "left"), [
    ("version", "version", ["uses PostgreSQL", "version 0.2"]),  # F-20
    ("version", "VERSION", ["uses PostgreSQL", "version 0.2"]),
    ("version", "", ["version 0.1", "uses PostgreSQL", "version 0.2"]),
])  # fmt: skip
def test_with_an_attribute_only_the_same_slot_is_replaced(make, old, new, left):
    """B-4, F-20: "version 0.2" must not remove "uses PostgreSQL"."""
    table = make()
    fact(table, "version 0.1", subject="Nous", attribute=old)
    fact(table, "uses PostgreSQL", subject="Nous", attribute="database")
    fact(table, "version 0.2", subject="Nous", attribute=new)
    assert table.rows("active") == left


@pytest.mark.parametrize(("cosine", "replaced"), [(0.8001, True), (0.8000, True), (0.7999, False)])
def test_replace_if_similar_asks_for_a_similarity_too(make, cosine, replaced):
    """B-4: for subjects that name whole projects or people."""
    from wellkept.policy import Policy

    policy = Policy.from_toml('[kinds.fact]\non_same_subject = "replace_if_similar"\n')
    table = make(policy=policy)
    table.near("written in Python", "runs on Linux servers", cosine)
    fact(table, "written in Python", subject="Nous")
    fact(table, "runs on Linux servers", subject="Nous")
    assert ("written in Python" in table.rows("active")) is not replaced


def test_the_same_thing_at_two_dates_happened_twice(make):
    """F-22, B-4: different event dates never supersede."""
    table = make()
    first = fact(table, "The build broke.", subject="build", event_time="2026-01-01")
    second = fact(table, "The build broke.", subject="build", event_time="2026-01-02")
    assert [first.outcome, second.outcome] == ["created", "created"]
    assert len(table.rows("active")) == 2


def test_contradictions_between_facts_are_seen_without_a_subject_too(make):
    """S3-12: from .85 on."""
    for cosine, outcome in ((0.8500, "superseded"), (0.8499, "created")):
        table = make(name=f"{cosine}.db")
        table.near("threshold 0.85", "threshold 0.95", cosine)
        fact(table, "threshold 0.85")
        assert fact(table, "threshold 0.95").outcome == outcome


def test_a_contradiction_that_is_no_sure_replacement_is_only_reported(make):
    """S3-12, design §4: without a subject, only a confident replacement of one value supersedes."""
    table = make()
    table.near("Use X", "Never use X", 0.9)
    fact(table, "Use X")
    result = fact(table, "Never use X")
    assert (result.outcome, [item.resolution for item in result.conflicts]) == ("created", [None])


def test_a_replaced_fact_can_be_brought_back(make):
    """B-4: everything is undoable."""
    table = make()
    old = fact(table, "status PLANNED", subject="006").memory
    fact(table, "is shipped", subject="006")
    assert table.store.restore(old.id) is True
    assert table.rows("active") == ["status PLANNED", "is shipped"]
    assert table.store.verify() == ()


def test_a_pin_goes_over_to_the_replacement(make):
    table = make()
    fact(table, "status PLANNED", subject="006", pinned=True)
    assert fact(table, "is shipped", subject="006").memory.pinned is True


# --------------------------------------------------------------------------------------------
# Reversion and late arrivals


def test_the_old_text_said_again_is_news(make):
    """B-9, F-21: a new row supersedes the head; it is no duplicate."""
    table = make()
    a = fact(table, "The gateway is open", subject="gateway").memory
    b = fact(table, "The gateway is closed", subject="gateway").memory
    again = fact(table, "The gateway is open", subject="gateway")
    assert again.outcome == "superseded"
    assert again.memory.id not in (a.id, b.id)
    assert table.store.get(b.id).superseded_by == again.memory.id
    assert table.rows("active") == ["The gateway is open"]


def test_a_superseded_text_said_again_without_a_subject_supersedes_the_head(make):
    """B-9, in any kind that stops repeats."""
    table = make()
    table.near("threshold 0.85", "threshold 0.95", 0.99)
    a = table.store.remember("threshold 0.85").memory
    b = table.store.remember("threshold 0.95", on_conflict="supersede").memory
    again = table.store.remember("Threshold 0.85.")
    assert (again.outcome, table.store.get(b.id).superseded_by) == ("superseded", again.memory.id)
    assert table.store.get(a.id).superseded_by == b.id
    assert [reason.rule for reason in again.reasons] == ["reversion"]


@pytest.mark.parametrize("field", ["event_time", "recorded_at"])
def test_a_late_import_of_something_older_is_stored_as_history(make, field):
    """B-35: it is superseded by the head, not the other way round."""
    table = make()
    head = fact(table, "is shipped", subject="006", **{field: datetime(2026, 1, 1, tzinfo=UTC)}).memory
    late = fact(table, "status PLANNED", subject="006", **{field: datetime(2025, 6, 1, tzinfo=UTC)})
    assert (late.outcome, late.memory.status, late.memory.superseded_by) == ("created", "superseded", head.id)
    assert table.rows("active") == ["is shipped"]
    assert table.store.get(head.id).status == "active"
    assert "history" in late.message
    assert table.store.verify() == ()


def test_history_that_is_known_is_not_asserted_again(make):
    """B-35, I5: the late import a second time."""
    table = make()
    fact(table, "status PLANNED", subject="006", event_time="2025-06-01")
    fact(table, "is shipped", subject="006", event_time="2026-01-01")
    again = fact(table, "status PLANNED", subject="006", event_time="2025-06-01")
    assert again.outcome == "duplicate"
    assert table.rows("active") == ["is shipped"]


# --------------------------------------------------------------------------------------------
# Episodes


def episode(table, content, **fields):
    return table.store.remember(content, kind="episode", **fields)


@pytest.mark.parametrize(
    ("minutes", "first", "second", "reused"),
    [
        (0, "Here's my status.", "here's my current status", True),  # a full stop makes no other word
        (0, STATUS, STATUS, True),  # S3-2, S3-24 test 8, F-23
        (29, STATUS, STATUS, True),
        (30, STATUS, STATUS, True),  # S3-13: started_at >= now - 30 min
        (31, STATUS, STATUS, False),  # S3-24 test 11
        (5, "debugging the flaky login test together", "again debugging the flaky login test", True),  # test 9
        (5, "reviewing the export with the team", "reviewing the export with the whole team", True),
        (5, "a b c d e f g h i j", "a b c d e f g x y z", False),  # exactly .7
        (5, STATUS, "Write the release notes", False),  # S3-24 test 10
        (5, "Here's my status", "Here's my current status", True),  # S3-28
        (5, STATUS, STATUS.upper(), True),
    ],
)
def test_an_ongoing_episode_with_nearly_the_same_words_is_reused(make, minutes, first, second, reused):
    """S3-13, S3-14, S3-30, F-23."""
    table = make()
    old = episode(table, first).memory
    table.clock.advance(minutes=minutes)
    result = episode(table, second)
    assert result.outcome == ("reused" if reused else "created")
    assert (result.memory.id == old.id) is reused
    assert len(table.rows()) == (1 if reused else 2)


def test_an_episode_that_has_ended_is_not_reused(make):
    """S3-24 test 12."""
    table = make()
    old = episode(table, STATUS).memory
    table.store.revise(old.id, ended_at=table.clock())
    assert episode(table, STATUS).outcome == "created"


def test_summaries_count_before_texts_and_an_empty_one_matches_nothing(make):
    """S3-14, S3-24 test 13."""
    table = make()
    episode(table, "long text of the first episode", summary="fix the export")
    assert episode(table, "something else entirely", summary="fix the export").outcome == "reused"
    assert text_overlap("", "") == text_overlap("", "a") == text_overlap(None, "a") == 0.0


def test_only_episodes_of_the_same_agent_are_reused(make):
    """S3-13."""
    table = make()
    episode(table, STATUS, agent="alice")
    assert episode(table, STATUS, agent="bob").outcome == "created"
    assert episode(table, STATUS, agent="alice").outcome == "reused"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("check the brain status of the patient", "check the heart status of the patient"),
        ("run batch 41 of the nightly import", "run batch 42 of the nightly import"),
    ],
)
def test_overlap_alone_does_not_make_two_episodes_one(make, first, second):
    """I2, E-3: nearly the same words, and yet another thing."""
    table = make()
    episode(table, first)
    assert text_overlap(first, second) > 0.7
    assert episode(table, second).outcome == "created"


def test_reuse_is_logged_in_the_words_of_the_source(make, caplog):
    """S3-15."""
    table = make()
    old = episode(table, STATUS).memory
    with caplog.at_level(logging.DEBUG, logger="wellkept"):
        episode(table, STATUS)
    assert f"Skipping duplicate episode, reusing {old.id}" in caplog.messages


def test_a_reused_episode_needs_no_model(make):
    """S3-19, S3-30: word overlap, no embedding of the second text."""
    table = make()
    episode(table, STATUS)
    seen = len(table.fake.texts_seen)
    episode(table, STATUS)
    assert len(table.fake.texts_seen) == seen


# --------------------------------------------------------------------------------------------
# Decisions


@pytest.mark.parametrize(
    ("content", "frame", "automatic", "outcome"),
    [
        (CHOICE, "conversation", True, "rejected"),  # S3-16, S3-25 test 14, F-24
        (CHOICE, "question", True, "rejected"),  # test 15
        (CHOICE, "creative", True, "rejected"),  # test 19
        (CHOICE, "task", False, "created"),  # test 16
        ("Here's my current status: all green.", "task", True, "rejected"),  # S3-3, S3-17, test 17
        (CHOICE, "decision", True, "created"),  # test 18
        (CHOICE, "conversation", False, "created"),  # B-19, F-24
    ],
)
def test_only_decisions_are_recorded_as_decisions(make, content, frame, automatic, outcome, caplog):
    """S3-3, S3-16 to S3-19, S3-25, B-19."""
    table = make()
    with caplog.at_level(logging.DEBUG, logger="wellkept"):
        result = table.store.remember(content, kind="decision", frame=frame, automatic=automatic)
    assert result.outcome == outcome
    assert table.rows() == ([content] if outcome == "created" else [])
    line = "Skipping decision recording: informational response"  # S3-18
    assert (line in caplog.messages) is (outcome == "rejected")


def test_five_status_dumps_leave_no_decision(make):
    """S3-3, S3-4."""
    table = make()
    for number in range(5):
        text = f"Here's what I know, dump {number}: all services are green."
        table.store.remember(text, kind="decision", frame="task", automatic=True)
    assert table.rows() == []
    assert table.store.recall("services green") == ()


def test_a_refused_text_is_in_the_journal_and_can_be_brought_back(make):
    """I1, S3-19: a false positive is cheap."""
    table = make()
    refused = table.store.remember(CHOICE, kind="decision", frame="question", automatic=True)
    assert table.store.journal()[-1].outcome == "rejected"
    assert "Not stored" in refused.message
    assert table.store.restore(refused.dropped) is True
    assert table.rows() == [CHOICE]


def test_skipping_the_record_still_runs_everything_else(make):
    """S3-18, S3-25 test 20: the batch goes on with the episode beside it."""
    table = make()
    batch = table.store.remember_many(
        [
            {"content": CHOICE, "kind": "decision", "frame": "conversation", "automatic": True},
            {"content": "Talked about the export", "kind": "episode"},
        ]
    )
    assert [result.outcome for result in batch.results] == ["rejected", "created"]


def test_the_same_decision_twice_is_two_decisions(make):
    """B-37: the same words can be another event."""
    table = make()
    for _ in range(2):
        assert table.store.remember(CHOICE, kind="decision").outcome == "created"
    assert len(table.store.list(Filter(statuses=ALL_STATUSES))) == 2


# --------------------------------------------------------------------------------------------
# Overlap


@pytest.mark.parametrize(
    ("a", "b", "overlap"),
    [
        ("fix the export", "fix the export", 1.0),  # S3-27 test 27
        ("alpha beta", "gamma delta", 0.0),  # test 28
        ("a b c d", "a b x y", 0.5),  # test 29
        ("Fix The Export", "fix the export", 1.0),  # test 30
        ("", "fix", 0.0),  # test 31
        (None, "fix", 0.0),
        ("   ", "fix", 0.0),
        ("fix", "fix", 1.0),  # test 32
        ("fix", "break", 0.0),
        ("fix", "fix the export", 1.0),  # the shorter side counts
        ("Here's my status", "Here's my current status", 1.0),  # S3-28
        (STATUS, STATUS, 1.0),  # S3-2, S3-28
        ("исправь экспорт", "Исправь импорт", 0.5),
    ],
)
def test_overlap_is_the_share_of_common_words_of_the_shorter_text(a, b, overlap):
    """S3-14, S3-22, S3-27, S3-28."""
    assert text_overlap(a, b) == text_overlap(b, a) == overlap
