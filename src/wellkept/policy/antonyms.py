"""Antonyms of a policy: pairs of opposite words of your own field, normalised."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

from wellkept.errors import InvalidPolicy

MOST_ANTONYMS = 200
LONGEST_WORD = 64

Opposites: TypeAlias = frozenset[frozenset[str]]
"""Antonym pairs, each unordered. Hashable, because caches of text comparisons depend on them."""
NO_OPPOSITES: Opposites = frozenset()


def antonyms_of(given: object) -> tuple[tuple[str, str], ...]:
    """The pairs in lower case and sorted, so that equal pairs give an equal policy.

    Raises:
        InvalidPolicy: Not a list of pairs of two different words, a duplicate pair, or too many pairs.

    Example:
        >>> antonyms_of([["Overweight", "underweight"], ["dovish", "hawkish"]])
        (('dovish', 'hawkish'), ('overweight', 'underweight'))
    """
    try:
        return _normalised(given)
    except TypeError:  # lists cannot be the key of a cache
        return _normalised.__wrapped__(given)


@lru_cache(maxsize=16)
def _normalised(given: object) -> tuple[tuple[str, str], ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _wrong("must be a list of pairs", 'Write antonyms = [["hawkish", "dovish"]]')
    pairs: set[tuple[str, str]] = set()
    for number, pair in enumerate(given, start=1):
        if number > MOST_ANTONYMS:
            raise _wrong(f"more than {MOST_ANTONYMS} pairs", "Name fewer")
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise _wrong(f"pair {number} is not a list of two words", 'Write ["hawkish", "dovish"]')
        first, second = sorted(_word(word, number) for word in pair)
        if first == second:
            raise _wrong(f"pair {number} opposes {first!r} to itself", "Name two different words")
        if (first, second) in pairs:
            raise _wrong(f"pair {number} names {first!r} and {second!r} again", "Name each pair once")
        pairs.add((first, second))
    return tuple(sorted(pairs))


@lru_cache(maxsize=16)
def opposites_of(antonyms: tuple[tuple[str, str], ...]) -> Opposites:
    """The pairs as comparisons take them; one value for equal pairs, since it is part of the keys of caches."""
    return frozenset(map(frozenset, antonyms))


def _word(given: object, number: int) -> str:
    if not isinstance(given, str):
        raise _wrong(f"pair {number} holds {given!r}, which is not text", 'Write ["hawkish", "dovish"]')
    word = unicodedata.normalize("NFKC", given).lower()
    if not word or len(word) > LONGEST_WORD or any(unicodedata.category(char)[0] not in "LM" for char in word):
        what = f"pair {number} holds {given[: LONGEST_WORD + 1]!r}, which is not one word of letters"
        raise _wrong(what, f"Use single words of 1 to {LONGEST_WORD} letters, without blanks, digits or signs")
    return word


def _wrong(what: str, todo: str) -> InvalidPolicy:
    return InvalidPolicy(f"antonyms: {what}", where="Policy", todo=todo)
