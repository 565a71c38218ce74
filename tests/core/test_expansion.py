"""One step outwards along links: the same order whatever order the links come in."""

from __future__ import annotations

from itertools import permutations

import pytest

from wellkept.core.recall.expansion import step
from wellkept.types import ExpandSpec, Link

LINKS = [
    Link("a", "r", "example_of"),
    Link("a", "q", "refines"),
    Link("b", "p", "refines"),
    Link("b", "q", "example_of"),
    Link("x", "a", "refines"),
]


@pytest.mark.parametrize(
    ("edge", "spec", "seen", "expected"),
    [
        (["a", "b"], ExpandSpec(), {"a", "b"}, ["q", "r", "p"]),
        (["b", "a"], ExpandSpec(), {"a", "b"}, ["p", "q", "r"]),
        (["a"], ExpandSpec(rels=("example_of", "refines")), {"a"}, ["r", "q"]),
        (["a"], ExpandSpec(), {"a", "q"}, ["r"]),
        (["r"], ExpandSpec(), {"r"}, []),  # outwards only
        ([], ExpandSpec(), set(), []),
    ],
)
def test_what_the_best_hit_points_at_comes_first(edge, spec, seen, expected):
    """S2-47, I9."""
    for links in permutations(LINKS):
        assert list(step(edge, links, spec, seen)) == expected


def test_an_alias_names_the_same_relation():
    """B-24."""
    assert list(step(["a"], [Link("a", "b", "related")], ExpandSpec(rels=("relates_to",)), {"a"})) == ["b"]
