"""Stems of words."""

from __future__ import annotations

from functools import lru_cache

from wellkept.core.lexicon import Language, lexicon

_LONGEST_KEPT = 64


def stem(word: str, language: Language) -> str:
    """A crude stem for aligning: light endings of the language are cut."""
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
        if (suffix == "s" and base.endswith("s")) or (suffix == "y" and base[-1] in "aeiou"):
            continue
        if suffix in language.doubling_suffixes and len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
            base = base[:-1]
        return base
    return word
