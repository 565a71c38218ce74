"""Links: idempotent, tolerant of missing ends, walked once (source 002)."""

from __future__ import annotations

import pytest

from wellkept.errors import InvalidField, NotFound, SelfReference
from wellkept.types import KNOWN_RELATIONS, Link

WORDS = ("apples", "bridges", "candles", "doors", "engines", "feathers")


@pytest.fixture
def ids(table):
    """Six memories that have nothing to do with each other."""
    return [table.store.remember(f"A text about {word}").memory.id for word in WORDS]


def reached(table, start, **options):
    return [(item.memory.id, item.rel, item.direction, item.depth) for item in table.store.neighbors(start, **options)]


def test_a_link_can_be_made_found_and_removed(table, ids):
    """S2-39, S2-41, S2-50."""
    a, b = ids[:2]
    made = table.store.link(a, b, "refines")
    assert made == Link(a, b, "refines", table.clock())
    assert reached(table, a) == [(b, "refines", "out", 1)]
    assert reached(table, b) == [(a, "refines", "in", 1)]
    assert table.store.unlink(a, b) == 1
    assert reached(table, a) == []
    assert table.store.unlink(a, b) == 0


@pytest.mark.parametrize("rel", [*KNOWN_RELATIONS, "caused_by", "verweist auf", "基于"])
def test_the_vocabulary_of_relations_is_open(table, ids, rel):
    """S2-40, B-24."""
    assert table.store.link(ids[0], ids[1], rel).rel == rel


def test_the_relations_the_product_writes_are_those_of_the_source():
    """S2-40."""
    known = {"supersedes", "refines", "derived_from", "example_of", "contradicts", "related"}
    assert set(KNOWN_RELATIONS) == {*known, "restates", "updates_part"}


def test_related_is_the_default_and_relates_to_means_the_same(table, ids):
    """S0-36, S2-41, B-24."""
    a, b = ids[:2]
    assert table.store.link(a, b) == table.store.link(a, b, "relates_to") == table.store.link(a, b, "related")
    assert len(reached(table, a, rel="relates_to")) == 1
    assert table.store.unlink(a, b, "relates_to") == 1


def test_the_same_link_twice_is_one_and_is_journaled_once(table, ids):
    """S2-44, B-24."""
    a, b = ids[:2]
    first = table.store.link(a, b, "refines")
    before = table.snapshot()
    table.clock.advance(days=1)
    assert table.store.link(a, b, "refines") == first
    assert table.snapshot() == before
    table.store.link(a, b, "example_of")
    assert [rel for _, rel, _, _ in reached(table, a)] != []
    assert table.store.unlink(a, b) == 2


@pytest.mark.parametrize(("rel", "left"), [("refines", ["example_of"]), (None, [])])
def test_links_are_removed_by_relation_or_all_at_once(table, ids, rel, left):
    """S2-41."""
    a, b = ids[:2]
    table.store.link(a, b, "refines")
    table.store.link(a, b, "example_of")
    table.store.link(b, a, "refines")
    table.store.unlink(a, b, rel)
    assert [edge[2] for edge in table.store.subgraph([a, b]).edges if edge[0] == a] == left
    assert [edge[2] for edge in table.store.subgraph([a, b]).edges if edge[0] == b] == ["refines"]


def test_a_memory_cannot_be_linked_to_itself(table, ids):
    """S2-43."""
    before = table.snapshot()
    with pytest.raises(SelfReference, match="itself"):
        table.store.link(ids[0], ids[0])
    assert table.snapshot() == before


@pytest.mark.parametrize("rel", ["", "   ", "x" * 101, "two\nlines", "nul\x00"])
def test_a_relation_is_one_short_line(table, ids, rel):
    before = table.snapshot()
    with pytest.raises(InvalidField, match="is not a relation"):
        table.store.link(ids[0], ids[1], rel)
    assert table.snapshot() == before


def test_a_link_to_nowhere_is_kept_and_reported_as_dangling(table, ids):
    """S2-42, B-24."""
    table.store.link(ids[0], "00000000-gone", "refines")
    table.store.link(ids[0], ids[1], "refines")
    assert [one for one, *_ in reached(table, ids[0])] == [ids[1]]
    graph = table.store.subgraph([ids[0]])
    assert graph.dangling == ("00000000-gone",)
    assert table.store.neighbors(ids[0]).dangling == ("00000000-gone",)
    assert set(graph.nodes) == {ids[0], ids[1]}
    assert any("does not exist" in problem.what for problem in table.store.verify())


@pytest.mark.parametrize("ends", [(0, None), (None, 0)])
def test_a_strict_link_asks_for_both_ends(table, ids, ends):
    """B-24."""
    src, dst = (ids[end] if end is not None else "00000000-gone" for end in ends)
    before = table.snapshot()
    with pytest.raises(NotFound, match="00000000-gone"):
        table.store.link(src, dst, strict=True)
    assert table.snapshot() == before


def test_a_circle_of_links_is_walked_once(table, ids):
    """S2-45, S2-53."""
    a, b = ids[:2]
    table.store.link(a, b)
    table.store.link(b, a)
    assert [one for one, *_ in reached(table, a, depth=5)] == [b]
    assert [one for one, *_ in reached(table, b, depth=20)] == [a]


CHAIN = ((0, 1, "refines"), (1, 2, "refines"), (2, 0, "related"), (1, 3, "example_of"), (4, 1, "refines"))


@pytest.mark.parametrize(
    ("start", "options", "expected"),
    [
        (0, {}, [1, 2]),
        (0, {"direction": "out"}, [1]),
        (0, {"direction": "in"}, [2]),
        (0, {"direction": "out", "depth": 2}, [1, 2, 3]),
        (0, {"rel": "refines", "depth": 3}, [1, 2, 4]),
        (0, {"rel": "refines", "direction": "out", "depth": 3}, [1, 2]),
        (1, {"direction": "in"}, [0, 4]),
        (3, {"direction": "out"}, []),
        (5, {"depth": 20}, []),  # S2-46: a memory without links has none
        (0, {"depth": 20}, [1, 2, 3, 4]),
    ],
)
def test_neighbours_are_walked_by_direction_relation_and_depth(table, ids, start, options, expected):
    """S2-41, S2-46."""
    for src, dst, rel in CHAIN:
        table.store.link(ids[src], ids[dst], rel)
    found = [ids.index(one) for one, *_ in reached(table, ids[start], **options)]
    assert sorted(found) == expected
    assert len(found) == len(set(found))


def test_a_neighbour_says_how_far_and_which_way(table, ids):
    for src, dst, rel in CHAIN:
        table.store.link(ids[src], ids[dst], rel)
    assert sorted(reached(table, ids[0], depth=2)) == sorted(
        [
            (ids[1], "refines", "out", 1),
            (ids[2], "related", "in", 1),
            (ids[3], "example_of", "out", 2),
            (ids[4], "refines", "in", 2),
        ]
    )


def test_a_subgraph_holds_the_memories_within_reach_and_all_links_among_them(table, ids):
    """S2-39, S2-41."""
    for src, dst, rel in CHAIN:
        table.store.link(ids[src], ids[dst], rel)
    near = table.store.subgraph([ids[0]])
    assert set(near.nodes) == {ids[0], ids[1], ids[2]}
    assert set(near.edges) == {(ids[src], ids[dst], rel) for src, dst, rel in CHAIN[:3]}
    wide = table.store.subgraph([ids[0]], depth=2)
    assert set(wide.nodes) == set(ids[:5])
    assert set(wide.edges) == {(ids[src], ids[dst], rel) for src, dst, rel in CHAIN}


@pytest.mark.parametrize(
    ("options", "where"),
    [({"depth": 0}, "depth"), ({"depth": 21}, "depth"), ({"depth": 1.5}, "depth"), ({"direction": "up"}, "direction")],
)
def test_a_walk_that_makes_no_sense_is_refused(table, ids, options, where):
    with pytest.raises(InvalidField) as caught:
        table.store.neighbors(ids[0], **options)
    assert caught.value.where == where and caught.value.todo


def test_one_id_in_place_of_a_list_of_ids_is_refused(table, ids):
    """Its letters are no ids, and a graph of dangling letters is no answer."""
    with pytest.raises(InvalidField) as caught:
        table.store.subgraph(ids[0])
    assert (caught.value.where, caught.value.todo) == ("ids", "Pass a list of ids")


def test_neighbours_of_nobody_are_an_error(table):
    with pytest.raises(NotFound):
        table.store.neighbors("00000000-gone")


def test_links_stay_inside_a_namespace(table, ids):
    """I8."""
    table.store.link(ids[0], ids[1])
    other = table.store.in_namespace("elsewhere")
    row = other.remember("A text about apples").memory
    assert other.neighbors(row.id) == ()
    assert other.subgraph([ids[0]]).nodes == {}


def test_links_can_be_taken_back(table, ids):
    table.store.link(ids[0], ids[1])
    table.store.undo(table.store.journal()[-1].seq)
    assert reached(table, ids[0]) == []
