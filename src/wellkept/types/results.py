"""Results of writes and of operator commands."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from wellkept.frozen import frozen
from wellkept.types.comparisons import Conflict, Match, Reason
from wellkept.types.links import Link
from wellkept.types.memories import Memory
from wellkept.types.questions import Question
from wellkept.types.showing import html_table, line, shown
from wellkept.types.words import Degradation, Outcome

_SENTENCE = 400
"""Maximum length of a message, including conflicts and the model's result."""


@frozen(kw_only=True)
class WriteResult:
    """The result of one write. The same object is returned, journaled, shown and logged.

    Attributes:
        outcome: created, duplicate, evolved, superseded, reused, rejected or queued.
        memory: The memory that holds the text now; None when the text was rejected or queued.
        links: Links that were made.
        conflicts: Conflicts that were found.
        matches: Stored memories that were compared, most similar first.
        reasons: The rules that fired, in order.
        degraded: Components that failed or were unavailable.
        message: One sentence for the agent.
        entry: Number of the journal entry, for `undo`; 0 for a check and for a call repeated under its
            idempotency key.
        dropped: Id for `restore` of a text that was not stored.
        question: The question about the write; None where the gate decided, and for a check.

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
    question: Question | None = None

    @property
    def id(self) -> str:
        """The id of the memory that holds the text, for `get`, `link`, `forget` and the other verbs.

        For `created` and `superseded` the id of the new memory; for `duplicate`, `evolved` and `reused` the id
        of the existing one. Empty for `queued` and `rejected` (`dropped` restores a rejected text).
        After `check`, the id of a new memory does not exist in the store.
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


@frozen
class ItemError:
    """An item of a batch that could not be written: index, beginning of the text, and reason."""

    index: int
    excerpt: str
    error: str
    message: str


@frozen
class BatchResult:
    """The results of a batch in the order of its items; None for an item that failed."""

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


@frozen
class ImportReport:
    """The result of an import.

    Attributes:
        run_id: Id of the import; recorded in each of its journal entries.
        read: Lines read.
        counts: Number of lines by outcome; `replayed` counts lines already imported by an earlier run.
        conflicts: Conflicts opened.
        errors: Rejected lines, with the line number as `index`; at most the first 1,000.
        rejects: Path of the file with the rejected lines; empty when there are none.
        seconds: Wall time.
        failed: Number of rejected lines.
    """

    run_id: str
    read: int
    counts: Mapping[str, int]
    conflicts: int
    errors: tuple[ItemError, ...]
    rejects: str
    seconds: float
    failed: int = 0


@frozen
class Stats:
    """Counts of one namespace.

    Attributes:
        waiting: The unchecked memories that wait to be judged (`judging = "later"`).
    """

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
    waiting: int = 0


@frozen
class Problem:
    """A problem found by `verify`: where, what, and how to repair it."""

    where: str
    what: str
    todo: str


@frozen
class Figure:
    """A count of what is stored, over all namespaces.

    Attributes:
        name: Its name, without the prefix that an export gives it.
        description: What it counts.
        values: The counts by the value of the label; by an empty text for a figure without a label.
        label: The name of the label; empty for none.
        grows: Whether it only ever grows.
    """

    name: str
    description: str
    values: Mapping[str, int]
    label: str = ""
    grows: bool = False


@frozen
class Census:
    """Counts of one namespace that a backend can make without reading texts.

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


@frozen
class Header:
    """The metadata of a store; `namespaces` lists all that hold data, sorted."""

    store_id: str
    schema: int
    embedder: str
    dim: int
    policy: str
    created_at: datetime
    namespaces: tuple[str, ...] = ()
