"""Reading the journal and undoing entries: history and undo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from wellkept.core.gate.may_wait import VERB, WAITS
from wellkept.core.records.effects import invert, touched
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import at_most
from wellkept.engine.base.retry import writing
from wellkept.engine.history import lessons
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.errors import IllegalTransition, NotFound, UndoBlocked
from wellkept.storage.port import Stale, Tx
from wellkept.types import (
    MAY_RESTATE,
    MAY_UPDATE,
    Effect,
    JournalEntry,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    Reason,
    Vector,
    Version,
)

_AT_FIRST, _AT_ONCE = 2, 50
_GUESSES = (MAY_UPDATE, MAY_RESTATE)
"""Relations of links that the gate writes for a possible restatement or update."""
_PLAIN = ("related", *_GUESSES)
"""Relations of links that the gate makes between two memories without changing either."""


def history(ctx: Context, memory_id: str) -> tuple[Version, ...]:
    """Every version of a memory, oldest first, each with the decision that made it."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        entries = tx.journal(memory_ids=(memory_id,))
    if not entries:
        raise NotFound(f"no memory {memory_id!r}", where=ctx.namespace, todo="List the memories to see their ids")
    versions = []
    state: Memory | None = None
    for entry in entries:
        for effect in entry.effects:
            if isinstance(effect, MemoryChange) and memory_id in (_id(effect.before), _id(effect.after)):
                state = effect.after
        versions.append(Version(entry.seq, entry.at, entry.verb, entry.outcome, entry.actor, entry.reasons, state))
    return tuple(versions)


def log(ctx: Context, *, newest: int | None, after: int) -> tuple[JournalEntry, ...]:
    """The journal's entries, oldest first."""
    newest, after = at_most("newest", newest), at_most("after", after) or 0
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        return tuple(tx.journal(after=after, newest=newest))


def walk(ctx: Context, *, newest: int | None, after: int) -> Iterator[JournalEntry]:
    """The entries of `log`, read a few at a time."""
    newest, after = at_most("newest", newest), at_most("after", after) or 0
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        first = after if newest is None else max(after, tx.seq - newest)
        start, size = first + 1, _AT_FIRST  # whoever wants one entry does not wait for fifty
        while start <= tx.seq:
            wanted = range(start, min(start + size, tx.seq + 1))
            yield from (entry for entry in tx.journal(seqs=wanted) if entry.seq in wanted)
            start, size = wanted.stop, min(2 * size, _AT_ONCE)


def undo(ctx: Context, seq: int) -> int:
    """Undo one entry exactly; the undo is itself an entry and can be undone.

    Raises:
        NotFound: No such entry.
        IllegalTransition: It was already undone, or changed nothing, or its content was erased.
        UndoBlocked: Later entries changed the same memories; lists them.
    """
    vectors = Embeddings(ctx.embedder)
    return writing(ctx, lambda tx: _undo(ctx, tx, seq, vectors))


def _undo(ctx: Context, tx: Tx, seq: int, vectors: Embeddings) -> int:
    entry = _entry(tx, _judged_as(tx, seq))
    seq = entry.seq
    if not entry.effects and lessons.behind(tx, entry) is None:
        raise IllegalTransition(
            f"entry {seq} ({entry.outcome}) changed no memory",
            where="undo",
            todo=f"Restore {entry.dropped.id} to store its text" if entry.dropped else "Nothing is to be done",
        )
    for mark in _marks_of(tx, entry):
        tx.apply(taken_back(ctx, mark))
    refuse_if_blocked(tx, entry)
    lessons.refuse_if_blocked(tx, entry)
    taken = taken_back(ctx, entry, guesses=_guesses_about(tx, entry))
    try:
        seq = tx.apply(taken, vectors=lost_vectors(tx, taken.effects, vectors))
        lessons.taken_back(tx, entry)
        return seq
    except Stale as stale:
        raise UndoBlocked(f"entry {seq} no longer fits what is stored: {stale}", entries=(), where="undo") from stale


def _judged_as(tx: Tx, seq: int) -> int:
    """The entry of a write; of one that was judged after its commit, the entry of the judged write."""
    for found in tx.journal(seqs=(seq,)):
        if found.undoes == seq and found.verb == VERB and not is_undone(tx, found.seq):
            return found.seq + 1  # both are of one transaction
    return seq


def _marks_of(tx: Tx, entry: JournalEntry) -> list[JournalEntry]:
    """The entry that marked a write as judged: it is undone with the write, and does not block its undo."""
    if WAITS not in entry.degraded:
        return []
    later = tx.journal(memory_ids=(entry.memory_id,), after=entry.seq)
    marks = [one for one in later if one.verb == VERB and not one.undoes and one.memory_id == entry.memory_id]
    return [one for one in marks if not is_undone(tx, one.seq)]


def taken_back(
    ctx: Context,
    entry: JournalEntry,
    *,
    run_id: str = "",
    reasons: tuple[Reason, ...] = (),
    guesses: Iterable[Effect] = (),
) -> JournalEntry:
    """The entry that takes another one back, and guesses about its texts with it."""
    back = (*guesses, *(invert(effect) for effect in reversed(entry.effects)))
    return replace(
        ctx.entry("undo", "undone"),
        memory_id=entry.memory_id,
        memory_ids=touched(back),
        reasons=reasons,
        effects=back,
        undoes=entry.seq,
        run_id=run_id,
    )


def _guesses_about(tx: Tx, entry: JournalEntry) -> tuple[LinkChange, ...]:
    """The removal of links by which later texts were guessed to be about a text that the undo takes away."""
    changes = [effect for effect in entry.effects if isinstance(effect, MemoryChange) and effect.after is not None]
    ids = [_id(one.after) for one in changes if _text(one.before) != _text(one.after)]
    own = {edge_of(one.after) for one in entry.effects if isinstance(one, LinkChange) and one.after is not None}
    links = tx.links(ids) if ids else []
    return tuple(LinkChange(one, None) for one in links if one.rel in _GUESSES and edge_of(one) not in own)


def lost_vectors(tx: Tx, back: Iterable[Effect], vectors: Embeddings) -> dict[str, Vector]:
    """Vectors of restored texts that are no longer stored, because another memory with the same text was erased
    or the embedder has changed. After an outage they stay missing, and `verify` reports it.

    Raises:
        UnansweredError: They must be computed first, outside the transaction.
    """
    ends = [effect.after for effect in back if isinstance(effect, MemoryChange) and effect.after is not None]
    wanted = {memory.embedding: text_of(memory) for memory in ends if memory.embedding}
    kept = tx.vectors(wanted)
    made: dict[str, Vector] = {}
    for key, text in wanted.items():
        embedded = vectors.get(text) if key not in kept and key == vector_key(text) else None
        if embedded is not None and embedded.vector is not None:
            made[key] = embedded.vector
    return made


def _entry(tx: Tx, seq: int) -> JournalEntry:
    entry: JournalEntry | None = None
    undone_by = 0
    for found in tx.journal(seqs=(seq,)):
        if found.seq == seq:
            entry = found
        elif found.undoes == seq and not is_undone(tx, found.seq):
            undone_by = found.seq
    if entry is None:
        raise NotFound(f"no journal entry {seq}", where=tx.namespace, todo="Show the journal to see the numbers")
    if undone_by:
        raise IllegalTransition(
            f"entry {seq} was taken back by entry {undone_by}", where="undo", todo=f"Undo entry {undone_by} to redo it"
        )
    return entry


def is_undone(tx: Tx, seq: int) -> bool:
    """Whether an entry is undone, taking undos of undos into account."""
    return any(found.undoes == seq and not is_undone(tx, found.seq) for found in tx.journal(seqs=(seq,)))


def refuse_if_blocked(tx: Tx, entry: JournalEntry) -> None:
    """Raise when later entries touched the same memories, unless those entries cancel each other out."""
    ids = touched(entry.effects)
    later = [found for found in tx.journal(memory_ids=ids, after=entry.seq) if found.seq > entry.seq and found.effects]
    undone: set[int] = set()
    for found in sorted(later, key=lambda item: -item.seq):
        # Only with a later entry: the undo of an older entry blocks.
        if found.undoes > entry.seq and found.seq not in undone:
            undone |= {found.undoes, found.seq}
    if any(found.verb == "erase" for found in tx.journal(memory_ids=ids, after=entry.seq)):
        raise IllegalTransition(f"entry {entry.seq} touches a memory that was erased", where="undo")
    stakes, links = _stakes(entry.effects)
    ends = _ends_of_removed_links(entry.effects)
    standing = [
        found
        for found in later
        if found.seq not in undone and (_is_in_the_way(found, stakes, links) or not ends.isdisjoint(_removed(found)))
    ]
    if standing:
        names = ", ".join(f"{found.seq} ({found.verb}: {found.outcome})" for found in reversed(standing))
        raise UndoBlocked(
            f"later entries changed the same memories: {names}",
            entries=[found.seq for found in reversed(standing)],
            where=f"entry {entry.seq}",
            todo="Undo those first, newest first",
        )


def _stakes(effects: Iterable[Effect]) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """Memories that a later entry must not have touched, and links that it must not have made or removed.

    A plain link changes neither of its memories: two texts linked to one memory can be undone separately,
    whatever was done to that memory in the meantime.
    """
    ids: set[str] = set()
    links: set[tuple[str, str]] = set()
    for effect in effects:
        link = effect.before or effect.after if isinstance(effect, LinkChange) else None
        if link is not None and link.rel in _PLAIN:
            links.add((link.src, link.dst))
        else:
            ids.update(touched((effect,)))
    return frozenset(ids), frozenset(links)


def _ends_of_removed_links(effects: Iterable[Effect]) -> frozenset[str]:
    """Memories that must exist when the entry is undone, because the undo restores a link to them."""
    links = (effect.before for effect in effects if isinstance(effect, LinkChange) and effect.before is not None)
    return frozenset(end for link in links for end in (link.src, link.dst))


def _removed(entry: JournalEntry) -> frozenset[str]:
    """Memories that no longer exist after the entry."""
    changes = (effect for effect in entry.effects if isinstance(effect, MemoryChange) and effect.after is None)
    return frozenset(_id(change.before) for change in changes)


def _is_in_the_way(later: JournalEntry, ids: frozenset[str], links: frozenset[tuple[str, str]]) -> bool:
    # A guess that a later entry made goes with the text that it is about.
    lasting = (one for one in later.effects if not _makes_guess(one))
    return not ids.isdisjoint(touched(lasting)) or not links.isdisjoint(_stakes(later.effects)[1])


def _makes_guess(effect: Effect) -> bool:
    made = effect.after if isinstance(effect, LinkChange) and effect.before is None else None
    return made is not None and made.rel in _GUESSES


def edge_of(link: Link) -> tuple[str, str, str]:
    """Both ends and the relation of a link, by which it is the same."""
    return link.src, link.dst, link.rel


def _id(memory: Memory | None) -> str:
    return memory.id if memory is not None else ""


def _text(memory: Memory | None) -> str:
    return memory.content if memory is not None else ""
