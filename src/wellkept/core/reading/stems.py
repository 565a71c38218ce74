"""Stems of words, and which words are forms of one word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from wellkept.core.lexicon import Language, in_all_languages, lexicon

_LONGEST_KEPT = 64
"""Letters of the longest word whose stem is cached."""
PREFIX = 4
"""Letters that the forms of one word have in common."""


def stem(word: str, language: Language) -> str:
    """The word without the light endings of its language: a crude stem, by which forms of one word are aligned."""
    return _stem(word, language.code) if len(word) <= _LONGEST_KEPT else _stem.__wrapped__(word, language.code)


@lru_cache(maxsize=16384)
def _stem(word: str, code: str) -> str:
    language = lexicon().languages[code]
    for letter, other in language.spelled.items():
        word = word.replace(letter, other)
    word = language.irregular.get(word, word)
    for _ in range(language.grammar.stem_rounds):
        shorter = _without_suffix(word, language)
        if shorter == word:
            break
        word = shorter
    return word


def _without_suffix(word: str, language: Language) -> str:
    least = language.grammar.shortest_stem
    for suffix in language.suffixes:
        base = word[: -len(suffix)]
        if len(base) < least or not word.endswith(suffix):
            continue
        if base[-1] in language.kept_suffixes.get(suffix, ""):
            continue
        doubled = len(base) > 3 and base[-1] == base[-2] and base[-1] not in language.kept_doubles
        return base[:-1] if doubled and suffix in language.doubling_suffixes else base
    return word


def stems(words: Iterable[str], language: Language) -> list[str]:
    """The stem of each word."""
    return [stem(word, language) for word in words]


def stem_as_written(text: str, lower: str, language: Language) -> str:
    """The stem of a word as written and in lower case; of an acronym in the plural ("PRs") that of its singular."""
    found = _acronym_in_plural().fullmatch(text)
    return stem(found.group(1).lower() if found else lower, language)


@lru_cache(maxsize=1)
def _acronym_in_plural() -> re.Pattern[str]:
    return re.compile(f"([A-Z]{{2,5}})(?:{'|'.join(sorted(in_all_languages('acronym_endings')))})")


def shared_words(a: frozenset[str], b: frozenset[str]) -> int:
    """The number of words in both sets; words that differ only after their first letters are forms of one word."""
    return len(a & b) + len(_prefixes(a - b) & _prefixes(b - a))


def share_a_verb(verbs: frozenset[str], words: frozenset[str]) -> bool:
    """Whether one of the verbs, in any form, is among the words."""
    return bool(_prefixes(verbs) & _prefixes(words) or verbs & words)


def _prefixes(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word[:PREFIX] for word in words if len(word) >= PREFIX)
