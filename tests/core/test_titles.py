"""Titles of a memory: its own and those of its duplicates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from wellkept.core.consolidation.merged_memory import folded
from wellkept.core.consolidation.rules import DEFAULT_RULES
from wellkept.core.records.merge import absorb, confirm, gathered
from wellkept.core.text.titles import FURTHER_TITLES, MAX_FURTHER_TITLES, headed_texts, titles, with_titles
from wellkept.types import Memory, MemoryChange, NewMemory

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def row(title: str = "", said: Any = None, name: str = "m1", **fields: Any) -> Memory:
    metadata = {} if said is None else {FURTHER_TITLES: said}
    return Memory(
        content="Rotate the keys.", title=title, metadata=metadata, id=name, namespace="n", created_at=NOW,
        updated_at=NOW, **fields,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("memory", "others", "expected"),
    [
        (row("Keys"), ["Secrets"], ("Keys", "Secrets")),
        (row("Keys"), ["keys!", " KEYS"], ("Keys",)),  # another spelling is the same title
        (row("Keys", ["Secrets"]), ["Rotation", "secrets"], ("Keys", "Secrets", "Rotation")),
        (row(""), ["Secrets"], ("Secrets",)),
        (row("Keys"), [""], ("Keys",)),
        (row("Schlüssel"), ["Ключи", "钥匙"], ("Schlüssel", "Ключи", "钥匙")),
        (row("Keys", "somebody's own text"), ["Secrets"], ("Keys", "Secrets")),
        (row("Keys", [5, None, "Secrets"]), [], ("Keys", "Secrets")),
    ],
)
def test_each_title_is_kept_once_whatever_its_spelling(
    memory: Memory, others: list[str], expected: tuple[str, ...]
) -> None:
    assert titles(with_titles(memory, others)) == expected


def test_a_memory_that_gains_no_title_is_left_as_it_is() -> None:
    memory = row("Keys", ["Secrets"])
    assert with_titles(memory, ["secrets", "Keys"]) is memory


def test_at_most_twenty_further_titles_are_kept() -> None:
    grown = with_titles(row("Keys"), [f"Title {number}" for number in range(50)])
    assert len(titles(grown)) == 1 + MAX_FURTHER_TITLES
    assert titles(grown)[-1] == f"Title {MAX_FURTHER_TITLES - 1}"


def test_words_of_every_title_are_searched() -> None:
    keys = with_titles(row("Keys", subject="vault"), ["Secrets"])
    assert headed_texts([keys]) == ["Keys Secrets Rotate the keys. vault"]


def test_whatever_makes_two_memories_one_keeps_the_titles_of_both() -> None:
    """Confirmed, evolved, merged by hand, merged by a rule."""
    again = NewMemory(content="rotate the keys", title="Secrets")
    other = row("Secrets", name="m2")
    _, (change, *_) = absorb(row("Keys"), other, at=NOW, held=frozenset())
    assert isinstance(change, MemoryChange) and change.after is not None
    for whole in (
        confirm(row("Keys"), again, at=NOW),
        gathered(row("Keys"), again),
        change.after,
        folded(row("Keys"), [other], DEFAULT_RULES[0]),
    ):
        assert titles(whole) == ("Keys", "Secrets")


def test_the_first_title_of_an_untitled_memory_becomes_its_own() -> None:
    confirmed = confirm(row(""), NewMemory(content="rotate the keys", title="Secrets"), at=NOW)
    assert (confirmed.title, dict(confirmed.metadata)) == ("Secrets", {})
