"""Input rows of the relation model: the pieces of both texts, each with a mark.

A small encoder is poor at finding what to compare. So each piece has a mark for its side and for whether its word also
occurs in the other text, and if not, whether it is a number, a name or another word. The mark also keeps
capitalisation, which the vocabulary drops.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from wellkept.frozen import frozen
from wellkept.models.tokenizer.unigram import Unigram
from wellkept.models.tokenizer.wordpiece import Encoding, Tokenizer

SHARED, WORD, NUMBER, NAME = range(4)
MARKS = 4
"""Marks per side; the newer text's marks follow the older one's."""
_ENGLISH = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_GERMAN = "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn"
_FRENCH = "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"
_SPANISH = "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
_PORTUGUESE = "um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze"
_RUSSIAN = "один два три четыре пять шесть семь восемь девять десять"
_TENS = {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}
_NUMBERS: dict[str, str] = _TENS | {
    word: str(value)
    for language in (_PORTUGUESE, _SPANISH, _FRENCH, _GERMAN, _RUSSIAN, _ENGLISH)
    for value, word in enumerate(language.split(), start=1)
}
"""Number words equal their digits: "two" and "2" are a shared word."""
_ORDINAL = re.compile(r"0*([0-9]+)(?:st|nd|rd|th)?")
FRAME_PIECES = 3


@frozen
class Row:
    """One pair as model input: pieces and marks, of equal length."""

    pieces: tuple[int, ...]
    marks: tuple[int, ...]


@frozen
class Read:
    """One tokenised text, with the word of each piece.

    Attributes:
        unknown: Share of letters and digits that the vocabulary cannot spell.
    """

    pieces: tuple[int, ...]
    words: tuple[str, ...]
    kinds: tuple[int, ...]
    unknown: float


class PairReader:
    """Turns two texts into a row.

    Args:
        tokenizer: With the vocabulary of the network.
    """

    def __init__(self, tokenizer: Tokenizer | Unigram) -> None:
        self._tokenizer = tokenizer
        pieces = tokenizer.pieces
        self._start, self._end, self._unknown = pieces["[CLS]"], pieces["[SEP]"], pieces["[UNK]"]

    def read(self, text: str) -> Read:
        """Tokenise one text."""
        # NFKC merges width variants; lone surrogates have no meaning.
        text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())
        encoding = self._tokenizer.encode(text)
        words, kinds = _words(text, encoding)
        return Read(tuple(encoding.ids), words, kinds, encoding.unknown_share(text, self._unknown))

    def row(self, old: Read, new: Read) -> Row:
        """Both texts as one row, each piece marked against the other text."""
        pieces = (self._start, *old.pieces, self._end, *new.pieces, self._end)
        marks = (0, *_marks(old, new, 0), 0, *_marks(new, old, MARKS), MARKS)
        return Row(pieces, marks)


def _words(text: str, encoding: Encoding) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The folded word of each piece and its kind; punctuation has no word."""
    spans: dict[int, tuple[int, int]] = {}
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        first, last = spans.get(word, (start, end))
        spans[word] = (min(first, start), max(last, end))
    told = {word: _told(text, start, end) for word, (start, end) in spans.items()}
    found = [told[word] for word in encoding.word_ids]
    return tuple(word for word, _ in found), tuple(kind for _, kind in found)


def _told(text: str, start: int, end: int) -> tuple[str, int]:
    word = text[start:end]
    if not any(sign.isalnum() for sign in word):
        return "", WORD
    folded = word.casefold()
    if folded in _NUMBERS:
        return _NUMBERS[folded], NUMBER
    if any(sign.isdigit() for sign in word):
        plain = _ORDINAL.fullmatch(folded)
        return plain[1] if plain else folded, NUMBER
    before = text[:start].rstrip()
    # A capital at the start of a sentence has no meaning.
    begins = not before or before[-1] in '.!?:\n•–-"“„«(。'
    upper = word[:1].isupper() and not begins or any(sign.isupper() for sign in word[1:])
    return folded, NAME if upper else WORD


def _marks(own: Read, other: Read, base: int) -> Sequence[int]:
    there = set(other.words)
    return [
        base + (SHARED if not word or word in there else kind) for word, kind in zip(own.words, own.kinds, strict=True)
    ]


# --------------------------------------------------------------------------------------------
# Both orders

LABELS = ("same", "refines", "generalises", "conflict", "distinct")
MIRROR = (0, 2, 1, 3, 4)
"""Position of each relation when the texts are swapped."""
CLEARLY_DISTINCT = 0.9
"""P(*distinct*) from which one reading is enough; most neighbours are *distinct*."""

Logits = NDArray[np.float64]


def logits_of(run: Callable[[str, str], Logits], old: str, new: str) -> Logits:
    """The mean of both readings, or the first one if it is clearly *distinct*.

    The order of the readings depends on the texts only, so the swapped pair has the mirrored logits.

    Args:
        run: Returns the logits of (first text, second text).
    """
    swapped = new < old
    first, second = (new, old) if swapped else (old, new)
    logits = run(first, second)
    if shares(logits)[-1] < CLEARLY_DISTINCT and first != second:
        logits = (logits + run(second, first)[list(MIRROR)]) / 2
    return logits[list(MIRROR)] if swapped else logits


def shares(logits: Logits) -> Logits:
    """Softmax of the logits."""
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), dtype=np.float64)
