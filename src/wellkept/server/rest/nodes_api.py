"""Nodes in the form used by clients of `check-similar`, and their conversion from and to memories.

`subtype` is the kind with the prefix `custom:`; `content_title`, `content_body` and
`content_summary` are title, content and summary. A body that is a JSON object with `text`, `trigger`
and `signals_at_creation` carries the last two next to the text, in requests and answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from wellkept.core.records.codec import iso, to_plain
from wellkept.engine.base.inputs import MAX_LABEL, MAX_QUERY_CHARS, MAX_SUMMARY
from wellkept.errors import InvalidInput
from wellkept.parsing import parsed_json
from wellkept.policy import DEFAULT_KINDS
from wellkept.server.rest.narrowing import MOMENT, TEXT, VISIBLE
from wellkept.types import Lifecycle, Link, Memory

PREFIX = "custom:"
TYPE_KEY = "node_type"
"""Metadata key of a node's `type`, which has no meaning here and is returned unchanged."""
_BODY_KEYS = frozenset({"text", "trigger", "signals_at_creation"})


def _words(most: int, constraints: Mapping[str, Any] = TEXT) -> dict[str, Any]:
    """The library's constraints on a text, for the document only; the library reports violations itself."""
    return {"maxLength": most, **constraints}


def _whole(value: Any) -> Any:
    """Convert numbers such as `2.0` to integers, because JSON has only one type of number; texts and booleans stay."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Content = Annotated[str, Field(min_length=1, json_schema_extra=dict(VISIBLE))]
Title = Annotated[str, Field(json_schema_extra=_words(MAX_LABEL))]
Summary = Annotated[str, Field(json_schema_extra=_words(MAX_SUMMARY))]
Subtype = Annotated[str, Field(json_schema_extra={"enum": [PREFIX + kind for kind in sorted(DEFAULT_KINDS)]})]
"""The kinds of the default policy; a custom policy may have others, and the prefix is optional."""
Limit = Annotated[int, BeforeValidator(_whole)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class CheckSimilar(_Body):
    """The body of `POST /v1/nodes/check-similar`."""

    content: Content
    title: Annotated[Title, Field(min_length=1)]
    subtype: Annotated[str, Field(min_length=1, json_schema_extra=_words(MAX_LABEL))]
    limit: Limit = Field(default=5, ge=0, le=1_000)


class SimilarNode(BaseModel):
    """One similar stored memory."""

    node_id: str
    title: str
    similarity: float
    action: Literal["duplicate", "connect"]
    lifecycle: Lifecycle


class Similar(BaseModel):
    """The answer of `POST /v1/nodes/check-similar`."""

    matches: list[SimilarNode]
    recommendation: Literal["duplicate_found", "similar_found", "unique"]


class Failure(BaseModel):
    """An error in the form of the host."""

    error: str


class NodeIn(_Body):
    """A node to store."""

    type: Title = "concept"
    subtype: Subtype = PREFIX + "semantic"
    content_title: Title = ""
    content_body: Content
    content_summary: Summary | None = None
    event_time: Annotated[str, Field(min_length=1, json_schema_extra=dict(MOMENT))] | None = None


class NodePatch(_Body):
    """Changes of a node; omitted fields stay unchanged."""

    subtype: Subtype | None = None
    content_title: Title | None = None
    content_body: Content | None = None
    content_summary: Summary | None = None
    state_lifecycle: Literal["ACTIVE"] | None = None


class Search(_Body):
    """A query."""

    query: Annotated[str, Field(min_length=1, json_schema_extra=_words(MAX_QUERY_CHARS, VISIBLE))]
    limit: Limit = Field(default=5, ge=1, le=1_000)


class Node(BaseModel):
    """A memory with the column names of the host system."""

    id: str
    type: str
    subtype: str
    content_title: str | None
    content_body: str
    content_summary: str | None
    state_lifecycle: Lifecycle
    embedding_model: str | None
    provenance_created_at: str
    event_time: str | None
    status: str
    superseded_by: str | None


class FoundNode(Node):
    """A node found by a query."""

    score: float


class Edge(BaseModel):
    """A link in the vocabulary of the host system; `related` is `relates_to` there."""

    source_id: str
    target_id: str
    type: str


class Stored(Node):
    """A node after a write, with the outcome of the write."""

    outcome: str
    message: str
    edges: list[Edge]


class Nodes(BaseModel):
    """Several nodes."""

    data: list[Node]
    more: bool = Field(default=False, description="Whether others follow.")


class FoundNodes(BaseModel):
    """The nodes found by a query, best first."""

    data: list[FoundNode]
    more: bool = Field(default=False, description="Whether further ones were left out of a large answer.")


class Deleted(BaseModel):
    """A node that is hidden and can be restored."""

    id: str
    deleted: bool


class Backfilled(BaseModel):
    """The number of vectors computed."""

    embedded: int
    left: int


def kind_of(subtype: str) -> str:
    """The kind of a subtype, with or without the host system's prefix."""
    return subtype.removeprefix(PREFIX)


def fields_of(body: str) -> dict[str, Any]:
    """The content, and the trigger and signals if the body contains them."""
    if body.lstrip().startswith("{"):
        try:
            read = parsed_json(body)
        except InvalidInput:
            return {"content": body}
        if isinstance(read, dict) and isinstance(read.get("text"), str) and read.keys() <= _BODY_KEYS:
            return {
                "content": read["text"],
                "trigger": _as_text(read.get("trigger")),
                "signals": read.get("signals_at_creation") or {},
            }
    return {"content": body}


def _as_text(trigger: Any) -> str:
    """A trigger as stored in a memory: a text, or an object or list as JSON."""
    return trigger if isinstance(trigger, str) else json.dumps(trigger, ensure_ascii=False) if trigger else ""


def _as_given(trigger: str) -> Any:
    """A trigger in its original form: an object or list when it is the JSON of one."""
    if not trigger.startswith(("{", "[")):
        return trigger
    try:
        return parsed_json(trigger)
    except InvalidInput:
        return trigger


def body_of(memory: Memory) -> str:
    """The body of a node: the text, or the text with trigger and signals as JSON."""
    if not memory.trigger and not memory.signals:
        return memory.content
    body: dict[str, Any] = {"text": memory.content}
    if memory.trigger:
        body["trigger"] = _as_given(memory.trigger)
    if memory.signals:
        body["signals_at_creation"] = to_plain(memory.signals)
    return json.dumps(body, ensure_ascii=False)


def node_fields(memory: Memory, lifecycle: Lifecycle, embedder: str) -> dict[str, Any]:
    """A memory as the fields of `Node`."""
    return {
        "id": memory.id,
        "type": str(memory.metadata.get(TYPE_KEY, "concept")),
        "subtype": PREFIX + memory.kind,
        "content_title": memory.title or None,
        "content_body": body_of(memory),
        "content_summary": memory.summary or None,
        "state_lifecycle": lifecycle,
        "embedding_model": embedder if memory.embedding else None,
        "provenance_created_at": iso(memory.created_at),
        "event_time": iso(memory.event_time) if memory.event_time else None,
        "status": memory.status,
        "superseded_by": memory.superseded_by or None,
    }


def edge(link: Link) -> Edge:
    """A link in the vocabulary of the host system."""
    return Edge(source_id=link.src, target_id=link.dst, type="relates_to" if link.rel == "related" else link.rel)
