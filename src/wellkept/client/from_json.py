"""Converts the JSON of a server back to values of the library.

A record is read by the types of its fields, so that a new field needs no code here. Memories, links,
conflicts, matches and journal entries are read by the codec. Unknown fields of a newer server are
ignored.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from wellkept.core.records import codec
from wellkept.types import (
    Conflict,
    Hit,
    Hits,
    Json,
    LeftOut,
    Link,
    Match,
    Memory,
    Neighbour,
    Reached,
)

T = TypeVar("T")

_BY_CODEC: Mapping[Any, Callable[[Mapping[str, Json]], Any]] = {
    Memory: codec.memory_from,
    Link: codec.link_from,
    Conflict: codec.conflict_from,
    Match: codec.match_from,
}
_EFFECTS: Mapping[str, type] = {tag: kind for kind, tag in codec.EFFECT_TYPES.items()}


def record(kind: type[T]) -> Callable[[Json], T]:
    """Make a reader of one record.

    Args:
        kind: A dataclass of the library.

    Example:
        >>> from wellkept.types import Reason
        >>> record(Reason)({"rule": "replay", "detail": "entry 3", "unknown": 1})
        Reason(rule='replay', detail='entry 3')
    """

    def read(plain: Json) -> T:
        made: T = value(kind, plain)
        return made

    return read


def records(kind: type[T]) -> Callable[[Json], tuple[T, ...]]:
    """Make a reader of a list of records, bare or as the only member of an object."""

    def read(plain: Json) -> tuple[T, ...]:
        return tuple(value(kind, item) for item in only(plain))

    return read


def page(kind: type[T]) -> Callable[[Json], tuple[tuple[T, ...], bool]]:
    """Make a reader of a page: its items (the first member), and whether more items follow.

    Example:
        >>> page(int)({"numbers": [1, 2], "more": True})
        ((1, 2), True)
    """

    def read(plain: Json) -> tuple[tuple[T, ...], bool]:
        items = next(item for name, item in plain.items() if name != "more")
        return tuple(value(kind, item) for item in items), bool(plain.get("more"))

    return read


def only(plain: Json) -> Json:
    """The value of an object with one member; any other value unchanged.

    Example:
        >>> only({"entry": 7}), only([1])
        (7, [1])
    """
    if isinstance(plain, Mapping) and len(plain) == 1:
        return next(iter(plain.values()))
    return plain


def hits(plain: Json) -> Hits:
    """Read the answer of `recall`."""
    return Hits(
        (value(Hit, item) for item in plain["hits"]),
        left_out=(value(LeftOut, item) for item in plain.get("left_out", ())),
        dangling=plain.get("dangling", ()),
    )


def reached(plain: Json) -> tuple[Reached, bool]:
    """Read a page of the answer of `neighbors`, and whether more items follow."""
    found = Reached((value(Neighbour, item) for item in plain["neighbors"]), dangling=plain.get("dangling", ()))
    return found, bool(plain.get("more"))


def value(hint: Any, plain: Json) -> Any:
    """Convert JSON to a value of the given type.

    Raises:
        KeyError, TypeError, ValueError: The JSON does not match the type.
    """
    if plain is None or hint is Any:
        return plain
    if hint in _BY_CODEC:
        return _BY_CODEC[hint](_known(hint, plain))
    if isinstance(hint, type) and is_dataclass(hint):
        hints = _hints(hint)
        return hint(**{name: value(hints[name], item) for name, item in plain.items() if name in hints})
    if hint is datetime:
        return codec.time_from(plain)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(args, plain)
    if origin is tuple:
        inner = args[:1] * len(plain) if args[1:] == (...,) else args
        return tuple(value(one, item) for one, item in zip(inner, plain, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {_key(args[0], name): value(args[1], item) for name, item in plain.items()}
    return plain


def _one_of(args: tuple[Any, ...], plain: Json) -> Any:
    """Read a member of a union; effects name their type in `type`."""
    kinds = [one for one in args if one is not type(None) and get_origin(one) is not Literal]
    if kinds and kinds[0] in _EFFECTS.values():
        return value(_EFFECTS[plain["type"]], plain)
    return value(kinds[0], plain) if kinds else plain


def _key(hint: Any, name: str) -> Any:
    """The original key of a mapping; keys of a JSON object are always text."""
    return int(name) if hint is int else name


def _known(hint: type, plain: Mapping[str, Json]) -> Mapping[str, Json]:
    names = _names(hint)
    if plain.keys() <= names:
        return plain
    return {name: item for name, item in plain.items() if name in names}


@cache
def _names(record_type: type) -> frozenset[str]:
    return frozenset(item.name for item in fields(record_type))


@cache
def _hints(record_type: Any) -> dict[str, Any]:
    hints = get_type_hints(record_type)
    return {item.name: hints[item.name] for item in fields(record_type)}
