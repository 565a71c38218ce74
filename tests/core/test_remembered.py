"""Caches of texts are bounded by their text, and every cache of the library has a bound (D1)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import wellkept
from wellkept.core.text.forms import canonical
from wellkept.core.text.text_cache import remembered

BOUNDED: dict[str, str] = {
    "core/lexicon/__init__.py::in_all_languages": "the name of a word list",
    "core/recall/scoring.py::term_stem": "a term has at most 64 characters",
    "core/reading/stems.py::_stem": "longer words are not kept",
    "core/reading/value_reader.py::_value_words": "the code of a language",
    "core/lexicon/english.py::_classes": "longer words are not kept",
    "core/lexicon/english.py::_near": "longer words are not kept",
    "core/text/forms.py::_is_punctuation": "one character",
    "core/text/forms.py::_known_terms": "longer words are not kept",
    "models/hashing.py::_cached": "longer words are not kept",
    "models/tokenizer/wordpiece.py::self._remembered": "longer words are not kept",
}
"""Caches by count whose keys are short texts, and why they are short."""


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


def test_every_cache_by_count_has_short_keys_or_few_entries() -> None:
    """A cache for texts of any length uses `remembered`, or is listed here with the reason why its keys are short."""
    root = Path(wellkept.__file__).parent
    found = {
        f"{path.relative_to(root).as_posix()}::{name}"
        for path in root.rglob("*.py")
        for name, size in _caches(ast.parse(path.read_text("utf-8")))
        if size > 16
    }
    assert found == set(BOUNDED)


def _caches(module: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            for one in node.decorator_list:
                if isinstance(one, ast.Call) and ast.unparse(one.func).endswith("lru_cache"):
                    yield node.name, _size(one)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = node.value.func
            if isinstance(made, ast.Call) and ast.unparse(made.func).endswith("lru_cache"):
                yield ast.unparse(node.targets[0]), _size(made)


def _size(call: ast.Call) -> int:
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "maxsize")]
    return int(given[0].value) if given and isinstance(given[0], ast.Constant) else 128
