"""Decisions in words: the seeds' message texts to the letter, and one sentence for everything else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.records.explain import (
    chance,
    check_similar,
    difference_words,
    dropped_line,
    duplicate_message,
    mark_words,
    message,
    move_words,
    reason_words,
    why,
)
from wellkept.types import Conflict, Decision, Difference, Link, Match, Memory, Move, Opinion, Reason, WriteResult

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def memory(**values):
    made = {"id": "n_xyz789", "namespace": "n", "content": "text", "created_at": NOW, "updated_at": NOW, **values}
    return Memory(**made)


def match(similarity=0.9712, **values):
    made = {
        "memory_id": "n_xyz789", "title": "Avoid weekend trading", "lifecycle": "ACTIVE", "stage": "vector",
        "relation": "same", "action": "duplicate", "similarity": similarity, "cosine": similarity, **values,
    }  # fmt: skip
    return Match(**made)


# --------------------------------------------------------------------------------------------
# The message of a repeat


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {},
            'Duplicate: already stored as "Avoid weekend trading" (n_xyz789). Not created. (97% similar)',
        ),
        (
            {"lifecycle": "DORMANT"},
            'Duplicate: already stored as "Avoid weekend trading" (n_xyz789) [DORMANT]. Use restore to '
            "reactivate if needed. Not created. (97% similar)",
        ),
        (
            {"lifecycle": "WEAK"},
            'Duplicate: already stored as "Avoid weekend trading" (n_xyz789) [WEAK]. Use restore to '
            "reactivate if needed. Not created. (97% similar)",
        ),
        (
            {"title": "", "memory_id": "", "similarity": None},
            'Duplicate: already stored as "Untitled" (?). Not created. (0% similar)',
        ),
    ],
)  # fmt: skip
def test_the_message_of_a_repeat_has_the_form_of_the_source(given, text):
    """S0-32: code form, defaults, floored percentage; S0-33 asks for its parts."""
    assert duplicate_message(match(**given)) == text


@pytest.mark.parametrize(("similarity", "percent"), [(0.9599, 95), (0.29, 29), (0.57, 57), (0.99, 99), (1.0, 100)])
def test_the_percentage_is_floored_and_no_float_error_takes_one_away(similarity, percent):
    """S0-32: int(similarity * 100), where 0.29 * 100 is 28.999999999999996 in binary."""
    assert duplicate_message(match(similarity)).endswith(f"Not created. ({percent}% similar)")


def test_the_log_line_of_a_repeat_has_the_form_of_the_source():
    """S0-34."""
    dropped = memory(id="new", kind="lesson", title="Weekends", content="x")
    line = 'Dedup: dropped lesson "Weekends" — duplicate of "Avoid weekend trading" (n_xyz789, 97% similar)'
    assert dropped_line(dropped, match()) == line


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (Decision(outcome="created", memory=memory(title="T")), 'Stored: "T" (n_xyz789).'),  # S0-42
        (Decision(outcome="queued", memory=memory(title="T")), 'Queued: "T"'),  # S0-45
        (Decision(outcome="queued", memory=None), "Queued"),
        (
            Decision(outcome="restated", memory=memory(), matches=(match(),), reasons=(Reason("no_room_to_grow", ""),)),
            'Added behind "Avoid weekend trading" (n_xyz789), as a wording.',
        ),
        (
            Decision(outcome="restated", memory=memory(), matches=(match(),), reasons=(Reason("model_same", ""),)),
            'Known: kept as another wording of "Avoid weekend trading" (n_xyz789).',
        ),
        (
            Decision(outcome="created", memory=memory(), reasons=(Reason("wikilink_waits", "Tea"),)),
            'Stored: "text" (n_xyz789); to be linked once it is written: Tea.',
        ),
        (
            Decision(outcome="created", memory=memory(), links=(Link("n_xyz789", "m1"),)),
            'Stored: "text" (n_xyz789); linked to m1.',
        ),
        (
            Decision(outcome="superseded", memory=memory(), links=(Link("n_xyz789", "m1", "supersedes"),)),
            'Stored: "text" (n_xyz789); replaces m1.',
        ),
        (
            Decision(outcome="created", memory=memory(status="superseded", superseded_by="m9")),
            'Stored: "text" (n_xyz789); as history: m9 is of a later date.',
        ),
        (
            Decision(outcome="evolved", memory=memory(evolution_count=3)),
            'Updated: "text" (n_xyz789) took the text as update 3.',
        ),
        (
            Decision(outcome="reused", memory=memory()),
            'Reused: "text" (n_xyz789) is still going on. Not created.',
        ),
        (
            Decision(outcome="rejected", memory=None, reasons=(Reason("junk", "no words"),)),
            "Not stored: not worth keeping (no words).",
        ),
        (
            Decision(outcome="created", memory=memory(), degraded=("embedding",)),
            'Stored: "text" (n_xyz789). Stored unchecked: the embedder could not be reached.',
        ),
    ],
)
def test_each_outcome_is_a_sentence(decision, text):
    """I6, S0-42."""
    assert message(decision) == text


@pytest.mark.parametrize(
    ("relation", "said"),
    [("same", "Judged same with probability 0.6000 by m."), ("variant", "")],
)
def test_the_model_is_named_where_its_answer_is_one_of_its_relations(relation, said):
    told = match(action="restate", relation=relation, opinion=Opinion(0.6, 0.1, 0.1, 0.1, 0.1, "m"))
    decision = Decision(outcome="restated", memory=memory(), matches=(told,), reasons=(Reason("restates", "near"),))
    _, judged, tail = message(decision).partition("Judged")
    assert judged + tail == said


def conflict(kind="contradiction", resolution=None):
    return Conflict(
        key="k", a="m1", b="n_xyz789", kind=kind, reason="value_diff", similarity=0.9,
        differences=(Difference("value", "ruff", "flake8", decisive=True), Difference("detail", "", "more")),
        excerpt_a="Use ruff", excerpt_b="Use flake8", created_at=NOW, expires_at=NOW + timedelta(days=14),
        resolution=resolution,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        (conflict(), 'Stored: "text" (n_xyz789); possible conflict with "Use ruff" (m1): value: "ruff" -> "flake8".'),
        (conflict("duplicate"), 'possible duplicate of "Use ruff" (m1)'),
        (conflict(resolution="keep_new"), 'Stored: "text" (n_xyz789).'),
    ],
)
def test_an_open_conflict_is_told_with_the_words_that_decided(flag, text):
    assert text in message(Decision(outcome="created", memory=memory(), conflicts=(flag,)))


@pytest.mark.parametrize(
    ("one", "probability", "words"),
    [("m1", 0.934, "outdated by (0.93)"), ("n_xyz789", None, "outdates")],
)
def test_a_mark_is_told_from_either_side(one, probability, words):
    assert mark_words(conflict("outdated"), one) + chance(probability) == words


def test_a_move_says_what_it_passed_and_why():
    assert move_words(Move("m1", "outdates", 0.9), "[m1]") == "put before [m1], which it outdates (0.90)"


def test_a_refused_conflict_names_the_stored_one():
    """S2-28: a clear error."""
    text = message(
        Decision(outcome="rejected", memory=None, conflicts=(conflict(),), reasons=(Reason("conflict_raise", "m1"),))
    )
    assert "Use ruff" in text and "m1" in text and '"ruff" -> "flake8"' in text


# --------------------------------------------------------------------------------------------
# Why


@pytest.mark.parametrize(
    ("difference", "text"),
    [
        (Difference("number", "0.85", "0.95"), 'number: "0.85" -> "0.95"'),
        (Difference("event_time", "a", "b"), 'event time: "a" -> "b"'),
        (Difference("detail", "", "after lunch"), 'detail: "(nothing)" -> "after lunch"'),
        (Difference("identifier", "18", "20"), 'version or number: "18" -> "20"'),
        (Difference("identifier", "OPS-12", "OPS-13"), 'identifier: "OPS-12" -> "OPS-13"'),
        (Difference("custom", "x" * 100, "y"), 'custom: "' + "x" * 39 + '…" -> "y"'),
    ],
)
def test_a_difference_is_told_in_words(difference, text):
    assert difference_words(difference) == text


def test_a_rule_without_words_of_its_own_is_still_readable():
    assert reason_words("some_new_rule") == "some new rule"
    assert reason_words("content_hash") == "exactly the same text"


def test_why_names_rules_and_differences_once():
    """I6."""
    difference = Difference("number", "0.85", "0.95", decisive=True)
    result = WriteResult(
        outcome="created",
        memory=memory(),
        reasons=(Reason("conflict_warn", "a"), Reason("conflict_warn", "b")),
        matches=(match(action="conflict", differences=(difference,)), match(action="none", differences=(difference,))),
    )
    assert why(result) == 'the two cannot both hold; number: "0.85" -> "0.95"'


@pytest.mark.parametrize(
    ("similarity", "said"),
    [
        (0.7249, 'no sure match; nearest: "Avoid weekend trading" (72% similar)'),
        (0.5, 'no sure match; nearest: "Avoid weekend trading" (50% similar)'),
        (0.4999, "no match found"),
        (None, "no match found"),
    ],
)
def test_what_is_stored_as_new_names_a_near_memory_that_was_not_sure_enough(similarity, said):
    """Odd texts: a message must not say "nothing like it is stored" with a match of 72 %."""
    reasons = (Reason("nothing_like_it", ""),)
    near = match(similarity, action="none")
    assert why(WriteResult(outcome="created", memory=memory(), reasons=reasons, matches=(near,))) == said
    assert why(WriteResult(outcome="created", memory=memory(), reasons=reasons)) == "no match found"


def test_a_rejected_text_has_its_reason_once():
    result = WriteResult(outcome="rejected", memory=None, reasons=(Reason("junk", "only an acknowledgement"),))
    assert why(result) == "not worth keeping (only an acknowledgement)"


# --------------------------------------------------------------------------------------------
# The answer of a check


def answer(*matches, limit=5):
    return check_similar(WriteResult(outcome="created", memory=None, matches=matches), limit=limit)


@pytest.mark.parametrize(
    ("similarity", "does", "action", "recommendation"),
    [
        (0.9712, "duplicate", "duplicate", "duplicate_found"),  # S0-26
        (0.9500, "duplicate", "duplicate", "duplicate_found"),
        (0.9900, "none", "connect", "similar_found"),  # F-8: a write would store it, so it is no duplicate
        (0.9900, "conflict", "connect", "similar_found"),  # F-9
        (0.9234, "connect", "connect", "similar_found"),  # S0-26
        (0.9000, "none", "connect", "similar_found"),
        (0.8999, "none", None, "unique"),
        (0.8999, "connect", None, "unique"),
        (None, "none", None, "unique"),
        (0.7000, "duplicate", "duplicate", "duplicate_found"),  # told again in other words
        (0.7500, "reuse", "duplicate", "duplicate_found"),
        (0.7500, "evolve", "connect", "similar_found"),
    ],
)
def test_the_recommendation_says_what_a_write_would_do(similarity, does, action, recommendation):
    """S0-10, S0-20, S0-22, S0-24, S0-26, S0-30."""
    got = answer(match(similarity, action=does))
    assert got["recommendation"] == recommendation
    assert [one["action"] for one in got["matches"]] == ([action] if action else [])


def test_the_answer_has_exactly_the_keys_of_the_source():
    """S0-22, S0-27."""
    got = answer(match(0.97119, title="", lifecycle="WEAK"))
    assert got == {
        "matches": [
            {
                "node_id": "n_xyz789", "title": "Untitled", "similarity": 0.9712, "action": "duplicate",
                "lifecycle": "WEAK",
            }
        ],
        "recommendation": "duplicate_found",
    }  # fmt: skip
    assert answer() == {"matches": [], "recommendation": "unique"}  # S0-20


@pytest.mark.parametrize(("limit", "count"), [(5, 5), (3, 3), (1, 1), (0, 0), (-1, 0), (100, 7)])
def test_matches_are_sorted_then_cut(limit, count):
    """S0-15, S0-23, S0-51."""
    given = [match(0.9 + 0.01 * n, memory_id=f"m{n}", action="connect") for n in (3, 1, 6, 0, 5, 2, 4)]
    ids = [one["node_id"] for one in answer(*given, limit=limit)["matches"]]
    assert ids == [f"m{n}" for n in (6, 5, 4, 3, 2, 1, 0)][:count]


def test_the_memory_that_holds_the_text_comes_first_whatever_is_nearer():
    """S0-31: the caller names the first match."""
    got = answer(match(0.99, memory_id="near", action="conflict"), match(0.96, memory_id="held"))
    assert [one["node_id"] for one in got["matches"]] == ["held", "near"]


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_the_recommendation_does_not_depend_on_how_much_is_shown(limit):
    """A check says what a write does, however short its answer."""
    got = answer(match(0.97), match(0.92, action="connect"), limit=limit)
    assert got["recommendation"] == "duplicate_found"
