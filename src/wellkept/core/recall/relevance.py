"""Relevance: how far a memory has to do with a query at all, from 0 to 1.

A score orders memories and is partly relative: the best match of the words always counts 1. Relevance is compared with
a fixed floor, so it rests on values that mean the same in every store: the calibrated similarity, and the share of the
query's words in the memory. Age, importance and other boosts have no part in it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

from wellkept.core.reading.language_detection import language_is_known, language_of
from wellkept.core.recall.bm25 import Statistics, small_words
from wellkept.core.text.forms import search_terms

DEFAULT_MIN_SCORE = 0.3
"""Least relevance of a hit when the caller names none: chosen on questions without an answer (docs/retrieval.md)."""
ALL_WORDS = 0.6
"""What all words of a query are worth without any similarity."""
SUPPORT = 0.3
"""Share of words from which a similarity counts in full where similarity alone does not tell texts apart."""
ELSEWHERE = 0.7
"""What a similarity counts in other languages than those of the embedder, without words in common. Unrelated sentences
are more alike there; at .7 unanswerable questions got nothing as often as at 0, and answerable ones lost less."""
INFLECTED = 0.8
"""What a word with another ending is worth."""
BEGINNING = 5
"""Characters in which a word and its inflected form agree."""
LEAST_DOCUMENTS = 20
"""Word rarity is computed as if there were at least this many documents: two notes say nothing about rarity."""
_LEAST_IDENTIFIER = 3

Key = TypeVar("Key", bound=Hashable)


def trust_in(query: str, languages: Collection[str] | None) -> float:
    """How far the similarity of a query alone tells related texts from unrelated ones, 0 to 1.

    Args:
        query: The text.
        languages: Codes of the languages in which the embedder does so; None for all.

    Example:
        >>> trust_in("What is the capital of France?", {"en"}), trust_in("Wo steht der Server?", {"en"})
        (1.0, 0.7)
    """
    if languages is None:
        return 1.0
    code = language_of(query).code
    if code in languages and (language_is_known(query) or not small_words(code).isdisjoint(search_terms(query))):
        return 1.0
    return ELSEWHERE if languages else 0.0


def word_shares(query: Sequence[str], documents: Sequence[Sequence[str]], of_all: Statistics) -> list[float]:
    """The share of the query's words that each document has, 0 to 1, rare words counting more.

    A word of five letters or more may have another ending. An identifier, such as "pr_441", counts as all words.

    Args:
        query: Terms from `core.recall.bm25.query_terms`.
        documents: Terms of each document, from `core.recall.bm25.document_terms`.
        of_all: Number of documents that hold each term.

    Example:
        >>> from wellkept.core.recall.bm25 import statistics
        >>> pool = [["pr_441", "pr", "441", "merged"], ["deployment", "failed"], ["tea"]]
        >>> [round(share, 1) for share in word_shares(["status", "pr_441", "deployments"], pool, statistics(pool))]
        [1.0, 0.3, 0.0]
    """
    worth = {term: of_all.rarity(term, least=LEAST_DOCUMENTS) for term in dict.fromkeys(query)}
    total = math.fsum(worth.values())
    # "utf" and "8" beside "utf_8" say nothing more.
    wholes = {term: [other for other in worth if term in other] for term in worth}
    beginnings = {term: [other[:BEGINNING] for other in wholes[term] if len(other) > BEGINNING] for term in worth}
    identifiers = [frozenset(term.split("_")) for term in worth if _is_identifier(term)]
    shares = []
    for document in documents:
        held = set(document)
        if any(parts <= held for parts in identifiers):  # "PR#441" is "PR 441" too
            shares.append(1.0)
            continue
        begun: set[str] | None = None  # made where a word of the query is missing
        values = []
        for term, value in worth.items():
            if not held.isdisjoint(wholes[term]):
                values.append(value)
            elif beginnings[term]:
                begun = {word[:BEGINNING] for word in held if len(word) >= BEGINNING} if begun is None else begun
                values.append(0.0 if begun.isdisjoint(beginnings[term]) else value * INFLECTED)
        found = math.fsum(values)
        shares.append(found / total if total else 0.0)
    return shares


def matches(similarities: Sequence[float | None], shares: Sequence[float], *, trust: float = 1.0) -> list[float]:
    """How far each memory matches a query by itself, 0 to 1.

    Where similarity does not tell texts apart, it counts in full only as far as some memory has words of the query.
    Memories without a vector have words alone.

    Args:
        similarities: Calibrated similarity of each memory; None without a vector.
        shares: Share of the query's words, from `word_shares`.
        trust: How far similarity tells texts apart, from `trust_in`.

    Example:
        >>> [round(value, 2) for value in matches([0.5, 0.5, None], [0.0, 1.0, 0.15])]
        [0.5, 0.8, 0.5]
        >>> matches([0.7, 0.6], [0.0, 0.0], trust=0.0)
        [0.0, 0.0]
    """
    trust = max(trust, min(1.0, max(shares, default=0.0) / SUPPORT))
    return [
        min(1.0, share / SUPPORT)
        if similarity is None
        else 1.0 - (1.0 - trust * min(1.0, max(0.0, similarity))) * (1.0 - ALL_WORDS * share)
        for similarity, share in zip(similarities, shares, strict=True)
    ]


def relevances(matched: Mapping[Key, float]) -> dict[Key, float]:
    """The relevance of each memory: the geometric mean of its own match and the best one, rounded to four decimals.

    Where the store surely knows something about the query, a weaker match may belong to the answer too. The best memory
    has its own match, so a query without an answer gets nothing.

    Example:
        >>> relevances({"a": 0.8, "b": 0.2, "c": 0.05}), relevances({"d": 0.2, "e": 0.05})
        ({'a': 0.8, 'b': 0.4, 'c': 0.2}, {'d': 0.2, 'e': 0.1})
    """
    best = max(matched.values(), default=0.0)
    return {key: round(math.sqrt(max(0.0, own) * best), 4) for key, own in matched.items()}


def _is_identifier(term: str) -> bool:
    """Whether a term is a name in code or of an item ("pr_441", "utf8"), no number, date or amount."""
    return len(term) >= _LEAST_IDENTIFIER and term[0].isalpha() and any(map(str.isdigit, term))
