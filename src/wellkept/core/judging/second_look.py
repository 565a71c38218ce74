"""What the gate would do with a stored memory if it were written now, as far as a consolidation acts on it.

A store that was written under another policy holds restatements as rows of their own. A consolidation lets the gate
decide about each memory again, against the older ones, and takes over two acts that lose nothing: folds and marks.
"""

from __future__ import annotations

from wellkept.core.records.explain import reason_words
from wellkept.core.text.same_words import in_same_words
from wellkept.frozen import frozen
from wellkept.policy import KindPolicy
from wellkept.types import Conflict, Decision, Memory


@frozen(kw_only=True)
class SecondLook:
    """The gate's second look at one memory.

    Attributes:
        memory_id: The memory.
        head: The older memory that it restates; empty if it restates none.
        reason: Why, in words.
        similarity: Calibrated similarity to what it restates.
        score: The relation model's probability that the two say the same; None if it was not asked.
        marks: The marks that it would make on older memories; empty if it restates one.
    """

    memory_id: str
    head: str = ""
    reason: str = ""
    similarity: float | None = None
    score: float | None = None
    marks: tuple[Conflict, ...] = ()


def second_look(memory: Memory, decision: Decision, policy: KindPolicy) -> SecondLook:
    """What a consolidation takes over from a decision of the gate.

    Args:
        memory: The stored memory.
        decision: What the gate would decide if it were written now.
        policy: The policy of its kind.
    """
    head, matches = decision.memory, decision.matches
    # A text in the words of a wording is a repeat of the head of that wording.
    known = decision.outcome in ("restated", "duplicate") and policy.repeats == "fold"
    if known and head is not None and not _is_merged(memory, head):
        told, match = decision.reasons[0], matches[0]
        return SecondLook(
            memory_id=memory.id,
            head=head.id,
            reason=f"{reason_words(told.rule)}: {told.detail}",
            similarity=match.similarity,
            score=match.opinion.repeats if match.opinion is not None else None,
        )
    marks = tuple(item for item in decision.conflicts if item.kind == "outdated" and item.resolution is None)
    return SecondLook(memory_id=memory.id, marks=marks if policy.updates == "mark" else ())


def _is_merged(memory: Memory, head: Memory) -> bool:
    """Whether the two are one text of one kind: a consolidation merges these."""
    return memory.kind == head.kind and in_same_words(head.content, memory.content)
