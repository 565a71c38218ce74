"""Findings: which stored pairs are duplicates and which contradict, before any rule is applied.

The comparison is the gate's: the older memory is the old text, the newer one the new. A pair is *same* only if its
canonical texts are equal, or if the relation model says so within its bound and no difference is a veto. Similarity
alone never suffices.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from math import isnan, nan
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellkept.core.differences.find import excludes
from wellkept.core.judging.compare import LONG_TEXT, compare, is_sure
from wellkept.core.judging.evidence import (
    in_scope,
    is_barred,
    is_talk,
    may_contradict,
    reaches,
    rests_on_words,
    says_the_same,
)
from wellkept.core.judging.other_fields import agreeing, beside
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.records.merge import segments
from wellkept.core.text.forms import canonical, slot_key
from wellkept.core.text.same_words import in_same_words
from wellkept.frozen import frozen
from wellkept.policy import KindPolicy, Policy
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import Comparison, Memory, Opinion

Verdict: TypeAlias = Literal["same", "conflict", "apart"]
MOST_IN_SLOT = 8
"""Neighbours in time of one subject that are compared."""
MOST_IN_FRAME = 8
"""Most words of a text that is compared with texts that differ in one word."""
MOST_CONFLICTS = 4
MOST_CLOSED = 8
"""Older neighbours of a memory that the rules decide as conflict or other, after which no further ones are compared."""
_NUMBER = re.compile(r"\d+")


@frozen
class Near:
    """Two memories to compare; `a` is the older.

    Attributes:
        cosine: Raw cosine; None if one has no vector.
        similarity: Calibrated similarity.
    """

    a: Memory
    b: Memory
    cosine: float | None
    similarity: float | None

    @property
    def key(self) -> tuple[str, str]:
        """The two ids."""
        return self.a.id, self.b.id


@frozen
class Finding:
    """A pair with its comparison and verdict."""

    near: Near
    comparison: Comparison
    verdict: Verdict


@frozen(kw_only=True)
class Court:
    """The context of verdicts: policy, model bounds, opinions, and whether vectors are usable.

    Attributes:
        lexical: True when vectors are lexical only; then only equal texts are *same*.
        silent: True when no relation model is available; rules decide alone.
    """

    policy: Policy
    bounds_of: Callable[[str], Bounds]
    opinions: Mapping[tuple[str, str], Opinion] = field(default_factory=dict)
    lexical: bool = False
    silent: bool = False


def order_of(memory: Memory) -> tuple[object, str]:
    """Sort key: creation time, then id."""
    return memory.created_at, memory.id


def exact_groups(
    rows: Sequence[Memory], policy: Policy, canonical_of: Callable[[str], str] = canonical
) -> list[tuple[Memory, ...]]:
    """Groups of memories with equal canonical text, each oldest first.

    Only for kinds whose policy detects verbatim repeats. The same words with another kind, agent, subject or event are
    another memory.

    Args:
        rows: The memories.
        policy: Of the namespace.
        canonical_of: Gives the canonical text; one that remembers it saves time where `of_one_frame` asks for it too.
    """
    buckets: dict[tuple[str, str, str], list[Memory]] = {}
    for row in rows:
        if merges(policy.for_kind(row.kind)):
            buckets.setdefault((row.kind, row.agent, canonical_of(row.content)), []).append(row)
    found = []
    for members in buckets.values():
        if len(members) > 1:
            ordered = sorted(members, key=order_of)
            groups = agreeing([(row, beside(row)) for row in ordered])
            found += [tuple(group) for group in groups if len(group) > 1]
    return sorted(found, key=lambda group: order_of(group[0]))


def merges(policy: KindPolicy) -> bool:
    """Whether a kind has duplicates; append-only kinds do not."""
    return "canonical" in policy.stages or "hash" in policy.stages


def families(rows: Sequence[Memory], policy: Policy) -> list[list[Memory]]:
    """Memories that may be compared: grouped by kind; kinds with cross-kind comparison form one group."""
    found: dict[str, list[Memory]] = {}
    for row in rows:
        wide = reaches(row.kind, policy)
        if wide or "vector" in policy.for_kind(row.kind).stages:
            found.setdefault("" if wide else row.kind, []).append(row)
    return [found[name] for name in sorted(found)]


def of_one_subject(rows: Sequence[Memory]) -> list[tuple[Memory, Memory]]:
    """Pairs with the same subject and attribute, each memory with its nearest in time."""
    slots: dict[tuple[str, str], list[Memory]] = {}
    for row in rows:
        slot = slot_of(row)
        if all(slot):
            slots.setdefault(slot, []).append(row)
    found = []
    for members in slots.values():
        ordered = sorted(members, key=order_of)
        found += [(a, b) for at, b in enumerate(ordered) for a in ordered[max(0, at - MOST_IN_SLOT) : at]]
    return found


def of_one_frame(rows: Sequence[Memory], canonical_of: Callable[[str], str] = canonical) -> list[tuple[Memory, Memory]]:
    """Pairs whose texts differ in one word, each memory with its nearest in time.

    Vectors of short texts differ much for one word, so they are not used here. Positions that hold a number are
    excluded: numbers often distinguish items of one sort ("Machine 1", "Machine 2").

    Args:
        rows: The memories.
        canonical_of: As for `exact_groups`.

    Example:
        "Use ruff for linting" and "Use flake8 for linting." are a pair.
    """
    ordered = sorted(rows, key=order_of)
    frames: list[int] = []
    owners: list[int] = []
    for place, row in enumerate(ordered):
        words = canonical_of(row.content).split() if len(row.content) <= LONG_TEXT else []
        if 1 < len(words) <= MOST_IN_FRAME:
            changing = [at for at, word in enumerate(words) if any(sign.isalpha() for sign in word)]
            frames += [hash((at, *words[:at], *words[at + 1 :])) for at in changing]
            owners += [place] * len(changing)
    order = np.argsort(np.asarray(frames, dtype=np.int64), kind="stable")
    key, owner = np.asarray(frames, dtype=np.int64)[order], np.asarray(owners, dtype=np.int64)[order]
    found = {
        (int(older), int(newer))
        for step in range(1, MOST_IN_SLOT + 1)
        for older, newer in zip(
            *(side[key[step:] == key[:-step]] for side in (owner[:-step], owner[step:])), strict=True
        )
    }
    return [(ordered[older], ordered[newer]) for older, newer in sorted(found)]


def slot_of(row: Memory) -> tuple[str, str]:
    """Subject and attribute of a memory; both empty unless both are given."""
    slot = slot_key(row.subject), slot_key(row.attribute)
    return slot if all(slot) else ("", "")


def comparable(near: Near, policy: Policy) -> bool:
    """Whether the policy lets the two be compared; tags do not separate stored memories."""
    kind = policy.for_kind(near.b.kind)
    if near.a.kind != near.b.kind:
        return may_contradict(near.b, near.a, kind, policy)
    return in_scope(near.b, near.a, _without_tags(kind))


@lru_cache(maxsize=16)
def _without_tags(kind: KindPolicy) -> KindPolicy:
    return replace(kind, scope=tuple(key for key in kind.scope if key != "tags"))


def looked_at(near: Near, opposites: Opposites = NO_OPPOSITES, opinion: Opinion | None = None) -> Comparison:
    """The comparison by rules, and by an opinion of the relation model if there is one."""
    return compare(near.b, near.a, cosine=near.cosine, similarity=near.similarity, opinion=opinion, opposites=opposites)


def is_plainly_apart(near: Near, opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the rules alone find a pair *apart*: in other words, and without anything that both cannot have.

    True only where `judged` says *apart* without an opinion. Most pairs are such, and this takes a fraction of the
    comparison, which also collects what matters only beside an opinion.
    """
    texts = segments(near.a)
    if len(texts) > 1 or near.a.polarity * near.b.polarity < 0:
        return False
    if in_same_words(near.a.content, near.b.content):
        return False
    return not excludes(texts[0], near.b.content, opposites)


def is_readable(near: Near, *, ask_at: float) -> bool:
    """Whether the relation model may read the pair: similar enough, no long text, and not the same words."""
    if near.similarity is None or near.similarity < ask_at:
        return False
    if max(len(near.a.content), len(near.b.content)) > LONG_TEXT:
        return False
    return not in_same_words(near.a.content, near.b.content)


def is_open(near: Near, told: Comparison, *, ask_at: float) -> bool:
    """Whether the relation model reads the pair: it may, and the rules leave it undecided."""
    if not is_readable(near, ask_at=ask_at):
        return False
    return told.relation != "distinct" and all(item.kind == "negation" for item in told.differences if item.decisive)


class Nears:
    """The pairs of a plan, in comparison order: by the newer memory, likeliest duplicates first.

    A large store has hundreds of thousands, so they are kept as positions and made when they are looked at.

    Args:
        rows: The memories, in order of `order_of`.
    """

    def __init__(self, rows: Sequence[Memory]) -> None:
        self._rows = rows
        self._places = {row.id: place for place, row in enumerate(rows)}
        self._known: set[int] = set()
        self._older, self._newer = array("q"), array("q")
        self._cosines, self._similarities = array("d"), array("d")

    def __len__(self) -> int:
        return len(self._older)

    def has(self, old: Memory, new: Memory) -> bool:
        """Whether a pair has been added."""
        return self._key(old, new) in self._known

    def add(self, near: Near) -> None:
        """Add a pair of two of the memories that has not been added yet."""
        self._known.add(self._key(near.a, near.b))
        self._older.append(self._places[near.a.id])
        self._newer.append(self._places[near.b.id])
        self._cosines.append(nan if near.cosine is None else near.cosine)
        self._similarities.append(nan if near.similarity is None else near.similarity)

    def in_turn(self, most: int) -> Iterator[list[Near]]:
        """The pairs in order, at most so many at a time.

        Vectors hardly reflect numbers, so neighbours with the same numbers come first.
        """
        older, newer, similar = self._columns()
        known: dict[frozenset[str], int] = {}
        numbers = np.zeros(len(self._rows), dtype=np.int64)
        for place in np.union1d(older, newer).tolist():
            numbers[place] = known.setdefault(_numbers(self._rows[place].content), len(known))
        created = np.array([row.created_at.timestamp() for row in self._rows])
        order = np.lexsort((self._by_id()[older], -created[older], -similar, numbers[older] != numbers[newer], newer))
        for start in range(0, len(order), most):
            yield [self._near(at) for at in order[start : start + most].tolist()]

    def nearest(self) -> frozenset[tuple[str, str]]:
        """The ids of the nearest pair of each newer memory; of equally near ones the first by id."""
        older, newer, similar = self._columns()
        order = np.lexsort((self._by_id()[older], -similar, newer))
        first = order[np.diff(newer[order], prepend=-1) != 0]
        pairs = zip(older[first].tolist(), newer[first].tolist(), strict=True)
        return frozenset((self._rows[old].id, self._rows[new].id) for old, new in pairs)

    def _near(self, at: int) -> Near:
        old, new = self._rows[self._older[at]], self._rows[self._newer[at]]
        cosine, similarity = self._cosines[at], self._similarities[at]
        return Near(old, new, None if isnan(cosine) else cosine, None if isnan(similarity) else similarity)

    def _columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Both positions of each pair and its similarity, 0 for none."""
        return np.array(self._older), np.array(self._newer), np.nan_to_num(self._similarities)

    def _by_id(self) -> NDArray[np.int64]:
        """The rank of each memory by id."""
        ranks = np.empty(len(self._rows), dtype=np.int64)
        ranks[sorted(range(len(self._rows)), key=lambda place: self._rows[place].id)] = np.arange(len(self._rows))
        return ranks

    def _key(self, old: Memory, new: Memory) -> int:
        return self._places[old.id] * len(self._rows) + self._places[new.id]


def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text[:LONG_TEXT]))


class Patience:
    """Limits the comparisons per memory: thousands of values of one slot all differ."""

    def __init__(self) -> None:
        self._left: dict[str, list[int]] = {}

    def is_out(self, near: Near) -> bool:
        """Whether enough neighbours of the newer memory have been found to differ."""
        return min(self._left.get(near.b.id, [1])) <= 0

    def told(self, near: Near, *, conflict: bool) -> None:
        """Count a neighbour that the rules decided."""
        left = self._left.setdefault(near.b.id, [MOST_CONFLICTS, MOST_CLOSED])
        left[not conflict] -= 1


def judged(near: Near, court: Court, told: Comparison) -> Finding:
    """The pair with its verdict; `told` is the comparison by rules."""
    opinion = court.opinions.get((near.a.content, near.b.content))
    if opinion is not None:
        told = looked_at(near, court.policy.opposites, opinion)
    return Finding(near, told, _verdict(near, told, court))


def says_something(found: Finding) -> bool:
    """Whether a finding matters for the plan: it has a verdict or an opinion."""
    return found.verdict != "apart" or found.comparison.opinion is not None


def _verdict(near: Near, comparison: Comparison, court: Court) -> Verdict:
    policy = court.policy.for_kind(near.b.kind)
    opinion = comparison.opinion
    if comparison.relation == "conflict" and comparison.reason != "model":
        near_enough = near.similarity is not None and near.similarity >= policy.conflict_at
        of_one_slot = slot_of(near.a) == slot_of(near.b) != ("", "")
        return "conflict" if near_enough or of_one_slot or is_sure(comparison) else "apart"
    bounds = court.bounds_of(near.b.kind)
    if comparison.relation in ("conflict", "distinct"):
        if is_talk(near.b, near.a):
            return "apart"
        return "conflict" if opinion is not None and opinion.conflict >= bounds.flag else "apart"
    if near.a.kind != near.b.kind or comparison.relation != "same" or not merges(policy):
        return "apart"
    if not says_the_same(near.b, near.a):
        return "apart"
    if in_same_words(near.a.content, near.b.content):
        return "same"
    if opinion is None or court.lexical or is_barred(near.b, near.a, comparison, court.policy.opposites):
        return "apart"
    if not rests_on_words(near.b, near.a, near.similarity, bounds):
        return "apart"
    return "same" if opinion.repeats >= bounds.skip else "apart"


def nearest_only(findings: Sequence[Finding]) -> list[Finding]:
    """Keep the rules' contradictions, and of the model's only the nearest per newer memory."""
    best: dict[str, tuple[float, str]] = {}
    for found in findings:
        if found.comparison.opinion is not None and found.comparison.relation in ("conflict", "distinct"):
            rank = (-(found.near.similarity or 0.0), found.near.a.id)
            best[found.near.b.id] = min(best.get(found.near.b.id, rank), rank)
    kept = []
    for found in findings:
        by_model = found.verdict == "conflict" and found.comparison.reason in ("", "model")
        rank = (-(found.near.similarity or 0.0), found.near.a.id)
        if not by_model or best.get(found.near.b.id) == rank:
            kept.append(found)
    return kept
