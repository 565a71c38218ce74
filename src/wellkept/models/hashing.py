"""The fallback embedder: lexical vectors by feature hashing, without a model.

Words and character n-grams are hashed into signed buckets. This works for every script and separates related
from unrelated texts fairly well, but not a paraphrase from a contradiction. So the embedder sets `lexical`, and
nothing is skipped, evolved or merged on its similarity.

Splitting and folding are in this module and not in `core.text.forms`, because the embedder's id promises a stable
vector for each text. Increase the version in the id with any change of the arithmetic.
"""

from __future__ import annotations

import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from wellkept.core.judging.calibration import HASHING, Calibration
from wellkept.core.records.vectors import unit
from wellkept.models.port import Embedded

_DIM = 384
_WORD_WEIGHT = 1.0
_GRAM_WEIGHT = 0.5
_GRAM_SIZES = (3, 4, 5)
_DENSE_WEIGHTS = {1: 0.5, 2: 0.8, 3: 0.6}
_SHORT_WORD = 3
_SHORT_WEIGHT = 0.5
_CACHED_LENGTH = 40
# Edges only: "1.5", "c++", "api/v2", "-3" and "50%" stay what they are.
_EDGES = ".,;:!?…()[]{}<>\"'`“”„‘’«»‹›。、，；：！？「」『』（）【】·—–"
# Scripts written without spaces, where one or two signs are a word.
_DENSE_RANGES = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x9FFF), (0x20000, 0x3FFFF))


class HashingEmbedder:
    """Lexical vectors of 384 components, identical in every process and on every machine.

    Example:
        >>> tea, same, other = HashingEmbedder().embed(["Tea at four.", "tea at four", "Deploy on Monday"])
        >>> round(float(tea.vector @ same.vector), 2), float(tea.vector @ other.vector) < 0.3
        (1.0, True)
    """

    id = f"hashing-v1/{_DIM}"
    dim = _DIM
    calibration: Calibration = HASHING
    lexical = True

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors in the order of the texts; None for a text without words."""
        return [Embedded(vector=_vector(text)) for text in texts]


def _vector(text: str) -> NDArray[np.float32] | None:
    folded = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    words = [word for word in (part.strip(_EDGES) for part in folded.split()) if word]
    if not words:
        return None
    buckets: list[NDArray[np.intp]] = []
    weights: list[NDArray[np.float64]] = []
    for word, times in Counter(words).items():
        places, values = _cached(word) if len(word) <= _CACHED_LENGTH else _features(word)
        buckets.append(places)
        # Sublinear term frequency: repeating a word does not multiply its weight.
        weights.append(values if times == 1 else values * (1.0 + log(times)))
    total = np.bincount(np.concatenate(buckets), weights=np.concatenate(weights), minlength=_DIM)
    # Signed weights can cancel out; then there is no vector.
    return unit(total) if total.any() else None


def _features(word: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Buckets and signed weights of a word."""
    places: list[int] = []
    values: list[float] = []
    for gram, weight in _grams(word):
        # crc32 alone puts similar texts into neighbouring buckets; the multiplication spreads them.
        number = (zlib.crc32(gram.encode("utf-8", "replace")) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        places.append((number >> 20) % _DIM)
        values.append(weight if number >> 63 else -weight)
    return np.array(places, dtype=np.intp), np.array(values, dtype=np.float64)


_cached = lru_cache(maxsize=16_384)(_features)


def _grams(word: str) -> Iterator[tuple[str, float]]:
    # Short words are mostly grammar in spaced scripts; numbers are not.
    scale = _SHORT_WEIGHT if len(word) <= _SHORT_WORD and word.isalpha() else 1.0
    if any(low <= ord(sign) <= high for sign in word for low, high in _DENSE_RANGES):
        for size, weight in _DENSE_WEIGHTS.items():
            for start in range(len(word) - size + 1):
                yield word[start : start + size], weight
        return
    yield f"={word}", _WORD_WEIGHT * scale
    framed = f"<{word}>"
    for size in _GRAM_SIZES:
        for start in range(len(framed) - size + 1):
            yield framed[start : start + size], _GRAM_WEIGHT * scale
