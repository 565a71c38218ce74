"""`[[names]]` in texts (S0-42, S0-45): valid and invalid ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellkept.core.records.effects import touched
from wellkept.core.records.wikilinks import MAX_NAME, MAX_NAMES, is_waiting, keys, names, waiting, will_link
from wellkept.types import Link, LinkChange, Memory

DAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no brackets", ()),
        ("see [[Risk rules]]", ("Risk rules",)),
        ("[[a b]] then [[c]]", ("a b", "c")),
        ("[[Risk rules]] and [[RISK  rules]]", ("Risk rules",)),
        ("[[ Risk rules ]]", ("Risk rules",)),
        ("[[Risk rules|what we never do]]", ("Risk rules",)),
        ("[[C#]] is not [[C++]]", ("C#", "C++")),  # I10
        ("[[週末の取引]] и [[Правила]]", ("週末の取引", "Правила")),
        ("[[2026-03-01]]", ("2026-03-01",)),
        ("[[0190a1b2-c3d4-7abc-8def-0123456789ab]]", ("0190a1b2-c3d4-7abc-8def-0123456789ab",)),
        ("x = [[1, 2], [3, 4]]; y = [[1, 2]]", ()),
        ("[[]] [[ ]] [[|alias]] [[...]]", ()),
        ("[[not\nclosed]]", ()),
        ("[[open [[Inner]] close]]", ("Inner",)),
        (f"[[{'a' * (MAX_NAME + 1)}]]", ()),
        ("[one] [two]", ()),
    ],
)
def test_a_name_stands_between_double_brackets(text, found):
    """S0-42, S0-45."""
    assert names(text) == found


def test_a_hostile_text_names_at_most_a_few():
    """Each name costs a search, and texts are untrusted."""
    text = "".join(f"[[name {number}]]" for number in range(10_000))
    assert names(text) == tuple(f"name {number}" for number in range(MAX_NAMES))
    assert names("[[" * 100_000) == ()


@pytest.mark.parametrize(
    ("found", "text"), [((), ""), (("a",), " (will link: a)"), (("a", "b c"), " (will link: a, b c)")]
)
def test_the_answer_names_what_will_be_linked_in_the_words_of_the_source(found, text):
    """S0-45."""
    assert will_link(found) == text


def test_a_memory_is_found_under_its_title_or_its_beginning():
    titled = Memory(id="m", namespace="n", title="Risk Rules", content="Never all in.", created_at=DAY, updated_at=DAY)
    plain = Memory(id="m", namespace="n", content="Never all in.", created_at=DAY, updated_at=DAY)
    assert keys(titled) == {"risk rules"}
    assert keys(plain) == {"never all in"}


def test_a_waiting_end_is_no_memory_and_so_is_touched_by_nothing():
    """Names in an erased text must not remain in the list of ids of its entry (I1)."""
    end = waiting("Risk Rules!")
    assert end == waiting("risk rules") and is_waiting(end) and not is_waiting("0190a1b2")
    assert touched([LinkChange(None, Link("m", end))]) == ("m",)
