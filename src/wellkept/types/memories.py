"""Memories: the statement that a caller writes, and the record that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import TypedDict

from wellkept.frozen import frozen
from wellkept.types.showing import line, short_id, shown
from wellkept.types.words import Json, Kind, Polarity, Status


@frozen(kw_only=True)
class Statement:
    """The content of a memory: the fields that new and stored memories share.

    Attributes:
        content: The text, 1 character to the policy's limit.
        kind: The type of memory, which selects the policy for duplicates, updates and conflicts: `fact`,
            `note`, `preference`, `lesson`, `decision`, or another that the policy knows.
        title: A short name; may be empty.
        summary: A short form given by the caller; may be empty.
        subject: What the statement is about ("006", "Nous"); compared without case.
        attribute: Which property of the subject ("status"); subject and attribute form the slot.
        agent: The agent that wrote it, inside the namespace.
        tags: Free labels.
        importance: 0 to 1.
        confidence: 0 to 1.
        polarity: -1 against, 0 neutral, +1 for.
        event_time: When it was true in the world, if known; `event_end` closes a range.
        source: Where it came from.
        provenance: Ids of the memories it was made from.
        metadata: Any JSON value.
        trigger: When the memory is relevant.
        signals: The state of the world at creation.
        pinned: Protected from decay and archiving.
        expires_at: When the memory stops being valid.
        ended_at: When an episode ended; None while it is ongoing.
    """

    content: str
    kind: Kind = "semantic"
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


@frozen(kw_only=True)
class NewMemory(Statement):
    """A memory to be written.

    Attributes:
        links: Ids to link to with `related` once stored.
        automatic: True when nobody explicitly asked to keep this text; only then the recording filter of
            its kind applies.
        frame: The conversation frame it came from, for the recording filter.
        keep: True when the text must be stored even if it looks like chatter; the rule for empty filler still applies.
        idempotency_key: Makes a repeated call a no-op; the same key with another payload is an error.
        recorded_at: For imports, when it was first recorded elsewhere; otherwise the store's clock is used.
    """

    links: tuple[str, ...] = ()
    automatic: bool = False
    frame: str = ""
    keep: bool = False
    idempotency_key: str = ""
    recorded_at: datetime | None = None


@frozen(kw_only=True)
class ImportedMemory(NewMemory):
    """A memory from another store, with its usage there.

    Attributes:
        access_count: How often it was read there.
        last_accessed_at: When it was last read there.
        updated_at: When it was last changed there.
    """

    access_count: int = 0
    last_accessed_at: datetime | None = None
    updated_at: datetime | None = None


class MemoryFields(TypedDict, total=False):
    """The keyword arguments of `remember` and `check`: the fields of `NewMemory` except `content`."""

    kind: Kind
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
    keep: bool
    idempotency_key: str
    recorded_at: datetime | str | None


@frozen
class Update:
    """One dated addition to an evolved memory."""

    at: datetime
    text: str
    similarity: float


@frozen(kw_only=True)
class Memory(Statement):
    """A stored memory.

    `status` is stored and is changed only by explicit acts; the decay lifecycle is computed from time and use.
    `access_count`, `last_accessed_at` and `stability` are usage data: they change without a new
    version and without a journal entry.

    Attributes:
        id: A time-ordered UUIDv7.
        namespace: The isolation boundary.
        status: active, superseded, archived, erased, or wording.
        superseded_by: Id of its successor, or of the head of a wording; else empty.
        version: 1 on creation, +1 with each change.
        updates: The dated additions still shown in `content`, oldest first, at most 10.
        evolution_count: How many texts were added in total.
        confirmations: How many duplicates of it were written.
        checked: False when it was stored while a check could not run.
        embedding: Hash of the embedded text; empty without a vector.
        chunks: Number of embedder windows the text needed; 0 without a usable vector.
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

    def __str__(self) -> str:
        return f"[{short_id(self.id)}] {self.created_at:%Y-%m-%d} {self.kind}  {line(self.content)}"

    def __repr__(self) -> str:
        status = self.status if self.status != "active" else ""
        said = {"id": self.id, "kind": self.kind, "status": status, "subject": self.subject}
        return shown("Memory", {**said, "attribute": self.attribute, "tags": self.tags, "content": self.content})
