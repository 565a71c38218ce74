"""Which memories stand beside the hits along links: one step outwards, in a fixed order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from wellkept.types import ExpandSpec, Link

_ALIASES = {"relates_to": "related"}


def relations(spec: ExpandSpec) -> frozenset[str]:
    """The relations to follow, by the names they are stored under."""
    return frozenset(_ALIASES.get(rel, rel) for rel in spec.rels)


def step(edge: Sequence[str], links: Iterable[Link], spec: ExpandSpec, seen: Collection[str]) -> dict[str, Link]:
    """The memories one step outwards, each once, with the link it is reached over.

    What the first of the edge points at comes first; of one memory's links, in the order of the
    relations asked for, then by id, so that every backend gives the same.

    Args:
        edge: Ids to start from, the most important first.
        links: Links of these.
        spec: Which relations to follow.
        seen: Ids that are in the answer already, or were looked at.

    Example:
        >>> links = [Link("a", "b", "refines"), Link("c", "a", "refines"), Link("a", "d", "related")]
        >>> list(step(["a"], links, ExpandSpec(), {"a"}))
        ['b']
    """
    wanted = relations(spec)
    order = {_ALIASES.get(rel, rel): place for place, rel in reversed(list(enumerate(spec.rels)))}
    places = {memory_id: place for place, memory_id in reversed(list(enumerate(edge)))}
    outward = [link for link in links if link.src in places and link.rel in wanted and link.dst not in seen]
    outward.sort(key=lambda link: (places[link.src], order[link.rel], link.dst))
    reached: dict[str, Link] = {}
    for link in outward:
        reached.setdefault(link.dst, link)
    return reached
