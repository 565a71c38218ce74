"""How well memories answer a query: words and meaning in one score, and what was told beside them.

Three things that cost nothing but arithmetic, each of which earns its place on public questions
(docs/retrieval.md): words are compared by their stems and without the query's function words; how rare a
word is comes from all memories, not from the few that were found; and a memory counts for more where
the memory told next to it answers too. Pure functions, so that any backend gives the same order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from wellkept.core.lexicon import Language, Script, lexicon
from wellkept.core.reading.lexer import language_of, stem
from wellkept.core.text.forms import search_terms

K1 = 1.5
"""How soon a repeated word stops counting."""
B = 0.75
"""How much a long memory is held back."""
MEANING = 0.7
"""Share of the cosine in a score; the words have the rest."""
CONTEXT = 0.4
"""How much of the way to its best neighbour's score a memory is lifted."""
REACH = 3
"""How far from a memory its neighbours are looked for, to both sides."""
FADING = 0.8
"""What a neighbour one step further away counts, compared with the nearer one."""

Key = TypeVar("Key", bound=Hashable)


# --------------------------------------------------------------------------------------------
# Words


def document_terms(text: str) -> list[str]:
    """The search terms of a stored text by their stems, in order, with repeats.

    Example:
        >>> document_terms("She painted sunsets in 2022")
        ['she', 'paint', 'sunset', 'in', '2022']
    """
    return [term_stem(term) for term in search_terms(text)]


def query_terms(text: str) -> list[str]:
    """The stems that a query asks for, each once; function words only where it has nothing else.

    "When did she" stands in many questions and few statements, so that BM25 would take it for the
    rarest thing that was asked. Only the query is thinned out, in its own language.

    Example:
        >>> query_terms("When did she paint the sunset?")
        ['paint', 'sunset']
        >>> query_terms("Wann hat sie den Sonnenuntergang gemalt?")
        ['sonnenuntergang', 'gemalt']
        >>> query_terms("Who is it?")
        ['who', 'is', 'it']
    """
    language = language_of(text)
    terms = search_terms(text)
    telling = [term for term in terms if term not in _small_words(language.code)]
    return list(dict.fromkeys(map(term_stem, telling or terms)))


@lru_cache(maxsize=16_384)
def term_stem(term: str) -> str:
    """A term without its light endings; identifiers, numbers and scripts without a list stay whole.

    A term has no language of its own: the rule follows its script, so that query and memory meet
    whatever either is taken for.

    Example:
        >>> term_stem("painted"), term_stem("pr_441"), term_stem("数据")
        ('paint', 'pr_441', '数据')
    """
    if not term.isalpha():
        return term
    if "a" <= term[0] <= "z":
        return stem(term, _stemming("latin"))
    return stem(term, _stemming("cyrillic")) if "а" <= term[0] <= "ё" else term


@lru_cache(maxsize=2)
def _stemming(script: Script) -> Language:
    return next(language for language in lexicon().of_script(script) if language.grammar.stems_terms)


@lru_cache(maxsize=16)
def _small_words(code: str) -> frozenset[str]:
    language = lexicon().languages[code]
    listed = language.function | language.auxiliary | language.copula | language.question_words
    return frozenset(term for word in listed for term in search_terms(word))


# --------------------------------------------------------------------------------------------
# Scores


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 knows about all memories of a namespace.

    Attributes:
        documents: How many there are.
        mean_length: Their mean number of terms.
        holders: Term -> how many of them hold it.
    """

    documents: int
    mean_length: float
    holders: Mapping[str, int]


def statistics(documents: Iterable[Sequence[str]]) -> Statistics:
    """The statistics of these documents, each a list of terms.

    Example:
        >>> statistics([["use", "ruff"], ["use", "black"]]).holders["use"]
        2
    """
    holders: Counter[str] = Counter()
    count = length = 0
    for document in documents:
        holders.update(set(document))
        count, length = count + 1, length + len(document)
    return Statistics(count, length / count if count else 0.0, holders)


def lexical_scores(query: Sequence[str], documents: Sequence[Sequence[str]], of_all: Statistics) -> list[float]:
    """BM25 of each document, divided by the best; 0 to 1.

    Args:
        query: Terms that are asked for, as `query_terms` gives them.
        documents: Terms of each document, as `document_terms` gives them.
        of_all: How rare words are; over the whole namespace, or over the pool.

    Example:
        >>> pool = [["use", "ruff"], ["use", "black"]]
        >>> lexical_scores(["ruff"], pool, statistics(pool))
        [1.0, 0.0]
    """
    rarity = {term: _rarity(of_all, term) for term in dict.fromkeys(query)}
    scores = []
    for document in documents:
        often = Counter(document)
        damping = K1 * (1 - B + B * len(document) / (of_all.mean_length or 1.0))
        scores.append(math.fsum(worth * often[term] / (often[term] + damping) for term, worth in rarity.items()))
    best = max(scores, default=0.0)
    return [score / best for score in scores] if best > 0 else scores


def _rarity(of_all: Statistics, term: str) -> float:
    # A pool may hold a term that statistics of an older state have never seen.
    holders = min(of_all.holders.get(term, 0), of_all.documents)
    return math.log(1 + (of_all.documents - holders + 0.5) / (holders + 0.5))


def fused(cosines: Sequence[float | None], lexical: Sequence[float], *, meaning: float = MEANING) -> list[float]:
    """One score for each memory from its nearness in meaning and its common words.

    Args:
        cosines: Of each memory; None where it has no vector. Without any, the words decide alone.
        lexical: Of each memory, 0 to 1.
        meaning: Share of the cosine, 0 to 1.

    Example:
        >>> [round(score, 2) for score in fused([0.5, 0.5], [1.0, 0.0])], fused([None], [0.5])
        ([0.65, 0.35], [0.5])
    """
    if all(cosine is None for cosine in cosines):
        return list(lexical)
    pairs = zip(cosines, lexical, strict=True)
    return [meaning * max(0.0, cosine or 0.0) + (1 - meaning) * words for cosine, words in pairs]


# --------------------------------------------------------------------------------------------
# Context


def told_beside(sittings: Iterable[Sequence[Key]], *, reach: int = REACH) -> dict[Key, tuple[tuple[Key, int], ...]]:
    """The neighbours of each memory in the sitting it was told in, and how many steps away they are.

    Args:
        sittings: What was told in one go (of one source), each in its order.
        reach: How many steps to either side.

    Example:
        >>> told_beside([["a", "b", "c"], ["d"]], reach=1)["b"]
        (('a', 1), ('c', 1))
    """
    found: dict[Key, tuple[tuple[Key, int], ...]] = {}
    for told in sittings:
        for at, key in enumerate(told):
            around = range(max(0, at - reach), min(len(told), at + reach + 1))
            found[key] = tuple((told[other], abs(other - at)) for other in around if other != at)
    return found


def in_context(
    scores: Mapping[Key, float],
    beside: Mapping[Key, Sequence[tuple[Key, int]]],
    *,
    context: float = CONTEXT,
    fading: float = FADING,
) -> dict[Key, float]:
    """The scores, each lifted towards that of its best neighbour, if that answers better.

    An answer often stands beside what names the thing asked about: "Where did Ana move?" is answered by
    "To Lisbon!", told after "I have moved." No score falls and the best one stays as it is, so that
    a memory that answers by itself stays first; only one neighbour counts, so that the middle of a
    long sitting is not worth more than its ends.

    Args:
        scores: Of each memory that was found.
        beside: Its neighbours, as `told_beside` gives them; those without a score count nothing.
        context: How much of the way it is lifted, 0 to 1.
        fading: What each further step leaves of a neighbour's score.

    Example:
        >>> in_context({"a": 0.9, "b": 0.2, "c": 0.3}, {"a": [("b", 1)], "b": [("a", 1)]})
        {'a': 0.9, 'b': 0.48, 'c': 0.3}
    """
    raised = {}
    for key, own in scores.items():
        around = (scores.get(other, 0.0) * fading ** (steps - 1) for other, steps in beside.get(key, ()))
        raised[key] = own + context * max(0.0, max(around, default=0.0) - own)
    return raised
