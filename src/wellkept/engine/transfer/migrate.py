"""Migration of a store to another backend with its journal: entry by entry, resumable, verified at the end.

The target is written in the order of the source's journal, a block of entries per transaction. So it always equals
an earlier state of the source, and its own sequence number shows how far the copy is: after a kill, or when the
source has changed, the next run copies only the missing entries. Data without journal entries (usage, some repairs,
the state of questions) is copied afterwards; then both stores are read completely, and counts, sequence and a hash over
everything must be equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias, TypeVar

from wellkept.core.records.codec import dumps
from wellkept.core.records.effects import same_record
from wellkept.engine.transfer.fingerprints import (
    PAGE,
    Fingerprint,
    fingerprint,
    hashes_of,
    movable,
    pages_of_journal,
    pages_of_rows,
    pairs_of,
)
from wellkept.errors import Busy, Corrupt, EmbedderMismatch, NotFound, StorageError
from wellkept.frozen import frozen
from wellkept.storage.port import Mending, Stale, Storage, Tx
from wellkept.types import (
    ALL_STATUSES,
    AliasChange,
    Conflict,
    ConflictChange,
    Effect,
    Filter,
    Header,
    JournalEntry,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
)

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the namespace, the current entry number and the total."""
State: TypeAlias = Literal[
    "copied", "continued", "copied anew", "already there", "would be copied", "would be continued"
]

_LAST = 50
_SHOWN = 5
_NEVER = datetime.min.replace(tzinfo=UTC)
T = TypeVar("T")


@frozen(kw_only=True)
class Moved:
    """The result for one namespace.

    Attributes:
        entries: Number of journal entries copied by this run (in a dry run: to be copied).
        held: Fingerprint of the source; after a copy, also of the target.
    """

    namespace: str
    state: State
    entries: int
    held: Fingerprint


@frozen(kw_only=True)
class MoveReport:
    """The result of a migration.

    Attributes:
        embedder: The embedder of the vectors; the target is bound to it.
        others: Namespaces of the target that were not part of the migration; unchanged.
    """

    dry_run: bool
    embedder: str
    namespaces: tuple[Moved, ...]
    others: tuple[str, ...]
    seconds: float


def migrate(
    source: Storage,
    target: Storage,
    *,
    namespaces: Sequence[str] = (),
    dry_run: bool = False,
    progress: Progress | None = None,
    page: int = PAGE,
) -> MoveReport:
    """Copy namespaces exactly from one store to another; the source is only read.

    Args:
        source: The source; others may keep writing to it.
        target: The target; nobody else should write to these namespaces during the copy.
        namespaces: Only these; the target may then hold other ones. All of the source when empty.
        dry_run: Only report what would be copied.
        progress: Called with the progress.
        page: How many entries one transaction copies.

    Returns:
        The number of entries copied, and the verified fingerprint, of each namespace.

    Raises:
        NotFound: The source has no such namespace.
        Corrupt: The source is damaged, or a copy differs from its source.
        EmbedderMismatch: The target holds vectors of another embedder.
        StorageError: The target holds other data; names it. Nothing was written.
        Busy: Another process writes to the target.

    Example:
        >>> from wellkept.storage.memory import DictStorage
        >>> migrate(DictStorage(), DictStorage()).namespaces
        ()
    """
    started = time.monotonic()
    here, there = source.header(), target.header()
    names = _chosen(here, namespaces)
    others = tuple(name for name in there.namespaces if name not in names)
    check_sound(source, names)
    check_target(here, there, others=() if namespaces else others)
    if strange := [told for name in names if (told := foreign(source, target, name))]:
        raise occupied(strange)
    if not dry_run and here.embedder and not there.namespaces:
        target.configure(embedder=here.embedder, dim=here.dim, policy=here.policy)
    moved = []
    for name in names:
        if not dry_run:
            moved.append(copy_namespace(source, target, name, page=page, progress=progress))
            continue
        with source.begin(name, write=False) as tx:
            moved.append(_Copy(tx, target, page=page, progress=_untold).foreseen())
    seconds = round(time.monotonic() - started, 3)
    return MoveReport(dry_run=dry_run, embedder=here.embedder, namespaces=tuple(moved), others=others, seconds=seconds)


def copy_namespace(
    source: Storage, target: Storage, name: str, *, page: int = PAGE, progress: Progress | None = None
) -> Moved:
    """Copy what the target lacks of one namespace, and compare all of it; arguments and errors are those of `migrate`.

    The target holds an earlier state of the source, or nothing; see `foreign`.
    """
    with source.begin(name, write=False) as tx:  # one snapshot for copy and comparison
        return _Copy(tx, target, page=page, progress=progress or _untold).done()


# --------------------------------------------------------------------------------------------
# Checks before anything is written


def _chosen(here: Header, namespaces: Sequence[str]) -> tuple[str, ...]:
    if not namespaces:
        return here.namespaces
    for name in namespaces:
        if name not in here.namespaces:
            raise NotFound(
                f"the source has no namespace {name!r}", where="migrate", todo="List them: wellkept namespaces"
            )
    return tuple(dict.fromkeys(namespaces))


def check_sound(source: Storage, names: Iterable[str]) -> None:
    """Check the source first: a copy of readable data would hide that the source is damaged."""
    found = list(source.verify())
    if isinstance(source, Mending):
        for name in names:
            found += [f"namespace {name!r}, memory {one}: not as the journal left it" for one in source.strayed(name)]
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise Corrupt(f"the source is not sound: {found[0]}{more}", where="migrate", todo="Run `wellkept repair` on it")


def check_target(here: Header, there: Header, *, others: Sequence[str]) -> None:
    """Check that the target holds none of these other namespaces, and no vectors of another embedder."""
    if others:
        raise occupied([f"namespace {name!r}" for name in others])
    if there.namespaces and (there.embedder, there.dim) != (here.embedder, here.dim):
        raise EmbedderMismatch(
            f"the target holds vectors of {there.embedder!r}, the source of {here.embedder!r}",
            where="migrate",
            todo="Move one of them to the other's embedder first: wellkept reembed",
        )


def foreign(source: Storage, target: Storage, name: str) -> str:
    """Why a namespace of the target cannot be used: its data is not an earlier state of the source."""
    with source.begin(name, write=False) as ours, target.begin(name, write=False) as theirs:
        if not theirs.seq:
            return ""
        if theirs.seq > ours.seq:
            return f"namespace {name!r} at entry {theirs.seq}, where the source is at {ours.seq}"
        numbers = range(max(1, theirs.seq - _LAST + 1), theirs.seq + 1)
        known = {entry.seq: _mark(entry) for entry in ours.journal(seqs=numbers)}
        for entry in theirs.journal(seqs=numbers):
            if known.get(entry.seq) != _mark(entry):
                return f"namespace {name!r}, whose entry {entry.seq} is another one"
    return ""


def _mark(entry: JournalEntry) -> tuple[object, ...]:
    """The parts of an entry that no later entry and no erasure changes."""
    return (entry.at, entry.verb, entry.actor, entry.outcome, entry.memory_id, entry.run_id, entry.undoes, entry.policy)


def occupied(things: Sequence[str]) -> StorageError:
    """The error for a target that holds other data; names at most five of these things."""
    shown = ", ".join(things[:_SHOWN]) + (f" and {len(things) - _SHOWN} more" if len(things) > _SHOWN else "")
    return StorageError(
        f"the target holds other things: {shown}", where="migrate", todo="Name an empty store; nothing was written"
    )


def _untold(namespace: str, at: int, whole: int) -> None:
    """No progress reporting."""


# --------------------------------------------------------------------------------------------
# One namespace


class _Copy:
    """The copy of one namespace, from one snapshot of the source."""

    def __init__(self, source: Tx, target: Storage, *, page: int, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._page = page
        self._progress = progress
        self._name = source.namespace
        movable(source)

    def foreseen(self) -> Moved:
        """The expected result, without copying."""
        held = fingerprint(self._source, page=self._page)
        at = self._stand()
        state: State = "would be copied" if not at else "would be continued" if at < held.seq else "already there"
        return Moved(namespace=self._name, state=state, entries=held.seq - at, held=held)

    def done(self) -> Moved:
        """Copy missing entries, and compare."""
        start = self._stand()
        copied = self._copy(afresh=False)
        changed = self._settle()
        held, got = self._compared()
        state: State = "continued" if start else "copied"
        if start and not _same(held, got):
            # The source has erased copied data, or the target is not a copy of it. Erased data must not
            # remain, not even in earlier entries, so the namespace is emptied and copied again.
            copied, state = self._copy(afresh=True), "copied anew"
            self._settle()
            held, got = self._compared()
        if not _same(held, got):
            raise Corrupt(
                f"the copy of namespace {self._name!r} is not what was copied: {_differing(held, got)}",
                where="migrate",
                todo="Run `wellkept verify` on both stores; the source is as it was",
            )
        if not copied and not changed:
            state = "already there"
        return Moved(namespace=self._name, state=state, entries=copied, held=held)

    def _stand(self) -> int:
        with self._target.begin(self._name, write=False) as tx:
            return tx.seq

    def _copy(self, *, afresh: bool) -> int:
        """Copy the missing entries, block by block; returns their number."""
        at = 0 if afresh else self._stand()
        copied = 0
        for entries in pages_of_journal(self._source, self._page, after=at):
            vectors = self._source.vectors(hashes_of(entries))
            try:
                with self._target.begin(self._name, write=True) as tx:
                    movable(tx).restore(entries, vectors=vectors, afresh=afresh and not copied)
            except Stale as error:
                raise Busy(
                    "somebody else writes in the target", where=f"migrate, namespace {self._name!r}", todo="Start again"
                ) from error
            copied += len(entries)
            self._progress(self._name, entries[-1].seq, self._source.seq)
        return copied

    def _settle(self) -> int:
        """Copy data without journal entries: usage, repairs, the state of questions; returns the number of changes."""
        done = 0
        for rows in pages_of_rows(self._source, self._page):
            done += self._put(self._row_effects(rows), vectors_of=rows)
        with self._target.begin(self._name, write=False) as tx:
            rest = [*self._surplus(tx), *self._pair_effects(tx), *self._link_effects(tx), *self._conflict_effects(tx)]
        for start in range(0, len(rest), self._page):
            done += self._put(rest[start : start + self._page])
        return done + self._note()

    def _note(self) -> int:
        """Copy what the namespace remembers of its questions; returns whether it was another."""
        asking = self._source.asking()
        with self._target.begin(self._name, write=False) as tx:
            if tx.asking() == asking:
                return 0
        with self._target.begin(self._name, write=True) as tx:
            tx.note_asking(asking)
        return 1

    def _put(self, effects: Sequence[Effect], *, vectors_of: Sequence[Memory] = ()) -> int:
        hashes = {row.embedding for row in vectors_of if row.embedding}
        lacking: set[str] = set()
        if hashes:
            with self._target.begin(self._name, write=False) as tx:
                lacking = hashes - tx.vectors(hashes).keys()
        vectors = self._source.vectors(lacking) if lacking else {}
        if effects or vectors:
            with self._target.begin(self._name, write=True) as writing:
                movable(writing).restore((), loose=effects, vectors=vectors)
        return len(effects) + len(vectors)

    def _row_effects(self, rows: Sequence[Memory]) -> list[Effect]:
        with self._target.begin(self._name, write=False) as tx:
            held = {row.id: row for row in tx.find(Filter(ids=tuple(row.id for row in rows), statuses=ALL_STATUSES))}
        effects: list[Effect] = []
        for row in rows:
            there = held.get(row.id)
            if there is None or not same_record(there, row):
                effects.append(MemoryChange(there, row))
            elif _use(row) > _use(there) or (_use(row) == _use(there) and row.stability != there.stability):
                # A target that has been read since has higher counts, and keeps them.
                effects.append(MemoryChange(there, row))
        return effects

    def _surplus(self, tx: Tx) -> Iterator[Effect]:
        """Rows of the target that the source does not have."""
        if sum(tx.census().statuses.values()) == sum(self._source.census().statuses.values()):
            return
        for rows in pages_of_rows(tx, self._page):
            ids = tuple(row.id for row in rows)
            known = {row.id for row in self._source.find(Filter(ids=ids, statuses=ALL_STATUSES))}
            yield from (MemoryChange(row, None) for row in rows if row.id not in known)

    def _pair_effects(self, tx: Tx) -> Iterator[Effect]:
        for present, (digest, memory_id) in _differences(pairs_of(self._source), pairs_of(tx), key=tuple):
            yield AliasChange(memory_id, digest, present)

    def _link_effects(self, tx: Tx) -> Iterator[Effect]:
        for ours, link in _differences(self._source.links(), tx.links(), key=_edge):
            yield LinkChange(None, link) if ours else LinkChange(link, None)

    def _conflict_effects(self, tx: Tx) -> Iterator[Effect]:
        for ours, one in _differences(self._source.conflicts(), tx.conflicts(), key=_flag):
            yield ConflictChange(None, one) if ours else ConflictChange(one, None)

    def _compared(self) -> tuple[Fingerprint, Fingerprint]:
        """The fingerprints of both stores."""
        with self._target.begin(self._name, write=False) as tx:
            return fingerprint(self._source, page=self._page), fingerprint(tx, page=self._page)


def _same(a: Fingerprint, b: Fingerprint) -> bool:
    """Whether everything except usage is equal; the usage of a target in use increases."""
    return replace(a, usage="") == replace(b, usage="")


def _differing(a: Fingerprint, b: Fingerprint) -> str:
    parts = [(name, getattr(a, name), getattr(b, name)) for name in Fingerprint.__dataclass_fields__ if name != "usage"]
    return ", ".join(f"{name} {ours} and {theirs}" for name, ours, theirs in parts if ours != theirs)


def _use(memory: Memory) -> tuple[int, datetime]:
    return (memory.access_count, memory.last_accessed_at or _NEVER)


def _edge(link: Link) -> tuple[str, ...]:
    return (link.src, link.dst, link.rel, dumps(link))


def _flag(conflict: Conflict) -> tuple[str, ...]:
    return (conflict.key, dumps(conflict))


def _differences(
    ours: Iterable[T], theirs: Iterable[T], *, key: Callable[[T], tuple[str, ...]]
) -> list[tuple[bool, T]]:
    """Items only in the target (False), then items only in the source (True): old forms are removed first."""
    here = {key(one): one for one in ours}
    surplus = [(False, one) for one in theirs if here.pop(key(one), None) is None]
    return [*surplus, *((True, one) for one in here.values())]
