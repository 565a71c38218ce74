"""Automatic links of a text: to memories that it names, and to the nearest ones (source 000, S0-36 to S0-45)."""

from __future__ import annotations

import pytest

from wellkept.core.records.wikilinks import is_waiting
from wellkept.engine.gate.mentions import NAMED, UNKNOWN
from wellkept.errors import UndoBlocked
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import NewMemory

RULES = {"kind": "thesis", "title": "Risk rules"}


def edges(table, memory_id):
    """Links from a memory, as (target, relation)."""
    graph = table.store.subgraph([memory_id])
    return [(dst, rel) for src, dst, rel in graph.edges if src == memory_id]


def auto(kind, most, at=0.65):
    """The default policy, with automatic links for one kind."""
    return Policy.from_toml(f"[kinds.{kind}]\nauto_link = {most}\nauto_link_at = {at}\n")


# --------------------------------------------------------------------------------------------
# Names


@pytest.mark.parametrize("spelling", ["Risk rules", "risk  RULES", "Risk rules|those rules", "ID"])
def test_a_name_links_to_the_memory_of_that_title_or_id(make, spelling):
    """S0-42: stored with the memory, one edge, reported in the answer and in the journal."""
    table = make()
    rules = table.store.remember("Never more than two per cent.", **RULES).memory
    name = rules.id if spelling == "ID" else spelling
    result = table.store.remember(f"Held back because of [[{name}]].", kind="thesis")
    assert edges(table, result.memory.id) == [(rules.id, "related")]
    assert [(link.src, link.dst) for link in result.links] == [(result.memory.id, rules.id)]
    assert f"linked to {rules.id}" in result.message
    entry = table.store.journal(newest=1)[0]
    assert entry.seq == result.entry and [reason.rule for reason in entry.reasons][-1] == NAMED


def test_a_memory_without_title_is_named_by_what_messages_call_it(make):
    """S0-32, S0-42: an agent can name a memory only by a name that it has seen."""
    table = make()
    rules = table.store.remember("Never more than two per cent.", kind="lesson").memory
    result = table.store.remember("As in [[never more than two per cent]]", kind="thesis")
    assert edges(table, result.memory.id) == [(rules.id, "related")]


def test_of_several_with_one_title_the_newest_is_meant(make):
    table = make()
    table.store.remember("Two per cent.", **RULES)
    table.clock.advance(days=1)
    newer = table.store.remember("One per cent.", **RULES).memory
    result = table.store.remember("See [[Risk rules]].", kind="thesis")
    assert edges(table, result.memory.id) == [(newer.id, "related")]


def test_words_of_a_title_in_another_text_are_not_that_title(make):
    table = make()
    table.store.remember("Risk rules are boring, said somebody.", kind="thesis", title="Gossip")
    result = table.store.remember("See [[Risk rules]].", kind="thesis")
    assert result.links == () and [is_waiting(dst) for dst, _ in edges(table, result.memory.id)] == [True]


@pytest.mark.parametrize("around", [10, 70, 600])
def test_a_title_is_found_among_many_that_speak_of_it(make, around):
    """S0-42: what ranks best for the words of a name need not be what bears it; both backends give the same."""
    table = make()
    speaking = [{"content": f"Risk rules, said number {number}.", "kind": "thesis"} for number in range(around)]
    table.store.remember_many(speaking)
    rules = table.store.remember("Two per cent. " + "Of nearly everything. " * 50, **RULES).memory
    table.store.remember_many([{**one, "content": f"Again: {one['content']}"} for one in speaking])
    result = table.store.remember("See [[Risk rules]].", kind="thesis")
    assert edges(table, result.memory.id) == [(rules.id, "related")]


def test_a_name_nobody_has_is_told_and_linked_once_it_is_written(make):
    """S0-42, S2-42: dangling until then; the act that ends it is the write of the memory it names."""
    table = make()
    first = table.store.remember("See [[Risk rules]] and [[Weekends]].", kind="thesis")
    assert first.links == () and "[[Risk rules]], [[Weekends]]" in first.message
    assert table.store.subgraph([first.memory.id]).dangling == ("[[risk rules]]", "[[weekends]]")
    assert table.store.neighbors(first.memory.id) == ()
    assert [reason.rule for reason in first.reasons].count(UNKNOWN) == 2
    rules = table.store.remember("Two per cent.", **RULES).memory
    assert edges(table, first.memory.id) == [(rules.id, "related"), ("[[weekends]]", "related")]
    assert [item.memory.id for item in table.store.neighbors(rules.id)] == [first.memory.id]


def test_a_waiting_name_is_nothing_to_repair(make):
    """`repair` must not remove waiting links."""
    table = make()
    first = table.store.remember("See [[Risk rules]].", kind="thesis").memory
    assert table.store.verify() == ()
    table.store.repair(dry_run=False)
    assert edges(table, first.id) == [("[[risk rules]]", "related")]


def test_waiting_names_come_through_an_export(make, tmp_path):
    """An export holds links as they are; the name is answered in the new store."""
    table, other = make(), make(name="other.db")
    first = table.store.remember("See [[Risk rules]].", kind="thesis").memory
    table.store.export(tmp_path / "all.jsonl")
    other.store.import_(tmp_path / "all.jsonl")
    rules = other.store.remember("Two per cent.", **RULES).memory
    assert edges(other, first.id) == [(rules.id, "related")]
    assert other.store.verify() == ()


def test_a_merge_takes_the_waiting_names_of_both_along(make):
    """S1: waiting links of a merged memory still wait, and are resolved at the kept one."""
    table = make()
    for text in ("Sold half, see [[Exits]].", "sold half, see [[exits]]"):
        table.store.remember(text, kind="note", on_conflict="ignore")
    table.store.consolidate(execute=True)
    (kept,) = table.store.list()
    exits = table.store.remember("At twice the stake.", kind="thesis", title="Exits").memory
    assert edges(table, kept.id) == [(exits.id, "related")]
    assert table.store.verify() == ()


def test_undo_of_the_awaited_memory_lets_the_name_wait_again(make):
    """Journaled and taken back with the write, to the byte (I1)."""
    table = make()
    first = table.store.remember("See [[Risk rules]].", kind="thesis").memory
    before = table.snapshot()
    written = table.store.remember("Two per cent.", **RULES)
    table.store.revise(first.id, importance=0.9)  # does not stand in the way of taking a link back
    undone = table.store.undo(written.entry)
    assert edges(table, first.id) == [("[[risk rules]]", "related")]
    table.store.undo(undone)
    assert edges(table, first.id) == [(written.memory.id, "related")]
    table.store.undo(table.store.journal(newest=1)[0].seq)
    assert table.snapshot()[1] == before[1]


def test_undo_of_a_text_takes_its_links_and_its_waiting_names_along(make):
    table = make()
    table.store.remember("Two per cent.", **RULES)
    before = table.snapshot()
    result = table.store.remember("See [[Risk rules]] and [[Weekends]].", kind="thesis")
    table.store.remember("Another that names [[Risk rules]] and [[Weekends]].", kind="thesis")
    table.store.undo(result.entry)
    assert edges(table, table.store.list()[-1].id) != []
    table.store.undo(table.store.journal()[2].seq)
    assert (table.snapshot()[0], table.snapshot()[1]) == (before[0], before[1])


def test_undo_of_a_memory_that_others_name_meanwhile_is_refused(make):
    """Nothing may be left that leads nowhere: the later write is named."""
    table = make()
    rules = table.store.remember("Two per cent.", **RULES)
    later = table.store.remember("See [[Risk rules]].", kind="thesis")
    with pytest.raises(UndoBlocked) as caught:
        table.store.undo(rules.entry)
    assert caught.value.entries == (later.entry,)


def test_a_text_that_names_itself_is_not_linked_to_itself(make):
    """S2-43."""
    table = make()
    result = table.store.remember("[[Risk rules]] says: two per cent.", **RULES)
    assert edges(table, result.memory.id) == []


@pytest.mark.parametrize("by", ["links", "twice", "both"])
def test_however_many_ways_lead_to_a_memory_one_edge_does(make, by):
    """S0-54, lessons P1: explicit link, name in two spellings, id, nearness."""
    table = make()
    text = "See [[Risk rules]] and [[ID]] and [[RISK RULES]]."
    rules = table.store.remember("Two per cent.", kind="lesson", title="Risk rules").memory
    text = text.replace("ID", rules.id)
    new = NewMemory(content=text, kind="lesson")
    table.near(NewMemory(content="Two per cent.", kind="lesson", title="Risk rules"), new, 0.0)
    links = () if by == "twice" else (rules.id,)
    result = table.store.remember(text, kind="lesson", links=links)
    assert edges(table, result.memory.id) == [(rules.id, "related")]
    assert len(result.links) == 1


def test_a_repeat_makes_no_link_of_its_names(make):
    """S0-31: it returns at once."""
    table = make()
    table.store.remember("Two per cent.", **RULES)
    lesson = table.store.remember("Never all in, see [[Other]].", kind="lesson").memory
    before = table.snapshot()[1]
    result = table.store.remember("never all in, see [[other]]", kind="lesson")
    assert (result.outcome, result.memory.id, result.links) == ("duplicate", lesson.id, ())
    assert table.snapshot()[1] == before


def test_what_a_memory_grows_by_is_read_too(make):
    """S4-9: an update that names something links the memory it belongs to."""
    table = make()
    rules = table.store.remember("Two per cent.", **RULES).memory
    old, new = "The desk trades small.", "The desk trades small, by [[Risk rules]]."
    table.near(NewMemory(content=old, kind="knowledge"), NewMemory(content=new, kind="knowledge"), 0.8)
    first = table.store.remember(old, kind="knowledge").memory
    grown = table.store.remember(new, kind="knowledge")
    assert (grown.outcome, grown.memory.id) == ("evolved", first.id)
    assert edges(table, first.id) == [(rules.id, "related")]


def test_a_revised_text_links_what_it_names_now_and_waits_for_nothing_it_no_longer_names(make):
    table = make()
    rules = table.store.remember("Two per cent.", **RULES).memory
    first = table.store.remember("See [[Weekends]].", kind="thesis").memory
    table.store.revise(first.id, content="See [[Risk rules]].")
    assert edges(table, first.id) == [(rules.id, "related")]
    table.store.undo(table.store.journal(newest=1)[0].seq)
    assert edges(table, first.id) == [("[[weekends]]", "related")]


def test_a_title_given_later_answers_to_its_name(make):
    table = make()
    first = table.store.remember("See [[Risk rules]].", kind="thesis").memory
    untitled = table.store.remember("Two per cent.", kind="thesis").memory
    table.store.revise(untitled.id, title="Risk rules")
    assert edges(table, first.id) == [(untitled.id, "related")]


def test_a_name_that_was_found_after_all_waits_no_more(make):
    """S0-54: the memory was archived when the text was written, and is back when the text is written anew."""
    table = make()
    rules = table.store.remember("Two per cent.", **RULES).memory
    table.store.forget(rules.id)
    first = table.store.remember("See [[Risk rules]].", kind="thesis").memory
    assert edges(table, first.id) == [("[[risk rules]]", "related")]
    table.store.restore(rules.id)
    before = table.snapshot()[:2]
    table.store.revise(first.id, content="See [[Risk rules]] again.")
    assert edges(table, first.id) == [(rules.id, "related")]
    table.store.undo(table.store.journal(newest=1)[0].seq)
    assert table.snapshot()[:2] == before


def test_a_name_that_is_answered_makes_no_second_link_beside_one_that_is_there(make):
    """S0-54."""
    table = make()
    untitled = table.store.remember("Two per cent.", kind="thesis").memory
    linked, unlinked = (
        table.store.remember(f"{number}: see [[Risk rules]].", kind="thesis", links=links).memory
        for number, links in enumerate([[untitled.id], []])
    )
    table.store.revise(untitled.id, title="Risk rules")
    for first in (linked, unlinked):
        assert edges(table, first.id) == [(untitled.id, "related")]


def test_items_of_one_batch_name_each_other_in_both_directions(make):
    """S4-15: each item sees the earlier ones, and later ones resolve waiting links."""
    table = make()
    batch = table.store.remember_many(
        [
            {"content": "See [[B]].", "kind": "thesis", "title": "A"},
            {"content": "See [[A]].", "kind": "thesis", "title": "B"},
        ]
    )
    a, b = (result.memory.id for result in batch.results)
    assert edges(table, a) == [(b, "related")] and edges(table, b) == [(a, "related")]


def test_names_do_not_reach_into_another_namespace(make):
    """I8."""
    table = make()
    table.store.in_namespace("other").remember("Two per cent.", **RULES)
    first = table.store.remember("See [[Risk rules]].", kind="thesis")
    assert first.links == ()
    table.store.in_namespace("third").remember("Two per cent.", **RULES)
    assert [is_waiting(dst) for dst, _ in edges(table, first.memory.id)] == [True]


def test_an_erased_text_leaves_none_of_its_names_behind(make):
    """I1: neither in links nor anywhere in the journal."""
    table = make()
    first = table.store.remember("The safe is under [[Marigold Terrace]].", kind="thesis").memory
    table.store.remember("Something else.", kind="thesis", title="Marigold Terrace")
    other = table.store.list()[-1]
    for memory in (first, other):
        table.store.erase(memory.id)
    assert "arigold" not in repr(table.snapshot())


def test_a_policy_may_leave_brackets_alone(make):
    """A gate option: a kind that holds code need not be read for names."""
    table = make(policy=Policy.from_toml("[kinds.thesis]\nwikilinks = false\n"))
    table.store.remember("Two per cent.", **RULES)
    result = table.store.remember("if [[ -f rules ]]; see [[Risk rules]]", kind="thesis")
    assert result.links == () and edges(table, result.memory.id) == []


def test_replaying_another_policy_takes_named_links_for_no_difference(make):
    """Automatic links are no decision of the gate."""
    table = make()
    table.store.remember("Two per cent.", **RULES)
    rule = table.store.remember("One more.", kind="thesis").memory
    table.store.remember("See [[Risk rules]], [[Nobody]].", kind="thesis", links=[rule.id])
    table.store.remember("Answers.", kind="thesis", title="Nobody")
    for forward in (False, True):
        report = table.store.replay(Policy(), forward=forward)
        assert (report.decisions, report.differences, report.unreplayed) == (4, (), ())


# --------------------------------------------------------------------------------------------
# The nearest


def near_thesis(table, cosines):
    """Stored theses at these cosines to the text `new`."""
    stored = [NewMemory(content=f"stored thesis {number}", kind="thesis") for number in range(len(cosines))]
    new = NewMemory(content="new", kind="thesis")
    for number, (one, cosine) in enumerate(zip(stored, cosines, strict=True)):
        for other, beside in list(zip(stored, cosines, strict=True))[number + 1 :]:
            table.near(one, other, cosine * beside)
        table.near(one, new, cosine)
    return [table.store.remember(one).memory.id for one in stored]


@pytest.mark.parametrize(
    ("most", "at", "linked"),
    [(0, 0.0, []), (1, 0.65, [1]), (3, 0.65, [1, 3]), (2, 0.3, [1, 3]), (3, 0.5, [1, 3, 0]), (5, 0.95, [])],
)
def test_the_nearest_are_linked_as_far_as_the_policy_says(make, most, at, linked):
    """S0-38: kinds that are never compared too; by similarity, the nearest first, of any kind."""
    table = make(policy=auto("thesis", most, at))
    ids = near_thesis(table, [0.55, 0.9, 0.2, 0.7])
    result = table.store.remember("new", kind="thesis")
    assert [link.dst for link in result.links] == [ids[place] for place in linked]


def test_a_memory_that_is_connected_is_not_linked_a_second_time_by_nearness(make):
    """S0-54: connect creates exactly one edge although auto-link also matches."""
    table = make(policy=auto("lesson", 3))
    table.near(NewMemory(content="old", kind="lesson"), NewMemory(content="new", kind="lesson"), 0.92)
    old = table.store.remember("old", kind="lesson").memory
    result = table.store.remember("new", kind="lesson")
    assert [(link.src, link.dst, link.rel) for link in result.links] == [(result.memory.id, old.id, "related")]
    assert edges(table, result.memory.id) == [(old.id, "related")]


def test_links_come_in_the_order_of_the_source(make):
    """S0-42: the caller's own, then names, then the nearest, then what the gate connects."""
    table = make(policy=auto("lesson", 1))
    given = table.store.remember("given", kind="thesis").memory
    named = table.store.remember("named", kind="thesis", title="Named").memory
    text = NewMemory(content="new, as in [[Named]]", kind="lesson")
    connected, nearest = (NewMemory(content=one, kind=kind) for one, kind in (("c", "lesson"), ("n", "curiosity")))
    table.near(connected, nearest, 0.92 * 0.8)
    table.near(connected, text, 0.92)
    table.near(nearest, text, 0.8)
    ids = [table.store.remember(one).memory.id for one in (connected, nearest)]
    result = table.store.remember(text.content, kind="lesson", links=[given.id])
    assert [link.dst for link in result.links] == [given.id, named.id, ids[1], ids[0]]
    assert result.message.startswith(f'Stored: "new, as in [[Named]]" ({result.memory.id})')


def test_a_new_insight_gets_no_link_unless_a_policy_asks_for_it():
    """S0-39, S0-54: unique creates with no extra edges."""
    assert {policy.auto_link for policy in DEFAULT_KINDS.values()} == {0}


def test_no_vector_no_nearest_and_the_text_is_stored(make):
    """I7."""
    from wellkept.errors import ModelUnavailable

    table = make(policy=auto("thesis", 3))
    near_thesis(table, [0.9])
    table.fake.fail_with = ModelUnavailable("down")
    result = table.store.remember("new", kind="thesis")
    assert (result.outcome, result.links) == ("created", ())


def test_items_of_one_batch_are_near_each_other_too(make):
    """S4-15."""
    table = make(policy=auto("thesis", 3))
    table.near(NewMemory(content="one", kind="thesis"), NewMemory(content="two", kind="thesis"), 0.9)
    batch = table.store.remember_many([{"content": "one", "kind": "thesis"}, {"content": "two", "kind": "thesis"}])
    first, second = batch.results
    assert [(link.src, link.dst) for link in second.links] == [(second.memory.id, first.memory.id)]
