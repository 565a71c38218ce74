"""Recording verbs for an agent loop: decisions, and the episodes they are made in.

Thin wrappers over the gate. The recording filter and the reuse window of episodes are policies of the
kinds `decision` and `episode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack

from wellkept.core.records.codec import iso
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import label, moment, statement
from wellkept.engine.base.retry import whole
from wellkept.engine.lookup import read
from wellkept.engine.queue import deferred
from wellkept.errors import IllegalTransition, InvalidField
from wellkept.types import Memory, MemoryChange, MemoryFields, Reason, WriteResult

DECISION, EPISODE = "decision", "episode"
OUTCOME, TURNS, LAST_TURN = "outcome", "turns", "last_turn_at"
"""Metadata keys: outcome of a decision or an episode, and number of turns of an episode."""


class RecordingVerbs:
    """Verbs for decisions and episodes, inherited by `MemoryStore`."""

    _ctx: Context

    def record_decision(self, content: str, *, outcome: str = "", **fields: Unpack[MemoryFields]) -> WriteResult:
        """Record a decision explicitly; frame and wording are not filtered.

        Args:
            content: The decision and its reason.
            outcome: The result, if known; otherwise shown as `pending`.
            **fields: Other fields of `NewMemory`, such as `confidence`, `agent`, `links`.

        Returns:
            The write result. The same words again are another decision, not a duplicate.

        Raises:
            InvalidInput: A field is invalid; nothing was written.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     told = store.record_decision("Here's the plan: ship behind a flag.", frame="conversation")
            >>> told.outcome, told.memory.kind
            ('created', 'decision')
        """
        given = _of_kind(DECISION, fields, metadata=_noted(fields, outcome))
        new = statement(content, {**given, "automatic": False}, self._ctx.policy)
        return deferred.remember(self._ctx, new, None)

    def record_turn(
        self, response: str, *, frame: str, decided: bool = False, episode: str = "", **fields: Any
    ) -> WriteResult:
        """Record an agent's response as a decision if it reads like one; no model is asked.

        Nothing is recorded in the frames `conversation`, `question` and `creative`, nor for a text that reads
        like a report of the agent's own state. A rejected text is kept in the journal; `restore` stores it.
        The episode is updated in either case.

        Args:
            response: The agent's response.
            frame: The frame of the turn, such as `task` or `decision`.
            decided: The agent has called `record_decision` in this turn, so the text is not treated as a mere
                report.
            episode: Id of the episode of the turn; the decision is linked to it.
            **fields: Other fields of `NewMemory`.

        Returns:
            The write result: `created`, or `rejected` with the reason.

        Raises:
            NotFound: No such episode; nothing was written.
            IllegalTransition: The memory is not an episode, or has ended; nothing was written.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     told = store.record_turn("Here's my current status: all green.", frame="task")
            >>> told.outcome, told.reasons[0].rule
            ('rejected', 'recording_filter')
        """
        from wellkept.core.gate.worth_keeping import INFORMATIONAL_FRAMES

        where = label("frame", frame).casefold()
        filtered = where in INFORMATIONAL_FRAMES or not decided
        given = _of_kind(DECISION, fields, frame=where, automatic=filtered)
        ongoing = _ongoing(self._ctx, read.identify(self._ctx, episode)).id if episode else ""
        if ongoing:
            links = given.get("links", ())
            given["links"] = (*links, ongoing) if isinstance(links, list | tuple) else links
        result = deferred.remember(self._ctx, statement(response, given, self._ctx.policy), None)
        if ongoing:
            _count_turn(self._ctx, ongoing)
        return result

    def start_episode(self, content: str, **fields: Unpack[MemoryFields]) -> WriteResult:
        """Begin an episode, or continue the ongoing one.

        An ongoing episode of the same agent that began within the last 30 minutes and shares more than 70 % of
        the words is reused, unless a difference separates the two. An episode is never queued, because its id
        is needed at once.

        Args:
            content: What the episode is about.
            **fields: Other fields of `NewMemory`; a `summary` is compared instead of the text.

        Returns:
            `created` or `reused`, with the episode.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     first = store.start_episode("Show me your current status")
            ...     again = store.start_episode("show me your current status")
            >>> again.outcome, again.memory.id == first.memory.id
            ('reused', True)
        """
        from wellkept.engine.gate import write

        if fields.get("ended_at") is not None:
            raise InvalidField("an episode that begins has not ended", where="ended_at", todo="Call end_episode later")
        return write.remember(self._ctx, statement(content, _of_kind(EPISODE, fields), self._ctx.policy))

    def end_episode(
        self, episode_id: str, *, summary: str = "", outcome: str = "", at: datetime | str | None = None
    ) -> Memory:
        """End an episode: it is kept, but no longer reused. Ending it again changes nothing.

        Args:
            episode_id: Its id, or the beginning of it.
            summary: Short summary; by default the existing one is kept.
            outcome: The result, kept in the metadata.
            at: When it ended; now by default.

        Returns:
            The updated episode.

        Raises:
            NotFound: No such memory.
            IllegalTransition: Not an episode, not active, or already ended with another summary or outcome.
            InvalidField: `at` is not a time, or is before the beginning.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     episode = store.start_episode("Moving the billing export").memory
            ...     ended = store.end_episode(episode.id, summary="The export runs behind a flag.")
            ...     store.start_episode("Moving the billing export").outcome
            'created'
        """
        from wellkept.engine.gate import acts

        held = _episode(self._ctx, read.identify(self._ctx, episode_id))
        if held.ended_at is not None:
            return _ended(held, summary, outcome)
        now = self._ctx.clock()
        ended = moment("at", at) or now
        began = held.event_time or held.created_at
        if ended < min(began, now):
            raise InvalidField("lies before the episode began", where="at", todo=f"It began at {iso(began)}")
        changes: dict[str, Any] = {"ended_at": ended}
        if summary.strip():
            changes["summary"] = summary
        if outcome.strip():
            changes["metadata"] = {**held.metadata, OUTCOME: label(OUTCOME, outcome)}
        return acts.revise(self._ctx, held.id, changes)


def _of_kind(kind: str, fields: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Fields of a statement of one kind.

    Raises:
        InvalidField: The caller gave another kind.
    """
    if fields.get("kind", kind) != kind:
        raise InvalidField(f"is always {kind!r} here", where="kind", todo="Call remember for another kind")
    return {**fields, **{name: value for name, value in more.items() if value is not None}, "kind": kind}


def _noted(fields: Mapping[str, Any], outcome: str) -> dict[str, Any] | None:
    told = label(OUTCOME, outcome)
    kept: Any = fields.get("metadata", {})
    return {**kept, OUTCOME: told} if told and isinstance(kept, Mapping) else None


def _episode(ctx: Context, memory_id: str) -> Memory:
    held = read.get(ctx, memory_id, touch=False)
    if "window" not in ctx.policy.for_kind(held.kind).stages:
        raise IllegalTransition(f"{memory_id} is a {held.kind}, no episode", where="episode")
    if held.status != "active":
        raise IllegalTransition(f"{memory_id} is {held.status}", where="episode", todo="Restore it first")
    return held


def _ongoing(ctx: Context, memory_id: str) -> Memory:
    held = _episode(ctx, memory_id)
    if held.ended_at is not None:
        raise IllegalTransition(f"{memory_id} has ended", where="episode", todo="Start another one")
    return held


def _ended(held: Memory, summary: str, outcome: str) -> Memory:
    """An episode that has already ended, if the call adds nothing new."""
    same = summary.strip() in ("", held.summary) and outcome.strip() in ("", held.metadata.get(OUTCOME))
    if not same:
        raise IllegalTransition(f"{held.id} has ended already", where="end_episode", todo="Revise it instead")
    return held


@whole
def _count_turn(ctx: Context, memory_id: str) -> None:
    """Add one to the turn count of an episode, in one transaction so that no count is lost."""
    from wellkept.engine.gate import acts

    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        held = read.fetch(tx, memory_id)
        if held.status != "active":
            return  # archived or superseded since; nothing to update
        now = ctx.clock()
        so_far = held.metadata.get(TURNS)
        turns = so_far + 1 if isinstance(so_far, int) else 1
        told = {**held.metadata, TURNS: turns, LAST_TURN: iso(now)}
        after = replace(held, metadata=told, updated_at=now, version=held.version + 1)
        reasons = (Reason("turn", f"turn {turns} of the episode"),)
        acts.apply(
            ctx, tx, [MemoryChange(held, after)], verb="revise", outcome="revised", memory_id=held.id, reasons=reasons
        )
