"""Gathers the evidence for one write, inside the transaction that applies the decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np

from wellkept.core.gate.outcomes import born
from wellkept.core.judging.evidence import Evidence, Moment, in_scope, may_contradict, reaches
from wellkept.core.judging.what_to_ask import ASK_AT, MOST_ASKED, questions
from wellkept.core.reading.lexer import language_is_known
from wellkept.core.records.lifecycle import head_of
from wellkept.core.records.merge import aliases, canonical_alias, content_alias
from wellkept.core.records.summary_levels import is_summary_of
from wellkept.core.records.vectors import cosines
from wellkept.core.text.forms import slot_key
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.engine.gate.neighbours import FIRST_ASK, LAST_ASK, Nearby
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.engine.models.unanswered import UnansweredError
from wellkept.policy import KindPolicy
from wellkept.storage.port import Tx
from wellkept.types import ALL_STATUSES, AliasChange, Candidate, Degradation, Effect, Filter, Memory, NewMemory, Status

MAX_COMPARED = 16
MAX_BESIDE = 8
SHORT = 24
"""Maximum length of a short text, in characters."""
_MARGIN = 2e-4  # stored vectors are float16; the exact cosine is rounded to 4 decimals afterwards


def without_vectors(ctx: Context, tx: Tx, new: NewMemory) -> Evidence:
    """Evidence from hashes, slot and window, without embeddings."""
    policy = ctx.policy.for_kind(new.kind)
    verbatim = _verbatim(tx, new, policy)
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
        held=_held(new, verbatim),
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

    def evidence(self, index: int, new: NewMemory, tx: Tx, policy: KindPolicy) -> Evidence | None:
        """The evidence of an open item; None when it must be gathered again."""
        found = self._open.get(index)
        if found is None or tx.seq != self._seq:
            return None
        if not self._wrote:
            return found
        known = found.verbatim or found.slot or found.ongoing
        if known or "window" in policy.stages or ("subject" in policy.stages and new.subject):
            return None
        return None if self._aliases.intersection(aliases(new.content)) else found


def kinds_near(ctx: Context, kind: str) -> tuple[str, ...]:
    """The kinds that a memory of this kind is compared with, its own first (`conflicts_with`)."""
    if ctx.relation_model is None or not reaches(kind, ctx.policy):
        return (kind,)
    return (kind, *(other for other in ctx.policy.widely_compared if other != kind))


def with_opinions(new: NewMemory, evidence: Evidence, opinions: Opinions, moment: Moment) -> Evidence:
    """The evidence with the relation model's opinions on what the rules leave open.

    Raises:
        UnansweredError: The model must be asked about some pairs first.
    """
    if not evidence.neighbours:
        return evidence  # no candidate, so nothing to ask
    bounds = opinions.bounds(moment.policy.for_kind(new.kind).risk)
    if not opinions.available:
        degraded: tuple[Degradation, ...] = (*evidence.degraded, "relation")
        return replace(evidence, unjudged=True, outage=opinions.failure is not None, degraded=degraded)
    told = opinions.of(new.content, questions(new, evidence, moment))
    return replace(evidence, opinions=told, bounds=bounds, unjudged=not opinions.silence_decides)


def with_vectors(
    ctx: Context, tx: Tx, new: NewMemory, *, evidence: Evidence, vectors: Embeddings, near: Nearby, index: int
) -> Evidence:
    """The evidence with the nearest memories; after an outage it reports that instead.

    Raises:
        UnansweredError: The text is not embedded yet, or the embedder is not measured yet.
    """
    text = text_of(new)
    embedded = vectors.get(text)
    degraded = vectors.degraded(text)
    if embedded is None or embedded.vector is None:
        return replace(evidence, degraded=degraded)
    policy = ctx.policy.for_kind(new.kind)
    if ctx.scale.pending and ("vector" in policy.stages or policy.auto_link):
        raise UnansweredError(lambda _: ctx.scale.prepare())  # embedder without calibration
    # In a language whose negations the rules cannot read, similarity must not decide alone.
    known = language_is_known(new.content)
    if "vector" in policy.stages:
        degraded += ctx.scale.degraded
    return replace(
        evidence,
        degraded=degraded if known else (*degraded, "language"),
        lexical=ctx.embedder.lexical or embedded.spelled or not known,
        calibration=ctx.scale.calibration,
        embedding=vector_key(text),
        chunks=embedded.chunks,
        neighbours=_neighbours(ctx, tx, new, policy=policy, near=near, index=index),
    )


def _verbatim(tx: Tx, new: NewMemory, policy: KindPolicy) -> tuple[Candidate, ...]:
    found: dict[str, Candidate] = {}
    kinds = (new.kind,)
    statuses: tuple[Status, ...] = ("active", "superseded")
    exact = (content_alias(new.content),) if "hash" in policy.stages else ()
    folded = (canonical_alias(new.content),) if "canonical" in policy.stages else ()
    # Most texts are new; one query for both hashes shows that.
    if exact and folded and not tx.find(Filter(hashes=exact + folded, kinds=kinds, statuses=statuses), limit=1):
        return ()
    if exact:
        where = Filter(hashes=exact, kinds=kinds, statuses=statuses)
        found.update((memory.id, Candidate(memory, "content_hash")) for memory in tx.find(where))
    if folded and not any(hit.memory.status == "active" for hit in found.values()):
        where = Filter(hashes=folded, kinds=kinds, statuses=statuses)
        for memory in tx.find(where):
            found.setdefault(memory.id, Candidate(memory, "canonical_hash"))
    return tuple(found.values())


def _heads(tx: Tx, verbatim: tuple[Candidate, ...]) -> dict[str, Memory]:
    heads = {}
    for candidate in verbatim:
        memory = candidate.memory
        if memory.status != "superseded":
            continue
        known: dict[str, Memory] = {}
        step = memory.superseded_by
        while step and step not in known:
            rows = tx.find(Filter(ids=(step,), statuses=ALL_STATUSES))
            if not rows:
                break
            known[step] = rows[0]
            if is_summary_of(rows[0], memory):
                break  # a replacement of the summary has not replaced each of its sources
            step = rows[0].superseded_by
        heads[memory.id] = head_of(memory, known)
    return heads


def _held(new: NewMemory, verbatim: tuple[Candidate, ...]) -> dict[str, frozenset[str]]:
    """Which hashes of the new text a row has: both after an exact match, else the canonical one."""
    both = frozenset((content_alias(new.content), canonical_alias(new.content)))
    canonical = frozenset((canonical_alias(new.content),))
    return {hit.memory.id: both if hit.stage == "content_hash" else canonical for hit in verbatim}


def _neighbours(
    ctx: Context, tx: Tx, new: NewMemory, *, policy: KindPolicy, near: Nearby, index: int
) -> tuple[Candidate, ...]:
    """All rows of the scope that are similar enough, nearest first, not only the newest."""
    if "vector" not in policy.stages and len(kinds_near(ctx, new.kind)) == 1:
        return ()
    wanted = _floor(policy)
    if policy.on_conflict != "ignore":
        # One word dominates the vector of a short text: the nearest few are compared at any similarity.
        wanted = 0.0 if len(new.content) <= SHORT else min(wanted, ASK_AT)
    floor = ctx.scale.calibration.cosine(wanted) - _MARGIN
    limit = FIRST_ASK
    while True:
        close, complete = near.of(index, limit=limit, floor=floor)
        inside: list[Candidate] = []
        beside: list[Candidate] = []  # of other kinds, for contradictions only
        keys = tuple(close)
        for start in range(0, len(keys), MAX_COMPARED):
            if len(inside) >= MAX_COMPARED:
                break
            for row in tx.find(Filter(ids=keys[start : start + MAX_COMPARED])):
                if is_summary_of(new, row):
                    continue  # not checked for a contradiction with its own source
                if in_scope(new, row, policy) and "vector" in policy.stages:
                    inside.append(Candidate(row, "vector", close[row.id]))
                elif may_contradict(new, row, ctx.policy):
                    beside.append(Candidate(row, "vector", close[row.id]))
        searched = "vector" in policy.stages
        if complete or len(inside) >= MAX_COMPARED or not searched or limit >= LAST_ASK:
            return (*inside[:MAX_COMPARED], *beside[:MAX_BESIDE])
        limit *= 8


def _floor(policy: KindPolicy) -> float:
    bounds = [band.at for band in policy.bands]
    if policy.on_conflict != "ignore":
        bounds.append(policy.conflict_at)
    if policy.on_same_subject == "replace_if_similar":
        bounds.append(policy.replace_at)
    return min(bounds, default=1.0)


def earlier_items(items: Sequence[NewMemory], index: int, vectors: Embeddings, moment: Moment) -> tuple[Candidate, ...]:
    """Earlier items of the same run that are similar to this one, as the memories they will become."""
    own = vectors.vector(items[index])
    if own is None or not index:
        return ()
    there = [(place, found) for place in range(index) if (found := vectors.vector(items[place])) is not None]
    if not there:
        return ()
    near = cosines(own, np.asarray([found for _, found in there]))
    order = np.argsort(-near, kind="stable")[: MOST_ASKED * 2]
    empty = Evidence()
    return tuple(
        Candidate(replace(born(items[place], empty, moment), id=f"item {place}"), "vector", float(near[at]))
        for at in order.tolist()
        if (place := there[at][0]) is not None
    )
