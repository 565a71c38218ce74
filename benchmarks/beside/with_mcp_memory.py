"""mcp-memory-service through the calls behind its tools `store_memory` and `retrieve_memory`.

It refuses a text that is similar to one of the last 24 hours, and its calls take no time. So the clock is set to that
of the write: written within a minute, texts would be refused far more often than in use.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.beside.system import Array, System, Vectors

_LIVE = "SELECT content FROM memories WHERE deleted_at IS NULL AND coalesce(superseded_by, '') = ''"


class _Embedder:
    def __init__(self, vectors: Vectors) -> None:
        self.embedding_dimension = vectors.dim
        self._vectors = vectors

    def encode(self, texts: list[str], **_: object) -> Array:
        return self._vectors.of(list(texts))


class McpMemory:
    def __init__(self, folder: Path, vectors: Vectors) -> None:
        storing: Any = import_module("mcp_memory_service.storage.sqlite_vec")
        serving: Any = import_module("mcp_memory_service.services.memory_service")

        class Storage(storing.SqliteVecMemoryStorage):  # type: ignore[misc, name-defined]
            async def _initialize_embedding_model(self) -> None:
                self.embedding_model = _Embedder(vectors)
                self.embedding_dimension = vectors.dim

        self._loop = asyncio.Runner()
        self._storage = Storage(str(folder / "memory.db"))
        self._loop.run(self._storage.initialize())
        self._service = serving.MemoryService(self._storage)

    def write(self, text: str, *, kind: str, at: datetime) -> None:
        with patch("time.time", at.timestamp):
            self._loop.run(self._service.store_memory(content=text, memory_type=kind))

    def search(self, query: str, limit: int) -> list[str]:
        found = self._loop.run(self._service.retrieve_memories(query, n_results=limit))
        return [row["content"] for row in found["memories"]]

    def all_texts(self) -> list[str]:
        return [text for (text,) in self._storage.conn.execute(_LIVE)]

    def close(self) -> None:
        self._storage.conn.close()
        self._loop.close()


def open_mcp_memory(folder: Path, vectors: Vectors) -> System:
    return McpMemory(folder, vectors)
