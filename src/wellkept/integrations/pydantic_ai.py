"""Pydantic AI: a toolset with which an agent remembers, recalls, forgets and undoes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wellkept.integrations.common.tools import INSTRUCTIONS, MemoryTools
from wellkept.integrations.common.turns import query_of
from wellkept.integrations.frameworks import need

need("pydantic_ai")

from pydantic_ai import FunctionToolset, RunContext  # noqa: E402

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore


class WellkeptToolset(FunctionToolset[Any]):
    """The memory of an agent: tools for the model, and what is known about the prompt among the instructions.

    Args:
        memories: An open store, in the namespace of the user or agent.
        tools: Names of the tools the model gets.
        budget_tokens: Most tokens of what is known, and of an answer of `recall`; 0 adds nothing to the instructions.
        **options: As of `FunctionToolset`, such as `id` or `requires_approval`.

    Example:
        >>> import asyncio, wellkept
        >>> from pydantic_ai import Agent
        >>> from pydantic_ai.models.test import TestModel
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     agent = Agent(TestModel(call_tools=["recall"]), toolsets=[WellkeptToolset(memories)])
        ...     print(asyncio.run(agent.run("Where is the tea?")).output)
        {"recall":"Nothing found."}
    """

    def __init__(
        self,
        memories: MemoryStore,
        *,
        tools: Sequence[str] = ("remember", "recall", "forget", "undo"),
        budget_tokens: int = 800,
        **options: Any,
    ) -> None:
        self.memories = memories
        self._budget = budget_tokens
        functions = MemoryTools(memories, budget_tokens=budget_tokens or 800).functions(tools)
        super().__init__(functions, instructions=[*([INSTRUCTIONS] if tools else []), self._known], **options)

    async def _known(self, ctx: RunContext[Any]) -> str | None:
        """What is known about the prompt of the run."""
        parts = [ctx.prompt] if isinstance(ctx.prompt, str) else ctx.prompt or ()
        query = query_of(*(part for part in parts if isinstance(part, str)))  # an image has no words
        if not query or not self._budget:
            return None
        pack = await asyncio.to_thread(self.memories.pack, query, budget_tokens=self._budget)
        return pack.text or None
