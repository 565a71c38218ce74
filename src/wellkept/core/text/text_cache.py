"""A cache for functions of texts, bounded by how much text it keeps and not only by how many texts."""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import wraps
from typing import Any, TypeVar

_ENTRY = 16
"""Characters that an entry counts for beside its texts."""
_NOTHING: Any = object()

T = TypeVar("T")


def remembered(characters: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Keeps the results of a pure function of texts for the texts it was asked last.

    Two halves take turns: when the newer one is full, it becomes the older one, and what the older one
    held is forgotten. So no call takes longer than another, and threads need no lock: at worst a result is made twice.

    Args:
        characters: Most characters of the texts that are kept, 16 for each entry included. A text above
            half of that is never kept.

    Example:
        >>> @remembered(characters=10_000)
        ... def shout(text):
        ...     return text.upper()
        >>> shout("tea"), shout("tea")
        ('TEA', 'TEA')
    """
    half = characters // 2

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        newer: dict[tuple[Sized, ...], T] = {}
        older: dict[tuple[Sized, ...], T] = {}
        left = half

        @wraps(function)
        def call(*texts: Sized) -> T:
            nonlocal newer, older, left
            found = newer.get(texts, _NOTHING)
            if found is not _NOTHING:
                return found  # type: ignore[no-any-return]
            found = older.get(texts, _NOTHING)
            if found is _NOTHING:
                found = function(*texts)
            weight = sum(map(len, texts)) + _ENTRY
            if weight <= half:
                if weight > left:
                    older, newer, left = newer, {}, half
                left -= weight
                newer[texts] = found
            return found  # type: ignore[no-any-return]

        def clear() -> None:
            nonlocal newer, older, left
            newer, older, left = {}, {}, half

        call.cache_clear = clear  # type: ignore[attr-defined]
        return call

    return decorate
