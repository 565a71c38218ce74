"""Strands Agents: a memory store for their memory manager, with tools for the model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wellkept.errors import IllegalTransition, InvalidField
from wellkept.integrations.common.tools import MemoryTools
from wellkept.integrations.common.turns import Turn, query_of, take_in
from wellkept.integrations.frameworks import need
from wellkept.types import Hit, WriteResult

need("strands")

from strands import tool  # noqa: E402
from strands.memory.types import AddMessagesContext, MemoryEntry, MemoryStore, SearchOptions  # noqa: E402

if TYPE_CHECKING:
    from strands.types.content import Message
    from strands.types.tools import AgentTool

    from wellkept.engine.verbs.store import MemoryStore as WellkeptStore

_LIMIT = 5
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
"""What the name of a tool must not have."""


class WellkeptMemoryStore(MemoryStore):
    """A store for `MemoryManager`: it searches what holds now, and each write goes through the gate.

    Args:
        memories: An open store, in the namespace of the user or agent.
        name: Names the store among those of the manager.
        description: Tells the model what is kept here.
        kind: The kind of what is added, which selects its policy.
        max_search_results: Memories of a search that names no number.
        writable: Whether the agent may write.
        extraction: When messages of the conversation are taken in by themselves, as of other stores; off by default.
        tools: Tools that the model gets beside those of the manager: their answers say what became of a write.

    Example:
        >>> import asyncio, wellkept
        >>> async def work(memories):
        ...     store = WellkeptMemoryStore(memories, kind="fact")
        ...     await store.add("Ada's deploys run on port 8080.")
        ...     added = await store.add("Ada's deploys run on port 9090.")
        ...     return added["outcome"], [entry.content for entry in await store.search("port of Ada's deploys")]
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     asyncio.run(work(memories))
        ('superseded', ["Ada's deploys run on port 9090."])
    """

    def __init__(
        self,
        memories: WellkeptStore,
        *,
        name: str = "wellkept",
        description: str | None = None,
        kind: str = "note",
        max_search_results: int = _LIMIT,
        writable: bool = True,
        extraction: Any = None,
        tools: Sequence[str] = ("remember", "forget", "undo"),
    ) -> None:
        if not name.strip():
            raise InvalidField("is empty", where="name", todo="Name the store")
        self.name, self.description, self.writable, self.extraction = name, description, writable, extraction
        self.memories = memories
        self.max_search_results = _count(max_search_results)
        self._kind, self._tools = kind, tuple(tools)

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Current memories relevant to a query, best first.

        The metadata of an entry holds id, kind, date, score and, where there are any, the open conflicts.
        """
        given = (options or {}).get("max_search_results")
        limit = self.max_search_results if given is None else _count(given)
        asked = query_of(query)
        hits = await asyncio.to_thread(self.memories.recall, asked, limit=limit) if asked else ()
        return [_entry(hit) for hit in hits]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Store a text; the answer holds the outcome of the gate, the id, a sentence, and the entry for `undo`.

        Raises:
            IllegalTransition: The store is not writable.
            InvalidInput: The text or the metadata cannot be stored.
        """
        self._check_writable()
        written = await asyncio.to_thread(
            self.memories.remember, content, kind=self._kind, metadata=dict(metadata or {})
        )
        return _said(written)

    async def add_messages(
        self, messages: list[Message], context: AddMessagesContext | None = None
    ) -> list[dict[str, Any]]:
        """Take in what was said: each text of a message, without tool calls and files. A batch may come again."""
        self._check_writable()
        turns = [
            Turn(block["text"], author=message["role"])
            for message in messages
            for block in message["content"]
            if "text" in block
        ]
        results = await asyncio.to_thread(take_in, self.memories, turns, kind=self._kind)
        return [_said(result) for result in results]

    def get_tools(self) -> list[AgentTool]:
        """The tools of the model, named after the store: `wellkept_remember`, …; none if the store is not writable."""
        functions = MemoryTools(self.memories).functions(self._tools) if self.writable else []
        prefix = _NO_NAME.sub("_", self.name)
        return [tool(name=f"{prefix}_{function.__name__}")(function) for function in functions]

    def _check_writable(self) -> None:
        if not self.writable:
            raise IllegalTransition("the store is not writable", where=self.name, todo="Pass writable=True")


def _count(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InvalidField(f"{given!r} is no number of memories", where="max_search_results", todo="Use 1 or more")
    return given


def _entry(hit: Hit) -> MemoryEntry:
    row = hit.memory
    said = {"id": row.id, "kind": row.kind, "created_at": row.created_at.isoformat(), "score": hit.score}
    more = {"conflicts": [conflict.reason for conflict in hit.conflicts]} if hit.conflicts else {}
    return MemoryEntry(content=row.content, metadata={**row.metadata, **said, **more})


def _said(result: WriteResult) -> dict[str, Any]:
    return {"outcome": result.outcome, "id": result.id, "message": result.message, "entry": result.entry}
