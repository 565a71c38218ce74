"""Titles: a title heads a text and says nothing of its own, so a repeat under another title is no other memory.

The memory keeps the title it has; each other title under which the text was written is kept in its metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from wellkept.core.text.forms import canonical
from wellkept.types import Memory, Statement

FURTHER_TITLES = "further_titles"
MAX_FURTHER_TITLES = 20


def titles(row: Statement) -> tuple[str, ...]:
    """Every title of a memory, its own first; what else a writer put into the metadata says nothing."""
    said = row.metadata.get(FURTHER_TITLES)
    further = [one for one in said if isinstance(one, str)] if isinstance(said, list | tuple) else []
    return tuple(one for one in (row.title, *further) if one)


def headed_text(row: Statement) -> str:
    """What the words of a query are looked for in: titles, text and subject."""
    return " ".join((*titles(row), row.content, row.subject))


def with_titles(row: Memory, others: Iterable[str]) -> Memory:
    """The memory with these further titles, each once whatever its spelling, at most twenty.

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
