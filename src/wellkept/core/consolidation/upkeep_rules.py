"""Upkeep rules: archive expired and faded memories, which stay restorable.

They are ordinary consolidation rules, for `Consolidation(rules=…)` or a separate plan (`fading_plan`). Nothing is
erased.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta

from wellkept.core.consolidation.plan import Setting, Survey, config_hash, plan_id_of, plan_of
from wellkept.core.consolidation.rules import Consolidation, Rule, When
from wellkept.core.consolidation.survey import id_of
from wellkept.core.records.lifecycle import lifecycle
from wellkept.errors import InvalidField
from wellkept.frozen import frozen
from wellkept.policy import Policy
from wellkept.types import Action, Conflict, Detected, Lifecycle, Memory, Plan, Scope

EXPIRED = Rule(id="lifecycle-expired", trigger="always", action="archive", when=When(expired=True))
FADED_SCORE = 0.05
"""Decay score at or below which a memory counts as faded."""
FADED = Rule(
    id="lifecycle-faded",
    trigger="always",
    action="archive",
    when=When(max_score=FADED_SCORE, lifecycle_any=("DORMANT",)),
)
"""Faded by both decay score and lifecycle: the score alone would archive a lesson after 23 days that is ACTIVE for 82.
"""
LIFECYCLE_RULES: tuple[Rule, ...] = (EXPIRED, FADED)
"""Expiry and fading; pinned and procedural memories are archived only when expired."""

TTL_DAYS: Mapping[str, float | None] = {"decision": 90.0, "summary": 7.0, "temp_note": 1.0, "lesson": None}
"""Suggested days by kind; None means never, by age or by fading. Applied only on request."""
_MOST_DAYS = 36_500.0
_STAGES: tuple[Lifecycle, ...] = ("ACTIVE", "WEAK", "DORMANT")


def ttl_rule(kind: str, days: float) -> Rule:
    """Rule that archives memories of a kind not changed or confirmed for this long.

    In your own consolidation a tag of that name matches too, as in every rule.

    Example:
        >>> ttl_rule("temp_note", 1).when.min_age_days
        1.0
    """
    when = When(min_age_days=float(days), categories_any=(kind,))
    return Rule(id=f"lifecycle-ttl-{kind}", trigger="always", action="archive", when=when)


@frozen
class KindFading:
    """Number of active memories of a kind per lifecycle stage."""

    kind: str
    active: int
    weak: int
    dormant: int


@frozen
class Transition:
    """A memory whose lifecycle stage changed within the period."""

    memory_id: str
    kind: str
    before: Lifecycle
    after: Lifecycle


@frozen(kw_only=True)
class DecayReport:
    """The effect of time on a store.

    Attributes:
        kinds: Counts by kind, sorted by name.
        transitions: Stage changes since `since`, oldest memory first.
        since: Start of the period.
        plan: Archivings with reasons; not executed.
    """

    kinds: tuple[KindFading, ...]
    transitions: tuple[Transition, ...]
    since: datetime
    plan: Plan


@frozen(kw_only=True)
class Aging:
    """The configuration of a decay pass.

    Args:
        rules: Archiving rules; `LIFECYCLE_RULES` by default.
        ttl: Days to live by kind, None for never; empty by default.
        days: Length of the period for transitions.
    """

    rules: tuple[Rule, ...] = LIFECYCLE_RULES
    ttl: Mapping[str, float | None] = field(default_factory=dict)
    days: float = 1.0

    def __post_init__(self) -> None:
        """Raise `InvalidField` for values out of range."""
        for kind, days in self.ttl.items():
            if days is not None and not (_is_days(days) and days > 0):
                where = f"ttl of {kind}"
                raise InvalidField(f"{days!r} is not a number of days", where=where, todo="Use more than 0, or never")
        if not _is_days(self.days):
            raise InvalidField(f"{self.days!r} is not a number of days", where="days", todo="Use 0 to 36500")


def _is_days(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_DAYS


def fading(rows: Sequence[Memory], policy: Policy, *, now: datetime, days: float) -> tuple[
    tuple[KindFading, ...], tuple[Transition, ...]
]:  # fmt: skip
    """Lifecycle counts per kind, and stage changes within the last `days`.

    Lifecycle stages are computed, never stored.
    """
    counts: dict[str, dict[Lifecycle, int]] = {}
    moved: list[Transition] = []
    past = now - timedelta(days=days)
    for row in rows:
        decay = policy.for_kind(row.kind).decay
        stage = lifecycle(row, decay, now)
        counts.setdefault(row.kind, dict.fromkeys(_STAGES, 0))[stage] += 1
        before = lifecycle(row, decay, past)
        if before != stage:
            moved.append(Transition(row.id, row.kind, before, stage))
    kinds = tuple(KindFading(kind, *(counts[kind][stage] for stage in _STAGES)) for kind in sorted(counts))
    return kinds, tuple(moved)


def fading_plan(
    rows: Sequence[Memory],
    conflicts: Sequence[Conflict],
    aging: Aging,
    *,
    policy: Policy,
    namespace: str,
    scope: Scope,
    now: datetime,
) -> Plan:
    """The plan of a decay pass: archive each expired or faded memory.

    Kinds are processed separately, so that a time to live does not match a tag of the same name. It counts from the
    last change, so restoring, revising or confirming a memory restarts it.
    """
    actions: list[Action] = []
    for kind in sorted({row.kind for row in rows}):
        own = [row for row in rows if row.kind == kind]
        actions += _archived(own, conflicts, _rules_of(kind, aging), policy=policy, now=now)
    place = {row.id: at for at, row in enumerate(rows)}
    actions.sort(key=lambda action: place[action.targets[0]])
    setting = Setting(
        policy=policy,
        config=Consolidation(rules=aging.rules),
        scope=scope,
        namespace=namespace,
        models=tuple(f"ttl {kind} {days}" for kind, days in sorted(aging.ttl.items())),
        now=now,
    )
    config = config_hash(setting)
    snapshot = id_of(*(f"{row.id}:{row.version}" for row in rows), size=16)
    return Plan(
        plan_id=plan_id_of(config, snapshot, actions),
        config_hash=config,
        snapshot=snapshot,
        namespace=namespace,
        scope=scope,
        detected=Detected(memories=len(rows)),
        actions=tuple(actions),
    )


def _rules_of(kind: str, aging: Aging) -> tuple[Rule, ...]:
    """The rules of a kind: with its time to live, or with expiry only if that is None."""
    if kind not in aging.ttl:
        return aging.rules
    days = aging.ttl[kind]
    if days is None:
        return tuple(rule for rule in aging.rules if rule.when.expired)
    return (*aging.rules, ttl_rule(kind, days))


def _archived(
    rows: Sequence[Memory],
    conflicts: Sequence[Conflict],
    rules: tuple[Rule, ...],
    *,
    policy: Policy,
    now: datetime,
) -> list[Action]:
    """The archivings of a kind, matched by `plan_of`."""
    setting = Setting(policy=policy, config=Consolidation(rules=rules), scope=Scope(), namespace="", models=(), now=now)
    survey = Survey(rows=tuple(rows), conflicts=tuple(conflicts))
    days = {rule.id: rule.when.min_age_days for rule in rules if rule.id.startswith("lifecycle-ttl-")}
    changed = {row.id: row.updated_at for row in rows}
    found = []
    for action in plan_of(survey, setting).actions:
        limit = days.get(action.rationale.rule)
        if limit is not None:
            if now - changed[action.targets[0]] < timedelta(days=limit):
                continue
            reason = f"nobody changed or confirmed it for {limit:g} days"
            action = replace(action, rationale=replace(action.rationale, reasons=(reason,)))
        if action.type == "archive":
            found.append(action)
    return found
