"""Weights of the parts of a recall score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Literal, TypeAlias, get_args

from wellkept.errors import InvalidField
from wellkept.frozen import frozen

RecencyBasis: TypeAlias = Literal["accessed", "created", "event"]
"""Start of a memory's age: its last use, its creation, or its event time."""

PARTS: tuple[str, ...] = ("cosine", "lexical", "recency", "importance", "polarity", "confidence", "activation")
"""Parts of a score, in the order in which they are shown."""


@frozen(kw_only=True)
class HybridWeights:
    """Weights of the parts of a hybrid score; a part with weight 0 does not count.

    Attributes:
        cosine: Cosine similarity of the embeddings.
        lexical: BM25 over the candidates, divided by the best candidate's score.
        recency: `exp(-decay_rate * days)`.
        importance: The memory's `importance`.
        polarity: The memory's `polarity`: -1, 0 or 1.
        confidence: The memory's `confidence`.
        activation: Activation spread over links from the best memories.
        decay_rate: Share of its recency that a memory loses in a day.
        recency_basis: Count days since the last use (`accessed`), since storage (`created`), or since the
            event time (`event`). With `accessed`, each recall makes its hits more recent.

    Example:
        >>> HybridWeights().cosine, HybridWeights(lexical=0.0).recency
        (0.55, 0.15)
        >>> HybridWeights(cosine=0.0, lexical=0.0, recency=0.0, importance=0.0)
        Traceback (most recent call last):
            ...
        wellkept.errors.InvalidField: all weights are zero (weights). Give at least one part a weight.
    """

    cosine: float = 0.55
    lexical: float = 0.20
    recency: float = 0.15
    importance: float = 0.10
    polarity: float = 0.0
    confidence: float = 0.0
    activation: float = 0.0
    decay_rate: float = 0.1
    recency_basis: RecencyBasis = "accessed"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "recency_basis":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise InvalidField(
                    f"{value!r} is not a weight", where=f"weights.{field.name}", todo="Use a number from 0"
                )
        if self.recency_basis not in get_args(RecencyBasis):
            allowed = ", ".join(get_args(RecencyBasis))
            raise InvalidField(
                f"{self.recency_basis!r} is not allowed", where="weights.recency_basis", todo=f"Use one of: {allowed}"
            )
        if not any(self.shares().values()):
            raise InvalidField("all weights are zero", where="weights", todo="Give at least one part a weight")

    def shares(self) -> dict[str, float]:
        """The weight of each part whose weight is not 0, by name."""
        return {name: float(getattr(self, name)) for name in PARTS if getattr(self, name) > 0}


WeightsName: TypeAlias = Literal["default", "hybrid", "hybrid-created", "hybrid-event"]
WEIGHT_PRESETS: Mapping[str, HybridWeights] = {
    "default": HybridWeights(cosine=0.7, lexical=0.3, recency=0.0, importance=0.0),
    "hybrid": HybridWeights(),
    "hybrid-created": HybridWeights(recency_basis="created"),
    "hybrid-event": HybridWeights(recency_basis="event"),
}
"""Weights by name: `default` is the blend of `mode="default"`, `hybrid` that of hybrid mode; the others
differ in the time from which age is counted."""
