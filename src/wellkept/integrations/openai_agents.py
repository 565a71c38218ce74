"""OpenAI Agents SDK: a session that keeps a conversation, tools for the model, and instructions with what is known."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from wellkept.errors import IllegalTransition, InvalidField
from wellkept.integrations.common.namespaces import below
from wellkept.integrations.common.tools import INSTRUCTIONS, MemoryTools
from wellkept.integrations.common.turns import query_of
from wellkept.integrations.frameworks import need
from wellkept.integrations.keyed import new_key
from wellkept.types import Filter, Memory
from wellkept.types.showing import line

need("openai_agents")

from agents import Agent, FunctionTool, RunContextWrapper, SessionABC, SessionSettings, function_tool  # noqa: E402

if TYPE_CHECKING:
    from agents import TResponseInputItem

    from wellkept.engine.verbs.store import MemoryStore

FIELD = "openai_agents"
"""The field of the metadata that holds an item as JSON; True if the content holds it."""
_LARGEST = 60_000
"""Characters of an item that the metadata can hold."""
_SEARCHED = 2_000
"""Characters of an item that are searched."""
_END = (datetime.max.replace(tzinfo=UTC), "")


class WellkeptSession(SessionABC):
    """The items of one conversation, each kept exactly, in a namespace of its own.

    Nothing is compared: a conversation may say the same thing twice. What should be known in other conversations is
    remembered with `memory_tools`. An item that is popped or cleared is forgotten, so `undo` brings it back.

    Args:
        session_id: Names the conversation.
        memories: An open store; the session lies below its namespace.
        session_settings: As of the other sessions of the SDK: `limit` for the items that a run sees.

    Example:
        >>> import asyncio, wellkept
        >>> async def talk(memories):
        ...     session = WellkeptSession("chat-1", memories)
        ...     await session.add_items([{"role": "user", "content": "Where is the tea?"}])
        ...     return await session.get_items()
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     asyncio.run(talk(memories))
        [{'role': 'user', 'content': 'Where is the tea?'}]
    """

    def __init__(
        self,
        session_id: str,
        memories: MemoryStore,
        *,
        session_settings: SessionSettings | Mapping[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        given = session_settings or {}
        self.session_settings = SessionSettings(**given) if isinstance(given, Mapping) else given
        self.memories = below(memories, folder="sessions", session_id=session_id)
        self._changing = threading.RLock()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items, oldest first; with a limit the newest ones."""
        settings = self.session_settings
        most = settings.limit if limit is None and settings is not None else limit
        return await asyncio.to_thread(lambda: [_item_of(row) for row in self._rows(most)])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items after the others: all, or none.

        Raises:
            InvalidField: An item is no JSON, or too large.
        """
        if items:
            await asyncio.to_thread(self._add, [_row_of(item, new_key(self.memories)) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Forget the newest item, and return it; None if there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Forget all items."""
        await asyncio.to_thread(self._clear)

    def _rows(self, limit: int | None = None) -> list[Memory]:
        if limit is not None and limit <= 0:
            return []
        rows = self.memories.list(Filter(kinds=(_KIND,), before=_END), limit=limit)
        return [row for row in rows if FIELD in row.metadata]

    def _add(self, rows: list[dict[str, Any]]) -> None:
        with self._changing:
            batch = self.memories.remember_many(rows, on_conflict="ignore")
            if batch.errors:
                for result in batch.results:
                    if result is not None:
                        self.memories.forget(result.id)
                raise InvalidField(batch.errors[0].message.rstrip("."), where=f"items[{batch.errors[0].index}]")
            if any(result is not None and result.memory is None for result in batch.results):
                todo = "Leave the `deferred` block, or open the store again"
                raise IllegalTransition("a session reads its items back; these wait", where="queue", todo=todo)

    def _pop(self) -> Any:
        with self._changing:
            while rows := self._rows(1):
                try:
                    self.memories.forget(rows[-1].id)
                except IllegalTransition:  # another process was faster
                    continue
                return _item_of(rows[-1])
            return None

    def _clear(self) -> None:
        with self._changing:
            for row in self._rows():
                with suppress(IllegalTransition):  # another process was faster
                    self.memories.forget(row.id)


def memory_tools(
    memories: MemoryStore,
    *,
    tools: Sequence[str] = ("remember", "recall", "forget", "undo"),
    budget_tokens: int = 800,
) -> list[FunctionTool]:
    """Tools for an agent, over the memories of its user.

    Args:
        memories: An open store, in the namespace of the user or agent.
        tools: Names of the tools the model gets.
        budget_tokens: Most tokens of an answer of `recall`.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     [tool.name for tool in memory_tools(memories, tools=["remember", "recall"])]
        ['remember', 'recall']
    """
    functions = MemoryTools(memories, budget_tokens=budget_tokens).functions(tools)
    # A store that cannot be read is an error of the program, not an answer for the model.
    return [function_tool(function, failure_error_function=None) for function in functions]


def memory_instructions(
    memories: MemoryStore, instructions: str = INSTRUCTIONS, *, budget_tokens: int = 800
) -> Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]:
    """Instructions for an agent, followed by what is known about the input of the turn.

    Args:
        memories: An open store, in the namespace of the user or agent.
        instructions: What the agent should do.
        budget_tokens: Most tokens of what is known.

    Example:
        >>> import asyncio, wellkept
        >>> from agents import Agent, RunContextWrapper
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     _ = memories.remember("The tea is upstairs.")
        ...     agent = Agent("helper", instructions=memory_instructions(memories, "Be brief."))
        ...     asked = RunContextWrapper(None, turn_input=[{"role": "user", "content": "Where is the tea?"}])
        ...     "The tea is upstairs." in asyncio.run(agent.get_system_prompt(asked))
        True
    """

    async def known(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
        asked = [_get(item, "content") for item in context.turn_input if _get(item, "role") == "user"]
        query = query_of(*(text for content in asked for text in _texts(content)))
        if not query:
            return instructions
        pack = await asyncio.to_thread(memories.pack, query, budget_tokens=budget_tokens)
        return "\n\n".join(filter(None, (instructions, pack.text)))

    return known


_KIND = "turn_summary"  # append-only: never rejected, compared or merged


def _row_of(item: Any, key: str) -> dict[str, Any]:
    """The memory of an item; `key` is its own, because the same item may come again.

    Raises:
        InvalidField: It is no JSON.
    """
    try:
        whole = json.dumps(item, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField(f"an item is no JSON: {error}", where="items", todo="Pass what the SDK gives") from error
    words = " ".join(_texts(_get(item, "content") or _get(item, "output") or _get(item, "arguments")))
    fits = len(whole) <= _LARGEST
    said = line(words, _SEARCHED) or line(whole, _SEARCHED)
    return {
        "content": said if fits else whole,
        "kind": _KIND,
        "pinned": True,
        "metadata": {FIELD: whole if fits else True},
        "idempotency_key": key,
    }


def _item_of(row: Memory) -> Any:
    held = row.metadata[FIELD]
    return json.loads(held if isinstance(held, str) else row.content)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else None


def _texts(content: Any) -> Iterator[str]:
    """The words of a content: a text, or the texts among its parts."""
    for part in content if isinstance(content, list | tuple) else [content]:
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            yield text
