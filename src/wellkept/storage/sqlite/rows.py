"""The terms of a memory as a row of FTS5 holds them."""

from __future__ import annotations

from collections.abc import Iterable

from wellkept.storage.memory_rows import searched
from wellkept.types import Memory


def words_of(memory: Memory, ns: int) -> str:
    """The terms of a memory, blank-separated, each led by the namespace's number."""
    return prefixed(searched(memory), ns)


def prefixed(terms: Iterable[str], ns: int) -> str:
    """Distinct terms of one namespace, blank-separated; how often a term occurs is not kept."""
    return " ".join([f"{ns}_{term}" for term in dict.fromkeys(terms)])
