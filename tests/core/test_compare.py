"""How a new statement relates to a stored one, as tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.judging.compare import compare
from wellkept.core.records.merge import evolve
from wellkept.types import Comparison, Memory, NewMemory, Polarity, Statement, Update

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def stored(content: str, *, chunks: int = 1, statement: Statement | None = None) -> Memory:
    base = statement or Statement(content="")
    return Memory(
        id="m1",
        namespace="n",
        content=content,
        title=base.title,
        subject=base.subject,
        attribute=base.attribute,
        polarity=base.polarity,
        event_time=base.event_time,
        created_at=NOW,
        updated_at=NOW,
        chunks=chunks,
    )


def related(old: str, new: str, similarity: float | None = 0.97) -> Comparison:
    return compare(Statement(content=new), stored(old), cosine=similarity, similarity=similarity)


@pytest.mark.parametrize(
    ("old", "new", "relation", "reason"),
    [
        ("Use X", "Never use X", "conflict", "negation_diff"),  # S2-36
        ("Use ruff for linting", "Use flake8 for linting", "conflict", "value_diff"),  # S2-38, B-3
        ("threshold 0.85", "threshold 0.95", "conflict", "value_diff"),  # F-9
        ("The ticket is open", "The ticket is closed", "conflict", "negation_diff"),
        ("Issue #441 is open", "Issue #442 is open", "variant", ""),
        ("Use it on weekends", "Use it on weekends unless it rains", "variant", ""),  # F-8
        ("Alerts go to the duty phone", "The duty phone gets the alerts", "same", ""),  # S2-35: no difference found
        ("Use SQLite", "use sqlite!", "same", ""),  # S4-2
    ],
)
def test_differences_come_before_similarity(old: str, new: str, relation: str, reason: str) -> None:
    found = related(old, new)
    assert (found.relation, found.reason) == (relation, reason)


def test_a_statement_on_none_of_the_topics_of_a_memory_is_compared_with_all_of_it() -> None:
    grown = evolve(stored("Ana likes green tea on port 80"), "Ana likes jam too", at=NOW, similarity=0.9)
    found = compare(Statement(content="The bus number 8 leaves"), grown, cosine=0.9, similarity=0.9)
    assert (found.relation, [item.kind for item in found.differences]) == ("variant", ["number"])


def test_long_texts_without_a_word_are_the_same_only_letter_by_letter() -> None:
    assert "length" in {item.kind for item in related("!" * 5000, "?" * 5000).differences}
    assert related("!" * 5000, "!" * 5000).relation == "same"


@pytest.mark.parametrize(
    ("old", "new", "relation"),
    [
        ("Use SQLite", "use sqlite!", "same"),
        ("Alerts go to the duty phone", "The duty phone gets the alerts", "variant"),
        ("Use X", "Never use X", "conflict"),
        ("The cat sleeps", "Invoices leave on Mondays", "none"),
        ("👍", "👎", "none"),
        ("數", "字", "none"),
    ],
)
def test_without_a_vector_only_equal_texts_are_the_same(old: str, new: str, relation: str) -> None:
    """B-34."""
    assert related(old, new, None).relation == relation


def test_both_figures_are_rounded_to_four_decimals() -> None:
    found = compare(Statement(content="a b"), stored("a b c"), cosine=0.123456, similarity=0.94999)
    assert (found.cosine, found.similarity) == (0.1235, 0.95)


def test_another_subject_or_attribute_is_never_a_conflict() -> None:
    """F-20, B-4."""
    for old, new in [
        (Statement(content="", subject="Nous"), Statement(content="It uses PostgreSQL 16", subject="Hynous")),
        (
            Statement(content="", subject="Nous", attribute="version"),
            Statement(content="It uses PostgreSQL 16", subject="NOUS", attribute="database"),
        ),
    ]:
        memory = stored("It uses PostgreSQL 15", statement=old)
        found = compare(new, memory, cosine=0.99, similarity=0.99)
        assert found.relation == "distinct"
        assert "subject" in {d.kind for d in found.differences}


def test_the_same_subject_in_another_case_is_the_same_subject() -> None:
    """S3-23.6."""
    memory = stored("It uses PostgreSQL 15", statement=Statement(content="", subject="nous"))
    new = Statement(content="It uses PostgreSQL 16", subject="NOUS ")
    assert compare(new, memory, cosine=0.9, similarity=0.9).relation == "conflict"


@pytest.mark.parametrize(("old", "new", "reason"), [(1, -1, "polarity"), (-1, 1, "polarity"), (1, 0, ""), (1, 1, "")])
def test_opposite_polarities_conflict(old: Polarity, new: Polarity, reason: str) -> None:
    """S2-22."""
    memory = stored("Momentum works", statement=Statement(content="", polarity=old))
    found = compare(Statement(content="Momentum works", polarity=new), memory, cosine=1.0, similarity=1.0)
    assert found.reason == reason
    assert found.relation == ("conflict" if reason else "same")


def test_the_same_text_at_another_time_is_another_event() -> None:
    """F-22."""
    memory = stored("Alice visited Rome", statement=Statement(content="", event_time=NOW))
    found = compare(
        Statement(content="Alice visited Rome", event_time=NOW + timedelta(days=1)), memory, cosine=1.0, similarity=0.99
    )
    assert [d.kind for d in found.differences] == ["event_time"]
    assert found.relation == "distinct"


def test_values_at_two_points_in_time_do_not_conflict() -> None:
    """B-4."""
    memory = stored("The price is €500", statement=Statement(content="", event_time=NOW))
    new = Statement(content="The price is €600", event_time=NOW + timedelta(days=9))
    found = compare(new, memory, cosine=0.98, similarity=0.98)
    assert found.relation == "distinct"
    assert {"number", "event_time"} <= {d.kind for d in found.differences}


def test_a_title_heads_a_text_and_is_no_part_of_what_it_says() -> None:
    memory = stored("It went well", statement=Statement(content="", title="Review of 2024-05-01"))
    new = Statement(content="It went well", title="Review of 2024-06-01")
    found = compare(new, memory, cosine=1.0, similarity=1.0)
    assert (found.relation, found.differences) == ("same", ())


def test_a_value_that_a_newer_update_already_holds_is_no_conflict() -> None:
    memory = stored("The request timeout is 30 s")
    evolved = evolve(memory, "The request timeout is 60 s", at=NOW, similarity=0.8)
    assert (
        compare(Statement(content="The request timeout is 60 s"), evolved, cosine=0.8, similarity=0.8).relation
        == "same"
    )


def test_the_newest_segment_about_the_same_thing_is_the_one_denied() -> None:
    memory = stored("The request timeout is 30 s")
    evolved = evolve(memory, "The request timeout is 60 s", at=NOW, similarity=0.8)
    found = compare(Statement(content="The request timeout is 90 s"), evolved, cosine=0.8, similarity=0.8)
    assert [(d.old, d.new) for d in found.differences if d.decisive] == [("60 s", "90 s")]


def test_an_update_about_something_else_does_not_hide_the_conflict() -> None:
    memory = stored("The request timeout is 30 s")
    evolved = evolve(memory, "Anna reviews the proxy configuration", at=NOW, similarity=0.7)
    found = compare(Statement(content="The request timeout is 90 s"), evolved, cosine=0.8, similarity=0.8)
    assert found.relation == "conflict"


def test_long_texts_are_the_same_only_with_the_same_sentences() -> None:
    """B-33."""
    sentences = [f"Topic {word} has its own page in the handbook." for word in ("alpha", "beta", "gamma", "delta")] * 8
    long = " ".join(sentences)
    shuffled = " ".join(reversed(sentences))
    other = long + " A closing remark follows here."
    assert len(long) > 1000
    for new, relation in [(long, "same"), (shuffled, "same"), (other, "variant")]:
        found = compare(Statement(content=new), stored(long, chunks=3), cosine=1.0, similarity=1.0)
        assert found.relation == relation, new[:40]


def test_two_subjects_in_the_text_itself_are_a_variant() -> None:
    found = related("Service A listens on 8080", "Service B listens on 9090")
    assert found.relation == "variant"
    assert found.reason == ""


def test_a_comparison_depends_on_nothing_but_its_arguments() -> None:
    """I4."""
    memory = stored("Use npm to install packages")
    new = Statement(content="Use pnpm to install packages")
    assert compare(new, memory, cosine=0.9, similarity=0.9) == compare(
        replace(new), replace(memory), cosine=0.9, similarity=0.9
    )


def test_an_older_segment_with_another_number_forbids_to_evolve_too() -> None:
    """I2, B-7: the newest segment adds a detail, but the first one on the same topic says another number."""
    first = "The search service handles 30,000 queries daily with 99.8% uptime."
    second = "The search service handles a large volume of queries."
    old = Memory(
        id="k1", namespace="n", content=f"{first}\n\n[2026-03-04] {second}", kind="knowledge", created_at=NOW,
        updated_at=NOW, updates=(Update(NOW, second, 0.8),), evolution_count=1,
    )  # fmt: skip
    new = NewMemory(content="The search service handles 35,000 queries daily with 99.85% uptime.", kind="knowledge")
    assert {item.kind for item in compare(new, old, cosine=0.73, similarity=0.73).differences} >= {"number"}
