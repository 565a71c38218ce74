"""Links between memories and what is reached over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Self

from wellkept.types.memories import Memory


@dataclass(frozen=True, slots=True)
class Link:
    """A directed, typed edge; unique by (src, dst, rel)."""

    src: str
    dst: str
    rel: str = "related"
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """A neighbourhood: memories by id, edges between them, and ids that edges name but nobody holds."""

    nodes: Mapping[str, Memory]
    edges: tuple[tuple[str, str, str], ...]
    dangling: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory reached over a link, and how."""

    memory: Memory
    rel: str
    direction: Literal["out", "in"]
    depth: int


class Reached(tuple[Neighbour, ...]):
    """The answer of `neighbors`: a tuple of neighbours, nearest first, and what is to be said beside them.

    Attributes:
        dangling: Ids that the links name but nobody holds.
    """

    dangling: tuple[str, ...]

    def __new__(cls, found: Iterable[Neighbour] = (), *, dangling: Iterable[str] = ()) -> Self:
        """The neighbours with what is said beside them."""
        made = super().__new__(cls, found)
        made.dangling = tuple(dangling)
        return made
