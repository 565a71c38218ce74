"""Extractive summaries: whole sentences of the sources, never rewritten.

A sentence is central when other texts share its words. The most central sentence is chosen first; each further sentence
must add something. The result keeps the order of the texts, one sentence per line, and is deterministic in every
script.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from wellkept.core.reading.features import features
from wellkept.core.text.forms import canonical, search_terms
from wellkept.core.text.sentences import sentences
from wellkept.frozen import frozen

LIMIT = 512
"""Most characters of a summary."""
MOST_SENTENCES = 400
_MOST_TRIES = 48
_TOLD = 0.25
"""Weight factor of a word that a chosen sentence already contains."""
_UNHEARD = 0.1
"""Bonus for a sentence of a text that is not yet represented."""


@frozen
class _Sentence:
    text: str
    source: int
    place: int
    terms: frozenset[str]


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
