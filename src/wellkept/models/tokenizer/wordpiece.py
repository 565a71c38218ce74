"""Uncased WordPiece as in BERT: the vocabulary of both models, and tokenisation.

Gives the same pieces and offsets as the package `tokenizers`, without that package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from wellkept.frozen import frozen
from wellkept.models.tokenizer.bert_folding import folding
from wellkept.models.tokenizer.data_files import DATA, unpacked

VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
LONGEST_WORD = 100
"""Characters; a longer word is one unknown piece."""
_REMEMBERED = 8192
_SHORT = 32
"""Words of at most this length are cached, which limits the cache in bytes."""
Cut: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
"""The pieces of a word and their spans in the word."""


def minilm_pieces() -> dict[str, int]:
    """The 30,522 MiniLM pieces with their numbers.

    Raises:
        ModelUnavailable: The file is missing or damaged.
    """
    content = unpacked(DATA / "minilm-vocab.txt.gz", VOCABULARY_SHA256)
    # Only line feeds separate entries: some pieces are unusual separators themselves.
    lines = content.decode("utf-8").removesuffix("\n").split("\n")
    return {piece: number for number, piece in enumerate(lines)}


@frozen
class Encoding:
    """A tokenised text; the three lists have equal length.

    Attributes:
        ids: Number of each piece.
        offsets: Span of each piece in the text.
        word_ids: Index of the word of each piece.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]
    word_ids: list[int]

    def unknown_share(self, text: str, no_piece: int) -> float:
        """The share of letters and digits of the text that the vocabulary cannot spell, 0 to 1; 1 without any.

        Letters are counted, not words: in a script without spaces one unknown word may be a whole sentence.
        """
        letters = unknown = 0
        for piece, (start, end) in zip(self.ids, self.offsets, strict=True):
            count = sum(map(str.isalnum, text[start:end]))
            letters += count
            unknown += count if piece == no_piece else 0
        return unknown / letters if letters else 1.0


class Tokenizer:
    """Greedy longest-match tokeniser; safe to share between threads.

    No piece is special: "[SEP]" in a memory is plain text.

    Args:
        pieces: The vocabulary, including "[UNK]". Pieces inside a word begin with "##".

    Example:
        >>> tokenizer = Tokenizer({"[UNK]": 0, "tea": 1, "##cup": 2, "!": 3})
        >>> tokenizer.encode("Teacup!")
        Encoding(ids=[1, 2, 3], offsets=[(0, 3), (3, 6), (6, 7)], word_ids=[0, 0, 1])
    """

    def __init__(self, pieces: Mapping[str, int]) -> None:
        self.pieces = pieces
        self._unknown = pieces["[UNK]"]
        self._inner: Mapping[str, int] = {
            piece[2:]: number for piece, number in pieces.items() if piece.startswith("##")
        }
        self._longest = max(map(len, pieces))
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._cut)

    def encode(self, text: str) -> Encoding:
        """Tokenise a text, word by word."""
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        words: list[int] = []
        word = 0
        for found in folding().words(text):
            start = found.start()
            one = found[0]
            numbers, spans = self._remembered(one) if len(one) <= _SHORT else self._cut(one)
            for number, (begin, end) in zip(numbers, spans, strict=True):
                ids.append(number)
                offsets.append((start + begin, start + end))
                words.append(word)
            word += bool(numbers)
        return Encoding(ids, offsets, words)

    def words(self, text: str) -> Iterator[str]:
        """The normalised words of a text."""
        table = folding()
        return (word for found in table.words(text) if (word := table.fold(found[0])[0]))

    def _cut(self, word: str) -> Cut:
        spelled, positions = folding().fold(word)
        if not spelled:
            return (), ()
        unknown: Cut = (self._unknown,), ((positions[0], positions[-1] + 1),)
        if len(spelled) > LONGEST_WORD:
            return unknown
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        known = self.pieces
        start = 0
        while start < len(spelled):
            end = min(len(spelled), start + self._longest)
            while end > start and spelled[start:end] not in known:
                end -= 1
            if end == start:
                return unknown
            ids.append(known[spelled[start:end]])
            spans.append((positions[start], positions[end - 1] + 1))
            known, start = self._inner, end
        return tuple(ids), tuple(spans)
