"""Policies: one frozen record per kind decides what a write becomes; there are no other switches.

Seven presets cover the five sources of the requirements (design §4). A policy may be written in
TOML; every wrong key, value or kind is an error that names the place and what is allowed there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

from wellkept.errors import InvalidPolicy, UnknownKind
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

# S0-9, S4-5, S4-9: the seeds' thresholds, named once.
DEDUP_CHECK_THRESHOLD = 0.95
SIMILARITY_EDGE_THRESHOLD = 0.90
CONFLICT_THRESHOLD = 0.80
# Measured: asking for .80 before a contradiction is even reported loses half of them, while the rules
# that find one are precise at any similarity. So conflicts are reported from .60, and act from .80.
CONFLICT_REPORT_AT = 0.60
DEDUP_THRESHOLDS: Mapping[str, float] = {"exact": 1.0, "canonical": 0.95, "embedding": 0.88}
EVOLUTION_THRESHOLDS: Mapping[str, float] = {"duplicate": 0.88, "evolve_max": 0.88, "evolve_min": 0.65, "create": 0.65}
EPISODE_OVERLAP = 0.7
EPISODE_WINDOW_MINUTES = 30.0

MAX_CONTENT_CHARS = 200_000
CONFLICT_DAYS = 14.0
AUTO_LINK_AT = 0.65
MOST_AUTO_LINKS = 5


@dataclass(frozen=True, slots=True)
class Band:
    """From this similarity on, this happens to a neighbour that no difference protects.

    Args:
        at: Lower bound on the published similarity scale, 0 to 1.
        outcome: skip, link, evolve or merge. `merge` acts only under `on_conflict="supersede"`
            (S2-28); otherwise the repeat is stored, linked and listed for review.
        inclusive: Whether the bound itself belongs to the band (B-1).
    """

    at: float
    outcome: BandOutcome
    inclusive: bool = True

    def holds(self, similarity: float) -> bool:
        """Whether this similarity lies in the band or above it."""
        return similarity >= self.at if self.inclusive else similarity > self.at


@dataclass(frozen=True, slots=True)
class Decay:
    """How fast an unused memory of a kind fades (host-systems D1).

    Args:
        stability_days: Days after which retrievability has fallen to 1/e, before any use.
        growth: Factor by which a read by id multiplies stability, before difficulty.
        weak_below: Retrievability under which the lifecycle is WEAK.
        dormant_below: Retrievability under which it is DORMANT.
        cap_days: Largest stability.
        difficulty: 0 to 1; halves at most the growth.
    """

    stability_days: float = 60.0
    growth: float = 3.0
    weak_below: float = 0.4
    dormant_below: float = 0.05
    cap_days: float = 365.0
    difficulty: float = 0.3


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "on_conflict": get_args(OnConflict),
    "on_same_subject": get_args(OnSameSubject),
    "admit": get_args(Admission),
    "on_error": get_args(OnError),
    "delivery": get_args(Delivery),
    "risk": get_args(Risk),
    "conflicts_with": get_args(ConflictsWith),
    "preset": ("insight", "append_only", "general", "fact", "episode", "decision", "knowledge"),
}
_LISTS: Mapping[str, tuple[str, ...]] = {"scope": get_args(ScopeKey), "stages": get_args(GateStage)}
_LINKING: Mapping[str, tuple[int, ...]] = {"wikilinks": (True, False), "auto_link": tuple(range(MOST_AUTO_LINKS + 1))}
_SHARES = ("conflict_at", "act_at", "replace_at", "same_at", "overlap", "auto_link_at")


def _is_one_of(value: object, values: tuple[int, ...]) -> bool:
    return type(value) is type(values[0]) and value in values  # True equals 1, and is no number of links


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _not_allowed(name: str, value: object, allowed: tuple[str, ...]) -> InvalidPolicy:
    return InvalidPolicy(
        f"{name}: {value!r} is not allowed", where="KindPolicy", todo=f"Use one of: {', '.join(allowed)}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KindPolicy:
    """What the write gate does with one kind.

    Args:
        preset: The preset it was made from.
        scope: What a stored memory must share with the new one to be compared at all; the
            namespace and the kind always (S4-16).
        stages: Which stages look for candidates, in this order.
        bands: Ordered from high to low.
        on_conflict: What a found conflict does (S2-28). `supersede_sure` supersedes only when one
            value was replaced in the same statement, and warns otherwise.
        conflict_at: Similarity from which a decisive difference is reported as a conflict.
        on_same_subject: What a new value of the same slot does (B-4).
        act_at: Similarity from which a conflict supersedes or is refused; below, it is only reported.
        replace_at: Similarity that `replace_if_similar` asks for.
        same_at: Similarity from which a text that the relation model calls the same, within its
            bound, is a repeat even below the bands (B-31); 1 leaves it to the bands.
        risk: The bound on errors under which the relation model may act.
        conflicts_with: Whether a contradiction is looked for among memories of its own kind, or of
            any kind that looks further too; of another kind it is only reported.
        window_minutes / overlap: An ongoing memory younger than this with more than this share of
            common words is reused (S3-13, S3-14).
        admit: Which filter a text must pass: none, the content filter, or the recording filter too.
        on_error: What a broken model does: store unchecked, or raise (B-11).
        delivery: Whether a queue may hold the write back (S0-43).
        wikilinks: Whether `[[names]]` in the text become links, and its own title answers to others' (S0-42).
        auto_link: To how many of the nearest memories of any kind a stored text is linked besides (S0-38).
        auto_link_at: The similarity that those must have at least.
        decay: How it fades.
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
        """A policy built in Python is held to the same rules as one read from TOML."""
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise _not_allowed(name, getattr(self, name), allowed)
        for name, allowed in _LISTS.items():
            for item in getattr(self, name):
                if item not in allowed:
                    raise _not_allowed(name, item, allowed)
        for name in _SHARES:
            if not _is_share(getattr(self, name)):
                raise InvalidPolicy(f"{name}: {getattr(self, name)!r} is not a number from 0 to 1", where="KindPolicy")
        for name, values in _LINKING.items():
            if not _is_one_of(getattr(self, name), values):
                raise _not_allowed(name, getattr(self, name), tuple(map(str, values)))
        bounds = [band.at for band in self.bands]
        if bounds != sorted(bounds, reverse=True) or not all(0 <= bound <= 1 for bound in bounds):
            raise InvalidPolicy("bands: bounds go from high to low, from 1 to 0", where="KindPolicy")

    def band(self, similarity: float) -> Band | None:
        """The band this similarity falls into; None below all of them."""
        return next((band for band in self.bands if band.holds(similarity)), None)


PRESETS: Mapping[str, KindPolicy] = {
    "insight": KindPolicy(
        preset="insight",
        stages=("hash", "canonical", "vector"),
        bands=(Band(DEDUP_CHECK_THRESHOLD, "skip"), Band(SIMILARITY_EDGE_THRESHOLD, "link")),
        delivery="sync",
    ),
    "append_only": KindPolicy(preset="append_only", admit="anything"),
    "general": KindPolicy(
        preset="general",
        scope=("kind", "tags"),
        stages=("hash", "canonical", "vector"),
        bands=(Band(DEDUP_CHECK_THRESHOLD, "merge"),),
    ),
    "fact": KindPolicy(
        preset="fact",
        scope=("kind", "agent"),
        stages=("hash", "canonical", "subject", "vector"),
        bands=(Band(DEDUP_CHECK_THRESHOLD, "skip"),),
        on_conflict="supersede_sure",
        act_at=0.85,
        on_same_subject="replace",
    ),
    "episode": KindPolicy(
        preset="episode",
        scope=("kind", "agent"),
        stages=("window",),
        admit="anything",
        decay=Decay(14, 2.0, 0.5, 0.1, 180),
    ),
    "decision": KindPolicy(preset="decision", scope=("kind", "agent"), admit="decision"),
    "knowledge": KindPolicy(
        preset="knowledge",
        stages=("hash", "canonical", "vector"),
        bands=(
            Band(EVOLUTION_THRESHOLDS["duplicate"], "skip", inclusive=False),
            Band(EVOLUTION_THRESHOLDS["evolve_min"], "evolve"),
        ),
    ),
}
"""The seven presets of design §4."""

_EPISODIC = Decay(14, 2.0, 0.5, 0.1, 180)
_SIGNALS = Decay(2, 1.5, 0.5, 0.15, 30)


TOLD_AGAIN_AT = 0.60
"""B-31: similarity from which the default kinds take the relation model's *same* for a repeat."""


def _of(
    preset: str,
    stability_days: float | None = None,
    decay: Decay | None = None,
    *,
    conflicts_with: ConflictsWith = "any_kind",
) -> KindPolicy:
    """A preset as a default kind has it: with the relation model's word beside the seeds' bands (B-31).

    What a kind may drop, it may also drop when it is told again in other words; what may change, is
    compared with every other kind that may change. Events (append-only, episodes, decisions) are
    never repeats, but an episode or a decision may tell that a fact no longer holds. The four types of
    S2 stay among themselves, as S2-21 says.
    """
    policy = PRESETS[preset]
    if decay is None:
        decay = policy.decay
    if stability_days is not None:
        decay = replace(decay, stability_days=stability_days)
    policy = replace(policy, decay=decay)
    if preset == "append_only":
        return policy
    same_at = TOLD_AGAIN_AT if "vector" in policy.stages else 1.0
    return replace(policy, conflicts_with=conflicts_with, same_at=same_at)


DEFAULT_KINDS: Mapping[str, KindPolicy] = {
    "lesson": _of("insight", 90),
    "curiosity": _of("insight", 14),
    "thesis": _of("append_only", 30),
    "signal": _of("append_only", decay=_SIGNALS),
    "trade": _of("append_only", 21, _EPISODIC),
    "trade_entry": _of("append_only", 21, _EPISODIC),
    "trade_close": _of("append_only", 21, _EPISODIC),
    "trade_modify": _of("append_only", 21, _EPISODIC),
    "watchpoint": _of("append_only", 5, _SIGNALS),
    "turn_summary": _of("append_only", 7, _EPISODIC),
    "session_summary": _of("append_only", 14, _EPISODIC),
    "semantic": _of("general", conflicts_with="own_kind"),
    "episodic": _of("general", decay=_EPISODIC, conflicts_with="own_kind"),
    "procedural": _of("general", decay=Decay(120, 3.5, 0.3, 0.03, 365), conflicts_with="own_kind"),
    "feedback": _of("general", conflicts_with="own_kind"),
    "note": _of("general"),
    "fact": _of("fact"),
    "episode": _of("episode"),
    "decision": _of("decision"),
    "knowledge": _of("knowledge"),
    "summary": _of("knowledge"),
    "temp_note": _of("knowledge", decay=_SIGNALS),
}
"""Which preset each known kind has by default."""


@dataclass(frozen=True)
class Policy:
    """The policies of all kinds; an immutable value that every journal entry names by its hash.

    Args:
        kinds: Kind to policy. An entry `"*"` opens the set: any other kind gets that policy (B-32).
        max_content_chars: Longest text, in characters.
        conflict_days: Days after which an open conflict counts as "keep both".

    Example:
        >>> from wellkept import Policy
        >>> Policy().for_kind("lesson").preset
        'insight'
        >>> Policy.from_toml('[kinds.rumour]\\npreset = "general"\\n').for_kind("rumour").preset
        'general'
    """

    kinds: Mapping[str, KindPolicy] = field(default_factory=lambda: dict(DEFAULT_KINDS))
    max_content_chars: int = MAX_CONTENT_CHARS
    conflict_days: float = CONFLICT_DAYS

    def for_kind(self, kind: str) -> KindPolicy:
        """The policy of a kind.

        Raises:
            UnknownKind: Neither the kind nor `"*"` is known (S0-6).
        """
        found = self.kinds.get(kind) or self.kinds.get("*")
        if found is None:
            known = ", ".join(sorted(self.kinds))
            raise UnknownKind(f"unknown kind {kind!r}", where="kind", todo=f"Use one of: {known}")
        return found

    @cached_property
    def hash(self) -> str:
        """16 hex digits over everything the policy says; stable between processes and releases."""
        plain = json.dumps(_plain(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(plain.encode()).hexdigest()[:16]

    def with_conflict(self, kind: str, on_conflict: OnConflict) -> Policy:
        """The same policy with another `on_conflict` for one kind, as a call may ask (S2-56)."""
        changed = replace(self.for_kind(kind), on_conflict=on_conflict)
        return replace(self, kinds={**self.kinds, kind: changed})

    @classmethod
    def from_toml(cls, text: str, *, origin: str = "policy") -> Policy:
        """Read a policy from TOML text; `origin` is the file name that errors mention.

        Kinds not mentioned keep their default. A kind starts from its `preset`, or from its
        default policy, and changes what it names.

        Raises:
            InvalidPolicy: Not TOML, or a wrong key or value; says the line, and what is allowed.
        """
        import tomllib

        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidPolicy(f"not TOML: {error}", where=origin, todo="Mend the syntax") from error
        return _Reader(text, origin).policy(data)


# Fields that came later than the first journals: left as they are, they leave the hash as it was then.
_ADDED: Mapping[str, object] = {"wikilinks": True, "auto_link": 0, "auto_link_at": AUTO_LINK_AT}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        plain = {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
        return {name: item for name, item in plain.items() if _ADDED.get(name, _ADDED) != item}
    return value


_DECAY_RANGES: Mapping[str, tuple[float, float]] = {
    "stability_days": (0.01, 36_500),
    "growth": (1, 100),
    "weak_below": (0, 1),
    "dormant_below": (0, 1),
    "cap_days": (0.01, 36_500),
    "difficulty": (0, 1),
}


class _Reader:
    """Turns parsed TOML into a policy, naming line and key of whatever is wrong."""

    def __init__(self, text: str, origin: str) -> None:
        self._lines = text.splitlines()
        self._origin = origin

    def policy(self, data: Mapping[str, Any]) -> Policy:
        self._keys(data, ("kinds", "max_content_chars", "conflict_days"), "")
        kinds = dict(DEFAULT_KINDS)
        table = data.get("kinds", {})
        if not isinstance(table, Mapping):
            raise self._error("kinds", "must be a table of kinds", "Write [kinds.NAME]")
        for kind, entry in table.items():
            if not isinstance(entry, Mapping):
                raise self._error(f"kinds.{kind}", "must be a table", f"Write [kinds.{kind}]")
            kinds[kind] = self._kind(kind, entry)
        most = self._number(data, "max_content_chars", "", MAX_CONTENT_CHARS, (1, 10_000_000))
        days = self._number(data, "conflict_days", "", CONFLICT_DAYS, (0.01, 36_500))
        return Policy(kinds=kinds, max_content_chars=int(most), conflict_days=days)

    def _kind(self, kind: str, entry: Mapping[str, Any]) -> KindPolicy:
        path = f"kinds.{kind}."
        self._keys(entry, tuple(item.name for item in fields(KindPolicy)), path)
        if "preset" in entry:
            self._choice(entry["preset"], "preset", path)
            start = replace(PRESETS[entry["preset"]], decay=DEFAULT_KINDS.get(kind, PRESETS[entry["preset"]]).decay)
        elif kind in DEFAULT_KINDS:
            start = DEFAULT_KINDS[kind]
        else:
            raise self._error(path + "preset", "a new kind needs a preset", f"Use one of: {', '.join(PRESETS)}")
        changes: dict[str, Any] = {}
        for key, value in entry.items():
            match key:
                case "preset":
                    continue
                case "scope" | "stages":
                    changes[key] = self._list(value, key, path)
                case "bands":
                    changes[key] = self._bands(value, path)
                case "decay":
                    changes[key] = self._decay(value, start.decay, path)
                case "window_minutes":
                    changes[key] = self._number(entry, key, path, 0, (0, 525_600))
                case "wikilinks" | "auto_link":
                    changes[key] = self._linking(value, key, path)
                case _ if key in _SHARES:
                    changes[key] = self._number(entry, key, path, 0, (0, 1))
                case _:
                    changes[key] = self._choice(value, key, path)
        return replace(start, **changes)

    def _bands(self, value: Any, path: str) -> tuple[Band, ...]:
        key = path + "bands"
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self._error(key, "must be a list of tables", 'Write bands = [{at = 0.95, outcome = "skip"}]')
        bands = []
        for item in value:
            self._keys(item, ("at", "outcome", "inclusive"), key + ".")
            if "at" not in item or "outcome" not in item:
                raise self._error(key, "each band needs `at` and `outcome`", "Add the missing one")
            outcome = item["outcome"]
            if outcome not in get_args(BandOutcome):
                raise self._wrong(key + ".outcome", outcome, get_args(BandOutcome))
            inclusive = item.get("inclusive", True)
            if not isinstance(inclusive, bool):
                raise self._wrong(key + ".inclusive", inclusive, ("true", "false"))
            bands.append(Band(self._number(item, "at", key + ".", 0, (0, 1)), outcome, inclusive))
        if [band.at for band in bands] != sorted((band.at for band in bands), reverse=True):
            raise self._error(key, "bands must go from high to low", "Reorder them")
        return tuple(bands)

    def _decay(self, value: Any, start: Decay, path: str) -> Decay:
        key = path + "decay"
        if not isinstance(value, Mapping):
            raise self._error(key, "must be a table", f"Write [{key}]")
        self._keys(value, tuple(_DECAY_RANGES), key + ".")
        numbers = {name: self._number(value, name, key + ".", 0, _DECAY_RANGES[name]) for name in value}
        return replace(start, **numbers)

    def _choice(self, value: Any, key: str, path: str) -> Any:
        if value not in _CHOICES[key]:
            raise self._wrong(path + key, value, _CHOICES[key])
        return value

    def _linking(self, value: Any, key: str, path: str) -> bool | int:
        if not _is_one_of(value, _LINKING[key]):
            raise self._wrong(path + key, value, tuple(str(item).lower() for item in _LINKING[key]))
        return bool(value) if key == "wikilinks" else int(value)

    def _list(self, value: Any, key: str, path: str) -> tuple[Any, ...]:
        allowed = _LISTS[key]
        if not isinstance(value, list):
            raise self._error(path + key, "must be a list", f"Use any of: {', '.join(allowed)}")
        for item in value:
            if item not in allowed:
                raise self._wrong(path + key, item, allowed)
        return tuple(value)

    def _number(
        self, table: Mapping[str, Any], key: str, path: str, default: float, bounds: tuple[float, float]
    ) -> float:
        value = table.get(key, default)
        low, high = bounds
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self._error(path + key, f"{value!r} is not a number from {low:,.12g} to {high:,.12g}", "Change it")
        return float(value)

    def _keys(self, table: Mapping[str, Any], allowed: tuple[str, ...], path: str) -> None:
        for key in table:
            if key not in allowed:
                raise self._error(path + key, "unknown key", f"Allowed here: {', '.join(allowed)}")

    def _wrong(self, key: str, value: Any, allowed: tuple[str, ...]) -> InvalidPolicy:
        return self._error(key, f"{value!r} is not allowed", f"Use one of: {', '.join(allowed)}")

    def _error(self, key: str, what: str, todo: str) -> InvalidPolicy:
        return InvalidPolicy(f"{key}: {what}", where=f"{self._origin}{self._line(key)}", todo=todo)

    def _line(self, key: str) -> str:
        """The line a dotted key stands on, as far as plain search can tell."""
        table, _, last = key.rpartition(".")
        section = ""
        found = 0
        for number, line in enumerate(self._lines, start=1):
            text = line.strip()
            if text.startswith("["):
                section = text.strip("[]").replace('"', "")
                if section == key:
                    return f", line {number}"
                if section == table and not found:
                    found = number
            elif section == table and text.split("=")[0].strip().strip('"') == last:
                return f", line {number}"
            elif section and table == section + ".bands" and text.startswith("bands"):
                found = number
            elif not section and not table and text.split("=")[0].strip() == last:
                return f", line {number}"
        return f", line {found}" if found else ""
