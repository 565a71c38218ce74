"""The floor: the minimum work of a durable memory with search per write, as the baseline of the ratios.

SQLite in WAL mode with the durability of the product (`synchronous=FULL`), one row with its text and its vector as
float16 BLOB, FTS5 over the text, one transaction per text, and an exact scan for the nearest row. It has no judgement,
no journal and no undo. Cache size and checkpoint interval are those of the product, so that no setting slows the floor.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from wellkept.models.port import Embedder

_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "cache_size = -32768",
    "wal_autocheckpoint = 4000",
)
_SCHEMA = """
CREATE TABLE memory (id INTEGER PRIMARY KEY, text TEXT NOT NULL, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (text, content = 'memory', content_rowid = 'id');
"""


class Floor:
    """A file of texts with vectors; memory also holds the matrix of all vectors.

    Args:
        path: The file, which must not exist.
        embedder: The product's embedder; its time is part of both.
    """

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._embedder = embedder
        self._database = sqlite3.connect(path, isolation_level=None)
        for setting in _SETTINGS:
            self._database.execute(f"PRAGMA {setting}")
        self._database.executescript(_SCHEMA)
        self._matrix: NDArray[np.float32] = np.zeros((64, embedder.dim), dtype=np.float32)
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def __len__(self) -> int:
        return self._count

    def add(self, text: str) -> int:
        """Store one text in its own transaction; return the nearest row, 0 for none."""
        vector = self._vector(text)
        self._database.execute("BEGIN IMMEDIATE")
        nearest = 0
        if self._count:
            nearest = int(np.argmax(self._matrix[: self._count] @ vector)) + 1
        self._insert(text, vector)
        self._database.execute("COMMIT")
        return nearest

    def search(self, text: str, limit: int = 10) -> list[str]:
        """The texts nearest to this one, then those with the best words by BM25, each once."""
        vector = self._vector(text)
        near = np.argsort(self._matrix[: self._count] @ vector)[: -limit - 1 : -1] + 1
        asked = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        found = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        worded = [row for (row,) in self._database.execute(found, (asked, limit))] if asked else []
        rows = list(dict.fromkeys([*near.tolist(), *worded]))
        told = f"SELECT id, text FROM memory WHERE id IN ({', '.join('?' * len(rows))})"
        texts = dict(self._database.execute(told, rows))
        return [texts[row] for row in rows]

    def fill(self, texts: Sequence[str]) -> None:
        """Store many texts in one transaction without a search; not measured."""
        self._database.execute("BEGIN IMMEDIATE")
        for text in texts:
            self._insert(text, self._vector(text))
        self._database.execute("COMMIT")

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = self._embedder.embed([text])[0].vector
        if vector is None:
            return np.zeros(self._embedder.dim, dtype=np.float32)
        return vector

    def _insert(self, text: str, vector: NDArray[np.float32]) -> None:
        blob = vector.astype("<f2").tobytes()
        row = self._database.execute("INSERT INTO memory (text, vector) VALUES (?, ?)", (text, blob)).lastrowid
        self._database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (row, text))
        if self._count == len(self._matrix):
            self._matrix = np.concatenate([self._matrix, np.zeros_like(self._matrix)])
        self._matrix[self._count] = vector
        self._count += 1
