"""Deterministic complete-linkage clustering: all members of a cluster are linked pairwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def complete_linkage(order: Sequence[str], linked: Mapping[tuple[str, str], float]) -> tuple[tuple[str, ...], ...]:
    """Greedy clusters of two or more, in a fixed order.

    Links are processed by strength, ties by position. Two clusters are joined when every member of one is linked with
    every member of the other. So a chain of near neighbours never becomes one cluster, and storage order does not
    matter.

    Args:
        order: All ids, by (created_at, id).
        linked: Strength of each link; the older id comes first.

    Returns:
        The clusters, ordered by first member, with ordered members.

    Example:
        >>> complete_linkage("abc", {("a", "b"): 0.99, ("b", "c"): 0.97})
        (('a', 'b'),)
        >>> complete_linkage("abc", {("a", "b"): 0.99, ("b", "c"): 0.97, ("a", "c"): 0.96})
        (('a', 'b', 'c'),)
    """
    place = {one: at for at, one in enumerate(order)}
    ranked = sorted(linked.items(), key=lambda item: (-item[1], place[item[0][0]], place[item[0][1]]))
    member_of = {one: one for pair in linked for one in pair}
    clusters: dict[str, list[str]] = {one: [one] for one in member_of}
    for (a, b), _ in ranked:
        left, right = member_of[a], member_of[b]
        if left == right or not _all_linked(clusters[left], clusters[right], linked):
            continue
        for one in clusters[right]:
            member_of[one] = left
        clusters[left] += clusters.pop(right)
    found = [tuple(sorted(members, key=place.__getitem__)) for members in clusters.values() if len(members) > 1]
    return tuple(sorted(found, key=lambda members: place[members[0]]))


def _all_linked(left: Sequence[str], right: Sequence[str], linked: Mapping[tuple[str, str], float]) -> bool:
    return all((a, b) in linked or (b, a) in linked for a in left for b in right)
