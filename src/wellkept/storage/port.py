"""The storage port: what a backend must do, and nothing about what a memory means.

Sixteen methods, no policy words; what a backend may do beside them has protocols of its own. A backend
proposes candidates and applies effects; the core recomputes every cosine and makes every decision, so that
two backends can never differ (I9).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from wellkept.types import Census, Conflict, Effect, Filter, Header, JournalEntry, Link, Memory, Neighbours, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellkept.types import Vector


class Tx(Protocol):
    """One transaction in one namespace: a consistent view, and in a writing one the only writer.

    Attributes:
        namespace: The namespace all methods are bound to; nothing outside it is ever seen (I8).
        seq: Sequence number of the newest journal entry in this view.
    """

    namespace: str
    seq: int

    def find(self, where: Filter, *, limit: int | None = None) -> list[Memory]:
        """Memories that fit, ordered by (created_at, id); for `ids` in the order of the ids.

        Of more than `limit` the first ones, or with `where.before` the last ones.
        """
        ...

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """For each query row the `limit` most similar memories by cosine over all rows of the scope.

        Ties and rounding are the backend's; the core recomputes the cosine from the vectors given.
        Rows without a vector of the store's embedder are never proposed.
        """
        ...

    def match(self, terms: Sequence[str], *, limit: int, kinds: Sequence[str] = ()) -> list[str]:
        """Ids of active memories that hold any of the terms, best first by the backend's own measure.

        Terms come from `core.text.search_terms`; they are text, never an expression.
        """
        ...

    def links(self, ids: Iterable[str] | None = None) -> list[Link]:
        """Links from or to any of the ids (all of the namespace for None), ordered by (src, dst, rel)."""
        ...

    def conflicts(self, *, ids: Iterable[str] | None = None, keys: Iterable[str] | None = None) -> list[Conflict]:
        """Conflicts of any of the memories, or with any of the keys; all for None. Ordered by (created_at, key)."""
        ...

    def journal(
        self,
        *,
        memory_ids: Iterable[str] | None = None,
        after: int = 0,
        seqs: Iterable[int] | None = None,
        key: str = "",
        run_id: str = "",
        newest: int | None = None,
    ) -> list[JournalEntry]:
        """Entries by ascending `seq`: all after `after`, those that touched a memory, of a key or of a run.

        `newest` keeps only that many of the highest numbers. An entry whose `undoes` is one of
        `seqs` is included with them.
        """
        ...

    def vectors(self, hashes: Iterable[str]) -> dict[str, Vector]:
        """Stored vectors by hash of the embedded text, for the store's embedder; absent ones are left out."""
        ...

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """Apply the entry's effects, keep the vectors, append the entry; return its sequence number.

        Each effect's `before` must be what is stored; otherwise `Stale` is raised and the
        transaction must be left. Vectors are kept by text hash for the store's embedder.
        """
        ...

    def census(self) -> Census:
        """Counts of this namespace."""
        ...

    def touch(self, usage: Mapping[str, tuple[int, datetime, float | None]]) -> None:
        """Set access count, last access and stability by memory id; no version, no journal entry."""
        ...

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """Remove the content of these memories for good and append the entry; return its number.

        Gone are text, title, summary, subject and all else that was said, vectors, full text,
        aliases, links, conflicts, and every copy of them in journal entries. What remains is a
        row with id, namespace, kind, times and the status `erased`.
        """
        ...


class Storage(Protocol):
    """A place where memories are kept."""

    def header(self) -> Header:
        """What the store says of itself."""
        ...

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """Write embedder and policy into the header.

        Changing the embedder makes the vectors of the former one unused; they are removed when
        vectors of the new one have been applied for the same hashes.
        """
        ...

    def begin(self, namespace: str, *, write: bool) -> AbstractContextManager[Tx]:
        """Open a transaction; a writing one excludes all other writers from its first moment (I3).

        Leaving the block commits; an exception rolls everything back.
        """
        ...

    def verify(self) -> list[str]:
        """Damage and inconsistencies of the storage itself, in words; empty when sound."""
        ...

    def close(self) -> None:
        """Release everything; safe to call twice."""
        ...


@runtime_checkable
class Mending(Protocol):
    """What a backend may do beside `Storage`, where it keeps copies of what its rows say."""

    def mend(self, *, dry_run: bool) -> list[str]:
        """Make anew what follows from the rows, such as full text; nothing that is a decision.

        Returns the problems that were (in a dry run: would be) mended, in the words of `verify`.
        """
        ...

    def strayed(self, namespace: str) -> list[str]:
        """Ids of memories that are not what the journal's last entry about them left."""
        ...


@runtime_checkable
class Binding(Protocol):
    """What a backend may do beside `Storage`, where other processes can move the store to another embedder."""

    def bind(self, embedder: str) -> None:
        """This object brings vectors of this embedder only.

        While the store is bound to another one, searches propose nothing, `vectors` knows none, and
        `apply` refuses to keep any: vectors of two embedders would be mixed.
        """
        ...


@runtime_checkable
class Counting(Protocol):
    """What a backend may do beside `Storage`, where a writing transaction may have to wait for another writer."""

    def count_use(self, namespace: str, usage: Mapping[str, tuple[int, datetime, float | None]]) -> None:
        """As `Tx.touch`, but now or later, and without waiting; what is read again meanwhile counts once more."""
        ...


@runtime_checkable
class Moving(Protocol):
    """What the transactions of a backend do beside `Tx`, so that a namespace can be moved to another store.

    Everything else that is moved is read by `find`, `links`, `conflicts`, `journal` and `vectors`.
    """

    def aliases(self, *, after: tuple[str, str] = ("", ""), limit: int | None = None) -> list[tuple[str, str]]:
        """Pairs of a hash and the id of a memory it leads to, behind `after`, by code points of hash and id.

        Code points order them in every backend, whatever language the server sorts by: two stores are
        compared pair by pair.
        """
        ...

    def restore(
        self,
        entries: Iterable[JournalEntry],
        *,
        loose: Iterable[Effect] = (),
        vectors: Mapping[str, Vector] | None = None,
        afresh: bool = False,
    ) -> int:
        """Take over what another store holds, to the letter; return the number the namespace then stands at.

        Nothing is decided and no `before` is compared with what is stored: what each effect leaves takes the
        place of whatever is there, and what it leaves nothing of is gone. In this order:

        1. `afresh`: the namespace is emptied for good, vectors and journal too, and `seq` is 0.
        2. `vectors` are kept by hash, as by `apply`; their stored form is the one they were read from.
        3. Of each entry, the effects are put in force in their order, and the entry is appended as it is: with
           its own number, time and key, and with all its effects, also those that changed nothing here.
        4. `loose` effects are put in force the same way, without an entry.

        A memory is stored with the usage its effect gives it. One that was not there counts as stored last,
        one that was keeps its place in the order of `match`. Text, vector and feed of changes (by which other
        processes keep in step) follow as after `apply`. Everything is in the one transaction.

        Raises:
            Stale: An entry's number is not the next one, or its idempotency key is taken; leave the transaction.
            InvalidField: A memory belongs to another namespace.
            EmbedderMismatch: A vector is not of the store's embedder.
            ReadOnly: The transaction only reads.
        """
        ...


class Stale(Exception):
    """An effect's `before` is not what is stored; decide again."""
