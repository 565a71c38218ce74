"""Checks field values against their declared types, because values from a store or a file may be anything."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

_Test: TypeAlias = Callable[[Any], bool]
_LARGEST = sys.float_info.max


def misfit(record: type, values: Mapping[str, object]) -> str:
    """Name of the first field whose value has the wrong type; empty when all fit.

    Numbers must be finite. Unknown fields are ignored.

    Args:
        record: A dataclass.
        values: Field values by name; some may be missing.

    Example:
        >>> from wellkept.types import Link
        >>> misfit(Link, {"src": "a", "dst": "b"}), misfit(Link, {"src": "a", "dst": 5})
        ('', 'dst')
    """
    fields = _fields(record)
    for name, value in values.items():
        field = fields.get(name)
        if field is not None and type(value) not in field[0] and not field[1](value):
            return name
    return ""


@cache
def _fields(record: type) -> Mapping[str, tuple[frozenset[type], _Test]]:
    """By field: types whose every value fits, and a test for values of other types."""
    hints = get_type_hints(record)
    return {name: (frozenset(_sure(hint)), _test(hint)) for name, hint in hints.items()}


def _sure(hint: Any) -> Iterator[type]:
    if get_origin(hint) in (Union, types.UnionType):
        for part in get_args(hint):
            yield from _sure(part)
    elif isinstance(hint, type) and hint is not float:  # floats are tested for finiteness
        yield hint


def _test(hint: Any) -> _Test:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        kinds, allowed = {type(part) for part in parts}, frozenset(parts)
        return lambda value: type(value) in kinds and value in allowed
    if origin in (Union, types.UnionType):
        tests = [_test(part) for part in parts]
        return lambda value: any(test(value) for test in tests)
    if origin is tuple:
        item = _test(parts[0])
        return lambda value: isinstance(value, tuple) and all(map(item, value))
    if hint is int:
        return lambda value: type(value) is int
    if hint is float:
        return lambda value: (
            isinstance(value, int | float) and type(value) is not bool and -_LARGEST <= value <= _LARGEST
        )
    kind = origin or hint
    return lambda value: isinstance(value, kind)
