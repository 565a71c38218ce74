"""The policy of one kind: a frozen record with its similarity bands and its decay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from wellkept.errors import InvalidPolicy
from wellkept.frozen import frozen
from wellkept.types import OnConflict

BandOutcome: TypeAlias = Literal["skip", "link", "evolve", "merge"]
ScopeKey: TypeAlias = Literal["kind", "tags", "subject", "agent"]
GateStage: TypeAlias = Literal["hash", "canonical", "subject", "window", "vector"]
OnSameSubject: TypeAlias = Literal["none", "replace", "replace_if_similar"]
Admission: TypeAlias = Literal["anything", "content", "decision"]
OnError: TypeAlias = Literal["store", "raise"]
Risk: TypeAlias = Literal["strict", "balanced"]
ConflictsWith: TypeAlias = Literal["own_kind", "any_kind"]
Delivery: TypeAlias = Literal["sync", "queued"]
Repeats: TypeAlias = Literal["fold", "drop"]
Updates: TypeAlias = Literal["mark", "list", "supersede"]
Answers: TypeAlias = Literal["mark", "supersede"]
WhenJudged: TypeAlias = Literal["now", "later"]
SecondReader: TypeAlias = Literal["off", "uncertain"]

# Thresholds of the original systems, defined once.
DEDUP_CHECK_THRESHOLD = 0.95
SIMILARITY_EDGE_THRESHOLD = 0.90
CONFLICT_THRESHOLD = 0.80
# Measured: a report threshold of .80 misses half of the contradictions, while the rules that find them
# are precise at any similarity. So conflicts are reported from .60 and acted on from .80.
CONFLICT_REPORT_AT = 0.60
DEDUP_THRESHOLDS: Mapping[str, float] = {"exact": 1.0, "canonical": 0.95, "embedding": 0.88}
EVOLUTION_THRESHOLDS: Mapping[str, float] = {"duplicate": 0.88, "evolve_max": 0.88, "evolve_min": 0.65, "create": 0.65}
EPISODE_OVERLAP = 0.7
EPISODE_WINDOW_MINUTES = 30.0

AUTO_LINK_AT = 0.65
MOST_AUTO_LINKS = 5


@frozen
class Band:
    """The outcome for a candidate at or above a similarity, unless a difference prevents it.

    Args:
        at: Lower bound on the published similarity scale, 0 to 1.
        outcome: skip, link, evolve or merge. `merge` acts only under `on_conflict="supersede"`;
            otherwise the duplicate is stored, linked and listed for review.
        inclusive: Whether the bound itself belongs to the band.
    """

    at: float
    outcome: BandOutcome
    inclusive: bool = True

    def holds(self, similarity: float) -> bool:
        """Whether this similarity is in the band or above it."""
        return similarity >= self.at if self.inclusive else similarity > self.at


@frozen
class Decay:
    """How fast an unused memory of a kind fades.

    Args:
        stability_days: Days without use after which retrievability has fallen to 1/e.
        growth: Factor by which a read by id multiplies stability, before difficulty.
        weak_below: Below this retrievability the lifecycle is WEAK.
        dormant_below: Below this retrievability it is DORMANT.
        cap_days: Maximum stability.
        difficulty: 0 to 1; reduces the growth by up to half.
    """

    stability_days: float = 60.0
    growth: float = 3.0
    weak_below: float = 0.4
    dormant_below: float = 0.05
    cap_days: float = 365.0
    difficulty: float = 0.3


CHOICES: Mapping[str, tuple[str, ...]] = {
    "on_conflict": get_args(OnConflict),
    "on_same_subject": get_args(OnSameSubject),
    "admit": get_args(Admission),
    "on_error": get_args(OnError),
    "delivery": get_args(Delivery),
    "repeats": get_args(Repeats),
    "updates": get_args(Updates),
    "risk": get_args(Risk),
    "conflicts_with": get_args(ConflictsWith),
    "preset": ("insight", "append_only", "general", "fact", "episode", "decision", "knowledge"),
}
LISTS: Mapping[str, tuple[str, ...]] = {"scope": get_args(ScopeKey), "stages": get_args(GateStage)}
LINKING: Mapping[str, tuple[int, ...]] = {"wikilinks": (True, False), "auto_link": tuple(range(MOST_AUTO_LINKS + 1))}
SHARES = ("conflict_at", "act_at", "replace_at", "same_at", "overlap", "auto_link_at")


def is_one_of(value: object, values: tuple[int, ...]) -> bool:
    """Whether a value is one of these, with the same type."""
    return type(value) is type(values[0]) and value in values  # True equals 1, but is not a number of links


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _not_allowed(name: str, value: object, allowed: tuple[str, ...]) -> InvalidPolicy:
    return InvalidPolicy(
        f"{name}: {value!r} is not allowed", where="KindPolicy", todo=f"Use one of: {', '.join(allowed)}"
    )


@frozen(kw_only=True)
class KindPolicy:
    """What the write gate does with memories of one kind.

    Args:
        preset: The preset it was made from.
        scope: Fields that a stored memory must share with the new one to be compared, in addition to
            the namespace and the kind.
        stages: The stages that look for candidates, in order.
        bands: Similarity bands, from high to low.
        on_conflict: What a conflict does. `supersede_sure` supersedes only when one value was replaced
            in the same statement, and otherwise warns.
        conflict_at: Similarity from which a decisive difference is reported as a conflict.
        on_same_subject: What a new value of the same slot does.
        act_at: Similarity from which a conflict supersedes or is refused; below it is only reported.
        replace_at: Similarity required by `replace_if_similar`.
        same_at: Similarity from which a text that the relation model classifies as the same, within
            its risk bound, is a duplicate even below the bands; 1 turns this off.
        risk: The error bound under which the relation model may act.
        conflicts_with: Whether contradictions are searched among memories of the same kind, or of every
            kind with this setting; a contradiction with another kind is only reported.
        family: Kinds of one family are compared for restatements, whatever their kind; empty for none.
        repeats: What becomes of a text that similarity or the relation model takes for a restatement: `fold`
            keeps it as a wording of the memory, `drop` keeps only a count and the journal entry.
        updates: What a probable update does to the older memory: `mark` marks it as outdated, `list` only lists
            a sure contradiction, `supersede` replaces it.
        window_minutes / overlap: An ongoing memory younger than this, with more than this share of
            common words, is reused.
        admit: Which filter a text must pass: none, the content filter, or also the recording filter.
        on_error: What happens when a model fails: store unchecked, or raise.
        delivery: Whether writes of this kind may be queued.
        wikilinks: Whether `[[names]]` in the text become links, and whether its title can be linked to.
        auto_link: Number of nearest memories of any kind that a stored text is also linked to.
        auto_link_at: Minimum similarity for these links.
        decay: How memories of this kind fade.
    """

    preset: str
    scope: tuple[ScopeKey, ...] = ("kind",)
    stages: tuple[GateStage, ...] = ()
    bands: tuple[Band, ...] = ()
    on_conflict: OnConflict = "warn"
    conflict_at: float = CONFLICT_REPORT_AT
    act_at: float = CONFLICT_THRESHOLD
    on_same_subject: OnSameSubject = "none"
    replace_at: float = CONFLICT_THRESHOLD
    same_at: float = 1.0
    risk: Risk = "balanced"
    conflicts_with: ConflictsWith = "own_kind"
    family: str = ""
    repeats: Repeats = "drop"
    updates: Updates = "list"
    window_minutes: float = EPISODE_WINDOW_MINUTES
    overlap: float = EPISODE_OVERLAP
    admit: Admission = "content"
    on_error: OnError = "store"
    delivery: Delivery = "queued"
    wikilinks: bool = True
    auto_link: int = 0
    auto_link_at: float = AUTO_LINK_AT
    decay: Decay = Decay()

    def __post_init__(self) -> None:
        """Apply the checks of the TOML reader to policies built in Python."""
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise _not_allowed(name, getattr(self, name), allowed)
        for name, allowed in LISTS.items():
            for item in getattr(self, name):
                if item not in allowed:
                    raise _not_allowed(name, item, allowed)
        for name in SHARES:
            if not _is_share(getattr(self, name)):
                raise InvalidPolicy(f"{name}: {getattr(self, name)!r} is not a number from 0 to 1", where="KindPolicy")
        for name, values in LINKING.items():
            if not is_one_of(getattr(self, name), values):
                raise _not_allowed(name, getattr(self, name), tuple(map(str, values)))
        bounds = [band.at for band in self.bands]
        if bounds != sorted(bounds, reverse=True) or not all(0 <= bound <= 1 for bound in bounds):
            raise InvalidPolicy("bands: bounds go from high to low, from 1 to 0", where="KindPolicy")

    def band(self, similarity: float) -> Band | None:
        """The band of this similarity; None below all bands."""
        return next((band for band in self.bands if band.holds(similarity)), None)

    def outcomes(self, similarity: float) -> list[BandOutcome]:
        """The outcomes of all bands that this similarity reaches, the highest band first."""
        return [band.outcome for band in self.bands if band.holds(similarity)]
