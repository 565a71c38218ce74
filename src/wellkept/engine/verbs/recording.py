"""What an agent's loop keeps beside its facts: decisions, and the episodes they are made in.

Thin forms over the gate: the recording filter, the window in which an episode is reused and the
guards on both are policies of the kinds `decision` and `episode`, and stay so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack

from wellkept.core.gate.worth_keeping import INFORMATIONAL_FRAMES
from wellkept.core.records.codec import iso
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import label, moment, statement
from wellkept.engine.base.retry import whole
from wellkept.engine.gate import acts, write
from wellkept.engine.lookup import read
from wellkept.engine.queue import deferred
from wellkept.errors import IllegalTransition, InvalidField
from wellkept.types import Memory, MemoryChange, MemoryFields, Reason, WriteResult

DECISION, EPISODE = "decision", "episode"
OUTCOME, TURNS, LAST_TURN = "outcome", "turns", "last_turn_at"
"""Keys of the metadata: what came of a decision or an episode, and how far an episode has gone."""


class RecordingVerbs:
    """Decisions and episodes; `MemoryStore` has these verbs beside the agent's others."""

    _ctx: Context

    def record_decision(self, content: str, *, outcome: str = "", **fields: Unpack[MemoryFields]) -> WriteResult:
        """Record a decision on purpose: it is kept in any frame and whatever it reads like.

        Args:
            content: What was decided, and why.
            outcome: What came of it, if that is known; shown as `pending` otherwise.
            **fields: Other fields of `NewMemory`, such as `confidence`, `agent`, `links`.

        Returns:
            What became of it. The same words are another decision, not a repeat.

        Raises:
            InvalidInput: A field cannot be used; nothing was written.

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
        """Record what an agent answered as a decision, if it reads like one; no model is asked.

        Nothing is decided in the frames `conversation`, `question` and `creative`, nor in a text that
        reads like a report of the agent's own state. What is not recorded is in the journal, and
        `restore` brings it back. The episode is updated either way.

        Args:
            response: What the agent answered.
            frame: The frame of the turn, such as `task` or `decision`.
            decided: The agent has called `record_decision` in this turn, so that the text is not taken
                for a mere report.
            episode: Id of the episode that the turn belongs to; the decision is linked to it.
            **fields: Other fields of `NewMemory`.

        Returns:
            What became of the decision: `created`, or `rejected` with the reason.

        Raises:
            NotFound: No such episode; nothing was written.
            IllegalTransition: It is none, or has ended; nothing was written.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     told = store.record_turn("Here's my current status: all green.", frame="task")
            >>> told.outcome, told.reasons[0].rule
            ('rejected', 'recording_filter')
        """
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
        """Begin an episode, or go on with the one that is under way.

        An episode of the same agent that began within the last 30 minutes, has not ended and shares more
        than 70 % of the words is reused, unless a difference tells the two apart. It never waits
        in a queue, since its id is needed at once.

        Args:
            content: What is going on.
            **fields: Other fields of `NewMemory`; a `summary` is compared in place of the text.

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
        if fields.get("ended_at") is not None:
            raise InvalidField("an episode that begins has not ended", where="ended_at", todo="Call end_episode later")
        return write.remember(self._ctx, statement(content, _of_kind(EPISODE, fields), self._ctx.policy))

    def end_episode(
        self, episode_id: str, *, summary: str = "", outcome: str = "", at: datetime | str | None = None
    ) -> Memory:
        """Close an episode: it is kept, and not reused any more. Ending it again changes nothing.

        Args:
            episode_id: Its id, or the beginning of it.
            summary: What it came to, in short; the summary it has stays otherwise.
            outcome: How it went, kept in the metadata.
            at: When it ended; now by default.

        Returns:
            The episode as it is now.

        Raises:
            NotFound: No such memory.
            IllegalTransition: It is no episode, or no current one, or it ended with another summary or outcome.
            InvalidField: `at` is no time, or lies before the beginning.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     episode = store.start_episode("Moving the billing export").memory
            ...     ended = store.end_episode(episode.id, summary="The export runs behind a flag.")
            ...     store.start_episode("Moving the billing export").outcome
            'created'
        """
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
        InvalidField: Another kind was named.
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
    """An episode that has ended already, if nothing else is to be said of it."""
    same = summary.strip() in ("", held.summary) and outcome.strip() in ("", held.metadata.get(OUTCOME))
    if not same:
        raise IllegalTransition(f"{held.id} has ended already", where="end_episode", todo="Revise it instead")
    return held


@whole
def _count_turn(ctx: Context, memory_id: str) -> None:
    """One more turn of an episode, read and written in one transaction so that none is lost."""
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        held = acts.fetch(tx, memory_id)
        if held.status != "active":
            return  # somebody has put it away since; there is nothing to bring up to date
        now = ctx.clock()
        so_far = held.metadata.get(TURNS)
        turns = so_far + 1 if isinstance(so_far, int) else 1
        told = {**held.metadata, TURNS: turns, LAST_TURN: iso(now)}
        after = replace(held, metadata=told, updated_at=now, version=held.version + 1)
        reasons = (Reason("turn", f"turn {turns} of the episode"),)
        acts.apply(
            ctx, tx, [MemoryChange(held, after)], verb="revise", outcome="revised", memory_id=held.id, reasons=reasons
        )
