"""Complete linkage: everybody is linked with everybody, and the order of storage decides nothing (S1-21, S1-24)."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.consolidation.clusters import complete_linkage

SIX = "abcdef"
links = st.dictionaries(
    st.sampled_from(list(combinations(SIX, 2))), st.sampled_from([0.95, 0.96, 0.97, 0.98, 1.0]), max_size=15
)


@pytest.mark.parametrize(
    ("linked", "expected"),
    [
        ({}, ()),
        ({("a", "b"): 0.95}, (("a", "b"),)),
        ({("a", "b"): 0.97, ("b", "c"): 0.97}, (("a", "b"),)),  # a tie goes to the older pair
        ({("a", "b"): 0.96, ("b", "c"): 0.97}, (("b", "c"),)),
        ({("a", "b"): 0.97, ("b", "c"): 0.97, ("a", "c"): 0.95}, (("a", "b", "c"),)),
        ({("a", "b"): 1.0, ("c", "d"): 1.0, ("b", "c"): 0.99}, (("a", "b"), ("c", "d"))),
        ({("a", "b"): 0.99, ("e", "f"): 0.96, ("b", "f"): 0.95}, (("a", "b"), ("e", "f"))),
    ],
)
def test_clusters_are_cliques_taken_from_the_strongest_link(
    linked: dict[tuple[str, str], float], expected: tuple[tuple[str, ...], ...]
) -> None:
    assert complete_linkage(SIX, linked) == expected


@given(linked=links, seed=st.integers(0, 99))
def test_every_two_of_a_cluster_are_linked_nobody_is_in_two_and_order_is_no_matter(
    linked: dict[tuple[str, str], float], seed: int
) -> None:
    found = complete_linkage(SIX, linked)
    members = [one for cluster in found for one in cluster]
    assert len(members) == len(set(members))
    for cluster in found:
        assert len(cluster) > 1 and list(cluster) == sorted(cluster)
        assert all(pair in linked for pair in combinations(cluster, 2))
    for one, other in combinations(found, 2):  # nothing that could still be joined was left
        assert not all((min(a, b), max(a, b)) in linked for a in one for b in other)
    shuffled = list(linked.items())
    random.Random(seed).shuffle(shuffled)
    assert complete_linkage(SIX, dict(shuffled)) == found
