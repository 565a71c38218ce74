"""The storage port: what a backend must do, and nothing about what a memory means.

Sixteen methods, no policy words; what a backend may do beside them has protocols of its own. A backend
proposes candidates and applies effects; the core recomputes every cosine and makes every decision, so that
two backends can never differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

from wellkept.types import Census, Conflict, Effect, Filter, Header, JournalEntry, Link, Memory, Neighbours, Status
from wellkept.types.jobs import Cadence, QueuedJob, QueueState
from wellkept.types.words import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wellkept.types import Vector

_T = TypeVar("_T")

Usage: TypeAlias = tuple[int, datetime, float | None]
"""Access count, last access, stability."""


class Tx(Protocol):
    """One transaction in one namespace: a consistent view, and in a writing one the only writer.

    Attributes:
        namespace: The namespace all methods are bound to; nothing outside it is ever seen.
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

        Terms come from `core.text.forms.search_terms`; they are text, never an expression.
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

    def touch(self, usage: Mapping[str, Usage]) -> None:
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
        """Open a transaction; a writing one excludes all other writers from its first moment.

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

    def count_use(self, namespace: str, usage: Mapping[str, Usage]) -> None:
        """As `Tx.touch`, but now or later, and without waiting; what is read again meanwhile counts once more."""
        ...


@dataclass(frozen=True, slots=True)
class Sampled:
    """What an approximate index finds, measured when it was built.

    Attributes:
        vectors: How many vectors it holds.
        size: Bytes on disk.
        samples: How many stored vectors were looked up, the ten nearest of each.
        recall: Share of the truly nearest that were among the found, 0 to 1.
    """

    vectors: int
    size: int
    samples: int
    recall: float


@runtime_checkable
class Approximating(Protocol):
    """What a backend may do beside `Storage`, where a namespace can be too large to be held in memory."""

    def approximate(self, namespace: str) -> Sampled:
        """Search this namespace by an index of its own from now on, made beside those who write; it may miss a row."""
        ...

    def exact(self, namespace: str) -> None:
        """Search it exactly again, as every namespace is unless somebody asked for an index."""
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


class Insist(Protocol):
    """Runs something again while it fails for a passing reason; gives up after a while."""

    def __call__(self, act: Callable[[], _T], *, kept: Callable[[], int] = ...) -> _T:
        """What `act` gives; `kept` counts what no second run could take back."""
        ...


@runtime_checkable
class Recovering(Protocol):
    """What a backend may do beside `Storage`, where a connection can end between two words of a transaction.

    Where a transaction certainly left nothing behind and may succeed a moment later, the error is `transient`.
    When nobody knows whether a commit arrived, the backend finds out before `begin` ends: it asks again and
    again by `insist`, which the engine gives it, since whoever waits needs a clock.

    Attributes:
        busy_seconds: How long a caller is willing to wait.
        insist: Asks once when nobody gave another one.
    """

    busy_seconds: float
    insist: Insist

    def commits(self) -> int:
        """How many transactions with an entry this thread has committed so far."""
        ...


class JobQueue(Protocol):
    """What is to be done in the namespaces of a store, shared by any number of workers.

    A worker takes a job under a lease and renews it while it works. When the worker is gone, the lease ends by
    itself and another one takes the job. The queue's own clock decides, never a worker's. No method touches a
    memory: that a job done twice changes nothing the second time is the engine's business.
    Jobs of the store itself (`types.jobs.WHOLE_STORE`) are among those of all namespaces in no method; whoever
    means them names them.
    """

    def look(self, cadences: Sequence[Cadence]) -> int:
        """Make due what has become due, kind by kind in this order; return how many jobs.

        Does nothing while another worker looks. A job that failed for good does not become due.
        """
        ...

    def claim(self, kinds: Sequence[str], *, holder: str, seconds: float, namespace: str = "") -> QueuedJob | None:
        """Take the job of these kinds that has been due longest, one whose lease has ended included.

        Args:
            kinds: Which ones.
            holder: Who takes it.
            seconds: How long the lease holds without being renewed.
            namespace: Only of this one; of any when empty.
        """
        ...

    def renew(self, job: QueuedJob, *, seconds: float, progress: str = "") -> bool:
        """Renew the lease from now on; False when the job is somebody else's by now."""
        ...

    def finish(self, job: QueuedJob, *, seq: int, report: Mapping[str, Json]) -> bool:
        """The pass came to its end and has seen everything up to this entry; False as for `renew`."""
        ...

    def leave(self, job: QueuedJob, *, after: float | None = 0.0, error: str = "", counted: bool = True) -> bool:
        """Give the job up unfinished; False as for `renew`.

        Args:
            job: As it was claimed.
            after: Seconds until it may be taken again; None for never by itself.
            error: Why; empty when nothing was wrong.
            counted: Whether it was an attempt.
        """
        ...

    def put(self, kind: str, namespaces: Sequence[str]) -> None:
        """Make a job due in these namespaces now, whatever its cadence; what waits or runs stays as it is."""
        ...

    def note(self, kind: str, namespace: str) -> None:
        """Keep that a pass of this kind came to its end now; a job that nobody had taken is made, and is idle."""
        ...

    def again(self, *, kinds: Sequence[str] = (), namespace: str = "") -> int:
        """Make due what has failed for good, of these kinds and this namespace (all when empty); how many."""
        ...

    def jobs(
        self,
        *,
        states: Sequence[QueueState] = (),
        kinds: Sequence[str] = (),
        namespace: str = "",
        limit: int | None = None,
    ) -> list[QueuedJob]:
        """Jobs by namespace and kind; of all states, kinds and namespaces when these are empty."""
        ...


@runtime_checkable
class Queueing(Protocol):
    """What a backend may do beside `Storage`, where workers on many machines share one queue of jobs."""

    def queue(self) -> JobQueue:
        """The queue of this store."""
        ...


@runtime_checkable
class Guarded(Protocol):
    """What a backend may do beside `Storage`, where the place itself knows tokens and what each of them opens."""

    @property
    def needs_token(self) -> bool:
        """Whether nothing can be read or written through this object, because it acts for no token."""
        ...

    def under(self, token: str) -> Storage:
        """The same store, in which every transaction is one of the holder of this secret.

        It shares what this object has open, and need not be closed. What the token does not allow is refused
        with `NotPermitted`, by the place where the rows are kept.
        """
        ...


class Ahead(Protocol):
    """Vectors of an embedder that is not in force yet, beside those that are; no search sees them before."""

    def missing(self, namespace: str, hashes: Sequence[str]) -> list[str]:
        """Which of these texts, by hash, have no vector of that embedder yet; in the order given."""
        ...

    def keep(self, namespace: str, vectors: Mapping[str, Vector]) -> int:
        """Keep these by the hash of their text, where a memory still says it; how many. Without a journal entry.

        Raises:
            EmbedderMismatch: One has another number of components.
        """
        ...

    def drop_former(self, namespace: str) -> int:
        """Remove the vectors of all other embedders; how many. For when the store has been moved to this one."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """What a backend may do beside `Storage`, where it can hold vectors of several embedders at once."""

    def ahead(self, *, embedder: str, dim: int) -> Ahead:
        """The vectors of this embedder."""
        ...


class Stale(Exception):
    """An effect's `before` is not what is stored; decide again."""
