"""Numbers in words: "two thousand five hundred", treinta y ocho, quatre-vingt-dix, achtundvierzig."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from wellkept.core.lexicon import Language, lexicon

LONGEST = 12
"""Most words of a number."""
_LONGEST_WORD = 40
_THOUSAND = 1000


class Spoken(NamedTuple):
    """A number that words say.

    Attributes:
        amount: The number.
        words: How many words say it.
        is_rank: Whether the last of them is an ordinal ("twenty-first").
    """

    amount: int
    words: int
    is_rank: bool = False


class _Sum(NamedTuple):
    """The number so far: `total` of complete thousands, and the `group` below them that a scale still multiplies."""

    total: int = 0
    group: int = 0

    @property
    def amount(self) -> int:
        return self.total + self.group

    def plus(self, number: int, *, twenties: bool) -> _Sum | None:
        """With a number after it, if it belongs to it: 5 after 20, 40 after 300, not 20 after 5."""
        tens = self.group % 100
        if not tens or number >= 100:
            fits = self.amount % 10 ** len(str(number)) == 0
        elif twenties and (tens == 10 or tens in (60, 80) and number >= 10):
            fits = 7 <= number < (10 if tens == 10 else 20)
        else:
            fits = number < 10 and tens >= 20 and tens % 10 == 0
        return _Sum(self.total, self.group + number) if fits else None

    def times(self, scale: Decimal) -> _Sum | None:
        """Multiplied by a scale after it ("two hundred"), which is a number by itself too ("hundred")."""
        factor = int(scale)
        if factor < _THOUSAND:
            rest = self.group - self.group % 100 if factor < 100 else 0
            count = self.group - rest or 1
            return _Sum(self.total, rest + count * factor) if count < 100 else None
        count = self.group or (0 if self.total else 1)
        fits = count and self.total % (factor * _THOUSAND) == 0
        return _Sum(self.total + count * factor) if fits else None


def number_in_words(words: Sequence[str], language: Language) -> Spoken | None:
    """The number that a text begins with; None if its first word is none.

    Args:
        words: The words of the text, in lower case, as far as only spaces and hyphens divide them.
        language: The language of the text.

    Example:
        >>> english, german = lexicon().languages["en"], lexicon().languages["de"]
        >>> number_in_words("two thousand five hundred euros".split(), english)
        Spoken(amount=2500, words=4, is_rank=False)
        >>> number_in_words(["twenty", "first", "of", "may"], english)
        Spoken(amount=21, words=2, is_rank=True)
        >>> number_in_words(["achtundvierzig"], german), number_in_words(["achtung"], german)
        (Spoken(amount=48, words=1, is_rank=False), None)
    """
    found: list[Spoken] = []
    told, joined = _Sum(), False
    for at, word in enumerate(words[:LONGEST]):
        if found and not joined and word in _joins(told.amount, language):
            joined = True
            continue
        if found and _takes_rank(told.amount, language.ordinals.get(word, 0)):
            return Spoken(told.amount + language.ordinals[word], at + 1, is_rank=True)
        longer = _with_word(told, word, language, joined=joined)
        if longer is None:
            # "one hundred and two hundred" are two numbers, and no 102.
            split = not joined and len(found) > 1 and word in language.scale and words[at - 1] not in language.scale
            return found[-2] if split else found[-1] if found else None
        told, joined = longer, False
        found.append(Spoken(told.amount, at + 1))
    return found[-1] if found else None


def _joins(amount: int, language: Language) -> frozenset[str]:
    """The words that may join this number with the next one: "and" after hundreds, "y" and "et" after tens."""
    return language.joins_tens if amount % 100 else language.joins_hundreds


def _takes_rank(amount: int, rank: int) -> bool:
    return 0 < rank < 10 and amount % 100 >= 20 and amount % 10 == 0


def _with_word(told: _Sum, word: str, language: Language, *, joined: bool) -> _Sum | None:
    number = language.numerals.get(word) or compound_number(word, language)
    # "Ten and a hundred" are two numbers: what is joined is added, and multiplies nothing.
    return _with_number(told, number, None if joined else language.scale.get(word), language)


def _with_number(told: _Sum, number: int, scale: Decimal | None, language: Language) -> _Sum | None:
    longer = told.plus(number, twenties=language.grammar.counts_in_twenties) if number else None
    return told.times(scale) if longer is None and scale is not None else longer


def compound_number(word: str, language: Language) -> int:
    """The number that one word composes of several (zweihundertfünfzig, quarantotto); 0 for other words."""
    known = language.grammar.numbers_compound and len(word) <= _LONGEST_WORD
    return _compound_number(word, language.code) if known else 0


@lru_cache(maxsize=4096)
def _compound_number(word: str, code: str) -> int:
    language = lexicon().languages[code]
    parts = _parts(word, language)
    told: _Sum | None = _Sum()
    for part in parts:
        number = language.numerals.get(part) or language.numeral_stems.get(part, 0)
        told = told and _with_number(told, number, language.scale.get(part), language)
    return int(told.amount) if told else 0


def _parts(word: str, language: Language) -> list[str]:
    """The number words that a word consists of, tens before ones; none if it consists of other words too."""
    known = language.numerals.keys() | language.numeral_stems.keys() | language.scale.keys()
    glue = language.joins_parts
    longest = max(map(len, known))
    ways: list[list[str] | None] = [[], *[None] * len(word)]
    for end in range(2, len(word) + 1):
        for start in range(max(0, end - longest), end):
            before, part = ways[start], word[start:end]
            if before is None or not (part in known or (before and part in glue)):
                continue
            ways[end] = _appended(before, part, glue, language)
            break
    found = ways[-1] or []
    return [] if found and found[-1] in glue else found


def _appended(parts: list[str], part: str, glue: frozenset[str], language: Language) -> list[str]:
    if not parts or parts[-1] not in glue:
        return [*parts, part]
    *rest, ones, _ = parts
    return [*rest, part, ones] if language.numerals.get(ones, 10) < 10 else [*rest, ones, part]
