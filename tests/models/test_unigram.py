"""The tokeniser of the multilingual reader in training: the pieces with the largest sum, their places and words."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
UNKNOWN = 3
PIECES = {"▁tea": 4, "▁": 5, "cup": 6, "!": 7, "▁teacup": 8, "犬": 9, "を": 10}
SCORES = [0.0, 0.0, 0.0, 0.0, -5.0, -3.0, -6.0, -4.0, -20.0, -7.0, -7.0]


@pytest.fixture
def tokenizer() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        unigram = import_module("training.multilingual.unigram")
        yield unigram.Unigram({**unigram.FRAME, **PIECES}, SCORES)


@pytest.mark.parametrize(
    ("text", "ids", "offsets", "words"),
    [
        ("tea cup!", [4, 5, 6, 7], [(0, 3), (4, 4), (4, 7), (7, 8)], [0, 1, 1, 2]),
        ("teacup", [4, 6], [(0, 3), (3, 6)], [0, 0]),  # -5 - 6 is more than -20
        ("tea ß", [4, 5, UNKNOWN], [(0, 3), (4, 4), (4, 5)], [0, 1, 1]),
        ("犬を", [5, 9, 10], [(0, 0), (0, 1), (1, 2)], [0, 1, 2]),  # without spaces each piece is a word
        (" \n", [], [], []),
    ],
)
def test_a_text_is_cut_into_the_pieces_with_the_largest_sum(
    tokenizer: Any, text: str, ids: list[int], offsets: list[tuple[int, int]], words: list[int]
) -> None:
    told = tokenizer.encode(text)
    assert (told.ids, told.offsets, told.word_ids) == (ids, offsets, words)


def test_a_word_without_end_is_read_in_parts(tokenizer: Any) -> None:
    assert len(tokenizer.encode("x" * 100_000).ids) >= 100_000
