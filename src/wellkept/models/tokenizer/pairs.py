"""How the relation model reads two texts: one row of pieces, each marked with whether the other text has its word.

A small encoder compares poorly what it has to find first. So every piece carries, beside its side,
a mark: its word stands in the other text too, or it does not, and then whether it is a number, a
name or an ordinary word. Case, which the vocabulary folds away, survives in the mark.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wellkept.models.tokenizer.wordpiece import Encoding, Tokenizer

SHARED, WORD, NUMBER, NAME = range(4)
MARKS = 4
"""Marks of a side; the newer text's come after the older one's."""
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
"""Spelled numbers are the figures they mean: "two" in one text and "2" in the other is a shared word."""
_ORDINAL = re.compile(r"0*([0-9]+)(?:st|nd|rd|th)?")
FRAME_PIECES = 3
LONGEST = 256
"""Pieces of both texts together, frame pieces included; the model does not judge longer pairs."""


@dataclass(frozen=True, slots=True)
class Row:
    """One pair as the model takes it: pieces and their marks, of equal length."""

    pieces: tuple[int, ...]
    marks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """One text cut into pieces, with the word each piece belongs to.

    Attributes:
        unknown: Share of its letters and digits that the vocabulary cannot spell.
    """

    pieces: tuple[int, ...]
    words: tuple[str, ...]
    kinds: tuple[int, ...]
    unknown: float


class PairReader:
    """Turns two texts into a row; knows the vocabulary's frame pieces.

    Args:
        tokenizer: Over MiniLM's vocabulary, and what was added to it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pieces = tokenizer.pieces
        self._start, self._end, self._unknown = pieces["[CLS]"], pieces["[SEP]"], pieces["[UNK]"]

    def read(self, text: str) -> Read:
        """Cut one text into pieces."""
        # Width variants are one character; lone surrogates stand for nothing.
        text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())
        encoding = self._tokenizer.encode(text)
        words, kinds = _words(text, encoding)
        letters = unknown = 0
        for piece, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            count = sum(sign.isalnum() for sign in text[start:end])
            letters += count
            unknown += count if piece == self._unknown else 0
        return Read(tuple(encoding.ids), words, kinds, unknown / letters if letters else 1.0)

    def row(self, old: Read, new: Read) -> Row:
        """Both texts as one row, each piece marked against the other text."""
        pieces = (self._start, *old.pieces, self._end, *new.pieces, self._end)
        marks = (0, *_marks(old, new, 0), 0, *_marks(new, old, MARKS), MARKS)
        return Row(pieces, marks)


def _words(text: str, encoding: Encoding) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The folded word of each piece, and what kind of word it is; marks of punctuation have no word."""
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
    # A capital says nothing at the beginning of a sentence.
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
"""Where each relation stands when the texts change places."""
CLEARLY_DISTINCT = 0.95
"""Most neighbours of a text are merely near; one reading that is this sure of it needs no second."""

Logits = NDArray[np.float64]


def logits_of(run: Callable[[str, str], Logits], old: str, new: str) -> Logits:
    """The mean of both readings, or the one in the fixed order where that calls the texts clearly distinct.

    Which reading comes first depends on the texts alone, so the swapped pair has the mirrored logits.

    Args:
        run: Logits of (first text, second text).
    """
    swapped = new < old
    first, second = (new, old) if swapped else (old, new)
    logits = run(first, second)
    if shares(logits)[-1] < CLEARLY_DISTINCT and first != second:
        logits = (logits + run(second, first)[list(MIRROR)]) / 2
    return logits[list(MIRROR)] if swapped else logits


def shares(logits: Logits) -> Logits:
    """Probabilities of the logits."""
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), dtype=np.float64)
