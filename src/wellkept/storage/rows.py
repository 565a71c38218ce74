"""Memories and links as rows, and rows as memories: what the rows of every backend in SQL hold."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from wellkept.core.codec import iso, link_from, memory_from
from wellkept.core.text import search_terms, slot_key
from wellkept.errors import Corrupt
from wellkept.types import Link, Memory

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PROBE = "PR#441 läuft; C++ 数据库 テスト नमस्ते बच्चा שלום مرحبا ἀλήθεια v1.5.2 snake_case camelCase 5²"


def micros(at: datetime) -> int:
    """Microseconds since 1970: exact, and ordered like the time."""
    return (at - _EPOCH) // _MICROSECOND


def columns(memory: Memory) -> tuple[Any, ...]:
    """The columns that follow from the record, in the order of `memory.update` without the record."""
    return (
        memory.kind,
        memory.status,
        slot_key(memory.subject) if memory.subject else "",
        slot_key(memory.attribute) if memory.attribute else "",
        micros(memory.created_at),
        memory.ended_at is None,
        bool(memory.checked),
        memory.version,
        memory.embedding,
    )


def usage_columns(memory: Memory) -> tuple[Any, ...]:
    """The columns of the usage, in the order of `memory.insert`."""
    last = memory.last_accessed_at
    return (memory.access_count, None if last is None else iso(last), memory.stability)


def memory_of(record: str, access_count: int, last_accessed_at: str | None, stability: float | None) -> Memory:
    """The memory a row holds.

    Raises:
        Corrupt: The record is no memory.
    """
    try:
        plain = json.loads(record)
        if access_count:
            plain["access_count"] = access_count
        if last_accessed_at is not None:
            plain["last_accessed_at"] = last_accessed_at
        if stability is not None:
            plain["stability"] = stability
        return memory_from(plain)
    except (ValueError, TypeError, KeyError) as error:
        raise Corrupt(f"a stored memory cannot be read: {error}", todo="Run `wellkept verify`") from error


def link_of(src: str, dst: str, rel: str, created_at: str | None) -> Link:
    """The link a row holds."""
    return link_from({"src": src, "dst": dst, "rel": rel, "created_at": created_at})


def said(memory: Memory) -> tuple[Any, ...]:
    """What full text search looks at."""
    return (memory.title, memory.content, memory.summary, memory.subject, memory.attribute, memory.tags)


def searched(memory: Memory) -> list[str]:
    """The terms under which full text search finds a memory, as they come in its text."""
    parts = (memory.title, memory.content, memory.summary, memory.subject, memory.attribute, *memory.tags)
    return search_terms("\n".join(part for part in parts if part))


def words_version() -> str:
    """Tells one way of making terms from another: after a change the full text is made anew."""
    return " ".join(search_terms(_PROBE))
