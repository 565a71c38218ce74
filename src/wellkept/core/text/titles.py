"""Titles of a memory. A title is a heading, so a duplicate under another title is the same memory.

The memory keeps its title; further titles are stored in its metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from wellkept.core.text.forms import canonical
from wellkept.types import Memory, Statement

FURTHER_TITLES = "further_titles"
MAX_FURTHER_TITLES = 20


def titles(row: Statement) -> tuple[str, ...]:
    """All titles of a memory, its own first; other values in that metadata field are ignored."""
    said = row.metadata.get(FURTHER_TITLES)
    further = [one for one in said if isinstance(one, str)] if isinstance(said, list | tuple) else []
    return tuple(one for one in (row.title, *further) if one)


def headed_texts(rows: Iterable[Statement]) -> list[str]:
    """The texts that a query is matched against: titles, content and subject of each memory."""
    return [" ".join((*titles(row), row.content, row.subject)) for row in rows]


def with_titles(row: Memory, others: Iterable[str]) -> Memory:
    """The memory with these further titles, without spelling variants, at most twenty.

    Example:
        >>> from datetime import UTC, datetime
        >>> now = datetime(2026, 1, 1, tzinfo=UTC)
        >>> row = Memory(content="x", title="Weekends", id="m1", namespace="n", created_at=now, updated_at=now)
        >>> titles(with_titles(row, ["Thin markets", "weekends!"]))
        ('Weekends', 'Thin markets')
    """
    known = {canonical(title): title for title in titles(row)}
    for title in others:
        known.setdefault(canonical(title), title)
    further = [title for title in known.values() if title and title != row.title][:MAX_FURTHER_TITLES]
    if tuple(further) == titles(row)[bool(row.title) :]:
        return row
    return replace(row, metadata={**row.metadata, FURTHER_TITLES: further})
