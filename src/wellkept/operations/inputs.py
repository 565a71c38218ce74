"""Inputs of the operations: the parameters of the library's verbs as JSON, with the same names and defaults.

Unknown fields are rejected. A record of the Python API is a nested object; see `parts`.
"""

from __future__ import annotations

from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from wellkept.engine.base.inputs import MAX_BATCH, MAX_LIMIT, MAX_LIST
from wellkept.operations.pages import PAGE, Paged
from wellkept.operations.parts import (
    ConfigFields,
    ExpandFields,
    FilterFields,
    Given,
    Label,
    Labels,
    MemoryId,
    Moment,
    Query,
    ScopeFields,
    Share,
    StatementFields,
    WeightFields,
    WeightPreset,
)
from wellkept.types import Direction, OnConflict, RecallMode, Resolution
from wellkept.types.packs import MAX_BUDGET, PackFormat

_FLOOR = "Leave out memories whose relevance is below this; 0 for none, by default 0.3."


class Nothing(Given):
    """An operation without parameters."""


# --------------------------------------------------------------------------------------------
# Writing


class Writing(StatementFields):
    """A statement to write."""

    on_conflict: OnConflict | None = Field(
        None, description="How a conflict is handled; by default as the kind's policy says."
    )
    links: Labels = Field([], description="Ids to link to.")
    automatic: bool = Field(default=False, description="Captured automatically: apply the chatter filter.")
    frame: Label = Field("", description="The conversation frame it came from.")
    keep: bool = Field(default=False, description="Store it even if it looks like chatter, with full importance.")
    idempotency_key: Label = Field("", description="A second write with the same key changes nothing.")
    recorded_at: Moment | None = Field(None, description="When it was first recorded in another system. ISO 8601.")


class Remember(Writing):
    """A text to store."""


class Check(Writing):
    """A text to check."""


class RememberMany(Given):
    """Texts to store, in order."""

    items: Annotated[list[str | dict[str, Any]], Field(fail_fast=True, max_length=MAX_BATCH)] = Field(
        description="Texts, or objects with content and more fields of remember. An invalid one does not stop the rest."
    )
    on_conflict: OnConflict | None = Field(
        None, description="How a conflict is handled; by default as the kind's policy says."
    )


# --------------------------------------------------------------------------------------------
# Reading


class Recall(Given):
    """A query."""

    query: Query
    limit: int = Field(5, ge=1, le=MAX_LIMIT, description="At most this many hits.")
    where: FilterFields | None = Field(None, description="Only memories that match this filter.")
    mode: RecallMode = Field("default", description="Meaning and words, meaning alone, or age and importance too.")
    include_superseded: bool = Field(default=False, description="Include superseded memories.")
    explain: bool = Field(default=False, description="Return the parts of each score, and what was left out.")
    touch: bool = Field(default=True, description="Record the hits as used.")
    weights: WeightFields | WeightPreset | None = Field(None, description="Score weights of mode hybrid.")
    overfetch: int = Field(4, ge=1, le=100, description="Candidates scored per hit.")
    expand: ExpandFields | None = Field(None, description="Add memories along links behind the hits.")
    as_of: Moment | None = Field(None, description="Answer from the store's state at this time. ISO 8601.")
    valid_at: Moment | None = Field(None, description="Only what was valid in the world at this time. ISO 8601.")
    grouped: bool | None = Field(
        None, description="Group duplicates under the newest one; on by default in mode default."
    )
    rerank: bool = Field(default=True, description="Reorder the best hits with the store's reranker, if it has one.")
    min_score: float | None = Field(None, ge=0.0, le=1.0, description=_FLOOR)


class Get(Given):
    """One memory by its id."""

    memory_id: MemoryId
    touch: bool = Field(default=True, description="Record it as used.")


class Listing(Given):
    """Memories that match a filter."""

    where: FilterFields | None = Field(None, description="Only matching memories; active ones by default.")
    limit: int = Field(PAGE, ge=0, le=MAX_LIMIT, description="At most this many; more says whether others follow.")


class Pack(Given):
    """A query whose results go into a prompt."""

    query: Query
    budget_tokens: int = Field(800, ge=1, le=MAX_BUDGET, description="Maximum size of the block, in tokens.")
    format: PackFormat = Field("markdown", description="Format of the block; decisions lists decisions alone.")
    exclude: Annotated[list[str], Field(fail_fast=True)] = Field(
        [], description="What the prompt already contains: ids, or verbatim texts."
    )
    session: Label = Field(
        "", description="Id of the conversation; its packed texts are recognised when they are written back."
    )
    where: FilterFields | None = Field(None, description="Only memories that match this filter.")
    touch: bool = Field(default=True, description="Record the memories in the block as used.")
    min_score: float | None = Field(None, ge=0.0, le=1.0, description=_FLOOR)


class Neighbors(Paged):
    """The starting memory, and the maximum distance."""

    memory_id: MemoryId
    rel: Label | None = Field(None, description="Only links of this relation.")
    direction: Direction = Field("both", description="Follow links out, in, or both.")
    depth: int = Field(1, ge=1, le=20, description="Steps.")
    after: Label = Field("", description="Id of the last memory of the previous page.")


class Subgraph(Given):
    """The starting memories, and the maximum distance."""

    ids: Annotated[list[MemoryId], Field(fail_fast=True, max_length=MAX_LIST)] = Field(
        description="Ids of the memories to start from."
    )
    depth: int = Field(1, ge=1, le=20, description="Steps.")


class Conflicts(Paged):
    """A filter of conflicts."""

    memory_id: MemoryId | None = Field(None, description="Only conflicts of this memory.")
    settled: bool = Field(default=False, description="Include resolved and expired conflicts.")
    threshold: Share = Field(0.0, description="Minimum similarity, 0 to 1.")
    after: Label = Field("", description="Key of the last conflict of the previous page.")


class Journal(Paged):
    """A filter of journal entries."""

    newest: int | None = Field(None, ge=1, description="Only this many, the newest.")
    after: int = Field(0, ge=0, description="Only entries with a higher number.")


class History(Paged):
    """A memory, and a range of its states."""

    memory_id: MemoryId
    after: int = Field(0, ge=0, description="Only states of entries with a higher number.")


class RunList(Paged):
    """A filter of runs."""

    after: Label = Field("", description="Id of the last run of the previous page.")


# --------------------------------------------------------------------------------------------
# Changing


class OfMemory(Given):
    """A memory."""

    memory_id: MemoryId


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema["properties"].values():
        field.pop("default", None)


class _Changes(OfMemory):
    """Changes of a memory. Fields that are not given stay unchanged, so the schema has no defaults."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)


def _optional(base: type[BaseModel], name: str, doc: str) -> Any:
    """The fields of a model, each optional, as changes."""
    made: dict[str, Any] = {
        key: (hint, Field(None, description=base.model_fields[key].description))
        for key, hint in get_type_hints(base, include_extras=True).items()
        if key in base.model_fields
    }
    return create_model(name, __base__=_Changes, __doc__=doc, **made)


Revise: Any = _optional(StatementFields, "Revise", "New values of a memory's fields.")


class Supersede(Given):
    """The outdated memory, and its replacement."""

    old_id: MemoryId = Field(description="Id of the memory that no longer holds.")
    new_id: MemoryId = Field(description="Id of the memory that replaces it.")


class Resolve(Given):
    """The resolution of a conflict."""

    key: Annotated[str, Field(min_length=1)] = Field(description="The key of the conflict.")
    resolution: Resolution = Field(
        description="keep_new or keep_old: supersede the other one; keep_both: link them; merge: add the newer text to "
        "the older; dismissed: not a conflict."
    )


class LinkFields(Given):
    """Two memories and their relation."""

    src: MemoryId = Field(description="Id the link starts from.")
    dst: MemoryId = Field(description="Id it leads to.")
    rel: Label = Field("related", description="Such as related, refines, example_of, derived_from.")
    strict: bool = Field(default=False, description="Refuse ids that do not exist.")


class Unlink(Given):
    """Two memories, and the links to remove."""

    src: MemoryId = Field(description="Id the links start from.")
    dst: MemoryId = Field(description="Id they lead to.")
    rel: Label | None = Field(None, description="Only this relation.")


class Undo(Given):
    """A journal entry."""

    entry: int = Field(ge=1, description="Number of the entry.")


# --------------------------------------------------------------------------------------------
# Plans and runs


class PlanFields(Given):
    """The memories to consolidate, and the rules."""

    config: ConfigFields | None = Field(None, description="Rules and thresholds.")
    scope: ScopeFields | None = Field(None, description="Which memories; all active ones by default.")


class Execute(Given):
    """A plan to apply."""

    plan: dict[str, Any] = Field(description="The plan as returned by plan, unchanged.")
    only: Annotated[list[str], Field(fail_fast=True)] = Field([], description="Ids or types of actions to apply.")
    skip: Annotated[list[str], Field(fail_fast=True)] = Field([], description="Ids or types of actions to leave out.")
    dry_run: bool = Field(default=False, description="Dry run: report only.")


class UndoRun(Given):
    """A run to undo."""

    run_id: Annotated[str, Field(min_length=1)] = Field(description="Its id, or `last`.")
    force_except: bool = Field(default=False, description="Skip what later changes depend on, undo the rest.")
