"""What marks a summary of other memories, and how many summaries deep it lies.

The marks are plain tags and the ids in `provenance`, so that they survive export, import and any tool.
"""

from __future__ import annotations

import re

from wellkept.core.text.forms import slot_key
from wellkept.types import Memory, Statement

REFLECTION = "reflection"
_LEVEL = re.compile(r"level:(\d{1,3})")


def level_of(memory: Statement) -> int:
    """How deep a summary lies: 0 for what was said, 1 for a summary of it, 2 for a summary of summaries.

    Example:
        >>> from wellkept.types import NewMemory
        >>> level_of(NewMemory(content="x")), level_of(NewMemory(content="x", tags=("Level:2", "tea")))
        (0, 2)
    """
    found = (_LEVEL.fullmatch(slot_key(tag)) for tag in memory.tags)
    return max((int(one.group(1)) for one in found if one), default=0)


def is_level(tag: str) -> bool:
    """Whether a tag is the mark of a level."""
    return _LEVEL.fullmatch(slot_key(tag)) is not None


def is_summary(memory: Statement) -> bool:
    """Whether a memory is a summary that reflection made: tags and provenance say so.

    A tag alone is not enough: anybody may tag a memory, and a summary is treated with more care.
    """
    marked = any(slot_key(tag) == REFLECTION for tag in memory.tags)
    return marked and bool(memory.provenance) and level_of(memory) > 0


def is_summary_of(summary: Statement, source: Memory) -> bool:
    """Whether the one was made from the other, so that the two never contradict each other."""
    return source.id in summary.provenance and is_summary(summary)
