"""The tokeniser of multilingual-e5-small: for each word, the pieces whose log-probabilities have the largest sum.

Kudo (2018), "Subword Regularization", section 3.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from wellkept.core.text.forms import UNSPACED
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.models.tokenizer.wordpiece import Encoding

FRAME = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
"""The first pieces, which have no text; they have MiniLM's names, since the same code makes the rows."""
EDGE = "▁"
"""Stands for the space before a word."""
LONGEST_PIECE = 16
_UNKNOWN = FRAME.index("[UNK]")
_PENALTY = 10.0
"""Of a character that no piece spells, below the rarest piece."""
_LONGEST_WORD = 200
"""A longer word is cut, which bounds the time."""
_WORD = re.compile(rf"[^\W{UNSPACED}]+")
"""A word of a script with spaces; in scripts without them each piece counts as a word."""


class Unigram:
    """A tokeniser with the interface of `wellkept.models.tokenizer.wordpiece.Tokenizer`; safe to share between threads.

    Args:
        pieces: The vocabulary, first the pieces of `FRAME`. A piece at the start of a word begins with `EDGE`.
        scores: Log-probability of each piece.

    Example:
        >>> tokenizer = Unigram([*FRAME, "▁tea", "cup", "!"], [0, 0, 0, 0, -5.0, -6.0, -4.0])
        >>> tokenizer.encode("teacup!").ids
        [4, 5, 6]
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        self.pieces: Mapping[str, int] = {piece: number for number, piece in enumerate(pieces)}
        # "[SEP]" in a memory is plain text.
        self._spelled = {piece: number for piece, number in self.pieces.items() if piece not in FRAME}
        self._scores = scores
        self._unknown = min(scores) - _PENALTY
        self._cut = remembered(4 * MIB)(self._best)

    def encode(self, text: str) -> Encoding:
        """The pieces of a text."""
        runs = [found.span() for found in _WORD.finditer(text)]
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        words: list[int] = []
        run, word = 0, -1
        for found in re.finditer(rf"\S{{1,{_LONGEST_WORD}}}", text):
            start = found.start() - 1
            last = None
            for piece, first, end in self._cut(EDGE + found.group()):
                span = (max(found.start(), start + first), start + end)
                while run < len(runs) and runs[run][1] <= span[0]:
                    run += 1
                inside = run if run < len(runs) and runs[run][0] < max(span[1], span[0] + 1) else None
                if inside is None or inside != last:
                    word += 1
                last = inside
                ids.append(piece)
                offsets.append(span)
                words.append(word)
        return Encoding(ids, offsets, words)

    def _best(self, word: str) -> tuple[tuple[int, int, int], ...]:
        """The pieces of a word, each with its start and end."""
        best = [0.0] + [float("-inf")] * len(word)
        back = [(0, 0)] * (len(word) + 1)
        for end in range(1, len(word) + 1):
            for start in range(max(0, end - LONGEST_PIECE), end):
                number = self._spelled.get(word[start:end])
                if number is not None:
                    score = best[start] + self._scores[number]
                elif end - start == 1:
                    number, score = _UNKNOWN, best[start] + self._unknown
                else:
                    continue
                if score > best[end]:
                    best[end], back[end] = score, (start, number)
        found, end = [], len(word)
        while end:
            start, number = back[end]
            found.append((number, start, end))
            end = start
        return tuple(reversed(found))
