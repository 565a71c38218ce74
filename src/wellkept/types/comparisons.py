"""How a new text relates to stored memories: differences, comparisons, matches, conflicts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from wellkept.frozen import frozen
from wellkept.types.memories import Memory
from wellkept.types.words import ConflictKind, DifferenceKind, Lifecycle, MatchAction, Relation, Resolution, Stage


@frozen
class Difference:
    """One named difference between two texts, with the words that show it.

    Attributes:
        kind: What differs.
        old: The words of the older text; may be empty.
        new: The words of the newer text; may be empty.
        decisive: True when the two texts cannot both hold (a conflict); False when they are only not
            duplicates.
        sure: True when one value was replaced by another in the same statement. Only then may the newer
            text supersede the older one automatically (preset `fact`).
    """

    kind: DifferenceKind
    old: str
    new: str
    decisive: bool = False
    sure: bool = False


@frozen
class Opinion:
    """The relation model's result for a pair: a calibrated probability for each relation, 4 decimals.

    Attributes:
        same: The new text says the same (duplicate or paraphrase).
        refines: The new text repeats the old one and adds detail.
        generalises: The new text says less than the old one.
        conflict: The two texts cannot both be currently true.
        distinct: Both hold and are about different things.
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
        """Probability that the new text adds nothing: `same` plus `generalises`."""
        return min(1.0, round(self.same + self.generalises, 4))

    def of(self, relation: Relation) -> float:
        """The probability of one relation; 0 for a relation the model does not know."""
        return getattr(self, relation, 0.0)

    def likeliest(self, among: Iterable[Relation]) -> Relation:
        """The most probable of these relations, the first of equals."""
        return max(among, key=self.of)


@frozen(kw_only=True)
class Reading:
    """What the relation model said when it read a new text beside older ones, kept so that nobody asks it again.

    Attributes:
        model: Version of the model.
        memory_ids: The memories that were read beside the new text.
        texts: Digest of the new text and of the older texts; the opinions hold for these texts only.
        opinions: All opinions to the last digit, packed (`core/judging/kept_opinions.py`).
    """

    model: str
    memory_ids: tuple[str, ...]
    texts: str
    opinions: str


@frozen
class Comparison:
    """The result of comparing a new text with a stored memory.

    Attributes:
        relation: same, refines, generalises, conflict, distinct. Without the relation model also
            variant (similar, but not the same) or none.
        similarity: On the published scale, rounded to 4 decimals; None without vectors.
        cosine: The raw cosine, rounded to 4 decimals; None without vectors.
        differences: What differs; any difference prevents skip, merge and evolve.
        reason: The decisive difference: `negation_diff`, `polarity`, `value_diff` or `custom_fn`;
            `model` when the relation model found the conflict; empty when there is none.
        opinion: The relation model's probabilities; None when the model was not asked.
    """

    relation: Relation
    similarity: float | None
    cosine: float | None
    differences: tuple[Difference, ...] = ()
    reason: str = ""
    opinion: Opinion | None = None

    @property
    def confidence(self) -> float | None:
        """The model's probability of the relation; None when rules or hashes decided."""
        if self.opinion is None or any(item.decisive for item in self.differences):
            return None
        return self.opinion.of(self.relation)


@frozen
class Candidate:
    """A stored memory found by a stage, before it is compared."""

    memory: Memory
    stage: Stage
    cosine: float | None = None


@frozen
class Match:
    """A candidate after comparison: its relation to the new text and the action taken."""

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


@frozen
class Reason:
    """One step of a decision: the rule that fired and its input."""

    rule: str
    detail: str


@frozen(kw_only=True)
class Conflict:
    """Two memories that contradict each other (contradiction), say the same (duplicate), or of which
    the newer probably replaces the older (outdated).

    Attributes:
        key: Computed from the pair and the kind, so that the same pair is never flagged twice.
        a: Id of the older memory.
        b: Id of the newer memory.
        reason: `polarity`, `negation_diff`, `value_diff`, `custom_fn`, `model` (found by the relation
            model alone: a possible conflict) or `repeat`.
        resolution: How the conflict was resolved; None while it is open.
        expires_at: When an open conflict is treated as resolved by keeping both.
        probability: That the newer replaces the older, for a mark.
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
    probability: float | None = None
