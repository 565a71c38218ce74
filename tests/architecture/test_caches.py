"""Every cache of the library is bounded by the memory of its texts, or by a count of short keys (D1)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import wellkept

BOUNDED: dict[str, str] = {
    "core/lexicon/__init__.py::in_all_languages": "the name of a word list",
    "core/recall/bm25.py::term_stem": "a term has at most 64 characters",
    "core/reading/in_words/numbers.py::_compound_number": "longer words are not kept",
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
