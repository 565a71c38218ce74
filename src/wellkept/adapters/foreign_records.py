"""Common records of all readers: memories of other tools, or errors."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeAlias

from wellkept.core.text.forms import excerpt
from wellkept.engine.base.numbered_lines import Line
from wellkept.engine.transfer.import_lines import ImportSpec, Relations, Row, rows
from wellkept.errors import InvalidInput, WellkeptError
from wellkept.frozen import frozen
from wellkept.parsing import parsed_json
from wellkept.policy import Policy

_LABEL = 200
_PAST = ("access_count", "last_accessed_at", "updated_at")
_RAW = 500
_MILLISECONDS = 1e11
"""Larger numbers of seconds would lie beyond the year 5000, so they are milliseconds."""
KINDS: Mapping[str, str] = {
    "decision": "decision",
    "learning": "lesson",
    "lesson": "lesson",
    "procedure": "procedural",
    "procedural": "procedural",
    "episodic": "episodic",
    "feedback": "feedback",
    "note": "note",
}
"""Kinds of other tools that map to ours. `fact` and `episode` are omitted: the gate supersedes and reuses rows of these
kinds automatically, which a guessed kind must not trigger.
"""


@frozen(kw_only=True)
class Foreign:
    """One memory of another tool.

    Attributes:
        id: Its id in the source.
        text: Its text.
        owner: A user or collection; memories of different owners are not duplicates.
        recorded_at: When it was written, as ISO 8601; empty if unknown.
        importance, confidence: From 0 to 1; None if unknown.
        polarity: Against, neutral or for: -1, 0 or 1.
        access_count: Number of reads; `last_accessed_at` is the time of the last one.
        relations: Relations to other memories of the source.
        metadata: All other fields of the source.
    """

    id: str
    text: str
    title: str = ""
    subject: str = ""
    kind: str = ""
    tags: tuple[str, ...] = ()
    agent: str = ""
    owner: str = ""
    recorded_at: str = ""
    updated_at: str = ""
    last_accessed_at: str = ""
    expires_at: str = ""
    importance: float | None = None
    confidence: float | None = None
    polarity: int = 0
    pinned: bool = False
    access_count: int = 0
    relations: Relations | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def item(self, source: str) -> dict[str, Any]:
        """The memory as a line of an import, with its id as provenance.

        Args:
            source: Name of the format, as prefix of the id.
        """
        said = {
            "title": excerpt(self.title, _LABEL),
            "subject": excerpt(self.subject, _LABEL),
            "agent": excerpt(self.agent, _LABEL),
            "kind": self.kind,
            "recorded_at": self.recorded_at,
            "updated_at": self.updated_at,
            "last_accessed_at": self.last_accessed_at,
            "expires_at": self.expires_at,
            "owner": self.owner,
            "polarity": self.polarity,
            "pinned": self.pinned,
            "access_count": self.access_count,
        }
        shares = {"importance": self.importance, "confidence": self.confidence}
        return {
            "id": self.id,
            "content": self.text,
            **{name: value for name, value in said.items() if value},
            **{name: value for name, value in shares.items() if value is not None},
            "tags": list(self.tags),
            "provenance": [excerpt(f"{source}:{self.id}", _LABEL)],
            "metadata": dict(self.metadata),
        }


@frozen(kw_only=True)
class Unread:
    """An entry of a source that cannot be read.

    Attributes:
        raw: Its start.
        why: The error.
    """

    raw: str
    why: WellkeptError


Found: TypeAlias = "Foreign | Unread"


def as_rows(found: Iterable[Found], source: str, spec: ImportSpec, policy: Policy) -> Iterator[Row]:
    """The memories as rows of an import: mapped, checked, and keyed so that a second run changes nothing.

    Args:
        found: Output of a reader.
        source: Name of the format.
        spec: Mapping, fixed values and limit; the line of a memory is its `Foreign.item`.
        policy: Defines the known kinds; a guessed kind that is unknown is dropped.
    """
    bad: deque[Row] = deque()
    origins: deque[tuple[int, Relations | None]] = deque()

    def lines() -> Iterator[Line]:
        for place, one in enumerate(islice(found, spec.limit), start=1):
            if isinstance(one, Unread):
                bad.append(Row(place, excerpt(one.raw, _RAW), None, one.why))
                continue
            item = one.item(source)
            if item.get("kind") and not {item["kind"], "*"} & policy.kinds.keys():
                del item["kind"]
            origins.append((place, one.relations))
            yield place, json.dumps(item, default=str).encode()

    past = {name: name for name in _PAST}
    for row in rows(
        lines(), replace(spec, mapping={**past, **spec.mapping}, limit=None, items="", plain=False), policy
    ):
        while bad:
            yield bad.popleft()
        place, relations = origins.popleft()
        yield replace(row, line=place, relations=relations)
    yield from bad


def share_of(value: object) -> float | None:
    """A number from 0 to 1; None for any other value."""
    return float(value) if type(value) in (int, float) and 0 <= value <= 1 else None  # type: ignore[operator, arg-type]


def time_of(value: object) -> str:
    """A time as ISO 8601, from text, seconds or milliseconds since 1970; empty for other values.

    Example:
        >>> time_of(1767603600), time_of("2026-01-05 09:00:00"), time_of("soon")
        ('2026-01-05T09:00:00+00:00', '2026-01-05T09:00:00+00:00', '')
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return ""
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        else:
            moment = datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return moment.isoformat()


def json_of(value: object) -> object:
    """The value of a JSON text (lists are often stored as text); any other value unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return parsed_json(value)
    except InvalidInput:
        return value


def texts_of(value: object) -> tuple[str, ...]:
    """Labels from a list, a JSON list, or comma-separated text.

    Example:
        >>> texts_of("lint, style"), texts_of('["lint"]'), texts_of(["lint", 5])
        (('lint', 'style'), ('lint',), ('lint', '5'))
    """
    value = json_of(value)
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    labels = (excerpt(str(part).strip(), _LABEL) for part in parts if isinstance(part, str | int | float))
    return tuple(dict.fromkeys(label for label in labels if label))
