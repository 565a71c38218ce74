"""Caches of texts are bounded by their text (D1)."""

from __future__ import annotations

import sys

from wellkept.core.text.forms import canonical
from wellkept.core.text.text_cache import remembered


def test_what_was_asked_last_is_kept_and_what_was_asked_long_ago_is_forgotten() -> None:
    asked: list[str] = []

    @remembered(3_000)
    def read(text: str) -> int:
        asked.append(text)
        return len(text)

    for _ in range(3):
        assert read("a" * 100) == 100
    assert len(asked) == 1
    for number in range(20):
        read(f"{number:0100}")
    assert len(asked) == 21
    read(f"{19:0100}")
    assert len(asked) == 21
    read("a" * 100)
    assert len(asked) == 22


def test_none_and_false_are_kept_like_any_value() -> None:
    asked: list[str] = []

    @remembered(1_000)
    def nothing(text: str) -> None:
        asked.append(text)

    nothing("a")
    nothing("a")
    assert asked == ["a"]


def test_a_text_longer_than_half_of_a_cache_is_not_kept() -> None:
    @remembered(1_000)
    def read(text: str) -> object:
        return object()

    assert read("a" * 500) is not read("a" * 500)
    assert read("a" * 250) is read("a" * 250)


def test_a_cache_can_be_emptied() -> None:
    @remembered(1_000)
    def read(text: str) -> object:
        return object()

    first = read("a")
    read.cache_clear()  # type: ignore[attr-defined]
    assert read("a") is not first


def test_long_texts_are_given_back() -> None:
    """By count alone, 4,096 texts of 200,000 characters would be 3.5 GB."""
    first = "x" * 200_000
    unknown = sys.getrefcount(first)
    canonical(first)
    assert sys.getrefcount(first) > unknown
    for number in range(30):
        canonical(f"{number % 10}{number // 10}" * 100_000)
    assert sys.getrefcount(first) == unknown
