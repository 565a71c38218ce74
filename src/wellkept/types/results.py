"""What a caller gets back from writing and operating."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from wellkept.types.comparisons import Conflict, Match, Reason
from wellkept.types.links import Link
from wellkept.types.memories import Memory
from wellkept.types.showing import html_table, line, shown
from wellkept.types.words import Degradation, Outcome

_SENTENCE = 400
"""Characters of a message; conflicts and the model's word stand in it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What became of one write; the same object is returned, journaled, shown and logged.

    Attributes:
        outcome: created, duplicate, evolved, superseded, reused, rejected or queued.
        memory: The memory the caller now has; None when the text was rejected, or waits in the queue.
        links: Links made.
        conflicts: Conflicts found.
        matches: Stored memories that were considered, most similar first.
        reasons: The rules that fired, in order.
        degraded: What could not run.
        message: One sentence for the agent.
        entry: Number of the journal entry, for `undo`; 0 for a check or a replayed call.
        dropped: Id under which a text that was not stored can be brought back by `restore`.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     result = store.remember("Tea is upstairs.", kind="note")
        ...     same = store.remember("tea is upstairs", kind="note")
        >>> same.outcome, same.id == result.id
        ('duplicate', True)
    """

    outcome: Outcome
    memory: Memory | None
    links: tuple[Link, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    matches: tuple[Match, ...] = ()
    reasons: tuple[Reason, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    message: str = ""
    entry: int = 0
    dropped: str = ""

    @property
    def id(self) -> str:
        """The id of the memory that holds the text now; for `get`, `link`, `forget` and the other verbs.

        Of `created` and `superseded` the new memory's, of `duplicate`, `evolved` and `reused` that of the one
        that was there. Empty where there is none: `queued`, and `rejected` (`dropped` brings that text back).
        After `check` a new memory's id does not exist.
        """
        return self.memory.id if self.memory is not None else ""

    def __str__(self) -> str:
        return line(self.message, _SENTENCE) if self.message else f"{self.outcome} {self.id}".rstrip()

    def __repr__(self) -> str:
        conflicts = len(self.conflicts) or None
        said = {"outcome": self.outcome, "id": self.id, "entry": self.entry or None, "conflicts": conflicts}
        more = {"degraded": self.degraded, "dropped": self.dropped, "message": self.message}
        return shown("WriteResult", {**said, **more})

    def _repr_html_(self) -> str:
        said = [("outcome", self.outcome), ("id", self.id), ("message", self.message)]
        said += [("conflict", f"{item.excerpt_a} / {item.excerpt_b}") for item in self.conflicts]
        said += [("degraded", ", ".join(self.degraded)), ("undo", str(self.entry or ""))]
        return html_table((), [(name, line(text, _SENTENCE)) for name, text in said if text])


@dataclass(frozen=True, slots=True)
class ItemError:
    """One item of a batch that could not be written: its place, its beginning, and why."""

    index: int
    excerpt: str
    error: str
    message: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of a batch, item by item in the order given; None where an item failed."""

    results: tuple[WriteResult | None, ...]
    errors: tuple[ItemError, ...]
    counts: Mapping[str, int]

    def __str__(self) -> str:
        counts = [*self.counts.items(), ("failed", len(self.errors))]
        return ", ".join(f"{count} {outcome}" for outcome, count in counts if count) or "nothing to write"

    def __repr__(self) -> str:
        return f"BatchResult({self})"

    def _repr_html_(self) -> str:
        failed = {error.index: error for error in self.errors}
        rows = [
            (str(place), "failed", "", failed[place].message if place in failed else "")
            if result is None
            else (str(place), result.outcome, result.id, line(result.message, _SENTENCE))
            for place, result in enumerate(self.results)
        ]
        return html_table(("", "outcome", "id", "message"), rows)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    Attributes:
        run_id: Stands in every journal entry of the import.
        read: Lines read.
        counts: Outcomes by word; `replayed` counts lines an earlier run of this source had done.
        conflicts: Conflicts opened.
        errors: Lines that were not taken, with their line numbers as `index`; the first 1,000 of them.
        rejects: Path of the file those lines were written to; empty when there are none.
        seconds: Wall time.
        failed: How many lines were not taken.
    """

    run_id: str
    read: int
    counts: Mapping[str, int]
    conflicts: int
    errors: tuple[ItemError, ...]
    rejects: str
    seconds: float
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one namespace."""

    namespace: str
    memories: Mapping[str, int]
    kinds: Mapping[str, int]
    outcomes: Mapping[str, int]
    links: int
    open_conflicts: int
    unchecked: int
    without_vector: int
    journal: int
    embedder: str
    policy: str
    schema: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something `verify` found: where, what, and what mends it."""

    where: str
    what: str
    todo: str


@dataclass(frozen=True, slots=True)
class Census:
    """What a backend can count in one namespace without reading texts.

    Attributes:
        statuses: Memories by status.
        kinds: Active memories by kind.
        outcomes: Journal entries by outcome.
    """

    statuses: Mapping[str, int]
    kinds: Mapping[str, int]
    outcomes: Mapping[str, int]
    links: int
    unchecked: int
    unembedded: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a store says of itself; `namespaces` names all that hold anything, sorted."""

    store_id: str
    schema: int
    embedder: str
    dim: int
    policy: str
    created_at: datetime
    namespaces: tuple[str, ...] = ()
