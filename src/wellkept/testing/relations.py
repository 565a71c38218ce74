"""A fake relation model with opinions chosen by the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wellkept.core.judging.list_head import FEATURES, ODDS_OF_THE_ACT, Head
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.policy import Risk
from wellkept.types import Opinion

_CONFLICT = Head(
    tuple(float(place == ODDS_OF_THE_ACT) for place in range(FEATURES["mark"])), 0.0, english=2.0, other=2.0
)
"""A head that gives P(*conflict*) and never marks by itself."""


class FakeRelationModel:
    """Returns declared opinions; undeclared pairs have none, so that rules and bands decide.

    Args:
        failure: Raised instead of an answer, for tests of an outage.

    Example:
        >>> fake = FakeRelationModel()
        >>> fake.declare("Ana leads billing.", "Billing is run by Bo.", conflict=0.97)
        >>> [opinion.conflict for opinion in fake.read([("Ana leads billing.", "Billing is run by Bo.")])]
        [0.97]
    """

    id = "fake-relations"
    defers = True

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.asked: list[tuple[str, str]] = []
        self._declared: dict[tuple[str, str], Opinion] = {}

    def declare(self, old: str, new: str, **shares: float) -> None:
        """Declare the opinion on a pair, as probabilities by relation; the rest goes to *distinct*."""
        rest = 1.0 - sum(shares.values())
        values = {"same": 0.0, "refines": 0.0, "generalises": 0.0, "conflict": 0.0, "distinct": rest} | shares
        rounded: dict[str, Any] = {name: round(share, 4) for name, share in values.items()}
        self._declared[old, new] = Opinion(**rounded, model=self.id)

    def bounds(self, risk: Risk) -> Bounds:
        """Round thresholds, higher under `strict`."""
        bounds = Bounds(0.9, 0.5, 0.8, 0.5, 0.9) if risk == "balanced" else Bounds(0.98, 0.5, 0.95, 0.5, 0.98)
        return replace(bounds, mark=_CONFLICT)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """Opinions in the order of the pairs."""
        if self.failure is not None:
            raise self.failure
        self.asked += pairs
        return [self._declared.get(pair) for pair in pairs]
