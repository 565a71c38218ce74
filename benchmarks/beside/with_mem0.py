"""mem0, all on this machine: `infer=False`, since its extraction needs a language model."""

from __future__ import annotations

import os
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.beside.system import System, Vectors

_USER = {"user_id": "agent"}
_MANY = 10_000


class _Embedder:
    """Takes the place of the embedder that mem0 made; the same two calls."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        found: list[list[float]] = self._vectors.of(texts).tolist()
        return found


class Mem0:
    def __init__(self, folder: Path, vectors: Vectors) -> None:
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder / "home"))
        module: Any = import_module("mem0")
        unused = {"provider": "openai", "config": {"api_key": "unused"}}  # made, and never called
        qdrant = {"path": str(folder / "qdrant"), "collection_name": "m", "embedding_model_dims": vectors.dim}
        self._memory = module.Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {**qdrant, "on_disk": True}},
                "embedder": unused,
                "llm": unused,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Embedder(vectors)

    def write(self, text: str, *, kind: str, at: datetime) -> None:
        self._memory.add(text, infer=False, metadata={"kind": kind}, **_USER)

    def search(self, query: str, limit: int) -> list[str]:
        found = self._memory.search(query, filters=_USER, top_k=limit)
        return [hit["memory"] for hit in found["results"]]

    def all_texts(self) -> list[str]:
        return [row["memory"] for row in self._memory.get_all(filters=_USER, top_k=_MANY)["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


def open_mem0(folder: Path, vectors: Vectors) -> System:
    return Mem0(folder, vectors)
