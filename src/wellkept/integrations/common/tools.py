"""Tools for a model: functions with plain arguments whose answers are texts; a framework makes its tools of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wellkept.errors import AmbiguousId, ConflictError, InvalidField, InvalidInput, NotFound, UndoBlocked, use_one_of

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.types import WriteResult

ToolFunction: TypeAlias = Callable[..., Coroutine[Any, Any, str]]

INSTRUCTIONS = (
    "You have a long-term memory. Recall before you answer about the user or earlier work. Remember what will matter "
    "later, one statement at a time; the answer says whether it was new, known, an update or a conflict."
)
"""What a model should know about the tools."""
_NOTHING = "Nothing found."


class MemoryTools:
    """The tools `remember`, `recall`, `forget` and `undo` over one namespace.

    What a model gets wrong is answered in words; a store that cannot be read or written raises.

    Args:
        memories: An open store, in the namespace of the user or agent that the tools serve.
        budget_tokens: Most tokens of an answer of `recall`.

    Example:
        >>> import asyncio, wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     tools = MemoryTools(store)
        ...     print(asyncio.run(tools.remember("The staging server listens on port 8080.", kind="fact")))
        ...     print(asyncio.run(tools.forget("nothing like it")))
        Stored: "The staging server listens on port 8080." (...).
        undo(1) takes this back.
        Not done: no memory 'nothing like it'...
    """

    def __init__(self, memories: MemoryStore, *, budget_tokens: int = 800) -> None:
        self.memories = memories
        self._budget = budget_tokens

    def functions(self, names: Sequence[str] = ("remember", "recall", "forget", "undo")) -> list[ToolFunction]:
        """The tools as functions, by their names.

        Raises:
            InvalidField: There is no tool of that name.
        """
        offered: dict[str, ToolFunction] = {
            "remember": self.remember,
            "recall": self.recall,
            "forget": self.forget,
            "undo": self.undo,
        }
        for name in names:
            if name not in offered:
                raise InvalidField(f"{name!r} is no tool", where="names", todo=use_one_of(name, offered))
        return [offered[name] for name in names]

    async def remember(
        self, text: str, kind: Literal["fact", "preference", "lesson", "decision", "note"] = "note"
    ) -> str:
        """Store one statement in long-term memory. It is compared with what is stored; the answer says what happened.

        Args:
            text: The statement, in a sentence that is understood without the conversation.
            kind: fact for what can change over time, preference for what somebody likes, lesson for what was learnt,
                decision for what was decided and why, note for anything else.
        """
        return await _answer(lambda: written(self.memories.remember(text, kind=kind)))

    async def recall(self, query: str) -> str:
        """Current memories relevant to a query, best first, with ids, dates and open conflicts.

        Args:
            query: What to look for, as a question or in words.
        """
        return await _answer(lambda: self.memories.pack(query, budget_tokens=self._budget).text or _NOTHING)

    async def forget(self, memory_id: str) -> str:
        """Put a memory away that is wrong or no longer wanted. It can be brought back with undo.

        Args:
            memory_id: The id of the memory, as recall shows it.
        """
        return await _answer(lambda: f"Forgotten. undo({self.memories.forget(memory_id)}) brings it back.")

    async def undo(self, entry: int) -> str:
        """Take back what remember or forget did.

        Args:
            entry: The number that the answer of that call named.
        """
        return await _answer(lambda: f"Undone; undo({self.memories.undo(entry)}) does it again.")


def written(result: WriteResult) -> str:
    """What the gate did with a text, in words for a model.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     print(written(store.remember("Tea is upstairs.")))
        Stored: "Tea is upstairs." (...).
        undo(1) takes this back.
    """
    undo = f"\nundo({result.entry}) takes this back." if result.entry else ""
    return f"{result}{undo}"


async def _answer(act: Callable[[], str]) -> str:
    """The answer of an act, run in a thread so that the event loop is not blocked."""
    try:
        return await asyncio.to_thread(act)
    except (InvalidInput, NotFound, AmbiguousId, ConflictError, UndoBlocked) as error:
        return f"Not done: {error}"
