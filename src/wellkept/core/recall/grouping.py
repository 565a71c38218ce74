"""Groups duplicates among hits, with the same vetoes as the gate.

Two hits are grouped if they say the same in the same words, if the relation model is as sure of a duplicate as the gate
must be to drop a text, or (decisions and episodes) if they share nearly all words and the newer one omits nothing
important. Two that the gate takes for possible restatements are grouped unless the rules see a contradiction. Every
veto of the gate applies otherwise, read in both directions; a recorded contradiction is a veto too. Every member of a
group must duplicate every other member, so a chain of near duplicates never groups a conflict. Nothing is hidden: the
other members are listed under the shown one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from unicodedata import normalize

from wellkept.core.reading.language_detection import language_is_known
from wellkept.core.records.lifecycle import age_of
from wellkept.core.text.forms import canonical, canonical_hash, content_hash, slot_key, words
from wellkept.core.text.same_words import in_same_words
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import Comparison, Conflict, Hit, Memory, Opinion
from wellkept.types.packs import Group

Pair = tuple[str, str]
"""Texts of two memories, older first, as the relation model reads them."""

BY_WORDS: Mapping[str, float] = {"decision": 0.7, "episode": 0.8}
"""Kinds that are grouped by common words, with the share to exceed."""
HEAD = 100
"""Leading characters of a text that are compared by words."""

_NEVER = 2.0
_SHORTEST_WORD = 3
_FEWEST_WORDS = 3


def grouped(
    hits: Sequence[Hit],
    *,
    opinions: Mapping[Pair, Opinion] | None = None,
    sure_at: Mapping[str, float] | None = None,
    apart: Collection[frozenset[str]] = (),
    alike: Collection[frozenset[str]] = (),
    by_words: Mapping[str, float] = BY_WORDS,
    disputes: Collection[Conflict] = (),
    opposites: Opposites = NO_OPPOSITES,
) -> tuple[Group, ...]:
    """Group the hits so that each statement appears once.

    Args:
        hits: Hits, best first.
        opinions: The relation model's opinions by text pair, older first.
        sure_at: Least probability of a duplicate by kind; a kind that is missing is never grouped by the model.
        apart: Pairs of ids that contradict each other, in addition to the hits' conflicts.
        alike: Pairs of ids that the gate takes for possible restatements; of these the better hit is shown.
        by_words: Share of common words by kind above which two hits are grouped.
        disputes: Contradictions whose newer side goes first, in addition to the hits' conflicts.
        opposites: Additional antonyms of the policy.

    Returns:
        The groups in the order of their best hit, except that an older group never precedes a newer one that
        contradicts it because of the grouping.

    Example:
        >>> from datetime import UTC, datetime
        >>> day = [datetime(2026, 3, at, tzinfo=UTC) for at in (1, 2)]
        >>> told = [Memory(id=f"m{n}", namespace="n", content=text, created_at=day[n], updated_at=day[n])
        ...         for n, text in enumerate(["Use ruff.", "use  RUFF"])]
        >>> [group.ids for group in grouped([Hit(memory, 0.5, {}) for memory in told])]
        [('m1', 'm0')]
    """
    apart = _contradicted(hits) | frozenset(apart)
    alike = frozenset(alike)
    forms = _Forms()
    judge = _Judge(opinions or {}, sure_at or {}, apart, alike, by_words, opposites, forms)
    shelf = _Shelf(opinions or {}, alike, by_words, forms)
    for hit in hits:
        for members in shelf.near(hit.memory):
            if all(judge.says_the_same(hit.memory, member.memory) for member in members):
                members.append(hit)
                shelf.note(hit.memory, members)
                break
        else:
            shelf.add(hit)
    return _newer_first([_group(members, judge.guessed) for members in shelf.rows], hits, disputes)


def open_pairs(
    hits: Sequence[Hit],
    *,
    apart: Collection[frozenset[str]] = (),
    near: Collection[frozenset[str]] | None = None,
    opposites: Opposites = NO_OPPOSITES,
) -> Iterator[tuple[Memory, Memory]]:
    """Pairs (older, newer) that the rules leave open to the relation model, best ranked first.

    Args:
        hits: Hits, best first.
        apart: Pairs of ids that contradict each other.
        near: The only pairs of ids to consider; None for all pairs.
        opposites: Additional antonyms of the policy.
    """
    known = _contradicted(hits) | frozenset(apart)
    for place, hit in enumerate(hits):
        for other in hits[:place]:
            older, newer = sorted((hit.memory, other.memory), key=age_of)
            pair = frozenset((older.id, newer.id))
            if pair not in known and (near is None or pair in near) and _is_open(newer, older, opposites):
                yield older, newer


def outcome_of(memory: Memory) -> str:
    """The outcome of a decision, from its metadata; empty while pending."""
    told = memory.metadata.get("outcome")
    return "" if told is None else str(told)


_LONG = 100_000
"""Characters above which the canonical form of a text is made only beside another text of the same letters."""
_NO_LETTERS = re.compile(r"[\W_]+")


class _Forms:
    """Whether two memories have the same words, and a cheap mark that they have in common then."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}
        self._hashes: dict[str, str] = {}

    def mark(self, memory: Memory) -> str:
        """The canonical form; of a long text a hash of its letters and digits, which takes a tenth of the time."""
        if len(memory.content) <= _LONG:
            return canonical(memory.content)
        if memory.id not in self._letters:
            self._letters[memory.id] = content_hash(_NO_LETTERS.sub("", normalize("NFKC", memory.content).casefold()))
        return self._letters[memory.id]

    def are_the_same(self, one: Memory, other: Memory) -> bool:
        if self.mark(one) != self.mark(other):
            return False
        return max(len(one.content), len(other.content)) <= _LONG or self._hash(one) == self._hash(other)

    def _hash(self, memory: Memory) -> str:
        if memory.id not in self._hashes:
            self._hashes[memory.id] = canonical_hash(memory.content)
        return self._hashes[memory.id]


class _Shelf:
    """Index of the groups by text and kind, so that a hit is not compared with every group."""

    def __init__(
        self,
        opinions: Mapping[Pair, Opinion],
        alike: Collection[frozenset[str]],
        by_words: Mapping[str, float],
        forms: _Forms,
    ) -> None:
        self.rows: list[list[Hit]] = []
        self._forms = forms
        self._by_words = by_words
        self._places: dict[tuple[str, str], dict[int, None]] = {}
        self._partners: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for older, newer in opinions:
            self._partner(("text", older), ("text", newer))
        for one, other in map(sorted, alike):
            self._partner(("id", one), ("id", other))

    def near(self, memory: Memory) -> list[list[Hit]]:
        """Groups that may contain a duplicate, in order."""
        known = ("text", memory.content), ("id", memory.id)
        wanted = [*self._marks(memory), *(mark for own in known for mark in self._partners.get(own, ()))]
        return [self.rows[at] for at in sorted({at for mark in wanted for at in self._places.get(mark, ())})]

    def add(self, hit: Hit) -> None:
        """Start a group."""
        self.rows.append([hit])
        self._note(hit.memory, len(self.rows) - 1)

    def note(self, memory: Memory, members: list[Hit]) -> None:
        """Index a memory that joined a group."""
        self._note(memory, next(at for at, row in enumerate(self.rows) if row is members))

    def _note(self, memory: Memory, at: int) -> None:
        for mark in (*self._marks(memory), ("text", memory.content), ("id", memory.id)):
            self._places.setdefault(mark, {})[at] = None

    def _partner(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        self._partners.setdefault(one, []).append(other)
        self._partners.setdefault(other, []).append(one)

    def _marks(self, memory: Memory) -> list[tuple[str, str]]:
        marks = [("words", self._forms.mark(memory))]
        return [*marks, ("kind", memory.kind)] if memory.kind in self._by_words else marks


@dataclass(slots=True)
class _Judge:
    """Decides whether two memories are duplicates.

    Attributes:
        guessed: Pairs that nothing but a possible restatement joins.
    """

    opinions: Mapping[Pair, Opinion]
    sure_at: Mapping[str, float]
    apart: frozenset[frozenset[str]]
    alike: frozenset[frozenset[str]]
    by_words: Mapping[str, float]
    opposites: Opposites
    forms: _Forms
    guessed: set[frozenset[str]] = field(default_factory=set)

    def says_the_same(self, one: Memory, other: Memory) -> bool:
        older, newer = sorted((one, other), key=age_of)
        pair = frozenset((older.id, newer.id))
        if pair in self.apart:
            return False
        if self._is_the_same(newer, older):
            return True
        if pair in self.alike and _read(newer, older, self.opposites).relation != "conflict":
            self.guessed.add(pair)
            return True
        return False

    def _is_the_same(self, newer: Memory, older: Memory) -> bool:
        if not _may_be_one(newer, older):
            return False
        if self.forms.are_the_same(newer, older):
            both = _read(newer, older, self.opposites), _read(older, newer, self.opposites)
            return all(told.relation == "same" for told in both)
        opinion = self.opinions.get((older.content, newer.content))
        if opinion is not None:
            return self._is_told_again(newer, older, opinion)
        bound = self.by_words.get(newer.kind)
        return bound is not None and _in_the_same_words(newer, older, bound, self.opposites)

    def _is_told_again(self, newer: Memory, older: Memory, opinion: Opinion) -> bool:
        # "generalises" permits the gate to drop a text, but not to show it instead of the more detailed one.
        comparison = _read(newer, older, self.opposites, opinion)
        sure = opinion.repeats >= self.sure_at.get(newer.kind, _NEVER)
        return sure and comparison.relation == "same" and not _is_barred(newer, older, comparison, self.opposites)


def _may_be_one(newer: Memory, older: Memory) -> bool:
    """Whether the other fields agree: kind, agent, subject, time, stance, outcome."""
    from wellkept.core.judging.evidence import says_the_same

    return says_the_same(newer, older) and slot_key(outcome_of(newer)) == slot_key(outcome_of(older))


def _is_open(newer: Memory, older: Memory, opposites: Opposites) -> bool:
    from wellkept.core.judging.compare import LONG_TEXT

    if not _may_be_one(newer, older) or max(len(newer.content), len(older.content)) > LONG_TEXT:
        return False
    if in_same_words(newer.content, older.content):
        return False
    return not _is_barred(newer, older, _read(newer, older, opposites), opposites)


def _is_barred(newer: Memory, older: Memory, comparison: Comparison, opposites: Opposites) -> bool:
    """The gate's veto in both directions: each text must be droppable for the other."""
    from wellkept.core.judging.compare import is_vetoed
    from wellkept.core.judging.evidence import is_barred

    if is_barred(newer, older, comparison, opposites):
        return True
    return is_vetoed(older.content, newer.content, _read(older, newer, opposites).differences, opposites)


def _in_the_same_words(newer: Memory, older: Memory, bound: float, opposites: Opposites) -> bool:
    """Whether most words are common and only details differ, as for an ongoing episode.

    The newer text is shown, so it may omit plain words only, no names or numbers.
    """
    if max(len(newer.content), len(older.content)) > _LONG:
        return False  # details may differ anywhere; only equal words are found in linear time
    ours, theirs = _words(newer), _words(older)
    if min(len(ours), len(theirs)) < _FEWEST_WORDS:
        return False
    if len(ours & theirs) <= bound * min(len(ours), len(theirs)):
        return False
    if not (language_is_known(newer.content) and language_is_known(older.content)):
        return False  # negations in an unknown language cannot be read
    if any(item.kind != "detail" for item in _read(newer, older, opposites).differences):
        return False
    lost = _read(older, newer, opposites).differences
    return all(item.kind == "detail" and _is_plain(item.new) for item in lost)


def _is_plain(said: str) -> bool:
    return said.replace(" ", "").isalpha() and said.islower()


def _words(memory: Memory) -> frozenset[str]:
    return frozenset(word for word in words(canonical(memory.content[:HEAD])) if len(word) >= _SHORTEST_WORD)


def _read(new: Memory, old: Memory, opposites: Opposites, opinion: Opinion | None = None) -> Comparison:
    from wellkept.core.judging.compare import compare

    return compare(new, old, cosine=None, similarity=None, opinion=opinion, opposites=opposites)


# --------------------------------------------------------------------------------------------
# Groups


def _group(members: Sequence[Hit], guessed: Collection[frozenset[str]]) -> Group:
    """The newest active member is shown, at the best member's rank, with the conflicts of all members.

    Where only a possible restatement joins them, the best hit is shown: a guess must not outrank a better match.
    """
    order = list(members)
    guess = any(frozenset((one.memory.id, other.memory.id)) in guessed for one in members for other in members)
    if len(order) > 1 and not guess:
        order.sort(key=lambda hit: (hit.memory.status == "active", *age_of(hit.memory)), reverse=True)
    conflicts = {item.key: item for hit in order for item in hit.conflicts}
    return Group(order[0], tuple(order[1:]), members[0].score, tuple(conflicts.values()))


def _newer_first(groups: Sequence[Group], hits: Sequence[Hit], disputes: Collection[Conflict]) -> tuple[Group, ...]:
    """Move a newer group before an older one that contradicts it, if grouping reversed their order.

    Recall has already ordered single hits; only reversals by grouping are corrected.
    """
    contested = [*(one for group in groups for one in group.conflicts), *disputes]
    if not contested:
        return tuple(groups)
    order = list(groups)
    of = {key: group for group in groups for key in group.ids}
    place = {hit.memory.id: at for at, hit in enumerate(hits)}
    for item in sorted(contested, key=_since):
        if item.kind != "contradiction" or item.a not in of or item.b not in of:
            continue
        older, newer = sorted((item.a, item.b), key=lambda end: age_of(of[end].shown.memory))
        turned = place[newer] < place[older] and order.index(of[newer]) > order.index(of[older])
        if turned:
            order.remove(of[newer])
            order.insert(order.index(of[older]), of[newer])
    return tuple(order)


def _since(item: Conflict) -> tuple[datetime, str]:
    return item.created_at, item.key


def _contradicted(hits: Sequence[Hit]) -> frozenset[frozenset[str]]:
    return frozenset(
        frozenset((item.a, item.b)) for hit in hits for item in hit.conflicts if item.kind == "contradiction"
    )
