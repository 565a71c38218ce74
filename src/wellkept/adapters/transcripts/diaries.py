"""Diaries in Markdown: each paragraph or list item is what the writer says on the day of its heading or its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wellkept.adapters import notes
from wellkept.adapters.foreign_records import Unread, time_of
from wellkept.adapters.transcripts.json_fields import name_of
from wellkept.core.transcripts.turns import Said, Turn
from wellkept.errors import InvalidInput


def turns(path: Path) -> Iterator[Said]:
    """The entries of a diary, or of all diaries of a folder in the order of their names; bad files as errors."""
    for number, found in enumerate(notes.memories(path), start=1):
        if isinstance(found, Unread):
            yield found.why if isinstance(found.why, InvalidInput) else InvalidInput(found.why.what, where=found.raw)
            continue
        days = notes.DATED.findall(found.title)
        yield Turn(
            conversation=name_of(found.metadata.get("file"), "diary"),
            place=found.title or str(number),
            # A line of a paragraph is no sentence of its own.
            text=found.text if "```" in found.text or "~~~" in found.text else found.text.replace("\n", " "),
            at=(time_of(days[-1]) if days else "") or found.recorded_at,
        )
