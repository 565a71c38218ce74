"""Two texts become one memory without losing either: confirm, evolve, absorb."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.records.merge import (
    REVIEW_MARK,
    absorb,
    absorbed,
    aliases,
    canonical_alias,
    confirm,
    content_alias,
    evolution,
    evolve,
    original,
    segments,
    short,
    unconfirmed,
    united,
)
from wellkept.core.text.forms import canonical_hash, content_hash
from wellkept.types import AliasChange, Memory, MemoryChange, NewMemory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def memory(**values):
    made = {"id": "m1", "namespace": "n", "content": "Deploys run on Friday.", "created_at": NOW, "updated_at": NOW}
    return Memory(**{**made, **values})


# --------------------------------------------------------------------------------------------
# Hashes


@pytest.mark.parametrize("text", ["Use SQLite", "используй SQLite", "使用数据库", "C++ 1.5 −5 %"])
def test_a_hash_is_64_hex_digits_and_always_the_same(text):
    """S4-1, S4-7, S4-20."""
    for digest in (content_hash(text), canonical_hash(text)):
        assert len(digest) == 64 and set(digest) <= set("0123456789abcdef")
    assert content_hash(text) == content_hash(str(text.encode().decode()))


@pytest.mark.parametrize("other", ["use sqlite!", "Use  SQLite", "Use SQLite.", "USE SQLITE"])
def test_the_canonical_hash_does_not_see_case_blanks_and_punctuation(other):
    """S4-2, S4-20."""
    assert canonical_hash(other) == canonical_hash("Use SQLite")
    assert content_hash(other) != content_hash("Use SQLite")


def test_a_text_has_an_alias_for_its_letters_and_one_for_its_meaning():
    """B-8, S4-21: both are stored, so that they can be looked up."""
    assert aliases("Use SQLite") == (content_alias("Use SQLite"), canonical_alias("Use SQLite"))
    assert content_alias("Use SQLite") == f"content:{content_hash('Use SQLite')}"
    assert canonical_alias("use sqlite!") == canonical_alias("Use SQLite")


def test_only_aliases_that_are_not_held_yet_are_added():
    first, second = aliases("A")
    assert absorbed("m1", ("A",), frozenset()) == (
        AliasChange("m1", first, present=True),
        AliasChange("m1", second, present=True),
    )
    assert absorbed("m1", ("A",), frozenset({second})) == (AliasChange("m1", first, present=True),)
    assert absorbed("m1", ("A", "A"), frozenset({first, second})) == ()


# --------------------------------------------------------------------------------------------
# Evolution


def test_evolving_keeps_the_original_and_appends_a_dated_update():
    """S4-10, S4-12, S4-20, B-7: a new version of the same row."""
    old = memory(embedding="hash of the old text", chunks=1)
    later = datetime(2026, 4, 2, tzinfo=UTC)
    grown = evolve(old, "Friday deploys need a second reviewer.", at=later, similarity=0.7)
    assert grown.content == "Deploys run on Friday.\n\n[2026-04-02] Friday deploys need a second reviewer."
    assert (grown.id, grown.version, grown.evolution_count) == ("m1", 2, 1)
    assert original(grown) == "Deploys run on Friday."
    assert segments(grown) == ("Deploys run on Friday.", "Friday deploys need a second reviewer.")


def test_an_evolved_memory_asks_for_a_new_vector():
    """S4-13 is obsolete: B-8."""
    grown = evolve(memory(embedding="old", chunks=1), "more", at=NOW, similarity=0.7)
    assert (grown.embedding, grown.chunks) == ("", 0)


def test_the_history_holds_the_last_ten_and_the_count_all():
    """S4-11, S4-20, F-18."""
    row = memory()
    for number in range(1, 13):
        row = evolve(row, f"addition {number} " + "x" * 200, at=NOW + timedelta(days=number), similarity=0.7)
    told = evolution(row)
    assert told["evolution_count"] == 12
    assert told["last_evolution"] == (NOW + timedelta(days=12)).isoformat()
    assert [item["preview"].split()[1] for item in told["history"]] == [str(n) for n in range(3, 13)]
    assert all(len(item["preview"]) == 100 for item in told["history"])
    assert told["history"][0]["date"] == "2026-03-04"
    assert told["history"][0]["similarity"] == 0.7


def test_beyond_ten_updates_the_oldest_leaves_the_text_and_the_row_asks_for_review():
    """B-7, S4-21: the text itself is bounded, not only the metadata."""
    row = memory()
    for number in range(1, 12):
        assert REVIEW_MARK not in row.metadata
        row = evolve(row, f"addition {number}", at=NOW, similarity=0.7)
    assert "addition 1\n" not in row.content + "\n" and "addition 2" in row.content
    assert row.content.startswith("Deploys run on Friday.")
    assert row.metadata[REVIEW_MARK] == "more than ten updates"
    assert len(row.updates) == 10


def test_a_memory_that_never_evolved_is_its_own_only_segment():
    assert segments(memory()) == ("Deploys run on Friday.",)
    assert evolution(memory()) == {"evolution_count": 0, "last_evolution": None, "history": []}


# --------------------------------------------------------------------------------------------
# Confirmation


def test_a_confirmation_counts_and_changes_neither_text_nor_importance():
    """B-38."""
    later = NOW + timedelta(hours=1)
    row = memory(importance=0.4)
    after = confirm(row, NewMemory(content="deploys run on friday", importance=0.9), at=later)
    assert (after.content, after.importance, after.confirmations) == (row.content, 0.4, 1)
    assert (after.last_confirmed_at, after.version) == (later, 2)
    assert (after.access_count, after.last_accessed_at) == (0, None)  # it is no access for decay


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("title", "Deploys"),
        ("summary", "when"),
        ("subject", "deploys"),
        ("tags", ("ops",)),
        ("event_time", NOW),
        ("source", "wiki"),
    ],
)
def test_a_confirmation_fills_what_is_empty_and_keeps_what_is_there(field, said):
    """B-38, D3."""
    empty = memory()
    held = memory(**{field: {"tags": ("kept",), "event_time": NOW - timedelta(days=9)}.get(field, "kept")})
    new = NewMemory(content="x", **{field: said})
    assert getattr(confirm(empty, new, at=NOW), field) == said
    assert getattr(confirm(held, new, at=NOW), field) == getattr(held, field)


def test_an_attribute_is_not_taken_over_by_a_memory_with_a_subject_of_its_own():
    row = memory(subject="deploys")
    assert confirm(row, NewMemory(content="x", subject="deploys", attribute="day"), at=NOW).attribute == ""
    assert confirm(memory(), NewMemory(content="x", subject="deploys", attribute="day"), at=NOW).attribute == "day"


@pytest.mark.parametrize(("stored", "said", "after"), [(0.4, 0.9, 0.9), (0.9, 0.4, 0.9)])
def test_a_merge_under_supersede_raises_importance_to_the_higher_of_the_two(stored, said, after):
    """S2-28."""
    row = confirm(memory(importance=stored), NewMemory(content="x", importance=said), at=NOW, raise_importance=True)
    assert row.importance == after


# --------------------------------------------------------------------------------------------
# Merge of two stored rows


def test_a_merge_takes_over_text_tags_importance_sources_and_pin():
    kept = memory(tags=("a", "b"), importance=0.4, provenance=("p1",), confirmations=1)
    other = memory(
        id="m2", content="On Friday we deploy after lunch.", tags=("b", "c"), importance=0.8, provenance=("p2",),
        confirmations=2, pinned=True,
    )  # fmt: skip
    grown, effects = absorb(kept, other, at=NOW, held=frozenset())
    assert other.content in grown.content and grown.content.startswith(kept.content)
    assert (grown.tags, grown.importance, grown.provenance) == (("a", "b", "c"), 0.8, ("p1", "p2"))
    assert (grown.confirmations, grown.pinned) == (3, True)
    assert effects[0] == MemoryChange(kept, grown)
    assert {effect.hash for effect in effects[1:]} == set(aliases(other.content))


def test_uniting_keeps_order_and_names_each_once():
    assert united(("b", "a"), ("a", "c")) == ("b", "a", "c")


@pytest.mark.parametrize(
    ("title", "content", "name"),
    [("Deploys", "text", "Deploys"), ("", "short text", "short text"), ("", "word " * 40, "word " * 11 + "word…")],
)
def test_a_memory_is_called_by_its_title_or_the_beginning_of_its_text(title, content, name):
    assert short(replace(memory(), title=title, content=content)) == name


@pytest.mark.parametrize(("head", "wording", "left"), [(3, 1, 1), (2, 0, 1), (1, 0, 0), (0, 4, 0)])
def test_a_head_loses_the_confirmations_of_a_wording_and_with_the_last_one_their_time(head, wording, left):
    after = unconfirmed(memory(confirmations=head), memory(confirmations=wording), at=NOW, last=NOW)
    assert (after.confirmations, after.last_confirmed_at, after.version) == (left, NOW if left else None, 2)
