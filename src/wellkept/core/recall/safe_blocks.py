"""Makes the text of memories safe to embed in other text, and renders the block of decisions.

Memories are untrusted text inside a prompt. Here no line of a memory can pass for a line of the block, invisible
characters are removed, and no markup opens or closes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from wellkept.core.recall.grouping import grouped, outcome_of
from wellkept.types import Hit, Memory

HEADING = "## Related Decisions"
SHOWN = 120
"""Characters of a decision on its line."""

_OUTCOME = 40
_BREAK = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_VARIANTS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}")
_JOINERS = frozenset("\u200c\u200d")
_UNSEEN = frozenset(("Cf", "Cs"))


def lines_of(text: str) -> list[str]:
    """The lines of a text without invisible and control characters.

    Joiners stay, because emoji and several scripts need them. Bidirectional marks, tags and runs of variation selectors
    are removed, because they can hide a message.

    Example:
        >>> lines_of("a\\u202eb\\r\\nc\\x1b[0m")
        ['ab', 'c [0m']
    """
    return [_seen(line) for line in _BREAK.split(_VARIANTS.sub("", text))]


def one_line(text: str, limit: int | None = None) -> str:
    """The start of a text on one safe line.

    Example:
        >>> one_line("Use  ruff.\\n# Not a heading", 14)
        'Use ruff. # No'
    """
    head = text if limit is None else text[: limit * 8 + 64]
    return " ".join(" ".join(lines_of(head)).split())[:limit]


def decisions_block(decisions: Iterable[Memory | Hit]) -> str:
    """Decisions as a list under a heading, duplicates grouped, in the given order.

    Args:
        decisions: Memories or hits, best first.

    Returns:
        The block; empty without decisions.

    Example:
        >>> from datetime import UTC, datetime
        >>> day = datetime(2026, 3, 1, tzinfo=UTC)
        >>> made = Memory(id="m", namespace="n", content="Use PostgreSQL.", created_at=day, updated_at=day,
        ...               kind="decision", confidence=0.8)
        >>> print(decisions_block([made]))
        ## Related Decisions
        - [pending] Use PostgreSQL. (confidence: 0.80)
    """
    hits = [item if isinstance(item, Hit) else Hit(item, 0.0, {}) for item in decisions]
    return listed_decisions([group.shown.memory for group in grouped(hits)])


def decision_line(memory: Memory) -> str:
    """One line: outcome, start of the text, confidence."""
    outcome = one_line(outcome_of(memory), _OUTCOME) or "pending"
    text = f"[{outcome}] {one_line(memory.content, SHOWN)}"
    # In rendered Markdown "<" would open a tag.
    return f"- {text.replace('<', '&lt;')} (confidence: {memory.confidence:.2f})"


def listed_decisions(memories: Sequence[Memory]) -> str:
    """The heading and a line per decision; empty without decisions."""
    return "\n".join((HEADING, *map(decision_line, memories))) if memories else ""


def _seen(line: str) -> str:
    if line.isprintable():  # what is removed or replaced is not
        return line
    return line.translate({ord(char): _harmless(char) for char in set(line) if not char.isprintable()})


def _harmless(char: str) -> str:
    if char == "\t" or char in _JOINERS:
        return char
    category = unicodedata.category(char)
    return "" if category in _UNSEEN else " " if category == "Cc" else char
