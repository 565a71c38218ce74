"""The tokeniser of the network for other languages: the pieces with the largest sum, their places and words."""

from __future__ import annotations

import pytest

from wellkept.models.tokenizer.unigram import FRAME, Unigram

UNKNOWN = 3
PIECES = (*FRAME, "▁tea", "▁", "cup", "!", "▁teacup", "犬", "を")
TOKENIZER = Unigram(PIECES, [0.0, 0.0, 0.0, 0.0, -5.0, -3.0, -6.0, -4.0, -20.0, -7.0, -7.0])


@pytest.mark.parametrize(
    ("text", "ids", "offsets", "words"),
    [
        ("tea cup!", [4, 5, 6, 7], [(0, 3), (4, 4), (4, 7), (7, 8)], [0, 1, 1, 2]),
        ("teacup", [4, 6], [(0, 3), (3, 6)], [0, 0]),  # -5 - 6 is more than -20
        ("tea ß", [4, 5, UNKNOWN], [(0, 3), (4, 4), (4, 5)], [0, 1, 1]),
        ("犬を", [5, 9, 10], [(0, 0), (0, 1), (1, 2)], [0, 1, 2]),  # without spaces each piece is a word
        (" \n", [], [], []),
        ("[SEP]", [5, *[UNKNOWN] * 5], [(0, 0), *[(at, at + 1) for at in range(5)]], [0, 1, 2, 2, 2, 3]),
    ],
)
def test_a_text_is_cut_into_the_pieces_with_the_largest_sum(
    text: str, ids: list[int], offsets: list[tuple[int, int]], words: list[int]
) -> None:
    told = TOKENIZER.encode(text)
    assert (told.ids, told.offsets, told.word_ids) == (ids, offsets, words)


def test_a_word_without_end_is_read_in_parts() -> None:
    assert len(TOKENIZER.encode("x" * 100_000).ids) >= 100_000
