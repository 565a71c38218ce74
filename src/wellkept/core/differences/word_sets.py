"""Comparison of two sets of words, in which two forms of one word count as one word."""

from __future__ import annotations

PREFIX = 4
"""Letters that the forms of one word have in common."""


def shared_words(a: frozenset[str], b: frozenset[str]) -> int:
    """The number of words in both sets; words that differ only after their first letters are forms of one word."""
    return len(a & b) + len(_prefixes(a - b) & _prefixes(b - a))


def share_a_verb(verbs: frozenset[str], words: frozenset[str]) -> bool:
    """Whether one of the verbs, in any form, is among the words."""
    return bool(_prefixes(verbs) & _prefixes(words) or verbs & words)


def _prefixes(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word[:PREFIX] for word in words if len(word) >= PREFIX)
