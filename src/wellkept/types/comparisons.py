"""How a new statement relates to stored ones: differences, comparisons, matches, conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from wellkept.types.memories import Memory
from wellkept.types.words import ConflictKind, DifferenceKind, Lifecycle, MatchAction, Relation, Resolution, Stage


@dataclass(frozen=True, slots=True)
class Difference:
    """One named way in which two texts differ, with the words that decided.

    Attributes:
        kind: What differs.
        old: The words of the older text; empty when it has none.
        new: The words of the newer text; empty when it has none.
        decisive: True when the two cannot both hold (a conflict); False when the difference only
            forbids calling them the same.
        sure: True when one value was replaced by another in the same statement, so that the newer
            may supersede the older on its own (preset `fact`).
    """

    kind: DifferenceKind
    old: str
    new: str
    decisive: bool = False
    sure: bool = False


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the relation model says of a pair: a calibrated probability for each relation, 4 decimals.

    Attributes:
        same: The new text says nothing new.
        refines: It repeats the old one and adds to it.
        generalises: It says less than the old one.
        conflict: Both cannot be the current truth.
        distinct: Both hold, about different things.
        model: Version of the model.
    """

    same: float
    refines: float
    generalises: float
    conflict: float
    distinct: float
    model: str = ""

    @property
    def repeats(self) -> float:
        """Probability that the new text adds nothing: it says the same, or less."""
        return min(1.0, round(self.same + self.generalises, 4))

    def of(self, relation: Relation) -> float:
        """The probability of one relation; 0 for a word the model does not know."""
        return {
            "same": self.same,
            "refines": self.refines,
            "generalises": self.generalises,
            "conflict": self.conflict,
            "distinct": self.distinct,
        }.get(relation, 0.0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a new statement relates to a stored one.

    Attributes:
        relation: same, refines, generalises, conflict, distinct; without the relation model's
            opinion also variant (alike, yet not the same) or none.
        similarity: On the published scale, rounded to 4 decimals; None without vectors.
        cosine: The raw cosine, rounded to 4 decimals; None without vectors.
        differences: What differs; any of them vetoes skip, merge and evolve.
        reason: The seeds' word for the decisive difference: `negation_diff`, `polarity`,
            `value_diff` or `custom_fn`; `model` where the relation model found the conflict; empty
            when there is none.
        opinion: What the relation model said; None when it was not asked.
    """

    relation: Relation
    similarity: float | None
    cosine: float | None
    differences: tuple[Difference, ...] = ()
    reason: str = ""
    opinion: Opinion | None = None

    @property
    def confidence(self) -> float | None:
        """The model's probability of the relation; None where rules or hashes decided."""
        if self.opinion is None or any(item.decisive for item in self.differences):
            return None
        return self.opinion.of(self.relation)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored memory that a stage proposed, before it is compared."""

    memory: Memory
    stage: Stage
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A candidate after comparison: what it is to the new text and what was done about it."""

    memory_id: str
    title: str
    lifecycle: Lifecycle
    stage: Stage
    relation: Relation
    action: MatchAction
    similarity: float | None = None
    cosine: float | None = None
    differences: tuple[Difference, ...] = ()
    opinion: Opinion | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """One step of the decision: the rule that fired and what it saw."""

    rule: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that cannot both hold (contradiction) or say the same (duplicate).

    Attributes:
        key: Deterministic over the pair and the kind, so that one pair is never flagged twice.
        a: Id of the older memory.
        b: Id of the newer memory.
        reason: `polarity`, `negation_diff`, `value_diff`, `custom_fn`, `model` (found by the relation
            model alone: a possible conflict) or `repeat`.
        resolution: How it was settled; None while it is open.
        expires_at: When an open conflict counts as settled by keeping both.
    """

    key: str
    a: str
    b: str
    kind: ConflictKind
    reason: str
    similarity: float | None
    differences: tuple[Difference, ...] = ()
    excerpt_a: str = ""
    excerpt_b: str = ""
    created_at: datetime
    expires_at: datetime | None = None
    resolution: Resolution | None = None
    resolved_at: datetime | None = None
