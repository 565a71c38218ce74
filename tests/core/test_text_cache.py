"""Caches of functions of texts are bounded by the memory they take, whatever their results are."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, is_dataclass

import pytest

from wellkept.core.lexicon.language import Language
from wellkept.core.reading import features
from wellkept.core.text.text_cache import bytes_of, remembered


@dataclass(frozen=True, slots=True)
class Pair:
    left: str
    right: tuple[str, ...]


def really(value: object, seen: set[int]) -> int:
    """Bytes of a value and of all that it holds, each counted once."""
    if id(value) in seen or isinstance(value, Language):
        return 0
    seen.add(id(value))
    inside: list[object] = []
    if isinstance(value, tuple | list | frozenset | set):
        inside = [*value]
    elif isinstance(value, dict):
        inside = [*value, *value.values()]
    elif is_dataclass(value):
        inside = [getattr(value, item.name) for item in fields(value)]
    return sys.getsizeof(value) + sum(really(item, seen) for item in inside)


@pytest.mark.parametrize(
    "value",
    [
        "tea" * 100, "茶" * 100, tuple(f"word {number}" for number in range(500)),
        frozenset(f"word {number}" for number in range(500)), Pair("a" * 50, ("b" * 50, "c" * 60)),
        {f"key {number}": ["value"] for number in range(100)},
    ],
    ids=["text", "wide text", "tuple", "set", "record", "mapping"],
)  # fmt: skip
def test_the_estimate_is_near_what_a_value_takes(value: object) -> None:
    assert 0.5 < bytes_of(value) / really(value, set()) < 2


@pytest.mark.parametrize(
    "text",
    [
        "The server listens on port 8080 and never on 9090, since the last release in March 2024.",
        "v1.2.3 costs 5 EUR at 10:30 on 2024-05-03, 12 kg, 3 MB", "天气很好今天我们去公园吃饭。",
        "Мы не едем завтра в Москву, потому что поезд отменён.", " ".join(f"word{number}" for number in range(500)),
    ],
)  # fmt: skip
def test_the_estimate_of_features_is_near_what_they_take(text: str) -> None:
    made = features.features.__wrapped__(text)
    assert 0.5 < features._size(made) / really(made, set()) < 2


@pytest.mark.parametrize("length", [1, 1_000, 40_000])
def test_what_is_kept_is_bounded_by_the_size_of_results_too(length: int) -> None:
    made: list[str] = []

    @remembered(100_000)
    def long(text: str) -> str:
        made.append(text)
        return text[:1] * length

    asked = [f"{number} is asked" for number in range(2_000)]
    for text in asked:
        long(text)
    long(asked[-1])
    assert len(made) == len(asked)  # the last one is kept
    made.clear()
    for text in reversed(asked):
        long(text)
    assert 0 < (len(asked) - len(made)) * length <= 100_000


def test_a_result_above_half_of_the_bound_is_never_kept() -> None:
    made: list[str] = []

    @remembered(10_000)
    def large(text: str) -> str:
        made.append(text)
        return text * 6_000

    assert large("a") == large("a")
    assert made == ["a", "a"]
