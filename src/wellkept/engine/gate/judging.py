"""From statements to decisions: evidence is gathered, the models are asked, the core decides.

Writes, checks and repeated decisions about stored memories all use this module. Nothing here writes. A missing
model answer is raised as `UnansweredError`: the caller leaves the transaction, asks, and decides again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Self

from wellkept.core.asking.learning import shifted
from wellkept.core.asking.state import state_of
from wellkept.core.gate.admit import settle
from wellkept.core.gate.feedback_guard import echoed
from wellkept.core.gate.may_wait import is_open, may_wait, put_off
from wellkept.core.gate.worth_keeping import chatter_refusal
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.core.records.conflicts import parts
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.engine.gate.bare_texts import with_bare_texts, with_originals
from wellkept.engine.gate.gather_evidence import EarlierItems, FirstLook, Item, with_vectors, without_vectors
from wellkept.engine.gate.idempotency import is_free_again
from wellkept.engine.gate.neighbours import Nearby, Query
from wellkept.engine.gate.waiting import Later
from wellkept.engine.models.embedding import Embeddings
from wellkept.engine.models.judgements import Judgements
from wellkept.engine.models.unanswered import UnansweredError, ask_all
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import Candidate, Decision, Filter, Memory, NewMemory


@frozen
class Models:
    """The model answers of one call."""

    vectors: Embeddings
    opinions: Opinions
    judgements: Judgements

    @classmethod
    def of(cls, ctx: Context) -> Self:
        """The models of a store, without answers yet."""
        return cls(Embeddings(ctx.embedder), Opinions(ctx), Judgements(ctx.judge))


class Judging:
    """The decisions about the items of one run.

    Args:
        ctx: The store, its models and its policy.
        items: The statements, in order; each is compared with those before it.
        models: Kept by the caller, so that answers survive a repeated transaction.
        stored: When a stored memory is judged again, that memory: it is not compared with itself, and the
            echo check is skipped.
        later: What the policy puts off until after the commit; None where everything is judged now.
        hidden: See the attribute.

    Attributes:
        items: The statements with what is derived from them.
        look: The evidence gathered before the lock was taken.
        near: The nearest memories of each item.
        hidden: Ids of memories that the items are not compared with.
    """

    def __init__(
        self,
        ctx: Context,
        items: Sequence[NewMemory],
        models: Models,
        stored: Memory | None = None,
        *,
        later: Later | None = None,
        hidden: Collection[str] = frozenset(),
    ) -> None:
        self._ctx = ctx
        self.items = [Item.of(ctx, place, new) for place, new in enumerate(items)]
        self._models = models
        self._earlier = EarlierItems(self.items, models.vectors)
        self._stored = stored
        self._later = later
        self.hidden = hidden
        self.look = FirstLook()
        self.near = Nearby(len(items), self._query, hidden)

    def only(self) -> Decision:
        """The decision about a single item, in a view of its own.

        Raises:
            UnansweredError: A model must be asked first.
        """
        with self._ctx.storage.begin(self._ctx.namespace, write=False) as tx:
            self.near.enter(tx)
            return self.decide(tx, 0)

    def ahead(self) -> None:
        """Ask the models about all items together, before the lock is taken."""
        models = self._models
        models.vectors.fetch([self.items[index].text for index in self._look_first()])
        if self.look.left_open and models.vectors.failure is None and self._are_compared():
            self._ctx.scale.prepare()
        rounds = 0 if not self.look.left_open else models.opinions.available + models.judgements.available
        for _ in range(rounds):
            missing: list[UnansweredError] = []
            with self._ctx.storage.begin(self._ctx.namespace, write=False) as tx:
                self.near.enter(tx)
                for index in self.look.left_open:
                    try:
                        self._look_ahead(tx, index)
                    except UnansweredError as lacking:
                        missing.append(lacking)
            if not missing:
                break
            ask_all(missing)

    def _are_compared(self) -> bool:
        items = [self.items[index] for index in self.look.left_open]
        return any(item.is_searched or item.policy.auto_link for item in items)

    def _look_first(self) -> list[int]:
        """The items that hashes, slot and window leave open, or whose key is free again; only these are embedded."""
        found: list[int] = []
        with self._ctx.storage.begin(self._ctx.namespace, write=False) as tx:
            self.look.begin(tx.seq)
            for item in self.items:
                new, index = item.new, item.place
                if new.idempotency_key and tx.journal(key=new.idempotency_key):
                    if is_free_again(tx, new):
                        found.append(index)
                    continue
                evidence = self._gathered(tx, item)
                if isinstance(evidence, Evidence):
                    self.look.leave_open(index, evidence)
                    found.append(index)
        return found

    def _look_ahead(self, tx: Tx, index: int) -> None:
        item = self.items[index]
        evidence = self.look.evidence(item, tx)
        if evidence is None or self._models.vectors.vector(item.text) is None:
            return
        moment = self._moment(item)
        if self._later is not None and self._later.defers and may_wait(item.new, moment):
            return  # asked in the transaction, if at all
        evidence = self._with_neighbours(tx, item, evidence)
        within = self._earlier.near(index, moment)
        evidence = self._with_answers(
            item, replace(evidence, neighbours=(*evidence.neighbours, *within), contradiction_fn=None), moment
        )
        if self._models.judgements.available:
            self._models.judgements.decided(item.new, evidence, moment)

    def _gathered(self, tx: Tx, item: Item) -> Decision | Evidence:
        """The decision where hashes, slot and window suffice; otherwise their evidence."""
        evidence = without_vectors(self._ctx, tx, item)
        if self._stored is not None:
            evidence = _without(self._stored, evidence, tx)
        evidence = _without_later(self.hidden, evidence)
        return self._settled(tx, item, evidence) or evidence

    def decide(self, tx: Tx, index: int) -> Decision:
        """The gate's decision about an item.

        Raises:
            UnansweredError: A model must be asked first, outside the transaction.
            ModelError: A model failed and the policy says `on_error="raise"`.
        """
        item = self.items[index]
        found = self.look.evidence(item, tx) or self._gathered(tx, item)
        if isinstance(found, Decision):
            if self._later is not None and found.effects:
                self._later.before(tx, index, found.effects)
            return found
        moment = self._moment(item)
        evidence = self._with_neighbours(tx, item, found)  # again: uses may have been counted since the look ahead
        self._raise_if_asked(item, evidence)
        if self._later is not None:
            waiting = self._put_off(tx, index, evidence, moment)
            if waiting is not None:
                return waiting
        evidence = self._with_answers(item, evidence, moment)
        self._raise_if_asked(item, evidence)
        evidence = replace(evidence, bounds=shifted(evidence.bounds, state_of(tx.asking())))
        return replace(self._models.judgements.decided(item.new, evidence, moment), reading=evidence.reading)

    def _put_off(self, tx: Tx, index: int, evidence: Evidence, moment: Moment) -> Decision | None:
        """The decision that leaves an item to be judged later; None where it is judged now, after what waits.

        Raises:
            UnansweredError: Writes before it wait, and are judged first.
        """
        item, later = self.items[index], self._later
        if later is None or chatter_refusal(item.new, item.policy, evidence.chatter) is not None:
            return None
        has_judge = self._models.judgements.available
        if not (has_judge or self._models.opinions.is_there):
            return None
        decision = put_off(item.new, evidence, moment) if later.defers and may_wait(item.new, moment) else None
        if decision is None:
            later.before(tx, index)
            return None
        return decision if has_judge or is_open(item.new, evidence, moment) or later.is_waiting(tx) else None

    def _with_neighbours(self, tx: Tx, item: Item, evidence: Evidence) -> Evidence:
        """The evidence with the nearest memories."""
        vectors = self._models.vectors
        evidence = with_vectors(self._ctx, tx, item, evidence=evidence, vectors=vectors, near=self.near)
        return evidence if self._stored is None else _without(self._stored, evidence, tx)

    def _with_answers(self, item: Item, evidence: Evidence, moment: Moment) -> Evidence:
        """The evidence with the relation model's opinions, and with the similarity of bare texts."""
        if chatter_refusal(item.new, item.policy, evidence.chatter) is not None:
            return evidence  # nothing is compared
        evidence = self._models.opinions.added(item.new, evidence, moment, item.policy.risk)
        evidence = with_originals(item.new, evidence, self._models.vectors, moment.policy)
        return with_bare_texts(item.new, evidence, self._models.vectors, moment.policy.opposites)

    def _settled(self, tx: Tx, item: Item, evidence: Evidence) -> Decision | None:
        """Decisions that need no vector; the last check is whether the text is an echo of this session's packs."""
        new, moment = item.new, self._moment(item)
        decision = settle(new, evidence, moment)
        if decision is not None or self._stored is not None:
            return decision
        ids = self._ctx.handed.ids(self._ctx.namespace, self._ctx.session, new.content)
        return echoed(new, tx.find(Filter(ids=ids)), evidence, moment) if ids else None

    def _raise_if_asked(self, item: Item, evidence: Evidence) -> None:
        vectors, opinions = self._models.vectors, self._models.opinions
        is_unread = evidence.outage or not opinions.available
        if self._stored is None and item.policy.on_error == "raise":
            for failure in (vectors.outage_of(item.text), opinions.failure if is_unread else None):
                if failure is not None:
                    raise failure

    def _moment(self, item: Item) -> Moment:
        own = self._ctx.new_id() if self._stored is None else self._stored.id
        return Moment(self._ctx.clock(), own, self._ctx.namespace, self._ctx.policy, item.policy)

    def _query(self, index: int) -> Query:
        item = self.items[index]
        vector = self._models.vectors.vector(item.text)
        return None if vector is None else (item.kinds, vector)


def _without_later(hidden: Collection[str], evidence: Evidence) -> Evidence:
    """The evidence without memories of later writes."""
    if not hidden:
        return evidence
    return replace(
        evidence,
        verbatim=tuple(hit for hit in evidence.verbatim if hit.memory.id not in hidden),
        slot=tuple(row for row in evidence.slot if row.id not in hidden),
        ongoing=tuple(row for row in evidence.ongoing if row.id not in hidden),
    )


def _without(memory: Memory, evidence: Evidence, tx: Tx) -> Evidence:
    """The evidence about a stored memory, without that memory, its wordings, and memories decided to be different."""
    conflicts = tx.conflicts(ids=(memory.id,))
    parted = {memory.id, *(one for item in conflicts if parts(item) for one in (item.a, item.b))}
    return replace(
        evidence,
        verbatim=_unparted(evidence.verbatim, parted),
        neighbours=_unparted(evidence.neighbours, parted),
        slot=tuple(row for row in evidence.slot if row.id != memory.id),
        ongoing=tuple(row for row in evidence.ongoing if row.id != memory.id),
        known_conflicts=frozenset(conflict.key for conflict in conflicts),
    )


def _unparted(found: Iterable[Candidate], parted: Collection[str]) -> tuple[Candidate, ...]:
    heads = ((hit, hit.memory.superseded_by if hit.memory.status == "wording" else "") for hit in found)
    return tuple(hit for hit, head in heads if hit.memory.id not in parted and head not in parted)
