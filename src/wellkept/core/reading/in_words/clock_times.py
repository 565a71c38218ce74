"""Clock times and durations as people write and say them: 5 p.m., 17 Uhr, half ten, 1h30."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

from wellkept.core.lexicon import Language, lexicon
from wellkept.core.reading.values import Value, number_value, spoken_time, time_value


def clock(text: str) -> Value | None:
    """The clock time of one token: 5pm, 17:00, 17 Uhr, 下午5点."""
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    low = text.lower()
    before, after = _halves("halves"), _halves("halves_after")
    half = before.get(re.split(r"\d", low, maxsplit=1)[0], "")
    found = re.search(rf"\d\s?({'|'.join(after)})", low.replace(".", ""))
    if found:
        half = after[found.group(1)]
    minute = 30 if low[-1] in lexicon().han.half_hour else (numbers[1] if len(numbers) > 1 else 0)
    return time_value(numbers[0], minute, half)


@lru_cache(maxsize=2)
def _halves(name: str) -> dict[str, str]:
    return {word: half for language in lexicon().languages.values() for word, half in getattr(language, name).items()}


def hours_and_minutes(text: str, before: str, language: Language) -> Value | None:
    """1h30 as a duration, in languages that write it so; after a preposition ("at 14h30") possibly a clock time."""
    found = re.fullmatch(r"(\d{1,2})\s?h\s?(\d{2})", text)
    if not language.grammar.h_is_duration or found is None or int(found.group(2)) > 59:
        return None
    lasted = number_value(Decimal(int(found.group(1)) * 60 + int(found.group(2))), "min")
    if before not in language.clock_prepositions:
        return lasted
    point = time_value(int(found.group(1)), int(found.group(2)))
    return point and replace(point, amount=lasted.amount, dimension=lasted.dimension)


def spoken_clock(words: Sequence[str], before: str, language: Language) -> tuple[Value, int] | None:
    """The clock time in "half past nine", halb zehn and половина десятого; before or after noon is left open.

    Args:
        words: The words, in lower case, the first of them the first of the time.
        before: The word before them, in lower case; after a preposition "half nine" is a time too.
        language: The language of the text.

    Returns:
        The time and its number of words; None for other words.
    """
    heads = language.clock_heads
    if before in language.clock_prepositions:
        heads = {**heads, **language.clock_heads_at}
    for count in range(min(_HEAD, len(words) - 1), 0, -1):
        minutes = heads.get(" ".join(words[:count]))
        hour = _hour(words[count], language)
        if minutes is not None and 1 <= hour <= 12:
            return spoken_time(hour * 60 + minutes), count + 1
    return None


_HEAD = 4
"""Most words before or behind the hour."""


def _hour(word: str, language: Language) -> int:
    if word.isdecimal() and len(word) <= 2:
        return int(word)
    return language.numerals.get(word) or language.ordinals.get(word, 0)


def clock_with_tail(hour: int, words: Sequence[str], language: Language) -> tuple[Value, int] | None:
    """The clock time of an hour with the words behind it: nueve "y media", neuf "heures et quart".

    Returns:
        The time and the number of words behind the hour; None if these are other words.
    """
    for count in range(min(_HEAD, len(words)), 0, -1):
        minutes = language.clock_tails.get(" ".join(words[:count]))
        if minutes is not None and 1 <= hour <= 12:
            return spoken_time(hour * 60 + minutes), count
    return None
