"""Words and texts of the page: stored texts made harmless to read, times, probabilities, differences."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from wellkept.core.text.word_diff import MOST_CHARS, Piece, shared, word_diff
from wellkept.frozen import frozen

SHOWN = 700
"""Characters of a text that a list shows; the memory's own page shows it whole, up to `WHOLE`."""
WHOLE = 100_000
_ALIKE = 0.3
"""Least share of common words at which differences are marked; below it nearly every word would be."""
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_CHANCES = ((0.97, "almost certainly"), (0.85, "very probably"), (0.65, "probably"), (0.45, "perhaps"))
_SORTS = {
    "contradiction": "These two contradict each other",
    "duplicate": "These two may say the same",
    "outdated": "The newer probably replaces the older",
}
_DECIDED = {
    "keep_new": "the newer replaces the older",
    "keep_old": "the older holds, the newer is hidden",
    "keep_both": "both are kept",
    "merge": "merged into the older",
    "dismissed": "no conflict",
}
OUTCOMES = {
    "created": "stored", "duplicate": "known already", "restated": "another wording", "evolved": "added to",
    "superseded": "replaced an older one", "reused": "still going on", "rejected": "not stored", "undone": "taken back",
    "archived": "forgotten", "restored": "brought back", "erased": "erased", "linked": "linked", "unlinked": "unlinked",
    "revised": "edited", "split": "a memory of its own", **_DECIDED,
}  # fmt: skip


@frozen
class Sides:
    """Two texts with the runs of words that only one of them has.

    Attributes:
        old / new: Runs of words, and whether the other text lacks them.
    """

    old: tuple[tuple[str, bool], ...]
    new: tuple[tuple[str, bool], ...]


def harmless(text: str) -> str:
    """The text with control characters, direction overrides and invisible characters named instead of obeyed.

    HTML is not escaped here; the templates escape everything.

    Example:
        >>> harmless("left\\u202eright"), harmless("two\\nlines")
        ('left⟨U+202E⟩right', 'two\\nlines')
    """
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def clipped(text: str, limit: int = SHOWN) -> str:
    """The beginning of a text, harmless.

    Example:
        >>> clipped("one two three", 8)
        'one two …'
    """
    return harmless(text) if len(text) <= limit else f"{harmless(text[:limit]).rstrip()} …"


def sides(old: str, new: str, limit: int = SHOWN) -> Sides:
    """Two texts side by side, with their differing words marked where they share enough of them.

    Example:
        >>> sides("The port is 5432.", "The port is 5433.").new
        (('The port is ', False), ('5433.', True))
    """
    pieces = word_diff(old, new) if "\n" not in old.strip() + new.strip() else _by_words(old, new)
    if max(len(old), len(new)) > min(limit, MOST_CHARS) or shared(pieces) < _ALIKE or old == new:
        return Sides(((clipped(old, limit), False),), ((clipped(new, limit), False),))
    return Sides(_side(pieces, "old"), _side(pieces, "new"))


def _by_words(old: str, new: str) -> tuple[Piece, ...]:
    return word_diff(" ".join(old.split()), " ".join(new.split()))


def _side(pieces: tuple[Piece, ...], name: str) -> tuple[tuple[str, bool], ...]:
    return tuple((harmless(text), side != "both") for side, text in pieces if side in ("both", name))


def likely(probability: float | None) -> str:
    """A probability in words.

    Example:
        >>> likely(0.99), likely(0.7), likely(0.1), likely(None)
        ('almost certainly', 'probably', 'hardly', '')
    """
    if probability is None:
        return ""
    return next((words for least, words in _CHANCES if probability >= least), "hardly")


def day(moment: str | None) -> str:
    """The day of a time; empty for none.

    Example:
        >>> day("2026-03-01T10:20:30Z")
        '1 Mar 2026'
    """
    if not moment or not re.match(r"\d{4}-\d\d-\d\d", moment):
        return ""
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    return f"{int(moment[8:10])} {months[int(moment[5:7]) - 1]} {moment[:4]}"


def minute(moment: str | None) -> str:
    """The day and minute of a time, in UTC."""
    return f"{day(moment)}, {moment[11:16]}" if moment else ""


def percent(share: float | None) -> str:
    """A share as a percentage.

    Example:
        >>> percent(0.935), percent(None)
        ('94 %', '')
    """
    return "" if share is None else f"{round(100 * share)} %"


def headline(conflict: Any) -> str:
    """What a conflict asks, in words."""
    if conflict.kind == "contradiction" and conflict.reason == "model":
        return "These two may contradict each other"
    if conflict.kind == "outdated" and conflict.probability is not None:
        return f"The newer {likely(conflict.probability)} replaces the older"
    return _SORTS.get(conflict.kind, str(conflict.kind))


def outcome_words(outcome: str) -> str:
    """An outcome in words."""
    return OUTCOMES.get(outcome, outcome.replace("_", " "))


def path_of(text: str) -> str:
    """A text as one segment of a path."""
    return quote(text, safe="")
