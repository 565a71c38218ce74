"""The baseline: every text is kept, and a search is the order of the cosines."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np

from benchmarks.beside.system import System, Vectors


class KeepAll:
    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._texts: list[str] = []

    def write(self, text: str, *, kind: str, at: datetime) -> None:
        self._texts.append(text)

    def search(self, query: str, limit: int) -> list[str]:
        if not self._texts:
            return []
        scores = self._vectors.of(self._texts) @ self._vectors.of([query])[0]
        return [self._texts[place] for place in np.argsort(-scores, kind="stable")[:limit]]

    def all_texts(self) -> list[str]:
        return list(self._texts)

    def close(self) -> None:
        self._texts.clear()


def open_keep_all(folder: Path, vectors: Vectors) -> System:
    return KeepAll(vectors)
