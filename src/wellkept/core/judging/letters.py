"""Groups of letters of a text, and what those of two texts tell about a change.

A model that has learnt English words knows hardly any other; groups of 2 to 4 letters are the same for every language
and every form of a word. Linear weights over them say how much a text sounds like news ("moved", "ab sofort"), and how
much what it adds to another text, leaves out of it and shares with it look like a change of the same thing.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any, Self
from zlib import crc32

from wellkept.core.text.text_cache import MIB, remembered

BUCKETS = 1 << 14
"""Groups of letters share this many weights."""
_SHORTEST_GROUP, _LONGEST_GROUP = 2, 4


@remembered(16 * MIB)
def letters_of(text: str) -> frozenset[int]:
    """The buckets of a text: its groups of 2 to 4 letters, with the edges of words, and its pairs of words.

    None of it depends on a language. The hash is CRC-32, which is the same everywhere.

    Example:
        >>> letters_of("Tea at four") == letters_of("tea  at FOUR")
        True
    """
    words = text.casefold().split()
    pairs = (f"{first} {second}" for first, second in zip(words, words[1:], strict=False))
    return frozenset(map(_bucket, pairs)).union(*map(_letters_of_word, set(words)))


@remembered(4 * MIB)
def _letters_of_word(word: str) -> frozenset[int]:
    framed = f" {word} "
    return frozenset(
        _bucket(framed[at : at + length])
        for length in range(_SHORTEST_GROUP, _LONGEST_GROUP + 1)
        for at in range(max(1, len(framed) - length + 1))
    )


def _bucket(group: str) -> int:
    return crc32(group.encode("utf-8", "surrogatepass")) % BUCKETS


@dataclass(frozen=True, slots=True, eq=False)
class LetterWeights:
    """Weights of groups of letters.

    Attributes:
        weights: One for each of `BUCKETS` groups, -128 to 127, in units of `step`.
        step: Unit of the weights.
    """

    weights: Sequence[int]
    step: float

    @classmethod
    def of(cls, letters: str, step: float) -> Self:
        """The weights from their bytes in base64."""
        return cls(memoryview(b64decode(letters)).cast("b"), step)

    def sum(self, groups: frozenset[int]) -> float:
        """The sum over these groups, relative to the square root of their number; the same on every processor."""
        return self.step * sum(map(self.weights.__getitem__, groups)) / sqrt(max(1, len(groups)))


@dataclass(frozen=True, slots=True, eq=False)
class ChangeCues:
    """How much a text sounds like a change, by its letters.

    Attributes:
        news: Weights of the groups of a text alone.
        whole: Weights of the groups of a new text beside an older one.
        added: Of those that only the new text has.
        gone: Of those that only the older text has.
        common: Of those that both have.
        bias: The constant term of the pair.
    """

    news: LetterWeights
    whole: LetterWeights
    added: LetterWeights
    gone: LetterWeights
    common: LetterWeights
    bias: float

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """The weights from their JSON object."""
        names = ("news", "whole", "added", "gone", "common")
        news, whole, added, gone, common = (LetterWeights.of(**plain[name]) for name in names)
        return cls(news, whole, added, gone, common, plain["bias"])

    def of_text(self, new: str) -> float:
        """How much a text alone sounds like a change, as log-odds without their constant."""
        return self.news.sum(letters_of(new))

    def of_pair(self, new: str, old: str) -> float:
        """Log-odds that the new text changes what the older one says."""
        ours, theirs = letters_of(new), letters_of(old)
        parts = (
            self.whole.sum(ours),
            self.added.sum(ours - theirs),
            self.gone.sum(theirs - ours),
            self.common.sum(ours & theirs),
        )
        return fsum((self.bias, *parts))
