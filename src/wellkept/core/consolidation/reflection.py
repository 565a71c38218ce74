"""Reflection: replaces many memories on one topic by a summary that keeps them as sources.

The most important memory not yet used is the seed. Members must be near the *seed*, so that chains of neighbours do not
drift to other topics. Memories that contradict a member are excluded. The summary consists of existing sentences.
Reflection produces a plan like a merge: nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, TypeAlias, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from wellkept.core.consolidation.extractive_summary import LIMIT, summarise
from wellkept.core.consolidation.findings import order_of
from wellkept.core.consolidation.merged_memory import change_of
from wellkept.core.consolidation.near_pairs import units_of
from wellkept.core.consolidation.plan import SAMPLES, plan_id_of
from wellkept.core.consolidation.survey import id_of
from wellkept.core.judging.calibration import Calibration, rounded
from wellkept.core.judging.compare import contradicts
from wellkept.core.records.codec import dumps, iso
from wellkept.core.records.conflicts import is_open
from wellkept.core.records.lifecycle import is_expired
from wellkept.core.records.summary_levels import REFLECTION, is_level, level_of
from wellkept.core.records.vectors import COMPARISON_DIMS, cosines
from wellkept.core.text.forms import slot_key
from wellkept.core.text.redaction import redacted
from wellkept.errors import InvalidField
from wellkept.frozen import frozen
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import (
    Action,
    Conflict,
    Detected,
    Edge,
    Json,
    Memory,
    NewMemory,
    Plan,
    Rationale,
    RowChange,
    Scope,
    Vector,
)

Consolidate: TypeAlias = Literal["default", "hard", "keep"]
KINDS = ("episodic",)
RULE = "reflection"
SUMMARY_KIND = "semantic"
NEAR_AT = 0.75
MOST_MEMBERS = 32
"""Most memories per summary; more would not fit into 512 characters."""
_BLOCK = 128
_ROUGH = 1e-3
_LEAST, _MOST = 64, 20_000


@frozen(kw_only=True)
class Reflection:
    """The configuration of a reflection.

    Args:
        similarity: Least similarity of a memory to the seed.
        min_size: Least number of memories per summary; 2 or more.
        max_level: Highest level of a summary; 1 means that summaries are not summarised again.
        consolidate: `default` supersedes the sources by the summary, `hard` archives them (restorable), `keep` leaves
            them unchanged.
        limit: Most characters of a summary.

    Raises:
        InvalidField: A value is out of range.
    """

    similarity: float = NEAR_AT
    min_size: int = 2
    max_level: int = 1
    consolidate: Consolidate = "default"
    limit: int = LIMIT

    def __post_init__(self) -> None:
        if self.consolidate not in get_args(Consolidate):
            allowed = ", ".join(get_args(Consolidate))
            raise InvalidField(f"{self.consolidate!r} is not allowed", where="consolidate", todo=f"Use {allowed}")
        for name, least, most in (("similarity", 0, 1), ("min_size", 2, MOST_MEMBERS), ("max_level", 1, 100)):
            _within(name, getattr(self, name), least, most)
        _within("limit", self.limit, _LEAST, _MOST)


def _within(name: str, value: object, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidField(f"{value!r} is not a number from {least:g} to {most:g}", where=name, todo="Change it")


@frozen(kw_only=True)
class Material:
    """Input of a reflection.

    Attributes:
        rows: Active memories of the scope, by (created_at, id).
        vectors: Vectors by the hash in a row's `embedding`.
        conflicts: All conflicts that name one of the rows.
        summed: Ids of memories that are sources of an active summary.
        opposites: Additional antonyms of the policy.
    """

    rows: tuple[Memory, ...]
    vectors: Mapping[str, Vector]
    conflicts: tuple[Conflict, ...] = ()
    summed: frozenset[str] = frozenset()
    opposites: Opposites = NO_OPPOSITES


@frozen
class Cluster:
    """Memories for one summary, oldest first.

    Attributes:
        seed: The most important member.
        similarity: Similarity of the least similar member to the seed.
    """

    members: tuple[Memory, ...]
    seed: Memory
    similarity: float

    @property
    def texts(self) -> tuple[str, ...]:
        """Texts of the members, oldest first."""
        return tuple(row.content for row in self.members)


def clusters(material: Material, config: Reflection, calibration: Calibration, *, now: datetime) -> list[Cluster]:
    """The clusters, by oldest member; each memory is in at most one.

    Excluded are memories without a vector, expired ones, sources of an active summary, summaries at the highest level
    and, if sources would be hidden, pinned memories and memories in an open conflict. Clusters do not mix kinds,
    agents, stances or given subjects.
    """
    hides = config.consolidate != "keep"
    disputed = {one for item in material.conflicts if is_open(item, now) for one in (item.a, item.b)}
    parted = _parted(material.conflicts)
    groups: dict[tuple[str, str, int], list[Memory]] = {}
    for row in material.rows:
        if row.status != "active" or row.embedding not in material.vectors or is_expired(row, now):
            continue
        if row.id in material.summed or level_of(row) >= config.max_level:
            continue
        if hides and (row.pinned or row.id in disputed):
            continue  # pinned, or waiting for a review
        groups.setdefault((row.kind, row.agent, row.polarity), []).append(row)
    found = []
    for key in sorted(groups):
        found += _seeded(groups[key], material, config=config, calibration=calibration, parted=parted)
    return sorted(found, key=lambda cluster: order_of(cluster.members[0]))


def _parted(conflicts: Iterable[Conflict]) -> frozenset[frozenset[str]]:
    """Contradicting pairs that are open or resolved as keep both."""
    return frozenset(
        frozenset((item.a, item.b))
        for item in conflicts
        if item.kind == "contradiction" and item.resolution in (None, "keep_both")
    )


def _seeded(
    rows: Sequence[Memory],
    material: Material,
    *,
    config: Reflection,
    calibration: Calibration,
    parted: frozenset[frozenset[str]],
) -> list[Cluster]:
    """Clusters around seeds, the most important seed first; ties go to the older memory."""
    ordered = sorted(rows, key=lambda row: (-row.importance, *order_of(row)))
    matrix = np.asarray([material.vectors[row.embedding] for row in ordered], dtype=np.float32)
    unit = units_of(matrix[:, :COMPARISON_DIMS])
    floor = calibration.cosine(config.similarity) - _ROUGH
    free = np.ones(len(ordered), dtype=np.bool_)
    found: list[Cluster] = []
    for start in range(0, len(ordered), _BLOCK):
        places = [at for at in range(start, min(start + _BLOCK, len(ordered))) if free[at]]
        if not places:
            continue
        scores = unit[places] @ unit.T  # only selects candidates for the exact cosine
        for row, at in enumerate(places):
            if not free[at]:
                continue
            rough = np.flatnonzero((scores[row] >= floor) & free)
            rough = rough[rough != at]
            if len(rough) + 1 < config.min_size:
                continue
            near = _near(matrix, at, rough, floor=config.similarity, calibration=calibration)
            members = _agreeing(ordered, at, near, parted=parted, opposites=material.opposites)
            if len(members) < config.min_size:
                continue
            free[list(members)] = False
            chosen = tuple(sorted((ordered[one] for one in members), key=order_of))
            found.append(Cluster(chosen, ordered[at], min(members.values())))
    return found


def _near(
    matrix: NDArray[np.float32], at: int, rough: NDArray[np.intp], *, floor: float, calibration: Calibration
) -> list[tuple[int, float]]:
    """Positions near the seed by exact cosine, nearest first."""
    exact = cosines(matrix[at], matrix[rough]).tolist()
    told = [(place, rounded(calibration.similarity(value))) for place, value in zip(rough.tolist(), exact, strict=True)]
    return sorted(((p, s) for p, s in told if s >= floor), key=lambda item: (-item[1], item[0]))


def _agreeing(
    ordered: Sequence[Memory],
    at: int,
    near: Sequence[tuple[int, float]],
    *,
    parted: frozenset[frozenset[str]],
    opposites: Opposites,
) -> dict[int, float]:
    """The seed and its nearest memories that no member contradicts."""
    members = {at: 1.0}
    for place, similarity in near:
        if len(members) == MOST_MEMBERS:
            break
        if all(_agree(ordered[place], ordered[one], parted, opposites) for one in members):
            members[place] = similarity
    return members


def _agree(a: Memory, b: Memory, parted: frozenset[frozenset[str]], opposites: Opposites) -> bool:
    ours, theirs = slot_key(a.subject), slot_key(b.subject)
    if ours and theirs and ours != theirs:
        return False
    if frozenset((a.id, b.id)) in parted:
        return False
    old, new = sorted((a, b), key=order_of)
    # Compared without event times: a summary has none, and values of two days would contradict in it.
    undated = replace(new, event_time=None)
    return not contradicts(undated, old, opposites)


# --------------------------------------------------------------------------------------------
# The summary


def extract(cluster: Cluster, config: Reflection, opposites: Opposites = NO_OPPOSITES) -> str:
    """Sentences of the members that contradict no member; empty when no whole sentence fits."""
    fields = _beside(cluster)
    return summarise(
        cluster.texts,
        limit=config.limit,
        allowed=lambda text: not contradicted(text, cluster.members, fields, opposites),
    )


def contradicted(
    text: str,
    sources: Sequence[Memory],
    fields: Mapping[str, Json] | None = None,
    opposites: Opposites = NO_OPPOSITES,
) -> str:
    """Id of a source that a text contradicts by the rules; empty if none."""
    beside = fields or {}
    # Without the marks of a summary, because `compare` finds no contradiction between a summary and its source.
    said = NewMemory(
        content=text,
        subject=beside.get("subject", ""),
        attribute=beside.get("attribute", ""),
        polarity=beside.get("polarity", 0),
    )
    return next((source.id for source in sources if contradicts(said, source, opposites)), "")


def refused(text: str, cluster: Cluster, config: Reflection, opposites: Opposites = NO_OPPOSITES) -> str:
    """The reason to reject an external summary; empty if it is accepted.

    It must be short enough, contain no number that is not in the sources, and contradict no source.
    """
    if not text.strip():
        return "it is empty"
    if len(text) > config.limit:
        return f"it has {len(text)} characters, more than {config.limit}"
    known = _figures("\n".join(cluster.texts))
    invented = sorted(_figures(text) - known)
    if invented:
        return f"it names {invented[0]}, which no source does"
    against = contradicted(text, cluster.members, _beside(cluster), opposites)
    return f"it contradicts {against}" if against else ""


def _figures(text: str) -> frozenset[str]:
    runs = "".join(char if char.isdecimal() else " " for char in text).split()
    return frozenset(str(int(run)) if len(run) < 30 else run for run in runs)


def _beside(cluster: Cluster) -> dict[str, Json]:
    """The other fields of the summary: shared values, mean importance, lowest confidence."""
    members = cluster.members
    level = 1 + max(level_of(row) for row in members)
    tags: dict[str, str] = {}
    for row in members:
        for tag in row.tags:
            if slot_key(tag) != REFLECTION and not is_level(tag):
                tags.setdefault(slot_key(tag), tag)
    fields: dict[str, Json] = {
        "kind": SUMMARY_KIND,
        "tags": [REFLECTION, f"level:{level}", *tags.values()],
        "importance": round(sum(row.importance for row in members) / len(members), 4),
        "confidence": min(row.confidence for row in members),
        "polarity": members[0].polarity,
        "provenance": [row.id for row in members],
    }
    for name in ("agent", "subject", "attribute"):
        values = {slot_key(getattr(row, name)) for row in members}
        if len(values) == 1 and values != {""}:
            fields[name] = getattr(members[0], name)
    if "subject" not in fields:
        fields.pop("attribute", None)
    expiries = [row.expires_at for row in members if row.expires_at is not None]
    if len(expiries) == len(members):
        fields["expires_at"] = iso(max(expiries))  # the summary expires with its last source
    return fields


# --------------------------------------------------------------------------------------------
# The plan


@frozen(kw_only=True)
class Told:
    """A cluster with its summary.

    Attributes:
        text: The summary; empty if none could be made.
        by: Its author.
        note: The reason why another summariser's text was rejected.
    """

    cluster: Cluster
    text: str
    by: str
    note: str = ""


def reflection_plan(
    told: Sequence[Told],
    rows: Sequence[Memory],
    config: Reflection,
    *,
    names: tuple[str, ...],
    namespace: str,
    scope: Scope,
    degraded: tuple[str, ...] = (),
) -> Plan:
    """The plan of a reflection; deterministic and independent of time.

    Args:
        told: The clusters with their summaries.
        rows: All rows that were read.
        config: The configuration.
        names: Other inputs of the hash: policy hash and model names.
        namespace / scope: Where the plan applies.
        degraded: Parts that could not run.
    """
    actions = tuple(_action(one, config) for one in told)
    settings = [config.similarity, config.min_size, config.max_level, config.consolidate, config.limit, list(names)]
    config_hash = "sha256:" + id_of(dumps([RULE, settings]), size=16)
    snapshot = id_of(*(f"{row.id}:{row.version}" for row in rows), size=16)
    return Plan(
        plan_id=plan_id_of(config_hash, snapshot, actions),
        config_hash=config_hash,
        snapshot=snapshot,
        namespace=namespace,
        scope=scope,
        detected=Detected(memories=len(rows), clusters=len(told)),
        actions=actions,
        degraded=degraded,
    )


def _action(told: Told, config: Reflection) -> Action:
    cluster = told.cluster
    members = cluster.members
    ids = tuple(row.id for row in members)
    reasons = [f"{len(ids)} memories near the most important of them, the farthest at {cluster.similarity:.4f}"]
    reasons += [f"summed up by {told.by}"] if told.text else ["no whole sentence is short enough: left alone"]
    reasons += [told.note] if told.note else []
    rationale = Rationale(
        rule=RULE,
        reasons=tuple(reasons),
        score=cluster.similarity,
        similarity=cluster.similarity,
        cluster=id_of(*ids),
    )
    samples = tuple(redacted(row.content) for row in members[:SAMPLES])
    if not told.text:
        return Action(id=id_of("noop", RULE, *ids), type="noop", targets=ids, rationale=rationale, samples=samples)
    return Action(
        id=id_of("summarize", RULE, config.consolidate, *ids),
        type="summarize",
        targets=ids,
        rationale=rationale,
        expect={row.id: row.version for row in members},
        rows=_hidden(members, config.consolidate),
        links=_links(ids, config.consolidate),
        summary={"content": told.text, **_beside(cluster)},
        samples=samples,
    )


def _hidden(members: Sequence[Memory], how: Consolidate) -> tuple[RowChange, ...]:
    """Changes of the sources; `superseded_by` is set when the summary has an id."""
    match how:
        case "default":
            return tuple(change_of(row, replace(row, status="superseded")) for row in members)
        case "hard":
            return tuple(change_of(row, replace(row, status="archived")) for row in members)
        case "keep":
            return ()
        case _:
            assert_never(how)


def _links(ids: Sequence[str], how: Consolidate) -> tuple[Edge, ...]:
    """Links of the summary; `""` stands for its unknown id."""
    made = [("", one, "derived_from") for one in ids]
    if how == "default":
        made += [("", one, "supersedes") for one in ids]  # `superseded_by` and the link are written together
    return tuple(sorted(made))
