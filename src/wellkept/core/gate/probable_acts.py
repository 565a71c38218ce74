"""Acts that lose nothing: which memory a text restates, and which memory it probably outdates.

Both are decided over all candidates that the relation model has read (`core.judging.list_head`), and both concern a
memory that is current: a text that resembles a wording restates the head of that wording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from wellkept.core.differences.find import chosen_otherwise, counted_otherwise, differences
from wellkept.core.differences.tense_and_modality import tells_of_another_time, told_as_done, turns_to_the_past
from wellkept.core.judging.compare import SOFT, compare, is_changed
from wellkept.core.judging.evidence import (
    Evidence,
    Judged,
    Moment,
    is_question,
    may_concern_now,
    may_outdate,
    may_restate,
)
from wellkept.core.judging.list_head import Act, Head, Read, chances_of
from wellkept.core.judging.what_to_ask import texts_to_read
from wellkept.core.reading.chat_turns import is_turn
from wellkept.core.reading.values import ValueKind
from wellkept.frozen import frozen
from wellkept.policy.antonyms import Opposites
from wellkept.types import Candidate, Chance, Difference, DifferenceKind, Memory, NewMemory

MAY_RESTATE_AT = 0.5
"""Least probability of a restatement at which recall shows only one of the two texts."""
MAY_UPDATE_AT = 0.1
"""Least probability of an update at which recall puts the newer text before the older."""
May: TypeAlias = Callable[[NewMemory, Memory, Memory, Moment], bool]
"""Whether an act may concern a memory: the new text, the row that was read, and the memory that it stands for."""
_TURNING: frozenset[DifferenceKind] = frozenset(("antonym", "order", "scope", "time"))
"""Differences that turn a statement round in the same words, which a model hardly sees: before or after, only, a plan
or a deed. They are no contradiction, but forbid a fold; some outdate the memory (`turned_round`)."""

_BESIDE_A_TENSE: frozenset[DifferenceKind] = SOFT - {"negation"}
"""Differences that a plan and its deed may show beside their tense."""


@frozen
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


class ProbableActs:
    """What a text probably does to the candidates that the model has read.

    The head knows cosines of the embedder that it was fitted beside, also of texts that this embedder only spells or
    compares by their letters. Those of the lexical fallback are others for every text, so they decide nothing. Neither
    does a question: it restates and outdates nothing.

    Args:
        new: The new text.
        evidence: The candidates with their opinions.
        moment: Time and policy of the decision.
    """

    def __init__(self, new: NewMemory, evidence: Evidence, moment: Moment) -> None:
        self._new, self._evidence, self._moment = new, evidence, moment
        blind = is_question(new.content) or evidence.by_words
        self._rows = () if blind else tuple(_read(evidence))
        texts = texts_to_read((row for _, row in self._rows), moment.policy)
        self._read = tuple(
            Read(text, hit.cosine or 0.0, evidence.opinions[row.id])
            for text, (hit, row) in zip(texts, self._rows, strict=True)
        )
        self._current = [
            at for at, (hit, row) in enumerate(self._rows) if may_concern_now(new, row, hit.memory, moment)
        ]
        self._places: dict[May, list[int]] = {}
        self._every: dict[Act, Sequence[float]] = {}
        self._folds = moment.own.repeats == "fold"
        self._marks = moment.own.updates != "list"

    def restated(self) -> Probable | None:
        """The memory that the text restates, whatever its kind in the family; None if none is probable enough."""
        return self._probable("fold", _may_fold) if self._folds else None

    def possibly_restated(self) -> Memory | None:
        """The memory that the text may restate, too improbable for a wording: recall shows one of the two."""
        if not self._folds or is_turn(self._new.content):
            return None
        found = self._probable("fold", _may_fold, at=MAY_RESTATE_AT)
        if found is None or found.judged.comparison.reason not in ("", "model") or is_turn(found.read.content):
            return None
        return found.judged.memory

    def outdated(self) -> Probable | None:
        """The memory that the text probably replaces; None when no candidate is probable enough."""
        return self._probable("mark", may_outdate) if self._marks else None

    def turned_round(self) -> Probable | None:
        """The memory that the text would restate, but it tells a plan as done, or another choice or amount."""
        return self._probable("fold", _may_turn_round) if self._marks else None

    def possibly_outdated(self) -> tuple[Memory, ...]:
        """The memories that the text may replace, too improbable for a mark: recall puts the text before them.

        The order of answers hides nothing, so it may be wrong more often than a mark.
        """
        if not self._marks or is_turn(self._new.content):
            return ()
        found = {memory.id: memory for memory, chance in self._chances("mark", may_outdate) if chance >= MAY_UPDATE_AT}
        reordered = self._probable("fold", _may_reorder)
        if reordered is not None:
            found.setdefault(reordered.judged.memory.id, reordered.judged.memory)
        return tuple(found.values())

    def chances(self) -> tuple[Chance, ...]:
        """What the heads over the list think of each current memory that was read, the most probable first.

        A difference in a few words forbids a fold, but not the question whether it is one. Turns of a conversation, and
        kinds that only list updates and drop repeats, are never asked about.
        """
        if is_turn(self._new.content) or not (self._folds or self._marks):
            return ()
        read = [hit.memory for hit, _ in _read(self._evidence)]
        found = {memory.id: Chance(memory.id, 0.0, 0.0) for memory in read if _is_current(memory)}
        for memory, chance in self._chances("fold", may_restate) if self._folds else ():
            one = found[memory.id]
            found[memory.id] = replace(one, repeats=max(one.repeats, chance))
        for memory, chance in self._chances("mark", may_outdate) if self._marks else ():
            one = found[memory.id]
            found[memory.id] = replace(one, replaces=max(one.replaces, chance))
        return tuple(sorted(found.values(), key=lambda one: (-max(one.repeats, one.replaces), one.memory_id)))

    def _probable(self, act: Act, may: May, *, at: float | None = None) -> Probable | None:
        """The candidate that the act would concern; None if its probability is below `at`, by default the act's bound.

        `may` says which candidates the act may concern.
        """
        evidence, head, by_place = self._evidence, self._head(act), self._by_place(act, may)
        if head is None or not by_place:
            return None
        place = max(by_place, key=lambda place: (by_place[place], self._read[place].cosine, -place))
        if by_place[place] < (head.least(self._new.content) if at is None else at):
            return None
        hit, row = self._rows[place]
        comparison = compare(
            self._new,
            hit.memory,
            cosine=hit.cosine,
            similarity=evidence.similarity(hit),
            opinion=evidence.opinions[row.id],
            opposites=self._moment.policy.opposites,
        )
        return Probable(Judged(hit, comparison), row, by_place[place])

    def _chances(self, act: Act, may: May) -> Iterator[tuple[Memory, float]]:
        """For each candidate that the act may concern, the memory that it stands for and the probability."""
        return ((self._rows[place][0].memory, chance) for place, chance in self._by_place(act, may).items())

    def _by_place(self, act: Act, may: May) -> dict[int, float]:
        """The probability that the act concerns each candidate that it may concern, by its position."""
        head = self._head(act)
        if head is None:
            return {}
        if may not in self._places:
            rows = ((at, *self._rows[at]) for at in self._current)
            self._places[may] = [at for at, hit, row in rows if may(self._new, row, hit.memory, self._moment)]
        if not self._places[may]:
            return {}
        if act not in self._every:
            self._every[act] = chances_of(head, act, self._new.content, self._read)
        return {place: self._every[act][place] for place in self._places[may]}

    def _head(self, act: Act) -> Head | None:
        return self._evidence.bounds.fold if act == "fold" else self._evidence.bounds.mark


def _is_current(memory: Memory) -> bool:
    return memory.status == "active" and not is_question(memory.content)


def _may_fold(new: NewMemory, row: Memory, head: Memory, moment: Moment) -> bool:
    """Whether the text may restate a memory, and is not the statement that was read with a change."""
    opposites = moment.policy.opposites
    found = differences(row.content, new.content, opposites)
    if any(item.kind in _TURNING for item in found) or is_changed(new.content, row.content, found, opposites):
        return False
    return _other_number(row, new, found, opposites) is None and may_restate(new, row, head, moment)


def _may_turn_round(new: NewMemory, row: Memory, head: Memory, moment: Moment) -> bool:
    """Whether only a tense, a choice or a number forbids that the text restates a memory, which it then outdates."""
    opposites = moment.policy.opposites
    found = differences(row.content, new.content, opposites)
    if not any(
        told(row, new, found, opposites) for told in (_is_chosen_otherwise, _has_another_amount, _is_carried_out)
    ):
        return False
    return may_restate(new, row, head, moment) and may_outdate(new, row, head, moment)


def _is_chosen_otherwise(row: Memory, new: NewMemory, found: Sequence[Difference], opposites: Opposites) -> bool:
    """Whether the text chooses now what the memory passes over."""
    chosen = _is_reordered(found) and chosen_otherwise(row.content, new.content, opposites)
    texts = row.content, new.content
    return chosen and not tells_of_another_time(*texts) and not turns_to_the_past(*texts)


def _has_another_amount(row: Memory, new: NewMemory, found: Sequence[Difference], opposites: Opposites) -> bool:
    """Whether the text gives another amount of the same for now, under no other condition."""
    if any(item.kind in ("condition", "negation") for item in found) or not _shows_only(found, "number"):
        return False
    counted = _other_number(row, new, found, opposites) == "number"
    return counted and not tells_of_another_time(row.content, new.content)


def _may_reorder(new: NewMemory, row: Memory, head: Memory, moment: Moment) -> bool:
    """Whether only what changed places, be it things or events, forbids that the text restates a memory."""
    found = differences(row.content, new.content, moment.policy.opposites)
    return _is_reordered(found) and may_restate(new, row, head, moment) and may_outdate(new, row, head, moment)


def _is_reordered(found: Sequence[Difference]) -> bool:
    """Whether things or events changed places, and no more differs than paraphrases show."""
    return _shows_only(found, "order", "name")


def _shows_only(found: Sequence[Difference], kind: DifferenceKind, *others: DifferenceKind) -> bool:
    """Whether a kind of difference is there, and besides only what paraphrases show, or other kinds."""
    kinds = {item.kind for item in found}
    return kind in kinds and kinds <= SOFT | {kind, *others}


def _other_number(row: Memory, new: NewMemory, found: Sequence[Difference], opposites: Opposites) -> ValueKind | None:
    """Which sort of number differs where the texts count the same; the first and the second wife are two facts."""
    if not any(item.kind == "number" for item in found):
        return None
    return counted_otherwise(row.content, new.content, opposites)


def _is_carried_out(row: Memory, new: NewMemory, found: Sequence[Difference], opposites: Opposites) -> bool:
    """Whether the text tells as done what a memory plans, and no more differs than paraphrases show."""
    tense = told_as_done(row.content, new.content) if any(item.kind == "time" for item in found) else None
    if tense is None or tense not in found:
        return False
    rest = [item for item in found if item.old not in tense.old or item.new not in tense.new]
    if any(item.kind not in _BESIDE_A_TENSE for item in rest):
        return False
    return not is_changed(new.content, row.content, rest, opposites)


def _read(evidence: Evidence) -> Iterator[tuple[Candidate, Memory]]:
    """The candidates with an opinion, each as the memory that it stands for and the row that was read."""
    for candidate in evidence.neighbours:
        row = candidate.memory
        if row.id in evidence.opinions:
            yield replace(candidate, memory=evidence.heads.get(row.id, row)), row
