"""Anthropic: the memory tool of Claude, over memories instead of files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wellkept.errors import WellkeptError
from wellkept.integrations.frameworks import need
from wellkept.integrations.memory_folder import MemoryFolder
from wellkept.types import Kind

need("anthropic")

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError  # noqa: E402

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore


class WellkeptMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `client.beta.messages.run_tools`.

    Args:
        memories: An open store.
        kind: The kind of new files.
        **options: As of `BetaAbstractMemoryTool`, such as `cache_control`.

    Example:
        >>> import wellkept
        >>> from wellkept.integrations.anthropic import WellkeptMemoryTool
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     tool = WellkeptMemoryTool(memories)
        ...     tool.call({"command": "create", "path": "/memories/tea.md", "file_text": "Tea is upstairs."})
        'File created successfully at: /memories/tea.md'
    """

    def __init__(self, memories: MemoryStore, *, kind: Kind = "note", **options: Any) -> None:
        super().__init__(**options)
        self.folder = MemoryFolder(memories, kind=kind)

    def execute(self, command: Any) -> str:
        """Run a command; what the model is told."""
        return _run(self.folder, command)

    view = create = str_replace = insert = delete = rename = execute


class AsyncWellkeptMemoryTool(BetaAsyncAbstractMemoryTool):
    """As `WellkeptMemoryTool`, for the asynchronous client; each command runs in a thread."""

    def __init__(self, memories: MemoryStore, *, kind: Kind = "note", **options: Any) -> None:
        super().__init__(**options)
        self.folder = MemoryFolder(memories, kind=kind)

    async def execute(self, command: Any) -> str:
        """Run a command; what the model is told."""
        return await asyncio.to_thread(_run, self.folder, command)

    view = create = str_replace = insert = delete = rename = execute


def _run(folder: MemoryFolder, command: Any) -> str:
    """Run a command of the model, given as the SDK reads it or as a mapping.

    Raises:
        ToolError: It cannot be run; the model is told why.
    """
    fields: Mapping[str, Any] = command if isinstance(command, Mapping) else command.model_dump()
    try:
        return folder.run(fields)
    except WellkeptError as error:
        raise ToolError(error.what) from error
