"""yantrikdb: `record`, then `think`, its upkeep, so that every figure sees the store as it leaves it."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.beside.system import System, Vectors

_TYPES = {"episode": "episodic", "episodic": "episodic", "procedural": "procedural"}
_MANY = 10_000


class _Embedder:
    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def encode(self, text: str) -> list[float]:
        found: list[float] = self._vectors.of([text])[0].tolist()
        return found


class YantrikDB:
    def __init__(self, folder: Path, vectors: Vectors) -> None:
        module: Any = import_module("yantrikdb")
        path = str(folder / "yantrik.db")
        self._database = module.YantrikDB(db_path=path, embedding_dim=vectors.dim, embedder=_Embedder(vectors))

    def write(self, text: str, *, kind: str, at: datetime) -> None:
        self._database.record(text, memory_type=_TYPES.get(kind, "semantic"), created_at=at.timestamp())
        self._database.think()

    def search(self, query: str, limit: int) -> list[str]:
        return [hit["text"] for hit in self._database.recall(query, top_k=limit)]

    def all_texts(self) -> list[str]:
        rows = self._database.list_memories(limit=_MANY)["memories"]
        return [row["text"] for row in rows if row.get("consolidation_status", "active") == "active"]

    def close(self) -> None:
        self._database.close()


def open_yantrikdb(folder: Path, vectors: Vectors) -> System:
    return YantrikDB(folder, vectors)
