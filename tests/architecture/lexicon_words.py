"""The words in the files of the languages, and the names by which the code asks for lists, kinds and meanings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from typing import Any, get_args

from wellkept.core.differences.statement_parts import Link
from wellkept.core.lexicon import Antonymy, EventWords, Grammar, Language, Lexicon, Script, lexicon
from wellkept.core.lexicon.language_files import language_codes
from wellkept.core.lexicon.tables import raw_table
from wellkept.core.reading.lexer import token_pattern
from wellkept.core.reading.values import ValueKind
from wellkept.types import DifferenceKind

_WORD = re.compile(r"[^\W\d_]{2,}")
_SYNTAX = re.compile(r"\(\?P<\w+>|\\[A-Za-z]|\[[^\]]*\]|\(\?[a-z]+:?")
"""What is no word in a regular expression: names of groups, escapes, classes, flags."""
_NAMED = ("conditions", "antonyms", "events", "particles", "groups", "spoken_clock")
"""Tables whose keys are names that the code asks for; the keys of the others are words."""
_PATTERNS = ("grammar", "rewritten", "inflections", "secret_names", "describing_endings", "shapes")
"""Keys that hold patterns or flags instead of words."""


@lru_cache(maxsize=1)
def codes() -> frozenset[str]:
    """The codes of the languages."""
    return frozenset(language_codes())


@lru_cache(maxsize=1)
def listed() -> frozenset[str]:
    """Every word of two or more letters in the files of the languages."""
    return frozenset(word for code in codes() for text in _texts(raw_table(code)) for word in of_text(text))


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    """Names of word lists, kinds, tokens, units, groups and meanings."""
    records = (Language, EventWords, Grammar, Lexicon)
    closed = (Antonymy, DifferenceKind, Link, Script, ValueKind)
    tables = [table for code in codes() for name in _NAMED for table in [raw_table(code).get(name, {})]]
    return frozenset(
        {field.name for record in records for field in fields(record)}
        | {name for kind in closed for name in get_args(kind)}
        | {name for table in tables for name in _keys(table)}
        | set(token_pattern().groupindex)
        | set(lexicon().units)
    )


def of_text(text: str) -> list[str]:
    """The words of two or more letters in a text or a pattern, in lower case."""
    return _WORD.findall(_SYNTAX.sub(" ", text).lower())


def _texts(table: Any) -> Iterator[str]:
    match table:
        case str():
            yield table
        case list():
            for entry in table:
                yield from _texts(entry)
        case dict():
            for name, entry in table.items():
                if name not in _PATTERNS:
                    yield from _texts(entry)
                    yield from () if name in _NAMED or not isinstance(entry, dict) else map(str, entry)


def _keys(table: Any) -> Iterator[str]:
    if isinstance(table, dict):
        for name, entry in table.items():
            yield name
            yield from _keys(entry) if name != "was" else ()  # its keys are words
