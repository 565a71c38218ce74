"""Review by an optional judge: it may add possible conflicts to a decision and nothing else.

Judges report too many contradictions. The judge is asked last, about the few near memories for which rules and relation
model found no conflict. Its answer changes no outcome. Pairs above `FLAG_AT` are listed for review.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from wellkept.core.gate.outcomes import match_of
from wellkept.core.judging.compare import SOFT, compare
from wellkept.core.judging.evidence import Evidence, Judged, Moment, in_scope, may_contradict
from wellkept.core.records import conflicts as flags
from wellkept.core.records.lifecycle import is_expired
from wellkept.core.text.forms import excerpt
from wellkept.core.text.same_words import in_same_words
from wellkept.frozen import frozen
from wellkept.types import (
    Candidate,
    Comparison,
    Decision,
    Difference,
    Effect,
    Match,
    Memory,
    MemoryChange,
    NewMemory,
    Reason,
)

MOST_JUDGED = 4
"""Most pairs per write."""
FLAG_AT = 0.9
"""Least P(contradiction) to flag. NLI models are right in two of three flags here, in half of them at .5."""

_PLAIN = frozenset({"near_but_different", "nothing_like_it", "own_event"})


@frozen
class Question:
    """A near memory to ask the judge about, with its match so far."""

    memory: Memory
    match: Match


def left_open(decision: Decision, new: NewMemory, evidence: Evidence, moment: Moment) -> tuple[Question, ...]:
    """Select the memories to ask the judge about, nearest first; at most four.

    Only a text stored as a new active memory can conflict. Excluded are memories with a known conflict, memories it
    replaces, and pairs that the relation model is sure of.
    """
    memory = decision.memory
    stored = decision.outcome in ("created", "superseded") and memory is not None and memory.status == "active"
    if not stored or moment.own.on_conflict == "ignore":
        return ()
    told = {match.memory_id: match for match in decision.matches}
    changed = {effect.before.id for effect in decision.effects if isinstance(effect, MemoryChange) and effect.before}
    found = []
    for candidate in evidence.neighbours:
        if candidate.memory.id in changed or not _is_near(new, candidate, evidence, moment):
            continue
        match = told.get(candidate.memory.id) or _told(new, candidate, evidence, moment)
        if _is_open(match, evidence):
            found.append(Question(candidate.memory, match))
    found.sort(key=lambda item: (-(item.match.similarity or 0.0), item.memory.created_at, item.memory.id))
    return tuple(found[:MOST_JUDGED])


def reviewed(
    decision: Decision, asked: tuple[Question, ...], told: Mapping[str, float | None], *, judge: str, moment: Moment
) -> Decision:
    """The decision plus a possible conflict for each pair the judge is sure of.

    Args:
        decision: The decision of rules, relation model and policy.
        asked: The pairs sent to the judge.
        told: P(contradiction) by memory id; None where the judge has no answer.
        judge: Id of the judge.
        moment: The time, and how long a conflict stays open.
    """
    memory = decision.memory
    sure = {item.memory.id: (item, share) for item in asked if (share := told.get(item.memory.id)) is not None}
    sure = {key: (item, share) for key, (item, share) in sure.items() if share >= FLAG_AT}
    if memory is None or not sure:
        return decision
    matches = {match.memory_id: match for match in decision.matches}
    conflicts, effects, reasons = list(decision.conflicts), list[Effect](decision.effects), list(decision.reasons)
    if all(reason.rule in _PLAIN for reason in reasons):
        reasons = []  # "nothing near" no longer explains the decision
    for item, share in sure.values():
        match = _flagged(item, memory)
        matches[match.memory_id] = match
        conflict = flags.between(
            item.memory,
            memory,
            Comparison(match.relation, match.similarity, match.cosine, match.differences, "judge", match.opinion),
            kind="contradiction",
            moment=(moment.now, moment.policy.conflict_days),
        )
        conflicts.append(conflict)
        effects.append(flags.opened(conflict))
        reasons.append(
            Reason("conflict_judge", f"probability {share:.4f} by {judge}; {match.similarity:.4f} to {match.memory_id}")
        )
    return replace(
        decision,
        matches=tuple(matches.values()),
        conflicts=tuple(conflicts),
        effects=tuple(effects),
        reasons=tuple(reasons),
    )


def unreviewed(decision: Decision) -> Decision:
    """The decision when the judge failed: the memory is stored unchecked and `degraded` names the judge."""
    memory = decision.memory
    effects: list[Effect] = []
    for effect in decision.effects:
        if isinstance(effect, MemoryChange) and effect.before is None and effect.after is not None:
            memory = replace(effect.after, checked=False)
            effect = MemoryChange(None, memory)
        effects.append(effect)
    degraded = decision.degraded if "judge" in decision.degraded else (*decision.degraded, "judge")
    return replace(decision, memory=memory, effects=tuple(effects), degraded=degraded)


def _is_near(new: NewMemory, candidate: Candidate, evidence: Evidence, moment: Moment) -> bool:
    memory, policy = candidate.memory, moment.own
    if memory.status != "active" or is_expired(memory, moment.now):
        return False
    searched = "vector" in policy.stages and in_scope(new, memory, policy)
    if not searched and not may_contradict(new, memory, policy, moment.policy):
        return False
    similarity = evidence.similarity(candidate)
    if similarity is None or similarity < policy.conflict_at:
        return False
    return not in_same_words(memory.content, new.content)


def _is_open(match: Match, evidence: Evidence) -> bool:
    if match.action not in ("none", "connect"):
        return False
    if any(item.kind in ("subject", "event_time") for item in match.differences):
        return False  # another subject or time: both statements may hold
    opinion, bounds = match.opinion, evidence.bounds
    if opinion is None:
        return True
    match match.relation:
        case "same" if any(item.kind not in SOFT for item in match.differences):
            return True  # the relation model has overruled a rule
        case "same" | "generalises":
            return opinion.repeats < bounds.link
        case "refines":
            return opinion.refines < bounds.evolve
        case _:
            return True


def _told(new: NewMemory, candidate: Candidate, evidence: Evidence, moment: Moment) -> Match:
    """The match of a memory that the decision did not compare, because it shares too few words."""
    similarity = evidence.similarity(candidate)
    opinion = evidence.opinions.get(candidate.memory.id)
    comparison = compare(
        new,
        candidate.memory,
        cosine=candidate.cosine,
        similarity=similarity,
        opinion=opinion,
        opposites=moment.policy.opposites,
    )
    return match_of(Judged(candidate, comparison), "none", moment)


def _flagged(item: Question, new: Memory) -> Match:
    custom = Difference("custom", excerpt(item.memory.content, flags.EXCERPT), excerpt(new.content, flags.EXCERPT))
    return replace(item.match, action="conflict", differences=(custom, *item.match.differences))
