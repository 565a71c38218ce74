"""The events of a text: their order, whether they are planned or done, and what "only" limits."""

from __future__ import annotations

import re
from dataclasses import replace
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
"""Most characters of a text that is read; longer texts are compared sentence by sentence."""
_SENTENCE_ENDS = re.compile(r"[.!?;:](?:\s|$)|[\n。！？；：…]|\s[-–—]\s")
_STATEMENT_ENDS = re.compile(r"[.!?;](?:\s|$)|(?<!:)\n|…")
"""Unlike above, a colon or a dash ends no statement: what stands before it may be a label ("Plan: we move in May")."""


def courses(a: str, b: str) -> tuple[Course, Course]:
    """The events of two texts, each read in its language; none if a text has more than `MOST_READ` characters.

    A short text may belong to several languages. Then a language that both texts may belong to is used.

    Example:
        >>> found, _ = courses("We will run the tests before merging.", "")
        >>> [sorted(order.later) for order in found.orders], found.planned
        ([['merg']], frozenset({'run'}))
    """
    if max(len(a), len(b)) > MOST_READ:
        return Course(), Course()
    ours, theirs = _codes(a), _codes(b)
    common = [code for code in ours if code in theirs]
    return _course((a, (common or ours)[0])), _course((b, (common or theirs)[0]))


@remembered(8 * MIB)
def _codes(text: str) -> tuple[str, ...]:
    """The codes of the languages with most words of a text; several for a text that is too short to decide."""
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
    """Each known word with the codes of its languages, by whether the clitic follows the apostrophe."""
    owners: dict[bool, dict[str, tuple[str, ...]]] = {True: {}, False: {}}
    for language in lexicon().of_script("latin", "cyrillic"):
        known = owners[language.grammar.clitics_follow]
        for word in language.markers | language.no_markers | language.events.vocabulary:
            known[word] = (*known.get(word, ()), language.code)
    return owners


@remembered(8 * MIB)
def _course(read: tuple[str, str]) -> Course:
    """The events of a text, read in the language with this code."""
    text, code = read
    language = lexicon().languages[code]
    whole = prepared(text)
    parts = [part for part in _SENTENCE_ENDS.split(whole) if part and part.strip()]
    if not language.grammar.spaced:
        return UnspacedReader(language).read(parts)
    reader = SpacedReader(language)
    return replace(reader.read(parts), wished=reader.wished(_STATEMENT_ENDS.split(whole)))
