"""The fields next to a text: subject, attribute, summary, trigger, times, stance.

Two memories of equal text are duplicates only if none of these fields differs; an empty field agrees with any value.
That relation is not transitive: a memory without a time agrees with one of March and one of May. So whole groups are
checked, not pairs, and without comparing all pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import TypeAlias, TypeVar

from wellkept.core.text.forms import canonical, slot_key
from wellkept.types import Json, Memory

Beside: TypeAlias = tuple[Json, ...]
"""One value per field; a falsy value means not stated."""
T = TypeVar("T")
_Shape: TypeAlias = tuple[bool, ...]


def beside(row: Memory) -> Beside:
    """The fields of a memory, as `evidence.says_the_same` compares them."""
    return (
        slot_key(row.subject),
        slot_key(row.attribute),
        canonical(row.summary) if row.summary else "",
        canonical(row.trigger) if row.trigger else "",
        row.event_time,
        row.event_end,
        row.polarity,
    )


def agreed(parts: Iterable[Beside]) -> Beside | None:
    """Merge the fields of several memories; None when two of them differ.

    Example:
        >>> agreed([("Nous", "", 0), ("", "status", 0)]), agreed([("Nous", 1), ("Nous", -1)])
        (('Nous', 'status', 0), None)
    """
    found: Beside | None = None
    for part in parts:
        if found is None:
            found = part
        elif any(a and b and a != b for a, b in zip(found, part, strict=True)):
            return None
        else:
            found = tuple(a or b for a, b in zip(found, part, strict=True))
    return found


def agreeing(items: Sequence[tuple[T, Beside]]) -> list[list[T]]:
    """Group items whose fields all agree; each item joins the first group that fits.

    Example:
        >>> agreeing([("a", ("Nous",)), ("b", ("Ana",)), ("c", ("",)), ("d", ("Nous",))])
        [['a', 'c', 'd'], ['b']]
    """
    groups: list[list[T]] = []
    shelf = _Shelf()
    for item, said in items:
        at = shelf.first(said)
        if at is None:
            at = len(groups)
            groups.append([])
        groups[at].append(item)
        shelf.put(at, said)
    return groups


class _Shelf:
    """Index of groups by their values, so that finding a group does not scan 5,000 of them."""

    def __init__(self) -> None:
        self._said: list[Beside] = []
        self._shelves: dict[tuple[_Shape, _Shape], dict[Beside, list[int]]] = {}
        self._shapes: dict[_Shape, None] = {}

    def first(self, said: Beside) -> int | None:
        """Number of the oldest group that agrees."""
        mine = _shape(said)
        best: int | None = None
        for shape in self._shapes:
            common = tuple(a and b for a, b in zip(shape, mine, strict=True))
            heap = self._shelf(shape, common).get(_projected(said, common), [])
            while heap and _shape(self._said[heap[0]]) != shape:
                heappop(heap)  # the group gained fields and moved to another shelf
            if heap and (best is None or heap[0] < best):
                best = heap[0]
        return best

    def put(self, at: int, said: Beside) -> None:
        """Add a new group, or merge the fields into an existing one."""
        if at == len(self._said):
            self._said.append(said)
        else:
            grown = agreed((self._said[at], said))
            if grown is None or grown == self._said[at]:
                return
            self._said[at] = grown
        shape = _shape(self._said[at])
        self._shapes.setdefault(shape)
        for (of, common), shelf in self._shelves.items():
            if of == shape:
                heappush(shelf.setdefault(_projected(self._said[at], common), []), at)

    def _shelf(self, shape: _Shape, common: _Shape) -> dict[Beside, list[int]]:
        found = self._shelves.get((shape, common))
        if found is None:
            found = self._shelves[shape, common] = {}
            for at, said in enumerate(self._said):
                if _shape(said) == shape:
                    heappush(found.setdefault(_projected(said, common), []), at)
        return found


def _shape(said: Beside) -> _Shape:
    return tuple(bool(value) for value in said)


def _projected(said: Beside, common: _Shape) -> Beside:
    return tuple(value for value, there in zip(said, common, strict=True) if there)
