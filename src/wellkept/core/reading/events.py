"""The events of a text: which comes before which, what is planned or done, what "only" limits."""

from __future__ import annotations

import re
from functools import lru_cache

from wellkept.core.lexicon import lexicon
from wellkept.core.reading.event_types import Course, Limit, Order
from wellkept.core.reading.language_detection import language_of
from wellkept.core.reading.lexer import prepared
from wellkept.core.reading.spaced_events import SpacedReader, words_of
from wellkept.core.reading.unspaced_events import UnspacedReader
from wellkept.core.text.text_cache import MIB, remembered

__all__ = ("MOST_READ", "Course", "Limit", "Order", "courses")


MOST_READ = 1000
"""Characters up to which a text is read; longer ones are the same only sentence by sentence anyway."""
_SENTENCE_ENDS = re.compile(r"[.!?;:](?:\s|$)|[\n。！？；：…]|\s[-–—]\s")


def courses(a: str, b: str) -> tuple[Course, Course]:
    """What two texts tell of the course of things, each read in its language; texts above `MOST_READ` tell nothing.

    A short text may be of several languages; then the one that suits the other text too is taken.

    Example:
        >>> told, _ = courses("We will run the tests before merging.", "")
        >>> [sorted(order.later) for order in told.orders], told.planned
        ([['merg']], frozenset({'run'}))
    """
    if max(len(a), len(b)) > MOST_READ:
        return Course(), Course()
    ours, theirs = _codes(a), _codes(b)
    common = [code for code in ours if code in theirs]
    return _course(a, (common or ours)[0]), _course(b, (common or theirs)[0])


@remembered(8 * MIB)
def _codes(text: str) -> tuple[str, ...]:
    """The languages that most words of a text belong to, several where it is too short to tell."""
    folded = prepared(text)
    language = language_of(folded)
    if language.grammar.script != "latin":
        return (language.code,)
    hits = dict.fromkeys((other.code for other in lexicon().of_script("latin", "cyrillic")), 0)
    for follow, owners in _owners().items():
        for word in words_of(folded, clitics_follow=follow):
            for code in owners.get(word, ()):
                hits[code] += 1
    best = max(hits.values())
    return tuple(code for code, count in hits.items() if count == best)


@lru_cache(maxsize=1)
def _owners() -> dict[bool, dict[str, tuple[str, ...]]]:
    """By where their small words stand at an apostrophe: of each word the languages that know it."""
    owners: dict[bool, dict[str, tuple[str, ...]]] = {True: {}, False: {}}
    for language in lexicon().of_script("latin", "cyrillic"):
        told = owners[language.grammar.clitics_follow]
        for word in language.markers | language.no_markers | language.events.vocabulary:
            told[word] = (*told.get(word, ()), language.code)
    return owners


@remembered(8 * MIB)
def _course(text: str, code: str) -> Course:
    language = lexicon().languages[code]
    reader = SpacedReader(language) if language.grammar.spaced else UnspacedReader(language)
    return reader.read([part for part in _SENTENCE_ENDS.split(prepared(text)) if part and part.strip()])
