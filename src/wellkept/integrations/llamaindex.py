"""LlamaIndex: a memory block that says what is known, and takes in what leaves the short-term memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wellkept.integrations.common.namespaces import below
from wellkept.integrations.common.turns import Turn, query_of, take_in
from wellkept.integrations.frameworks import need

need("llamaindex")

from llama_index.core.base.llms.types import ChatMessage  # noqa: E402
from llama_index.core.bridge.pydantic import Field, PrivateAttr  # noqa: E402
from llama_index.core.memory import BaseMemoryBlock  # noqa: E402

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.types import WriteResult

_KEPT = 16
"""Packs that can be cut again."""


class WellkeptMemoryBlock(BaseMemoryBlock[str]):
    """The long-term memory of an agent, for `memory_blocks` of `Memory`.

    Attributes:
        memories: An open store, in the namespace of the user or agent.
        kind: The kind of what is taken in, which selects its policy.
        roles: Whose messages are taken in.
        budget_tokens: Most tokens of what is known.
        per_session: Keep the memories of each session apart; by default all sessions share them.
        last_written: What the gate did with the messages that were handed over last.

    Example:
        >>> import asyncio, wellkept
        >>> async def work(memories):
        ...     block = WellkeptMemoryBlock(memories=memories)
        ...     await block.aput([ChatMessage(role="user", content="Ada drinks green tea.")])
        ...     return await block.aget([ChatMessage(role="user", content="What does Ada drink?")])
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     "Ada drinks green tea." in asyncio.run(work(memories))
        True
    """

    name: str = "long_term_memory"
    memories: Any = Field(exclude=True)
    kind: str = "note"
    roles: tuple[str, ...] = ("user",)
    budget_tokens: int = 800
    per_session: bool = False
    last_written: Sequence[Any] = Field(default=(), exclude=True)
    _packs: OrderedDict[str, tuple[Any, str, int]] = PrivateAttr(default_factory=OrderedDict)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """What is known about the newest message of the user; empty if nothing is."""
        asked = next((one.content for one in reversed(messages or ()) if one.role == "user" and one.content), "")
        query = query_of(asked or "")
        memories = self._of(block_kwargs.get("session_id"))
        return await self._pack(memories, query, self.budget_tokens) if query else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Take in messages: each text goes through the gate."""
        written: list[WriteResult] = []
        for message in messages:
            if message.role in self.roles and message.content:
                session = message.additional_kwargs.get("session_id")
                turn = Turn(message.content, author=str(message.role.value), metadata=_metadata(session))
                written += await asyncio.to_thread(take_in, self._of(session), [turn], kind=self.kind)
        self.last_written = tuple(written)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """What is known in fewer tokens; None if nothing fits."""
        memories, query, tokens = self._packs.get(content, (None, "", 0))
        budget = tokens - tokens_to_truncate
        return await self._pack(memories, query, budget) or None if memories is not None and budget > 0 else None

    async def _pack(self, memories: MemoryStore, query: str, budget: int) -> str:
        pack = await asyncio.to_thread(memories.pack, query, budget_tokens=budget)
        self._packs[pack.text] = (memories, query, pack.tokens)
        while len(self._packs) > _KEPT:
            self._packs.popitem(last=False)
        return pack.text

    def _of(self, session: str | None) -> MemoryStore:
        memories: MemoryStore = self.memories
        return below(memories, folder="sessions", session_id=session) if self.per_session and session else memories


def _metadata(session: str | None) -> dict[str, str]:
    return {"session_id": session} if session else {}
