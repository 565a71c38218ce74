"""A language with the antonyms of a policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from wellkept.core.lexicon import Antonymy, Language, lexicon
from wellkept.core.reading.stems import stem
from wellkept.core.text.forms import UNSPACED, fold
from wellkept.policy.antonyms import Opposites

_UNSPACED_WORD = re.compile(f"[{UNSPACED}]{{2,}}")


def with_opposites(language: Language, opposites: Opposites) -> Language:
    """The language with more antonyms, as written and as stems.

    Args:
        language: A language of the lexicon.
        opposites: Pairs of words; they outweigh the antonyms of the language.
    """
    return _with_opposites(language.code, opposites) if opposites else language


@lru_cache(maxsize=16)
def _with_opposites(code: str, opposites: Opposites) -> Language:
    language = lexicon().languages[code]
    table: dict[str, dict[str, Antonymy]] = {}
    for first, second in _forms(language, opposites):
        table.setdefault(first, {})[second] = "own"
        table.setdefault(second, {})[first] = "own"
    antonyms = dict(language.antonyms)
    for word, others in table.items():
        kept = tuple(item for item in language.antonyms.get(word, ()) if item[0] not in others)
        antonyms[word] = (*others.items(), *kept)
    return replace(language, antonyms=antonyms, runs=_runs(language, table))


def _forms(language: Language, opposites: Opposites) -> Iterator[tuple[str, str]]:
    for pair in sorted(map(sorted, opposites)):
        first, second = (fold(word).lower() for word in pair)
        yield first, second
        yield stem(first, language), stem(second, language)


def _runs(language: Language, words: dict[str, dict[str, Antonymy]]) -> re.Pattern[str] | None:
    """The pattern of the words that are read as one token in a language without spaces, with these words."""
    own = sorted(filter(_UNSPACED_WORD.fullmatch, words), key=lambda word: (-len(word), word))
    if language.runs is None or not own:
        return language.runs
    return re.compile("|".join((*map(re.escape, own), language.runs.pattern)), re.DOTALL)
