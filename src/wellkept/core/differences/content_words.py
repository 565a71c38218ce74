"""The content words of a text alone: enough to rule out a decisive difference, at a fraction of its cost."""

from __future__ import annotations

from array import array
from zlib import crc32

from wellkept.core.differences.alignment import CLOSE, COVERED, MAX_SLOT
from wellkept.core.reading.features import features
from wellkept.core.reading.tokens import Clause
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.frozen import frozen
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites

_MOST_PAIRS = 64
"""Most pairs of clauses that are looked at; texts with more are compared in full."""
_CLAUSE = 160
"""Bytes of a clause without its words."""


@frozen
class ContentWords:
    """The content words of a clause.

    Attributes:
        keys: A hash of 32 bits for each key, in order. Equal hashes of different keys only rule out less.
        values: The number of them that are values, of which two may be equal with different keys.
        joined: Upper bound on how much shorter the clause is where a name or a value of several words counts as one.
        negations: The number of negations.
    """

    keys: bytes
    values: int
    joined: int
    negations: int


def _size(found: tuple[ContentWords, ...]) -> int:
    return sum(_CLAUSE + len(one.keys) for one in found)


@remembered(64 * MIB, _size)
def content_words(text: str, opposites: Opposites = NO_OPPOSITES) -> tuple[ContentWords, ...]:
    """The content words of each clause of a text; a cache holds ten times as many of them as of features.

    Args:
        text: Any text.
        opposites: Antonyms of the policy, in addition to those of the language.

    Example:
        >>> [(len(clause.keys) // 4, clause.negations) for clause in content_words("Tea is not stored in Graz.")]
        [(3, 1)]
    """
    return tuple(_words_of(clause) for clause in features(text, opposites).clauses if clause.keys)


def _words_of(clause: Clause) -> ContentWords:
    content = [clause.tokens[place] for place in clause.content]
    values = sum(1 for token in content if token.value)
    named = sum(1 for token in content if token.proper or token.value)
    hashes = array("I", (crc32(key.encode("utf-8", "surrogatepass")) for key in clause.keys))
    return ContentWords(hashes.tobytes(), values, max(0, named - 1), len(clause.negations))


def may_exclude(old: str, new: str, opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the content words of two texts allow that one excludes the other; False is certain.

    This follows from when a difference is decisive: whoever changes that (`find`, `replacements`, `negation`,
    `roles_and_order`) looks here too.

    Args:
        old: The older text.
        new: The newer text.
        opposites: Antonyms of the policy, in addition to those of the language.

    Example:
        >>> may_exclude("The office is in Graz.", "The office is in Linz.")
        True
        >>> may_exclude("The office is in Graz.", "In Graz, Ana likes green tea with honey.")
        False
    """
    ours, theirs = content_words(old, opposites), content_words(new, opposites)
    return len(ours) * len(theirs) > _MOST_PAIRS or any(_may_differ(a, b) for a in ours for b in theirs)


def _may_differ(a: ContentWords, b: ContentWords) -> bool:
    """Whether two clauses may make a decisive difference: one thing replaced, a denial, or exchanged words."""
    ours, theirs = (memoryview(one.keys).cast("I").tolist() for one in (a, b))
    once_a, once_b = set(ours), set(theirs)
    common = len(once_a & once_b)
    if not common:
        return False
    matched = common + min(len(ours) - len(once_a), len(theirs) - len(once_b))
    if 2 * matched >= CLOSE * (len(ours) + len(theirs) - a.joined - b.joined) and (
        a.values or b.values or _may_replace(ours, theirs)
    ):
        return True
    if {a.negations, b.negations} == {0, 1} and matched >= COVERED * min(len(ours), len(theirs)):
        return True
    return once_a == once_b and sorted(ours) == sorted(theirs)


def _may_replace(ours: list[int], theirs: list[int]) -> bool:
    """Whether the words may differ in one place alone, before and after which they are the same."""
    before = _equal_at_start(ours, theirs)
    ours, theirs = ours[before:], theirs[before:]
    return max(len(ours), len(theirs)) - _equal_at_start(ours[::-1], theirs[::-1]) <= MAX_SLOT


def _equal_at_start(ours: list[int], theirs: list[int]) -> int:
    shorter = min(len(ours), len(theirs))
    return next((place for place in range(shorter) if ours[place] != theirs[place]), shorter)
