"""Answers that fit into a context window: long texts are shortened, long lists end early, and both are said.

What is kept is chosen so that an agent can go on: ids and every other short value stay whole, texts
lose their ends, and of a list the first items stay, which are the best hits or the oldest conflicts. An
answer that fits is not touched. Sizes are bytes of JSON: scripts that cost more tokens a letter cost
more bytes too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_BYTES = 24_000
"""Of one answer as JSON; about 6,000 tokens."""
SHORTENED = "shortened"
"""The key under which an answer says what it lacks; an answer that lacks nothing does not have it."""

_TEXT_LIMITS = (2_000, 800, 320)
_LEAST_TEXT = 160
_SHORT = 100
_RESERVED = 600
_MANY_KEYS = 60
_Json = dict[str, Any]
INSIDE = frozenset({"embedding", "checked", "chunks", "parts", "weights"})
"""Fields that say how an answer was found rather than what it is."""
_OF_THE_USER = frozenset({"metadata", "signals"})


@dataclass(slots=True)
class _Lost:
    """What an answer lacks: by the path of a list how many items of how many are shown, and whether texts are cut."""

    lists: dict[str, tuple[int, int]] = field(default_factory=dict)
    texts: bool = False


def sized(answer: Mapping[str, Any], *, most: int = MAX_BYTES) -> _Json:
    """An answer of at most so many bytes, with a note under `shortened` where something is missing.

    Args:
        answer: JSON values.
        most: Bytes of the answer as JSON.

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
    lost = _Lost()
    room = max(most - _RESERVED, _SHORT)
    for limit in _TEXT_LIMITS:
        lost.texts = False
        shorter = _with_short_texts(whole, limit, lost)
        if size(shorter) <= room:
            break
    else:
        shorter = _fitted(shorter, room, "", lost)
    return {**shorter, SHORTENED: _said(lost)}


def size(value: object) -> int:
    """Bytes of a value as JSON."""
    return len(compact(value).encode("utf-8", "surrogatepass"))


def compact(value: object) -> str:
    """A value as JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def bare(value: Any) -> Any:
    """A value without the fields that say nothing: null, and empty texts, lists and objects.

    Example:
        >>> bare({"id": "m1", "tags": [], "title": "", "pinned": False, "score": 0.0})
        {'id': 'm1', 'pinned': False, 'score': 0.0}
    """
    match value:
        case dict():
            inner = {key: bare(item) for key, item in value.items()}
            return {key: item for key, item in inner.items() if item not in (None, "", [], {})}
        case list():
            return [bare(item) for item in value]
        case _:
            return value


def slim(answer: Mapping[str, Any], *, explained: bool = False) -> _Json:
    """An answer whose records have only the fields that say something; of itself it keeps every field.

    Args:
        answer: JSON values.
        explained: Keep how it was found too.

    Example:
        >>> slim({"hits": [{"memory": {"id": "m1", "title": "", "embedding": "e2"}, "weights": {"cosine": 1.0}}],
        ...       "left_out": []})
        {'hits': [{'memory': {'id': 'm1'}}], 'left_out': []}
    """
    hidden = frozenset[str]() if explained else INSIDE
    return {
        key: value if key in _OF_THE_USER else _slim(value, hidden)
        for key, value in answer.items()
        if key not in hidden
    }


def _slim(value: Any, hidden: frozenset[str]) -> Any:
    match value:
        case dict():
            inner = {
                key: item if key in _OF_THE_USER else _slim(item, hidden)
                for key, item in value.items()
                if key not in hidden
            }
            return {key: item for key, item in inner.items() if item not in (None, "", [], {})}
        case list():
            return [_slim(item, hidden) for item in value]
        case _:
            return value


def _with_short_texts(value: Any, limit: int, lost: _Lost) -> Any:
    match value:
        case dict():
            return {key: _with_short_texts(item, limit, lost) for key, item in value.items()}
        case list():
            return [_with_short_texts(item, limit, lost) for item in value]
        case str():
            return _short(value, limit, lost)
        case _:
            return value


def _short(text: str, limit: int, lost: _Lost) -> str:
    """A text of about so many bytes; a short one is never cut, it may be an id or a word of a closed set."""
    limit = max(limit, _LEAST_TEXT)
    if len(text) <= _SHORT or len(text.encode("utf-8", "surrogatepass")) <= limit:
        return text
    lost.texts = True
    kept = text.encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore").rstrip()
    return f"{kept}… [{len(text) - len(kept)} more characters]"


def _fitted(value: Any, room: int, path: str, lost: _Lost) -> Any:
    """A value of about so many bytes: lists and open mappings end early, the parts of a record share the room."""
    if size(value) <= room:
        return value
    match value:
        case str():
            return _short(value, room, lost)
        case list():
            kept = _first(value, room, path, lost)
            lost.lists[path] = (len(kept), len(value))
            return kept
        case dict() if path and _is_open(value):
            some = _first_keys(value, room, path, lost)
            lost.lists[path] = (len(some), len(value))
            return some
        case dict():
            return _shared(value, room, path, lost)
        case _:
            return value


def _first(items: list[Any], room: int, path: str, lost: _Lost) -> list[Any]:
    """As many of the first items as fit; the very first one always, however small it has to be made."""
    kept: list[Any] = []
    for item in items:
        needed = size(item) + 1
        if needed > room:
            break
        kept.append(item)
        room -= needed
    if not kept and items:
        kept.append(_fitted(items[0], room, f"{path}[]", lost))
    return kept


def _first_keys(mapping: _Json, room: int, path: str, lost: _Lost) -> _Json:
    """As `_first`, for the keys of a mapping."""
    kept: _Json = {}
    for key, item in mapping.items():
        needed = size({key: item})
        if needed > room:
            break
        kept[key] = item
        room -= needed
    if not kept:
        key, item = next(iter(mapping.items()))
        kept[key] = _fitted(item, room - size(key), f"{path}[{key[:_SHORT]}]", lost)
    return kept


def _shared(record: _Json, room: int, path: str, lost: _Lost) -> _Json:
    """A record whose large parts share the room that its small ones leave, the smaller of them served first."""
    sizes = {key: size(item) for key, item in record.items()}
    large = sorted((key for key, item in record.items() if _is_large(item)), key=lambda key: sizes[key])
    left = room - sum(len(key) + 4 for key in record) - sum(sizes[key] for key in record if key not in large)
    made = dict(record)
    for at, key in enumerate(large):
        share = max(left // (len(large) - at), 0)
        made[key] = _fitted(record[key], share, f"{path}.{key}" if path else key, lost)
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
    """Whether an object is a mapping with as many keys as there happen to be, rather than a record of ours."""
    return len(value) > _MANY_KEYS or (len(value) > 1 and all(isinstance(item, dict) for item in value.values()))


def _said(lost: _Lost) -> str:
    parts = [f"{path or 'answer'}: the first {shown} of {whole}" for path, (shown, whole) in _outermost(lost)]
    if lost.texts:
        parts.append("long texts are cut; read memory://ID for the whole memory")
    if lost.lists:
        parts.append("for the rest, use a smaller limit, a narrower filter or more words")
    return "Shortened to fit: " + "; ".join(parts)


def _outermost(lost: _Lost) -> list[tuple[str, tuple[int, int]]]:
    return [(path, counts) for path, counts in lost.lists.items() if "[" not in path][:8]
