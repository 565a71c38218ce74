"""The gate's second look at stored memories: each is decided again, oldest first, in a scratch store in memory.

The scratch store holds the older memories as the gate would have left them, so that a text that restates a restatement
stands behind the same head. The decision is the gate's own (`engine.gate.rejudge`): for each memory the relation model
reads at most eight pairs, unless the journal keeps what it said of them. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from wellkept.core.consolidation.findings import order_of
from wellkept.core.consolidation.repointing import apart, heirs
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.judging.second_look import SecondLook, second_look
from wellkept.core.records.merge import absorbed, segments
from wellkept.core.records.summary_levels import is_summary
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.engine.gate import rejudge
from wellkept.engine.gate.judging import Models
from wellkept.engine.history.past import Past
from wellkept.engine.models.embedding import Embeddings
from wellkept.engine.models.judgements import Judgements
from wellkept.engine.models.unanswered import UnansweredError, ask_all, until_answered
from wellkept.errors import Corrupt
from wellkept.storage.port import Tx
from wellkept.types import Conflict, ConflictChange, Decision, Filter, Memory, MemoryChange, Reading, Vector

_AT_ONCE = 256
"""Memories whose pairs the relation model reads together."""
Tell = Callable[[str, int, int], None]


class SecondLooks:
    """What the gate would do with the memories of a run; made in the view that read them.

    Args:
        ctx: The store.
        config: The rules of the run.
        wordings: The wordings behind its memories, with their vectors.
        conflicts: All conflicts of the namespace.
        readings: What the relation model said when the memories were written under this policy.

    Attributes:
        asked: Pairs that the relation model was asked about.
    """

    def __init__(
        self,
        ctx: Context,
        config: Consolidation,
        wordings: Sequence[tuple[Memory, Vector | None]],
        conflicts: Sequence[Conflict],
        readings: Sequence[Reading] = (),
    ) -> None:
        # A decision of the whole store asks no judge, like the other findings of a consolidation.
        self._ctx = replace(ctx, judge=None)
        self._config = config
        self._wordings = wordings
        self._conflicts = conflicts
        self._readings = readings
        self.asked = 0

    @classmethod
    def of(cls, ctx: Context, tx: Tx, config: Consolidation, rows: Sequence[Memory]) -> SecondLooks | None:
        """Read what the looks need besides the memories; None when neither policy nor rules ask for any."""
        if ctx.relation_model is None or not any(_is_due(ctx, config, kind) for kind in {row.kind for row in rows}):
            return None
        ids = {row.id for row in rows}
        wordings = [row for row in tx.find(Filter(statuses=("wording",))) if row.superseded_by in ids]
        vectors = tx.vectors({row.embedding for row in wordings if row.embedding})
        known = [(row, vectors.get(row.embedding)) for row in wordings]
        return cls(ctx, config, known, tx.conflicts(), list(_readings(ctx, tx, rows)))

    def looks(
        self, rows: Sequence[Memory], vectors: Mapping[str, Vector], opinions: Opinions, tell: Tell
    ) -> tuple[SecondLook, ...]:
        """The looks that a plan acts on, oldest memory first; none after an outage of a model.

        Args:
            rows: The memories, one for each text.
            vectors: Their vectors.
            opinions: Shared with the other findings of the run, so that no pair is read twice.
            tell: Called with the step, the number done and the total.
        """
        if not opinions.available:
            return ()
        models = Models(Embeddings(self._ctx.embedder), opinions, Judgements(None))
        opinions.adopt(self._readings)
        vectors = {**vectors, **{row.embedding: vector for row, vector in self._wordings if vector is not None}}
        ahead = self._ask_ahead(_Shelf(self._ctx, rows, self._wordings, vectors, self._conflicts), models)
        shelf = _Shelf(self._ctx, rows, self._wordings, vectors, self._conflicts)
        parted = apart(self._conflicts, heirs(rows), folding=True)
        found = []
        for place, row in enumerate(shelf.in_turn(), start=1):
            look = ahead.get(row.id) or self._look(shelf, row, models)
            if look.head and not shelf.may_fold(row, look.head, parted):
                look = SecondLook(memory_id=row.id)
            shelf.enter(row, head=look.head)
            if look.head:
                ahead = {}  # it was decided without this fold
            if look.head or look.marks:
                found.append(look)
            if place % _AT_ONCE == 0:
                tell("judge", place, len(rows))
        is_whole = models.opinions.available and models.vectors.failure is None
        return tuple(found) if is_whole else ()

    def _ask_ahead(self, shelf: _Shelf, models: Models) -> dict[str, SecondLook]:
        """Read the pairs that most decisions need, many at a time; the looks that needed none, by memory."""
        missing: list[UnansweredError] = []
        known = {}
        for row in shelf.in_turn():
            try:
                known[row.id] = self._look(shelf, row, models, ahead=True)
            except UnansweredError as lacking:
                missing.append(lacking)
            shelf.enter(row)
            if len(missing) >= _AT_ONCE:
                self._ask(missing, models.opinions)
                missing = []
        self._ask(missing, models.opinions)
        return known

    def _ask(self, missing: Sequence[UnansweredError], opinions: Opinions) -> None:
        self.asked += len(opinions.pairs_in(missing))
        ask_all(missing)

    def _look(self, shelf: _Shelf, row: Memory, models: Models, *, ahead: bool = False) -> SecondLook:
        policy, vector = self._ctx.policy.for_kind(row.kind), shelf.vector(row)
        if vector is None or is_summary(row) or not _is_due(self._ctx, self._config, row.kind):
            return SecondLook(memory_id=row.id)

        def decide() -> Decision:
            return rejudge.decide(self._ctx, shelf.past, row, vector, models)

        look = second_look(row, decide() if ahead else until_answered(decide), policy)
        return replace(
            look,
            head=look.head if self._config.folds(policy) else "",
            marks=look.marks if self._config.marks(policy) else (),
        )


class _Shelf:
    """The scratch store: the memories and wordings that are older than the one in turn."""

    def __init__(
        self,
        ctx: Context,
        rows: Sequence[Memory],
        wordings: Sequence[tuple[Memory, Vector | None]],
        vectors: Mapping[str, Vector],
        conflicts: Sequence[Conflict],
    ) -> None:
        self.past = Past(ctx.namespace, ctx.header())
        self.past.learn(vectors)
        # The gate sees which pairs somebody has settled.
        self.past.follow(ConflictChange(None, item) for item in conflicts if item.resolution is not None)
        self._vectors = vectors
        self._rows = rows
        self._wordings = [row for row, _ in wordings]
        self._head_of: dict[str, str] = {}
        self._together: dict[str, set[str]] = {row.id: {row.id} for row in rows}
        for row in self._wordings:
            self._together.setdefault(row.superseded_by, set()).add(row.id)

    def vector(self, row: Memory) -> Vector | None:
        """The stored vector of a memory."""
        return self._vectors.get(row.embedding) if row.embedding else None

    def in_turn(self) -> Iterator[Memory]:
        """The memories, oldest first; the wordings between them are entered on the way."""
        waiting = sorted(self._wordings, key=order_of, reverse=True)
        for row in sorted(self._rows, key=order_of):
            while waiting and order_of(waiting[-1]) < order_of(row):
                wording = waiting.pop()
                self.enter(wording, head=self._head_of.get(wording.superseded_by, wording.superseded_by))
            yield row

    def may_fold(self, row: Memory, head: str, parted: Mapping[str, set[str]]) -> bool:
        """Whether nothing behind the two is kept apart."""
        there = self._together[head]
        return all(there.isdisjoint(parted.get(one, ())) for one in self._together[row.id])

    def enter(self, row: Memory, *, head: str = "") -> None:
        """Add a memory, or a wording that stands behind a head; wordings behind it go to that head."""
        kept = replace(row, status="wording", superseded_by=head) if head else row
        self.past.follow((MemoryChange(None, kept), *absorbed(row.id, segments(row), frozenset())))
        if not head or row.status == "wording":
            return
        self._head_of[row.id] = head
        self._together[head] |= self._together[row.id]
        for wording in self._together[row.id] - {row.id}:
            stored = self.past.row(wording)
            if stored is not None:
                self.past.follow((MemoryChange(stored, replace(stored, superseded_by=head)),))


def _readings(ctx: Context, tx: Tx, rows: Sequence[Memory]) -> Iterator[Reading]:
    """What the journal keeps of the readings of these memories; an entry that cannot be read only saves nothing."""
    for start in range(0, len(rows), _AT_ONCE):
        try:
            entries = tx.journal(memory_ids=[row.id for row in rows[start : start + _AT_ONCE]])
        except Corrupt:
            continue
        yield from (one.reading for one in entries if one.reading is not None and one.policy == ctx.policy.hash)


def _is_due(ctx: Context, config: Consolidation, kind: str) -> bool:
    policy = ctx.policy.for_kind(kind)
    return config.folds(policy) or config.marks(policy)
