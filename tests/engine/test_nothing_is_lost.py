"""Ways to lose something that a critical read found, kept from coming back."""

from __future__ import annotations

import pytest

from letter import to_the_letter
from wellkept.errors import IllegalTransition, NotFound, UndoBlocked
from wellkept.policy import Policy
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Filter

SETTINGS = "The deploy script reads its settings from deploy.toml."
MORE = "The deploy script also reads its settings from the environment."


@pytest.mark.parametrize("policy", [Policy(), to_the_letter()], ids=["kept", "dropped"])
def test_an_evolved_memory_takes_more_than_the_text(make, policy):
    """I1: ids, tags and missing fields of the added text are kept; a wording, or the journal, has all of it."""
    table = make(policy=policy)
    table.near(SETTINGS, MORE, 0.8)
    table.store.remember(SETTINGS, kind="knowledge", tags=["a"], provenance=["p1"])
    result = table.store.remember(
        MORE, kind="knowledge", tags=["b"], provenance=["p2"], metadata={"k": 1}, source="wiki", confidence=0.4
    )
    memory = result.memory
    assert result.outcome == "evolved"
    assert (memory.tags, memory.provenance, memory.metadata, memory.source) == (
        ("a", "b"),
        ("p1", "p2"),
        {"k": 1},
        "wiki",
    )
    wordings = table.store.list(Filter(statuses=("wording",)))
    (whole,) = wordings or (table.store.journal()[-1].dropped,)
    assert (whole.content, whole.confidence, whole.tags, whole.provenance) == (MORE, 0.4, ("b",), ("p2",))


def test_a_judge_that_fails_loses_nothing(make):
    """I7, S4-14: after any error the text is stored, marked unchecked and reported; the batch continues."""

    def broken(old, new):
        raise ZeroDivisionError

    table = make(contradiction_fn=broken)
    table.near("The meeting room is free.", "A meeting room can be had.", 0.9)
    table.store.remember("The meeting room is free.")
    batch = table.store.remember_many(["Tea is upstairs.", "A meeting room can be had."])
    assert [result.outcome for result in batch.results] == ["created", "created"]
    assert batch.results[1].degraded == ("judge",) and batch.results[1].memory.checked is False


def test_an_embedder_may_fail_in_any_way(make):
    """I7: an error of its own is an outage like any other."""
    table = make()
    table.fake.fail_with = RuntimeError("device lost")
    result = table.store.remember("Tea is upstairs.")
    assert (result.outcome, result.degraded) == ("created", ("embedding",))


def test_an_old_value_said_again_after_a_merge_is_no_repeat(make):
    """B-9, I2: the merged memory's newest word is another."""
    table = make()
    table.near("The limit is 0.85.", "The limit is 0.95.", 0.97)
    table.store.remember("The limit is 0.85.", kind="lesson")
    conflict = table.store.remember("The limit is 0.95.", kind="lesson").conflicts[0]
    merged = table.store.resolve(conflict.key, "merge")
    assert merged.resolution == "merge"
    assert table.store.remember("The limit is 0.85.", kind="lesson").outcome != "duplicate"
    assert table.store.remember("The limit is 0.95.", kind="lesson").outcome == "duplicate"


def test_a_repeat_settles_a_slot_that_holds_two_values(make):
    """B-4: after a restore both values are current; saying one of them again decides."""
    table = make()
    slot = {"kind": "fact", "subject": "ana", "attribute": "home"}
    berlin = table.store.remember("Ana lives in Berlin.", **slot).memory
    table.store.remember("Ana lives in Munich.", **slot)
    table.store.restore(berlin.id)
    assert table.store.remember("Ana lives in Munich.", **slot).outcome == "superseded"
    assert table.rows("active") == ["Ana lives in Munich."]


@pytest.mark.parametrize("field", ["summary", "trigger"])
def test_what_stands_beside_the_text_can_forbid_the_skip(make, field):
    """I2: equal words under another summary or trigger are another statement."""
    table = make()
    table.store.remember("See the table.", kind="lesson", **{field: "costs 5 euros"})
    assert table.store.remember("See the table.", kind="lesson", **{field: "costs 9 euros"}).outcome == "created"


def test_links_of_a_repeat_go_to_the_memory_it_repeats(make):
    """S0-42: a link to a missing memory is refused for a duplicate too."""
    table = make()
    tea = table.store.remember("Tea is upstairs.").memory
    cups = table.store.remember("Cups are downstairs.").memory
    result = table.store.remember("tea is upstairs", links=[cups.id])
    assert result.outcome == "duplicate"
    assert [item.memory.id for item in table.store.neighbors(tea.id)] == [cups.id]
    with pytest.raises(NotFound):
        table.store.remember("tea is upstairs", links=["nobody"])


def test_a_rewritten_memory_is_compared_like_a_new_one(make):
    """E-0: a revision that contradicts or repeats another memory is flagged, and only flagged."""
    table = make()
    table.near("The retry limit is 3.", "The retry limit is 5.", 0.97)
    table.store.remember("The retry limit is 3.", kind="lesson")
    other = table.store.remember("Tea is at four.", kind="lesson").memory
    table.store.revise(other.id, content="The retry limit is 5.")
    assert [conflict.kind for conflict in table.store.conflicts()] == ["contradiction"]
    third = table.store.remember("Cups are downstairs.", kind="lesson").memory
    table.store.revise(third.id, content="The retry limit is 5.")
    assert "duplicate" in {conflict.kind for conflict in table.store.conflicts(third.id)}


def test_ignore_looks_at_no_slot_either(make):
    """B-37: `ignore` switches all of it off for that write."""
    table = make()
    table.store.remember("status PLANNED", kind="fact", subject="006")
    assert table.store.remember("is shipped", kind="fact", subject="006", on_conflict="ignore").outcome == "created"
    assert len(table.rows("active")) == 2


def test_an_erased_entry_keeps_no_hash_of_its_payload(make):
    """I1: a short secret could be guessed from it."""
    table = make()
    result = table.store.remember_many(["My PIN is 4711."]).results[0]
    table.store.erase(result.memory.id)
    assert all(entry.payload == "" for entry in table.store.journal())


def test_two_files_of_one_name_are_two_sources(make, tmp_path):
    """F-21, I5: the same file again changes nothing, another file of that name is another assertion."""
    table = make()
    for day in ("monday", "tuesday"):
        (tmp_path / day).mkdir()
        (tmp_path / day / "events.jsonl").write_text('{"content": "Deploy done.", "kind": "signal"}\n')
    counts = [table.store.import_(tmp_path / day / "events.jsonl").counts for day in ("monday", "tuesday", "tuesday")]
    assert counts == [{"created": 1}, {"created": 1}, {"replayed": 1}]
    assert {row.source for row in table.store.list()} == {"events.jsonl"}


def test_in_a_language_the_rules_do_not_read_nothing_is_skipped_on_similarity(make):
    """I2, I10: a Dutch "niet" is no cue the rules know, so the bands do not act and the result says so."""
    table = make()
    allowed = "Het is toegestaan om op zondag naar productie te deployen."
    denied = "Het is niet toegestaan om op zondag naar productie te deployen."
    table.near(allowed, denied, 0.98)
    table.store.remember(allowed, kind="lesson")
    result = table.store.remember(denied, kind="lesson")
    assert (result.outcome, result.degraded) == ("created", ("language",))


def test_a_merge_that_cannot_be_done_is_refused_and_the_conflict_stays_open(make):
    """E-0, I7: "merged" is never written down for two texts of which one was out of the way."""
    table = make()
    table.near("The limit is 0.85.", "The limit is 0.95.", 0.97)
    old = table.store.remember("The limit is 0.85.", kind="lesson").memory
    conflict = table.store.remember("The limit is 0.95.", kind="lesson").conflicts[0]
    table.store.forget(old.id)
    before = table.snapshot()
    with pytest.raises(IllegalTransition):
        table.store.resolve(conflict.key, "merge")
    assert table.snapshot() == before
    assert table.store.resolve(conflict.key, "dismissed").resolution == "dismissed"


def test_a_link_does_not_come_back_without_the_memory_it_leads_to(make):
    """I1: the write of the second text is undone, then the first, then the undo of the second."""
    table = make()
    table.near(SETTINGS, MORE, 0.92)
    first = table.store.remember(SETTINGS, kind="lesson")
    second = table.store.remember(MORE, kind="lesson")
    assert [(link.dst, link.rel) for link in second.links] == [(first.memory.id, "related")]
    taken, gone = table.store.undo(second.entry), table.store.undo(first.entry)
    with pytest.raises(UndoBlocked) as caught:
        table.store.undo(taken)
    assert caught.value.entries == (gone,)
    table.store.undo(gone)
    table.store.undo(taken)
    assert table.rows("active") == [SETTINGS, MORE]
    assert table.store.verify() == ()


@pytest.mark.parametrize(("told", "rel"), [({"distinct": 1.0}, "related"), ({"conflict": 0.3}, "may_update")])
def test_two_texts_linked_to_one_memory_are_undone_in_any_order(make, told, rel):
    """A link changes neither of its memories, so the later text does not hold the earlier one."""
    texts = ("The archive stands in Bremen", "Old files are in Kiel", "Papers of former years lie in Mainz")
    model = FakeRelationModel()
    for text in texts[1:]:
        model.declare(texts[0], text, **told)
    table = make(relation_model=model)
    for text in texts[1:]:
        table.near(texts[0], text, 0.92)
    table.near(texts[1], texts[2], 0.75)
    _, second, third = (table.store.remember(text, kind="lesson") for text in texts)
    assert all(rel in {link.rel for link in result.links} for result in (second, third))
    table.store.undo(second.entry)
    assert table.rows("active") == [texts[0], texts[2]]
    assert table.store.verify() == ()
