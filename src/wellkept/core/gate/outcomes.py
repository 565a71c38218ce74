"""Outcomes as values: the effects of a duplicate, an update, a refusal or a new memory.

Each outcome carries its effects, matches and reasons. `core.gate.admit` chooses between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from wellkept.core.gate.worth_keeping import LOW_IMPORTANCE
from wellkept.core.judging.evidence import Evidence, Judged, Moment
from wellkept.core.records import conflicts as flags
from wellkept.core.records.lifecycle import (
    born_superseded,
    born_wording,
    effective_time,
    inherit,
    is_ahead,
    lifecycle,
    supersede,
)
from wellkept.core.records.merge import absorbed, confirm, confirmed, evolve, gathered, has_room, short
from wellkept.types import (
    MAY_RESTATE,
    MAY_UPDATE,
    Conflict,
    ConflictKind,
    Decision,
    Effect,
    ImportedMemory,
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

MAX_LINKS = 5


def born(new: NewMemory, evidence: Evidence, moment: Moment) -> Memory:
    """The memory that the new statement would become."""
    statement = {name: getattr(new, name) for name in Statement.__dataclass_fields__}
    recorded = new.recorded_at or moment.now
    past = new if isinstance(new, ImportedMemory) else ImportedMemory(content=new.content)
    return Memory(
        **statement,
        id=moment.id,
        namespace=moment.namespace,
        created_at=recorded,
        updated_at=max(recorded, past.updated_at) if past.updated_at else moment.now,
        access_count=past.access_count,
        last_accessed_at=past.last_accessed_at,
        checked="embedding" not in evidence.degraded and not evidence.outage,
        embedding=evidence.embedding,
        chunks=evidence.chunks,
    )


def match_of(found: Judged, action: MatchAction, moment: Moment) -> Match:
    """The match reported for a candidate."""
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
        opinion=found.comparison.opinion,
    )


def told(found: Judged) -> str:
    """The detail of a reason: similarity, and the model's version and probability where it decided."""
    near = f"{found.similarity:.4f} to {found.memory.id}"
    opinion, relation = found.comparison.opinion, found.comparison.relation
    if opinion is None or found.comparison.confidence is None:
        return near
    if relation == "distinct":
        relation = "conflict"  # a possible conflict; *distinct* alone is not worth reporting
    return f"{relation} with probability {opinion.of(relation):.4f} by {opinion.model}; {near}"


def duplicate(
    new: NewMemory,
    repeats: list[Judged],
    others: list[Judged],
    evidence: Evidence,
    moment: Moment,
    said_by: Memory | None = None,
) -> Decision:
    """The text is a duplicate: the first repeat is confirmed, the text goes to the journal.

    `said_by` is the wording of that repeat that has the same words; their hashes stay with it.
    """
    found = repeats[0]
    memory, stage = found.memory, found.candidate.stage
    after = confirm(memory, new, at=moment.now, raise_importance=moment.own.on_conflict == "supersede")
    row = said_by or memory
    held = evidence.held.get(row.id, frozenset())
    return Decision(
        outcome="duplicate",
        memory=after,
        effects=(MemoryChange(memory, after), *absorbed(row.id, (new.content,), held)),
        dropped=born(new, evidence, moment),
        matches=(
            *(match_of(item, "duplicate", moment) for item in repeats),
            *(match_of(item, "none", moment) for item in others),
        ),
        reasons=(Reason(_skipped(found) if stage == "vector" else stage, told(found)),),
        degraded=evidence.degraded,
    )


def restated(
    new: NewMemory,
    found: Judged,
    others: list[Judged],
    probability: float | None,
    evidence: Evidence,
    moment: Moment,
    older: Sequence[Memory] = (),
) -> Decision:
    """The text is kept as a wording of the memory that it restates; that memory is confirmed.

    A wording does not change its head: what the head lacks is read from the wording. `probability` is that of the
    head over the list; None where similarity or the relation model alone decided. `older` are memories that the text
    may replace, so that recall puts its head before them.
    """
    if probability is None:
        reason = Reason(_skipped(found), told(found))
    else:
        reason = Reason("restates", f"probability {probability:.4f}; {told(found)}")
    decision = _as_wording(new, found, others, reason, evidence, moment)
    links = tuple(
        Link(moment.id, old.id, MAY_UPDATE, moment.now) for old in older[:MAX_LINKS] if old.id != found.memory.id
    )
    return replace(
        decision,
        effects=(*decision.effects, *(LinkChange(None, link) for link in links)),
        links=(*decision.links, *links),
    )


def _as_wording(
    new: NewMemory, found: Judged, others: list[Judged], reason: Reason, evidence: Evidence, moment: Moment
) -> Decision:
    memory = found.memory
    after = confirmed(memory, at=moment.now)
    link, effects = _behind(born(new, evidence, moment), memory, after, at=moment.now)
    return Decision(
        outcome="restated",
        memory=after,
        effects=effects,
        links=(link,),
        matches=(
            match_of(found, "restate", moment),
            *(match_of(item, "none", moment) for item in others if item.memory.id != memory.id),
        ),
        reasons=(reason,),
        degraded=evidence.degraded,
    )


def _behind(new: Memory, head: Memory, after: Memory, *, at: datetime) -> tuple[Link, tuple[Effect, ...]]:
    """The link and the effects by which a text becomes a wording of the head, which changes to `after`."""
    wording, link = born_wording(new, head, at=at)
    known = absorbed(wording.id, (wording.content,), frozenset())
    return link, (MemoryChange(None, wording), MemoryChange(head, after), LinkChange(None, link), *known)


def _skipped(found: Judged) -> str:
    return "similarity_skip" if found.comparison.confidence is None else "told_again"


def _warning(found: Judged) -> str:
    """The rule name of a warning: `conflict_warn` for rules, `possible_conflict` for the relation model."""
    by_model = found.comparison.opinion is not None and found.comparison.reason in ("", "model")
    return "possible_conflict" if by_model else "conflict_warn"


def evolved(new: NewMemory, found: Judged, judged: list[Judged], evidence: Evidence, moment: Moment) -> Decision:
    """The stored memory gets the text as a dated update; the engine embeds the combined text.

    Where repeats are folded, the text is also a wording of the memory, so that its own words find it. A memory without
    room for it stays as it is, and the text is a wording only.
    """
    memory, addition = found.memory, born(new, evidence, moment)
    after = gathered(evolve(memory, new.content, at=moment.now, similarity=found.similarity), new)
    links: tuple[Link, ...] = ()
    effects: tuple[Effect, ...] = (MemoryChange(memory, after),)
    if moment.own.repeats == "drop":
        pass
    elif has_room(memory, new.content, at=moment.now):
        link, effects = _behind(addition, memory, after, at=moment.now)
        links = (link,)
    else:
        return _as_wording(new, found, judged, Reason("no_room_to_grow", told(found)), evidence, moment)
    seen = judged if found in judged else [found, *(item for item in judged if item.memory.id != memory.id)]
    return Decision(
        outcome="evolved",
        memory=after,
        effects=(*effects, *absorbed(memory.id, (new.content,), evidence.held.get(memory.id, frozenset()))),
        links=links,
        dropped=None if links else addition,
        matches=tuple(match_of(item, "evolve" if item is found else "none", moment) for item in seen),
        reasons=(Reason("similarity_evolve", told(found)),),
        degraded=evidence.degraded,
    )


def refused(
    memory: Memory, reasons: list[Judged], judged: list[Judged], evidence: Evidence, moment: Moment
) -> Decision:
    """Refusal under `on_conflict="raise"`; nothing is written."""
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
        matches=tuple(match_of(item, actions.get(item.memory.id, "none"), moment) for item in judged),
        reasons=(Reason("conflict_raise", ", ".join(conflict.a for conflict in found)),),
        degraded=evidence.degraded,
    )


class Story:
    """Collects the effects of storing one text and returns them as a decision."""

    def __init__(self, memory: Memory, judged: list[Judged], evidence: Evidence, moment: Moment) -> None:
        self._memory = memory
        self._judged = judged
        self._evidence = evidence
        self._moment = moment
        self._actions: dict[str, MatchAction] = {}
        self._reasons: list[Reason] = []
        self._side_reasons: list[Reason] = []
        self._later: list[Effect] = []
        self._links: dict[tuple[str, str, str], Link] = {}
        self._conflicts: list[Conflict] = []
        self._superseded: dict[str, Memory] = {}

    def supersede(self, olds: list[Memory], rule: str, judged: list[Judged] | None = None) -> None:
        """The newer statement supersedes the older one; event time decides which is newer."""
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

    def warn(self, judged: list[Judged], kind: str) -> None:
        """Record pairs for review; both memories stay. An update that only the model sees may be a mark instead."""
        marks = kind != "duplicate" and self._moment.own.updates == "mark"
        for found in judged:
            opinion = found.comparison.opinion
            by_model = found.comparison.reason in ("", "model")
            if marks and opinion is not None and by_model and self._may_mark(found.memory):
                self._mark(found, opinion.conflict)
                continue
            self._flag(found, "duplicate" if kind == "duplicate" else "contradiction", settled=None)
            self._actions.setdefault(found.memory.id, "conflict")
            rule = "possible_repeat" if kind == "duplicate" else _warning(found)
            self._reasons.append(Reason(rule, told(found)))

    def outdate(self, found: Judged, probability: float) -> None:
        """Do with a probable update what the policy says: supersede the older memory, or mark it."""
        if self._moment.own.updates == "supersede":
            self.supersede([found.memory], "conflict_supersede", [found])
        elif self._may_mark(found.memory):
            self._mark(found, probability)

    def _may_mark(self, old: Memory) -> bool:
        """Whether the new text can outdate the memory: it is neither late nor ahead, and both are current."""
        new, now = self._memory, self._moment.now
        if old.id in self._superseded or old.id in self._actions or new.status == "superseded":
            return False
        late = effective_time(new, new.created_at) < effective_time(old, old.created_at)
        return not late and not is_ahead(new, old, recorded=new.created_at, now=now)

    def _mark(self, found: Judged, probability: float) -> None:
        """Mark the memory as probably outdated by the new text; both stay, the newer one comes first."""
        old = found.memory
        self._flag(found, "outdated", settled=None, probability=probability)
        self._actions[old.id] = "outdate"
        self._reasons.append(Reason("outdated", f"probability {probability:.4f}; {told(found)}"))
        if found not in self._judged and all(item.memory.id != old.id for item in self._judged):
            self._judged.append(found)

    def link(self, judged: list[Judged], rel: str = "related") -> None:
        """Link the new memory to each near one, at most five."""
        for found in judged[:MAX_LINKS]:
            if found.memory.id in self._superseded:
                continue
            self._note(LinkChange(None, Link(self._memory.id, found.memory.id, rel, self._moment.now)))
            self._reasons.append(Reason("similarity_link" if rel == "related" else rel, told(found)))
            self._actions.setdefault(found.memory.id, "connect")

    def may_update(self, olds: Sequence[Memory]) -> None:
        """Link the new memory to each older one that it may replace, so that recall puts it first."""
        for old in [old for old in olds if self._may_mark(old)][:MAX_LINKS]:
            self._note(LinkChange(None, Link(self._memory.id, old.id, MAY_UPDATE, self._moment.now)))
            self._side_reasons.append(Reason(MAY_UPDATE, f"{old.id} comes after it in answers"))

    def may_restate(self, old: Memory | None) -> None:
        """Link the new memory to the one that it may restate, so that recall shows one of the two."""
        if old is not None and old.id not in self._superseded and old.id not in self._actions:
            self._note(LinkChange(None, Link(self._memory.id, old.id, MAY_RESTATE, self._moment.now)))
            self._side_reasons.append(Reason(MAY_RESTATE, f"{old.id} is shown once with it"))

    def lighten(self, reason: Reason | None) -> None:
        """Give the new memory a low importance, for this reason; without one it keeps its importance."""
        if reason is not None:
            self._memory = replace(self._memory, importance=LOW_IMPORTANCE)
            self._side_reasons.append(reason)

    def decision(self) -> Decision:
        """The decision: superseded when an older memory was hidden, created otherwise."""
        memory = self._memory
        hidden = tuple(self._superseded)
        insert: tuple[Effect, ...] = (MemoryChange(None, memory), *absorbed(memory.id, (memory.content,), frozenset()))
        return Decision(
            outcome="superseded" if hidden else "created",
            memory=memory,
            effects=(*insert, *self._later),
            matches=tuple(
                match_of(item, self._actions.get(item.memory.id, "none"), self._moment) for item in self._judged
            ),
            conflicts=tuple(self._conflicts),
            links=tuple(self._links.values()),
            reasons=(*(self._reasons or (self._plain_reason(),)), *self._side_reasons),
            degraded=self._evidence.degraded,
        )

    def _plain_reason(self) -> Reason:
        """The reason of a text that is stored without any match."""
        policy = self._moment.own
        if "vector" not in policy.stages:
            return Reason("own_event", f"{self._memory.kind} keeps every record")
        if "embedding" in self._evidence.degraded:
            return Reason("not_compared", "the embedder could not be asked")
        near = [found for found in self._judged if found.similarity >= policy.act_at]
        if near:
            return Reason("near_but_different", f"{near[0].similarity:.4f} to {near[0].memory.id}")
        return Reason("nothing_like_it", "no stored memory is near")

    def _note(self, effect: Effect) -> None:
        if isinstance(effect, LinkChange) and effect.after is not None:
            key = (effect.after.src, effect.after.dst, effect.after.rel)
            if key in self._links:
                return  # one edge per pair and relation
            self._links[key] = effect.after
        self._later.append(effect)

    def _flag(
        self, found: Judged, kind: ConflictKind, *, settled: str | None, probability: float | None = None
    ) -> None:
        conflict = flags.between(
            found.memory,
            self._memory,
            found.comparison,
            kind=kind,
            moment=(self._moment.now, self._moment.policy.conflict_days),
        )
        if probability is not None:
            conflict = replace(conflict, probability=probability, expires_at=None)
        if settled is not None:
            conflict = flags.settled(conflict, "keep_new" if settled == "keep_new" else "keep_old", at=self._moment.now)
        self._conflicts.append(conflict)
        if conflict.key not in self._evidence.known_conflicts:
            self._later.append(flags.opened(conflict))
