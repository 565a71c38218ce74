"""Baseline rankings over the same documents, without a store: the contribution of each part of a score.

The first is plain BM25, which is reported next to every result. Rankings use the documents and the embedder's vectors
only, so the store does not affect them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wellkept.core.lexicon import lexicon
from wellkept.core.reading.stems import stem
from wellkept.core.recall import bm25, scoring
from wellkept.core.text.forms import search_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

BASELINE = "bm25"
BASELINE_IS = (
    "BM25 as Lucene has it (k1 1.5, b .75) over the same texts of a conversation, without English function words, "
    "with the light English stems of our own rules (plural, -ed, -ing, -ly), no Snowball"
)
"""Exact definition of the baseline."""
_K1, _B = 1.5, 0.75


@dataclass(frozen=True)
class Pool:
    """The documents of one conversation, in order.

    Attributes:
        texts: Searched texts.
        sittings: Positions of texts recorded together.
        vectors: One row per text.
    """

    texts: Sequence[str]
    sittings: Sequence[Sequence[int]]
    vectors: NDArray[np.float32]

    @cached_property
    def index(self) -> Lucene:
        """The BM25 index."""
        return Lucene([_english(text) for text in self.texts])

    @cached_property
    def terms(self) -> list[tuple[str, ...]]:
        """Stemmed terms of each text."""
        return [bm25.document_terms(text) for text in self.texts]

    @cached_property
    def statistics(self) -> bm25.Statistics:
        """Word statistics of the pool."""
        return bm25.statistics(self.terms)

    @cached_property
    def beside(self) -> dict[int, tuple[tuple[int, int], ...]]:
        """Neighbours of each text in its sitting."""
        return scoring.told_beside(self.sittings)


Player: TypeAlias = Callable[[Pool, str, "NDArray[np.float32] | None"], Sequence[float]]
"""A score per text of a pool, from the query and its vector."""


class Lucene:
    """BM25 with an inverted index, so that a whole set takes seconds.

    Args:
        documents: Terms of each document.

    Example:
        >>> Lucene([["use", "ruff"], ["use", "black"]]).scores(["ruff"])[1]
        0.0
    """

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._size = len(documents)
        lengths = [len(document) for document in documents]
        mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
        self._held: dict[str, list[tuple[int, float]]] = {}
        for at, document in enumerate(documents):
            damping = _K1 * (1 - _B + _B * lengths[at] / mean)
            for term, often in Counter(document).items():
                self._held.setdefault(term, []).append((at, often / (often + damping)))

    def scores(self, query: Sequence[str]) -> list[float]:
        """The score of each document."""
        found = [0.0] * self._size
        for term in dict.fromkeys(query):
            held = self._held.get(term, ())
            rarity = math.log(1 + (self._size - len(held) + 0.5) / (len(held) + 0.5))
            for at, weight in held:
                found[at] += rarity * weight
        return found


def _bm25(pool: Pool, query: str, vector: NDArray[np.float32] | None) -> Sequence[float]:
    return pool.index.scores(_english(query))


def _words(pool: Pool, query: str, vector: NDArray[np.float32] | None) -> Sequence[float]:
    return bm25.lexical_scores(bm25.query_terms(query), pool.terms, pool.statistics)


def _meaning(pool: Pool, query: str, vector: NDArray[np.float32] | None) -> Sequence[float]:
    return [0.0] * len(pool.texts) if vector is None else (pool.vectors @ vector).tolist()


def _fused(pool: Pool, query: str, vector: NDArray[np.float32] | None) -> Sequence[float]:
    cosines = [None] * len(pool.texts) if vector is None else _meaning(pool, query, vector)
    return scoring.fused(cosines, _words(pool, query, vector))


def _context(pool: Pool, query: str, vector: NDArray[np.float32] | None) -> Sequence[float]:
    scores = dict(enumerate(_fused(pool, query, vector)))
    return list(scoring.in_context(scores, pool.beside).values())


PLAYED: Mapping[str, Player] = {
    BASELINE: _bm25,
    "words": _words,
    "meaning": _meaning,
    "fused": _fused,
    "context": _context,
}
"""The baseline, then the parts of the default score: words, vectors, both, both with context."""


def played(name: str, pool: Pool, query: str, vector: NDArray[np.float32] | None, *, limit: int) -> list[int]:
    """Positions of the best texts, best first, ties by position; texts with score 0 are omitted.

    Example:
        >>> import numpy as np
        >>> pool = Pool(["Ruff lints.", "Tea is ready."], [[0, 1]], np.eye(2, dtype=np.float32))
        >>> played("bm25", pool, "Is there tea?", None, limit=2)
        [1]
    """
    scores = PLAYED[name](pool, query, vector)
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:limit]
    return [at for at in order if scores[at] > 0]


def _english(text: str) -> list[str]:
    language = lexicon().languages["en"]
    without = language.function | language.auxiliary | language.copula
    return [stem(term, language) if term.isalpha() else term for term in search_terms(text) if term not in without]
