"""Explicit changes of stored memories: supersede, restore, split, revise, forget, erase, link, unlink, resolve.

Each applies and journals its effects in one transaction, like every write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from wellkept.core.asking.budget import name_of
from wellkept.core.asking.state import state_of, state_text
from wellkept.core.judging.compare import compare
from wellkept.core.records import conflicts as flags
from wellkept.core.records import lifecycle
from wellkept.core.records.effects import touched
from wellkept.core.records.merge import absorb, absorbed, aliases, segments, unconfirmed, without
from wellkept.core.text.forms import is_line
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import new_memory
from wellkept.engine.base.retry import writing
from wellkept.engine.gate import mentions, rejudge
from wellkept.engine.gate.judging import Models
from wellkept.engine.history.journal import edge_of
from wellkept.engine.lookup.read import fetch
from wellkept.engine.lookup.wordings_and_marks import wordings_behind
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.errors import IllegalTransition, InvalidField, NotFound, SelfReference
from wellkept.storage.port import Tx
from wellkept.types import (
    ALL_STATUSES,
    MAY_RESTATE,
    MAY_UPDATE,
    UPDATES_PART,
    AliasChange,
    Conflict,
    ConflictChange,
    Effect,
    Filter,
    JournalEntry,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    Reason,
    Resolution,
    Statement,
    Vector,
)

REVISABLE = frozenset(Statement.__dataclass_fields__)
MAX_REL = 100


def supersede(ctx: Context, old_id: str, new_id: str) -> int:
    """Mark `old_id` as replaced by `new_id`; returns the journal entry."""
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        old, new = fetch(tx, old_id), fetch(tx, new_id)

        def successor(step: str) -> str:
            rows = tx.find(Filter(ids=(step,), statuses=ALL_STATUSES))
            return rows[0].superseded_by if rows else ""

        lifecycle.check_supersession(old, new, successor)
        now = ctx.clock()
        effects = list(_new_links(tx, lifecycle.supersede(old, new, at=now)))
        heir = lifecycle.inherit(new, old)
        if heir is not new:
            effects.append(MemoryChange(new, replace(heir, updated_at=now, version=new.version + 1)))
        return apply(ctx, tx, effects, verb="supersede", outcome="superseded", memory_id=new_id)


def restore(ctx: Context, memory_id: str) -> int:
    """Make a superseded, archived, faded or dropped memory active again; 0 when nothing was changed."""
    vectors = Embeddings(ctx.embedder)
    return writing(ctx, lambda tx: _restore(ctx, tx, memory_id, vectors))


def _restore(ctx: Context, tx: Tx, memory_id: str, vectors: Embeddings) -> int:
    rows = tx.find(Filter(ids=(memory_id,), statuses=ALL_STATUSES))
    now = ctx.clock()
    if not rows:
        return _restore_dropped(ctx, tx, memory_id, vectors)
    memory = rows[0]
    if memory.status == "active":
        decay = ctx.policy.for_kind(memory.kind).decay
        if lifecycle.lifecycle(memory, decay, now) == "ACTIVE":
            return 0
        # The lifecycle is computed from use, so a reactivation is recorded as a use.
        tx.touch({memory.id: (memory.access_count + 1, now, memory.stability)})
        reason = Reason("reactivated", "used again")
        return apply(ctx, tx, (), verb="restore", outcome="restored", memory_id=memory_id, reasons=(reason,))
    if memory.status == "wording":
        return _split(ctx, tx, memory, vectors, verb="restore")
    ids = (memory_id,)
    effects = lifecycle.restore(memory, at=now, links=tuple(tx.links(ids)), conflicts=tuple(tx.conflicts(ids=ids)))
    return apply(ctx, tx, effects, verb="restore", outcome="restored", memory_id=memory_id)


def _restore_dropped(ctx: Context, tx: Tx, memory_id: str, vectors: Embeddings) -> int:
    """Store a text that the gate did not store, as the memory it would have become."""
    dropped = next((entry.dropped for entry in tx.journal(memory_ids=(memory_id,)) if entry.dropped), None)
    if dropped is None or dropped.id != memory_id or not dropped.content:
        raise NotFound(f"no memory {memory_id!r}", where=ctx.namespace, todo="List the memories to see their ids")
    now = ctx.clock()
    memory, made = with_vector(replace(dropped, status="active", updated_at=now), vectors)
    effects: tuple[Effect, ...] = (MemoryChange(None, memory), *absorbed(memory.id, (memory.content,), frozenset()))
    return apply(ctx, tx, effects, verb="restore", outcome="created", memory_id=memory_id, vectors=made)


def split(ctx: Context, memory_id: str) -> int:
    """Make a wording a memory of its own; the pair is kept apart from then on."""
    vectors = Embeddings(ctx.embedder)

    def act(tx: Tx) -> int:
        memory = fetch(tx, memory_id)
        if memory.status != "wording":
            raise IllegalTransition(
                f"{memory_id} is {memory.status}, not a wording",
                where="split",
                todo="List the memories with the status `wording`, and split one of those",
            )
        return _split(ctx, tx, memory, vectors, verb="split")

    return writing(ctx, act)


def _split(ctx: Context, tx: Tx, wording: Memory, vectors: Embeddings, *, verb: str) -> int:
    now = ctx.clock()
    ids, links = (wording.id,), tuple(tx.links((wording.id,)))
    heads = tx.find(Filter(ids=(wording.superseded_by,), statuses=ALL_STATUSES))
    if not heads or heads[0].status == "erased":
        effects = lifecycle.restore(wording, at=now, links=links, conflicts=tuple(tx.conflicts(ids=ids)))
        return apply(ctx, tx, effects, verb=verb, outcome="split", memory_id=wording.id)
    head = heads[0]
    known = {item.key: item for item in tx.conflicts(ids=ids)}
    comparison = compare(wording, head, cosine=None, similarity=None, opposites=ctx.policy.opposites)
    pair = flags.between(head, wording, comparison, kind="duplicate", moment=(now, ctx.policy.conflict_days))
    before = known.pop(pair.key, None)
    made: dict[str, Vector] = {}
    if wording.content in segments(head)[1:]:
        left, made = _without_part(head, wording.content, vectors, now)
    else:
        left = [MemoryChange(head, unconfirmed(head, wording, at=now, last=_last_confirmed(tx, head, wording)))]
    effects = (
        *lifecycle.restore(wording, at=now, links=links, conflicts=tuple(known.values())),
        *left,
        ConflictChange(before, flags.settled(pair, "keep_both", at=now)),
    )
    return apply(
        ctx, tx, effects, verb=verb, outcome="split", memory_id=wording.id,
        reasons=(Reason("split", f"it stood behind {head.id}"),), vectors=made,
    )  # fmt: skip


def _without_part(
    head: Memory, part: str, vectors: Embeddings, now: datetime
) -> tuple[list[Effect], dict[str, Vector]]:
    """The head without the text and the hashes of an addition, and its new vector."""
    shorter, made = with_vector(without(head, part, at=now), vectors)
    kept = {one for text in segments(shorter) for one in aliases(text)}
    gone = [AliasChange(head.id, one, present=False) for one in aliases(part) if one not in kept]
    return [MemoryChange(head, shorter), *gone], made


def _last_confirmed(tx: Tx, head: Memory, wording: Memory) -> datetime | None:
    """When the head was last confirmed by something else than a wording."""
    if head.last_confirmed_at != wording.superseded_at:
        return head.last_confirmed_at
    changes = (effect for entry in tx.journal(memory_ids=(wording.id,)) for effect in entry.effects)
    former = (item.before for item in changes if isinstance(item, MemoryChange) and item.before is not None)
    return next((row.last_confirmed_at for row in former if row.id == head.id), head.last_confirmed_at)


def revise(ctx: Context, memory_id: str, changes: Mapping[str, Any]) -> Memory:
    """Edit a memory; vector and hashes are updated with the text."""
    unknown = set(changes) - REVISABLE
    if unknown:
        allowed = ", ".join(sorted(REVISABLE))
        raise InvalidField("cannot be revised", where=", ".join(sorted(unknown)), todo=f"Revise one of: {allowed}")
    models = Models.of(ctx)
    return writing(ctx, lambda tx: _revise(ctx, tx, memory_id, changes=changes, models=models))


def _revise(ctx: Context, tx: Tx, memory_id: str, *, changes: Mapping[str, Any], models: Models) -> Memory:
    memory = fetch(tx, memory_id)
    if memory.status == "erased":
        raise IllegalTransition(f"{memory_id} was erased; nothing is left to revise", where="revise")
    now = ctx.clock()
    fields = {name: changes.get(name, getattr(memory, name)) for name in REVISABLE}
    checked = new_memory(fields.pop("content"), fields, ctx.policy)
    values = {name: getattr(checked, name) for name in REVISABLE}
    rewritten = values["content"] != memory.content
    after = replace(
        memory, **values, updates=() if rewritten else memory.updates, updated_at=now, version=memory.version + 1
    )
    effects: list[Effect] = []
    made: dict[str, Vector] = {}
    if text_of(after) != text_of(memory):
        after, made = with_vector(after, models.vectors)
    if rewritten:
        held = _held(tx, memory_id)
        # The row no longer contains these texts: writing one again is not a duplicate.
        effects += [AliasChange(memory_id, one, present=False) for one in sorted(held - set(aliases(after.content)))]
        effects += absorbed(memory_id, (after.content,), held)
        effects += _reconsidered(ctx, tx, after, now)
        # What the gate or an answer took it for, they took the former text for.
        of_the_text = (MAY_RESTATE, MAY_UPDATE, UPDATES_PART)
        effects += [LinkChange(link, None) for link in tx.links((memory_id,)) if link.rel in of_the_text]
        if after.status == "active" and after.embedding in made:
            effects += rejudge.conflicts_of(ctx, tx, after, made[after.embedding], models)
    named = mentions.of_revised(ctx, tx, memory, after)
    apply(
        ctx, tx, [MemoryChange(memory, after), *effects, *named.effects], verb="revise", outcome="revised",
        memory_id=memory_id, reasons=named.reasons, vectors=made,
    )  # fmt: skip
    return after


def _held(tx: Tx, memory_id: str) -> frozenset[str]:
    """Every hash that points at a memory, from its history."""
    held: set[str] = set()
    for entry in tx.journal(memory_ids=(memory_id,)):
        for effect in entry.effects:
            if isinstance(effect, AliasChange) and effect.memory_id == memory_id:
                (held.add if effect.present else held.discard)(effect.hash)
    return frozenset(held)


def _reconsidered(ctx: Context, tx: Tx, memory: Memory, now: datetime) -> list[Effect]:
    """Open conflicts of an edited memory, judged again: resolved when no difference remains."""
    changes: list[Effect] = []
    for conflict in tx.conflicts(ids=(memory.id,)):
        other = tx.find(Filter(ids=(conflict.b if conflict.a == memory.id else conflict.a,)))
        if conflict.resolution is not None or not other:
            continue
        first, second = (memory, other[0]) if conflict.a == memory.id else (other[0], memory)
        comparison = compare(second, first, cosine=None, similarity=conflict.similarity, opposites=ctx.policy.opposites)
        wanted = "same" if conflict.kind == "duplicate" else "conflict"
        after = flags.retold(conflict, first, second, comparison)
        if comparison.relation != wanted and conflict.kind != "outdated":
            after = flags.settled(after, "dismissed", at=now)
        changes.append(ConflictChange(conflict, after))
    return changes


def forget(ctx: Context, memory_id: str) -> int:
    """Archive a memory: hidden from recall, kept, restorable."""
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        effects = lifecycle.archive(fetch(tx, memory_id), at=ctx.clock())
        return apply(ctx, tx, effects, verb="forget", outcome="archived", memory_id=memory_id)


def erase(ctx: Context, memory_id: str) -> int:
    """Permanently remove the content of a memory and of its wordings, or of a text the gate rejected."""
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        refused = [entry.dropped for entry in tx.journal(memory_ids=(memory_id,)) if entry.dropped is not None]
        if not any(dropped.id == memory_id and dropped.content for dropped in refused):
            memory = fetch(tx, memory_id)
            if memory.status == "erased":
                return 0
            _check_is_no_part(tx, memory)
        ids = (memory_id, *wordings_of(tx, memory_id))
        return tx.erase(ids, replace(ctx.entry("erase", "erased"), memory_id=memory_id, memory_ids=ids))


def _check_is_no_part(tx: Tx, memory: Memory) -> None:
    """Check that no head holds the text of a wording that would be erased."""
    for head in tx.find(Filter(ids=(memory.superseded_by,))) if memory.status == "wording" else ():
        if memory.content in segments(head)[1:]:
            raise IllegalTransition(
                f"{memory.id} is an addition that {head.id} holds in its own text and history",
                where="erase",
                todo=f"Erase {head.id}, which erases its additions too; write before what should stay",
            )


def wordings_of(tx: Tx, memory_id: str) -> tuple[str, ...]:
    """The ids of the wordings that stand behind a memory, sorted."""
    return tuple(sorted(row.id for row in wordings_behind(tx, (memory_id,)).get(memory_id, ())))


def link(ctx: Context, src: str, dst: str, *, rel: str, strict: bool) -> Link:
    """Link two memories; repeating a link changes nothing."""
    rel = "related" if rel == "relates_to" else rel.strip()
    if src == dst:
        raise SelfReference("a memory cannot be linked to itself", where=src, todo="Name two different memories")
    if len(rel) > MAX_REL or not is_line(rel):
        raise InvalidField(f"{rel[:40]!r} is not a relation", where="rel", todo="Use one line of text, as in 'refines'")
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        if strict:
            fetch(tx, src)
            fetch(tx, dst)
        made = Link(src, dst, rel, ctx.clock())
        effects = _new_links(tx, (LinkChange(None, made),))
        if effects:
            apply(ctx, tx, effects, verb="link", outcome="linked", memory_id=src)
            return made
        return next(item for item in tx.links((src,)) if (item.src, item.dst, item.rel) == (src, dst, rel))


def unlink(ctx: Context, src: str, dst: str, *, rel: str | None) -> int:
    """Remove the links between two memories, all or of one relation; returns the number removed.

    The `supersedes` link of a superseded memory and the `restates` link of a wording stay, because their status
    depends on them.
    """
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        wanted = {None: None, "relates_to": "related"}.get(rel, rel)
        ends = {row.id: row for row in tx.find(Filter(ids=(src, dst), statuses=("superseded", "wording")))}
        held = ""
        if dst in ends and ends[dst].status == "superseded" and ends[dst].superseded_by == src:
            held, hidden, front = "supersedes", dst, src
        elif src in ends and ends[src].status == "wording" and ends[src].superseded_by == dst:
            held, hidden, front = "restates", src, dst
        if held and wanted == held:
            raise IllegalTransition(
                f"{hidden} stands behind {front}, and this link says so",
                where="unlink",
                todo=f"{'Split' if held == 'restates' else 'Restore'} {hidden} instead",
            )
        gone = [
            LinkChange(item, None)
            for item in tx.links((src,))
            if item.src == src and item.dst == dst and wanted in (None, item.rel)
            if item.rel != held
        ]
        if gone:
            apply(ctx, tx, gone, verb="unlink", outcome="unlinked", memory_id=src)
        return len(gone)


def resolve(ctx: Context, key: str, resolution: Resolution) -> Conflict:
    """Resolve a conflict as a person or an agent decided."""
    vectors = Embeddings(ctx.embedder)
    return writing(ctx, lambda tx: _resolve(ctx, tx, key, resolution=resolution, vectors=vectors))


def _resolve(ctx: Context, tx: Tx, key: str, *, resolution: Resolution, vectors: Embeddings) -> Conflict:
    found = tx.conflicts(keys=(key,))
    if not found:
        raise NotFound(f"no conflict {key!r}", where=ctx.namespace, todo="List the conflicts to see their keys")
    conflict = found[0]
    if conflict.resolution is not None:
        raise IllegalTransition(
            f"conflict {key} is settled: {conflict.resolution}", where="resolve", todo="Undo that entry to decide again"
        )
    now = ctx.clock()
    older, newer = fetch(tx, conflict.a), fetch(tx, conflict.b)
    effects: list[Effect] = []
    made: dict[str, Vector] = {}
    both = older.status == newer.status == "active"
    match resolution:
        case "keep_new" | "keep_old" if both:
            loser, winner = (older, newer) if resolution == "keep_new" else (newer, older)
            effects += _new_links(tx, lifecycle.supersede(loser, winner, at=now))
            heir = lifecycle.inherit(winner, loser)
            if heir is not winner:
                effects.append(MemoryChange(winner, replace(heir, updated_at=now, version=winner.version + 1)))
            if conflict.kind == "duplicate":
                # Its hashes point at the winner: writing it again is not a reversion.
                effects += absorbed(winner.id, segments(loser), frozenset())
        case "keep_both":
            rel = "contradicts" if conflict.kind == "contradiction" else "related"
            effects += _new_links(tx, (LinkChange(None, Link(newer.id, older.id, rel, now)),))
        case "merge" if both:
            held = frozenset(alias for alias in aliases(newer.content) if older in tx.find(Filter(hashes=(alias,))))
            grown, changes = absorb(older, newer, at=now, held=held)
            grown, made = with_vector(grown, vectors)
            effects += [MemoryChange(older, grown), *changes[1:]]
            effects += _new_links(tx, lifecycle.supersede(newer, grown, at=now))
        case "merge":
            gone = older if older.status != "active" else newer
            raise IllegalTransition(
                f"{gone.id} is {gone.status}, so there is nothing to merge",
                where="resolve",
                todo="Restore it first, or settle the conflict as dismissed",
            )
        case _:
            pass  # dismissed, or one of the two is no longer active
    after = flags.settled(conflict, resolution, at=now)
    apply(
        ctx, tx, [*effects, ConflictChange(conflict, after)], verb="resolve", outcome=resolution,
        memory_id=newer.id, vectors=made,
    )  # fmt: skip
    state = state_of(tx.asking())
    settled = [one.entry for one in state.open if one.of == name_of(newer.id)]
    if settled:
        tx.note_asking(state_text(state.without(*settled)))
    return after


def with_vector(memory: Memory, vectors: Embeddings) -> tuple[Memory, dict[str, Vector]]:
    """The memory with the vector of its current text; after an outage it is marked unchecked.

    Raises:
        UnansweredError: The text must be embedded first, outside the transaction.
    """
    text = text_of(memory)
    embedded = vectors.get(text)
    if embedded is None:
        return replace(memory, embedding="", chunks=0, checked=False), {}
    if embedded.vector is None:
        return replace(memory, embedding="", chunks=0), {}
    key = vector_key(text)
    return replace(memory, embedding=key, chunks=embedded.chunks), {key: embedded.vector}


def apply(
    ctx: Context,
    tx: Tx,
    effects: Sequence[Effect],
    *,
    verb: str,
    outcome: str,
    memory_id: str,
    reasons: tuple[Reason, ...] = (),
    vectors: Mapping[str, Vector] | None = None,
) -> int:
    """Apply the effects of an act and journal it."""
    entry = entry_of(ctx, effects, verb=verb, outcome=outcome, memory_id=memory_id, reasons=reasons)
    return tx.apply(entry, vectors=vectors)


def entry_of(
    ctx: Context,
    effects: Sequence[Effect],
    *,
    verb: str,
    outcome: str,
    memory_id: str,
    reasons: tuple[Reason, ...] = (),
) -> JournalEntry:
    """The journal entry of an act with these effects."""
    return replace(
        ctx.entry(verb, outcome),
        memory_id=memory_id,
        memory_ids=tuple(dict.fromkeys((memory_id, *touched(effects)))),
        reasons=reasons,
        effects=tuple(effects),
    )


def _new_links(tx: Tx, effects: Sequence[Effect]) -> list[Effect]:
    """The effects without links that already exist: (src, dst, rel) is unique."""
    made = [effect.after for effect in effects if isinstance(effect, LinkChange) and effect.after]
    there = {edge_of(item) for item in tx.links([link.src for link in made])} if made else set()
    known = [link for link in made if edge_of(link) in there]
    return [effect for effect in effects if not isinstance(effect, LinkChange) or effect.after not in known]
