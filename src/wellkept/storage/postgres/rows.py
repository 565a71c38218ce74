"""What a row of this backend holds beside what every backend's rows hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from wellkept.storage import memory_rows as common
from wellkept.types import Memory

_HIGHEST = 2**63 - 1


def number_of(namespace: str) -> int:
    """The number that leads every key of a namespace.

    It follows from the name, so that nobody has to ask for it and no sequence has to give it. Of a
    million namespaces two share a number once in twenty million stores; the name beside it tells then.
    The database makes the same of a name it has checked (`wellkept.number_of`), so this never changes.
    """
    digest = hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") & _HIGHEST


def columns(memory: Memory) -> tuple[Any, ...]:
    """The columns that follow from the record, in the order of `memory.update`."""
    return (*common.columns(memory), list(memory.tags))


def prefixed(terms: Iterable[str], ns: int) -> list[str]:
    """Distinct terms as they are kept, each led by its namespace's number."""
    return [f"{ns:x}_{term}" for term in dict.fromkeys(terms)]


def words_of(memory: Memory, ns: int) -> list[str]:
    """The terms under which a memory is found."""
    return prefixed(common.searched(memory), ns)
