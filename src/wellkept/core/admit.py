"""The policy table as one pure function: a new statement and the evidence about it become a decision.

Why was this dropped, linked, evolved or superseded? The answer is in this file, top to bottom:

1. `settle`: what needs no vector. The filters (junk, recording), the verbatim repeat, the reversion
   to a superseded text, the ongoing episode.
2. `judge`: what needs comparison. Same slot, repeat by similarity, conflict, evolution, plain new.

A difference vetoes skip, merge and evolve on every path (I2). Nothing here writes: the decision
carries its effects, and the engine applies them in the transaction it gathered the evidence in (I3).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from wellkept.core.compare import compare
from wellkept.core.evidence import Evidence, Judged, Moment, compared, in_scope, says_the_same
from wellkept.core.lifecycle import effective_time, is_expired
from wellkept.core.outcomes import Story, born, duplicate, evolved, match_of, refused
from wellkept.core.recording import refusal
from wellkept.core.text import canonical, slot_key, text_overlap
from wellkept.policy import BandOutcome, KindPolicy
from wellkept.types import Candidate, Comparison, Decision, Memory, NewMemory, Reason

# An update may add to a memory what the memory did not say; what differs must not be appended (I2).
EVOLVE_TOLERATES = frozenset({"detail", "condition"})
# S3-14 asks for most of the words, not all: a detail more is still the same episode going on.
REUSE_TOLERATES = frozenset({"detail"})


def settle(new: NewMemory, evidence: Evidence, moment: Moment) -> Decision | None:
    """The decision as far as it needs no vector; None when the vectors must be asked (S4-4)."""
    policy = moment.policy.for_kind(new.kind)
    return (
        _filtered(new, policy, evidence, moment)
        or _repeated(new, policy, evidence, moment)
        or _ongoing(new, policy, evidence, moment)
    )


def judge(new: NewMemory, evidence: Evidence, moment: Moment) -> Decision:
    """The decision of everything `settle` left open."""
    policy = moment.policy.for_kind(new.kind)
    memory = born(new, evidence, moment)
    judged = compared(new, policy, evidence, moment)
    replaced = _same_slot(new, policy, evidence, moment)
    reverted = _reverted(new, policy, evidence)
    if not reverted:
        repeats = [found for found in judged if allowed(found, policy, evidence) in ("skip", "merge")]
        if repeats and not _is_newer_elsewhere(repeats[0], replaced):
            others = [found for found in judged if found not in repeats]
            return duplicate(new, repeats, others, evidence, moment)
    conflicting = [
        found
        for found in judged
        if found.comparison.relation == "conflict"
        and (found.comparison.similarity is None or found.similarity >= policy.conflict_at)
        and found.memory.id not in {old.id for old in (*replaced, *reverted)}
        and policy.on_conflict != "ignore"
    ]
    repeated = [found for found in judged if _is_possible_repeat(found, policy, evidence)]
    refusing = [found for found in conflicting if _acts(found, policy)]
    if policy.on_conflict == "raise" and (refusing or repeated):
        return refused(memory, [*refusing, *repeated], judged, evidence, moment)
    if not conflicting and not replaced and not reverted:
        for found in judged:
            if allowed(found, policy, evidence) == "evolve":
                return evolved(new, found, judged, evidence, moment)
    retired, warned = _split(conflicting, policy)
    story = Story(memory, judged, evidence, moment)
    story.supersede(replaced, "same_subject")
    story.supersede(reverted, "reversion")
    story.supersede([found.memory for found in retired], "conflict_supersede", retired)
    story.warn(warned, "contradiction")
    story.warn(repeated, "duplicate")
    story.link([found for found in judged if _is_linked(found, policy, evidence)])
    return story.decision()


# --------------------------------------------------------------------------------------------
# Stages that need no vector


def _filtered(new: NewMemory, policy: KindPolicy, evidence: Evidence, moment: Moment) -> Decision | None:
    reason = refusal(new, policy)
    if reason is None:
        return None
    return Decision(
        outcome="rejected",
        memory=None,
        dropped=born(new, evidence, moment),
        reasons=(reason,),
        degraded=evidence.degraded,
    )


def _repeated(new: NewMemory, policy: KindPolicy, evidence: Evidence, moment: Moment) -> Decision | None:
    """A verbatim repeat confirms the stored one (B-37, B-38).

    A superseded row does not block (B-9), unless the repeat itself is of a time before the current
    head: then it is history that is known already, and nothing is asserted again (B-35, I5).
    """
    if policy.on_conflict == "ignore":
        return None
    # A row that says the words itself comes before one that only absorbed them.
    own = canonical(new.content)
    rows = sorted(
        evidence.verbatim, key=lambda hit: (hit.memory.status != "active", canonical(hit.memory.content) != own)
    )
    for candidate in rows:
        memory = candidate.memory
        if is_expired(memory, moment.now) or not says_the_same(new, memory):
            continue
        if memory.status != "active" and not _is_known_history(new, memory, evidence, moment):
            continue
        if memory.status == "active" and (_moved_on(new, memory) or _slot_is_shared(new, policy, evidence)):
            continue
        similarity = 1.0 if candidate.stage == "content_hash" else 0.95  # S4-1, S4-2
        found = Judged(candidate, Comparison("same", similarity, None))
        return duplicate(new, [found], [], evidence, moment)
    return None


def _moved_on(new: NewMemory, memory: Memory) -> bool:
    """Whether an evolved memory says something else by now than the words it once absorbed (B-9)."""
    if not memory.updates:
        return False
    return compare(new, memory, cosine=None, similarity=None).relation == "conflict"


def _slot_is_shared(new: NewMemory, policy: KindPolicy, evidence: Evidence) -> bool:
    """Whether another value stands in the same slot, so that the repeat must settle which one holds (B-4)."""
    replaces = policy.on_same_subject != "none" and "subject" in policy.stages
    return replaces and any(canonical(row.content) != canonical(new.content) for row in evidence.slot)


def _is_known_history(new: NewMemory, memory: Memory, evidence: Evidence, moment: Moment) -> bool:
    head = evidence.heads.get(memory.id)
    if head is None or head.id == memory.id or head.status != "active":
        return False
    return effective_time(new, new.recorded_at or moment.now) < effective_time(head, head.created_at)


def _ongoing(new: NewMemory, policy: KindPolicy, evidence: Evidence, moment: Moment) -> Decision | None:
    """An ongoing episode with nearly the same words is the same episode (S3-13, S3-14)."""
    if "window" not in policy.stages:
        return None
    since = moment.now - timedelta(minutes=policy.window_minutes)
    for memory in sorted(evidence.ongoing, key=lambda item: (item.created_at, item.id), reverse=True):
        started = effective_time(memory, memory.created_at)
        overlap = text_overlap(new.summary or new.content, memory.summary or memory.content)
        if started < since or overlap <= policy.overlap or not in_scope(new, memory, policy):
            continue
        comparison = compare(new, memory, cosine=None, similarity=None)
        if any(item.kind not in REUSE_TOLERATES for item in comparison.differences):
            continue  # E-3.1: "brain status" and "heart status" overlap, and are not one episode (I2)
        match = match_of(Judged(Candidate(memory, "window"), replace(comparison, similarity=overlap)), "reuse", moment)
        return Decision(
            outcome="reused",
            memory=memory,
            dropped=born(new, evidence, moment),
            matches=(match,),
            reasons=(Reason("ongoing_window", f"{overlap:.2f} of the words, started {started.isoformat()}"),),
        )
    return None


# --------------------------------------------------------------------------------------------
# What the policy's bands allow


def allowed(found: Judged, policy: KindPolicy, evidence: Evidence) -> BandOutcome | None:
    """What the bands permit for this pair: the highest band whose outcome no difference vetoes (I2)."""
    relation, differences = found.comparison.relation, found.comparison.differences
    if evidence.lexical or relation in ("conflict", "none") or policy.on_conflict == "ignore":
        return None  # B-37: `ignore` switches the search for repeats off
    for band in policy.bands:
        if not band.holds(found.similarity):
            continue
        match band.outcome:
            case "skip" if relation == "same":
                return "skip"
            case "merge" if relation == "same" and policy.on_conflict == "supersede":
                return "merge"
            case "evolve" if all(item.kind in EVOLVE_TOLERATES for item in differences):
                return "evolve"
            case "link":
                return "link"
            case _:
                continue
    return None


def _is_possible_repeat(found: Judged, policy: KindPolicy, evidence: Evidence) -> bool:
    """Near enough to merge, but the policy only reports: stored, linked, listed (S2-28, S2-35)."""
    merge_at = next((band for band in policy.bands if band.outcome == "merge"), None)
    return (
        merge_at is not None
        and policy.on_conflict in ("warn", "raise", "supersede_sure")
        and not evidence.lexical
        and found.comparison.relation == "same"
        and merge_at.holds(found.similarity)
    )


def _is_linked(found: Judged, policy: KindPolicy, evidence: Evidence) -> bool:
    """The link band (S0-36); in `general` whatever is judged the same without being merged (B-3, F-14)."""
    if allowed(found, policy, evidence) == "link":
        return True
    merges = any(band.outcome == "merge" for band in policy.bands)
    near = found.comparison.relation == "same" and _acts(found, policy)
    return merges and near and policy.on_conflict != "ignore" and not evidence.lexical


def _split(conflicting: list[Judged], policy: KindPolicy) -> tuple[list[Judged], list[Judged]]:
    """Conflicts that supersede on their own, and those that are only recorded."""
    match policy.on_conflict:
        case "supersede":
            retired = [found for found in conflicting if _acts(found, policy)]
        case "supersede_sure":
            retired = [found for found in conflicting if _acts(found, policy) and _is_sure(found)]
        case _:
            retired = []
    return retired, [found for found in conflicting if found not in retired]


def _acts(found: Judged, policy: KindPolicy) -> bool:
    """Near enough for the policy to act on its own, not only to report."""
    return found.comparison.similarity is not None and found.similarity >= policy.act_at


def _is_newer_elsewhere(repeat: Judged, replaced: list[Memory]) -> bool:
    """Whether another value of the slot stands beside the repeated one, so that the repeat must settle it."""
    return any(memory.id != repeat.memory.id for memory in replaced)


def _is_sure(found: Judged) -> bool:
    decisive = [item for item in found.comparison.differences if item.decisive]
    return bool(decisive) and all(item.sure for item in decisive)


# --------------------------------------------------------------------------------------------
# Same slot, reversion


def _same_slot(new: NewMemory, policy: KindPolicy, evidence: Evidence, moment: Moment) -> list[Memory]:
    """Rows whose slot the new statement fills again (S3-5 to S3-10, B-4)."""
    asked = policy.on_same_subject != "none" and policy.on_conflict != "ignore"
    if not asked or "subject" not in policy.stages or not slot_key(new.subject):
        return []
    near = {candidate.memory.id: candidate.cosine for candidate in evidence.neighbours}
    rows = []
    for memory in evidence.slot:
        same_text = canonical(memory.content) == canonical(new.content)
        if not in_scope(new, memory, policy) or is_expired(memory, moment.now):
            continue
        if same_text and new.event_time and memory.event_time and new.event_time != memory.event_time:
            continue  # F-22: the same thing happened twice
        if policy.on_same_subject == "replace_if_similar":
            cosine = near.get(memory.id)
            if cosine is None or evidence.calibration is None or evidence.lexical:
                continue
            if evidence.calibration.similarity(cosine) < policy.replace_at:
                continue
        rows.append(memory)
    return rows


def _reverted(new: NewMemory, policy: KindPolicy, evidence: Evidence) -> list[Memory]:
    """Heads of chains that end a superseded text which is now asserted again (B-9, F-21)."""
    if policy.on_conflict == "ignore":
        return []
    heads: dict[str, Memory] = {}
    for candidate in evidence.verbatim:
        head = evidence.heads.get(candidate.memory.id)
        if head is not None and head.status == "active" and says_the_same(new, candidate.memory):
            heads[head.id] = head
    return list(heads.values())
