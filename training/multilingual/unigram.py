"""The tokeniser of multilingual-e5-small: for each word, the pieces whose log-probabilities have the largest sum.

Kudo (2018), "Subword Regularization", section 3.2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from wellkept.models.tokenizer.wordpiece import Encoding

FRAME = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[UNK]": 3}
"""The pieces without text; they have MiniLM's names, since the rows are made by the same code."""
EDGE = "▁"
"""Stands for the space before a word."""
LONGEST_PIECE = 16
_PENALTY = 10.0
"""Of a character that no piece spells, below the rarest piece."""
_LONGEST_WORD = 200
"""A longer word is cut, which bounds the time."""
_ALONE = "぀-ヿ㐀-鿿豈-﫿\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[^\W{_ALONE}]+")
"""A word of a script with spaces; in scripts without them each piece counts as a word."""


class Unigram:
    """A tokeniser with the same answers as `wellkept.models.tokenizer.wordpiece.Tokenizer` has for MiniLM.

    Args:
        pieces: Numbers of the pieces, those of `FRAME` among them.
        scores: Log-probability of each piece.

    Example:
        >>> tokenizer = Unigram({**FRAME, "▁tea": 4, "cup": 5, "!": 6}, [0, 0, 0, 0, -5.0, -6.0, -4.0])
        >>> tokenizer.encode("tea cup!").ids
        [4, 3, 5, 6]
    """

    def __init__(self, pieces: Mapping[str, int], scores: Sequence[float]) -> None:
        self.pieces = pieces
        self._scores = scores
        self._unknown = min(scores) - _PENALTY
        self._cut = lru_cache(maxsize=1 << 16)(self._best)

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
        best = [0.0] + [float("-inf")] * len(word)
        back = [(0, 0)] * (len(word) + 1)
        for end in range(1, len(word) + 1):
            for start in range(max(0, end - LONGEST_PIECE), end):
                number = self.pieces.get(word[start:end])
                if number is not None:
                    score = best[start] + self._scores[number]
                elif end - start == 1:
                    number, score = FRAME["[UNK]"], best[start] + self._unknown
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


def tokenizer_of(run: Path) -> Unigram:
    """The tokeniser with the vocabulary of a run."""
    pieces, scores = json.loads((run / "pieces.json").read_text(encoding="utf-8"))
    return Unigram({piece: number for number, piece in enumerate(pieces)}, scores)
