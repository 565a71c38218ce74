"""What an answer does: the effects of its statements on the memory and the candidates.

An answer loses nothing. It folds, marks, replaces, links or archives, and each of these can be taken back. Candidates
that the question showed and the answer does not name are neither repeated nor replaced: what the gate had noted about
them is removed, and open conflicts with them are dismissed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from wellkept.core.judging.compare import compare
from wellkept.core.records import conflicts as flags
from wellkept.core.records.lifecycle import archive, inherit, next_version, supersede
from wellkept.core.records.merge import absorbed, confirmed, evolve, gathered, has_room, unconfirmed
from wellkept.frozen import frozen
from wellkept.policy import KindPolicy
from wellkept.policy.antonyms import Opposites
from wellkept.types import (
    MAY_RESTATE,
    MAY_UPDATE,
    UPDATES_PART,
    AnswerPart,
    AnswerVerb,
    Conflict,
    ConflictChange,
    ConflictKind,
    Effect,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    Resolution,
)

ANSWERED = "answer"
"""Reason of a mark that an answer has set; its probability is 1."""


@frozen(kw_only=True)
class Material:
    """What an answer is about, as it is now.

    Attributes:
        memory: The memory in question.
        head: The head that it stands behind, if it is a wording.
        numbers: The candidates by number; those of one number say the same.
        wordings: The wordings that stand behind the memory.
        links: Links of the memory, the candidates and the wordings.
        conflicts: Conflicts of the memory and the candidates.
        policy: The policy of the memory's kind.
        supersedes: Whether a replaced memory is superseded; otherwise it is marked as outdated.
        opposites: The opposites that the policy knows.
        now: The time of the answer.
    """

    memory: Memory
    head: Memory | None
    numbers: Mapping[int, tuple[Memory, ...]]
    wordings: tuple[Memory, ...]
    links: tuple[Link, ...]
    conflicts: tuple[Conflict, ...]
    policy: KindPolicy
    supersedes: bool
    opposites: Opposites
    now: datetime


def effects_of(parts: Sequence[AnswerPart], material: Material) -> tuple[Effect, ...]:
    """The effects of an answer; none where everything is as the answer says."""
    draft = _Draft.of(material)
    named = {row.id for part in parts for number in part.numbers for row in material.numbers[number]}
    memory = material.memory
    if memory.status == "wording" and not _keeps_fold(parts, material):
        draft.split_off(memory.id)
    for part in parts:
        if part.verb == "repeats":
            draft.fold(memory.id, [material.numbers[number][0].id for number in part.numbers])
        elif part.verb == "adds to":
            for row in material.numbers[part.numbers[0]]:
                draft.add(memory.id, row.id)
    # What the memory stands behind now speaks for it.
    front = draft.row(memory.id).superseded_by or memory.id
    for part in parts:
        for row in (row for number in part.numbers for row in material.numbers[number]):
            draft.order(part.verb, row.id, front)
    if any(part.verb == "not worth keeping" for part in parts):
        draft.archive(memory.id)
    else:
        draft.settle_rest(memory.id, front, parts)
        draft.clear(memory.id, [row.id for rows in material.numbers.values() for row in rows if row.id not in named])
    return tuple(draft.effects)


def _keeps_fold(parts: Iterable[AnswerPart], material: Material) -> bool:
    """Whether the answer leaves a wording behind its head."""
    heads = (material.numbers[number] for part in parts if part.verb == "repeats" for number in part.numbers)
    return any(row.id == material.memory.superseded_by for rows in heads for row in rows)


@dataclass(slots=True)
class _Draft:
    """The effects so far, and the records as they leave them."""

    material: Material
    rows: dict[str, Memory]
    links: dict[tuple[str, str, str], Link]
    conflicts: dict[str, Conflict]
    effects: list[Effect] = field(default_factory=list)

    @classmethod
    def of(cls, material: Material) -> _Draft:
        """A draft without effects."""
        rows = [material.memory, *material.wordings, *(row for rows in material.numbers.values() for row in rows)]
        if material.head is not None:
            rows.append(material.head)
        return cls(
            material,
            {row.id: row for row in rows},
            {(one.src, one.dst, one.rel): one for one in material.links},
            {one.key: one for one in material.conflicts},
        )

    def row(self, memory_id: str) -> Memory:
        """The memory as it is so far."""
        return self.rows[memory_id]

    # ---- statements ----

    def fold(self, memory_id: str, heads: Sequence[str]) -> None:
        """Keep the memory as a wording of the first head; the others are confirmed."""
        memory, now = self.row(memory_id), self.material.now
        head = self.row(heads[0])
        if memory.superseded_by != head.id:
            for row in self.material.wordings:
                self._unlink((row.id, memory.id, "restates"))
                self._change(row, replace(next_version(row, at=now), superseded_by=head.id))
                self._link(row.id, head.id, "restates")
            kept = replace(next_version(memory, at=now), status="wording", superseded_by=head.id, superseded_at=now)
            self._change(memory, kept)
            self._link(memory.id, head.id, "restates")
            told = replace(confirmed(head, at=now), pinned=head.pinned or memory.pinned)
            self._change(head, replace(told, confirmations=told.confirmations + memory.confirmations))
            self._settle(memory.id, head.id, "merge")
            self._forget_links(memory.id, head.id)
        for other in heads[1:]:
            self._change(self.row(other), confirmed(self.row(other), at=now))

    def split_off(self, memory_id: str) -> None:
        """Make the wording a memory of its own, which is never folded into this head again."""
        memory, head, now = self.row(memory_id), self.material.head, self.material.now
        alone = replace(next_version(memory, at=now), status="active", superseded_by="", superseded_at=None)
        self._change(memory, alone)
        if head is None:
            return
        self._unlink((memory.id, head.id, "restates"))
        self._change(head, unconfirmed(head, memory, at=now, last=None))
        self._flag(head.id, memory.id, "duplicate", "keep_both")

    def order(self, verb: AnswerVerb, one_id: str, front_id: str) -> None:
        """Follow a verb that says which of a candidate and the memory holds, or its head; other verbs do nothing."""
        match verb:
            case "replaces":
                self.replace(one_id, front_id)
            case "replaces part of":
                self.both_stand(one_id, front_id, UPDATES_PART)
            case "outdated by":
                self.replace(front_id, one_id)
            case "keep both":
                self.both_stand(one_id, front_id, "contradicts")
            case _:
                pass

    def replace(self, old_id: str, new_id: str) -> None:
        """The newer memory holds, the older does not: it is superseded, or marked as outdated."""
        old, new, now = self.row(old_id), self.row(new_id), self.material.now
        self._forget_links(old_id, new_id)
        if self.material.supersedes and {old.status, new.status} == {"active"}:
            heir = inherit(new, old)
            if heir is not new:
                self._change(new, next_version(heir, at=now))
            hidden, link = supersede(old, self.row(new_id), at=now)
            self._take(hidden)
            self._take(link)
            self._settle(old_id, new_id, "keep_new", winner=new_id)
            return
        key = flags.key_of(old_id, new_id, "outdated")
        before = self.conflicts.get(key)
        comparison = compare(new, old, cosine=None, similarity=None, opposites=self.material.opposites)
        made = flags.between(old, new, comparison, kind="outdated", moment=(now, 0.0))
        mark = replace(made, reason=ANSWERED, probability=1.0, expires_at=None)
        if before is not None:
            mark = replace(mark, created_at=before.created_at, similarity=before.similarity)
        self._settle(old_id, new_id, "keep_new", but="outdated", winner=new_id)
        if before is None or before.resolution is not None or (before.a, before.probability) != (mark.a, 1.0):
            self._conflict(before, mark)

    def both_stand(self, old_id: str, new_id: str, rel: str) -> None:
        """The two contradict each other, or the newer replaces one thing that the older says: both stand.

        A mark would say of the whole older memory that it is outdated, so what the gate has marked is settled.
        """
        self._forget_links(old_id, new_id)
        self._settle(old_id, new_id, "keep_both")
        self._flag(old_id, new_id, "contradiction", "keep_both")
        self._link(new_id, old_id, rel)

    def add(self, memory_id: str, old_id: str) -> None:
        """The memory adds to the older one: a link, or an addition to its text where the policy of the kind evolves."""
        memory, old, now = self.row(memory_id), self.row(old_id), self.material.now
        evolves = any(band.outcome == "evolve" for band in self.material.policy.bands)
        room = has_room(old, memory.content, at=now) and memory.status == "active" and not self.material.wordings
        if not evolves or memory.kind != old.kind or not room:
            self._forget_links(memory_id, old_id)
            self._settle(memory_id, old_id, "dismissed")
            self._link(memory_id, old_id, "refines")
            return
        grown = gathered(evolve(old, memory.content, at=now, similarity=1.0), memory)
        self._change(old, grown)
        kept = replace(next_version(memory, at=now), status="wording", superseded_by=old_id, superseded_at=now)
        self._change(memory, kept)
        self._link(memory_id, old_id, "restates")
        for alias in absorbed(old_id, (memory.content,), frozenset()):
            self._take(alias)
        self._settle(memory_id, old_id, "merge")
        self._forget_links(memory_id, old_id)

    def settle_rest(self, memory_id: str, front: str, parts: Sequence[AnswerPart]) -> None:
        """Settle what is open with named candidates that no effect so far was about.

        These are the others of one number, and the candidates of a memory that the answer has folded: its head stands
        for it.
        """
        for part in parts:
            for row in (row for number in part.numbers for row in self.material.numbers[number]):
                if part.verb == "repeats":
                    self._forget_links(memory_id, row.id)
                    self._settle(memory_id, row.id, "merge")
                elif front != memory_id:
                    self._forget_links(memory_id, row.id)
                    winner = memory_id if part.verb == "replaces" else row.id if part.verb == "outdated by" else ""
                    self._settle(memory_id, row.id, "keep_both", winner=winner)

    def archive(self, memory_id: str) -> None:
        """The memory is archived, and can be restored."""
        for effect in archive(self.row(memory_id), at=self.material.now):
            self._take(effect)

    def clear(self, memory_id: str, others: Iterable[str]) -> None:
        """Remove what the gate has noted about the memory and these candidates."""
        for other in others:
            self._forget_links(memory_id, other)
            self._settle(memory_id, other, "dismissed")

    # ---- effects ----

    def _take(self, effect: Effect) -> None:
        self.effects.append(effect)
        if isinstance(effect, MemoryChange) and effect.after is not None:
            self.rows[effect.after.id] = effect.after

    def _change(self, before: Memory, after: Memory) -> None:
        self._take(MemoryChange(before, after))

    def _link(self, src: str, dst: str, rel: str) -> None:
        if (src, dst, rel) not in self.links:
            link = self.links[src, dst, rel] = Link(src, dst, rel, self.material.now)
            self._take(LinkChange(None, link))

    def _unlink(self, edge: tuple[str, str, str]) -> None:
        link = self.links.pop(edge, None)
        if link is not None:
            self._take(LinkChange(link, None))

    def _forget_links(self, one: str, other: str) -> None:
        for src, dst in ((one, other), (other, one)):
            for rel in (MAY_RESTATE, MAY_UPDATE):
                self._unlink((src, dst, rel))

    def _conflict(self, before: Conflict | None, after: Conflict) -> None:
        self.conflicts[after.key] = after
        self._take(ConflictChange(before, after))

    def _between(self, one: str, other: str) -> Iterator[Conflict]:
        ends = {one, other}
        return iter([item for item in self.conflicts.values() if {item.a, item.b} == ends])

    def _settle(
        self, one: str, other: str, resolution: Resolution, *, but: ConflictKind | None = None, winner: str = ""
    ) -> None:
        """Settle the open items between two memories, but those of one kind; with a winner, in favour of it."""
        for item in self._between(one, other):
            if item.resolution is None and item.kind != but:
                kept = "dismissed" if resolution == "merge" and item.kind != "duplicate" else resolution
                if winner:
                    kept = "keep_new" if item.b == winner else "keep_old"
                self._conflict(item, flags.settled(item, kept, at=self.material.now))

    def _flag(self, old_id: str, new_id: str, kind: ConflictKind, resolution: Resolution) -> None:
        """Record that the pair is settled this way, so that it is not raised again."""
        key = flags.key_of(old_id, new_id, kind)
        before = self.conflicts.get(key)
        if before is not None and before.resolution == resolution:
            return
        old, new, now = self.row(old_id), self.row(new_id), self.material.now
        comparison = compare(new, old, cosine=None, similarity=None, opposites=self.material.opposites)
        made = before or replace(flags.between(old, new, comparison, kind=kind, moment=(now, 0.0)), expires_at=None)
        self._conflict(before, flags.settled(made, resolution, at=now))
