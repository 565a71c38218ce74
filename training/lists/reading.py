"""Opinions of the list reader on the candidates of many texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from training.heads import Listing
from training.lists.model import ListModel, batch_of
from wellkept.models.relation import UNREADABLE_SHARE
from wellkept.models.tokenizer.lists import ListReader, ListRow, in_rows
from wellkept.models.tokenizer.pairs import MIRROR, Read

Logits = NDArray[np.float64]
Reading = Callable[[Sequence[ListRow]], list[Logits]]
"""Logits of each row's candidates, of shape (candidates, relations), from the candidate's point of view."""
_BATCH = 12


def with_torch(model: ListModel, *, fast: bool) -> Reading:
    """Reads with PyTorch, in bfloat16 if it is to be fast."""
    model.eval()

    def read(rows: Sequence[ListRow]) -> list[Logits]:
        order = sorted(range(len(rows)), key=lambda at: len(rows[at].pieces))
        found: dict[int, Logits] = {}
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=fast):
                logits = model(batch_of([rows[at] for at in chosen])).double().numpy()
            found |= {at: logits[place, : rows[at].blocks[-1]] for place, at in enumerate(chosen)}
        return [found[at] for at in range(len(rows))]

    return read


class Asked:
    """The rows of many texts with their candidates, and which candidate each block is.

    Args:
        reader: Makes the rows.
        lists: Texts with their candidates; what the vocabulary cannot spell is not read.
        alone: Whether each candidate is read in a list of its own.
    """

    def __init__(self, reader: ListReader, lists: Iterable[Listing], *, alone: bool = False) -> None:
        read = lru_cache(maxsize=None)(reader.read)
        self.rows: list[ListRow] = []
        self._whose: list[tuple[int, list[int]]] = []
        for at, (told, candidates) in enumerate(lists):
            new, texts = read(told), [read(text) for text in candidates]
            legible = [place for place, text in enumerate(texts) if _is_legible(text)] if _is_legible(new) else []
            parts = in_rows(new, [texts[place] for place in legible])
            for part in [[one] for some in parts for one in some] if alone else parts:
                places = [legible[place] for place in part]
                self.rows.append(reader.row(new, [texts[place] for place in places]))
                self._whose.append((at, places))

    def answers(self, logits: Sequence[Logits]) -> Iterator[tuple[int, int, Logits]]:
        """List, candidate, and logits of how the new text relates to it."""
        for (whose, places), of_row in zip(self._whose, logits, strict=True):
            for place, row in zip(places, of_row, strict=True):
                yield whose, place, np.round(row[list(MIRROR)], 4)


def _is_legible(text: Read) -> bool:
    return text.unknown <= UNREADABLE_SHARE
