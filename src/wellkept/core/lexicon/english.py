"""Relations of English words: antonyms, exclusive classes, hypernyms, wholes, and synonyms.

Derived from WordNet 3.0 by `training/lexicon.py` (licence notice in WORDNET.md in this folder). Read on first use,
which is only for near-identical texts with one word replaced. An ambiguous word is taken in all senses where that
prevents a decision, and only in its main sense where it supports one.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

from wellkept.core.lexicon import lexicon
from wellkept.core.lexicon.language import Antonymy, Inflections
from wellkept.frozen import frozen

_MAIN = 0.8
"""Minimum share of the main sense among a word's tagged uses before it counts as a synonym."""
_LONGEST = 80
"""Maximum length of an entry in the tables; longer words are not looked up, because results are cached."""


@frozen
class English:
    """The tables. Most words are never looked up, so that a line is split when it is.

    Attributes:
        above: Of each sense its hypernyms and the places that contain it, as numbers.
        words: Word -> its senses with their frequency, as text.
        opposites: Pair of words in alphabetical order -> grade.
        classes: Root sense -> name of its exclusive class.
    """

    above: list[str]
    words: dict[str, str]
    opposites: dict[tuple[str, str], Antonymy]
    classes: dict[int, str]

    def senses(self, word: str) -> list[tuple[str, int, int]]:
        """Part of speech, number and frequency of each sense of a word."""
        return [_sense(text) for text in self.words.get(word, "").split()]


@lru_cache(maxsize=1)
def english() -> English:
    """The tables, read on the first call."""
    packed = files(__package__).joinpath("wordnet.txt.gz").read_bytes()
    blocks = gzip.decompress(packed).decode("utf-8").split("\n-\n")
    opposites: dict[tuple[str, str], Antonymy] = {}
    for line in blocks[2].split("\n"):
        grade, first, second = line.split(" ")
        opposites[first, second] = "state" if grade == "state" else "weak"
    roots = (line.split() for line in blocks[3].splitlines())
    return English(
        above=blocks[0].replace("#", " ").split("\n"),
        words=dict(line.split("\t") for line in blocks[1].split("\n")),
        opposites=opposites,
        classes={int(root): name for name, *listed in roots for root in listed},
    )


def _sense(text: str) -> tuple[str, int, int]:
    number, _, count = text.partition(":")
    return number[0], int(number[1:]), int(count)


def forms(word: str) -> Iterator[tuple[str, str]]:
    """The possible dictionary forms of a word, each with the ending that was removed.

    Example:
        >>> ("carry", "s") in forms("carries"), ("stop", "ed") in forms("stopped"), ("car", "s") in forms("cars")
        (True, True, True)
    """
    yield word, ""
    for pattern, form, ending in _inflections():
        if found := pattern.fullmatch(word):
            yield found.expand(form), ending


@lru_cache(maxsize=1)
def _inflections() -> Inflections:
    return next(language.inflections for language in lexicon().languages.values() if language.grammar.wordnet)


def opposites(first: str, second: str) -> Antonymy | None:
    """Grade of opposition of two lower-case words in the same inflected form; None if they are no antonyms."""
    table = english().opposites
    bases = {base: ending for base, ending in forms(first)}
    for base, ending in forms(second):
        for other, other_ending in bases.items():
            if ending == other_ending and (grade := table.get((min(base, other), max(base, other)))):
                return grade if not ending else "weak"
    return None


def same_by_another_name(first: str, second: str) -> bool:
    """Whether two words in the same inflected form share their main sense, such as "buy" and "purchase"."""
    left = {(ending, sense) for base, ending in forms(first) if (sense := _main(base)) is not None}
    return any((ending, _main(base)) in left for base, ending in forms(second))


def _main(word: str) -> tuple[str, int] | None:
    senses = english().senses(word)
    total = sum(count for *_, count in senses)
    if total < 2:
        return None
    part, number, count = max(senses, key=lambda sense: sense[2])
    return (part, number) if count >= _MAIN * total else None


def related(first: str, second: str) -> bool:
    """Whether two words may be synonyms, hypernym and hyponym, or a place and a part of it."""
    return max(len(first), len(second)) <= _LONGEST and any(
        _near(x, y) for x, _ in forms(first) for y, _ in forms(second)
    )


@lru_cache(maxsize=2048)
def _near(first: str, second: str) -> bool:
    left, right = _numbers(first), _numbers(second)
    return bool(left & right or left & _above(right) or right & _above(left))


def _numbers(word: str) -> frozenset[int]:
    return frozenset(number for _, number, _ in english().senses(word))


def _above(numbers: frozenset[int]) -> frozenset[int]:
    """All hypernyms and wholes of senses, transitively."""
    table = english()
    found: set[int] = set()
    fresh = set(numbers)
    while fresh:
        above = {int(number) for one in fresh for number in table.above[one].split()}
        fresh = above - found
        found |= fresh
    return frozenset(found)


def classes(word: str) -> frozenset[str]:
    """The exclusive classes of a noun in its first sense, such as colour, metal or sport."""
    return _classes(word) if len(word) <= _LONGEST else frozenset()


@lru_cache(maxsize=2048)
def _classes(word: str) -> frozenset[str]:
    table = english()
    found: set[str] = set()
    for base, ending in forms(word):
        nouns = [number for part, number, _ in table.senses(base) if part == "n"]
        if nouns and ending in ("", "s"):
            found.update(table.classes[n] for n in _above(frozenset(nouns[:1])) if n in table.classes)
            break
    return frozenset(found)
