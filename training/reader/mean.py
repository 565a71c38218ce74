"""The mean of what two readers say of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from wellkept.core.judging.list_head import ReadTwice
from wellkept.models.tokenizer.pairs import LABELS
from wellkept.types import Opinion

Known: TypeAlias = Mapping[tuple[str, tuple[str, ...]], Sequence[Opinion | None]]
"""Opinions on the older texts of lists: a new text and the older ones."""


class MeanOpinions:
    """Lists that two readers have read.

    Args:
        one: What one of them has said; if it has read a text twice, the other counts beside each reading.
        other: What the other has said.
    """

    def __init__(self, one: Known, other: Known) -> None:
        self._one, self._other = one, other

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """The means of both opinions on the older texts of each list; none where one has none."""
        return [
            [
                a and b and mean_of(a, b)
                for a, b in zip(self._one[new, tuple(texts)], self._other[new, tuple(texts)], strict=True)
            ]
            for new, texts in lists
        ]


def mean_of(one: Opinion, other: Opinion) -> Opinion:
    """The mean of two opinions; if the first is of two readings, the other counts beside each of them."""
    whole = [(one.of(label) + other.of(label)) / 2 for label in LABELS]
    if isinstance(one, ReadTwice):
        return ReadTwice(*whole, first=mean_of(one.first, other), second=mean_of(one.second, other))
    return Opinion(*whole)
