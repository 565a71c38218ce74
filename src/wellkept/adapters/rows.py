"""What a reader of a foreign store gives: memories in our own words, or why something is none."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeAlias

from wellkept.core.text.forms import excerpt
from wellkept.engine.base.numbered_lines import Line
from wellkept.engine.transfer.import_export import ImportSpec, Relations, Row, rows
from wellkept.errors import InvalidInput, WellkeptError
from wellkept.parsing import parsed_json
from wellkept.policy import Policy

_LABEL = 200
_PAST = ("access_count", "last_accessed_at", "updated_at")
_RAW = 500
_MILLISECONDS = 1e11
"""From here on a number of seconds would lie beyond the year 5000, so it counts milliseconds."""
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
"""Kinds of other tools that mean one of ours. `fact` and `episode` are left out on purpose: there the
gate replaces and reuses rows by itself, which a guess must not set off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """One memory of another tool.

    Attributes:
        id: Its id in the source.
        text: What it says.
        owner: Whose it is: a user, a collection; what one owner says is no repeat of another.
        recorded_at: When it was written, as ISO 8601; empty when the source does not say.
        importance, confidence: From 0 to 1; None when the source does not say.
        polarity: Against, neutral or for: -1, 0 or 1.
        access_count: How often it was read; `last_accessed_at` tells when it was the last time.
        relations: How it relates to others of the source.
        metadata: All else the source knows of it.
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
        """The memory as one line of an import, its id kept as provenance.

        Args:
            source: Name of the format, before the id.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Something in a source that is no memory.

    Attributes:
        raw: Its beginning.
        why: What is wrong with it.
    """

    raw: str
    why: WellkeptError


Found: TypeAlias = "Foreign | Unread"


def as_rows(found: Iterable[Found], source: str, spec: ImportSpec, policy: Policy) -> Iterator[Row]:
    """The memories as rows of an import: mapped, checked, keyed so that a second run changes nothing.

    Args:
        found: What a reader gives.
        source: Name of the format.
        spec: Mapping, fixed values and limit; the line of a memory is its `Foreign.item`.
        policy: The kinds that are known; a guess it does not know is dropped.
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
    """A number from 0 to 1; None for anything else, so that nothing is guessed."""
    return float(value) if type(value) in (int, float) and 0 <= value <= 1 else None  # type: ignore[operator, arg-type]


def time_of(value: object) -> str:
    """A time of another tool as ISO 8601: text, seconds or milliseconds since 1970; empty when it is none.

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
    """What a text says that is JSON, as tools write lists where only texts fit; any other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return parsed_json(value)
    except InvalidInput:
        return value


def texts_of(value: object) -> tuple[str, ...]:
    """Labels of another tool: a list, also written as JSON, or one text with commas.

    Example:
        >>> texts_of("lint, style"), texts_of('["lint"]'), texts_of(["lint", 5])
        (('lint', 'style'), ('lint',), ('lint', '5'))
    """
    value = json_of(value)
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    labels = (excerpt(str(part).strip(), _LABEL) for part in parts if isinstance(part, str | int | float))
    return tuple(dict.fromkeys(label for label in labels if label))
