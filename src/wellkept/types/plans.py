"""Plans: what a consolidation would do, row by row, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.types.comparisons import Difference
from wellkept.types.words import ConflictKind, Json, Kind

ActionType: TypeAlias = Literal["merge", "summarize", "promote", "archive", "flag_contradiction", "noop"]
ActionState: TypeAlias = Literal["executed", "done", "stale", "left_out", "failed"]
RunMode: TypeAlias = Literal["dry_run", "execute"]
Trigger: TypeAlias = Literal["always", "daily", "weekly", "on_similarity", "on_contradiction"]
Edge: TypeAlias = tuple[str, str, str]
"""Source, destination and relation of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which memories a run looks at; the namespace is the store's own.

    Attributes:
        kinds / tags: Any of these; all when empty.
        created_from / created_to: The time window: from the first, before the second.
        limit: At most this many, the newest; None for all.
    """

    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    created_from: datetime | None = None
    created_to: datetime | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rationale:
    """Why an action was planned.

    Attributes:
        rule: Id of the rule that asked for it.
        reasons: In words, most telling first.
        score: How sure: the least similarity inside a cluster, or the model's probability.
        similarity: Of the pair, or the least inside the cluster.
        cluster: Id of the cluster; empty outside one.
        signals: What contradicts, as words of the difference vocabulary.
        differences: The spans that decided.
    """

    rule: str
    reasons: tuple[str, ...] = ()
    score: float | None = None
    similarity: float | None = None
    cluster: str = ""
    signals: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class RowChange:
    """Fields of one memory, before and after; only those that change.

    `superseded_at`, `updated_at` and `version` follow when it is applied, so that a plan has no time.
    """

    memory_id: str
    before: Mapping[str, Json]
    after: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A conflict to be opened: two memories that cannot both hold, or may say the same; without time.

    Attributes:
        a / b: The older and the newer memory.
        reason: As in `Conflict`.
    """

    a: str
    b: str
    kind: ConflictKind
    reason: str
    similarity: float | None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One step of a plan: applied whole, in one transaction, or not at all.

    Attributes:
        id: Deterministic over type, rule and targets.
        type: merge, summarize, promote, archive, flag_contradiction or noop.
        targets: The memories it is about, oldest first; for a merge the canonical one comes last.
        canonical: The memory that stays, for a merge.
        expect: Version of every memory it reads or changes; with another one the action is stale.
        rows: Changes of memories.
        links: Links that are made; `unlinks`: links that go.
        aliases: Memories whose hashes shall lead to `canonical` too.
        flags: Conflicts that are opened; `settles`: keys of conflicts that this settles.
        summary: The new memory of a `summarize`, as fields of `NewMemory`.
        samples: Short excerpts of the targets for the reader, bounded and safe to print.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """What was found, before any rule was asked."""

    memories: int = 0
    exact_groups: int = 0
    pairs: int = 0
    clusters: int = 0
    contradiction_pairs: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run would do. The same store, policy and rules give the same plan.

    Attributes:
        plan_id: Hash of the snapshot, the configuration and the actions; without time.
        config_hash: Hash of policy, rules and thresholds.
        snapshot: Hash of ids and versions of everything that was looked at.
        degraded: What could not run; its part of the findings is missing.
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
        """Actions by type, every type named."""
        counts: dict[str, int] = dict.fromkeys(ACTION_TYPES, 0)
        for action in self.actions:
            counts[action.type] += 1
        return counts


ACTION_TYPES: tuple[ActionType, ...] = ("merge", "summarize", "promote", "archive", "flag_contradiction", "noop")


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What became of one action: executed, done before, stale, left out or failed, and why."""

    action_id: str
    type: ActionType
    state: ActionState
    why: str = ""
    entry: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run did, or would do in a dry run.

    Attributes:
        run_id: Of this execution; stands in every journal entry it wrote.
        mode: `dry_run` unless it was executed.
        results: One for each action, in the plan's order; empty after a dry run.
        forced: Why an asked-for execution stayed a dry run (the kill switch); else empty.
        path: The file the report was written to; empty when to none.
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
        """Actions applied now."""
        return self._in("executed")

    @property
    def skipped(self) -> int:
        """Actions that were done before, stale or left out."""
        return self._in("done", "stale", "left_out")

    @property
    def errors(self) -> int:
        """Actions that failed and were rolled back alone."""
        return self._in("failed")

    def _in(self, *states: ActionState) -> int:
        return sum(result.state in states for result in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """What taking a run back did.

    Attributes:
        undone: Journal entries taken back, newest first.
        blocked: Entries that stayed because later changes stand on them: entry, and the later ones.
    """

    run_id: str
    undone: tuple[int, ...] = ()
    blocked: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
