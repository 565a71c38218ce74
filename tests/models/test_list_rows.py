"""Rows of the list reader: what stands in them, and what sees what."""

from __future__ import annotations

import numpy as np
import pytest

from wellkept.models.tokenizer.lists import LONGEST_LIST, MOST_CANDIDATES, ListReader, gathered, in_rows
from wellkept.models.tokenizer.pairs import MARKS, NAME, NUMBER, SHARED, PairReader, Read
from wellkept.models.tokenizer.wordpiece import Tokenizer, minilm_pieces

NEW = "The office moved to Dublin on 4 May."
OLD = ("The office is in Cork.", "Dublin has 4 offices.", "Tea at four.")


@pytest.fixture(scope="module")
def reader() -> ListReader:
    return ListReader(Tokenizer(minilm_pieces()))


def test_a_list_of_one_is_the_row_of_a_pair(reader: ListReader) -> None:
    new, old = reader.read(NEW), reader.read(OLD[0])
    row, pair = reader.row(new, [old]), PairReader(reader.tokenizer).row(new, old)
    marks = [
        kind // MARKS * MARKS + SHARED if share else kind for kind, share in zip(row.marks, row.shared, strict=True)
    ]
    by_place = sorted(zip(row.places, row.pieces, marks, strict=True))
    assert by_place == list(zip(range(len(pair.pieces)), pair.pieces, pair.marks, strict=True))


def test_a_candidate_has_the_same_block_wherever_it_stands(reader: ListReader) -> None:
    new, old = reader.read(NEW), [reader.read(text) for text in OLD]
    plain, mirrored = reader.row(new, old), reader.row(new, old[::-1])

    def blocks(row: object) -> set[object]:
        parts = [getattr(row, name) for name in ("pieces", "marks", "shared", "places", "blocks")]
        found: dict[int, list[object]] = {}
        for *piece, block in zip(*parts, strict=True):
            found.setdefault(block, []).append(tuple(piece))
        return {tuple(pieces) for pieces in found.values()}

    assert blocks(plain) == blocks(mirrored)


@pytest.mark.parametrize(
    ("word", "share", "kind"),
    [("office", 1 / 3, None), ("dublin", 1 / 3, NAME), ("4", 2 / 3, NUMBER), ("may", 0, NAME), (".", 1, None)],
)
def test_a_word_of_the_new_text_is_shared_with_the_part_of_the_candidates_that_hold_it(
    reader: ListReader, word: str, share: float, kind: int | None
) -> None:
    row = reader.row(reader.read(NEW), [reader.read(text) for text in OLD])
    at = row.pieces.index(reader.tokenizer.pieces[word])
    assert row.blocks[at] == 0
    assert row.shared[at] == pytest.approx(share)
    assert kind is None or row.marks[at] == kind


@pytest.mark.parametrize(
    ("new", "candidates", "lists"),
    [
        pytest.param(10, [10] * 8, [[0, 1, 2, 3, 4, 5, 6, 7]], id="eight short ones are one list"),
        pytest.param(10, [10] * 9, [[0, 1, 2, 3, 4, 5, 6, 7], [8]], id="a ninth begins a second list"),
        pytest.param(20, [119, 118, 119, 119], [[0, 1, 2], [3]], id="what does not fit begins a second list"),
        pytest.param(100, [154, 10], [[1]], id="a pair that is too long is not read"),
        pytest.param(100, [153, 10], [[0, 1]], id="the longest pair is read"),
        pytest.param(10, [], [], id="without candidates there is no list"),
    ],
)
def test_candidates_are_read_in_as_few_lists_as_fit(new: int, candidates: list[int], lists: list[list[int]]) -> None:
    def text(size: int) -> Read:
        return Read((5,) * size, ("word",) * size, (1,) * size, 0.0)

    texts = [text(size) for size in candidates]
    assert in_rows(text(new), texts) == lists
    for part in lists:
        assert len(part) <= MOST_CANDIDATES
        assert new + 1 + sum(candidates[at] + 2 for at in part) <= LONGEST_LIST


def test_a_block_sees_itself_and_the_new_text_only(reader: ListReader) -> None:
    row = reader.row(reader.read(NEW), [reader.read(text) for text in OLD])
    found, blocks = gathered(row), np.array(row.blocks)
    for number, seen in enumerate(found["asked"], start=1):
        wanted = np.flatnonzero((blocks == 0) | (blocks == number))
        assert sorted(seen[seen >= 0]) == list(wanted)
    placed = found["asking"].ravel()[found["back"]]
    assert list(placed) == list(np.flatnonzero(blocks > 0))
