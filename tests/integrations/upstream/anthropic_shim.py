"""Puts the memory tool where the tests of Anthropic's SDK expect its tool of local files; a plugin of their pytest run.

The tests look at a folder on disk, so the virtual folder is written there after each command, and what they put there
is taken in before one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anthropic.lib.tools._beta_builtin_memory_tool as theirs
import anyio

import wellkept
from wellkept.integrations.anthropic import AsyncWellkeptMemoryTool, WellkeptMemoryTool
from wellkept.integrations.memory_folder import ROOT, MemoryFolder


class OnDisk:
    """A virtual folder and its picture on disk."""

    def __init__(self, base: str) -> None:
        self.base_path = Path(base)
        self._root = self.base_path / "memories"
        self._root.mkdir(parents=True, exist_ok=True)
        self.memory_root: Any = self._root

    def take_in(self, folder: MemoryFolder) -> None:
        known = folder.files()
        for file in self._root.rglob("*"):
            path = f"{ROOT}/{file.relative_to(self._root)}"
            if file.is_file() and not file.is_symlink() and path not in known:
                folder.create(path, file.read_bytes().decode())

    def picture(self, folder: MemoryFolder) -> None:
        files = folder.files()
        for path, text in files.items():
            place = self.base_path / path.removeprefix("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode())
        for file in list(self._root.rglob("*")):
            if file.is_file() and f"/{file.relative_to(self.base_path)}" not in files:
                file.unlink()


class Tool(OnDisk, WellkeptMemoryTool):
    """The synchronous tool."""

    def __init__(self, base_path: str = "./memory") -> None:
        OnDisk.__init__(self, base_path)
        WellkeptMemoryTool.__init__(self, wellkept.open("memory:", embedder="hashing"))

    def execute(self, command: Any) -> str:
        self.take_in(self.folder)
        said = super().execute(command)
        self.picture(self.folder)
        return said

    view = create = str_replace = insert = delete = rename = execute


class AsyncTool(OnDisk, AsyncWellkeptMemoryTool):
    """The asynchronous tool."""

    def __init__(self, base_path: str = "./memory") -> None:
        OnDisk.__init__(self, base_path)
        AsyncWellkeptMemoryTool.__init__(self, wellkept.open("memory:", embedder="hashing"))
        self.memory_root = anyio.Path(self._root)

    async def execute(self, command: Any) -> str:
        self.take_in(self.folder)
        said = await super().execute(command)
        self.picture(self.folder)
        return said

    view = create = str_replace = insert = delete = rename = execute


theirs.BetaLocalFilesystemMemoryTool = Tool  # type: ignore[assignment, misc]
theirs.BetaAsyncLocalFilesystemMemoryTool = AsyncTool  # type: ignore[assignment, misc]
