"""Each thing once: repeats among hits become one entry, under the vetoes of the gate.

Two hits are grouped when they say the same in the same words; when the relation model is as sure that
they do as the gate must be to drop a text; or, for decisions and episodes, when they share nearly all
words and the newer one leaves nothing of weight out. Whatever forbids the gate to take a
text for a repeat forbids to group as well, read from either side, and a recorded contradiction always
does. Every member of a group repeats every other: a chain of near repeats never carries a conflict
along. Nothing is hidden: the others stay listed under the one that is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from wellkept.core.judging.compare import LONG_TEXT, compare, is_vetoed
from wellkept.core.judging.evidence import is_barred, says_the_same
from wellkept.core.reading.lexer import language_is_known
from wellkept.core.records.lifecycle import effective_time
from wellkept.core.text.forms import canonical, slot_key, words
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import Comparison, Conflict, Hit, Memory, Opinion
from wellkept.types.packs import Group

Pair = tuple[str, str]
"""The texts of two memories, the older first, as the relation model reads them."""

BY_WORDS: Mapping[str, float] = {"decision": 0.7, "episode": 0.8}
"""Kinds whose hits are grouped by common words, with the share that must be exceeded."""
HEAD = 100
"""Characters of a decision that count for its words."""

_NEVER = 2.0
_SHORTEST_WORD = 3
_FEWEST_WORDS = 3


def grouped(
    hits: Sequence[Hit],
    *,
    opinions: Mapping[Pair, Opinion] | None = None,
    sure_at: Mapping[str, float] | None = None,
    apart: Collection[frozenset[str]] = (),
    by_words: Mapping[str, float] = BY_WORDS,
    disputes: Collection[Conflict] = (),
    opposites: Opposites = NO_OPPOSITES,
) -> tuple[Group, ...]:
    """The hits, each thing once.

    Args:
        hits: Hits, best first.
        opinions: What the relation model said, by the texts of the pair, older first.
        sure_at: By kind, the probability of a repeat from which the model's word groups; a kind that
            is missing is never grouped on it.
        apart: Pairs of ids that are known to contradict each other, beside the conflicts the hits carry.
        by_words: By kind, the share of common words above which two are looked at as one.
        disputes: Contradictions of which the newer side comes first, beside those the hits carry.
        opposites: The opposites that the policy names.

    Returns:
        The groups by the place of their best hit, unless that would put an older group before a newer
        one that contradicts it.

    Example:
        >>> from datetime import UTC, datetime
        >>> day = [datetime(2026, 3, at, tzinfo=UTC) for at in (1, 2)]
        >>> told = [Memory(id=f"m{n}", namespace="n", content=text, created_at=day[n], updated_at=day[n])
        ...         for n, text in enumerate(["Use ruff.", "use  RUFF"])]
        >>> [group.ids for group in grouped([Hit(memory, 0.5, {}) for memory in told])]
        [('m1', 'm0')]
    """
    apart = _contradicted(hits) | frozenset(apart)
    judge = _Judge(opinions or {}, sure_at or {}, apart, by_words, opposites)
    shelf = _Shelf(opinions or {}, by_words)
    for hit in hits:
        for members in shelf.near(hit.memory):
            if all(judge.says_the_same(hit.memory, member.memory) for member in members):
                members.append(hit)
                shelf.note(hit.memory, members)
                break
        else:
            shelf.add(hit)
    return _newer_first([_group(members) for members in shelf.rows], hits, disputes)


def open_pairs(
    hits: Sequence[Hit],
    *,
    apart: Collection[frozenset[str]] = (),
    near: Collection[frozenset[str]] | None = None,
    opposites: Opposites = NO_OPPOSITES,
) -> Iterator[tuple[Memory, Memory]]:
    """(older, newer) pairs that rules leave open, best ranked first: only the relation model can tell.

    Args:
        hits: Hits, best first.
        apart: Pairs of ids that are known to contradict each other.
        near: The only pairs of ids that are worth asking about; all of them for None.
        opposites: The opposites that the policy names.
    """
    known = _contradicted(hits) | frozenset(apart)
    for place, hit in enumerate(hits):
        for other in hits[:place]:
            older, newer = sorted((hit.memory, other.memory), key=_age)
            pair = frozenset((older.id, newer.id))
            if pair not in known and (near is None or pair in near) and _is_open(newer, older, opposites):
                yield older, newer


def outcome_of(memory: Memory) -> str:
    """What came of a decision, as its writer keeps it in the metadata; empty while that is pending."""
    told = memory.metadata.get("outcome")
    return "" if told is None else str(told)


class _Shelf:
    """The groups so far, found by what a repeat must share: comparing each hit with every group would take too long."""

    def __init__(self, opinions: Mapping[Pair, Opinion], by_words: Mapping[str, float]) -> None:
        self.rows: list[list[Hit]] = []
        self._by_words = by_words
        self._places: dict[tuple[str, str], dict[int, None]] = {}
        self._partners: dict[str, list[str]] = {}
        for older, newer in opinions:
            self._partners.setdefault(older, []).append(newer)
            self._partners.setdefault(newer, []).append(older)

    def near(self, memory: Memory) -> list[list[Hit]]:
        """The groups that may say the same, in their order."""
        wanted = [*self._marks(memory), *(("text", text) for text in self._partners.get(memory.content, ()))]
        return [self.rows[at] for at in sorted({at for mark in wanted for at in self._places.get(mark, ())})]

    def add(self, hit: Hit) -> None:
        """Begin a group."""
        self.rows.append([hit])
        self._note(hit.memory, len(self.rows) - 1)

    def note(self, memory: Memory, members: list[Hit]) -> None:
        """A group has grown."""
        self._note(memory, next(at for at, row in enumerate(self.rows) if row is members))

    def _note(self, memory: Memory, at: int) -> None:
        for mark in (*self._marks(memory), ("text", memory.content)):
            self._places.setdefault(mark, {})[at] = None

    def _marks(self, memory: Memory) -> list[tuple[str, str]]:
        marks = [("canonical", canonical(memory.content))]
        return [*marks, ("kind", memory.kind)] if memory.kind in self._by_words else marks


class _Judge:
    """Whether two memories are one thing."""

    def __init__(
        self,
        opinions: Mapping[Pair, Opinion],
        sure_at: Mapping[str, float],
        apart: frozenset[frozenset[str]],
        by_words: Mapping[str, float],
        opposites: Opposites,
    ) -> None:
        self._opinions = opinions
        self._sure_at = sure_at
        self._apart = apart
        self._by_words = by_words
        self._opposites = opposites

    def says_the_same(self, one: Memory, other: Memory) -> bool:
        older, newer = sorted((one, other), key=_age)
        if frozenset((older.id, newer.id)) in self._apart or not _may_be_one(newer, older):
            return False
        if canonical(newer.content) == canonical(older.content):
            both = _read(newer, older, self._opposites), _read(older, newer, self._opposites)
            return all(told.relation == "same" for told in both)
        opinion = self._opinions.get((older.content, newer.content))
        if opinion is not None:
            return self._is_told_again(newer, older, opinion)
        bound = self._by_words.get(newer.kind)
        return bound is not None and _in_the_same_words(newer, older, bound, self._opposites)

    def _is_told_again(self, newer: Memory, older: Memory, opinion: Opinion) -> bool:
        # "generalises" would do to drop a text, but not to show it instead of the one that says more.
        comparison = _read(newer, older, self._opposites, opinion)
        sure = opinion.repeats >= self._sure_at.get(newer.kind, _NEVER)
        return sure and comparison.relation == "same" and not _is_barred(newer, older, comparison, self._opposites)


def _may_be_one(newer: Memory, older: Memory) -> bool:
    """What is said beside the texts: kind, agent, subject, time, stance, and what came of it."""
    return says_the_same(newer, older) and slot_key(outcome_of(newer)) == slot_key(outcome_of(older))


def _is_open(newer: Memory, older: Memory, opposites: Opposites) -> bool:
    if not _may_be_one(newer, older) or canonical(newer.content) == canonical(older.content):
        return False
    if max(len(newer.content), len(older.content)) > LONG_TEXT:
        return False
    return not _is_barred(newer, older, _read(newer, older, opposites), opposites)


def _is_barred(newer: Memory, older: Memory, comparison: Comparison, opposites: Opposites) -> bool:
    """The gate's veto from both sides: as a newer text each must be free to be dropped for the other."""
    if is_barred(newer, older, comparison, opposites):
        return True
    return is_vetoed(older.content, newer.content, _read(older, newer, opposites).differences, opposites)


def _in_the_same_words(newer: Memory, older: Memory, bound: float, opposites: Opposites) -> bool:
    """Whether most words are common: as with an ongoing episode, a detail more or less is no other thing.

    The newer is shown instead, so it may leave out a plain word at most: no name and no figure.
    """
    ours, theirs = _words(newer), _words(older)
    if min(len(ours), len(theirs)) < _FEWEST_WORDS:
        return False
    if len(ours & theirs) <= bound * min(len(ours), len(theirs)):
        return False
    if not (language_is_known(newer.content) and language_is_known(older.content)):
        return False  # nobody reads a "not" in it
    if any(item.kind != "detail" for item in _read(newer, older, opposites).differences):
        return False
    lost = _read(older, newer, opposites).differences
    return all(item.kind == "detail" and _is_plain(item.new) for item in lost)


def _is_plain(said: str) -> bool:
    return said.replace(" ", "").isalpha() and said.islower()


def _words(memory: Memory) -> frozenset[str]:
    return frozenset(word for word in words(canonical(memory.content[:HEAD])) if len(word) >= _SHORTEST_WORD)


def _read(new: Memory, old: Memory, opposites: Opposites, opinion: Opinion | None = None) -> Comparison:
    return compare(new, old, cosine=None, similarity=None, opinion=opinion, opposites=opposites)


# --------------------------------------------------------------------------------------------
# Groups


def _group(members: Sequence[Hit]) -> Group:
    """The newest current member is shown at the best rank; the conflicts of all stay in sight."""
    order = sorted(members, key=lambda hit: (hit.memory.status == "active", *_age(hit.memory)), reverse=True)
    conflicts = {item.key: item for hit in order for item in hit.conflicts}
    return Group(order[0], tuple(order[1:]), members[0].score, tuple(conflicts.values()))


def _newer_first(groups: Sequence[Group], hits: Sequence[Hit], disputes: Collection[Conflict]) -> tuple[Group, ...]:
    """A group that its best hit lifts over a newer one it contradicts goes behind it.

    Recall has put the newer of two hits first where that is right; only what grouping itself has turned
    round is put back.
    """
    order = list(groups)
    of = {key: group for group in groups for key in group.ids}
    place = {hit.memory.id: at for at, hit in enumerate(hits)}
    for item in sorted((*(one for group in groups for one in group.conflicts), *disputes), key=_since):
        if item.kind != "contradiction" or item.a not in of or item.b not in of:
            continue
        older, newer = sorted((item.a, item.b), key=lambda end: _age(of[end].shown.memory))
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


def _age(memory: Memory) -> tuple[datetime, datetime, str]:
    """Oldest first, as the world's time tells it."""
    return effective_time(memory, memory.created_at), memory.created_at, memory.id
