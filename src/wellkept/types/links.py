"""Links between memories, and the memories reached over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal, Self

from wellkept.frozen import frozen
from wellkept.types.memories import Memory

MAY_RESTATE = "may_restate"
"""Relation of a memory to one that it may repeat: recall shows one of the two, with the other beneath it."""
MAY_UPDATE = "may_update"
"""Relation of a memory to an older one that it may replace: recall puts the newer first."""
UPDATES_PART = "updates_part"
"""Relation of a memory to an older one of which it replaces a part: both hold, and recall puts the newer first."""


@frozen
class Link:
    """A directed link with a relation; unique by (src, dst, rel)."""

    src: str
    dst: str
    rel: str = "related"
    created_at: datetime | None = None


@frozen
class Graph:
    """A neighbourhood: memories by id, links between them, and linked ids without a memory."""

    nodes: Mapping[str, Memory]
    edges: tuple[tuple[str, str, str], ...]
    dangling: tuple[str, ...] = ()


@frozen
class Neighbour:
    """A memory reached over a link, with the link's relation and direction."""

    memory: Memory
    rel: str
    direction: Literal["out", "in"]
    depth: int


class Reached(tuple[Neighbour, ...]):
    """The result of `neighbors`: a tuple of neighbours, nearest first.

    Attributes:
        dangling: Ids that links point to but that no memory has.
    """

    dangling: tuple[str, ...]

    def __new__(cls, found: Iterable[Neighbour] = (), *, dangling: Iterable[str] = ()) -> Self:
        """Build the tuple with its extra fields."""
        made = super().__new__(cls, found)
        made.dangling = tuple(dangling)
        return made
