"""Size limits of answers: long texts are shortened and long lists truncated, and a note says so.

The kept parts let an agent continue: ids and other short values stay complete, texts lose their ends, and
lists keep their first items, which are the best hits or the oldest conflicts. An answer within the limit is not
changed. Sizes are measured in bytes of JSON, because scripts that cost more tokens per character also take
more bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_BYTES = 24_000
"""Maximum size of one answer as JSON, in bytes; about 6,000 tokens."""
SHORTENED = "shortened"
"""Key of the note about omitted parts; a complete answer does not have it."""

_TEXT_LIMITS = (2_000, 800, 320)
_LEAST_TEXT = 160
_SHORT = 100
_RESERVED = 600
_MANY_KEYS = 60
_Json = dict[str, Any]
INSIDE = frozenset({"embedding", "checked", "chunks", "parts", "weights"})
"""Fields that explain how an answer was found, not its content."""
_OF_THE_USER = frozenset({"metadata", "signals"})


@dataclass(slots=True)
class _Omissions:
    """Omitted parts: by list path the number of items shown and in total, and whether texts were shortened."""

    lists: dict[str, tuple[int, int]] = field(default_factory=dict)
    texts: bool = False


def sized(answer: Mapping[str, Any], *, most: int = MAX_BYTES) -> _Json:
    """Limit an answer to a number of bytes; omissions are noted under `shortened`.

    Args:
        answer: JSON values.
        most: Maximum size of the answer as JSON, in bytes.

    Example:
        >>> sized({"id": "m1", "content": "short"})
        {'id': 'm1', 'content': 'short'}
        >>> cut = sized({"id": "m1", "content": "long " * 900}, most=2_000)
        >>> cut["id"], len(cut["content"]) < 1_000, "memory://" in cut["shortened"]
        ('m1', True, True)
    """
    whole = dict(answer)
    if size(whole) <= most:
        return whole
    omitted = _Omissions()
    room = max(most - _RESERVED, _SHORT)
    for limit in _TEXT_LIMITS:
        omitted.texts = False
        shorter = _with_short_texts(whole, limit, omitted)
        if size(shorter) <= room:
            break
    else:
        shorter = _fitted(shorter, room, "", omitted)
    return {**shorter, SHORTENED: _note(omitted)}


def size(value: object) -> int:
    """The size of a value as JSON, in bytes."""
    return len(compact(value).encode("utf-8", "surrogatepass"))


def compact(value: object) -> str:
    """A value as JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def bare(value: Any) -> Any:
    """A value without empty fields: null, and empty texts, lists and objects.

    Example:
        >>> bare({"id": "m1", "tags": [], "title": "", "pinned": False, "score": 0.0})
        {'id': 'm1', 'pinned': False, 'score': 0.0}
    """
    match value:
        case dict():
            return _filled({key: bare(item) for key, item in value.items()})
        case list():
            return [bare(item) for item in value]
        case _:
            return value


def slim(answer: Mapping[str, Any], *, explained: bool = False) -> _Json:
    """An answer whose records contain only non-empty fields; the answer itself keeps all its fields.

    Args:
        answer: JSON values.
        explained: Whether to keep the fields that explain how it was found.

    Example:
        >>> slim({"hits": [{"memory": {"id": "m1", "title": "", "embedding": "e2"}, "weights": {"cosine": 1.0}}],
        ...       "left_out": []})
        {'hits': [{'memory': {'id': 'm1'}}], 'left_out': []}
    """
    hidden = frozenset[str]() if explained else INSIDE
    return _shown(answer, hidden)


def _shown(record: Mapping[str, Any], hidden: frozenset[str]) -> _Json:
    return {
        key: value if key in _OF_THE_USER else _slim(value, hidden)
        for key, value in record.items()
        if key not in hidden
    }


def _slim(value: Any, hidden: frozenset[str]) -> Any:
    match value:
        case dict():
            return _filled(_shown(value, hidden))
        case list():
            return [_slim(item, hidden) for item in value]
        case _:
            return value


def _filled(record: _Json) -> _Json:
    return {key: item for key, item in record.items() if item not in (None, "", [], {})}


def _with_short_texts(value: Any, limit: int, omitted: _Omissions) -> Any:
    match value:
        case dict():
            return {key: _with_short_texts(item, limit, omitted) for key, item in value.items()}
        case list():
            return [_with_short_texts(item, limit, omitted) for item in value]
        case str():
            return _short(value, limit, omitted)
        case _:
            return value


def _short(text: str, limit: int, omitted: _Omissions) -> str:
    """A text shortened to about `limit` bytes. Short texts stay: they may be ids or words of a closed set."""
    limit = max(limit, _LEAST_TEXT)
    if len(text) <= _SHORT or len(text.encode("utf-8", "surrogatepass")) <= limit:
        return text
    omitted.texts = True
    kept = text.encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore").rstrip()
    return f"{kept}… [{len(text) - len(kept)} more characters]"


def _fitted(value: Any, room: int, path: str, omitted: _Omissions) -> Any:
    """A value of about `room` bytes: lists and open mappings are truncated, the parts of a record share the room."""
    if size(value) <= room:
        return value
    match value:
        case str():
            return _short(value, room, omitted)
        case list():
            kept = list(_first(dict(enumerate(value)), room, path, omitted).values())
            omitted.lists[path] = (len(kept), len(value))
            return kept
        case dict() if path and _is_open(value):
            some = _first(value, room, path, omitted)
            omitted.lists[path] = (len(some), len(value))
            return some
        case dict():
            return _shared(value, room, path, omitted)
        case _:
            return value


def _first(items: Mapping[Any, Any], room: int, path: str, omitted: _Omissions) -> dict[Any, Any]:
    """The first items that fit, by position in a list or by key in a mapping.

    The first item is always kept, shortened as far as needed.
    """
    kept: dict[Any, Any] = {}
    for key, item in items.items():
        needed = size(item) + 1 if isinstance(key, int) else size({key: item})
        if needed > room:
            break
        kept[key] = item
        room -= needed
    if not kept and items:
        key, item = next(iter(items.items()))
        inside = (room, f"{path}[]") if isinstance(key, int) else (room - size(key), f"{path}[{key[:_SHORT]}]")
        kept[key] = _fitted(item, *inside, omitted)
    return kept


def _shared(record: _Json, room: int, path: str, omitted: _Omissions) -> _Json:
    """A record whose large parts share the room left by the small ones, in ascending order of size."""
    sizes = {key: size(item) for key, item in record.items()}
    large = sorted((key for key, item in record.items() if _is_large(item)), key=lambda key: sizes[key])
    left = room - sum(len(key) + 4 for key in record) - sum(sizes[key] for key in record if key not in large)
    made = dict(record)
    for at, key in enumerate(large):
        share = max(left // (len(large) - at), 0)
        made[key] = _fitted(record[key], share, f"{path}.{key}" if path else key, omitted)
        left -= size(made[key])
    return made


def _is_large(item: object) -> bool:
    match item:
        case dict() | list():
            return bool(item)
        case str():
            return len(item) > _SHORT
        case _:
            return False


def _is_open(value: _Json) -> bool:
    """Whether an object is a mapping with any number of keys, and not a record of Wellkept."""
    return len(value) > _MANY_KEYS or (len(value) > 1 and all(isinstance(item, dict) for item in value.values()))


def _note(omitted: _Omissions) -> str:
    parts = [f"{path or 'answer'}: the first {shown} of {whole}" for path, (shown, whole) in _outermost(omitted)]
    if omitted.texts:
        parts.append("long texts are cut; read memory://ID for the whole memory")
    if omitted.lists:
        parts.append("for the rest, use a smaller limit, a narrower filter or more words")
    return "Shortened to fit: " + "; ".join(parts)


def _outermost(omitted: _Omissions) -> list[tuple[str, tuple[int, int]]]:
    return [(path, counts) for path, counts in omitted.lists.items() if "[" not in path][:8]
