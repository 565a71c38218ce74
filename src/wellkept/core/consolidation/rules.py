"""Consolidation rules: conditions under which clusters or memories are merged, promoted, archived or flagged.

Seven rules are built in; a TOML file replaces or adds rules by id. Matching is a pure function of figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Any, Literal, TypeAlias, get_args

from wellkept.core.text.forms import slot_key
from wellkept.errors import InvalidRules, use_one_of
from wellkept.frozen import frozen
from wellkept.parsing import parsed_toml
from wellkept.policy import KindPolicy
from wellkept.types import ActionType, Trigger

Scale: TypeAlias = Literal["0-1", "1-3"]
Older: TypeAlias = Literal["archive", "supersede"]
Winner: TypeAlias = Literal["newest", "oldest", "most_used", "longest"]

DUPLICATE_AT = 0.95
"""Least similarity of near duplicates."""
EXACT_AT = 0.98
PROMOTE_ACCESSES = 5


@frozen(kw_only=True)
class When:
    """The conditions of a rule; None means no condition.

    Args:
        min_similarity: Least similarity within the cluster, 0 to 1.
        min_cluster_size: Least number of memories.
        min_age_days / max_age_days: Days since creation.
        min_access_count / max_access_count: Number of reads.
        min_importance / max_importance: On the rule's scale.
        categories_any: One of these is a tag or the kind.
        lifecycle_any: One of ACTIVE, WEAK, DORMANT.
        expired: Whether `expires_at` has passed.
        max_score: Highest decay score.
        min_score: Least certainty of a contradiction: 1 if found by rules, else the model's P(conflict). Only for rules
            on contradictions.
    """

    min_similarity: float | None = None
    min_cluster_size: int | None = None
    min_age_days: float | None = None
    max_age_days: float | None = None
    min_access_count: int | None = None
    max_access_count: int | None = None
    min_importance: float | None = None
    max_importance: float | None = None
    categories_any: tuple[str, ...] = ()
    lifecycle_any: tuple[str, ...] = ()
    expired: bool | None = None
    max_score: float | None = None
    min_score: float | None = None


@frozen(kw_only=True)
class Rule:
    """A consolidation rule: conditions and an action.

    Args:
        id: Name in reports and journal entries.
        trigger: When the rule applies; `daily` and `weekly` only in a run with that trigger.
        action: merge, fold, promote, archive, flag_contradiction, mark or noop.
        scale: Scale of its importances: `0-1` or `1-3`.
        bump: Increase of importance by promote or merge, on the rule's scale.
        cap: Highest importance after a bump, on the rule's scale.
        pin: Whether promote pins.
        winner: Whose text a merge keeps.
        older: What a merge does with the other members.
    """

    id: str
    trigger: Trigger
    action: ActionType
    when: When = When()
    scale: Scale = "0-1"
    bump: float = 0.0
    cap: float = 1.0
    pin: bool = False
    winner: Winner = "newest"
    older: Older = "archive"

    def share(self, importance: float) -> float:
        """An importance on this rule's scale, converted to 0 to 1."""
        return from_s1(importance) if self.scale == "1-3" else importance

    def share_of_bump(self) -> float:
        """The bump, converted to the scale 0 to 1."""
        return self.bump / 4 if self.scale == "1-3" else self.bump


def from_s1(importance: float) -> float:
    """An importance of 1 to 3 on the scale 0 to 1, anchored on the two defaults.

    Example:
        >>> from_s1(1.0), from_s1(1.5), from_s1(2.0), from_s1(3.0)
        (0.5, 0.625, 0.75, 1.0)
    """
    return min(1.0, max(0.0, 0.5 + (importance - 1) / 4))


DEFAULT_RULES: tuple[Rule, ...] = (
    Rule(
        id="R1-exact-duplicate-merge",
        trigger="on_similarity",
        action="merge",
        when=When(min_similarity=EXACT_AT, min_cluster_size=2),
    ),
    Rule(
        id="R2-near-duplicate-merge",
        trigger="on_similarity",
        action="merge",
        when=When(min_similarity=DUPLICATE_AT, min_cluster_size=2),
    ),
    Rule(
        id="R3-promote-high-value-procedural",
        trigger="always",
        action="promote",
        when=When(
            min_access_count=PROMOTE_ACCESSES,
            min_importance=2.0,
            categories_any=("sop", "procedure", "procedural", "coding", "trading"),
        ),
        scale="1-3",
        bump=0.5,
        cap=3.0,
    ),
    Rule(
        id="R4-archive-low-utility",
        trigger="always",
        action="archive",
        when=When(min_age_days=30, max_access_count=0, max_importance=1.5),
        scale="1-3",
    ),
    Rule(id="R5-flag-contradiction", trigger="on_contradiction", action="flag_contradiction"),
    Rule(id="R6-fold-restatement", trigger="on_similarity", action="fold"),
    Rule(id="R7-mark-outdated", trigger="on_contradiction", action="mark"),
)
"""The built-in rules."""


@frozen(kw_only=True)
class Figures:
    """Figures of a memory, a cluster or a contradiction that a rule is matched against.

    Attributes:
        score: Decay score.
        contradiction: Certainty of a contradiction; None otherwise.
    """

    age_days: float = 0.0
    access_count: int = 0
    importance: float = 0.5
    categories: frozenset[str] = frozenset()
    lifecycle: str = "ACTIVE"
    expired: bool = False
    score: float = 1.0
    contradiction: float | None = None
    similarity: float | None = None
    size: int = 1


def fits(rule: Rule, seen: Figures) -> bool:
    """Whether all conditions of a rule hold.

    Example:
        >>> fits(DEFAULT_RULES[3], Figures(age_days=45, importance=0.5))
        True
        >>> fits(DEFAULT_RULES[3], Figures(age_days=45, importance=0.5, access_count=1))
        False
    """
    when = rule.when
    least = when.min_importance if when.min_importance is None else rule.share(when.min_importance)
    most = when.max_importance if when.max_importance is None else rule.share(when.max_importance)
    return (
        _within(seen.similarity, when.min_similarity, None)
        and _within(seen.size, when.min_cluster_size, None)
        and _within(seen.age_days, when.min_age_days, when.max_age_days)
        and _within(seen.access_count, when.min_access_count, when.max_access_count)
        and _within(seen.importance, least, most)
        and _within(seen.score, None, when.max_score)
        and _within(seen.contradiction, when.min_score, None)
        and (not when.categories_any or not seen.categories.isdisjoint(map(slot_key, when.categories_any)))
        and (not when.lifecycle_any or seen.lifecycle in when.lifecycle_any)
        and (when.expired is None or seen.expired is when.expired)
    )


def _within(value: float | None, least: float | None, most: float | None) -> bool:
    if value is None:
        return least is None and most is None
    return (least is None or value >= least) and (most is None or value <= most)


def considered(rules: Sequence[Rule], trigger: Trigger | None) -> tuple[Rule, ...]:
    """The rules of a run; scheduled rules only with their trigger."""
    return tuple(rule for rule in rules if rule.trigger not in ("daily", "weekly") or rule.trigger == trigger)


# --------------------------------------------------------------------------------------------
# TOML


def _camel_case(name: str) -> str:
    """The key of a condition in a file: `min_age_days` is `minAgeDays`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


_WHEN_KEYS: Mapping[str, str] = {_camel_case(item.name): item.name for item in fields(When)}
_PARAMS: Mapping[str, tuple[str, ...]] = {
    "merge": ("bump", "cap", "canonical", "older"),
    "promote": ("bump", "cap", "pin"),
}
"""Parameters by action; the other actions have none."""
_TRIGGERS: Mapping[str, tuple[Trigger, ...]] = {
    "merge": ("on_similarity", "always", "daily", "weekly"),
    "fold": ("on_similarity", "always", "daily", "weekly"),
    "mark": ("on_contradiction", "always", "daily", "weekly"),
    "promote": ("always", "daily", "weekly"),
    "archive": ("always", "daily", "weekly"),
    "flag_contradiction": ("on_contradiction", "always", "daily", "weekly"),
    "noop": get_args(Trigger),
}
"""Triggers permitted per action; a rule that could never fire is an error."""
MAX_ID = 200
_COUNTS = ("min_cluster_size", "min_access_count", "max_access_count")
_SHARES = ("min_similarity", "max_score", "min_score")
_LISTS: Mapping[str, tuple[str, ...]] = {"categories_any": (), "lifecycle_any": ("ACTIVE", "WEAK", "DORMANT")}
_RULE_ACTIONS: tuple[ActionType, ...] = ("merge", "fold", "promote", "archive", "flag_contradiction", "mark", "noop")


def rules_from_toml(text: str, *, origin: str = "rules") -> tuple[Rule, ...]:
    """Parse rules from TOML: the built-in rules, replaced or extended by id.

    Args:
        text: `[[rules]]` tables; `defaults = false` at the top drops the built-in rules.
        origin: File name for errors.

    Raises:
        InvalidRules: Not TOML, or a wrong key or value; names the rule and the permitted values.

    Example:
        >>> text = '''
        ... [[rules]]
        ... id = "old-notes"
        ... trigger = "weekly"
        ... when = {minAgeDays = 90, categoriesAny = ["note"]}
        ... then = {action = "archive"}
        ... '''
        >>> [rule.id for rule in rules_from_toml(text)][-1]
        'old-notes'
    """
    data = parsed_toml(text, where=origin, error=InvalidRules)
    _known(data, ("rules", "defaults"), origin)
    keep = _flag(data.get("defaults", True), f"{origin}: defaults")
    tables = data.get("rules", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise InvalidRules("must be a list of tables", where=f"{origin}: rules", todo="Write [[rules]] for each rule")
    found = {rule.id: rule for rule in (DEFAULT_RULES if keep else ())}
    seen: set[str] = set()
    for place, table in enumerate(tables, start=1):
        rule = _rule(table, f"{origin}: rule {place}")
        if rule.id in seen:
            raise InvalidRules(f"{rule.id!r} is there twice", where=f"{origin}: rule {place}", todo="Rename one")
        seen.add(rule.id)
        found[rule.id] = rule
    return tuple(found.values())


def _rule(table: Mapping[str, Any], where: str) -> Rule:
    _known(table, ("id", "trigger", "importanceScale", "when", "then"), where)
    name = table.get("id")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_ID:
        raise InvalidRules("needs an id of one short line", where=where, todo='Write id = "my-rule"')
    where = f"{where} ({name[:60]})"
    then = _table(table.get("then"), ("action", "params"), f"{where}: then", 'then = {action = "archive"}')
    action: ActionType = _one_of(then.get("action"), _RULE_ACTIONS, f"{where}: then.action")
    allowed = _PARAMS.get(action, ())
    params = _table(then.get("params", {}), allowed, f"{where}: then.params", "params = {bump = 0.1}")
    scale: Scale = _one_of(table.get("importanceScale", "0-1"), get_args(Scale), f"{where}: importanceScale")
    top = 3.0 if scale == "1-3" else 1.0
    pin = _flag(params.get("pin", False), f"{where}: then.params.pin")
    when = _when(table.get("when", {}), f"{where}: when", top)
    if action in ("promote", "archive") and (when.min_similarity is not None or when.min_cluster_size is not None):
        raise InvalidRules(
            "minSimilarity and minClusterSize are of clusters, and this rule looks at one memory",
            where=f"{where}: when",
            todo="Leave them out",
        )
    trigger: Trigger = _one_of(table.get("trigger", _TRIGGERS[action][0]), _TRIGGERS[action], f"{where}: trigger")
    if when.min_score is not None and action not in ("flag_contradiction", "mark") and trigger != "on_contradiction":
        raise InvalidRules(
            "minScore is of contradictions, and this rule looks at none",
            where=f"{where}: when",
            todo='Leave it out, or write trigger = "on_contradiction"',
        )
    return Rule(
        id=name,
        trigger=trigger,
        action=action,
        when=when,
        scale=scale,
        bump=_number(params.get("bump", 0.0), f"{where}: then.params.bump", (0, top)),
        cap=_number(params.get("cap", top), f"{where}: then.params.cap", (0, top)),
        pin=pin,
        winner=_one_of(params.get("canonical", "newest"), get_args(Winner), f"{where}: then.params.canonical"),
        older=_one_of(params.get("older", "archive"), get_args(Older), f"{where}: then.params.older"),
    )


def _when(written: Any, where: str, top: float) -> When:
    values: dict[str, Any] = {}
    for key, value in _table(written, tuple(_WHEN_KEYS), where, "when = {minAgeDays = 30}").items():
        name, place = _WHEN_KEYS[key], f"{where}.{key}"
        if name in _LISTS:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise InvalidRules("must be a list of texts", where=place, todo=f'Write {key} = ["coding"]')
            values[name] = tuple(_one_of(item, _LISTS[name], place) if _LISTS[name] else item for item in value)
        elif name == "expired":
            values[name] = _one_of(value, (True, False), place)
        elif name in _COUNTS:
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidRules(f"{value!r} is not a count", where=place, todo="Use a whole number from 0")
            values[name] = value
        else:
            most = top if "importance" in name else 1.0 if name in _SHARES else 36_500.0
            values[name] = _number(value, place, (0, most))
    for name in ("AgeDays", "AccessCount", "Importance"):
        least, greatest = (f"{end}{name}" for end in ("min", "max"))
        low, high = (values.get(_WHEN_KEYS[key]) for key in (least, greatest))
        if low is not None and high is not None and low > high:
            raise InvalidRules(f"{least} is above {greatest}, so it never holds", where=where, todo="Change one")
    return When(**values)


def _table(written: Any, allowed: Sequence[str], where: str, example: str) -> Mapping[str, Any]:
    if not isinstance(written, Mapping):
        raise InvalidRules("must be a table", where=where, todo=f"Write {example}")
    _known(written, allowed, where)
    return written


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidRules(f"{value!r} is not allowed", where=where, todo="Use true or false")
    return value


def _known(table: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            todo = use_one_of(key, allowed or ("nothing",), words="Allowed here")
            raise InvalidRules(f"unknown key {key!r}", where=where, todo=todo)


def _one_of(value: Any, allowed: Sequence[Any], where: str) -> Any:
    if value not in allowed or isinstance(value, bool) != isinstance(allowed[0], bool):
        names = [str(item).lower() if isinstance(item, bool) else str(item) for item in allowed]
        raise InvalidRules(f"{value!r} is not allowed", where=where, todo=use_one_of(value, names))
    return value


def _number(value: Any, where: str, bounds: tuple[float, float]) -> float:
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidRules(f"{value!r} is not a number from {low:,.12g} to {high:,.12g}", where=where, todo="Change it")
    return float(value)


def plain(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """The rules as plain values, for the configuration hash."""
    return [{**_values(rule), "when": _values(rule.when)} for rule in rules]


def _values(record: Rule | When) -> dict[str, Any]:
    values = {item.name: getattr(record, item.name) for item in fields(record)}
    if values.get("min_score", 0) is None:
        del values["min_score"]  # keeps the hashes of plans made before this field existed
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@frozen(kw_only=True)
class Consolidation:
    """The configuration of a consolidation run.

    Args:
        rules: In order of precedence: the first match decides.
        trigger: Schedule of the run; None for a manual run.
        ask_at: Least similarity to ask the relation model about a pair that rules leave open.
        look_at: Least similarity to compare a pair by rules.
        nearest: Neighbours per memory that are compared below the merge similarity.
    """

    rules: tuple[Rule, ...] = field(default=DEFAULT_RULES)
    trigger: Trigger | None = None
    ask_at: float = 0.80
    look_at: float = 0.60
    nearest: int = 4

    @property
    def merge_at(self) -> float:
        """The lowest `min_similarity` of the merge rules; above 1 without merge rules."""
        bounds = [rule.when.min_similarity or 0.0 for rule in self.merging]
        return min(bounds, default=2.0)

    @property
    def merging(self) -> tuple[Rule, ...]:
        """The merge rules of this run, in order."""
        return tuple(rule for rule in considered(self.rules, self.trigger) if rule.action == "merge")

    def folds(self, policy: KindPolicy) -> bool:
        """Whether this run keeps restatements of a kind as wordings; the policy and a rule both say so."""
        return policy.repeats == "fold" and self._has("fold")

    def marks(self, policy: KindPolicy) -> bool:
        """Whether this run marks what a newer memory of a kind probably outdates; the policy and a rule both say so."""
        return policy.updates == "mark" and self._has("mark")

    def _has(self, action: ActionType) -> bool:
        return any(rule.action == action for rule in considered(self.rules, self.trigger))

    def first(self, action: ActionType, seen: Figures) -> Rule | None:
        """The first rule that decides about an action on a cluster or a contradiction; it may be a `noop`.

        Args:
            action: merge, fold, flag_contradiction or mark.
            seen: Figures of the cluster or the contradiction.
        """
        trigger = _TRIGGERS[action][0]
        for rule in considered(self.rules, self.trigger):
            spares = rule.action == "noop" and rule.trigger == trigger
            if (spares or rule.action == action) and fits(rule, seen):
                return rule
        return None

    def acting(self, action: ActionType, seen: Figures) -> Rule | None:
        """The same rule; None if it is a `noop`."""
        rule = self.first(action, seen)
        return None if rule is None or rule.action == "noop" else rule
