"""BERT text normalisation: cleaning, splitting, lower-casing, removing accents.

A frozen character table (`data/characters.json.gz`, made by `training/characters.py`) defines the result, so that it
does not depend on the Unicode version of Python.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from wellkept.models.tokenizer.data_files import DATA, unpacked

TABLE_SHA256 = "be92d6282438b6c9f3aa63a04523091b9504fa51b233d3f302bd32b67f985deb"
Ranges: TypeAlias = list[list[int]]


class Folding:
    """The character table, ready to use.

    Args:
        table: From `training/characters.py`: ranges of code points by class, replacement forms, and canonical combining
            classes.
    """

    def __init__(self, table: dict[str, Any]) -> None:
        space, ideograph, punctuation = (_set(table[kind]) for kind in ("space", "ideograph", "punctuation"))
        # ASCII letters and digits come first: matching them is faster than the long set.
        other = f"[^{space}{ideograph}{punctuation}]"
        self._words = re.compile(f"[0-9A-Za-z]+{other}*|{other}+|[{ideograph}{punctuation}]")
        self._removed = frozenset(_characters(table["removed"]))
        marks = frozenset(_characters(table["mark"]))
        self._forms = _Forms({**table["forms"], **dict.fromkeys(self._removed | marks, "")})
        self._classes: dict[str, int] = table["classes"]
        self._sorted = self._classes.keys() - marks

    def words(self, text: str) -> Iterator[re.Match[str]]:
        """The words of a text; each punctuation character and ideograph is a separate word."""
        return self._words.finditer(text)

    def fold(self, word: str) -> tuple[str, Sequence[int]]:
        """The normalised word, and for each of its characters the position in the original word.

        Empty for a word of accents or control characters only.
        """
        if word.isascii() and word.isprintable():
            return word.lower(), range(len(word))
        parts = [self._forms[character] for character in word]
        folded = "".join(parts)
        if not self._sorted.isdisjoint(folded):
            return self._fold_sorted(word)
        if len(folded) == len(word) and "" not in parts:
            return folded, range(len(word))
        return folded, [position for position, part in enumerate(parts) for _ in part]

    def _fold_sorted(self, word: str) -> tuple[str, Sequence[int]]:
        """Like `fold`, where some combining marks are kept and canonical order may swap them.

        Marks after one letter are sorted by class. Positions are not: the second mark in canonical order has the
        position of the second mark in the word.
        """
        positions: list[int] = []
        parts: list[tuple[int, int, str, bool]] = []
        letters = 0
        for position, character in enumerate(word):
            form = self._forms[character]
            if not form and (character in self._removed or unicodedata.category(character) == "Co"):
                continue
            positions.append(position)
            for at, part in enumerate(form or character):
                rank = self._classes.get(part, 0)
                letters += not rank
                parts.append((letters, rank, part if form else "", at == 0))
        parts.sort(key=lambda part: part[:2])
        kept: list[int] = []
        at = -1
        for _, _, part, first in parts:
            at += first
            kept.extend(positions[at] for _ in part)
        return "".join(part for _, _, part, _ in parts), kept


class _Forms(dict[str, str]):
    """Replacement form of a character; Hangul and private use do not depend on the Unicode version."""

    def __missing__(self, character: str) -> str:
        form = character
        if "가" <= character <= "힣":
            form = unicodedata.normalize("NFD", character)
        elif unicodedata.category(character) == "Co":
            form = ""
        if character <= "\uffff":  # the basic plane covers most texts; caching all characters costs too much memory
            self[character] = form
        return form


@lru_cache(maxsize=1)
def folding() -> Folding:
    """The packaged table.

    Raises:
        ModelUnavailable: Its file is missing or damaged.
    """
    return Folding(json.loads(unpacked(DATA / "characters.json.gz", TABLE_SHA256)))


def _characters(ranges: Ranges) -> Iterator[str]:
    return (chr(point) for first, last in ranges for point in range(first, last + 1))


def _set(ranges: Ranges) -> str:
    """The inside of a regex character class."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
