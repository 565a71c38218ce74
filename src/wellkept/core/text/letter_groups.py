"""Groups of letters of a text, and weights over them.

Groups of 2 to 4 letters are the same for every language and every form of a word. Linear weights over them tell the
language of a text, chatter, and changes.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from math import sqrt
from typing import Self
from zlib import crc32

from wellkept.core.text.text_cache import MIB, remembered
from wellkept.frozen import frozen

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


@frozen(eq=False)
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
