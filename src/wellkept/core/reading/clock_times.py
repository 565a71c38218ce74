"""Clock times and durations as people write and say them: 5 p.m., 17 Uhr, half ten, 1h30."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from wellkept.core.lexicon import Language
from wellkept.core.reading.values import Value, number_value, spoken_time, time_value

_HALVES = frozenset(("half", "quarter"))


def clock(text: str) -> Value | None:
    """5pm, 17:00, 17 Uhr, 下午5点."""
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    low = text.lower()
    half = "p" if re.search(r"\dp|\sp", low.replace(".", "")) or low[:2] in ("下午", "午後", "晚上") else ""
    if not half and (re.search(r"\d\s?a", low) or low[:2] in ("上午", "午前", "凌晨", "早上")):
        half = "a"
    minute = 30 if low.endswith("半") else (numbers[1] if len(numbers) > 1 else 0)
    return time_value(numbers[0], minute, half)


def hours_and_minutes(text: str, before: str, language: Language) -> Value | None:
    """1h30 is a duration in English; behind a preposition ("at 14h30") it may as well be a point in time."""
    found = re.fullmatch(r"(\d{1,2})\s?h\s?(\d{2})", text)
    if found is None or int(found.group(2)) > 59:
        return None
    lasted = number_value(Decimal(int(found.group(1)) * 60 + int(found.group(2))), "min")
    if before not in language.clock_prepositions:
        return lasted
    point = time_value(int(found.group(1)), int(found.group(2)))
    return point and replace(point, amount=lasted.amount, dimension=lasted.dimension)


def spoken_clock(first: str, words: Sequence[str], before: str, language: Language) -> tuple[Value, int] | None:
    """Half past nine, quarter to ten; behind a preposition also the British "half nine".

    Args:
        first: The word read.
        words: What follows it, in lower case.
        before: The word before it, in lower case.
        language: Of the text; only English is read.

    Returns:
        The time, open as to before or after noon, and how many of the words it takes; None when it is none.
    """
    if language.code != "en" or first not in _HALVES:
        return None
    link = words[0] if words and words[0] in ("past", "to") else ""
    place = 1 if link else 0
    if len(words) <= place or (not link and (first != "half" or before not in language.clock_prepositions)):
        return None
    word = words[place]
    hour = language.numerals.get(word, 0) or (int(word) if word.isdecimal() and len(word) <= 2 else 0)
    if not 1 <= hour <= 12 or (first == "half" and link == "to"):
        return None
    minutes = (30 if first == "half" else 15) * (-1 if link == "to" else 1)
    return spoken_time(hour * 60 + minutes), place + 1
