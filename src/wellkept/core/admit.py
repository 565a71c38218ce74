"""The policy table as one pure function: a new statement and the evidence about it become a decision.

Why was this dropped, linked, evolved or superseded? The answer is in this file, top to bottom:

1. `settle`: what needs no vector. The filters (junk, recording), the verbatim repeat, the reversion
   to a superseded text, the ongoing episode.
2. `judge`: what needs comparison. Same slot, repeat by similarity, conflict, evolution, plain new.

A difference vetoes skip, merge and evolve on every path (I2). Nothing here writes: the decision
carries its effects, and the engine applies them in the transaction it gathered the evidence in (I3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from wellkept.core import conflicts as flags
from wellkept.core.compare import compare
from wellkept.core.lifecycle import born_superseded, effective_time, inherit, is_expired, lifecycle, supersede
from wellkept.core.merge import absorbed, confirm, evolve, short
from wellkept.core.recording import refusal
from wellkept.core.text import canonical, slot_key, text_overlap
from wellkept.policy import BandOutcome, KindPolicy, Policy
from wellkept.types import (
    Candidate,
    Comparison,
    Conflict,
    Decision,
    Degradation,
    Difference,
    Effect,
    Link,
    LinkChange,
    Match,
    MatchAction,
    Memory,
    MemoryChange,
    NewMemory,
    Reason,
    Statement,
)

if TYPE_CHECKING:
    from wellkept.core.calibration import Calibration

MAX_LINKS = 5
# An update may add to a memory what the memory did not say; what differs must not be appended (I2).
EVOLVE_TOLERATES = frozenset({"detail", "condition"})

ContradictionFn = Callable[[Memory, Statement], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything the decision may look at; gathered by the engine inside the transaction.

    Attributes:
        verbatim: Rows that a hash of the new text points at, of any status, with the stage.
        heads: Current heads of the superseded rows among them, by id of the superseded row.
        slot: Active rows of the same subject and attribute.
        ongoing: Active rows without an end, for the window stage.
        neighbours: Nearest rows by vector, with their raw cosines.
        held: Aliases that each candidate has already, by memory id.
        known_conflicts: Keys of conflicts recorded before, open or settled.
        calibration: Raw cosine to similarity; None without vectors.
        lexical: True when the vectors compare letters only: bands do not act then.
        embedding: Hash of the embedded text; empty when it has no vector.
        chunks: Windows the embedder needed; 0 without a vector.
        degraded: What could not run.
        contradiction_fn: The caller's own judge (S2-24).
    """

    verbatim: tuple[Candidate, ...] = ()
    heads: Mapping[str, Memory] = field(default_factory=dict)
    slot: tuple[Memory, ...] = ()
    ongoing: tuple[Memory, ...] = ()
    neighbours: tuple[Candidate, ...] = ()
    held: Mapping[str, frozenset[str]] = field(default_factory=dict)
    known_conflicts: frozenset[str] = frozenset()
    calibration: Calibration | None = None
    lexical: bool = False
    embedding: str = ""
    chunks: int = 0
    degraded: tuple[Degradation, ...] = ()
    contradiction_fn: ContradictionFn | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """The inputs that must not come from inside: time, id, namespace, policy (I4)."""

    now: datetime
    id: str
    namespace: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class _Judged:
    candidate: Candidate
    comparison: Comparison

    @property
    def memory(self) -> Memory:
        return self.candidate.memory

    @property
    def similarity(self) -> float:
        return self.comparison.similarity if self.comparison.similarity is not None else -1.0


def born(new: NewMemory, evidence: Evidence, moment: Moment) -> Memory:
    """The memory the new statement would be."""
    statement = {name: getattr(new, name) for name in Statement.__dataclass_fields__}
    recorded = new.recorded_at or moment.now
    return Memory(
        **statement,
        id=moment.id,
        namespace=moment.namespace,
        created_at=recorded,
        updated_at=moment.now,
        checked="embedding" not in evidence.degraded,
        embedding=evidence.embedding,
        chunks=evidence.chunks,
    )


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
    judged = _compared(new, policy, evidence, moment)
    replaced = _same_slot(new, policy, evidence, moment)
    reverted = _reverted(new, policy, evidence)
    if not replaced and not reverted:
        for found in judged:
            if _allowed(found, policy, evidence) in ("skip", "merge"):
                return _duplicate(new, [found, *(item for item in judged if item is not found)], evidence, moment)
    conflicting = [
        found
        for found in judged
        if found.comparison.relation == "conflict"
        and (found.comparison.similarity is None or found.similarity >= policy.conflict_at)
        and found.memory.id not in {old.id for old in (*replaced, *reverted)}
        and policy.on_conflict != "ignore"
    ]
    repeated = [found for found in judged if _is_possible_repeat(found, policy, evidence)]
    if policy.on_conflict == "raise" and (conflicting or repeated):
        return _refused(memory, [*conflicting, *repeated], judged, evidence, moment)
    if not conflicting and not replaced and not reverted:
        for found in judged:
            if _allowed(found, policy, evidence) == "evolve":
                return _evolved(new, found, judged, evidence, moment)
    retired, warned = _split(conflicting, policy)
    story = _Story(memory, judged, evidence, moment)
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
        outcome="rejected", memory=None, dropped=born(new, evidence, moment), reasons=(reason,), degraded=evidence.degraded
    )


def _repeated(new: NewMemory, policy: KindPolicy, evidence: Evidence, moment: Moment) -> Decision | None:
    """A verbatim repeat confirms the stored one (B-37, B-38); a superseded row does not block (B-9)."""
    if policy.on_conflict == "ignore":
        return None
    for candidate in evidence.verbatim:
        memory = candidate.memory
        if memory.status != "active" or is_expired(memory, moment.now) or not _says_the_same(new, memory):
            continue
        similarity = 1.0 if candidate.stage == "content_hash" else 0.95  # S4-1, S4-2
        found = _Judged(candidate, Comparison("same", similarity, None))
        return _duplicate(new, [found], evidence, moment)
    return None


def _says_the_same(new: Statement, old: Memory) -> bool:
    """Whether equal text is an equal statement: nothing beside the text differs (B-37, I2)."""
    apart = (
        (slot_key(new.subject), slot_key(old.subject)),
        (slot_key(new.attribute), slot_key(old.attribute)),
        (canonical(new.title), canonical(old.title)),
        (new.event_time, old.event_time),
        (new.event_end, old.event_end),
    )
    if any(a and b and a != b for a, b in apart):
        return False
    return new.kind == old.kind and new.polarity * old.polarity != -1 and new.agent == old.agent


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
        if comparison.differences:
            continue  # E-3.1: "brain status" and "heart status" overlap, and are not one episode (I2)
        match = _match(_Judged(Candidate(memory, "window"), replace(comparison, similarity=overlap)), "reuse", moment)
        return Decision(
            outcome="reused",
            memory=memory,
            dropped=born(new, evidence, moment),
            matches=(match,),
            reasons=(Reason("ongoing_window", f"{overlap:.2f} of the words, started {started.isoformat()}"),),
        )
    return None


# --------------------------------------------------------------------------------------------
# Comparison


def _compared(new: NewMemory, policy: KindPolicy, evidence: Evidence, moment: Moment) -> list[_Judged]:
    judged = []
    for candidate in evidence.neighbours:
        memory = candidate.memory
        if memory.status != "active" or is_expired(memory, moment.now) or not in_scope(new, memory, policy):
            continue
        similarity = None
        if candidate.cosine is not None and evidence.calibration is not None:
            similarity = evidence.calibration.similarity(candidate.cosine)
        comparison = compare(new, memory, cosine=candidate.cosine, similarity=similarity)
        judged.append(_Judged(candidate, _with_hook(comparison, new, memory, evidence, policy)))
    return sorted(judged, key=lambda found: (-found.similarity, found.memory.created_at, found.memory.id))


def _with_hook(
    comparison: Comparison, new: NewMemory, memory: Memory, evidence: Evidence, policy: KindPolicy
) -> Comparison:
    """The caller's own judge, asked only where the rules found no contradiction (S2-24)."""
    hook = evidence.contradiction_fn
    near = comparison.similarity is not None and comparison.similarity >= policy.conflict_at
    if hook is None or not near or comparison.relation == "conflict" or not hook(memory, new):
        return comparison
    custom = Difference("custom", memory.content, new.content, decisive=True)
    return replace(
        comparison, relation="conflict", differences=(*comparison.differences, custom), reason="custom_fn"
    )


def in_scope(new: Statement, old: Memory, policy: KindPolicy) -> bool:
    """Whether the policy lets the two be compared at all; the namespace is the same by construction (I8)."""
    if new.kind != old.kind:
        return False  # S0-52, S4-16
    if "agent" in policy.scope and new.agent != old.agent:
        return False
    if "subject" in policy.scope and slot_key(new.subject) != slot_key(old.subject):
        return False
    if "tags" in policy.scope:  # S2-21 to the letter: common tags, or none on either side
        ours, theirs = {slot_key(tag) for tag in new.tags}, {slot_key(tag) for tag in old.tags}
        return bool(ours & theirs) or not (ours or theirs)
    return True


def _allowed(found: _Judged, policy: KindPolicy, evidence: Evidence) -> BandOutcome | None:
    """What the bands permit for this pair: the highest band whose outcome no difference vetoes (I2)."""
    relation, differences = found.comparison.relation, found.comparison.differences
    if evidence.lexical or relation in ("conflict", "none"):
        return None
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


def _is_possible_repeat(found: _Judged, policy: KindPolicy, evidence: Evidence) -> bool:
    """Near enough to merge, but the policy only reports: stored, linked, listed (S2-28, S2-35)."""
    merge_at = next((band for band in policy.bands if band.outcome == "merge"), None)
    return (
        merge_at is not None
        and policy.on_conflict in ("warn", "raise", "supersede_sure")
        and not evidence.lexical
        and found.comparison.relation == "same"
        and merge_at.holds(found.similarity)
    )


def _is_linked(found: _Judged, policy: KindPolicy, evidence: Evidence) -> bool:
    """The link band (S0-36); in `general` whatever is judged the same without being merged (B-3, F-14)."""
    if _allowed(found, policy, evidence) == "link":
        return True
    merges = any(band.outcome == "merge" for band in policy.bands)
    near = found.comparison.relation == "same" and found.similarity >= policy.conflict_at
    return merges and near and policy.on_conflict != "ignore" and not evidence.lexical


def _split(conflicting: list[_Judged], policy: KindPolicy) -> tuple[list[_Judged], list[_Judged]]:
    """Conflicts that supersede on their own, and those that are only recorded."""
    match policy.on_conflict:
        case "supersede":
            return conflicting, []
        case "supersede_sure":
            sure = [found for found in conflicting if _is_sure(found)]
            return sure, [found for found in conflicting if found not in sure]
        case _:
            return [], conflicting


def _is_sure(found: _Judged) -> bool:
    decisive = [item for item in found.comparison.differences if item.decisive]
    return bool(decisive) and all(item.sure for item in decisive)


# --------------------------------------------------------------------------------------------
# Same slot, reversion


def _same_slot(new: NewMemory, policy: KindPolicy, evidence: Evidence, moment: Moment) -> list[Memory]:
    """Rows whose slot the new statement fills again (S3-5 to S3-10, B-4)."""
    if policy.on_same_subject == "none" or "subject" not in policy.stages or not slot_key(new.subject):
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
        if head is not None and head.status == "active" and _says_the_same(new, candidate.memory):
            heads[head.id] = head
    return list(heads.values())


# --------------------------------------------------------------------------------------------
# Outcomes


def _match(found: _Judged, action: MatchAction, moment: Moment) -> Match:
    memory = found.memory
    decay = moment.policy.for_kind(memory.kind).decay
    return Match(
        memory_id=memory.id,
        title=short(memory),
        lifecycle=lifecycle(memory, decay, moment.now),
        stage=found.candidate.stage,
        relation=found.comparison.relation,
        action=action,
        similarity=found.comparison.similarity,
        cosine=found.comparison.cosine,
        differences=found.comparison.differences,
    )


def _duplicate(new: NewMemory, judged: list[_Judged], evidence: Evidence, moment: Moment) -> Decision:
    """Nothing new was said: the first of these is confirmed, the text goes to the journal (S0-31, B-38)."""
    found = judged[0]
    memory, stage = found.memory, found.candidate.stage
    policy = moment.policy.for_kind(new.kind)
    merging = policy.on_conflict == "supersede" and stage == "vector"
    after = confirm(memory, new, at=moment.now, raise_importance=merging)
    held = evidence.held.get(memory.id, frozenset())
    repeats = {item.memory.id for item in judged if _allowed(item, policy, evidence) == "skip"}  # S0-51
    return Decision(
        outcome="duplicate",
        memory=after,
        effects=(MemoryChange(memory, after), *absorbed(memory.id, (new.content,), held)),
        dropped=born(new, evidence, moment),
        matches=tuple(
            _match(item, "duplicate" if item is found or item.memory.id in repeats else "none", moment)
            for item in judged
        ),
        reasons=(Reason("similarity_skip" if stage == "vector" else stage, f"{found.similarity:.4f} to {memory.id}"),),
        degraded=evidence.degraded,
    )


def _evolved(
    new: NewMemory, found: _Judged, judged: list[_Judged], evidence: Evidence, moment: Moment
) -> Decision:
    """The stored memory takes the text as a dated update; the caller embeds the new whole (B-8)."""
    memory = found.memory
    after = evolve(memory, new.content, at=moment.now, similarity=found.similarity)
    held = evidence.held.get(memory.id, frozenset())
    return Decision(
        outcome="evolved",
        memory=after,
        effects=(MemoryChange(memory, after), *absorbed(memory.id, (new.content,), held)),
        matches=tuple(_match(item, "evolve" if item is found else "none", moment) for item in judged),
        reasons=(Reason("similarity_evolve", f"{found.similarity:.4f} to {memory.id}"),),
        degraded=evidence.degraded,
    )


def _refused(
    memory: Memory, reasons: list[_Judged], judged: list[_Judged], evidence: Evidence, moment: Moment
) -> Decision:
    """`on_conflict="raise"`: decided before anything is written (B-11, F-13)."""
    found = tuple(
        flags.between(
            item.memory,
            memory,
            item.comparison,
            kind="contradiction" if item.comparison.relation == "conflict" else "duplicate",
            moment=(moment.now, moment.policy.conflict_days),
        )
        for item in reasons
    )
    actions: Mapping[str, MatchAction] = {item.memory.id: "conflict" for item in reasons}
    return Decision(
        outcome="rejected",
        memory=None,
        dropped=memory,
        conflicts=found,
        matches=tuple(_match(item, actions.get(item.memory.id, "none"), moment) for item in judged),
        reasons=(Reason("conflict_raise", ", ".join(conflict.a for conflict in found)),),
        degraded=evidence.degraded,
    )


class _Story:
    """Collects what happens to one text that is stored, then tells it as a decision."""

    def __init__(self, memory: Memory, judged: list[_Judged], evidence: Evidence, moment: Moment) -> None:
        self._memory = memory
        self._judged = judged
        self._evidence = evidence
        self._moment = moment
        self._actions: dict[str, MatchAction] = {}
        self._reasons: list[Reason] = []
        self._later: list[Effect] = []
        self._links: dict[tuple[str, str, str], Link] = {}
        self._conflicts: list[Conflict] = []
        self._superseded: dict[str, Memory] = {}

    def supersede(self, olds: list[Memory], rule: str, judged: list[_Judged] | None = None) -> None:
        """The newer assertion hides the older one; the world's time decides which that is (B-35)."""
        for old in olds:
            if old.id in self._superseded or self._memory.status == "superseded":
                continue
            late = effective_time(self._memory, self._memory.created_at) < effective_time(old, old.created_at)
            if late:
                self._memory, change = born_superseded(self._memory, old, at=self._moment.now)
                self._reasons.append(Reason("older_assertion", f"{old.id} is of a later date"))
                self._note(change)
            else:
                self._memory = inherit(self._memory, old)
                self._superseded[old.id] = old
                self._reasons.append(Reason(rule, f"replaces {old.id}"))
                for effect in supersede(old, self._memory, at=self._moment.now):
                    self._note(effect)
            self._actions[old.id] = "supersede"
        for found in judged or ():
            kept = "keep_old" if found.memory.id not in self._superseded else "keep_new"
            self._flag(found, "contradiction", settled=kept)

    def warn(self, judged: list[_Judged], kind: str) -> None:
        """Recorded for review; both stay (S1-4)."""
        for found in judged:
            self._flag(found, "duplicate" if kind == "duplicate" else "contradiction", settled=None)
            self._actions.setdefault(found.memory.id, "conflict")
            rule = "possible_repeat" if kind == "duplicate" else "conflict_warn"
            self._reasons.append(Reason(rule, f"{found.similarity:.4f} to {found.memory.id}"))

    def link(self, judged: list[_Judged]) -> None:
        """One `related` link from the new memory to each near one, at most five (S0-36)."""
        for found in judged[:MAX_LINKS]:
            if found.memory.id in self._superseded:
                continue
            self._note(LinkChange(None, Link(self._memory.id, found.memory.id, "related", self._moment.now)))
            self._reasons.append(Reason("similarity_link", f"{found.similarity:.4f} to {found.memory.id}"))
            self._actions.setdefault(found.memory.id, "connect")

    def decision(self) -> Decision:
        """The whole story: created, or superseded when something older was hidden."""
        memory = self._memory
        hidden = tuple(self._superseded)
        insert: tuple[Effect, ...] = (MemoryChange(None, memory), *absorbed(memory.id, (memory.content,), frozenset()))
        return Decision(
            outcome="superseded" if hidden else "created",
            memory=memory,
            effects=(*insert, *self._later),
            matches=tuple(_match(item, self._actions.get(item.memory.id, "none"), self._moment) for item in self._judged),
            conflicts=tuple(self._conflicts),
            links=tuple(self._links.values()),
            reasons=tuple(self._reasons) or (Reason("nothing_like_it", "no stored memory is near"),),
            degraded=self._evidence.degraded,
        )

    def _note(self, effect: Effect) -> None:
        if isinstance(effect, LinkChange) and effect.after is not None:
            key = (effect.after.src, effect.after.dst, effect.after.rel)
            if key in self._links:
                return  # S0-54: exactly one edge
            self._links[key] = effect.after
        self._later.append(effect)

    def _flag(self, found: _Judged, kind: str, *, settled: str | None) -> None:
        conflict = flags.between(
            found.memory,
            self._memory,
            found.comparison,
            kind="duplicate" if kind == "duplicate" else "contradiction",
            moment=(self._moment.now, self._moment.policy.conflict_days),
        )
        if settled is not None:
            conflict = flags.settled(conflict, "keep_new" if settled == "keep_new" else "keep_old", at=self._moment.now)
        self._conflicts.append(conflict)
        if conflict.key not in self._evidence.known_conflicts:
            self._later.append(flags.opened(conflict))

