"""The reference backend shares what a write does not change: its cost, its snapshots, and what an erasure leaves."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.storage.layered_mapping import Layers
from wellkept.storage.memory import DictStorage
from wellkept.testing.checks.world import NS, World, at, changed, conflict, entry, memory
from wellkept.types import ALL_STATUSES, AliasChange, ConflictChange, Filter, Link, LinkChange, MemoryChange

keys = st.integers(0, 12)
steps = st.one_of(
    st.tuples(st.just("put"), keys, st.integers(1, 99)),
    st.tuples(st.just("remove"), keys, st.none()),
    st.tuples(st.sampled_from(("copy", "all", "settle")), st.none(), st.none()),
)


@given(st.lists(steps, max_size=60))
def test_layers_answer_like_a_dict_and_no_copy_changes_what_it_was_made_from(acts: list[tuple[str, Any, Any]]) -> None:
    held: Layers[int, int] = Layers()
    plain: dict[int, int] = {}
    former: list[tuple[Layers[int, int], dict[int, int]]] = []
    for act, key, value in acts:
        match act:
            case "put":
                held.put(key, value)
                plain[key] = value
            case "remove":
                held.put(key, None)
                plain.pop(key, None)
            case "copy":
                former.append((held, dict(plain)))
                held = held.copy()
            case "all":
                assert held.all() == plain
            case "settle":
                held.settle()
        assert [held.get(one) for one in range(13)] == [plain.get(one) for one in range(13)]
        assert [one in held for one in range(13)] == [one in plain for one in range(13)]
    for earlier, then in [*former, (held, plain)]:
        assert {one: earlier.get(one) for one in range(13) if one in earlier} == then
        assert earlier.all() == then


def _values_copied_by(writes: int) -> int:
    """How many values all dicts hold that this many writes of one memory each have made."""
    storage = DictStorage()
    made: dict[int, dict[Any, Any]] = {}  # holds each dict, so that no two have the same address
    for number in range(writes):
        row = memory(f"m{number}")
        link = LinkChange(None, Link(row.id, "m0", "related"))
        with storage.begin(NS, write=True) as tx:
            tx.apply(entry(MemoryChange(None, row), AliasChange(row.id, f"h{number}", present=True), link))
        for held in storage._namespaces[NS].layers().values():
            made |= {id(layer): layer for layer in held._layers}
    return sum(map(len, made.values()))


def test_twice_as_many_writes_copy_about_twice_as_many_values() -> None:
    few, many = _values_copied_by(500), _values_copied_by(2000)
    assert many < 6 * few, "in four times as many writes; copies of the namespace would make it sixteen times as many"
    assert many < 2000 * 6 * 12, "six values a write, each copied about as often as 2000 can be halved"


def test_a_write_copies_nothing_of_what_others_read_meanwhile() -> None:
    world = World(DictStorage())
    rows = [world.add(memory(f"m{number}"), hashes=(f"h{number}",)) for number in range(9)]
    views = []
    for row in rows:
        reading = world.store.begin(NS, write=False)
        views.append((reading, tx := reading.__enter__(), tx.find(Filter(statuses=ALL_STATUSES)), tx.journal()))
        world.apply(changed(row, status="archived"), AliasChange(row.id, f"h{row.id}", present=True))
    world.apply(MemoryChange(changed(rows[0], status="archived").after, None))
    for reading, tx, found, journal in views:
        assert tx.find(Filter(statuses=ALL_STATUSES)) == found
        assert tx.journal() == journal
        assert tx.find(Filter(hashes=("hm8",), statuses=ALL_STATUSES)) == []
        reading.__exit__(None, None, None)
    assert len(world.ids(Filter(statuses=ALL_STATUSES))) == 8


@pytest.mark.parametrize("earlier", [0, 1, 7], ids="after {} writes".format)
def test_a_write_that_fails_leaves_nothing_half_written(earlier: int) -> None:
    world = World(DictStorage())
    for number in range(earlier):
        world.add(memory(f"m{number}"), seed=number, hashes=(f"h{number}",))
    before = _everything(world)
    with suppress(ZeroDivisionError), world.store.begin(NS, write=True) as tx:
        link = LinkChange(None, Link("new", "m0", "related"))
        tx.apply(entry(MemoryChange(None, memory("new", "unheard")), AliasChange("new", "h0", present=True), link))
        tx.apply(entry(ConflictChange(None, conflict("k", "new", "m0"))))
        tx.touch({"m0": (5, at(5), 0.5)})
        tx.erase(["m0"], entry(verb="erase", memory_id="m0", memory_ids=("m0",)))
        raise ZeroDivisionError
    assert _everything(world) == before
    world.add(memory("next"))
    assert [one.seq for one in world.journal()] == [*range(1, earlier + 2)]


def _everything(world: World) -> tuple[object, ...]:
    with world.store.begin(NS, write=False) as tx:
        hashes = [f"h{number}" for number in range(9)]
        pointed = [[row.id for row in tx.find(Filter(hashes=(one,), statuses=ALL_STATUSES))] for one in hashes]
        rows = tx.find(Filter(statuses=ALL_STATUSES))
        return rows, pointed, tx.links(), tx.conflicts(), tx.journal(), tx.match(["unheard", "content"], limit=9)


def test_no_layer_keeps_what_was_erased() -> None:
    storage = DictStorage()
    world = World(storage)
    row = world.add(memory("m1", "the secret word"), seed=1, hashes=("h1",))
    world.apply(changed(row, content="the secret word, again"), LinkChange(None, Link("m1", "m2", "related")))
    for number in range(2, 9):
        world.add(memory(f"m{number}"), seed=number)
    with storage.begin(NS, write=True) as tx:
        tx.erase(["m1"], entry(verb="erase", memory_id="m1", memory_ids=("m1",)))
    layers = [layer for held in storage._namespaces[NS].layers().values() for layer in held._layers]
    assert not [layer for layer in layers if "secret" in repr(layer) or "h1" in layer]
    assert sum("m1" in repr(layer) for layer in layers) == 3, "the row, its place and the journal"
