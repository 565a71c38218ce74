"""What two answers of two stores have in common: all but ids, hashes of ids, and times."""

from __future__ import annotations

import json
import re
from typing import Any

_MADE = re.compile(
    r"(?P<id>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"
    r"|(?P<hash>\b[0-9a-f]{12,64}\b)"
    r"|(?P<short>\b[0-9a-f]{8}\b)"
)


def likeness(answer: Any) -> Any:
    """The answer with each id, hash and time replaced by its place in the order in which they appear.

    Example:
        >>> likeness({"at": "2026-03-04T09:30:00Z", "n": 1, "again": "2026-03-04T09:30:00Z"})
        {'again': '<time>', 'at': '<time>', 'n': 1}
    """
    seen: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        return "<time>" if kind == "time" else seen.setdefault(found.group(), f"<{kind} {len(seen)}>")

    return json.loads(_MADE.sub(name, json.dumps(answer, sort_keys=True)))
