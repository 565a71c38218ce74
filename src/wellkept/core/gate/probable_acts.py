"""Acts that lose nothing: which memory a text restates, and which memory it probably outdates.

Both are decided over all candidates that the relation model has read (`core.judging.list_head`), and both concern a
memory that is current: a text that resembles a wording restates the head of that wording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from wellkept.core.differences.find import differences
from wellkept.core.differences.tense_and_modality import told_as_done
from wellkept.core.judging.compare import SOFT, compare, is_changed
from wellkept.core.judging.evidence import Evidence, Judged, Moment, is_question, may_outdate, may_restate
from wellkept.core.judging.list_head import Act, Head, Read, chances_of
from wellkept.core.judging.what_to_ask import text_to_read
from wellkept.core.reading.chat_turns import is_turn
from wellkept.types import Candidate, Chance, DifferenceKind, Memory, NewMemory

MAY_RESTATE_AT = 0.5
"""Least probability of a restatement at which recall shows only one of the two texts."""
MAY_UPDATE_AT = 0.1
"""Least probability of an update at which recall puts the newer text before the older."""
May: TypeAlias = Callable[[NewMemory, Memory, Memory, Moment], bool]
"""Whether an act may concern a memory: the new text, the row that was read, and the memory that it stands for."""
_TURNING: frozenset[DifferenceKind] = frozenset(("antonym", "order", "scope", "time"))
"""Differences that turn a statement round in the same words, which a model hardly sees: before or after, only, a plan
or a deed. They are no contradiction, but forbid a fold; a deed outdates its plan (`carried_out`)."""

_BESIDE_A_TENSE: frozenset[DifferenceKind] = SOFT - {"negation"}
"""Differences that a plan and its deed may show beside their tense."""


@dataclass(frozen=True, slots=True)
class Probable:
    """The memory that an act concerns.

    Attributes:
        judged: The current memory, compared with the new text.
        read: The text that the model has read: the memory itself, or one of its wordings.
        probability: Of the act, 0 to 1.
    """

    judged: Judged
    read: Memory
    probability: float


def restated(new: NewMemory, evidence: Evidence, moment: Moment) -> Probable | None:
    """The memory that the text restates, whatever its kind in the family; None when no candidate is probable enough."""
    if moment.own.repeats != "fold":
        return None
    return _probable("fold", evidence.bounds.fold, new, evidence, moment)


def possibly_restated(new: NewMemory, evidence: Evidence, moment: Moment) -> Memory | None:
    """The memory that the text may restate, too improbable for a wording: recall shows one of the two."""
    if moment.own.repeats != "fold" or is_turn(new.content):
        return None
    found = _probable("fold", evidence.bounds.fold, new, evidence, moment, at=MAY_RESTATE_AT)
    if found is None or found.judged.comparison.reason not in ("", "model") or is_turn(found.read.content):
        return None
    return found.judged.memory


def outdated(new: NewMemory, evidence: Evidence, moment: Moment) -> Probable | None:
    """The memory that the text probably replaces; None when no candidate is probable enough."""
    if moment.own.updates == "list":
        return None
    return _probable("mark", evidence.bounds.mark, new, evidence, moment)


def carried_out(new: NewMemory, evidence: Evidence, moment: Moment) -> Probable | None:
    """The memory whose plan the text tells as done, where the two would be one statement if their tense agreed."""
    if moment.own.updates == "list":
        return None
    return _probable("fold", evidence.bounds.fold, new, evidence, moment, may=_may_carry_out)


def possibly_outdated(new: NewMemory, evidence: Evidence, moment: Moment) -> tuple[Memory, ...]:
    """The memories that the text may replace, too improbable for a mark: recall puts the text before them.

    The order of answers hides nothing, so it may be wrong more often than a mark.
    """
    head = evidence.bounds.mark
    if moment.own.updates == "list" or head is None or is_turn(new.content):
        return ()
    found = _Listed.of("mark", new, evidence, moment).chances(head)
    return tuple({memory.id: memory for memory, chance in found if chance >= MAY_UPDATE_AT}.values())


def chances(new: NewMemory, evidence: Evidence, moment: Moment) -> tuple[Chance, ...]:
    """What the heads over the list think of each current memory that was read, the most probable first.

    A difference in a few words forbids a fold, but not the question whether it is one. Turns of a conversation, and
    kinds that only list updates and drop repeats, are never asked about.
    """
    policy = moment.own
    if is_turn(new.content) or (policy.repeats != "fold" and policy.updates == "list"):
        return ()
    found = {hit.memory.id: Chance(hit.memory.id, 0.0, 0.0) for hit, _ in _read(evidence) if _is_current(hit.memory)}
    fold, mark = evidence.bounds.fold, evidence.bounds.mark
    if fold is not None and policy.repeats == "fold":
        for memory, chance in _Listed.of("fold", new, evidence, moment, may=may_restate).chances(fold):
            one = found[memory.id]
            found[memory.id] = replace(one, repeats=max(one.repeats, chance))
    if mark is not None and policy.updates != "list":
        for memory, chance in _Listed.of("mark", new, evidence, moment, may=may_outdate).chances(mark):
            one = found[memory.id]
            found[memory.id] = replace(one, replaces=max(one.replaces, chance))
    return tuple(sorted(found.values(), key=lambda one: (-max(one.repeats, one.replaces), one.memory_id)))


def _is_current(memory: Memory) -> bool:
    return memory.status == "active" and not is_question(memory.content)


def _probable(
    act: Act,
    head: Head | None,
    new: NewMemory,
    evidence: Evidence,
    moment: Moment,
    *,
    at: float | None = None,
    may: May | None = None,
) -> Probable | None:
    """The candidate that the act would concern; None if its probability is below `at`, by default the act's bound.

    `may` says which candidates the act may concern, by default those that it usually may.
    """
    if head is None:
        return None
    found = _Listed.of(act, new, evidence, moment, may)
    by_place = found.by_place(head)
    if not by_place:
        return None
    place = max(by_place, key=lambda place: (by_place[place], found.read[place].cosine, -place))
    if by_place[place] < (head.least(new.content) if at is None else at):
        return None
    hit, row = found.rows[place]
    comparison = compare(
        new,
        hit.memory,
        cosine=hit.cosine,
        similarity=evidence.similarity(hit),
        opinion=evidence.opinions[row.id],
        opposites=moment.policy.opposites,
    )
    return Probable(Judged(hit, comparison), row, by_place[place])


@dataclass(frozen=True, slots=True)
class _Listed:
    """The candidates of a text as the head over the list sees them.

    Attributes:
        rows: Each candidate as the memory that it stands for, and the row that was read.
        read: The same rows as inputs of the head.
        places: Positions of those that the act may concern.
    """

    act: Act
    new: str
    rows: tuple[tuple[Candidate, Memory], ...]
    read: tuple[Read, ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, act: Act, new: NewMemory, evidence: Evidence, moment: Moment, may: May | None = None) -> Self:
        """The candidates of a text for an act; a question restates and outdates nothing.

        `may` says which candidates the act may concern; by default, as the gate acts.

        The head knows cosines of the embedder that it was fitted beside, also of texts that this embedder only spells
        or compares by their letters. Those of the lexical fallback are others for every text, so they decide nothing.
        """
        blind = is_question(new.content) or evidence.by_words
        rows = () if blind else tuple(_read(evidence))
        may = may or (_may_fold if act == "fold" else may_outdate)
        read = (
            Read(text_to_read(row, moment.policy), hit.cosine or 0.0, evidence.opinions[row.id]) for hit, row in rows
        )
        places = (place for place, (hit, row) in enumerate(rows) if may(new, row, hit.memory, moment))
        return cls(act, new.content, rows, tuple(read), tuple(places))

    def chances(self, head: Head) -> Iterator[tuple[Memory, float]]:
        """For each candidate that the act may concern, the memory that it stands for and the probability."""
        return ((self.rows[place][0].memory, chance) for place, chance in self.by_place(head).items())

    def by_place(self, head: Head) -> dict[int, float]:
        """The probability that the act concerns each candidate that it may concern."""
        if not self.places:
            return {}
        every = chances_of(head, self.act, self.new, self.read)
        return {place: every[place] for place in self.places}


def _may_fold(new: NewMemory, row: Memory, head: Memory, moment: Moment) -> bool:
    """Whether the text may restate a memory, and is not the statement that was read with a change."""
    opposites = moment.policy.opposites
    found = differences(row.content, new.content, opposites)
    if any(item.kind in _TURNING for item in found) or is_changed(new.content, row.content, found, opposites):
        return False
    return may_restate(new, row, head, moment)


def _may_carry_out(new: NewMemory, row: Memory, head: Memory, moment: Moment) -> bool:
    """Whether the text may tell as done what a memory plans: only the tense forbids that it restates the memory."""
    opposites = moment.policy.opposites
    found = differences(row.content, new.content, opposites)
    tense = told_as_done(row.content, new.content) if any(item.kind == "time" for item in found) else None
    if tense is None:
        return False
    rest = [item for item in found if item.old not in tense.old or item.new not in tense.new]
    if tense not in found or any(item.kind not in _BESIDE_A_TENSE for item in rest):
        return False
    if is_changed(new.content, row.content, rest, opposites):
        return False
    return may_restate(new, row, head, moment) and may_outdate(new, row, head, moment)


def _read(evidence: Evidence) -> Iterator[tuple[Candidate, Memory]]:
    """The candidates with an opinion, each as the memory that it stands for and the row that was read."""
    for candidate in evidence.neighbours:
        row = candidate.memory
        if row.id in evidence.opinions:
            yield replace(candidate, memory=evidence.heads.get(row.id, row)), row
