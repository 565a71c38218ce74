"""Decisions and episodes: records of an agent loop, stored beside facts.

Each verb has a fixed kind and sets some fields itself. These fields are not part of its input, so that no given
value is rejected or ignored.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, create_model

from wellkept.engine.base.inputs import MAX_SUMMARY
from wellkept.operations import outputs
from wellkept.operations.inputs import Writing
from wellkept.operations.parts import Given, Label, MemoryId, Moment
from wellkept.operations.row import created_or_known, writes

SET_BY_THE_VERB = {
    "record_decision": frozenset({"kind", "automatic"}),
    "record_turn": frozenset({"kind", "automatic"}),
    "start_episode": frozenset({"kind", "ended_at"}),
}
"""Fields of a memory that the verb sets itself."""
_ELSEWHERE = frozenset({"content", "on_conflict"})


def _model(name: str, doc: str, verb: str, **own: Any) -> Any:
    """The parameters of a verb: its own first, then the remaining fields of a memory."""
    left = {
        key: (field.annotation, field)
        for key, field in Writing.model_fields.items()
        if key not in SET_BY_THE_VERB[verb] | _ELSEWHERE | own.keys()
    }
    made: dict[str, Any] = {**own, **left}
    return create_model(name, __base__=Given, __doc__=doc, **made)


RecordDecision: Any = _model(
    "RecordDecision",
    "A decision.",
    "record_decision",
    content=(str, Field(description="The decision and its reasons.", json_schema_extra={"minLength": 1})),
    outcome=(Label, Field("", description="Its outcome, if known.")),
)
RecordTurn: Any = _model(
    "RecordTurn",
    "What an agent answered.",
    "record_turn",
    response=(str, Field(description="The agent's answer.", json_schema_extra={"minLength": 1})),
    frame=(
        Label,
        Field(
            description="Frame of the turn: task, decision …; conversation, question and creative contain no decisions."
        ),
    ),
    decided=(bool, Field(default=False, description="Whether record_decision was called in this turn.")),
    episode=(Label, Field("", description="Id of the episode that the turn belongs to.")),
)
StartEpisode: Any = _model(
    "StartEpisode",
    "What begins.",
    "start_episode",
    content=(str, Field(description="What the episode is about.", json_schema_extra={"minLength": 1})),
)


class EndEpisode(Given):
    """An episode, and its outcome."""

    episode_id: MemoryId
    summary: Annotated[str, Field(json_schema_extra={"maxLength": MAX_SUMMARY})] = Field(
        "", description="Its result, in short."
    )
    outcome: Label = Field("", description="How well it went.")
    at: Moment | None = Field(None, description="When it ended; now by default. ISO 8601.")


RECORDING = (
    writes(
        "record_decision",
        "Record a decision",
        "Record a decision and its reasons for later sessions. Every call adds a decision, even with the same words.",
        RecordDecision,
        outputs.Written,
        idempotent=False,
        status=created_or_known,
    ),
    writes(
        "record_turn",
        "Record a turn",
        "For the agent's host program: store the agent's answer as a decision if it reads like one. Status "
        "reports and turns in frames without decisions are not stored; restore stores one anyway.",
        RecordTurn,
        outputs.Written,
        idempotent=False,
        status=created_or_known,
    ),
    writes(
        "start_episode",
        "Start an episode",
        "Start an episode (a period of work), or continue the open one. The answer says created or reused; "
        "pass the episode's id to end_episode and record_turn.",
        StartEpisode,
        outputs.Written,
        idempotent=False,  # after the window, the same text starts a new episode
        status=created_or_known,
    ),
    writes(
        "end_episode",
        "End an episode",
        "End an episode with its result. It is kept, but cannot be continued.",
        EndEpisode,
        outputs.Kept,
    ),
)
