"""Microsoft Agent Framework: a context provider that says what is known, offers tools, and takes in what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wellkept.integrations.common.tools import INSTRUCTIONS, MemoryTools
from wellkept.integrations.common.turns import Turn, query_of, take_in
from wellkept.integrations.frameworks import need

need("agent_framework")

from agent_framework import AgentSession, ContextProvider, Message, SessionContext, tool  # noqa: E402

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore


class WellkeptProvider(ContextProvider):
    """The long-term memory of an agent, for `context_providers`.

    Before a run, what is known about the input is added as a message, and the tools are offered. After a run, what the
    user said goes through the gate, if `take_in` says so; what became of it is in `session.state`.

    Args:
        memories: An open store, in the namespace of the user or agent: all sessions of the agent share it.
        source_id: Names the provider among those of the agent.
        tools: Names of the tools the model gets.
        budget_tokens: Most tokens of what is known, and of an answer of `recall`; 0 adds nothing before a run.
        take_in: Roles whose messages are taken in after a run, such as `user`; by default the model remembers with the
            tools what is worth it.
        kind: The kind of what is taken in, which selects its policy.

    Example:
        >>> import asyncio, wellkept
        >>> async def work(memories):
        ...     provider, session = WellkeptProvider(memories, take_in=("user",)), AgentSession(session_id="1")
        ...     context = SessionContext(input_messages=[Message("user", ["Ada drinks green tea."])])
        ...     state = session.state.setdefault(provider.source_id, {})
        ...     await provider.after_run(agent=None, session=session, context=context, state=state)
        ...     return [written["outcome"] for written in state["written"]]
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     asyncio.run(work(memories))
        ['created']
    """

    def __init__(
        self,
        memories: MemoryStore,
        *,
        source_id: str = "wellkept",
        tools: Sequence[str] = ("remember", "recall", "forget", "undo"),
        budget_tokens: int = 800,
        take_in: Sequence[str] = (),
        kind: str = "note",
    ) -> None:
        super().__init__(source_id)
        self.memories = memories
        self._budget, self._roles, self._kind = budget_tokens, tuple(take_in), kind
        functions = MemoryTools(memories, budget_tokens=budget_tokens or 800).functions(tools)
        self._tools = [tool(function) for function in functions]

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add what is known about the input, and the tools."""
        if self._tools:
            context.extend_instructions(self.source_id, INSTRUCTIONS)
            context.extend_tools(self.source_id, self._tools)
        query = query_of(*(message.text for message in context.input_messages if message.role == "user"))
        if query and self._budget:
            pack = await asyncio.to_thread(self.memories.pack, query, budget_tokens=self._budget)
            if pack.text:
                context.extend_messages(self, [Message("user", [pack.text])])

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Take in what was said in the run; `state["written"]` says what became of each text."""
        if not self._roles:
            return
        said = [*context.input_messages, *(context.response.messages if context.response else ())]
        turns = [
            Turn(message.text, author=message.author_name or message.role, metadata={"session_id": session.session_id})
            for message in said
            if message.role in self._roles
        ]
        results = await asyncio.to_thread(take_in, self.memories, turns, kind=self._kind)
        state["written"] = [{"outcome": one.outcome, "id": one.id, "message": one.message} for one in results]
