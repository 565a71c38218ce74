"""The report of a policy replay: past write decisions compared with those of another policy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from wellkept.frozen import frozen
from wellkept.types.comparisons import Reason

ReplayMode: TypeAlias = Literal["independent", "forward"]
Differing: TypeAlias = Literal["outcome", "memory", "replaced", "links", "conflicts"]
ReplayCause: TypeAlias = Literal["policy", "surroundings", "unknown"]
Agreement: TypeAlias = Literal["agreed", "disagreed", "undecided"]


@frozen(kw_only=True)
class ReplayAnswers:
    """How the replayed decisions compare with answers to questions about the same writes.

    Attributes:
        agreed: Answers that say what the replayed decision does.
        disagreed: Answers that say something else.
        undecided: Answers to writes that the replayed policy does not decide either.
    """

    agreed: int = 0
    disagreed: int = 0
    undecided: int = 0


@frozen(kw_only=True)
class Verdict:
    """The result of one write decision, in short.

    Attributes:
        outcome: The outcome; `rejected` also for a text that is longer than the limit.
        reasons: The rules that fired, in order.
        memory_id: The stored memory the decision acted on, or the nearest candidate; empty when there is none.
        text: The beginning of that memory's text at the time.
        similarity: Similarity to that memory; None when none was measured.
        replaced / links / conflicts: How many memories were superseded, and how many other links and conflicts
            were made.
    """

    outcome: str
    reasons: tuple[Reason, ...] = ()
    memory_id: str = ""
    text: str = ""
    similarity: float | None = None
    replaced: int = 0
    links: int = 0
    conflicts: int = 0


@frozen(kw_only=True)
class ReplayDifference:
    """A past decision that the replayed policy decides differently.

    Attributes:
        entry: Number of the journal entry.
        text: The beginning of the text that was written.
        old: The decision in the journal.
        new: The decision of the replayed policy.
        differs: What differs: the outcome, the memory, the superseded memories, links, conflicts.
        cause: `policy` when the original policy still gives the old decision; `surroundings` when it does not
            (another model or release); `unknown` when the original policy is not available, and in
            forward mode.
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


@frozen(kw_only=True)
class Unreplayed:
    """A journal entry that could not be replayed, and the reason."""

    entry: int
    verb: str
    text: str
    why: str


@frozen
class ReplayCount:
    """How many decisions changed from one outcome to another; both are equal for unchanged outcomes."""

    old: str
    new: str
    count: int


@frozen(kw_only=True)
class ReplayReport:
    """What another policy would have decided; nothing is written.

    Attributes:
        policy: Hash of the replayed policy.
        policies: Hash of each original policy, with its number of decisions.
        mode: `independent`: each decision is made against the store as it was at the time. `forward`: against
            the store that results from the replayed policy's own decisions.
        after: Only decisions of entries after this number were replayed.
        last: Number of the last entry read.
        complete: False when the limit was reached before the end of the journal.
        decisions: Number of decisions replayed.
        same: Number of decisions that did not change.
        counts: Decisions by old and new outcome, most frequent first.
        differences: Decisions that changed, in journal order.
        unreplayed: Entries that could not be replayed, in journal order.
        erased: Number of erased memories, which cannot be compared.
        active: Active memories now and after the replay; only for a complete replay in forward mode.
        answers: How the decisions compare with the answers that were given.
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
    answers: ReplayAnswers = ReplayAnswers()
