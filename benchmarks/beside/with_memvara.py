"""memvara through `remember`: its `add` keeps no facts of free text without a language model."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.beside.system import Array, System, Vectors


class _Embedder:
    name = "minilm"

    def __init__(self, vectors: Vectors) -> None:
        self.dim = vectors.dim
        self._vectors = vectors

    def encode(self, texts: list[str]) -> Array:
        return self._vectors.of(list(texts))


class Memvara:
    def __init__(self, folder: Path, vectors: Vectors) -> None:
        module: Any = import_module("memvara")
        self._memory = module.Memvara(str(folder / "memvara.db"), embedder=_Embedder(vectors), llm=module.NullLLM())

    def write(self, text: str, *, kind: str, at: datetime) -> None:
        self._memory.remember("agent", kind, text, valid_from=at, recorded_at=at)
        self._memory.consolidate()

    def search(self, query: str, limit: int) -> list[str]:
        return [hit.claim.object for hit in self._memory.search(query, k=limit)]

    def all_texts(self) -> list[str]:
        return [claim.object for claim in self._memory.get_all()]

    def close(self) -> None:
        self._memory.close()


def open_memvara(folder: Path, vectors: Vectors) -> System:
    return Memvara(folder, vectors)
