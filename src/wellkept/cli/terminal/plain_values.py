"""Values of options that need no conversion are taken as they are.

Typer converts with pydantic, whose import takes longer than many a command. It is imported only for a value
that must be converted or refused, so results and messages are always typer's.
"""

from __future__ import annotations

import re
from typing import Any, Literal, get_args, get_origin

from wellkept.frozen import frozen

_MOST_DIGITS = 9
_NOT_PLAIN = object()
_HALVES = re.compile("[\ud800-\udfff]")
"""What bytes that are no UTF-8 become; typer refuses them."""


@frozen
class _Plainly:
    """Converts like typer, and without it where the value is surely right.

    Attributes:
        usual: Loads typer's conversion.
    """

    usual: Any

    def __call__(self) -> _Plainly:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        found = _plain(value, param)
        return self.usual().coerce(value, param=param, ctx=ctx) if found is _NOT_PLAIN else found


def plainly(params: list[Any]) -> list[Any]:
    """The parameters, which now take plain values as they are."""
    for param in params:
        usual = getattr(param, "get_runtime_param", None)
        if usual is not None and not isinstance(usual, _Plainly):
            param.get_runtime_param = _Plainly(usual)
    return params


def _plain(value: Any, param: Any) -> Any:
    several = param.multiple or param.nargs == -1
    if value is None:
        return () if several else None
    shape, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    if info.parser is not None or param.type_descriptor.is_file:
        return _NOT_PLAIN
    if not several:
        return _one(value, shape, info)
    if get_origin(shape) is not list or not isinstance(value, list | tuple):
        return _NOT_PLAIN
    found = [_one(item, get_args(shape)[0], info) for item in value]
    return _NOT_PLAIN if _NOT_PLAIN in found else found


def _one(value: Any, shape: Any, info: Any) -> Any:
    """One value of a type, if it is surely right."""
    if shape is str and type(value) is str and not _HALVES.search(value):
        return value
    if get_origin(shape) is Literal and value in get_args(shape):
        return value
    if shape is not int:
        return _NOT_PLAIN
    if type(value) is str and len(value) <= _MOST_DIGITS and value.isascii() and value.isdecimal():
        value = int(value)
    within = type(value) is int and (info.min is None or value >= info.min) and (info.max is None or value <= info.max)
    return value if within else _NOT_PLAIN
