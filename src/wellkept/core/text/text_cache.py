"""A cache for functions of texts, bounded by the memory of arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial, update_wrapper
from inspect import signature
from itertools import chain, islice
from sys import getsizeof
from typing import Any, TypeVar

MIB = 1 << 20
_ENTRY = 160
"""Overhead of an entry in bytes: its tuple and its place in a dictionary."""
_SAMPLE = 4
"""Number of items of a collection that are measured; the others count as their average."""
_NOTHING: Any = object()

T = TypeVar("T")


def bytes_of(value: Any) -> int:
    """Approximate memory of a value in bytes: exact for texts, extrapolated from some items for long collections.

    Shared objects, such as small numbers and None, count as 0.

    Example:
        >>> bytes_of(None), bytes_of("x" * 1_000) >= 1_000, bytes_of(("x" * 1_000,) * 3) >= 3_000
        (0, True, True)
    """
    match value:
        case None | bool() | int() | float():
            return 0
        case str() | bytes():
            return getsizeof(value)
        case tuple() | list() | frozenset() | set():
            return getsizeof(value) + _of_many(value, len(value))
        case Mapping():
            return getsizeof(value) + _of_many(chain.from_iterable(value.items()), 2 * len(value))
        case _:
            inside = (getattr(value, name, None) for name in getattr(value, "__dataclass_fields__", ()))
            return getsizeof(value) + sum(map(bytes_of, inside))


def _of_many(items: Iterable[object], count: int) -> int:
    """Memory of `count` items in bytes, estimated from the first ones."""
    if count <= _SAMPLE:
        return sum(map(bytes_of, items))
    return count * sum(map(bytes_of, islice(items, _SAMPLE))) // _SAMPLE


class _Recent(dict[Any, T]):
    """The newer half of a cache. A look-up that finds its key runs no Python code; any other one ends in `__missing__`.

    Args:
        function: Computes the value of a key.
        most: Maximum size of keys and values in bytes.
        size: Estimates the size of a value in bytes.
    """

    def __init__(self, function: Callable[[Any], T], most: int, size: Callable[[Any], int]) -> None:
        self._function = function
        self._size = size
        self._half = self._left = most // 2
        self._older: dict[Any, T] = {}

    def __missing__(self, key: Any) -> T:
        found = self._older.get(key, _NOTHING)
        if found is _NOTHING:
            found = self._function(key)
        texts = key if isinstance(key, tuple) else (key,)
        weight = _ENTRY + self._size(found) + sum(getsizeof(text) for text in texts if isinstance(text, str))
        if weight <= self._half:
            if weight > self._left:
                self._older, self._left = self.copy(), self._half
                self.clear()
            self._left -= weight
            self[key] = found
        return found  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Drop all entries."""
        self._older, self._left = {}, self._half
        self.clear()


def remembered(most: int, size: Callable[[Any], int] = bytes_of) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorator that caches results of a pure function of texts for its most recent arguments.

    Arguments that are no texts are part of the key, but their memory is not counted, because the same objects recur.

    The cache has two halves. When the newer half is full, it replaces the older one, whose entries are dropped. So each
    call takes about the same time, and threads need no lock: at worst a result is computed twice.

    Args:
        most: Maximum size of texts and results in bytes. An entry of more than half of it is not cached.
        size: Estimates the size of a result in bytes.

    Example:
        >>> @remembered(10_000)
        ... def shout(text):
        ...     return text.upper()
        >>> shout("tea"), shout("tea")
        ('TEA', 'TEA')
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        call: Any
        if len(signature(function).parameters) == 1:
            recent = _Recent(function, most, size)
            call = partial(recent.__getitem__)
        else:
            recent = _Recent(lambda texts: function(*texts), most, size)

            def call(*texts: Any) -> T:
                return recent[texts]

        call.cache_clear = recent.forget
        return update_wrapper(call, function)

    return decorate
