"""Serialises records to JSON and back without loss.

A record is a JSON object of the fields that differ from their defaults, with sorted keys: equal values give equal
texts, and rows stay small. Times are ISO 8601 in UTC, tuples are lists, effects have a `type`. Reading is a hot path,
so field lists are computed once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, TypeVar

from wellkept.core.records.field_types import misfit
from wellkept.errors import InvalidField
from wellkept.types import (
    AliasChange,
    Chance,
    Conflict,
    ConflictChange,
    Difference,
    Effect,
    JournalEntry,
    Json,
    Link,
    LinkChange,
    Match,
    Memory,
    MemoryChange,
    Opinion,
    QuestionRecord,
    Reading,
    Reason,
    Update,
)

USAGE: tuple[str, ...] = ("access_count", "last_accessed_at", "stability")
"""Usage fields of a memory: they cause no new version and no journal entry, and are not in the digest."""

EFFECT_TYPES: Mapping[type, str] = {
    MemoryChange: "memory",
    AliasChange: "alias",
    LinkChange: "link",
    ConflictChange: "conflict",
}
"""The `type` of each effect."""
_ENCODE: Callable[[Json], str] = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode
DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions that decoding damaged values may raise."""
_ABSENT = object()
T = TypeVar("T")


class _Shape:
    """The fields of a record type with defaults, read by one C-level getter."""

    __slots__ = ("defaults", "get", "names", "tag")

    def __init__(self, record: type, without: Iterable[str] = ()) -> None:
        kept = [field for field in fields(record) if field.name not in set(without)]
        self.names = tuple(field.name for field in kept)
        self.defaults = tuple(
            field.default
            if field.default is not MISSING
            else field.default_factory()
            if field.default_factory is not MISSING
            else _ABSENT
            for field in kept
        )
        getter = attrgetter(*self.names)
        self.get: Callable[[Any], tuple[Any, ...]] = getter if len(self.names) > 1 else lambda value: (getter(value),)
        self.tag = EFFECT_TYPES.get(record, "")


_SHAPES: dict[type, _Shape] = {}
_RECORD = _Shape(Memory, USAGE)
_HEAD = _Shape(JournalEntry, ("seq", "effects"))
_PLAIN = frozenset((str, int, float, bool, type(None)))


def iso(at: datetime) -> str:
    """A time as ISO 8601 text in UTC, with a `Z`.

    Raises:
        InvalidField: The time has no zone.
    """
    if at.tzinfo is not UTC:
        if at.utcoffset() is None:
            raise InvalidField("a time has no zone", where=at.isoformat(), todo="Give it one, such as UTC")
        at = at.astimezone(UTC)
    return at.isoformat()[:-6] + "Z"


def time_from(text: str) -> datetime:
    """The time of an ISO 8601 text, in UTC.

    Raises:
        ValueError: The text is no time, has no zone, or its time in UTC lies outside of the years 1 to 9999.
    """
    at = datetime.fromisoformat(text)
    if at.tzinfo is UTC:
        return at
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is not within the years 1 to 9999 in UTC") from None


def to_plain(value: object, *, full: bool = False) -> Json:
    """The value as JSON-compatible data.

    Args:
        value: Any value of `wellkept.types`, or a mapping, sequence, time or scalar.
        full: Include fields that hold their default.

    Raises:
        InvalidField: A nested value has no JSON form.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(item, full=full) for key, item in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [to_plain(item, full=full) for item in value]
    if is_dataclass(value):
        shape = _SHAPES.get(kind)
        if shape is None:
            shape = _SHAPES[kind] = _Shape(kind)
        return _fields(value, shape, full=full)
    if isinstance(value, str | int | float):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    raise InvalidField("a value has no JSON form", where=kind.__name__)


def _fields(value: object, shape: _Shape, *, full: bool) -> dict[str, Json]:
    plain: dict[str, Json] = {"type": shape.tag} if shape.tag else {}
    for name, default, item in zip(shape.names, shape.defaults, shape.get(value), strict=True):
        if full or item is not default and item != default:
            plain[name] = item if type(item) in _PLAIN else to_plain(item, full=full)
    return plain


def dumps(value: object) -> str:
    """The value as compact JSON with sorted keys: equal values give equal texts."""
    return _ENCODE(to_plain(value))


def record_text(memory: Memory) -> str:
    """The JSON of a memory without its usage fields, which are stored separately."""
    return _ENCODE(_fields(memory, _RECORD, full=False))


def entry_head(entry: JournalEntry) -> dict[str, Json]:
    """A journal entry as a plain object without number and effects, which stores keep separately."""
    return _fields(entry, _HEAD, full=False)


def digest(memory: Memory) -> str:
    """16 hex digits of the record's content hash, without usage fields."""
    return text_digest(record_text(memory))


def text_digest(text: str) -> str:
    """16 hex digits of a record's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# --------------------------------------------------------------------------------------------
# Reading back

_TIMES = tuple(field.name for field in fields(Memory) if field.type == "datetime | None")
"""Fields of a memory that hold a time or none."""


def memory_from(plain: Mapping[str, Json]) -> Memory:
    """Decode a memory.

    Raises:
        KeyError, TypeError, ValueError: The object is not a memory.
    """
    values = dict(plain)
    values["created_at"] = time_from(values["created_at"])
    values["updated_at"] = time_from(values["updated_at"])
    for name in _TIMES:
        text = values.get(name)
        if text is not None:
            values[name] = time_from(text)
    for name in ("tags", "provenance"):
        if name in values:
            values[name] = tuple(values[name])
    if "updates" in values:
        values["updates"] = tuple(_made(Update, {**one, "at": time_from(one["at"])}) for one in values["updates"])
    return _made(Memory, values)


def link_from(plain: Mapping[str, Json]) -> Link:
    """Decode a link."""
    rel, created_at = plain.get("rel", "related"), _maybe(plain, "created_at", time_from)
    return _made(Link, {"src": plain["src"], "dst": plain["dst"], "rel": rel, "created_at": created_at})


def difference_from(plain: Mapping[str, Json]) -> Difference:
    """Decode a difference."""
    return _made(Difference, plain)


def conflict_from(plain: Mapping[str, Json]) -> Conflict:
    """Decode a conflict."""
    values = dict(plain)
    values["created_at"] = time_from(values["created_at"])
    for name in ("expires_at", "resolved_at"):
        values[name] = _maybe(values, name, time_from)
    values["differences"] = _each(values, "differences", difference_from)
    values.setdefault("similarity", None)
    return _made(Conflict, values)


def match_from(plain: Mapping[str, Json]) -> Match:
    """Decode a match."""
    values = dict(plain)
    values["differences"] = _each(values, "differences", difference_from)
    opinion = values.get("opinion")
    values["opinion"] = None if opinion is None else _made(Opinion, opinion)
    return _made(Match, values)


def reason_from(plain: Mapping[str, Json]) -> Reason:
    """Decode a reason."""
    return _made(Reason, {"rule": plain["rule"], "detail": plain["detail"]})


def effect_from(plain: Mapping[str, Json]) -> Effect:
    """Decode an effect by its `type`.

    Raises:
        ValueError: The type is unknown.
    """
    match plain["type"]:
        case "memory":
            return MemoryChange(_maybe(plain, "before", memory_from), _maybe(plain, "after", memory_from))
        case "alias":
            return _made(AliasChange, {name: plain[name] for name in ("memory_id", "hash", "present")})
        case "link":
            return LinkChange(_maybe(plain, "before", link_from), _maybe(plain, "after", link_from))
        case "conflict":
            return ConflictChange(_maybe(plain, "before", conflict_from), _maybe(plain, "after", conflict_from))
        case other:
            raise ValueError(f"unknown effect type {other!r}")


def entry_from(plain: Mapping[str, Json], *, effects: tuple[Effect, ...] | None = None) -> JournalEntry:
    """Decode a journal entry; `effects`, if given, replace its own."""
    values = dict(plain)
    values["at"] = time_from(values["at"])
    for name in ("memory_ids", "conflict_keys", "degraded"):
        values[name] = tuple(values.get(name, ()))
    values["reasons"] = _each(values, "reasons", reason_from)
    values["matches"] = _each(values, "matches", match_from)
    values["effects"] = _each(values, "effects", effect_from) if effects is None else effects
    values["dropped"] = _maybe(values, "dropped", memory_from)
    values["asks"] = _maybe(values, "asks", question_from)
    values["reading"] = _maybe(values, "reading", reading_from)
    return _made(JournalEntry, values)


def question_from(plain: Mapping[str, Json]) -> QuestionRecord:
    """Decode the question of a journal entry."""
    values = dict(plain)
    values["chances"] = _each(values, "chances", lambda one: _made(Chance, one))
    values["expires_at"] = _maybe(values, "expires_at", time_from)
    return _made(QuestionRecord, values)


def reading_from(plain: Mapping[str, Json]) -> Reading:
    """Decode a reading of the relation model."""
    return _made(Reading, {**plain, "memory_ids": tuple(plain["memory_ids"])})


def _made(record: type[T], values: Mapping[str, Json]) -> T:
    """Build a record from these fields.

    Raises:
        TypeError: A field has the wrong type, is missing or unknown.
    """
    wrong = misfit(record, values)
    if wrong:
        raise TypeError(f"{record.__name__}.{wrong} cannot be {str(values[wrong])[:40]!r}")
    return record(**values)


def _maybe(plain: Mapping[str, Json], name: str, make: Callable[[Any], T]) -> T | None:
    part = plain.get(name)
    return None if part is None else make(part)


def _each(plain: Mapping[str, Json], name: str, make: Callable[[Mapping[str, Json]], T]) -> tuple[T, ...]:
    return tuple(make(part) for part in plain.get(name, ()))
