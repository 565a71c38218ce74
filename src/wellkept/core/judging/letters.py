"""What the letters of two texts tell about a change.

A model that has learnt English words knows hardly any other; groups of letters say how much a text sounds like news
("moved", "ab sofort"), and how much what it adds to another text, leaves out of it and shares with it look like a
change of the same thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Any, Self

from wellkept.core.text.letter_groups import LetterWeights, letters_of
from wellkept.frozen import frozen


@frozen(eq=False)
class ChangeCues:
    """How much a text sounds like a change, by its letters.

    Attributes:
        news: Weights of the groups of a text alone.
        whole: Weights of the groups of a new text beside an older one.
        added: Of those that only the new text has.
        gone: Of those that only the older text has.
        common: Of those that both have.
        bias: The constant term of the pair.
    """

    news: LetterWeights
    whole: LetterWeights
    added: LetterWeights
    gone: LetterWeights
    common: LetterWeights
    bias: float

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """The weights from their JSON object."""
        names = ("news", "whole", "added", "gone", "common")
        news, whole, added, gone, common = (LetterWeights.of(**plain[name]) for name in names)
        return cls(news, whole, added, gone, common, plain["bias"])

    def of_text(self, new: str) -> float:
        """How much a text alone sounds like a change, as log-odds without their constant."""
        return self.news.sum(letters_of(new))

    def of_pair(self, new: str, old: str) -> float:
        """Log-odds that the new text changes what the older one says."""
        ours, theirs = letters_of(new), letters_of(old)
        parts = (
            self.whole.sum(ours),
            self.added.sum(ours - theirs),
            self.gone.sum(theirs - ours),
            self.common.sum(ours & theirs),
        )
        return fsum((self.bias, *parts))
