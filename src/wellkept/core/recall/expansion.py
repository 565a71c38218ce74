"""Expands hits along links: one step, in a deterministic order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from wellkept.types import ExpandSpec, Link

_ALIASES = {"relates_to": "related"}


def relations(spec: ExpandSpec) -> frozenset[str]:
    """The relations to follow, under their stored names."""
    return frozenset(_ALIASES.get(rel, rel) for rel in spec.rels)


def step(edge: Sequence[str], links: Iterable[Link], spec: ExpandSpec, seen: Collection[str]) -> dict[str, Link]:
    """Memories one link away, each once, with the link that reaches it.

    Order: by position of the source in `edge`, then by relation as requested, then by id. Every backend gives the same
        order.

    Args:
        edge: Ids to start from, most important first.
        links: Links of these memories.
        spec: Which relations to follow.
        seen: Ids already in the answer or already visited.

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
