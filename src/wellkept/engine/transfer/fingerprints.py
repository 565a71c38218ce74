"""Fingerprint of a namespace: counts and a hash that are equal for equal content.

The hash is computed from data read through the storage port, in an order that all backends share, so that
different backends can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from wellkept.core.records.codec import dumps, entry_head, record_text, to_plain
from wellkept.core.records.vectors import quantise
from wellkept.engine.base.paging import pages
from wellkept.errors import StorageError
from wellkept.frozen import frozen
from wellkept.storage.port import Moving, Tx
from wellkept.types import ALL_STATUSES, Filter, JournalEntry, Memory, MemoryChange

if TYPE_CHECKING:
    from wellkept.types import Vector

PAGE = 500


@frozen(kw_only=True)
class Fingerprint:
    """Counts and hashes of one namespace at one moment.

    Attributes:
        seq: Number of the newest journal entry.
        vectors: Number of texts in rows and journal that have a vector of the store's embedder.
        aliases: Number of hashes that point at memories.
        digest: Hash over all rows, links, conflicts, aliases, journal entries, those vectors, and what is remembered
            of questions.
        usage: Hash over the usage data of the rows, which reads change without a journal entry.
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
    """The transaction, if its backend supports migration.

    Raises:
        StorageError: The backend does not support it.
    """
    if isinstance(tx, Moving):
        return tx
    raise StorageError("this backend cannot be moved", where=type(tx).__name__, todo="Export and import instead")


def fingerprint(tx: Tx, *, page: int = PAGE) -> Fingerprint:
    """The fingerprint of the data in a transaction; reads everything, `page` rows at a time.

    Args:
        tx: A transaction of a backend that supports migration.
        page: Maximum number of rows or entries in memory.

    Raises:
        StorageError: The backend does not support migration, or cannot be read.
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
    asking = tx.asking()
    if asking:
        content.update(dumps(["asking", asking]).encode())
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
    """All rows of any status by age, a page at a time."""
    return pages(tx, Filter(statuses=ALL_STATUSES), size=page)


def pages_of_journal(tx: Tx, page: int = PAGE, *, after: int = 0) -> Iterator[list[JournalEntry]]:
    """All entries after a number, a page at a time."""
    for start in range(after + 1, tx.seq + 1, page):
        numbers = range(start, min(start + page, tx.seq + 1))
        # Asked by number, a store also returns which entries undid these.
        yield [entry for entry in tx.journal(seqs=numbers) if entry.seq in numbers]


def pairs_of(tx: Tx, page: int = 10 * PAGE) -> Iterator[tuple[str, str]]:
    """All pairs of hash and memory, sorted."""
    moving, last = movable(tx), ("", "")
    while pairs := moving.aliases(after=last, limit=page):
        for digest, memory_id in pairs:
            last = (digest, memory_id)
            yield last


def hashes_of(entries: Iterable[JournalEntry]) -> set[str]:
    """Hashes of all texts in entries, including earlier and rejected ones: an undo needs their vectors."""
    found: set[str] = set()
    for entry in entries:
        for effect in entry.effects:
            if isinstance(effect, MemoryChange):
                found.update(end.embedding for end in (effect.before, effect.after) if end is not None)
        if entry.dropped is not None:
            found.add(entry.dropped.embedding)
    return found - {""}


def _said(entry: JournalEntry) -> bytes:
    """The entry in a form equal for all backends: for an erased memory they know its id, not its version."""
    effects = [
        to_plain(effect)
        if not isinstance(effect, MemoryChange) or effect.after is None or effect.after.status != "erased"
        else {"erased": effect.after.id, "before": to_plain(effect.before)}
        for effect in entry.effects
    ]
    return dumps([entry.seq, entry_head(entry), effects]).encode()


def _unseen(tx: Tx, hashes: Iterable[str], seen: set[str]) -> dict[str, Vector]:
    """Vectors not seen before, by hash."""
    fresh = sorted({one for one in hashes if one} - seen)
    seen.update(fresh)
    return tx.vectors(fresh) if fresh else {}


def _taken(known: dict[str, Vector], hashes: Iterable[str]) -> bytes:
    """The stored form of those vectors, each used once, so that the result does not depend on the page size."""
    found = [(digest, known.pop(digest)) for digest in sorted(hashes) if digest in known]
    return b"".join(digest.encode() + quantise(vector) for digest, vector in found)
