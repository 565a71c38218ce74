"""Extractive summaries: whole sentences of the sources, never rewritten.

A sentence is central when other texts share its words. The most central sentence is chosen first; each further sentence
must add something. The result keeps the order of the texts, one sentence per line, and is deterministic in every
script.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wellkept.core.lexicon import in_all_languages
from wellkept.core.reading.features import features
from wellkept.core.text.forms import canonical, search_terms

LIMIT = 512
"""Most characters of a summary."""
MOST_SENTENCES = 400
_MOST_TRIES = 48
_TOLD = 0.25
"""Weight factor of a word that a chosen sentence already contains."""
_UNHEARD = 0.1
"""Bonus for a sentence of a text that is not yet represented."""

# A full stop ends a sentence only before white space; end marks of other scripts need none.
_ENDS = re.compile(
    "(?:(?<![.!?\u2026])[.!?\u2026]++[\"'\u00bb\u201d\u2019)\\]]*+(?=\\s))"
    "|(?:[\u3002\uff01\uff1f\uff61\u061f\u06d4\u0964\u0965\u1362\u1367\u104b\u17d4\u0f0d\u0589]+"
    "[\u300d\u300f\u201d\u2019)\uff09]*)"
    "|(?:\\n+)"
)
_NUMBERED = re.compile(r"\W*\d{1,3}\.")
_MOST_BEFORE_NUMBER = 80
_FOLLOWING = re.compile(r"[ \t]*(.?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    source: int
    place: int
    terms: frozenset[str]


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


def summarise(texts: Sequence[str], *, limit: int = LIMIT, allowed: Callable[[str], bool] | None = None) -> str:
    """The most central sentences of several texts.

    Args:
        texts: The texts, in the order of the summary.
        limit: Most characters.
        allowed: Check of the summary so far; a sentence that fails it is skipped. It prevents summaries that contradict
            their sources.

    Returns:
        Whole sentences, one per line; empty when none fits or is allowed.

    Example:
        >>> print(summarise(["The deploy failed. Ana was away.", "The deploy failed again at night."], limit=60))
        The deploy failed.
        The deploy failed again at night.
    """
    left = _sentences(texts)
    weights = _weights(left)
    chosen: list[_Sentence] = []
    tries = 0
    while left and tries < _MOST_TRIES:
        best = min(left, key=lambda one: (-_worth(one, weights, chosen), one.source, one.place))
        left.remove(best)
        if len(_joined([*chosen, best])) > limit:
            continue
        tries += 1
        if allowed is None or allowed(_joined([*chosen, best])):
            chosen.append(best)
    return _joined(chosen)


def _sentences(texts: Sequence[str]) -> list[_Sentence]:
    """The sentences of all texts without repeats; the first of each text before the second of any."""
    split = [sentences(text) for text in texts]
    found: list[_Sentence] = []
    seen: set[str] = set()
    for source, place in _round_robin([len(parts) for parts in split]):
        text = split[source][place]
        known = canonical(text)
        if known not in seen:
            seen.add(known)
            found.append(_Sentence(text, source, place, _terms(text)))
        if len(found) == MOST_SENTENCES:
            break
    return found


def _terms(text: str) -> frozenset[str]:
    """The content words of a sentence; all words where function words are unknown."""
    return frozenset(features(text).keys) or frozenset(search_terms(text))


def _round_robin(counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    for place in range(max(counts, default=0)):
        for source, count in enumerate(counts):
            if place < count:
                yield source, place


def _weights(found: Sequence[_Sentence]) -> dict[str, float]:
    """Per word, the share of the other texts that contain it."""
    holders: dict[str, set[int]] = {}
    for one in found:
        for term in one.terms:
            holders.setdefault(term, set()).add(one.source)
    others = max(1, len({one.source for one in found}) - 1)
    return {term: (len(sources) - 1) / others for term, sources in holders.items()}


def _worth(one: _Sentence, weights: Mapping[str, float], chosen: Sequence[_Sentence]) -> float:
    """Centrality: word weights, reduced for words already covered, normalised by length."""
    told = frozenset[str]().union(*(other.terms for other in chosen))
    weight = sum(weights[term] * (_TOLD if term in told else 1.0) for term in sorted(one.terms))
    silent = bool(chosen) and all(other.source != one.source for other in chosen)
    return round(weight / math.sqrt(max(1, len(one.terms))) + (_UNHEARD if silent else 0.0), 9)


def _joined(chosen: Sequence[_Sentence]) -> str:
    return "\n".join(one.text for one in sorted(chosen, key=lambda one: (one.source, one.place)))
