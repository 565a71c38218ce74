"""Consolidation plans: the proposed changes row by row, and the result of executing them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from wellkept.frozen import frozen
from wellkept.types.comparisons import Difference
from wellkept.types.words import ConflictKind, Json, Kind

ActionType: TypeAlias = Literal[
    "merge", "fold", "summarize", "promote", "archive", "flag_contradiction", "mark", "noop"
]  # fmt: skip
ActionState: TypeAlias = Literal["executed", "done", "stale", "left_out", "failed"]
RunMode: TypeAlias = Literal["dry_run", "execute"]
Trigger: TypeAlias = Literal["always", "daily", "weekly", "on_similarity", "on_contradiction"]
Edge: TypeAlias = tuple[str, str, str]
"""Source, destination and relation of a link."""


@frozen(kw_only=True)
class Scope:
    """Which memories a consolidation run reads, within the namespace of the store.

    Attributes:
        kinds / tags: Memories with any of these; all when empty.
        created_from / created_to: Time window: from the first (inclusive) to the second (exclusive).
        limit: At most this many, the newest; None for all.
    """

    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    created_from: datetime | None = None
    created_to: datetime | None = None
    limit: int | None = None


@frozen(kw_only=True)
class Rationale:
    """Why an action was planned.

    Attributes:
        rule: Id of the rule that proposed it.
        reasons: Reasons in words, most important first.
        score: Confidence: the lowest similarity inside a cluster, or the model's probability.
        similarity: Similarity of the pair, or the lowest inside the cluster.
        cluster: Id of the cluster; empty outside one.
        signals: The kinds of differences that contradict a merge.
        differences: The differing text spans.
    """

    rule: str
    reasons: tuple[str, ...] = ()
    score: float | None = None
    similarity: float | None = None
    cluster: str = ""
    signals: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()


@frozen
class RowChange:
    """Changed fields of one memory, before and after.

    `superseded_at`, `updated_at` and `version` are set on execution, so that a plan contains no time.
    """

    memory_id: str
    before: Mapping[str, Json]
    after: Mapping[str, Json]


@frozen(kw_only=True)
class Flag:
    """A conflict to open: two memories that contradict each other or may say the same, or a mark; without time.

    Attributes:
        a / b: The older and the newer memory.
        reason: As in `Conflict`.
        probability: Of a mark, as in `Conflict`.
    """

    a: str
    b: str
    kind: ConflictKind
    reason: str
    similarity: float | None
    differences: tuple[Difference, ...] = ()
    probability: float | None = None


@frozen(kw_only=True)
class Action:
    """One step of a plan, applied in one transaction.

    Attributes:
        id: Computed from type, rule and targets.
        type: One of `ACTION_TYPES`.
        targets: The memories concerned, oldest first; for a merge or a fold the canonical one comes last.
        canonical: For a merge, the memory that stays; for a fold, the head.
        expect: Version of every memory it reads or changes; if one has changed, the action is stale.
        rows: Changes of memories.
        links: Links to make; `unlinks`: links to remove.
        aliases: Memories whose hashes will also point at `canonical`.
        flags: Conflicts to open; `settles`: keys of conflicts that the action resolves.
        summary: For `summarize`, the new memory, as fields of `NewMemory`.
        samples: Short excerpts of the targets, of bounded length and safe to print.
    """

    id: str
    type: ActionType
    targets: tuple[str, ...]
    rationale: Rationale
    canonical: str = ""
    expect: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[RowChange, ...] = ()
    links: tuple[Edge, ...] = ()
    unlinks: tuple[Edge, ...] = ()
    aliases: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    settles: tuple[str, ...] = ()
    summary: Mapping[str, Json] = field(default_factory=dict)
    samples: tuple[str, ...] = ()


@frozen(kw_only=True)
class Detected:
    """What detection found, before any rule is applied."""

    memories: int = 0
    exact_groups: int = 0
    pairs: int = 0
    clusters: int = 0
    contradiction_pairs: int = 0
    asked: int = 0


@frozen(kw_only=True)
class Plan:
    """The proposed changes of a run. The same store, policy and rules give the same plan.

    Attributes:
        plan_id: Hash of snapshot, configuration and actions; contains no time.
        config_hash: Hash of policy, rules and thresholds.
        snapshot: Hash of the ids and versions of all memories read.
        degraded: Components that failed or were unavailable; their findings are missing.
    """

    plan_id: str
    config_hash: str
    snapshot: str
    namespace: str
    scope: Scope
    detected: Detected
    actions: tuple[Action, ...] = ()
    degraded: tuple[str, ...] = ()

    @property
    def planned(self) -> dict[str, int]:
        """Number of actions by type; every type is listed."""
        counts: dict[str, int] = dict.fromkeys(ACTION_TYPES, 0)
        for action in self.actions:
            counts[action.type] += 1
        return counts


ACTION_TYPES: tuple[ActionType, ...] = get_args(ActionType)
PLAN_SCHEMA = 2
"""Version of the layout of a plan file."""


@frozen
class ActionResult:
    """The result of one action: executed, already done, stale, left out or failed, with the reason."""

    action_id: str
    type: ActionType
    state: ActionState
    why: str = ""
    entry: int = 0


@frozen(kw_only=True)
class RunReport:
    """The result of a run or of a dry run.

    Attributes:
        run_id: Id of this execution; recorded in each of its journal entries.
        mode: `dry_run` unless the plan was executed.
        results: One result per action, in plan order; empty after a dry run.
        forced: Why a requested execution became a dry run (the kill switch); else empty.
        path: Path of the report file; empty when none was written.
    """

    run_id: str
    mode: RunMode
    plan: Plan
    started_at: datetime
    seconds: float
    results: tuple[ActionResult, ...] = ()
    forced: str = ""
    path: str = ""

    @property
    def executed(self) -> int:
        """Number of actions applied by this run."""
        return self._in("executed")

    @property
    def skipped(self) -> int:
        """Number of actions that were already done, stale or left out."""
        return self._in("done", "stale", "left_out")

    @property
    def errors(self) -> int:
        """Number of actions that failed and were rolled back."""
        return self._in("failed")

    def _in(self, *states: ActionState) -> int:
        return sum(result.state in states for result in self.results)


@frozen(kw_only=True)
class UndoReport:
    """The result of undoing a run.

    Attributes:
        undone: Journal entries undone, newest first.
        blocked: Entries that were kept because later entries depend on them: the entry and the later ones.
    """

    run_id: str
    undone: tuple[int, ...] = ()
    blocked: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
