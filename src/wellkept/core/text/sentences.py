"""Divides a text of any script into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from wellkept.core.lexicon import in_all_languages
from wellkept.patterns import pattern

# A full stop ends a sentence only before white space; end marks of other scripts need none.
_ENDS = pattern(
    "(?:(?<![.!?\u2026])[.!?\u2026]++[\"'\u00bb\u201d\u2019)\\]]*+(?=\\s))"
    "|(?:[\u3002\uff01\uff1f\uff61\u061f\u06d4\u0964\u0965\u1362\u1367\u104b\u17d4\u0f0d\u0589]+"
    "[\u300d\u300f\u201d\u2019)\uff09]*)"
    "|(?:\\n+)"
)
_NUMBERED = pattern(r"\W*\d{1,3}\.")
_MOST_BEFORE_NUMBER = 80
_FOLLOWING = pattern(r"[ \t]*(.?)", re.DOTALL)


def sentences(text: str) -> list[str]:
    """The sentences of a text, unchanged.

    An uncertain sentence end (an abbreviation, a lower-case letter after the stop) does not split. A sentence that is
    too long is skipped later, but half a sentence could change the meaning.

    Example:
        >>> sentences("Use v1.5, e.g. for Dr. Wu. It is ready!")
        ['Use v1.5, e.g. for Dr. Wu.', 'It is ready!']
    """
    found, start = [], 0
    for end in _ENDS.finditer(text):
        if _goes_on(text, start, end):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return [one for one in found if any(char.isalnum() for char in one)]


@lru_cache(maxsize=1)
def _short_forms() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Ends of a text after which no sentence ends: abbreviations, and abbreviations before a number."""

    def ending(words: Iterable[str]) -> re.Pattern[str]:
        listed = "|".join(re.escape(word).replace(r"\ ", r"\s?") for word in sorted(words))
        return re.compile(rf"(?:^|[\s(\"'])(?:[^\W\d_]|{listed})\.$", re.IGNORECASE)

    return (
        ending(in_all_languages("abbreviations") | in_all_languages("short_forms")),
        ending(in_all_languages("numbered_forms")),
    )


def _goes_on(text: str, start: int, end: re.Match[str]) -> bool:
    if not end.group().startswith((".", "\u2026")):
        return False
    if end.group()[-1] not in ".!?\u2026":
        return False  # a closing quote or bracket after the stop ends the sentence
    found = _FOLLOWING.match(text, end.end())
    following = found.group(1) if found else ""
    if following.islower():
        return True
    before = text[max(start, end.start() - 24) : end.start() + 1]
    short_form, before_number = _short_forms()
    if following.isdigit() and before_number.search(before):
        return True
    stop = end.start() + 1
    numbered = stop - start <= _MOST_BEFORE_NUMBER and _NUMBERED.fullmatch(text, start, stop)
    return bool(short_form.search(before)) or bool(numbered)
