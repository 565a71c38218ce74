"""The values that every layer speaks: records, comparisons, effects, results.

All are frozen. Times are aware `datetime` values in UTC. Nothing here reads a clock, makes an id
or does I/O; nothing here imports numpy at run time, so that `import wellkept` stays light.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]

Json: TypeAlias = Any
Polarity: TypeAlias = Literal[-1, 0, 1]
Status: TypeAlias = Literal["active", "superseded", "archived", "erased"]
Lifecycle: TypeAlias = Literal["ACTIVE", "WEAK", "DORMANT"]
Outcome: TypeAlias = Literal["created", "duplicate", "evolved", "superseded", "reused", "rejected", "queued"]
OnConflict: TypeAlias = Literal["ignore", "warn", "supersede_sure", "supersede", "raise"]
Relation: TypeAlias = Literal["same", "conflict", "variant", "none"]
Stage: TypeAlias = Literal["content_hash", "canonical_hash", "subject", "window", "vector", "key"]
MatchAction: TypeAlias = Literal["duplicate", "connect", "evolve", "supersede", "conflict", "reuse", "none"]
ConflictKind: TypeAlias = Literal["contradiction", "duplicate"]
Resolution: TypeAlias = Literal["keep_old", "keep_new", "keep_both", "merge", "dismissed"]
Direction: TypeAlias = Literal["out", "in", "both"]
Degradation: TypeAlias = Literal["embedding", "lexical", "unreadable"]
DifferenceKind: TypeAlias = Literal[
    "negation",
    "polarity",
    "number",
    "unit",
    "sign",
    "version",
    "identifier",
    "date",
    "time",
    "name",
    "value",
    "antonym",
    "condition",
    "detail",
    "subject",
    "event_time",
    "length",
    "custom",
]

KNOWN_RELATIONS: tuple[str, ...] = (
    "supersedes",
    "refines",
    "derived_from",
    "example_of",
    "contradicts",
    "related",
)
"""Link relations the product itself writes (S2-40); the vocabulary is open."""


# --------------------------------------------------------------------------------------------
# Memories


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a memory says and about what; the part that writer and store share.

    Attributes:
        content: The text, 1 character to the policy's limit.
        kind: Selects the policy; must be known to it.
        title: A short name; empty when there is none.
        summary: A short form supplied by the writer; empty when there is none.
        subject: What the statement is about ("006", "Nous"); compared without case.
        attribute: Which property of the subject ("status"); subject and attribute form the slot.
        agent: Who wrote it, inside the namespace.
        tags: Free labels.
        importance: 0 to 1.
        confidence: 0 to 1.
        polarity: -1 against, 0 neutral, +1 for (S2-19).
        event_time: When it was true in the world, if known; `event_end` closes a range.
        source: Where it came from.
        provenance: Ids of what it was made from.
        metadata: Anything JSON can hold.
        trigger: When to think of it (S0-28).
        signals: The state of the world at creation (S0-28).
        pinned: Protected from decay and archiving.
        expires_at: After this it no longer holds.
        ended_at: When an episode ended; an ongoing one has none.
    """

    content: str
    kind: str = "semantic"
    title: str = ""
    summary: str = ""
    subject: str = ""
    attribute: str = ""
    agent: str = ""
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 1.0
    polarity: Polarity = 0
    event_time: datetime | None = None
    event_end: datetime | None = None
    source: str = ""
    provenance: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)
    trigger: str = ""
    signals: Mapping[str, Json] = field(default_factory=dict)
    pinned: bool = False
    expires_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory(Statement):
    """A statement on its way into the store.

    Attributes:
        links: Ids to link to with `related` once stored (S0-42).
        automatic: True when nobody asked for this text to be kept; only then does the recording
            filter of its kind apply (B-19).
        frame: The conversation frame it came from, for the recording filter (S3-16).
        idempotency_key: Makes a repeated call a no-op; the same key with another payload is an error.
        recorded_at: When it was first written elsewhere, for imports; the store's clock otherwise.
    """

    links: tuple[str, ...] = ()
    automatic: bool = False
    frame: str = ""
    idempotency_key: str = ""
    recorded_at: datetime | None = None


class MemoryFields(TypedDict, total=False):
    """The keyword arguments of `remember` and `check`: the fields of `NewMemory` but `content`."""

    kind: str
    title: str
    summary: str
    subject: str
    attribute: str
    agent: str
    tags: tuple[str, ...] | list[str]
    importance: float
    confidence: float
    polarity: Polarity
    event_time: datetime | str | None
    event_end: datetime | str | None
    source: str
    provenance: tuple[str, ...] | list[str]
    metadata: Mapping[str, Json]
    trigger: str
    signals: Mapping[str, Json]
    pinned: bool
    expires_at: datetime | str | None
    ended_at: datetime | str | None
    links: tuple[str, ...] | list[str]
    automatic: bool
    frame: str
    idempotency_key: str
    recorded_at: datetime | str | None


@dataclass(frozen=True, slots=True)
class Update:
    """One dated addition of an evolved memory (S4-10, S4-11)."""

    at: datetime
    text: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Statement):
    """One stored unit of knowledge.

    `status` is stored and changed only by acts; the decay lifecycle is computed from time and use
    (I11). `access_count`, `last_accessed_at` and `stability` are usage: they change without a new
    version and without a journal entry.

    Attributes:
        id: A time-ordered UUIDv7.
        namespace: The isolation boundary.
        status: active, superseded, archived or erased.
        superseded_by: Id of the memory that replaced it; empty when none did.
        version: 1 on creation, +1 with each change.
        updates: The dated additions still shown in `content`, oldest first, at most 10.
        evolution_count: How many texts were ever added.
        confirmations: How often the same thing was said again (B-38).
        checked: False when it was stored while a check could not run (I7).
        embedding: Hash of the text whose vector stands for this memory; empty without a vector.
        chunks: How many windows of the embedder that text needed; 0 without a usable vector.
    """

    id: str
    namespace: str
    status: Status = "active"
    superseded_by: str = ""
    superseded_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1
    updates: tuple[Update, ...] = ()
    evolution_count: int = 0
    confirmations: int = 0
    last_confirmed_at: datetime | None = None
    checked: bool = True
    embedding: str = ""
    chunks: int = 0
    access_count: int = 0
    last_accessed_at: datetime | None = None
    stability: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A directed, typed edge; unique by (src, dst, rel) (B-24)."""

    src: str
    dst: str
    rel: str = "related"
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """A neighbourhood: memories by id, edges between them, and ids that edges name but nobody holds."""

    nodes: Mapping[str, Memory]
    edges: tuple[tuple[str, str, str], ...]
    dangling: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory reached over a link, and how."""

    memory: Memory
    rel: str
    direction: Literal["out", "in"]
    depth: int


# --------------------------------------------------------------------------------------------
# Judging


@dataclass(frozen=True, slots=True)
class Difference:
    """One named way in which two texts differ, with the words that decided.

    Attributes:
        kind: What differs.
        old: The words of the older text; empty when it has none.
        new: The words of the newer text; empty when it has none.
        decisive: True when the two cannot both hold (a conflict); False when the difference only
            forbids calling them the same.
        sure: True when one value was replaced by another in the same statement, so that the newer
            may supersede the older on its own (design §4, preset `fact`).
    """

    kind: DifferenceKind
    old: str
    new: str
    decisive: bool = False
    sure: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a new statement relates to a stored one.

    Attributes:
        relation: same, conflict, variant (alike, yet not the same) or none.
        similarity: On the published scale, rounded to 4 decimals; None without vectors.
        cosine: The raw cosine, rounded to 4 decimals; None without vectors.
        differences: What differs; any of them vetoes skip, merge and evolve (I2).
        reason: The seeds' word for the decisive difference: `negation_diff`, `polarity`,
            `value_diff` or `custom_fn`; empty when nothing is decisive.
    """

    relation: Relation
    similarity: float | None
    cosine: float | None
    differences: tuple[Difference, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored memory that a stage proposed, before it is compared."""

    memory: Memory
    stage: Stage
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A candidate after comparison: what it is to the new text and what was done about it."""

    memory_id: str
    title: str
    lifecycle: Lifecycle
    stage: Stage
    relation: Relation
    action: MatchAction
    similarity: float | None = None
    cosine: float | None = None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """One step of the decision: the rule that fired and what it saw."""

    rule: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that cannot both hold (contradiction) or say the same (duplicate).

    Attributes:
        key: Deterministic over the pair and the kind, so that one pair is never flagged twice.
        a: Id of the older memory.
        b: Id of the newer memory.
        reason: `polarity`, `negation_diff`, `value_diff`, `custom_fn` or `repeat`.
        resolution: How it was settled; None while it is open.
        expires_at: When an open conflict counts as settled by keeping both.
    """

    key: str
    a: str
    b: str
    kind: ConflictKind
    reason: str
    similarity: float | None
    differences: tuple[Difference, ...] = ()
    excerpt_a: str = ""
    excerpt_b: str = ""
    created_at: datetime
    expires_at: datetime | None = None
    resolution: Resolution | None = None
    resolved_at: datetime | None = None


# --------------------------------------------------------------------------------------------
# Effects: a record moves from one value to another; None stands for "not there".
# The inverse of an effect is the swap of its two ends.


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A memory row appears, changes or goes."""

    before: Memory | None
    after: Memory | None


@dataclass(frozen=True, slots=True)
class AliasChange:
    """A hash starts or stops pointing at a memory; all hashes a row ever absorbed do (B-8)."""

    memory_id: str
    hash: str
    present: bool


@dataclass(frozen=True, slots=True)
class LinkChange:
    """A link appears or goes."""

    before: Link | None
    after: Link | None


@dataclass(frozen=True, slots=True)
class ConflictChange:
    """A conflict row appears, changes or goes."""

    before: Conflict | None
    after: Conflict | None


Effect: TypeAlias = MemoryChange | AliasChange | LinkChange | ConflictChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What should happen to one write and why; made by the core, applied by the engine.

    Attributes:
        outcome: The word of the outcome vocabulary.
        memory: The memory the writer now has: the new one, or the one that already said it.
        dropped: The refused text as the memory it would have been, kept in the journal (I1);
            None when the text was stored.
        effects: What to apply, in order.
    """

    outcome: Outcome
    memory: Memory | None
    effects: tuple[Effect, ...] = ()
    dropped: Memory | None = None
    matches: tuple[Match, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    links: tuple[Link, ...] = ()
    reasons: tuple[Reason, ...] = ()
    degraded: tuple[Degradation, ...] = ()


# --------------------------------------------------------------------------------------------
# Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One applied decision: what was done, by whom, under which policy, why, and how to take it back.

    Attributes:
        seq: Position in the namespace's journal, from 1; 0 before it is applied.
        verb: The call that caused it (remember, supersede, resolve, undo, …).
        memory_id: The memory it is mainly about.
        memory_ids: Every memory it touched.
        policy: Hash of the policy in force.
        effects: What was applied. Read back from a store, each effect still has its `before`;
            of the `after` only what later entries or the present rows do not tell.
        undoes: The entry this one took back; 0 when it is no undo.
        idempotency_key: The caller's key, with `payload` the hash of what came with it.
        run_id: The import or run this entry belongs to; empty outside one.
        dropped: The text that was not stored, as the memory it would have been.
    """

    seq: int = 0
    at: datetime
    verb: str
    actor: str = ""
    policy: str = ""
    outcome: str
    memory_id: str = ""
    memory_ids: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    matches: tuple[Match, ...] = ()
    conflict_keys: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    effects: tuple[Effect, ...] = ()
    dropped: Memory | None = None
    undoes: int = 0
    idempotency_key: str = ""
    payload: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """A memory as one journal entry left it; `memory` is None where the entry removed it."""

    seq: int
    at: datetime
    verb: str
    outcome: str
    actor: str
    reasons: tuple[Reason, ...]
    memory: Memory | None


# --------------------------------------------------------------------------------------------
# Filters


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories to read; an empty tuple or None means "any".

    Attributes:
        ids: Exact ids.
        id_prefix: The beginning of an id.
        hashes: Aliases: rows that any of these hashes points at.
        subject / attribute: The slot, compared by `core.text.slot_key`; None for any.
        ongoing: True for rows without `ended_at`.
        created_from: Rows created at or after this time.
        unchecked: True for rows stored while a check could not run.
        embedded: True for rows with a vector, False for rows without.
        after: (created_at, id) of the last row of the page before.
    """

    ids: tuple[str, ...] | None = None
    id_prefix: str = ""
    hashes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ("active",)
    subject: str | None = None
    attribute: str | None = None
    tags: tuple[str, ...] = ()
    ongoing: bool | None = None
    created_from: datetime | None = None
    unchecked: bool | None = None
    embedded: bool | None = None
    after: tuple[datetime, str] | None = None


ALL_STATUSES: tuple[Status, ...] = ("active", "superseded", "archived", "erased")


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Candidates of one query as a backend proposes them: ids and their stored vectors, row by row."""

    ids: tuple[str, ...]
    vectors: NDArray[np.float32]


# --------------------------------------------------------------------------------------------
# Results


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What became of one write; the same object is returned, journaled, shown and logged (I6).

    Attributes:
        outcome: created, duplicate, evolved, superseded, reused, rejected or queued.
        memory: The memory the caller now has; None when the text was rejected.
        links: Links made.
        conflicts: Conflicts found.
        matches: Stored memories that were considered, most similar first.
        reasons: The rules that fired, in order.
        degraded: What could not run (I7).
        message: One sentence for the agent.
        entry: Number of the journal entry, for `undo`; 0 for a check or a replayed call.
        dropped: Id under which a text that was not stored can be brought back by `restore`.
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


@dataclass(frozen=True, slots=True)
class ItemError:
    """One item of a batch that could not be written: its place, its beginning, and why (S4-14)."""

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


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    Attributes:
        run_id: Stands in every journal entry of the import.
        read: Lines read.
        counts: Outcomes by word; `replayed` counts lines an earlier run of this source had done.
        conflicts: Conflicts opened.
        errors: Lines that were not taken, with their line numbers as `index`.
        rejects: Path of the file those lines were written to; empty when there are none.
        seconds: Wall time.
    """

    run_id: str
    read: int
    counts: Mapping[str, int]
    conflicts: int
    errors: tuple[ItemError, ...]
    rejects: str
    seconds: float


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
class Hit:
    """One answer of `recall`.

    Attributes:
        memory: The memory.
        score: The rank score, higher is better.
        parts: The parts of the score by name.
        conflicts: Open conflicts this memory takes part in.
    """

    memory: Memory
    score: float
    parts: Mapping[str, float]
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """What a store says of itself."""

    store_id: str
    schema: int
    embedder: str
    dim: int
    policy: str
    created_at: datetime
