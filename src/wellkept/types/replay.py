"""What a policy replay tells: past write decisions beside what another policy would have decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.types.comparisons import Reason

ReplayMode: TypeAlias = Literal["independent", "forward"]
Differing: TypeAlias = Literal["outcome", "memory", "replaced", "links", "conflicts"]
ReplayCause: TypeAlias = Literal["policy", "surroundings", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a decision came to, in short.

    Attributes:
        outcome: The word of the outcome vocabulary; `rejected` also for a text that would be refused as too long.
        reasons: The rules that fired, in order.
        memory_id: The stored memory it acted on, or else the nearest that was considered; empty when there is none.
        text: The beginning of what that memory said then.
        similarity: How near it was; None where nothing was measured.
        replaced / links / conflicts: How many memories it hides, other links and conflicts it makes.
    """

    outcome: str
    reasons: tuple[Reason, ...] = ()
    memory_id: str = ""
    text: str = ""
    similarity: float | None = None
    replaced: int = 0
    links: int = 0
    conflicts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayDifference:
    """A past decision that would be another one.

    Attributes:
        entry: Its number in the journal.
        text: The beginning of the text that was written.
        old: What was decided.
        new: What the replayed policy decides.
        differs: In what: the outcome, the memory it led to, the memories it hid, links, conflicts.
        cause: `policy` when the policy of then still decides as it did, so that the change is the new
            policy's; `surroundings` when it does not either (another model or release); `unknown` when the
            policy of then is not at hand, or in forward mode.
    """

    entry: int
    at: datetime
    verb: str
    kind: str
    text: str
    old: Verdict
    new: Verdict
    differs: tuple[Differing, ...]
    cause: ReplayCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreplayed:
    """A journal entry that could not be replayed, and why."""

    entry: int
    verb: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class ReplayCount:
    """How many decisions went from one outcome to another; to the same one where nothing changed it."""

    old: str
    new: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """What a policy would have decided; nothing was written.

    Attributes:
        policy: Hash of the policy that was replayed.
        policies: Hash of the policy each decision was made under, and how many were.
        mode: `independent`: each decision in the world as it was. `forward`: in the world that the
            replayed policy's own decisions have made.
        after: Only decisions of later entries were replayed.
        last: Number of the last entry that was read.
        complete: False when the limit was reached before the end of the journal.
        decisions: Decisions replayed.
        same: Those that come out the same.
        counts: Decisions by old and new outcome, most frequent first.
        differences: Those that do not come out the same, in the order of the journal.
        unreplayed: What could not be replayed, in the same order.
        erased: Memories of which nothing is left to compare with.
        active: Active memories now and as they would be; only for a complete replay in forward mode.
    """

    namespace: str
    policy: str
    policies: Mapping[str, int]
    mode: ReplayMode
    after: int
    last: int
    complete: bool
    decisions: int
    same: int
    counts: tuple[ReplayCount, ...]
    differences: tuple[ReplayDifference, ...]
    unreplayed: tuple[Unreplayed, ...]
    erased: int
    active: tuple[int, int] | None = None
