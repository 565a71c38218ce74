"""Marks of summaries and their level.

The marks are plain tags and ids in `provenance`, so that they survive export and import.
"""

from __future__ import annotations

import re

from wellkept.core.text.forms import slot_key
from wellkept.types import Memory, Statement

REFLECTION = "reflection"
_LEVEL = re.compile(r"level:(\d{1,3})")


def level_of(memory: Statement) -> int:
    """Level of a summary: 0 for a statement, 1 for a summary, 2 for a summary of summaries.

    Example:
        >>> from wellkept.types import NewMemory
        >>> level_of(NewMemory(content="x")), level_of(NewMemory(content="x", tags=("Level:2", "tea")))
        (0, 2)
    """
    found = (_LEVEL.fullmatch(slot_key(tag)) for tag in memory.tags)
    return max((int(one.group(1)) for one in found if one), default=0)


def is_level(tag: str) -> bool:
    """Whether a tag marks a level."""
    return _LEVEL.fullmatch(slot_key(tag)) is not None


def is_summary(memory: Statement) -> bool:
    """Whether reflection made this memory, by tags and provenance.

    A tag alone is not enough, because any writer can set tags.
    """
    marked = any(slot_key(tag) == REFLECTION for tag in memory.tags)
    return marked and bool(memory.provenance) and level_of(memory) > 0


def sources_of(memory: Statement) -> frozenset[str]:
    """The ids of the memories that a summary was made from; none for any other memory."""
    return frozenset(memory.provenance) if is_summary(memory) else frozenset()


def is_summary_of(summary: Statement, source: Memory) -> bool:
    """Whether `summary` was made from `source`, so that the two never contradict each other."""
    return source.id in summary.provenance and is_summary(summary)
