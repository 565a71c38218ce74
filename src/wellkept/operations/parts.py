"""Parts of inputs: bounded texts, times, and records of the Python API as objects.

Limits of the library are checked by the library, whose error messages are more specific. The models here check
only types, closed sets and ranges; the schema also states the library's limits.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from wellkept.engine.base.inputs import MAX_LABEL, MAX_LIST, MAX_QUERY_CHARS, MAX_SUMMARY
from wellkept.types import Polarity, Status, Trigger


def _text(most: int) -> Any:
    """A text whose maximum length is stated in the schema and checked by the library."""
    return Field(json_schema_extra={"maxLength": most})


Label: TypeAlias = Annotated[str, _text(MAX_LABEL)]
Labels: TypeAlias = Annotated[list[Label], Field(fail_fast=True, json_schema_extra={"maxItems": MAX_LIST})]
Moment: TypeAlias = Annotated[
    str, Field(json_schema_extra={"format": "date-time"}, description="ISO 8601; UTC without a zone.")
]
Share: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0)]
MemoryId: TypeAlias = Annotated[
    str, Field(min_length=1, description="Its id, or the beginning or end of it.", json_schema_extra={"maxLength": 500})
]

Query: TypeAlias = Annotated[
    str,
    Field(
        description="What you want to know, in any words.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARS},
    ),
]
MAX_RULES = 100_000
"""Maximum length of rules in TOML, in characters."""


KINDS = (
    "fact: current state, replaced by a newer value; preference: what someone wants, replaced likewise; "
    "lesson: what was learned, refinements are kept too; decision: what was decided and why, every one "
    "is kept; note: anything else. The policy may define more."
)
"""How to choose a kind."""


class Given(BaseModel):
    """Base of every input: frozen, without unknown fields or infinite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class StatementFields(Given):
    """The content of a memory and its metadata."""

    content: str = Field(
        description="The text to store: one self-contained statement.", json_schema_extra={"minLength": 1}
    )
    kind: Label = Field("semantic", description=KINDS)
    title: Label = Field("", description="A short name.")
    summary: Annotated[str, _text(MAX_SUMMARY)] = Field("", description="A short form.")
    subject: Label = Field("", description="What it is about; a newer fact about it replaces the older one.")
    attribute: Label = Field("", description="Which property of the subject.")
    agent: Label = Field("", description="Who wrote it.")
    tags: Labels = Field([], description="Free labels.")
    importance: Share = Field(0.5, description="0 to 1.")
    confidence: Share = Field(1.0, description="0 to 1.")
    polarity: Polarity = Field(0, description="-1 against, 0 neutral, 1 for.")
    event_time: Moment | None = Field(None, description="When it happened or became true. ISO 8601.")
    event_end: Moment | None = Field(None, description="When it stopped being true. ISO 8601.")
    source: Label = Field("", description="Where it came from.")
    provenance: Labels = Field([], description="Ids of its sources.")
    metadata: dict[str, Any] = Field({}, description="Further fields.")
    trigger: Annotated[str, _text(MAX_SUMMARY)] = Field("", description="Situation in which to recall it.")
    signals: dict[str, Any] = Field({}, description="Circumstances at creation.")
    pinned: bool = Field(default=False, description="Exempt from decay.")
    expires_at: Moment | None = Field(None, description="When it expires. ISO 8601.")
    ended_at: Moment | None = Field(None, description="When an episode ended. ISO 8601.")


class FilterFields(Given):
    """A filter of memories; fields that are not given do not restrict it."""

    ids: Labels | None = Field(None, description="Exact ids.")
    id_prefix: Label = Field("", description="The beginning of an id.")
    id_end: Label = Field("", description="The end of an id.")
    hashes: Labels = Field([], description="Hashes of texts that map to the memory.")
    kinds: Labels = Field([], description="Any of these kinds.")
    statuses: Annotated[list[Status], Field(fail_fast=True)] = Field(["active"], description="Any of these statuses.")
    subject: Label | None = Field(None, description="This subject.")
    attribute: Label | None = Field(None, description="This attribute.")
    tags: Labels = Field([], description="Any of these tags.")
    ongoing: bool | None = Field(None, description="Episodes that have not ended.")
    created_from: Moment | None = Field(None, description="Stored at or after this time. ISO 8601.")
    unchecked: bool | None = Field(None, description="Stored while a check was unavailable.")
    embedded: bool | None = Field(None, description="Whether it has a vector.")
    after: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="created_at and id of the last memory of the previous page."
    )
    before: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="created_at and id of the first memory of the next page."
    )
    created_to: Moment | None = Field(None, description="Stored before this time. ISO 8601.")
    min_importance: Share | None = Field(None, description="Minimum importance.")
    sources: Labels = Field([], description="From any of these sources.")
    metadata: dict[str, Any] = Field({}, description="All of these keys and values.")


class WeightFields(Given):
    """Weights of the parts of a score."""

    cosine: float = Field(0.55, ge=0.0)
    lexical: float = Field(0.20, ge=0.0)
    recency: float = Field(0.15, ge=0.0)
    importance: float = Field(0.10, ge=0.0)
    polarity: float = Field(0.0, ge=0.0)
    confidence: float = Field(0.0, ge=0.0)
    activation: float = Field(0.0, ge=0.0)
    decay_rate: float = Field(0.1, ge=0.0, description="Share of its recency that a memory loses per day.")
    recency_basis: Literal["accessed", "created", "event"] = Field(
        "accessed", description="The time from which age is counted."
    )


class ExpandFields(Given):
    """Expansion: related memories added to the hits along links."""

    rels: Annotated[list[str], Field(fail_fast=True, min_length=1)] = Field(
        ["refines", "example_of"], description="Relations to follow."
    )
    depth: int = Field(1, ge=1, le=20)
    cap: int = Field(5, ge=0, le=1_000, description="At most this many.")
    score: float = Field(0.7, description="Score assigned to them.")


WeightPreset: TypeAlias = Literal["default", "hybrid", "hybrid-created", "hybrid-event"]


class ScopeFields(Given):
    """The memories that a plan covers."""

    kinds: Labels = Field([], description="Any of these kinds.")
    tags: Labels = Field([], description="Any of these tags.")
    created_from: Moment | None = Field(None, description="Stored at or after this time. ISO 8601.")
    created_to: Moment | None = Field(None, description="Stored before this time. ISO 8601.")
    limit: int | None = Field(None, ge=1, description="At most this many, the newest.")


class ConfigFields(Given):
    """The rules of a plan."""

    rules: Annotated[str, Field(max_length=MAX_RULES)] | None = Field(
        None, description="Rules in TOML; they override the defaults."
    )
    trigger: Trigger | None = Field(None, description="Include the rules of this schedule.")
    ask_at: Share = Field(0.80, description="Similarity from which the relation model is asked.")
    look_at: Share = Field(0.60, description="Similarity from which rules compare.")
    nearest: int = Field(4, ge=0, le=100, description="Neighbours of each memory that are compared.")
