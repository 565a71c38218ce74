"""The content words of a text alone: enough to rule out a decisive difference, at a fraction of its cost."""

from __future__ import annotations

from sys import intern

from wellkept.core.reading.features import features
from wellkept.core.reading.tokens import Clause
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.frozen import frozen
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites

CLOSE = 0.5
"""Least share of matched words of two clauses in which one thing replaces another."""
COVERED = 0.75
"""Least share of the shorter clause that a clause must repeat to deny it."""
MAX_SLOT = 4
"""Most words in one place that are taken for one thing."""
_MOST_PAIRS = 64
"""Most pairs of clauses that are looked at; texts with more are compared in full."""
_WORD, _CLAUSE = 8, 250
"""Bytes of a word, of which all texts share one copy, and of a clause without its words."""


@frozen
class ContentWords:
    """The content words of a clause.

    Attributes:
        keys: Their keys, in order.
        values: The number of them that are values, of which two may be equal with different keys.
        joined: Most by which names and values of several words shorten the clause where each fills one place.
        negations: The number of negations.
    """

    keys: tuple[str, ...]
    values: int
    joined: int
    negations: int


def _size(found: tuple[ContentWords, ...]) -> int:
    return sum(_CLAUSE + _WORD * len(one.keys) for one in found)


@remembered(64 * MIB, _size)
def content_words(text: str, opposites: Opposites = NO_OPPOSITES) -> tuple[ContentWords, ...]:
    """The content words of each clause of a text; a cache holds ten times as many of them as of features.

    Args:
        text: Any text.
        opposites: Antonyms of the policy, in addition to those of the language.

    Example:
        >>> content_words("Tea is not stored in Graz.")
        (ContentWords(keys=('tea', 'stor', 'graz'), values=0, joined=0, negations=1),)
    """
    return tuple(_words_of(clause) for clause in features(text, opposites).clauses if clause.keys)


def _words_of(clause: Clause) -> ContentWords:
    content = [clause.tokens[place] for place in clause.content]
    values = sum(1 for token in content if token.value)
    named = sum(1 for token in content if token.proper or token.value)
    return ContentWords(tuple(map(intern, clause.keys)), values, max(0, named - 1), len(clause.negations))


def may_exclude(old: str, new: str, opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the content words of two texts allow that one excludes the other; False is certain.

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
    ours, theirs = set(a.keys), set(b.keys)
    common = len(ours & theirs)
    if not common:
        return False
    matched = common + min(len(a.keys) - len(ours), len(b.keys) - len(theirs))
    if 2 * matched >= CLOSE * (len(a.keys) + len(b.keys) - a.joined - b.joined) and _may_replace(a, b):
        return True
    if {a.negations, b.negations} == {0, 1} and matched >= COVERED * min(len(a.keys), len(b.keys)):
        return True
    return ours == theirs and sorted(a.keys) == sorted(b.keys)


def _may_replace(a: ContentWords, b: ContentWords) -> bool:
    """Whether the words may differ in one place alone, before and after which they are the same."""
    if a.values or b.values:
        return True
    before = _equal_at_start(a.keys, b.keys)
    ours, theirs = a.keys[before:], b.keys[before:]
    after = _equal_at_start(ours[::-1], theirs[::-1])
    return after < min(len(ours), len(theirs)) and max(len(ours), len(theirs)) - after <= MAX_SLOT


def _equal_at_start(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    shorter = min(len(a), len(b))
    return next((place for place in range(shorter) if a[place] != b[place]), shorter)
