"""Gathers the evidence for one write, inside the transaction that applies the decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Self

import numpy as np

from wellkept.core.gate.outcomes import born
from wellkept.core.gate.worth_keeping import is_plain
from wellkept.core.judging.calibration import Calibration
from wellkept.core.judging.evidence import Evidence, Moment, apart, reaches
from wellkept.core.judging.what_to_ask import MOST_ASKED, asked_from
from wellkept.core.reading.language_detection import language_is_known
from wellkept.core.records.lifecycle import head_of
from wellkept.core.records.merge import aliases
from wellkept.core.records.summary_levels import is_summary_of, sources_of
from wellkept.core.records.vectors import cosines
from wellkept.core.text.forms import slot_key
from wellkept.engine.base.context import Context
from wellkept.engine.gate.neighbours import FIRST_ASK, LAST_ASK, Nearby
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.engine.models.unanswered import UnansweredError
from wellkept.frozen import frozen
from wellkept.models.port import chatter_of
from wellkept.policy import KindPolicy
from wellkept.storage.port import Tx
from wellkept.types import (
    ALL_STATUSES,
    SEARCHED,
    AliasChange,
    Candidate,
    Effect,
    Filter,
    Memory,
    NewMemory,
    Stage,
    Status,
    Vector,
)

MAX_COMPARED = 16
MAX_BESIDE = 16
MAX_WORDINGS = 4
"""Nearest wordings of one memory that are compared."""
SHORT = 24
"""Maximum length of a short text, in characters."""
_BY_HASH: tuple[Stage, Stage] = ("content_hash", "canonical_hash")
"""How a row with the words of a text is found, the exact way first."""
_MARGIN = 2e-4  # stored vectors are float16; the exact cosine is rounded to 4 decimals afterwards


@frozen
class Item:
    """One statement of a run, with everything that is derived from it once.

    Attributes:
        place: Its index in the run.
        new: The statement.
        policy: The policy of its kind.
        text: The text that is embedded for it.
        aliases: Its exact and its canonical alias.
        kinds: The kinds it is compared with, its own first (`conflicts_with`, `family`, `updates`).
        relatives: The other kinds of its family, if it becomes a wording of what it repeats.
    """

    place: int
    new: NewMemory
    policy: KindPolicy
    text: str
    aliases: tuple[str, str]
    kinds: tuple[str, ...]
    relatives: tuple[str, ...]

    @classmethod
    def of(cls, ctx: Context, place: int, new: NewMemory) -> Self:
        """The item of a statement."""
        policy = ctx.policy.for_kind(new.kind)
        kinds = [new.kind]
        family = ctx.policy.families.get(policy.family, ())
        relatives = tuple(kind for kind in family if kind != new.kind) if policy.repeats == "fold" else ()
        if ctx.relation_model is not None:
            kinds += ctx.policy.widely_compared if reaches(new.kind, ctx.policy) else ()
            kinds += family
            kinds += ctx.policy.outdating if policy.updates != "list" else ()
        return cls(place, new, policy, text_of(new), aliases(new.content), tuple(dict.fromkeys(kinds)), relatives)

    @property
    def is_searched(self) -> bool:
        """Whether memories of its own kind are searched by vector."""
        return "vector" in self.policy.stages


def without_vectors(ctx: Context, tx: Tx, item: Item) -> Evidence:
    """Evidence from hashes, slot and window, without embeddings."""
    new, policy = item.new, item.policy
    verbatim = _verbatim(tx, item)
    ongoing: tuple[Memory, ...] = ()
    if "window" in policy.stages:
        since = ctx.clock() - timedelta(minutes=policy.window_minutes)
        ongoing = tuple(tx.find(Filter(kinds=(new.kind,), ongoing=True, created_from=since)))
    slot: tuple[Memory, ...] = ()
    if "subject" in policy.stages and slot_key(new.subject):
        slot = tuple(tx.find(Filter(kinds=(new.kind,), subject=new.subject, attribute=new.attribute)))
    return Evidence(
        verbatim=verbatim,
        heads=_heads(tx, verbatim),
        slot=slot,
        ongoing=ongoing,
        held=_held(item, verbatim),
        contradiction_fn=ctx.contradiction_fn,
    )


class FirstLook:
    """Evidence gathered before the lock is taken, for items that hashes, slot and window leave open.

    Inside the transaction it is valid as long as nobody else has written, that is, while the journal has grown
    only by entries of this run. After writes of this run, evidence without matches stays valid for texts that
    the run has not written.
    """

    def __init__(self) -> None:
        self._seq = -1
        self._open: dict[int, Evidence] = {}
        self._wrote = False
        self._keys: set[str] = set()
        self._aliases: set[str] = set()

    def begin(self, seq: int) -> None:
        """Start from a view whose newest journal entry is `seq`."""
        self._seq = seq

    @property
    def left_open(self) -> tuple[int, ...]:
        """Items with unused keys that hashes, slot and window leave open."""
        return tuple(self._open)

    def leave_open(self, index: int, evidence: Evidence) -> None:
        """Record the evidence of an open item."""
        self._open[index] = evidence

    def wrote(self, seq: int, key: str, effects: Iterable[Effect]) -> None:
        """Record that this run has appended entry `seq`."""
        if seq == self._seq + 1:  # else another writer came in between: all evidence is stale
            self._seq = seq
        self._wrote = True
        self._keys.add(key)
        self._aliases.update(effect.hash for effect in effects if isinstance(effect, AliasChange))

    def is_unused(self, index: int, new: NewMemory, tx: Tx) -> bool:
        """Whether the key of this item is known to be unused."""
        return tx.seq == self._seq and index in self._open and new.idempotency_key not in self._keys

    def evidence(self, item: Item, tx: Tx) -> Evidence | None:
        """The evidence of an open item; None when it must be gathered again."""
        found = self._open.get(item.place)
        if found is None or tx.seq != self._seq:
            return None
        if not self._wrote:
            return found
        known = found.verbatim or found.slot or found.ongoing
        stages = item.policy.stages
        if known or "window" in stages or ("subject" in stages and item.new.subject):
            return None
        return None if self._aliases.intersection(item.aliases) else found


def with_vectors(
    ctx: Context, tx: Tx, item: Item, *, evidence: Evidence, vectors: Embeddings, near: Nearby
) -> Evidence:
    """The evidence with the nearest memories; after an outage it reports that instead.

    Raises:
        UnansweredError: The text is not embedded yet, or the embedder is not measured yet.
    """
    embedded = vectors.get(item.text)
    degraded = vectors.degraded(item.text)
    if embedded is None or embedded.vector is None:
        return replace(evidence, degraded=degraded)
    if ctx.scale.pending and (item.is_searched or item.policy.auto_link):
        raise UnansweredError(lambda _: ctx.scale.prepare())  # embedder without calibration
    # In a language whose negations the rules cannot read, similarity must not decide alone.
    known = language_is_known(item.new.content)
    if item.is_searched:
        degraded += ctx.scale.degraded
    calibration = ctx.scale.calibration
    found = _neighbours(ctx, tx, item, calibration, near)
    of_meaning = embedded.chunks == 1 and not embedded.by_words
    head = chatter_of(ctx.embedder) if of_meaning and is_plain(item.new, item.policy) else None
    return replace(
        evidence,
        chatter=head.read(item.text, embedded.vector) if head is not None else None,
        degraded=degraded if known else (*degraded, "language"),
        lexical=ctx.embedder.lexical or embedded.spelled or not known,
        by_words=ctx.embedder.lexical,
        calibration=calibration,
        embedding=vector_key(item.text),
        chunks=embedded.chunks,
        neighbours=found,
        heads={**evidence.heads, **_heads_of_wordings(tx, found)},
    )


def _verbatim(tx: Tx, item: Item) -> tuple[Candidate, ...]:
    """Rows with the words of a statement: of its own kind by the policy's stages, of its family by either hash."""
    found: dict[str, Candidate] = {}
    own, stages, relatives = item.new.kind, item.policy.stages, item.relatives
    statuses: tuple[Status, ...] = ("active", "superseded", "wording")
    # Most texts are new; one query for both hashes shows that.
    all_exact = "hash" in stages
    both = relatives or (all_exact and "canonical" in stages)
    rows = tx.find(Filter(hashes=item.aliases, kinds=(own, *relatives), statuses=statuses)) if both else []
    if both and not rows:
        return ()
    for stage, text, name in zip(("hash", "canonical"), item.aliases, _BY_HASH, strict=True):
        known = any(hit.memory.status == "active" and hit.memory.kind == own for hit in found.values())
        kinds = (own, *relatives) if stage in stages and not known else relatives
        if both and all_exact and stage == "canonical":  # all rows with the first hash are found, so it is the other
            hits = [memory for memory in rows if memory.kind in kinds]
        else:
            hits = tx.find(Filter(hashes=(text,), kinds=kinds, statuses=statuses)) if kinds else []
        for memory in hits:
            found.setdefault(memory.id, Candidate(memory, name))
    return tuple(found.values())


def _heads(tx: Tx, verbatim: tuple[Candidate, ...]) -> dict[str, Memory]:
    heads = {}
    for candidate in verbatim:
        memory = candidate.memory
        if memory.status not in ("superseded", "wording"):
            continue
        known: dict[str, Memory] = {}
        step = memory.superseded_by
        while step and step not in known:
            rows = tx.find(Filter(ids=(step,), statuses=ALL_STATUSES))
            if not rows:
                break
            known[step] = rows[0]
            if memory.status == "wording":
                break  # what has replaced its head is not what it says
            if is_summary_of(rows[0], memory):
                break  # a replacement of the summary has not replaced each of its sources
            step = rows[0].superseded_by
        heads[memory.id] = head_of(memory, known)
    return heads


def _heads_of_wordings(tx: Tx, found: Sequence[Candidate]) -> dict[str, Memory]:
    behind = {hit.memory.id: hit.memory.superseded_by for hit in found if hit.memory.status == "wording"}
    known = {row.id: row for row in tx.find(Filter(ids=tuple(set(behind.values()))))} if behind else {}
    return {wording: known[head] for wording, head in behind.items() if head in known}


def _held(item: Item, verbatim: tuple[Candidate, ...]) -> dict[str, frozenset[str]]:
    """Which hashes of the new text a row has: both after an exact match, else the canonical one."""
    both, canonical = frozenset(item.aliases), frozenset(item.aliases[1:])
    return {hit.memory.id: both if hit.stage == "content_hash" else canonical for hit in verbatim}


def _neighbours(ctx: Context, tx: Tx, item: Item, calibration: Calibration, near: Nearby) -> tuple[Candidate, ...]:
    """All rows of the scope that are similar enough, nearest first, not only the newest."""
    new, policy, searched = item.new, item.policy, item.is_searched
    if not searched and len(item.kinds) == 1:
        return ()
    wanted = _floor(policy)
    if policy.on_conflict != "ignore":
        # One word dominates the vector of a short text: the nearest few are compared at any similarity.
        wanted = 0.0 if len(new.content) <= SHORT else min(wanted, asked_from(new.content))
    floor = calibration.cosine(wanted) - _MARGIN
    limit, sources = FIRST_ASK, sources_of(new)
    while True:
        close, complete = near.of(item.place, limit=limit, floor=floor)
        inside: list[Candidate] = []
        beside: list[Candidate] = []  # of other kinds, for contradictions only
        behind: Counter[str] = Counter()
        keys = tuple(close)
        for start in range(0, len(keys), MAX_COMPARED):
            if len(inside) >= MAX_COMPARED:
                break
            found = tx.find(Filter(ids=keys[start : start + MAX_COMPARED], statuses=SEARCHED))
            # A summary is not checked for a contradiction with its own sources.
            rows = [row for row in found if row.id not in sources and not _are_too_many(row, behind)]
            ours, others = apart(new, rows, policy, ctx.policy)
            inside += [Candidate(row, "vector", close[row.id]) for row in ours]
            beside += [Candidate(row, "vector", close[row.id]) for row in others]
        if complete or len(inside) >= MAX_COMPARED or not searched or limit >= LAST_ASK:
            return (*inside[:MAX_COMPARED], *beside[:MAX_BESIDE])
        limit *= 8


def _are_too_many(row: Memory, behind: Counter[str]) -> bool:
    """Count a wording; whether enough of its head are compared already. They must not hide other memories."""
    if row.status != "wording":
        return False
    behind[row.superseded_by] += 1
    return behind[row.superseded_by] > MAX_WORDINGS


def _floor(policy: KindPolicy) -> float:
    bounds = [band.at for band in policy.bands]
    if policy.on_conflict != "ignore":
        bounds.append(policy.conflict_at)
    if policy.on_same_subject == "replace_if_similar":
        bounds.append(policy.replace_at)
    return min(bounds, default=1.0)


class EarlierItems:
    """The items of a run as the memories that they will become, each made once: most are near several later ones.

    Args:
        items: The items of the run.
        vectors: Their vectors.
    """

    def __init__(self, items: Sequence[Item], vectors: Embeddings) -> None:
        self._items = items
        self._vectors = vectors
        self._made: dict[int, Memory] = {}

    def near(self, index: int, moment: Moment) -> tuple[Candidate, ...]:
        """Those before an item that are similar to it."""
        own = self._vector(index) if index else None
        if own is None:
            return ()
        there = [(place, found) for place in range(index) if (found := self._vector(place)) is not None]
        if not there:
            return ()
        cosine = cosines(own, np.asarray([found for _, found in there]))
        order = np.argsort(-cosine, kind="stable")[: MOST_ASKED * 2].tolist()
        return tuple(Candidate(self._as_memory(there[at][0], moment), "vector", float(cosine[at])) for at in order)

    def _vector(self, place: int) -> Vector | None:
        return self._vectors.vector(self._items[place].text)

    def _as_memory(self, place: int, moment: Moment) -> Memory:
        if place not in self._made:
            self._made[place] = born(self._items[place].new, Evidence(), replace(moment, id=f"item {place}"))
        return self._made[place]
