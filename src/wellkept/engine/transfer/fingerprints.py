"""What a namespace holds, as counts and one hash: two stores that hold the same have the same.

The hash is made of what is read through the storage port, in an order that every backend keeps, so that a
file, a server and the reference can be compared with each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wellkept.core.records.codec import dumps, entry_head, record_text, to_plain
from wellkept.core.records.vectors import quantise
from wellkept.engine.base.paging import pages
from wellkept.errors import StorageError
from wellkept.storage.port import Moving, Tx
from wellkept.types import ALL_STATUSES, Filter, JournalEntry, Memory, MemoryChange

if TYPE_CHECKING:
    from wellkept.types import Vector

PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Counts and hashes of one namespace at one moment.

    Attributes:
        seq: Number of the newest journal entry.
        vectors: How many of the texts named by rows and journal have a vector of the store's embedder.
        aliases: Hashes that lead to memories.
        digest: Over all rows, links, conflicts, hashes, journal entries and those vectors.
        usage: Over the usage of the rows, which changes by reading and is in no entry.
    """

    seq: int
    memories: int
    links: int
    conflicts: int
    aliases: int
    vectors: int
    digest: str
    usage: str


def movable(tx: Tx) -> Moving:
    """The transaction as one that can be moved.

    Raises:
        StorageError: The backend cannot do that.
    """
    if isinstance(tx, Moving):
        return tx
    raise StorageError("this backend cannot be moved", where=type(tx).__name__, todo="Export and import instead")


def fingerprint(tx: Tx, *, page: int = PAGE) -> Fingerprint:
    """The fingerprint of what a transaction sees; reads everything, `page` rows at a time.

    Args:
        tx: A transaction of a backend that can be moved.
        page: How many rows or entries are held at once.

    Raises:
        StorageError: The backend cannot be moved, or cannot be read.
    """
    content, usage = hashlib.sha256(), hashlib.sha256()
    seen: set[str] = set()
    memories = vectors = links = conflicts = aliases = 0
    for rows in pages_of_rows(tx, page):
        memories += len(rows)
        known = _unseen(tx, (row.embedding for row in rows), seen)
        vectors += len(known)
        for row in rows:
            content.update(record_text(row).encode() + _taken(known, {row.embedding}))
            usage.update(dumps([row.id, row.access_count, to_plain(row.last_accessed_at), row.stability]).encode())
    for entries in pages_of_journal(tx, page):
        known = _unseen(tx, hashes_of(entries), seen)
        vectors += len(known)
        for entry in entries:
            content.update(_said(entry) + _taken(known, hashes_of([entry])))
    for link in tx.links():
        links += 1
        content.update(dumps(["link", link]).encode())
    for conflict in tx.conflicts():
        conflicts += 1
        content.update(dumps(["conflict", conflict]).encode())
    for pair in pairs_of(tx):
        aliases += 1
        content.update(dumps(["alias", *pair]).encode())
    return Fingerprint(
        seq=tx.seq,
        memories=memories,
        links=links,
        conflicts=conflicts,
        aliases=aliases,
        vectors=vectors,
        digest=content.hexdigest()[:32],
        usage=usage.hexdigest()[:16],
    )


def pages_of_rows(tx: Tx, page: int = PAGE) -> Iterator[list[Memory]]:
    """All rows of any status in the order of their age, so many at a time."""
    return pages(tx, Filter(statuses=ALL_STATUSES), size=page)


def pages_of_journal(tx: Tx, page: int = PAGE, *, after: int = 0) -> Iterator[list[JournalEntry]]:
    """All entries behind a number, so many at a time."""
    for start in range(after + 1, tx.seq + 1, page):
        numbers = range(start, min(start + page, tx.seq + 1))
        # Asked by numbers, a store also tells who took these entries back.
        yield [entry for entry in tx.journal(seqs=numbers) if entry.seq in numbers]


def pairs_of(tx: Tx, page: int = 10 * PAGE) -> Iterator[tuple[str, str]]:
    """All pairs of a hash and a memory, in their order."""
    moving, last = movable(tx), ("", "")
    while pairs := moving.aliases(after=last, limit=page):
        for digest, memory_id in pairs:
            last = (digest, memory_id)
            yield last


def hashes_of(entries: Iterable[JournalEntry]) -> set[str]:
    """Hashes of all texts that entries tell of, former ones and refused ones too: an undo needs their vectors."""
    found: set[str] = set()
    for entry in entries:
        for effect in entry.effects:
            if isinstance(effect, MemoryChange):
                found.update(end.embedding for end in (effect.before, effect.after) if end is not None)
        if entry.dropped is not None:
            found.add(entry.dropped.embedding)
    return found - {""}


def _said(entry: JournalEntry) -> bytes:
    """The entry, without what backends tell otherwise: of an erased memory they know which one, not which version."""
    effects = [
        to_plain(effect)
        if not isinstance(effect, MemoryChange) or effect.after is None or effect.after.status != "erased"
        else {"erased": effect.after.id, "before": to_plain(effect.before)}
        for effect in entry.effects
    ]
    return dumps([entry.seq, entry_head(entry), effects]).encode()


def _unseen(tx: Tx, hashes: Iterable[str], seen: set[str]) -> dict[str, Vector]:
    """Vectors that were not met before, by hash."""
    fresh = sorted({one for one in hashes if one} - seen)
    seen.update(fresh)
    return tx.vectors(fresh) if fresh else {}


def _taken(known: dict[str, Vector], hashes: Iterable[str]) -> bytes:
    """The stored form of those vectors, each taken once: the hash must not depend on how much is read at once."""
    found = [(digest, known.pop(digest)) for digest in sorted(hashes) if digest in known]
    return b"".join(digest.encode() + quantise(vector) for digest, vector in found)
