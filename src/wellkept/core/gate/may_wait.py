"""Writes that are judged after their commit (`judging = "later"`): which may wait, and how they are stored meanwhile.

What the rules see an act in is judged in the write. What they would store as a new memory is stored as exactly that,
without links or marks, and waits. So nothing has acted on another memory before the models have read the text.
"""

from __future__ import annotations

from dataclasses import replace

from wellkept.core.gate.admit import judge
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.core.judging.what_to_ask import questions
from wellkept.types import AliasChange, Decision, Degradation, JournalEntry, MemoryChange, NewMemory, Reason

WAITS: Degradation = "judging"
"""What the journal entry of a waiting write lacks."""
VERB = "judge"
"""The verb of the entries by which a waiting write is judged; a write with an act has one with its own verb besides."""
_RULE = "judged_later"


def may_wait(new: NewMemory, moment: Moment) -> bool:
    """Whether a write may be judged later: not where the caller waits for a refusal or for an error of a model."""
    return moment.policy.judging == "later" and moment.own.on_conflict != "raise" and moment.own.on_error != "raise"


def is_open(new: NewMemory, evidence: Evidence, moment: Moment) -> bool:
    """Whether the relation model is to read anything beside this text."""
    return bool(questions(new, evidence, moment))


def put_off(new: NewMemory, evidence: Evidence, moment: Moment) -> Decision | None:
    """The decision to store a text that is no chatter, and judge it later.

    None where the rules see more in it than a new memory.
    """
    if "embedding" in evidence.degraded or evidence.contradiction_fn is not None:
        return None
    unread = replace(evidence, unjudged=True, outage=True, degraded=(*evidence.degraded, WAITS))
    decision = judge(new, unread, replace(moment, policy=replace(moment.policy, ask=0)))
    if decision.outcome != "created" or decision.conflicts:
        return None
    kept = tuple(one for one in decision.effects if isinstance(one, MemoryChange | AliasChange))
    weighed = tuple(one for one in decision.reasons if one.rule == "low_importance")
    waiting = Reason(_RULE, "stored; the models read it after the commit")
    return replace(decision, effects=kept, links=(), matches=(), reasons=(waiting, *weighed))


def is_plain(decision: Decision) -> bool:
    """Whether a decision stores the text as a new memory and does nothing else."""
    own = all(isinstance(one, MemoryChange | AliasChange) for one in decision.effects)
    return decision.outcome == "created" and own and not decision.conflicts


def why(entry: JournalEntry) -> Reason:
    """The reason by which a late act names the write that it judges."""
    return Reason(_RULE, f"written in entry {entry.seq}")
