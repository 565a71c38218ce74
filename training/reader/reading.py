"""Opinions of the reader on lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from training.reader.mean import mean_of
from training.reader.model import Reader, batch_of
from training.reader.rows import Rows
from training.running import BFLOAT16
from wellkept.models.tokenizer.pairs import MIRROR, shares
from wellkept.types import Opinion

PIECES = 2_000
"""Most pieces of a batch, with padding."""


class ReaderOpinions:
    """Reads lists with a reader.

    Args:
        model: The reader.
        rows: Makes its rows.
        turned: Whether each list is also read backwards, so that each candidate is once read after all others, and the
            opinions are the mean of both readings.
        alone: Whether each candidate is read in a row of its own.
    """

    def __init__(self, model: Reader, rows: Rows, *, turned: bool = False, alone: bool = False) -> None:
        self._model, self._rows, self._turned, self._alone = model.eval(), rows, turned, alone

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """Opinions on the older texts of each list."""
        if self._alone:
            each = iter(self._told([(new, [text]) for new, texts in lists for text in texts]))
            return [[next(each)[0] for _ in texts] for _, texts in lists]
        told = self._told(lists)
        if self._turned:
            back = self._told([(new, texts[::-1]) for new, texts in lists])
            told = [
                [mean_of(one, other) for one, other in zip(a, b[::-1], strict=True)]
                for a, b in zip(told, back, strict=True)
            ]
        return [list(opinions) for opinions in told]

    def _told(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion]]:
        rows = [self._rows.row(new, texts) for new, texts in lists]
        found: list[list[Opinion]] = [[] for _ in rows]
        for places in _batches([len(row.pieces) for row in rows]):
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=BFLOAT16):
                logits = self._model(batch_of([rows[at] for at in places])).double().numpy()
            for at, of_row in zip(places, logits, strict=True):
                ahead = of_row[: len(rows[at].ends), list(MIRROR)]
                found[at] = [Opinion(*np.round(one, 4).tolist()) for one in map(shares, ahead)]
        return found


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    chosen: list[int] = []
    for at in sorted(range(len(sizes)), key=lambda at: sizes[at]):
        if chosen and (len(chosen) + 1) * sizes[at] > PIECES:
            yield chosen
            chosen = []
        chosen.append(at)
    if chosen:
        yield chosen
