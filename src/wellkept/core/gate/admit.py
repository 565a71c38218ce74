"""The policy table as one pure function: statement and evidence in, decision out.

The rules run in the order of this file:

1. `settle` needs no vector: content filters, verbatim repeats, reversion to a superseded text, ongoing episodes.
2. `judge` rejects chatter and compares: same slot, duplicate by similarity, conflict, update, new memory.

Any difference vetoes skip, merge and evolve. The relation model may overrule only soft differences
(`core.judging.compare.SOFT`). This module writes nothing: the engine applies the decision's effects in the transaction
that gathered the evidence.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from wellkept.core.gate.growth import Grown, contradicted_parts, grown_ones
from wellkept.core.gate.outcomes import Story, born, duplicate, evolved, match_of, refused, restated
from wellkept.core.gate.probable_acts import Probable, ProbableActs
from wellkept.core.gate.worth_keeping import chatter_refusal, low_weight, refusal
from wellkept.core.judging.compare import compare, contradicts, is_sure
from wellkept.core.judging.evidence import (
    Evidence,
    Judged,
    Moment,
    compared,
    in_scope,
    may_concern_now,
    may_restate,
    says_the_same,
)
from wellkept.core.records.lifecycle import effective_time, is_ahead, is_expired
from wellkept.core.records.summary_levels import is_summary, is_summary_of
from wellkept.core.text.forms import canonical, slot_key, text_overlap
from wellkept.core.text.same_words import in_same_words
from wellkept.policy import BandOutcome, KindPolicy
from wellkept.types import Candidate, Comparison, Decision, Memory, NewMemory, Outcome, Reason

# An update may add details and conditions to a memory. Any other difference is not appended.
EVOLVE_TOLERATES = frozenset({"detail", "condition"})
# Details may differ within one ongoing episode; nothing else may.
REUSE_TOLERATES = frozenset({"detail"})
ASKED_ABOUT: frozenset[Outcome] = frozenset({"created", "superseded", "restated"})
"""Outcomes that may be asked about; of a restatement, a sample."""


def settle(new: NewMemory, evidence: Evidence, moment: Moment) -> Decision | None:
    """Decide what needs no vector; None when vectors are needed."""
    return _filtered(new, evidence, moment) or _repeated(new, evidence, moment) or _ongoing(new, evidence, moment)


def judge(new: NewMemory, evidence: Evidence, moment: Moment) -> Decision:
    """Decide what `settle` left open."""
    chatter = chatter_refusal(new, moment.own, evidence.chatter)
    if chatter is not None:
        return _rejected(new, chatter, evidence, moment)
    acts = ProbableActs(new, evidence, moment)
    decision = _placed(new, acts, evidence, moment)
    asks = moment.policy.ask and decision.outcome in ASKED_ABOUT
    return replace(decision, chances=acts.chances()) if asks else decision


def _placed(new: NewMemory, acts: ProbableActs, evidence: Evidence, moment: Moment) -> Decision:
    """Decide what becomes of a text that is worth keeping."""
    policy = moment.own
    memory = born(new, evidence, moment)
    judged, elsewhere = compared(new, evidence, moment)
    replaced = _same_slot(new, evidence, moment)
    reverted = _reverted(new, evidence, moment)
    grown = grown_ones(new, evidence, moment)
    repeat = None if reverted else _sure_repeat(new, judged, grown, replaced, evidence, moment)
    if repeat is not None:
        return repeat
    outdated, turned, possible = acts.outdated(), acts.turned_round(), acts.possibly_outdated()
    reported = _reported([*judged, *elsewhere], policy, evidence)
    against = [found for found in contradicted_parts(grown) if _is_reported(found, policy, evidence)]
    against = [found for found in against if found.memory.id not in {other.memory.id for other in reported}]
    conflicting = [
        found
        for found in (*judged, *against)
        if found in (*reported, *against)
        and found.memory.id not in {old.id for old in (*replaced, *reverted)}
        and policy.on_conflict != "ignore"
    ]
    repeated = [found for found in judged if _is_possible_repeat(found, policy, evidence)]
    refusing = [found for found in conflicting if _acts(found, policy, evidence)]
    if policy.on_conflict == "raise" and (refusing or repeated):
        return refused(memory, [*refusing, *repeated], judged, evidence, moment)
    if not replaced and not reverted:
        again = _told_again_elsewhere(new, acts, outdated, evidence, moment)
        if again is not None and again.judged.memory.id not in {found.memory.id for found in conflicting}:
            return restated(new, again.judged, judged, again.probability, evidence, moment, possible)
    updates = [found for found in (outdated, turned) if found is not None]
    if not conflicting and not replaced and not reverted and (policy.repeats == "drop" or not updates):
        for found in _extended(judged, grown):
            if allowed(found, policy, evidence) == "evolve":
                return evolved(new, found, judged, evidence, moment)
    retired, warned = _split(conflicting, policy, evidence)
    ahead = [found for found in retired if _is_ahead(new, found.memory, moment)]
    retired = [found for found in retired if found not in ahead]
    warned += ahead
    story = Story(memory, [*judged, *elsewhere], evidence, moment)
    story.supersede(replaced, "same_subject")
    story.supersede(reverted, "reversion")
    story.supersede([found.memory for found in retired], "conflict_supersede", retired)
    story.warn(warned, "contradiction")
    story.warn([found for found in elsewhere if found in reported], "contradiction")
    story.warn(repeated, "duplicate")
    for update in updates:
        story.outdate(update.judged, update.probability)
    story.may_update(possible)
    story.may_restate(acts.possibly_restated())
    refined = [found for found in judged if _is_refined(found, policy, evidence)]
    story.link([found for found in judged if found not in refined and _is_linked(found, policy, evidence)])
    story.link(refined, "refines")
    story.lighten(low_weight(new, policy, evidence.chatter))
    return story.decision()


def _sure_repeat(
    new: NewMemory,
    judged: list[Judged],
    grown: list[Grown],
    replaced: list[Memory],
    evidence: Evidence,
    moment: Moment,
) -> Decision | None:
    """The decision about a text that repeats a memory by the policy's bands; None when it repeats none."""
    policy = moment.own
    parts = [found for one in grown for found in (one.first, *one.parts)]
    repeats = [found for found in (*judged, *parts) if allowed(found, policy, evidence) in ("skip", "merge")]
    if not repeats or _is_overtaken(repeats[0], judged, evidence, moment) or _is_newer_elsewhere(repeats[0], replaced):
        return None
    others = [found for found in judged if found not in repeats]
    if policy.repeats == "drop" or in_same_words(repeats[0].memory.content, new.content):
        return duplicate(new, repeats, others, evidence, moment)
    decision = restated(new, repeats[0], others, None, evidence, moment)
    first, *rest = decision.matches
    further = {found.memory.id: found for found in repeats[1:] if found.memory.id != first.memory_id}
    return replace(decision, matches=(first, *(match_of(one, "duplicate", moment) for one in further.values()), *rest))


# --------------------------------------------------------------------------------------------
# Stages that need no vector


def _filtered(new: NewMemory, evidence: Evidence, moment: Moment) -> Decision | None:
    reason = refusal(new, moment.own)
    return None if reason is None else _rejected(new, reason, evidence, moment)


def _rejected(new: NewMemory, reason: Reason, evidence: Evidence, moment: Moment) -> Decision:
    return Decision(
        outcome="rejected",
        memory=None,
        dropped=born(new, evidence, moment),
        reasons=(reason,),
        degraded=evidence.degraded,
    )


def _repeated(new: NewMemory, evidence: Evidence, moment: Moment) -> Decision | None:
    """A verbatim repeat confirms the stored memory.

    A superseded row does not count as a repeat, unless the new statement is dated before the current head: then it is
    known history.
    """
    if moment.own.on_conflict == "ignore":
        return None
    repeats: list[Judged] = []
    said_by: list[Memory] = []
    for candidate in _own_words_first(new, evidence):
        memory = row = candidate.memory
        if is_expired(memory, moment.now) or not says_the_same(new, memory):
            continue
        if memory.status == "wording":
            head = evidence.heads.get(memory.id)
            if head is None or head.status != "active" or is_expired(head, moment.now) or _moved_on(new, head, moment):
                continue
            if any(found.memory.id == head.id for found in repeats):
                continue  # the head holds the words of its additions too
            memory, candidate = head, replace(candidate, memory=head)
        if memory.status != "active" and not _is_known_history(new, memory, evidence, moment):
            continue
        if memory.status == "active" and (_moved_on(new, memory, moment) or _slot_is_shared(new, evidence, moment)):
            continue
        repeats.append(_verbatim(candidate))
        said_by.append(row)
    return duplicate(new, repeats, [], evidence, moment, said_by[0]) if repeats else None


def _own_words_first(new: NewMemory, evidence: Evidence) -> list[Candidate]:
    """The rows with the words of the text: current ones first, and their own text before words that they absorbed."""
    own = canonical(new.content)
    return sorted(
        evidence.verbatim, key=lambda hit: (hit.memory.status != "active", canonical(hit.memory.content) != own)
    )


def _verbatim(candidate: Candidate) -> Judged:
    return Judged(candidate, Comparison("same", 1.0 if candidate.stage == "content_hash" else 0.95, None))


def _moved_on(new: NewMemory, memory: Memory, moment: Moment) -> bool:
    """Whether an evolved memory now contradicts the words it once absorbed."""
    return bool(memory.updates) and contradicts(new, memory, moment.policy.opposites)


def _slot_is_shared(new: NewMemory, evidence: Evidence, moment: Moment) -> bool:
    """Whether another value fills the same slot, so that the repeat must decide which value holds."""
    replaces = moment.own.on_same_subject != "none" and "subject" in moment.own.stages
    others = (row for row in evidence.slot if not in_same_words(row.content, new.content))
    return replaces and any(not _is_ahead(new, row, moment) for row in others)


def _is_known_history(new: NewMemory, memory: Memory, evidence: Evidence, moment: Moment) -> bool:
    head = evidence.heads.get(memory.id)
    if head is None or head.id == memory.id or head.status != "active":
        return False
    if is_summary_of(head, memory):
        return True  # a summary does not replace its sources, so the repeat is known
    since = min(effective_time(head, head.created_at), moment.now)  # a future event_time counts as now
    return effective_time(new, new.recorded_at or moment.now) < since


def _ongoing(new: NewMemory, evidence: Evidence, moment: Moment) -> Decision | None:
    """An ongoing episode in nearly the same words is the same episode."""
    policy = moment.own
    if "window" not in policy.stages:
        return None
    since = moment.now - timedelta(minutes=policy.window_minutes)
    for memory in sorted(evidence.ongoing, key=lambda item: (item.created_at, item.id), reverse=True):
        started = effective_time(memory, memory.created_at)
        # Canonical text has no punctuation, so a full stop does not lower the overlap.
        overlap = text_overlap(*(canonical(row.summary or row.content) for row in (new, memory)))
        if started < since or overlap <= policy.overlap or not in_scope(new, memory, policy):
            continue
        comparison = compare(new, memory, cosine=None, similarity=None, opposites=moment.policy.opposites)
        if any(item.kind not in REUSE_TOLERATES for item in comparison.differences):
            continue  # "brain status" and "heart status" overlap, and are not one episode
        match = match_of(Judged(Candidate(memory, "window"), replace(comparison, similarity=overlap)), "reuse", moment)
        return Decision(
            outcome="reused",
            memory=memory,
            dropped=born(new, evidence, moment),
            matches=(match,),
            reasons=(Reason("ongoing_window", f"{overlap:.2f} of the words, started {started.isoformat()}"),),
        )
    return None


def _told_again_elsewhere(
    new: NewMemory, acts: ProbableActs, outdated: Probable | None, evidence: Evidence, moment: Moment
) -> Probable | None:
    """The memory of the family that the text restates, unless the text more probably outdates one."""
    if moment.own.on_conflict == "ignore":
        return None
    verbatim = _said_elsewhere(new, evidence, moment)
    if verbatim is not None:
        return verbatim
    again = acts.restated()
    if again is None or again.judged.comparison.reason not in ("", "model"):
        return None  # a rule sees a contradiction
    return None if outdated is not None and outdated.probability >= again.probability else again


def _said_elsewhere(new: NewMemory, evidence: Evidence, moment: Moment) -> Probable | None:
    """The memory of the family that has the words of the text, in its own text or in a wording of another kind.

    An episode that goes on stays a memory of its own: its id is needed to end it.
    """
    policy = moment.own
    if policy.repeats != "fold" or "window" in policy.stages and new.ended_at is None:
        return None
    for candidate in _own_words_first(new, evidence):
        row = candidate.memory
        head = evidence.heads.get(row.id) if row.status == "wording" else row
        if head is None or is_expired(row, moment.now) or is_summary_of(new, head) or _moved_on(new, head, moment):
            continue
        may_be = row.kind != new.kind and may_concern_now(new, row, head, moment)
        if may_be and may_restate(new, row, head, moment):
            return Probable(_verbatim(replace(candidate, memory=head)), row, 1.0)
    return None


# --------------------------------------------------------------------------------------------
# What the policy's bands allow


def allowed(found: Judged, policy: KindPolicy, evidence: Evidence) -> BandOutcome | None:
    """Return the outcome of the highest band that no rule vetoes.

    With an opinion of the relation model, its probability must also reach the bound of the policy's risk.
    """
    relation, opinion = found.comparison.relation, found.comparison.opinion
    if relation in ("conflict", "none") or policy.on_conflict == "ignore":
        return None  # `ignore` switches the search for repeats off
    if opinion is None and evidence.lexical:
        return None
    if opinion is not None and policy.same_at < 1 and found.similarity >= policy.same_at and _repeats(found, evidence):
        return "skip"  # a paraphrase: probable enough for the policy's risk, and similar enough
    for outcome in policy.outcomes(found.similarity):
        match outcome:
            case "skip" if _repeats(found, evidence):
                return "skip"
            case "merge" if _repeats(found, evidence) and policy.on_conflict == "supersede":
                return "merge"
            case "evolve" if _adds(found, evidence):
                return "evolve"
            case "link" if opinion is None or not evidence.lexical:
                return "link"
            case _:
                continue
    return None


def _repeats(found: Judged, evidence: Evidence) -> bool:
    opinion = found.comparison.opinion
    if opinion is None:
        return found.comparison.relation == "same" and not evidence.unjudged
    return found.worded and _tells_no_more(found) and opinion.repeats >= evidence.bounds.skip


def _tells_no_more(found: Judged) -> bool:
    """Whether the new text says the same or less, and no difference vetoes a repeat."""
    if found.vetoed or found.comparison.relation not in ("same", "generalises"):
        return False
    # "Refunds are given" after "only within 14 days" drops a condition: an update, not a repeat.
    lifted = any(item.kind == "condition" and item.old and not item.new for item in found.comparison.differences)
    return found.comparison.relation == "same" or not lifted


def _adds(found: Judged, evidence: Evidence) -> bool:
    """Whether the new text only adds to the stored memory and may be appended."""
    opinion = found.comparison.opinion
    if any(item.kind not in EVOLVE_TOLERATES for item in found.comparison.differences):
        return False
    if opinion is None:
        return not evidence.unjudged
    return found.comparison.relation == "refines" and opinion.refines >= evidence.bounds.evolve


def _extended(judged: list[Judged], grown: list[Grown]) -> list[Judged]:
    """The memories that the text may extend; one that has grown is judged by its original."""
    apart = {one.first.memory.id for one in grown}
    fresh = [found for found in judged if found.memory.id not in apart]
    return sorted([*(one.first for one in grown if one.is_beside), *fresh], key=_nearness, reverse=True)


def _is_overtaken(repeat: Judged, judged: list[Judged], evidence: Evidence, moment: Moment) -> bool:
    """Whether a newer memory contradicts the text: the text then restates an old value and is no repeat."""
    return any(
        found.comparison.relation == "conflict"
        and _is_likely(found, evidence)
        and moment.now >= _since(found.memory) > _since(repeat.memory)
        for found in judged
    )


def _since(memory: Memory) -> datetime:
    return effective_time(memory, memory.created_at)


def _is_likely(found: Judged, evidence: Evidence) -> bool:
    """Whether the rules found the conflict, or the model's P(conflict) is high enough to report."""
    opinion = found.comparison.opinion
    by_rules = found.comparison.reason not in ("", "model")
    return by_rules or (opinion is not None and opinion.conflict >= evidence.bounds.flag)


def _reported(judged: list[Judged], policy: KindPolicy, evidence: Evidence) -> list[Judged]:
    """The contradictions to report: all of the rules', and of the model's only the nearest.

    An update is nearly always the nearest memory that the text does not repeat. A model that errs about one entity errs
    about all its facts, and would fill the review list.
    """
    apart = [
        found
        for found in judged
        if found.comparison.opinion is not None and found.comparison.relation in ("conflict", "distinct")
    ]
    nearest = max(apart, key=_nearness, default=None)
    return [
        found
        for found in judged
        if _is_reported(found, policy, evidence)
        and (found is nearest or found.comparison.opinion is None or found.comparison.reason not in ("", "model"))
    ]


def _nearness(found: Judged) -> float:
    return found.similarity


def _is_reported(found: Judged, policy: KindPolicy, evidence: Evidence) -> bool:
    """Whether a contradiction goes to the review list.

    A pair that the model calls distinct may still be reported: updates in other words look like other facts, and a
    false report costs less than a wrong value.
    """
    if found.spoken and found.comparison.reason in ("", "model"):
        return False
    match found.comparison.relation, found.comparison.reason:
        case "conflict", "model":
            return _is_likely(found, evidence)
        case "conflict", _:
            near = found.comparison.similarity is None or found.similarity >= policy.conflict_at
            return near or is_sure(found.comparison)
        case "distinct", _:
            return found.comparison.opinion is not None and _is_likely(found, evidence)
        case _:
            return False


def _is_possible_repeat(found: Judged, policy: KindPolicy, evidence: Evidence) -> bool:
    """Whether the pair is similar enough to merge, but the policy only links and lists it."""
    if policy.on_conflict == "ignore":
        return False
    opinion = found.comparison.opinion
    if opinion is not None:
        least = evidence.bounds.link if found.worded else evidence.bounds.skip
        told = _tells_no_more(found) and opinion.repeats >= least
        return told and allowed(found, policy, evidence) is None
    merge_at = next((band for band in policy.bands if band.outcome == "merge"), None)
    return (
        merge_at is not None
        and not evidence.lexical
        and not evidence.unjudged
        and found.comparison.relation == "same"
        and merge_at.holds(found.similarity)
    )


def _is_refined(found: Judged, policy: KindPolicy, evidence: Evidence) -> bool:
    """Whether the model is sure that the new text adds to the stored memory; the stored memory stays unchanged."""
    opinion = found.comparison.opinion
    if opinion is None or found.comparison.relation != "refines" or policy.on_conflict == "ignore":
        return False
    return opinion.refines >= evidence.bounds.evolve


def _is_linked(found: Judged, policy: KindPolicy, evidence: Evidence) -> bool:
    """Whether to link: the link band, or in a merging policy any *same* that was not merged."""
    if allowed(found, policy, evidence) == "link":
        return True
    merges = any(band.outcome == "merge" for band in policy.bands)
    near = found.comparison.relation == "same" and found.similarity >= policy.act_at
    sure = found.comparison.opinion is not None or not (evidence.lexical or evidence.unjudged)
    return merges and near and sure and policy.on_conflict != "ignore"


def _split(conflicting: list[Judged], policy: KindPolicy, evidence: Evidence) -> tuple[list[Judged], list[Judged]]:
    """Split conflicts into those that supersede automatically and those that are only recorded."""
    match policy.on_conflict:
        case "supersede":
            retired = [found for found in conflicting if _acts(found, policy, evidence)]
        case "supersede_sure":
            retired = [found for found in conflicting if _acts(found, policy, evidence) and _is_sure(found)]
        case _:
            retired = []
    return retired, [found for found in conflicting if found not in retired]


def _acts(found: Judged, policy: KindPolicy, evidence: Evidence) -> bool:
    """Whether similarity or P(conflict) is high enough to supersede, not only to report."""
    opinion = found.comparison.opinion
    if opinion is not None and found.comparison.reason in ("", "model"):
        return opinion.conflict >= evidence.bounds.supersede
    return found.comparison.similarity is not None and found.similarity >= policy.act_at


def _is_newer_elsewhere(repeat: Judged, replaced: list[Memory]) -> bool:
    """Whether the slot also holds another value, so that the repeat must decide which value holds."""
    return any(memory.id != repeat.memory.id for memory in replaced)


def _is_sure(found: Judged) -> bool:
    if found.comparison.reason in ("", "model"):
        return True  # the bound for superseding replaces the rules' certainty
    return is_sure(found.comparison)


# --------------------------------------------------------------------------------------------
# Same slot, reversion


def _same_slot(new: NewMemory, evidence: Evidence, moment: Moment) -> list[Memory]:
    """Active rows of the slot that the new statement fills."""
    policy = moment.own
    asked = policy.on_same_subject != "none" and policy.on_conflict != "ignore"
    if not asked or "subject" not in policy.stages or not slot_key(new.subject):
        return []
    near = {candidate.memory.id: candidate.cosine for candidate in evidence.neighbours}
    rows = []
    for memory in evidence.slot:
        if _is_ahead(new, memory, moment):
            continue  # a value that starts in the future replaces nothing yet
        same_text = in_same_words(memory.content, new.content)
        if not in_scope(new, memory, policy) or is_expired(memory, moment.now):
            continue
        if same_text and new.event_time and memory.event_time and new.event_time != memory.event_time:
            continue  # the same thing happened twice
        if policy.on_same_subject == "replace_if_similar":
            cosine = near.get(memory.id)
            if cosine is None or evidence.calibration is None or evidence.lexical:
                continue
            if evidence.calibration.similarity(cosine) < policy.replace_at:
                continue
        rows.append(memory)
    return rows


def _is_ahead(new: NewMemory, memory: Memory, moment: Moment) -> bool:
    return is_ahead(new, memory, recorded=new.recorded_at or moment.now, now=moment.now)


def _reverted(new: NewMemory, evidence: Evidence, moment: Moment) -> list[Memory]:
    """Heads that superseded a text which is now asserted again."""
    if moment.own.on_conflict == "ignore":
        return []
    heads: dict[str, Memory] = {}
    for candidate in evidence.verbatim:
        if candidate.memory.status == "wording":
            continue  # its head stands before it and has not replaced it
        head = evidence.heads.get(candidate.memory.id)
        if head is None or head.status != "active" or is_summary(head) or _is_ahead(new, head, moment):
            continue  # repeating one source does not remove a summary of many
        if says_the_same(new, candidate.memory):
            heads[head.id] = head
    return list(heads.values())
