"""Builds the plan of a consolidation from findings and rules, before anything is written.

The order of this file is the precedence. A contradiction is flagged and vetoes a merge. A merged or folded memory is
not also promoted or archived: one action per memory and run. Flags and marks change no memory, come first, and name
the memories that remain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from wellkept.core.consolidation.clusters import complete_linkage
from wellkept.core.consolidation.findings import order_of
from wellkept.core.consolidation.flagging import flags_of
from wellkept.core.consolidation.folding import Fold, fold, folds_of, marks_of
from wellkept.core.consolidation.merged_memory import PROMOTED, change_of, folded, promoted_by, raised, winner
from wellkept.core.consolidation.repointing import apart, carried, heirs, relinked
from wellkept.core.consolidation.rules import Figures, Rule, considered, fits, plain
from wellkept.core.consolidation.survey import Around, id_of
from wellkept.core.consolidation.survey import Setting as Setting
from wellkept.core.consolidation.survey import Survey as Survey
from wellkept.core.judging.other_fields import Beside, agreed, beside
from wellkept.core.records.codec import dumps
from wellkept.core.records.conflicts import is_open
from wellkept.core.records.lifecycle import days_since, decay_score, is_expired, lifecycle
from wellkept.core.text.forms import slot_key
from wellkept.core.text.redaction import redacted
from wellkept.frozen import frozen
from wellkept.types import Action, Detected, Lifecycle, Memory, Plan, Rationale, RowChange
from wellkept.types.showing import count_of

SAMPLES = 3
PROTECTED_KINDS = frozenset(("procedural",))
"""Kinds that decay and archiving skip, like pinned memories."""
_FADING: tuple[Lifecycle, ...] = ("ACTIVE", "WEAK", "DORMANT")


@frozen
class _Cluster:
    """A cluster of duplicates, oldest first, with the similarity of its least similar pair."""

    members: tuple[Memory, ...]
    similarity: float

    @property
    def id(self) -> str:
        """Deterministic id of the members."""
        return id_of(*(row.id for row in self.members))


def plan_of(survey: Survey, setting: Setting) -> Plan:
    """Build the plan.

    Args:
        survey: Rows, findings, links and conflicts of the store.
        setting: Policy, rules and time.

    Returns:
        Flags, marks, merges, folds, promotions and archivings in this order, each by oldest memory.
    """
    clusters = _clusters(survey, setting)
    around = Around(survey)
    merged: dict[str, Memory] = {}
    spared: set[str] = set()
    merges: list[Action] = []
    idle: list[Action] = []
    for cluster in clusters:
        rule = _merging_rule(cluster, setting)
        if rule is None:
            continue
        kept = winner(cluster.members, rule.winner)
        if rule.action == "noop":
            spared |= {row.id for row in cluster.members}
            idle.append(_noop(cluster, rule))
            continue
        merged |= dict.fromkeys((row.id for row in cluster.members), kept)
        merges.append(_merge(cluster, kept, rule, around, setting.now))
    folds = folds_of(survey, setting, merged)
    remaining = _remaining(merged, folds)
    marked = marks_of(survey, setting, remaining)
    marks = [action for _, action in marked]
    flags = flags_of(survey, setting, remaining)
    flagged = {one for action in (*flags, *marks) for one in action.targets}
    flagged |= {one for item in survey.conflicts if is_open(item, setting.now) for one in (item.a, item.b)}
    singles = [
        action
        for row in survey.rows
        if row.id not in remaining and row.id not in spared
        if (action := _single(row, setting, disputed=row.id in flagged)) is not None
    ]
    promoted = [action for action in singles if action.type == "promote"]
    archived = [action for action in singles if action.type == "archive"]
    idle += [action for action in singles if action.type == "noop"]
    folded_now = [fold(made, around, [mark for mark, _ in marked], setting) for made in folds]
    actions = (*flags, *marks, *merges, *folded_now, *promoted, *archived, *idle)
    snapshot = id_of(*(f"{row.id}:{row.version}" for row in survey.rows), size=16)
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
            pairs=survey.compared,
            clusters=len(clusters),
            contradiction_pairs=sum(found.verdict == "conflict" for found in survey.findings),
            asked=survey.asked,
        ),
        actions=actions,
        degraded=survey.degraded,
    )


def _remaining(merged: Mapping[str, Memory], folds: Iterable[Fold]) -> dict[str, Memory]:
    """For each merged memory, and each head and wording of a fold, the memory that stands for it afterwards."""
    behind = {row.id: made.head for made in folds for row in (made.head, *made.members)}
    return behind | {one: behind.get(kept.id, kept) for one, kept in merged.items()}


def config_hash(setting: Setting) -> str:
    """Hash of policy, rules, thresholds and model names: `sha256:` and 16 hex digits."""
    config = setting.config
    numbers = (config.trigger, config.ask_at, config.look_at, config.nearest)
    said = dumps([setting.policy.hash, plain(config.rules), list(numbers), list(setting.models)])
    return "sha256:" + id_of(said, size=16)


def plan_id_of(config: str, snapshot: str, actions: Iterable[Action]) -> str:
    """Hash of configuration, snapshot and actions, independent of time: 16 hex digits."""
    return id_of(config, snapshot, *(dumps(action) for action in actions), size=16)


# --------------------------------------------------------------------------------------------
# Clusters


def _clusters(survey: Survey, setting: Setting) -> list[_Cluster]:
    """Complete-linkage clusters of equal texts and of pairs that the model calls *same*.

    A pair kept apart by a conflict also separates their duplicates, and so do differing fields: no cluster contains two
    members that must not be merged.
    """
    parted = apart(survey.conflicts, heirs(survey.rows))
    groups = {group[-1].id: group for group in _unparted(survey.groups, parted)}
    by_id = {row.id: row for row in survey.rows}
    face = {row.id: name for name, group in groups.items() for row in group}
    held = {frozenset((face.get(a, a), face.get(b, b))) for a, others in parted.items() for b in others}
    said: dict[str, Beside] = {}
    linked: dict[tuple[str, str], float] = {}
    for found in survey.findings:
        similarity, key = found.near.similarity or 0.0, found.near.key
        if found.verdict != "same" or similarity < setting.config.merge_at or frozenset(key) in held:
            continue
        if setting.config.folds(setting.policy.for_kind(found.near.b.kind)):
            continue  # what the model takes for a repeat is folded, not merged
        for name in key:
            if name not in said:
                said[name] = agreed(beside(row) for row in groups.get(name, (by_id[name],))) or ()
        if agreed(said[name] for name in key) is not None:
            linked[key] = similarity
    found_clusters = []
    for names in complete_linkage([row.id for row in survey.rows], linked):
        members = [row for name in names for row in groups.pop(name, (by_id[name],))]
        least = min(linked[pair] for pair in _ordered_pairs(names, linked))
        found_clusters.append(_Cluster(tuple(sorted(members, key=order_of)), least))
    found_clusters += [_Cluster(group, 1.0) for group in groups.values()]
    return sorted(found_clusters, key=lambda cluster: order_of(cluster.members[0]))


def _ordered_pairs(names: Sequence[str], linked: Mapping[tuple[str, str], float]) -> list[tuple[str, str]]:
    return [(a, b) if (a, b) in linked else (b, a) for at, a in enumerate(names) for b in names[at + 1 :]]


def _unparted(
    groups: Iterable[tuple[Memory, ...]], parted: Mapping[str, AbstractSet[str]]
) -> Iterable[tuple[Memory, ...]]:
    """The groups, split where a conflict keeps two members apart."""
    for group in groups:
        if not any(row.id in parted for row in group):
            yield group
            continue
        parts: list[dict[str, Memory]] = []
        for row in group:
            home = next((part for part in parts if parted.get(row.id, frozenset()).isdisjoint(part)), None)
            if home is None:
                parts.append({row.id: row})
            else:
                home[row.id] = row
        yield from (tuple(part.values()) for part in parts if len(part) > 1)


def _merging_rule(cluster: _Cluster, setting: Setting) -> Rule | None:
    """The first matching rule for clusters, including a `noop`."""
    seen = Figures(
        age_days=min(days_since(row.created_at, setting.now) for row in cluster.members),
        access_count=sum(row.access_count for row in cluster.members),
        importance=max(row.importance for row in cluster.members),
        categories=frozenset(name for row in cluster.members for name in _categories(row)),
        similarity=cluster.similarity,
        size=len(cluster.members),
        lifecycle=min((_lifecycle(row, setting) for row in cluster.members), key=_FADING.index),
        score=max(decay_score(row, setting.now) for row in cluster.members),
    )
    return setting.config.first("merge", seen)


# --------------------------------------------------------------------------------------------
# Actions


def _merge(cluster: _Cluster, kept: Memory, rule: Rule, around: Around, now: datetime) -> Action:
    others = tuple(row for row in cluster.members if row.id != kept.id)
    gone = {row.id for row in others}
    status = "archived" if rule.older == "archive" else "superseded"
    rows = [change_of(kept, folded(kept, others, rule))]
    for row in others:
        out = replace(row, status=status, superseded_by=kept.id if status == "superseded" else "")  # type: ignore[arg-type]
        rows.append(change_of(row, out))
    behind = around.behind(row.id for row in others)
    rows += [change_of(old, replace(old, superseded_by=kept.id)) for old in behind]
    names = [row.id for row in cluster.members]
    links, unlinks = relinked(around.links(names), kept.id, gone)
    if status == "superseded":
        links += [(kept.id, row.id, "supersedes") for row in others]
    read = (kept, *others, *behind)
    settles, flags = carried(around.conflicts(names), kept, gone, others=around.rows, now=now)
    return Action(
        id=id_of("merge", rule.id, *names),
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
        flags=flags,
        settles=settles,
        samples=tuple(redacted(row.content) for row in cluster.members[:SAMPLES]),
    )


def _merge_reason(cluster: _Cluster) -> str:
    count = len(cluster.members)
    if cluster.similarity == 1.0:
        return f"{count} memories say the same, to the letter or in another spelling"
    return f"{count} memories say the same in other words, the farthest two at {cluster.similarity:.4f}"


def _single(row: Memory, setting: Setting, *, disputed: bool) -> Action | None:
    """The action for a single memory: promote, archive, noop or None."""
    seen = Figures(
        age_days=days_since(row.created_at, setting.now),
        access_count=row.access_count,
        importance=row.importance,
        categories=_categories(row),
        lifecycle=_lifecycle(row, setting),
        expired=is_expired(row, setting.now),
        score=decay_score(row, setting.now),
    )
    for rule in considered(setting.config.rules, setting.config.trigger):
        if rule.trigger in ("on_similarity", "on_contradiction") or not fits(rule, seen):
            continue
        match rule.action:
            case "promote" if rule.id not in promoted_by(row):
                promoted = _promoted(row, rule)
                if promoted is not None:
                    return promoted
            case "archive" if _may_go(row, seen, disputed=disputed):
                return _archive(row, rule, seen)
            case "noop":
                return Action(
                    id=id_of("noop", rule.id, row.id),
                    type="noop",
                    targets=(row.id,),
                    rationale=Rationale(rule=rule.id, reasons=("the rule leaves it alone",)),
                )
            case _:
                pass
    return None


def _may_go(row: Memory, seen: Figures, *, disputed: bool) -> bool:
    """Whether archiving is permitted: if expired, always; else not if pinned, procedural or in an open conflict."""
    if seen.expired:
        return True
    return not row.pinned and row.kind not in PROTECTED_KINDS and not disputed


def _promoted(row: Memory, rule: Rule) -> Action | None:
    """Promotion, once per rule, so that repeated runs do not raise the importance again."""
    value = raised(row.importance, rule)
    if value == row.importance and (row.pinned or not rule.pin):
        return None
    metadata = {**row.metadata, PROMOTED: {**promoted_by(row), rule.id: row.importance}}
    after = replace(row, importance=value, pinned=row.pinned or rule.pin, metadata=metadata)
    reason = f"importance {row.importance:g} to {value:g} after {row.access_count} reads"
    return _of_row(row, change_of(row, after), rule, reason)


def _archive(row: Memory, rule: Rule, seen: Figures) -> Action:
    if seen.expired:
        reason = "it has expired"
    else:  # age and lifecycle only if the rule uses them: otherwise the plan would change daily
        read = "never read" if seen.access_count == 0 else f"read {count_of(seen.access_count, 'time')}"
        faded = f", {seen.lifecycle}" if rule.when.lifecycle_any else ""
        reason = f"{read}, importance {row.importance:g}{faded}"
    return _of_row(row, change_of(row, replace(row, status="archived")), rule, reason)


def _of_row(row: Memory, change: RowChange, rule: Rule, reason: str) -> Action:
    return Action(
        id=id_of(rule.action, rule.id, row.id),
        type=rule.action,
        targets=(row.id,),
        rationale=Rationale(rule=rule.id, reasons=(reason,)),
        expect={row.id: row.version},
        rows=(change,),
        samples=(redacted(row.content),),
    )


def _noop(cluster: _Cluster, rule: Rule) -> Action:
    return Action(
        id=id_of("noop", rule.id, *(row.id for row in cluster.members)),
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


def _lifecycle(row: Memory, setting: Setting) -> Lifecycle:
    return lifecycle(row, setting.policy.for_kind(row.kind).decay, setting.now)
