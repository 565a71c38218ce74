"""Removes the time stamp at the start of a line of a chat or log."""

from __future__ import annotations

import re
from functools import lru_cache

from wellkept.core.lexicon import in_all_languages

_LONGEST = 48
_BRACKETED = re.compile(
    r"\s*(?:\(([^()\n]{3,48})\)|\[([^\[\]\n]{3,48})\]|【([^】\n]{3,48})】|（([^（）\n]{3,48})）)\s*[:：—–-]?\s*"
)
_BARE = re.compile(
    r"\s*\d{4}[-/.]\d{1,2}[-/.]\d{1,2}"
    r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?(?:Z|[+-]\d{2}:?\d{2})?\s*[:：—–-]?\s+"
)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|2[0-2])\d{2}(?!\d)")


def half_day(point: str, end: str) -> str:
    """A pattern of the words for a half of the day (am, pm), in any case.

    Args:
        point: Pattern between their letters.
        end: Pattern after the last letter.
    """
    words = (point.join(map(re.escape, word)) for word in sorted(in_all_languages("halves_after")))
    return "|".join(f"(?i:{word}){end}" for word in words)


@lru_cache(maxsize=1)
def _clock() -> re.Pattern[str]:
    """A dot between numbers is a version or price unless a clock sign follows."""
    signs = "|".join(map(re.escape, sorted(in_all_languages("clock_signs"))))
    half = half_day(r"\.?", "")
    return re.compile(
        rf"(?<!\d)\d{{1,2}}(?::\d{{2}}(?!\d)|\.\d{{2}} ?(?:{signs}|h|{half})\b| ?(?:{half})\b)", re.IGNORECASE
    )


def without_stamp(text: str) -> str:
    """The text without a leading time in brackets or ISO date; unchanged if nothing else remains.

    Example:
        >>> without_stamp("(1:56 pm on 8 May, 2023) Ana: I moved to Oslo.")
        'Ana: I moved to Oslo.'
        >>> without_stamp("2024-05-08T10:00Z deploy failed"), without_stamp("(draft) Spring release on 12 May")
        ('deploy failed', '(draft) Spring release on 12 May')
    """
    head = text[: 2 * _LONGEST]
    found = _BRACKETED.match(head)
    if found is not None:
        inside = next(group for group in found.groups() if group is not None)
        if not (_YEAR.search(inside) or _clock().search(inside)):
            return text
    else:
        found = _BARE.match(head)
    if found is None:
        return text
    rest = text[found.end() :]
    return rest if rest.strip() else text
