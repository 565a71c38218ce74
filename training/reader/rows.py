"""Rows of the reader: a new text and its candidates as a short note, which the model reads from left to right.

    Later: We moved to Ghent in May.
    Earlier:
    - Home is a flat in Bruges.
    - The cat came along.

The relation of a candidate is read off its last piece, the end of its line, where the model has seen the new text, this
candidate and those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tokenizers import Tokenizer

START = 0
"""The piece between two texts of the model's first training."""


@dataclass(frozen=True, slots=True)
class Row:
    """One new text with its candidates as pieces, and where each candidate ends."""

    pieces: tuple[int, ...]
    ends: tuple[int, ...]


class Rows:
    """Makes rows.

    Args:
        tokenizer: Of the language model.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        def pieces_of(text: str) -> tuple[int, ...]:
            return tuple(tokenizer.encode(text).ids)

        self._later, self._earlier, self._item = (pieces_of(text) for text in ("Later:", "Earlier:", "-"))
        (self._end,) = pieces_of("\n")
        self._pieces_of = lru_cache(maxsize=1 << 16)(pieces_of)

    def pieces(self, text: str) -> tuple[int, ...]:
        """The pieces of one text, which becomes one line."""
        return self._pieces_of(" " + " ".join(text.split()))

    def row(self, new: str, texts: Sequence[str]) -> Row:
        """The row of a new text and its candidates."""
        pieces, ends = [START, *self._later, *self.pieces(new), self._end, *self._earlier, self._end], []
        for text in texts:
            pieces += [*self._item, *self.pieces(text), self._end]
            ends.append(len(pieces) - 1)
        return Row(tuple(pieces), tuple(ends))
