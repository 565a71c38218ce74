"""ai-houkai under two of its policies for similar texts: `ignore`, its default, and `supersede`."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.beside.system import System, Vectors

_TYPES = {"episode": "episodic", "episodic": "episodic", "procedural": "procedural"}
_MANY = 10_000


class Houkai:
    def __init__(self, folder: Path, vectors: Vectors, policy: str) -> None:
        module: Any = import_module("ai_houkai.memory_system")

        def embed(texts: list[str]) -> list[list[float]]:
            found: list[list[float]] = vectors.of(list(texts)).tolist()
            return found

        self._memory = module.MemoryStore(path=str(folder / "chroma"), embedding_function=embed, conflict_policy=policy)

    def write(self, text: str, *, kind: str, at: datetime) -> None:
        self._memory.remember(text, type=_TYPES.get(kind, "semantic"))

    def search(self, query: str, limit: int) -> list[str]:
        return [memory.text for memory, *_ in self._memory.recall(query, k=limit)]

    def all_texts(self) -> list[str]:
        return [memory.text for memory in self._memory.list_recent(_MANY)]

    def close(self) -> None:
        pass  # Chroma has no call for it


def open_ignoring(folder: Path, vectors: Vectors) -> System:
    return Houkai(folder, vectors, "ignore")


def open_superseding(folder: Path, vectors: Vectors) -> System:
    return Houkai(folder, vectors, "supersede")
