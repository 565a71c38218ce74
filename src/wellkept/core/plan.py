"""Rules meet findings: the plan of a consolidation, complete before anything is written (S1-43).

Read from top to bottom this is the order of precedence. A contradiction is flagged and vetoes a
merge (B-6); what is merged away is not promoted or archived too: one action for each memory and run
(E-2.3). Flags change no memory, come first, and name the memories that remain after the merges.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from wellkept.core.cluster import complete_linkage
from wellkept.core.codec import dumps
from wellkept.core.conflicts import is_open, key_of
from wellkept.core.explain import difference_words
from wellkept.core.findings import Finding, order_of, pairs_inside
from wellkept.core.folding import PROMOTED, change_of, folded, raised, winner
from wellkept.core.lifecycle import decay_score, is_expired, lifecycle
from wellkept.core.redact import redacted
from wellkept.core.rules import Consolidation, Figures, Rule, considered, fits, plain
from wellkept.core.text import slot_key
from wellkept.policy import Policy
from wellkept.types import (
    Action,
    Conflict,
    Detected,
    Edge,
    Flag,
    Link,
    Memory,
    Plan,
    Rationale,
    RowChange,
    Scope,
)

SAMPLES = 3
PROTECTED_KINDS = frozenset(("procedural",))
"""Kinds that decay and archiving leave alone, as they do what is pinned (host-systems D2)."""
_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Everything a plan is made from.

    Attributes:
        rows: The active memories of the scope, by (created_at, id).
        groups: Groups of equal texts among them, each oldest first.
        findings: Judged pairs; of a group only its newest member takes part.
        conflicts: All conflicts that name one of the rows, open or settled.
        links: All links from or to a row that a merge may concern.
        hidden: Superseded rows by the id of the row that hides them.
    """

    rows: tuple[Memory, ...]
    groups: tuple[tuple[Memory, ...], ...] = ()
    findings: tuple[Finding, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    links: tuple[Link, ...] = ()
    hidden: Mapping[str, tuple[Memory, ...]] = field(default_factory=dict)
    asked: int = 0
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Under what a plan is made; `now` decides ages and never enters the plan (B-22)."""

    policy: Policy
    config: Consolidation
    scope: Scope
    namespace: str
    models: tuple[str, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Memories that all say the same, oldest first, and how near the farthest two are."""

    members: tuple[Memory, ...]
    similarity: float

    @property
    def id(self) -> str:
        """Deterministic over the members."""
        return _hash(*(row.id for row in self.members))


def plan_of(survey: Survey, setting: Setting) -> Plan:
    """The whole plan.

    Args:
        survey: What stands in the store.
        setting: Policy, rules and time.

    Returns:
        Flags, merges, promotions and archivings in this order, each by its oldest memory.
    """
    clusters = _clusters(survey, setting)
    merged: dict[str, Memory] = {}
    merges: list[Action] = []
    idle: list[Action] = []
    for cluster in clusters:
        rule = _merging_rule(cluster, setting)
        if rule is None:
            continue
        kept = winner(cluster.members, rule.winner)
        if rule.action == "noop":
            idle.append(_noop(cluster, rule))
            continue
        merged |= dict.fromkeys((row.id for row in cluster.members), kept)
        merges.append(_merge(cluster, kept, rule, survey, setting))
    flags = _flags(survey, setting, merged)
    flagged = {one for action in flags for one in action.targets}
    flagged |= {one for item in survey.conflicts if is_open(item, setting.now) for one in (item.a, item.b)}
    singles = [
        action
        for row in survey.rows
        if row.id not in merged and (action := _single(row, setting, disputed=row.id in flagged)) is not None
    ]
    promoted = [action for action in singles if action.type == "promote"]
    archived = [action for action in singles if action.type == "archive"]
    idle += [action for action in singles if action.type == "noop"]
    actions = (*flags, *merges, *promoted, *archived, *idle)
    snapshot = _hash(*(f"{row.id}:{row.version}" for row in survey.rows), size=16)
    config = config_hash(setting)
    return Plan(
        plan_id=plan_id_of(config, snapshot, actions),
        config_hash=config,
        snapshot=snapshot,
        namespace=setting.namespace,
        scope=setting.scope,
        detected=Detected(
            memories=len(survey.rows),
            exact_groups=len(survey.groups),
            pairs=len(survey.findings),
            clusters=len(clusters),
            contradiction_pairs=sum(found.verdict == "conflict" for found in survey.findings),
            asked=survey.asked,
        ),
        actions=actions,
        degraded=survey.degraded,
    )


def config_hash(setting: Setting) -> str:
    """`sha256:` and 16 hex digits over policy, rules, thresholds and the names of the models (S1-16, E-2.1)."""
    config = setting.config
    numbers = (config.trigger, config.ask_at, config.look_at, config.nearest)
    said = dumps([setting.policy.hash, plain(config.rules), list(numbers), list(setting.models)])
    return "sha256:" + _hash(said, size=16)


def plan_id_of(config: str, snapshot: str, actions: Iterable[Action]) -> str:
    """16 hex digits over configuration, snapshot and actions, without any time (B-22)."""
    return _hash(config, snapshot, *(dumps(action) for action in actions), size=16)


# --------------------------------------------------------------------------------------------
# Clusters


def _clusters(survey: Survey, setting: Setting) -> list[_Cluster]:
    """Groups of equal texts, joined with those that the model calls the same; complete linkage."""
    barred = _parted(survey.conflicts)
    groups = {group[-1].id: group for group in _unparted(survey.groups, barred)}
    linked = {
        found.near.key: found.near.similarity or 0.0
        for found in survey.findings
        if found.verdict == "same"
        and (found.near.similarity or 0.0) >= setting.config.merge_at
        and frozenset(found.near.key) not in barred
    }
    by_id = {row.id: row for row in survey.rows}
    joined = complete_linkage([row.id for row in survey.rows], linked)
    found = []
    for names in joined:
        members = [row for name in names for row in groups.pop(name, (by_id[name],))]
        least = min(linked[pair] for pair in _ordered_pairs(names, linked))
        found.append(_Cluster(tuple(sorted(members, key=order_of)), least))
    found += [_Cluster(group, 1.0) for group in groups.values()]
    return sorted(found, key=lambda cluster: order_of(cluster.members[0]))


def _ordered_pairs(names: Sequence[str], linked: Mapping[tuple[str, str], float]) -> list[tuple[str, str]]:
    return [(a, b) if (a, b) in linked else (b, a) for at, a in enumerate(names) for b in names[at + 1 :]]


def _parted(conflicts: Iterable[Conflict]) -> frozenset[frozenset[str]]:
    """Pairs that somebody, or the gate, holds apart: an open or kept contradiction, a repeat that was denied."""
    return frozenset(
        frozenset((item.a, item.b))
        for item in conflicts
        if item.resolution == "keep_both"
        or (item.kind == "contradiction" and item.resolution is None)
        or (item.kind == "duplicate" and item.resolution == "dismissed")
    )


def _unparted(groups: Iterable[tuple[Memory, ...]], barred: frozenset[frozenset[str]]) -> Iterable[tuple[Memory, ...]]:
    if not barred:
        yield from groups
        return
    for group in groups:
        if not any(frozenset(pair) in barred for pair in pairs_inside(group)):
            yield group


def _merging_rule(cluster: _Cluster, setting: Setting) -> Rule | None:
    """The first rule for clusters that fits; also a `noop` that shields one (S1-14)."""
    seen = Figures(
        age_days=min(_age(row, setting.now) for row in cluster.members),
        access_count=sum(row.access_count for row in cluster.members),
        importance=max(row.importance for row in cluster.members),
        categories=frozenset(name for row in cluster.members for name in _categories(row)),
        similarity=cluster.similarity,
        size=len(cluster.members),
    )
    for rule in considered(setting.config.rules, setting.config.trigger):
        for_clusters = rule.action == "merge" or (rule.action == "noop" and rule.trigger == "on_similarity")
        if for_clusters and fits(rule, seen):
            return rule
    return None


# --------------------------------------------------------------------------------------------
# Actions


def _merge(cluster: _Cluster, kept: Memory, rule: Rule, survey: Survey, setting: Setting) -> Action:
    others = tuple(row for row in cluster.members if row.id != kept.id)
    gone = {row.id for row in others}
    status = "archived" if rule.older == "archive" else "superseded"
    rows = [change_of(kept, folded(kept, others, rule))]
    for row in others:
        out = replace(row, status=status, superseded_by=kept.id if status == "superseded" else "")  # type: ignore[arg-type]
        rows.append(change_of(row, out))
    behind = [old for row in others for old in survey.hidden.get(row.id, ())]
    rows += [change_of(old, replace(old, superseded_by=kept.id)) for old in behind]
    links, unlinks = _relinked(survey.links, kept.id, gone)
    if status == "superseded":
        links += [(kept.id, row.id, "supersedes") for row in others]
    read = (kept, *others, *behind)
    closed, carried = _carried(survey, kept, gone, setting.now)
    return Action(
        id=_hash("merge", rule.id, *(row.id for row in cluster.members)),
        type="merge",
        targets=(*(row.id for row in others), kept.id),
        canonical=kept.id,
        rationale=Rationale(
            rule=rule.id,
            reasons=(_merge_reason(cluster),),
            score=cluster.similarity,
            similarity=cluster.similarity,
            cluster=cluster.id,
        ),
        expect={row.id: row.version for row in sorted(read, key=order_of)},
        rows=tuple(rows),
        links=tuple(sorted(links)),
        unlinks=tuple(sorted(unlinks)),
        aliases=tuple(row.id for row in others),
        flags=carried,
        settles=closed,
        samples=tuple(redacted(row.content) for row in cluster.members[:SAMPLES]),
    )


def _merge_reason(cluster: _Cluster) -> str:
    count = len(cluster.members)
    if cluster.similarity == 1.0:
        return f"{count} memories say the same, to the letter or in another spelling"
    return f"{count} memories say the same in other words, the farthest two at {cluster.similarity:.4f}"


def _relinked(links: Iterable[Link], kept: str, gone: set[str]) -> tuple[list[Edge], list[Edge]]:
    """Incoming links lead to the winner from now on, and what the others pointed at, it points at too.

    A link that hides an older row moves with the row's `superseded_by`; links inside the cluster say
    nothing any more and stay with the rows they join.
    """
    there = {(link.src, link.dst, link.rel) for link in links}
    made: dict[Edge, None] = {}
    removed: dict[Edge, None] = {}
    for link in links:
        inside = {link.src, link.dst} <= {kept, *gone}
        if inside:
            continue
        edge = (link.src, link.dst, link.rel)
        moved = (kept if link.src in gone else link.src, kept if link.dst in gone else link.dst, link.rel)
        if moved == edge:
            continue
        if moved not in there:
            made[moved] = None
        if link.dst in gone or link.rel == "supersedes":
            removed[edge] = None
    return list(made), list(removed)


def _carried(survey: Survey, kept: Memory, gone: set[str], now: datetime) -> tuple[tuple[str, ...], tuple[Flag, ...]]:
    """Open conflicts of the memories that go: settled inside the cluster, handed on to the winner outside."""
    known = {item.key for item in survey.conflicts}
    closed: list[str] = []
    flags: dict[str, Flag] = {}
    created = {row.id: order_of(row) for row in survey.rows}
    for item in survey.conflicts:
        ends = {item.a, item.b}
        if not is_open(item, now) or not ends & gone:
            continue
        closed.append(item.key)
        other = next(iter(ends - gone - {kept.id}), "")
        key = key_of(other, kept.id, item.kind)
        if not other or key in known or key in flags:
            continue
        older = created.get(other, ("", "")) < order_of(kept) if other in created else item.a == other
        a, b = (other, kept.id) if older else (kept.id, other)
        flags[key] = Flag(
            a=a, b=b, kind=item.kind, reason=item.reason, similarity=item.similarity, differences=item.differences
        )
    return tuple(sorted(closed)), tuple(flags[key] for key in sorted(flags))


def _flags(survey: Survey, setting: Setting, merged: Mapping[str, Memory]) -> list[Action]:
    known = {item.key for item in survey.conflicts}
    found: dict[str, Action] = {}
    for finding in survey.findings:
        if finding.verdict != "conflict":
            continue
        old, new = sorted((merged.get(row.id, row) for row in (finding.near.a, finding.near.b)), key=order_of)
        if old.id == new.id:
            continue
        key = key_of(old.id, new.id, "contradiction")
        rule = _flagging_rule(finding, setting)
        if rule is not None and key not in known and key not in found:
            found[key] = _flag(finding, (old, new), rule)
    return sorted(found.values(), key=lambda action: action.targets)


def _flagging_rule(finding: Finding, setting: Setting) -> Rule | None:
    seen = Figures(similarity=finding.near.similarity, size=2)
    rules = considered(setting.config.rules, setting.config.trigger)
    return next((rule for rule in rules if rule.action == "flag_contradiction" and fits(rule, seen)), None)


def _flag(finding: Finding, pair: tuple[Memory, Memory], rule: Rule) -> Action:
    old, new = pair
    comparison = finding.comparison
    decisive = [item for item in comparison.differences if item.decisive]
    told = tuple(difference_words(item) for item in decisive) or ("the relation model: both cannot hold",)
    opinion = comparison.opinion
    return Action(
        id=_hash("flag_contradiction", rule.id, old.id, new.id),
        type="flag_contradiction",
        targets=(old.id, new.id),
        rationale=Rationale(
            rule=rule.id,
            reasons=told,
            score=1.0 if decisive or opinion is None else opinion.conflict,
            similarity=comparison.similarity,
            signals=tuple(dict.fromkeys(item.kind for item in decisive)) or ("model",),
            differences=comparison.differences,
        ),
        expect={old.id: old.version, new.id: new.version},
        flags=(
            Flag(
                a=old.id,
                b=new.id,
                kind="contradiction",
                reason=comparison.reason or "model",
                similarity=comparison.similarity,
                differences=comparison.differences,
            ),
        ),
        samples=(redacted(old.content), redacted(new.content)),
    )


def _single(row: Memory, setting: Setting, *, disputed: bool) -> Action | None:
    """What the rules do with one memory: promoted, archived, left alone, or nothing said."""
    decay = setting.policy.for_kind(row.kind).decay
    seen = Figures(
        age_days=_age(row, setting.now),
        access_count=row.access_count,
        importance=row.importance,
        categories=_categories(row),
        lifecycle=lifecycle(row, decay, setting.now),
        expired=is_expired(row, setting.now),
        score=decay_score(row, setting.now),
    )
    for rule in considered(setting.config.rules, setting.config.trigger):
        if rule.trigger in ("on_similarity", "on_contradiction") or not fits(rule, seen):
            continue
        match rule.action:
            case "promote" if rule.id not in row.metadata.get(PROMOTED, {}):
                promoted = _promoted(row, rule)
                if promoted is not None:
                    return promoted
            case "archive" if _may_go(row, seen, disputed=disputed):
                return _archive(row, rule, seen)
            case "noop":
                return Action(
                    id=_hash("noop", rule.id, row.id),
                    type="noop",
                    targets=(row.id,),
                    rationale=Rationale(rule=rule.id, reasons=("the rule leaves it alone",)),
                )
            case _:
                pass
    return None


def _may_go(row: Memory, seen: Figures, *, disputed: bool) -> bool:
    """A pinned or procedural memory is only archived when it has expired; one in dispute waits for its end."""
    if seen.expired:
        return True
    return not row.pinned and row.kind not in PROTECTED_KINDS and not disputed


def _promoted(row: Memory, rule: Rule) -> Action | None:
    """Raised once by each rule: a run repeated every night must not raise it every night (E-2.2)."""
    value = raised(row.importance, rule)
    if value == row.importance and (row.pinned or not rule.pin):
        return None
    past = dict(row.metadata.get(PROMOTED, {}))
    metadata = {**row.metadata, PROMOTED: {**past, rule.id: row.importance}}
    after = replace(row, importance=value, pinned=row.pinned or rule.pin, metadata=metadata)
    reason = f"importance {row.importance:g} to {value:g} after {row.access_count} reads"
    return _of_row(row, change_of(row, after), rule, reason)


def _archive(row: Memory, rule: Rule, seen: Figures) -> Action:
    if seen.expired:
        reason = "it has expired"
    else:  # no age: it would be another plan tomorrow (B-22)
        read = "never read" if seen.access_count == 0 else f"read {seen.access_count} times"
        reason = f"{read}, importance {row.importance:g}, {seen.lifecycle}"
    return _of_row(row, change_of(row, replace(row, status="archived")), rule, reason)


def _of_row(row: Memory, change: RowChange, rule: Rule, reason: str) -> Action:
    return Action(
        id=_hash(rule.action, rule.id, row.id),
        type=rule.action,
        targets=(row.id,),
        rationale=Rationale(rule=rule.id, reasons=(reason,)),
        expect={row.id: row.version},
        rows=(change,),
        samples=(redacted(row.content),),
    )


def _noop(cluster: _Cluster, rule: Rule) -> Action:
    return Action(
        id=_hash("noop", rule.id, *(row.id for row in cluster.members)),
        type="noop",
        targets=tuple(row.id for row in cluster.members),
        rationale=Rationale(
            rule=rule.id,
            reasons=("the rule leaves it alone",),
            similarity=cluster.similarity,
            cluster=cluster.id,
        ),
        samples=tuple(redacted(row.content) for row in cluster.members[:SAMPLES]),
    )


# --------------------------------------------------------------------------------------------


def _categories(row: Memory) -> frozenset[str]:
    return frozenset((row.kind.casefold(), *(slot_key(tag) for tag in row.tags)))


def _age(row: Memory, now: datetime) -> float:
    return max(0.0, (now - row.created_at).total_seconds() / _DAY)


def _hash(*parts: str, size: int = 12) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:size]
