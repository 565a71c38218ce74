"""Packs over a store: what recall found, each thing once, within a budget (B-26, I7, I8)."""

from __future__ import annotations

import pytest

from wellkept.errors import InvalidField, ModelUnavailable
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Filter, NewMemory

OLD, NEW = "Alerts go to the duty phone.", "The duty phone gets the alerts."


def near(table, *texts, kind="semantic"):
    """All of these are near each other, and near the question."""
    for place, one in enumerate(texts):
        for other in texts[:place]:
            table.near(NewMemory(content=other, kind=kind), NewMemory(content=one, kind=kind), 0.75)


def contents(pack):
    return [group.shown.memory.content for group in pack.groups]


def test_a_pack_holds_what_recall_finds_in_its_order(make):
    table = make()
    for text in ("The test database listens on port 5433.", "Tea is upstairs.", "The database is backed up at 3."):
        table.store.remember(text)
    found = [hit.memory.content for hit in table.store.recall("database", touch=False)]
    pack = table.store.pack("database")
    assert contents(pack) == found
    assert all(text in pack.text for text in found)


def test_events_told_again_are_shown_once_with_the_others_listed(make):
    """S3-20: decisions are stored each time, and shown once."""
    table = make()
    first = table.store.remember("Ship the export behind a flag.", kind="decision").memory
    table.clock.advance(days=1)
    second = table.store.remember("ship the export behind a flag", kind="decision").memory
    pack = table.store.pack("export")
    assert [group.ids for group in pack.groups] == [(second.id, first.id)]
    assert f"id={second.id} also={first.id}" in pack.text


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (None, ["Ship the export on Monday."]),
        (Filter(kinds=("decision", "note")), ["Ship the export on Monday."]),
        (Filter(tags=("none",)), []),
    ],
)
def test_a_list_of_decisions_holds_no_other_kind(make, where, found):
    """S3-21."""
    table = make()
    table.store.remember("Ship the export on Monday.", kind="decision")
    table.store.remember("The export is 20 MB.", kind="note")
    pack = table.store.pack("export", format="decisions", where=where)
    assert contents(pack) == found
    assert pack.text.count("\n") == len(found)


def test_a_list_of_decisions_among_other_kinds_is_refused(make):
    with pytest.raises(InvalidField, match="where.kinds.*Use one of: decision"):
        make().store.pack("export", format="decisions", where=Filter(kinds=("note",)))


@pytest.mark.parametrize(("share", "shown"), [(0.95, [NEW]), (0.6, [NEW, OLD])])
def test_the_relation_model_tells_repeats_in_other_words(make, share, shown):
    """B-26: the same probability that the gate would need to drop the text."""
    model = FakeRelationModel()
    model.declare(OLD, NEW, same=share)
    table = make(relation_model=model)
    near(table, OLD, NEW)
    for text in (OLD, NEW):
        table.store.remember(text, on_conflict="ignore")
        table.clock.advance(days=1)
    assert sorted(contents(table.store.pack("who gets the alerts"))) == sorted(shown)


def test_a_model_that_fails_groups_nothing_and_the_pack_says_so(make):
    """I7."""
    model = FakeRelationModel()
    model.declare(OLD, NEW, same=0.99)
    table = make(relation_model=model)
    near(table, OLD, NEW)
    for text in (OLD, NEW):
        table.store.remember(text, on_conflict="ignore")
    model.failure = ModelUnavailable("it is away")
    pack = table.store.pack("who gets the alerts")
    assert sorted(contents(pack)) == sorted((OLD, NEW))
    assert pack.degraded == ("relation",)


def test_both_sides_of_an_open_conflict_are_marked_and_the_newer_comes_first(make):
    """S2-29."""
    table = make()
    near(table, "The limit is 0.85.", "The limit is 0.95.", kind="lesson")
    old = table.store.remember("The limit is 0.85.", kind="lesson").memory
    table.clock.advance(days=1)
    new = table.store.remember("The limit is 0.95.", kind="lesson").memory
    pack = table.store.pack("what is the limit")
    assert [group.ids for group in pack.groups] == [(new.id,), (old.id,)]
    assert f"id={new.id} conflicts-with={old.id}" in pack.text
    assert f"id={old.id} conflicts-with={new.id}" in pack.text


@pytest.mark.parametrize(("resolution", "groups"), [(None, 2), ("keep_both", 2), ("dismissed", 1)])
def test_a_contradiction_that_was_looked_at_still_keeps_its_sides_apart(make, resolution, groups):
    """The rules find no difference; the judge's conflict counts until it is dismissed."""
    model = FakeRelationModel()
    table = make(relation_model=model, contradiction_fn=lambda old, new: True)
    table.near(OLD, NEW, 0.97)
    table.store.remember(OLD)
    table.clock.advance(days=1)
    [found] = table.store.remember(NEW).conflicts
    assert found.reason == "custom_fn"
    if resolution is not None:
        table.store.resolve(found.key, resolution)
    model.declare(OLD, NEW, same=0.99)
    assert len(table.store.pack("who gets the alerts").groups) == groups


def test_only_what_is_handed_out_counts_as_used(make):
    table = make()
    short = table.store.remember("Tea is upstairs.").memory
    long = table.store.remember("Tea " + "is served with milk and sugar, " * 40 + "upstairs.").memory
    pack = table.store.pack("tea", budget_tokens=90)
    assert (pack.ids, pack.left_out) == ((short.id,), (long.id,))
    used = {row.id: row.access_count for row in table.store.list()}
    assert used == {short.id: 1, long.id: 0}
    table.store.pack("tea", touch=False)
    assert table.store.list()[0].access_count == 1


def test_the_next_pack_of_a_prompt_says_nothing_again(make):
    table = make()
    for number in range(6):
        table.store.remember(f"Server {number} stands in hall {number}.")
    first = table.store.pack("servers", budget_tokens=110)
    second = table.store.pack("servers", budget_tokens=110, exclude=first.ids)
    assert first.ids and second.ids and not set(first.ids) & set(second.ids)
    assert sorted(second.excluded) == sorted(first.ids)


def test_a_filter_and_a_namespace_bound_what_is_packed(make):
    """I8."""
    table = make()
    table.store.remember("Tea is upstairs.", kind="fact", subject="tea")
    table.store.remember("Tea is a drink.")
    assert contents(table.store.pack("tea", where=Filter(kinds=("fact",)))) == ["Tea is upstairs."]
    assert table.store.in_namespace("somebody/else").pack("tea").text == ""


def test_what_was_replaced_is_not_handed_out(make):
    table = make()
    table.store.remember("status PLANNED", kind="fact", subject="006")
    table.store.remember("is shipped", kind="fact", subject="006")
    assert contents(table.store.pack("status of 006")) == ["is shipped"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"budget_tokens": 0}, "budget_tokens"),
        ({"format": "xml"}, "format"),
        ({"exclude": "m1"}, "exclude"),
        ({"session": 7}, "session"),
    ],
)
def test_a_wrong_option_is_named(table, options, named):
    with pytest.raises(InvalidField, match=named):
        table.store.pack("tea", **options)
