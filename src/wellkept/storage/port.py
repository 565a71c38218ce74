"""The storage port: the protocols that backends implement.

`Tx` and `Storage` are mandatory; further protocols are optional. A backend proposes candidates and applies effects.
The core recomputes every cosine and makes every decision, so that all backends give the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

from wellkept.frozen import frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellkept.types import (
        Census,
        Conflict,
        Effect,
        Filter,
        Header,
        JournalEntry,
        Link,
        Memory,
        Neighbours,
        Status,
        Vector,
    )
    from wellkept.types.jobs import Cadence, QueuedJob, QueueState
    from wellkept.types.words import Json

_T = TypeVar("_T")

Usage: TypeAlias = tuple[int, datetime, float | None]
"""Access count, last access, stability."""


class Tx(Protocol):
    """One transaction in one namespace: a consistent snapshot; a writing transaction is the only writer.

    Attributes:
        namespace: The namespace of all methods; they see no other namespace.
        seq: Sequence number of the newest journal entry in this view.
    """

    namespace: str
    seq: int

    def find(self, where: Filter, *, limit: int | None = None) -> list[Memory]:
        """Matching memories, ordered by (created_at, id), or in the order of `ids` if given.

        If more than `limit` match: the first ones, or the last ones with `where.before`.
        """

    def nearest(
        self, queries: NDArray[np.float32], *, limit: int, kinds: Sequence[str] = (), statuses: Sequence[Status]
    ) -> list[Neighbours]:
        """For each query row the `limit` most similar memories by cosine over all rows of the scope.

        Order of ties and rounding may differ by backend; the core recomputes the cosine from the vectors returned.
        Rows without a vector of the store's embedder are never proposed.
        """

    def match(self, terms: Sequence[str], *, limit: int, kinds: Sequence[str] = ()) -> list[str]:
        """Ids of active memories that contain any of the terms, best first by the backend's own ranking.

        Terms come from `core.text.forms.search_terms`; they are literal text, not a query expression.
        """

    def links(self, ids: Iterable[str] | None = None) -> list[Link]:
        """Links from or to any of the ids (None: all of the namespace), ordered by (src, dst, rel)."""

    def conflicts(self, *, ids: Iterable[str] | None = None, keys: Iterable[str] | None = None) -> list[Conflict]:
        """Conflicts of any of the memories, or with any of the keys (None: all), ordered by (created_at, key)."""

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
        """Entries by ascending `seq`, filtered by number, touched memory, idempotency key or run.

        `newest` limits the result to that many of the highest numbers. `seqs` also selects entries whose `undoes` is
        one of them.
        """

    def vectors(self, hashes: Iterable[str]) -> dict[str, Vector]:
        """Stored vectors of the store's embedder, by hash of the embedded text; missing ones are left out."""

    def asking(self) -> str:
        """What the namespace remembers of its questions, as last noted; empty at first."""

    def note_asking(self, text: str) -> None:
        """Replace what `asking` returns, with this transaction; no journal entry. The text is not interpreted."""

    def apply(self, entry: JournalEntry, *, vectors: Mapping[str, Vector] | None = None) -> int:
        """Apply the entry's effects, store the vectors, append the entry; return its sequence number.

        Each effect's `before` must equal the stored state; otherwise `Stale` is raised and the transaction must be
        rolled back. Vectors are stored by text hash for the store's embedder.
        """

    def census(self) -> Census:
        """Counts of this namespace."""

    def outcomes_by_day(self) -> dict[tuple[str, str], int]:
        """Number of journal entries by day, such as `2026-03-01` in UTC, and outcome."""

    def entries_with(self, outcome: str) -> list[int]:
        """Numbers of the journal entries with an outcome, ascending."""

    def touch(self, usage: Mapping[str, Usage]) -> None:
        """Set access count, last access and stability by memory id; no version, no journal entry."""

    def erase(self, ids: Sequence[str], entry: JournalEntry) -> int:
        """Erase the content of these memories irreversibly and append the entry; return its number.

        Removed are text, title, summary, subject and all other content, vectors, full-text terms, aliases, links,
        conflicts, and all copies of them in journal entries. A row with id, namespace, kind, times and the status
        `erased` remains.
        """


class Storage(Protocol):
    """A store of memories."""

    def header(self) -> Header:
        """Properties of the store, such as its id and embedder."""

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """Write embedder and policy into the header.

        After a change of the embedder, the vectors of the former one are unused. They are removed when vectors of the
        new one are stored for the same hashes.
        """

    def begin(self, namespace: str, *, write: bool) -> AbstractContextManager[Tx]:
        """Open a transaction; a writing one excludes all other writers from its start.

        The end of the block commits; an exception rolls back.
        """

    def verify(self) -> list[str]:
        """Messages about damage and inconsistencies of the storage; empty when there are none."""

    def close(self) -> None:
        """Release everything; safe to call twice."""


@runtime_checkable
class Describing(Protocol):
    """Optional protocol of a backend with very many namespaces, or in several databases of which some may be away."""

    def header_for(self, namespace: str) -> Header:
        """As `header`, for work in one namespace, or with the queue if the name is empty; names no namespaces."""


@runtime_checkable
class Placing(Protocol):
    """Optional protocol of a storage over several databases; its errors name the one that failed."""

    def database_of(self, namespace: str) -> str:
        """The name of the database in which a namespace lives, by the table of places."""


@runtime_checkable
class Mending(Protocol):
    """Optional protocol of a backend that stores data derived from its records."""

    def mend(self, *, dry_run: bool) -> list[str]:
        """Rebuild data derived from the records, such as the full-text index; no decision is changed.

        Returns the problems that were (in a dry run: would be) repaired, with the messages of `verify`.
        """

    def strayed(self, namespace: str) -> list[str]:
        """Ids of memories whose row differs from the journal's last entry about them."""


@runtime_checkable
class Binding(Protocol):
    """Optional protocol of a backend whose store another process can move to another embedder."""

    def bind(self, embedder: str) -> None:
        """Bind this object to the embedder of its process.

        While the store uses another one, `nearest` and `vectors` return nothing, and `apply` refuses vectors, so that
        vectors of two embedders are never mixed.
        """


@runtime_checkable
class Counting(Protocol):
    """Optional protocol of a backend where a writing transaction may have to wait for another writer."""

    def count_use(self, namespace: str, usage: Mapping[str, Usage]) -> None:
        """As `Tx.touch`, but now or later, and without waiting; what is read again meanwhile counts once more."""


@frozen
class Sampled:
    """Quality of an approximate index, measured when it was built.

    Attributes:
        vectors: Number of vectors in it.
        size: Bytes on disk.
        samples: Number of stored vectors used as queries, each for its ten nearest.
        recall: Share of the exact nearest neighbours that the index found, 0 to 1.
    """

    vectors: int
    size: int
    samples: int
    recall: float


@runtime_checkable
class Approximating(Protocol):
    """Optional protocol of a backend where a namespace can be too large for an index in memory."""

    def approximate(self, namespace: str) -> Sampled:
        """Search this namespace by its own approximate index from now on, which may miss rows; writers are not
        blocked while it is built."""

    def exact(self, namespace: str) -> None:
        """Search this namespace exactly again, which is the default."""


@frozen(kw_only=True)
class Closed:
    """To whom a namespace is closed because of a move.

    Attributes:
        moving: Name of the database to which it is being moved; writers are refused. Empty without a move.
        moved: Name of the database in which it lives; everybody is refused. Empty if it is here.
    """

    moving: str = ""
    moved: str = ""


OPEN = Closed()
"""Closed to nobody."""


class Mover(Protocol):
    """The only mover of a namespace in one database; only a mover changes to whom the namespace is closed."""

    def close_for(self, closed: Closed, *, was: Closed) -> None:
        """Close or open the namespace, also before it exists; waits for a writer.

        Afterwards `begin` raises a transient `Busy` for writers while it is being moved, and `Elsewhere` for everybody
        once it was moved.

        Args:
            closed: To whom it is closed from now on.
            was: To whom it is closed so far.

        Raises:
            Busy: It is closed to others by now, or this is no longer the only mover; nothing was changed.
        """


@runtime_checkable
class Closing(Protocol):
    """Optional protocol of a backend whose namespaces can be moved to another database while others use them."""

    def closed(self, namespace: str) -> Closed:
        """To whom the namespace is closed; to nobody if it does not exist."""

    def alone(self, namespace: str) -> AbstractContextManager[Mover]:
        """Be the only mover of the namespace in this database, until the end of the block or of the process.

        Raises:
            Busy: There is another one; tells which.
        """

    def for_moving(self, closed: Closed = OPEN) -> Storage:
        """The same store for a mover; it shares connections and need not be closed.

        It reads a namespace whoever that is closed to. A writing transaction raises `Busy` unless it is closed exactly
        as given, so that a mover writes nothing where another one has gone on.
        """


@runtime_checkable
class Moving(Protocol):
    """Methods of a transaction beside `Tx`, with which a namespace is moved to another store.

    All other data is read by `find`, `links`, `conflicts`, `journal` and `vectors`.
    """

    def aliases(self, *, after: tuple[str, str] = ("", ""), limit: int | None = None) -> list[tuple[str, str]]:
        """Pairs of alias hash and memory id after the pair `after`, in code point order.

        The order is the same in every backend, whatever the server's collation, because two stores are compared pair
        by pair.
        """

    def restore(
        self,
        entries: Iterable[JournalEntry],
        *,
        loose: Iterable[Effect] = (),
        vectors: Mapping[str, Vector] | None = None,
        afresh: bool = False,
    ) -> int:
        """Copy data of another store unchanged; return the namespace's resulting newest number.

        Nothing is decided, and no `before` is compared with the stored state. The `after` state of each effect replaces
        the stored one; where it is empty, the stored one is removed. In this order:

        1. `afresh`: the namespace is emptied, including vectors and journal, and `seq` is 0.
        2. `vectors` are stored by hash, as by `apply`, in the same stored form as in the other store.
        3. The effects of each entry are applied in order, and the entry is appended unchanged: with its own number,
           time and key, and with all its effects, including those without a change here.
        4. `loose` effects are applied the same way, without an entry.

        A memory gets the usage fields of its effect. A new memory is last in the insertion order of `match`; an
        existing one keeps its place. Full text, vectors and the change feed for other processes are updated as by
        `apply`.
        All of this is one transaction.

        Raises:
            Stale: An entry's number is not the next one, or its idempotency key is taken; roll back.
            InvalidField: A memory belongs to another namespace.
            EmbedderMismatch: A vector is not of the store's embedder.
            ReadOnly: The transaction only reads.
        """


class Insist(Protocol):
    """Retries a function on transient errors for a limited time."""

    def __call__(self, act: Callable[[], _T], *, kept: Callable[[], int] = ...) -> _T:
        """The result of `act`; `kept` counts commits, because a retry could not undo them."""


@runtime_checkable
class Recovering(Protocol):
    """Optional protocol of a backend whose connection can break within a transaction.

    If a transaction certainly changed nothing and may succeed later, the error is `transient`. If the result of a
    commit is unknown, the backend queries it before `begin` ends. It repeats the query with `insist`, which the engine
    sets, because retries need a clock.

    Attributes:
        busy_seconds: Maximum wait of a caller, in seconds.
        insist: The retry function; by default a single attempt.
    """

    busy_seconds: float
    insist: Insist

    def commits(self) -> int:
        """Number of transactions with a journal entry that this thread has committed."""


class JobQueue(Protocol):
    """Upkeep jobs of the namespaces of a store, shared by any number of workers.

    A worker takes a job under a lease and renews it while it works. If the worker dies, the lease expires and another
    worker takes the job. The queue's clock decides, not the worker's. No method changes a memory; the engine makes jobs
    idempotent.
    Jobs of the store itself (`types.jobs.WHOLE_STORE`) must be named; "all namespaces" does not include them.
    """

    def look(self, cadences: Sequence[Cadence]) -> int:
        """Mark jobs as due by their cadence, kind by kind in this order; return their number.

        Does nothing while another worker runs it. A job that failed permanently does not become due.
        """

    def claim(self, kinds: Sequence[str], *, holder: str, seconds: float, namespace: str = "") -> QueuedJob | None:
        """Take the job of these kinds that has been due longest, including jobs with an expired lease.

        Args:
            kinds: The kinds of jobs.
            holder: Name of the worker.
            seconds: Duration of the lease without renewal.
            namespace: Only jobs of this namespace; empty for any.
        """

    def renew(self, job: QueuedJob, *, seconds: float, progress: str = "") -> bool:
        """Renew the lease from now on; False when another worker has the job."""

    def finish(self, job: QueuedJob, *, seq: int, report: Mapping[str, Json]) -> bool:
        """Mark the pass as complete up to the journal entry `seq`; False as for `renew`."""

    def leave(self, job: QueuedJob, *, after: float | None = 0.0, error: str = "", counted: bool = True) -> bool:
        """Release the job unfinished; False as for `renew`.

        Args:
            job: The claimed job.
            after: Seconds until it may be taken again; None if it must be requested.
            error: The error message; empty without an error.
            counted: Whether it counts as an attempt.
        """

    def put(self, kind: str, namespaces: Sequence[str]) -> None:
        """Make a job due in these namespaces now, whatever its cadence; due and running jobs stay unchanged."""

    def note(self, kind: str, namespace: str) -> None:
        """Record that a pass of this kind ended now; a missing job is created as idle."""

    def again(self, *, kinds: Sequence[str] = (), namespace: str = "") -> int:
        """Make permanently failed jobs due, of these kinds and this namespace (empty: all); returns their number."""

    def jobs(
        self,
        *,
        states: Sequence[QueueState] = (),
        kinds: Sequence[str] = (),
        namespace: str = "",
        limit: int | None = None,
    ) -> list[QueuedJob]:
        """Jobs ordered by namespace and kind; an empty filter means all states, kinds or namespaces."""


@runtime_checkable
class Queueing(Protocol):
    """Optional protocol of a backend with a job queue for workers on many machines."""

    def queue(self) -> JobQueue:
        """The queue of this store."""


@runtime_checkable
class Guarded(Protocol):
    """Optional protocol of a backend whose database itself checks tokens."""

    @property
    def needs_token(self) -> bool:
        """Whether this object cannot read or write, because it has no token."""

    def under(self, token: str) -> Storage:
        """The same store with every transaction under the token of this secret.

        It shares this object's connections and need not be closed. The database refuses what the token does not allow,
        with `NotPermitted`.
        """


class Ahead(Protocol):
    """Vectors of a future embedder, stored beside the current ones; searches do not use them yet."""

    def missing(self, namespace: str, hashes: Sequence[str]) -> list[str]:
        """The hashes of texts without a vector of that embedder, in the given order."""

    def keep(self, namespace: str, vectors: Mapping[str, Vector]) -> int:
        """Store vectors by text hash if a memory still has that text; returns their number. Not journaled.

        Raises:
            EmbedderMismatch: A vector has another dimension.
        """

    def drop_former(self, namespace: str) -> int:
        """Remove the vectors of all other embedders after the store was moved to this one; returns their number."""


@runtime_checkable
class Foreseeing(Protocol):
    """Optional protocol of a backend that can store vectors of several embedders."""

    def ahead(self, *, embedder: str, dim: int) -> Ahead:
        """The prepared vectors of this embedder."""


class Stale(Exception):
    """An effect's `before` differs from the stored state; the decision must be repeated."""
