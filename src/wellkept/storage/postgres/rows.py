"""What a row of this backend holds beside what every backend's rows hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from wellkept.core.text import search_terms
from wellkept.storage.sqlite import rows as common
from wellkept.types import Memory

link_of = common.link_of
memory_of = common.memory_of
micros = common.micros
said = common.said
usage_columns = common.usage_columns
words_version = common.words_version


def number_of(namespace: str) -> int:
    """The number that leads every key of a namespace.

    It follows from the name, so that nobody has to ask for it and no sequence has to give it. Of a
    million namespaces two share a number once in twenty million stores; the name beside it tells then.
    """
    digest = hashlib.blake2b(namespace.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def columns(memory: Memory) -> tuple[Any, ...]:
    """The columns that follow from the record, in the order of `memory.update`."""
    return (*common.columns(memory), list(memory.tags))


def prefixed(terms: Iterable[str], ns: int) -> list[str]:
    """Distinct terms as they are kept, each led by its namespace's number."""
    return [f"{ns:x}_{term}" for term in dict.fromkeys(terms)]


def words_of(memory: Memory, ns: int) -> list[str]:
    """The terms under which a memory is found."""
    parts = (memory.title, memory.content, memory.summary, memory.subject, memory.attribute, *memory.tags)
    return prefixed(search_terms("\n".join(part for part in parts if part)), ns)
