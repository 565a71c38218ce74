"""What several readers of lists say on average: to measure it, and for another reader to learn it."""

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


class Together:
    """Readers whose log-odds are averaged.

    Args:
        folders: Their runs.
        vocabulary: vocab.txt of all-MiniLM-L6-v2, for runs without pieces of their own.
        weights: File of the weights in each folder.
    """

    def __init__(self, folders: Sequence[Path], vocabulary: Path | None, weights: str = "averaged.pt") -> None:
        self._readers = [
            (
                reader_of(folder, None if (folder / "pieces.json").exists() else vocabulary),
                with_torch(from_pairs(weights_in(folder, weights)), fast=BFLOAT16),
            )
            for folder in folders
        ]

    def told(self, lists: Sequence[Listing], *, alone: bool = False) -> list[dict[int, Shares]]:
        """For each list the candidates that all can spell, with the shares of their relations.

        Args:
            lists: New texts with their candidates.
            alone: Whether each candidate is read in a list of its own.
        """
        found: list[dict[int, list[Shares]]] = [{} for _ in lists]
        for reader, reading in self._readers:
            asked = Asked(reader, lists, alone=alone)
            for at, place, logits in asked.answers(reading(asked.rows)):
                found[at].setdefault(place, []).append(logits - np.log(np.exp(logits).sum()))
        return [
            {place: _shares(np.mean(told, axis=0)) for place, told in some.items() if len(told) == len(self._readers)}
            for some in found
        ]


def _shares(logs: Shares) -> Shares:
    parts = np.exp(logs - logs.max())
    return np.asarray(parts / parts.sum(), dtype=np.float64)
