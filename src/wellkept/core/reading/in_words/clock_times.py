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


def spoken_clock(first: str, words: Sequence[str], before: str, language: Language) -> tuple[Value, int] | None:
    """The clock time in "half past nine" and "quarter to ten"; after a preposition also in the British "half nine".

    Args:
        first: The first word.
        words: The words after it, in lower case.
        before: The word before it, in lower case.
        language: The language of the text.

    Returns:
        The time, before or after noon left open, and the number of words it takes of `words`; None for other words.
    """
    spoken = language.spoken_clock
    if not spoken or first not in (spoken["half"], spoken["quarter"]):
        return None
    is_half = first == spoken["half"]
    link = words[0] if words and words[0] in (spoken["past"], spoken["to"]) else ""
    place = 1 if link else 0
    if len(words) <= place or (not link and (not is_half or before not in language.clock_prepositions)):
        return None
    word = words[place]
    hour = language.numerals.get(word, 0) or (int(word) if word.isdecimal() and len(word) <= 2 else 0)
    ahead = link == spoken["to"]
    if not 1 <= hour <= 12 or (is_half and ahead):
        return None
    minutes = (30 if is_half else 15) * (-1 if ahead else 1)
    return spoken_time(hour * 60 + minutes), place + 1
