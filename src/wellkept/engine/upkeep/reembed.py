"""Re-embedding and sweeping: missing or outdated vectors, and rows stored unchecked.

Both `reembed` and `sweep` work in batches, each in its own transaction: a repeated run continues where the last
one stopped, and other processes can read and write between the batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain

from wellkept.core.gate.may_wait import VERB
from wellkept.core.records.lifecycle import supersede
from wellkept.core.records.merge import absorbed, segments
from wellkept.engine.base.context import Context
from wellkept.engine.base.paging import pages
from wellkept.engine.base.retry import whole
from wellkept.engine.gate import rejudge
from wellkept.engine.gate.acts import apply, entry_of, with_vector
from wellkept.engine.gate.judging import Models
from wellkept.engine.gate.new_questions import raised
from wellkept.engine.gate.write import judge_waiting
from wellkept.engine.history.journal import is_undone
from wellkept.engine.lookup.wordings_and_marks import wordings_behind
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.engine.models.unanswered import UnansweredError, until_answered
from wellkept.engine.upkeep.embedder_check import refuse_another
from wellkept.errors import ModelError
from wellkept.frozen import frozen
from wellkept.storage.port import Binding, Foreseeing, Tx
from wellkept.types import (
    ConflictChange,
    Decision,
    Effect,
    Filter,
    JournalEntry,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    QuestionRecord,
    Reason,
    Status,
    Vector,
)
from wellkept.types.showing import count_of

BATCH = 128
"""Texts embedded and written at once; the most work that an interruption can lose."""
_SCAN = 1000
_KEPT: tuple[Status, ...] = ("active", "superseded", "archived", "wording")
Progress = Callable[[int, int], None]


@frozen(kw_only=True)
class Swept:
    """The result of a sweep.

    Attributes:
        embedded: Memories that got a vector.
        checked: Unchecked rows that were decided.
        superseded / conflicts / links: Results of these decisions.
        left: Rows not done yet; the next sweep continues with them.
        outage: Why it stopped early or left some; empty when it finished.
    """

    embedded: int = 0
    checked: int = 0
    superseded: int = 0
    conflicts: int = 0
    links: int = 0
    left: int = 0
    outage: str = ""


def reembed(ctx: Context, progress: Progress | None = None, *, batch: int = BATCH) -> dict[str, int]:
    """Compute every vector that is missing or from another embedder, then check the unchecked rows.

    The store switches to the embedder of `ctx` at once: new writes get its vectors, and recall finds rows without
    a new vector by their words. After an error or a kill, it is run again to continue. Other namespaces keep
    their state until it is run there.

    Args:
        ctx: The store, with the new embedder.
        progress: Called after each batch with the number of memories done and the total.
        batch: Texts embedded and written at once.

    Returns:
        Counts: `embedded`, `checked`, `superseded`, `conflicts`, `links`.

    Raises:
        ModelError: A model failed; completed batches are kept. A failure that concerns some texts only is raised at the
            end.
    """
    if ctx.storage.header().embedder != ctx.embedder.id:
        ctx.storage.configure(embedder=ctx.embedder.id, dim=ctx.embedder.dim, policy=ctx.policy.hash)
    if isinstance(ctx.storage, Binding):
        ctx.storage.bind(ctx.embedder.id)
    counts, _, failure = _swept(ctx, progress, batch=batch, unreadable=True)
    if failure is not None:
        raise failure
    if isinstance(ctx.storage, Foreseeing):  # remove the vectors of former embedders
        ctx.storage.ahead(embedder=ctx.embedder.id, dim=ctx.embedder.dim).drop_former(ctx.namespace)
    return counts


def sweep(ctx: Context, progress: Progress | None = None, *, batch: int = BATCH) -> Swept:
    """Repair the effects of outages: compute missing vectors and decide unchecked rows.

    Unlike `reembed`, it never switches the embedder and does not retry texts that the embedder cannot read. An
    outage ends it with counts instead of an error; one that concerns some texts only leaves those.

    Example:
        >>> import wellkept
        >>> from wellkept.engine.upkeep.reembed import sweep
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     _ = store.remember("Tea is upstairs.")
        ...     sweep(store._ctx).left
        0
    """
    refuse_another(ctx, ctx.header())
    counts, left, failure = _swept(ctx, progress, batch=batch, unreadable=False)
    return Swept(**counts, left=left, outage="" if failure is None else str(failure))


def _swept(
    ctx: Context, progress: Progress | None, *, batch: int, unreadable: bool
) -> tuple[dict[str, int], int, ModelError | None]:
    """Counts, number of rows left, and the error that stopped it."""
    counts = {"embedded": 0, "checked": 0, "superseded": 0, "conflicts": 0, "links": 0}
    groups, unchecked = _due(ctx, unreadable=unreadable)
    whole, done = sum(map(len, groups)), 0
    unread: set[str] = set()
    outage: ModelError | None = None
    for start in range(0, len(groups), max(1, batch)):
        ids = [one for group in groups[start : start + max(1, batch)] for one in group]
        vectors = Embeddings(ctx.embedder, on_failure="Vectors could not be made, the rows keep waiting")
        unread |= _embed(ctx, ids, counts, vectors)
        outage = outage or vectors.failure
        if vectors.is_down:
            return counts, len({*unread, *unchecked, *chain.from_iterable(groups[start:])}), outage
        done += len(ids)
        if progress is not None:
            progress(done, whole)
    unchecked = [memory_id for memory_id in unchecked if memory_id not in unread]
    if unchecked:
        ctx.scale.prepare()
        late = judge_waiting(ctx)
        counts["checked"] += late.judged
        unread.update(late.unread)
        outage = outage or late.failure
        if late.failure is not None and not late.unread:
            return counts, len(unread) + len(unchecked) - late.judged, outage
        unchecked = [memory_id for memory_id in unchecked if memory_id not in unread]
    for place, memory_id in enumerate(unchecked):
        try:
            check_row(ctx, memory_id, counts)
        except ModelError as error:  # outage: this row and the rest stay unchecked
            return counts, len(unread) + len(unchecked) - place, error
    return counts, len(unread), outage


def _due(ctx: Context, *, unreadable: bool) -> tuple[list[list[str]], list[str]]:
    """Ids of rows that need a vector, grouped by text, and of active unchecked rows.

    Args:
        ctx: The store.
        unreadable: Include texts that got no vector before: another embedder may read them.
    """
    by_text: dict[str, list[str]] = {}
    unchecked = []
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        lacking = {row.id for row in _rows(tx, Filter(statuses=_KEPT, embedded=False))}
        for row in _rows(tx, Filter(statuses=_KEPT)):
            if row.status == "active" and not row.checked:
                unchecked.append(row.id)
            if not row.embedding and row.checked and not unreadable:
                continue
            key = vector_key(text_of(row))
            if row.id in lacking or row.embedding != key:
                by_text.setdefault(key, []).append(row.id)
    return list(by_text.values()), unchecked


def _rows(tx: Tx, where: Filter) -> Iterator[Memory]:
    return chain.from_iterable(pages(tx, where, size=_SCAN))


@whole
def _embed(ctx: Context, ids: Sequence[str], counts: dict[str, int], vectors: Embeddings) -> set[str]:
    """One batch: embed outside any transaction, then write the rows whose text has not changed.

    Returns:
        The rows that the embedder failed to read; they keep waiting.
    """
    where = Filter(ids=tuple(ids), statuses=_KEPT)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        texts = {row.id: text_of(row) for row in tx.find(where)}
    vectors.fetch(texts.values())
    unread = {memory_id for memory_id, text in texts.items() if vectors.outage_of(text) is not None}
    if unread == texts.keys():
        return unread
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        same: dict[str, Vector] = {}
        unchanged: list[str] = []
        embedded = 0
        for memory in tx.find(replace(where, ids=tuple(texts.keys() - unread))):
            try:
                after, made = with_vector(memory, vectors)
            except UnansweredError:  # edited in the meantime, and that write made its vector
                continue
            embedded += bool(made)
            if after != memory:
                _change(ctx, tx, memory, after, made)
            elif made:
                same |= made
                unchanged.append(memory.id)
        if unchanged:
            tx.apply(_moved(ctx, unchanged), vectors=same)
    counts["embedded"] += embedded
    return unread


def _change(ctx: Context, tx: Tx, memory: Memory, after: Memory, made: dict[str, Vector]) -> None:
    changed = replace(after, version=memory.version + 1, updated_at=ctx.clock())
    outcome = "embedded" if made else "unreadable"
    effects = [MemoryChange(memory, changed)]
    apply(ctx, tx, effects, verb="reembed", outcome=outcome, memory_id=memory.id, vectors=made)


def _moved(ctx: Context, ids: Sequence[str]) -> JournalEntry:
    """The entry of a batch that changes vectors only, not rows, so that it blocks no undo."""
    reason = Reason("reembed", f"vectors of {count_of(len(ids), 'memory')} made by {ctx.embedder.id}")
    return replace(ctx.entry("reembed", "embedded"), memory_ids=tuple(ids), reasons=(reason,))


def check_row(ctx: Context, memory_id: str, counts: dict[str, int]) -> None:
    """Decide about an unchecked memory as it is now, and add to the counts.

    Raises:
        ModelError: A model failed; the memory stays unchecked.
    """
    models = Models.of(ctx)
    for name, number in until_answered(lambda: _recheck(ctx, memory_id, models)).items():
        counts[name] += number


@whole
def _recheck(ctx: Context, memory_id: str, models: Models) -> Counter[str]:
    """Decide about a stored row as if it were written now; it is marked, linked or superseded, never removed.

    Returns:
        Counts of this transaction only, because a repeated transaction starts again.
    """
    counts: Counter[str] = Counter()
    if models.opinions.failure is not None:
        raise models.opinions.failure  # outage: the row stays unchecked
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        rows = tx.find(Filter(ids=(memory_id,)))
        if not rows or rows[0].checked:
            return counts
        memory = rows[0]
        now = ctx.clock()
        checked = replace(memory, checked=True, version=memory.version + 1, updated_at=now)
        effects: list[Effect] = []
        asks: QuestionRecord | None = None
        vector = tx.vectors((memory.embedding,)).get(memory.embedding) if memory.embedding else None
        if vector is not None and not _was_taken_back(tx, memory_id):
            decision = rejudge.decide(ctx, tx, memory, vector, models)
            effects = _late_effects(ctx, tx, (memory, checked), counts=counts, decision=decision)
            asks = raised(ctx, tx, decision)
        if not any(isinstance(item, MemoryChange) and item.before == memory for item in effects):
            effects.insert(0, MemoryChange(memory, checked))
        counts["checked"] += 1
        reasons = (Reason("sweep", "checked after the model came back"),)
        entry = entry_of(ctx, effects, verb="recheck", outcome="checked", memory_id=memory_id, reasons=reasons)
        tx.apply(replace(entry, asks=asks))
    return counts


def _was_taken_back(tx: Tx, memory_id: str) -> bool:
    """Whether somebody has taken back what became of the memory when it was judged; it is left as it is."""
    entries = tx.journal(memory_ids=(memory_id,))
    return any(one.verb == VERB and one.undoes and is_undone(tx, one.seq) for one in entries)


def _late_effects(
    ctx: Context, tx: Tx, row: tuple[Memory, Memory], *, counts: Counter[str], decision: Decision
) -> list[Effect]:
    memory, checked = row
    if decision.outcome == "duplicate" and decision.memory is not None:
        counts["superseded"] += 1
        kept = tx.find(Filter(ids=(decision.memory.id,)))[0]
        hidden, linked = supersede(checked, kept, at=ctx.clock())
        after = hidden.after if isinstance(hidden, MemoryChange) else None
        # Its hashes point at the kept row, so that writing the text again is a duplicate.
        led = absorbed(kept.id, segments(memory), frozenset())
        along = _moved_along(tx, memory, kept.id, ctx.clock())
        return [MemoryChange(memory, replace(after, version=checked.version) if after else None), linked, *led, *along]
    there = {(item.src, item.dst, item.rel) for item in tx.links((memory.id,))}
    effects: list[Effect] = []
    proposed = decision.effects
    if decision.outcome == "evolved" and decision.memory is not None:  # its text is already a row, so it is only linked
        proposed = (LinkChange(None, Link(memory.id, decision.memory.id, "related", ctx.clock())),)
    for effect in proposed:
        match effect:
            case LinkChange(_, Link() as link) if (link.src, link.dst, link.rel) not in there:
                counts["links"] += 1
                effects.append(effect)
            case ConflictChange():
                counts["conflicts"] += 1
                effects.append(effect)
            case MemoryChange(Memory() as before, Memory() as after) if before.id != memory.id:
                counts["superseded"] += after.status == "superseded"
                if decision.outcome == "restated":  # it counts for the head how often the row was said
                    after = replace(after, confirmations=after.confirmations + memory.confirmations)
                effects.append(MemoryChange(before, after))
            case MemoryChange(None, Memory() as after) if after.status in ("superseded", "wording"):
                # It is older information than the stored row, or restates it, so this row goes behind it.
                counts["superseded"] += 1
                buried = replace(
                    checked, status=after.status, superseded_by=after.superseded_by, superseded_at=after.superseded_at
                )
                effects.append(MemoryChange(memory, buried))
                if after.status == "wording":
                    effects += _moved_along(tx, memory, after.superseded_by, buried.updated_at)
            case _:
                pass
    return effects


def _moved_along(tx: Tx, memory: Memory, head: str, at: datetime) -> list[Effect]:
    """Effects that move the wordings of a row that goes behind another memory behind that memory too."""
    effects: list[Effect] = []
    for row in wordings_behind(tx, (memory.id,)).get(memory.id, ()):
        effects.append(MemoryChange(row, replace(row, superseded_by=head, updated_at=at, version=row.version + 1)))
        effects += [LinkChange(link, None) for link in tx.links((row.id,)) if _is_between(link, row.id, memory.id)]
        effects.append(LinkChange(None, Link(row.id, head, "restates", at)))
    return effects


def _is_between(link: Link, wording: str, head: str) -> bool:
    return (link.src, link.dst, link.rel) == (wording, head, "restates")
