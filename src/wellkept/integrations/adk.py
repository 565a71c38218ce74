"""Google ADK: a memory service whose memories are kept clean."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from wellkept.errors import InvalidField
from wellkept.integrations.common.namespaces import below
from wellkept.integrations.common.turns import Turn, query_of, take_in
from wellkept.integrations.frameworks import need
from wellkept.types import Hit, RecallOptions

need("adk")

from google.adk.memory import BaseMemoryService  # noqa: E402
from google.adk.memory.base_memory_service import SearchMemoryResponse  # noqa: E402
from google.adk.memory.memory_entry import MemoryEntry  # noqa: E402
from google.genai.types import Content, Part  # noqa: E402

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

    from wellkept.engine.verbs.store import MemoryStore

FIELD = "adk"
"""The field of the metadata that holds role and session."""


class WellkeptMemoryService(BaseMemoryService):
    """The memories of each user of each application, in a namespace of their own.

    A session may be added as often as you like: each of its events is taken in once, and what is said again in other
    words is kept behind what was said first. A search gives what holds now.

    Args:
        memories: An open store.
        kind: The kind of the memories, which selects their policy.
        limit: Most memories of a search.
        min_score: Least relevance; by default that of `recall`.

    Example:
        >>> import asyncio, wellkept
        >>> from google.genai.types import Content, Part
        >>> async def work(memories):
        ...     service = WellkeptMemoryService(memories)
        ...     entry = MemoryEntry(content=Content(role="user", parts=[Part(text="Ada drinks green tea.")]))
        ...     await service.add_memory(app_name="shop", user_id="ada", memories=[entry])
        ...     found = await service.search_memory(app_name="shop", user_id="ada", query="What does Ada drink?")
        ...     return [entry.content.parts[0].text for entry in found.memories]
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     asyncio.run(work(memories))
        ['Ada drinks green tea.']
    """

    def __init__(
        self, memories: MemoryStore, *, kind: str = "note", limit: int = 10, min_score: float | None = None
    ) -> None:
        self.memories = memories
        self._kind, self._limit = kind, limit
        self._least: RecallOptions = {} if min_score is None else {"min_score": min_score}

    def of(self, app_name: str, user_id: str) -> MemoryStore:
        """The memories of a user, for `undo`, `history`, `conflicts` and the other verbs."""
        return below(self.memories, app_name=app_name, user_id=user_id)

    async def add_session_to_memory(self, session: Session) -> None:
        """Take in the events of a session that were not taken in before."""
        await self._take_in(session.app_name, session.user_id, _turns(session.events, session.id))

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Take in some events."""
        await self._take_in(app_name, user_id, _turns(events, session_id or "", custom_metadata))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories. An entry whose id was stored before is not stored again."""
        await self._take_in(app_name, user_id, [_turn(entry, custom_metadata) for entry in memories])

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Current memories of a user relevant to a query, best first.

        The metadata of an entry holds kind, score and, where there are any, the open conflicts.
        """
        asked = query_of(query)
        if not asked:
            return SearchMemoryResponse()
        memories = self.of(app_name, user_id)
        hits = await asyncio.to_thread(memories.recall, asked, limit=self._limit, **self._least)
        return SearchMemoryResponse(memories=[_entry(hit) for hit in hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget a memory; adding its session again does not bring it back, `restore` of the store does.

        Raises:
            NotFound: The user has no such memory.
        """
        if memory_id:
            await asyncio.to_thread(self.of(app_name, user_id).forget, memory_id)

    async def _take_in(self, app_name: str, user_id: str, turns: Iterable[Turn]) -> None:
        await asyncio.to_thread(take_in, self.of(app_name, user_id), turns, kind=self._kind)


def _turns(events: Iterable[Event], session_id: str, extra: Mapping[str, object] | None = None) -> list[Turn]:
    return [
        Turn(
            text=_words(event.content),
            author=event.author or "",
            key=f"adk:{event.id}" if event.id else "",
            at=datetime.fromtimestamp(event.timestamp, UTC),
            metadata=_metadata(event.content, extra, session_id=session_id, event_id=event.id),
        )
        for event in events
        if event.content is not None and not event.partial
    ]


def _turn(entry: MemoryEntry, extra: Mapping[str, object] | None) -> Turn:
    try:
        at = datetime.fromisoformat(entry.timestamp) if entry.timestamp else None
    except ValueError:
        todo = "Write it as 2026-03-01T09:00:00Z"
        raise InvalidField(f"{entry.timestamp!r} is no time", where="timestamp", todo=todo) from None
    return Turn(
        text=_words(entry.content),
        author=entry.author or "",
        key=f"adk:{entry.id}" if entry.id else "",
        at=at if at is None or at.tzinfo else at.replace(tzinfo=UTC),
        metadata=_metadata(entry.content, {**entry.custom_metadata, **(extra or {})}),
    )


def _metadata(content: Content, extra: Mapping[str, object] | None, **own: str) -> dict[str, Any]:
    held = {"role": content.role or "user", **{name: value for name, value in own.items() if value}}
    return {**(extra or {}), FIELD: held}


def _words(content: Content) -> str:
    """The texts of a content; thoughts, calls and files have none."""
    return "\n".join(part.text for part in content.parts or () if part.text and not part.thought)


def _entry(hit: Hit) -> MemoryEntry:
    row = hit.memory
    held = row.metadata.get(FIELD)
    own = held if isinstance(held, Mapping) else {}
    said: dict[str, Any] = {name: value for name, value in row.metadata.items() if name != FIELD}
    said |= {"kind": row.kind, "score": hit.score, **({"session_id": own["session_id"]} if "session_id" in own else {})}
    if hit.conflicts:
        said["conflicts"] = [conflict.reason for conflict in hit.conflicts]
    return MemoryEntry(
        id=row.id,
        content=Content(role=str(own.get("role", "user")), parts=[Part(text=row.content)]),
        author=row.agent or None,
        timestamp=(row.event_time or row.created_at).isoformat(),
        custom_metadata=said,
    )
