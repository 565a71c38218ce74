"""What several readers of lists together say, for another one to learn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.heads import Listing
from training.lists.kept import reader_of, weights_in
from training.lists.model import from_pairs
from training.lists.reading import Asked, with_torch
from training.running import BFLOAT16

Shares = NDArray[np.float64]
"""The share of each relation of the new text to a candidate."""


class Teachers:
    """Readers whose log-odds are averaged.

    Args:
        folders: Their runs.
        vocabulary: vocab.txt of all-MiniLM-L6-v2, for runs without pieces of their own.
    """

    def __init__(self, folders: Sequence[Path], vocabulary: Path | None) -> None:
        self._readers = [
            (
                reader_of(folder, None if (folder / "pieces.json").exists() else vocabulary),
                with_torch(from_pairs(weights_in(folder)), fast=BFLOAT16),
            )
            for folder in folders
        ]

    def told(self, lists: Sequence[Listing]) -> list[dict[int, Shares]]:
        """For each list the candidates that all can spell, with the shares of their relations."""
        found: list[dict[int, list[Shares]]] = [{} for _ in lists]
        for reader, reading in self._readers:
            asked = Asked(reader, lists)
            for at, place, logits in asked.answers(reading(asked.rows)):
                found[at].setdefault(place, []).append(logits - np.log(np.exp(logits).sum()))
        return [
            {place: _shares(np.mean(told, axis=0)) for place, told in some.items() if len(told) == len(self._readers)}
            for some in found
        ]


def _shares(logs: Shares) -> Shares:
    parts = np.exp(logs - logs.max())
    return np.asarray(parts / parts.sum(), dtype=np.float64)
