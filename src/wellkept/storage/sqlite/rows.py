"""The terms of a memory in the form of an FTS5 row."""

from __future__ import annotations

from collections.abc import Iterable

from wellkept.storage.memory_rows import searched
from wellkept.types import Memory


def words_of(memory: Memory, ns: int) -> str:
    """The terms of a memory, space-separated, each prefixed with the number of the namespace."""
    return prefixed(searched(memory), ns)


def prefixed(terms: Iterable[str], ns: int) -> str:
    """Distinct terms of one namespace, space-separated; their frequency is not kept."""
    return " ".join([f"{ns}_{term}" for term in dict.fromkeys(terms)])
