"""BM25: how well the words of a memory match those of a query.

Words are compared by stem and without the query's function words. Word rarity is computed over all memories, not over
the candidates. Source: Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from wellkept.core.lexicon import Language, Script, lexicon
from wellkept.core.reading.language_detection import language_of
from wellkept.core.reading.stems import stem
from wellkept.core.text.forms import search_terms
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.frozen import frozen

K1 = 1.5
"""How fast repeated words saturate."""
B = 0.75
"""How strongly length is penalised."""


@remembered(16 * MIB)
def document_terms(text: str) -> tuple[str, ...]:
    """Stems of a stored text, in order, with repeats.

    Example:
        >>> document_terms("She painted sunsets in 2022")
        ('she', 'paint', 'sunset', 'in', '2022')
    """
    return tuple(map(term_stem, search_terms(text)))


def query_terms(text: str) -> list[str]:
    """Stems of a query, each once; function words only if the query has nothing else.

    "When did she" occurs in many questions and few statements, so BM25 would treat it as rare. Only the query is
    filtered, in its own language.

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
    telling = [term for term in terms if term not in small_words(language.code)]
    return list(dict.fromkeys(map(term_stem, telling or terms)))


@lru_cache(maxsize=16_384)
def term_stem(term: str) -> str:
    """A term without inflection endings; identifiers, numbers and scripts without a list stay whole.

    The rule depends on the script and not on a detected language, so that query and memory always match.

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
def small_words(code: str) -> frozenset[str]:
    """The terms of a language's function words, which say nothing about the topic of a query."""
    language = lexicon().languages[code]
    listed = language.function | language.auxiliary | language.copula | language.question_words
    return frozenset(term for word in listed for term in search_terms(word))


# --------------------------------------------------------------------------------------------
# Scores


@frozen
class Statistics:
    """BM25 statistics over all memories of a namespace.

    Attributes:
        documents: Number of documents.
        mean_length: Mean number of terms.
        holders: Term -> number of documents with it.
    """

    documents: int
    mean_length: float
    holders: Mapping[str, int]

    def rarity(self, term: str, *, least: int = 0) -> float:
        """How telling a term is, as in BM25; as if there were at least so many documents."""
        documents = max(self.documents, least)
        holders = min(self.holders.get(term, 0), documents)
        return math.log(1 + (documents - holders + 0.5) / (holders + 0.5))


def statistics(documents: Iterable[Sequence[str]]) -> Statistics:
    """Statistics of documents given as term lists.

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
    """BM25 of each document, divided by the best score; 0 to 1.

    Args:
        query: Terms from `query_terms`.
        documents: Terms of each document, from `document_terms`.
        of_all: Word rarity over the namespace or over the candidates.

    Example:
        >>> pool = [["use", "ruff"], ["use", "black"]]
        >>> lexical_scores(["ruff"], pool, statistics(pool))
        [1.0, 0.0]
    """
    rarity = {term: of_all.rarity(term) for term in dict.fromkeys(query)}
    scores = []
    for document in documents:
        often = {term: document.count(term) for term in rarity}
        damping = K1 * (1 - B + B * len(document) / (of_all.mean_length or 1.0))
        scores.append(math.fsum(worth * often[term] / (often[term] + damping) for term, worth in rarity.items()))
    best = max(scores, default=0.0)
    return [score / best for score in scores] if best > 0 else scores
