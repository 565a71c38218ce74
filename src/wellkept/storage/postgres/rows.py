"""Columns of this backend beside the columns of all SQL backends."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from wellkept.storage import memory_rows as common
from wellkept.types import Memory

_HIGHEST = 2**63 - 1
_MOST_TOLD = 1_000


def number_of(namespace: str) -> int:
    """The number of a namespace, the first column of its keys.

    It is a hash of the name, so no lookup and no sequence is needed. With a million namespaces, two share a number in
    one of twenty million stores; the stored name distinguishes them. The database computes the same number
    (`wellkept.number_of`), so this function never changes.
    """
    digest = hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") & _HIGHEST


def bounded(text: str) -> str:
    """A message, which may quote memories, shortened and without characters that the database rejects."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")[:_MOST_TOLD]


def columns(memory: Memory) -> tuple[Any, ...]:
    """The columns derived from the record, in the order of `memory.update`."""
    return (*common.columns(memory), list(memory.tags))


def prefixed(terms: Iterable[str], ns: int) -> list[str]:
    """Distinct terms as stored, each prefixed with the number of the namespace."""
    return [f"{ns:x}_{term}" for term in dict.fromkeys(terms)]


def words_of(memory: Memory, ns: int) -> list[str]:
    """The stored full-text terms of a memory."""
    return prefixed(common.searched(memory), ns)
