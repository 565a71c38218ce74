"""Where the sources disagree: the decisions of decisions.md as behaviour of whole verbs."""

from __future__ import annotations

import pytest

from wellkept.core.records.codec import dumps, memory_from, to_plain
from wellkept.engine.upkeep.verifying import verify
from wellkept.errors import ModelUnavailable, UnknownKind
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import Memory

TEXT = "The export runs at night"
STOPS = {"insight", "general", "fact", "knowledge"}


@pytest.mark.parametrize("kind", list(DEFAULT_KINDS))
def test_which_kinds_stop_a_verbatim_repeat(make, kind):
    """B-37: a repeat in insight, general, fact, knowledge; another event in the rest."""
    table = make()
    outcomes = [table.store.remember(text, kind=kind, pinned=True).outcome for text in (TEXT, TEXT, TEXT.upper())]
    preset = DEFAULT_KINDS[kind].preset
    if preset in STOPS:
        assert outcomes == ["created", "duplicate", "duplicate"]
    elif preset == "episode":
        assert outcomes == ["created", "reused", "reused"]  # still going on (S3-13)
    else:
        assert outcomes == ["created"] * 3


def test_an_ended_episode_and_the_same_words_are_two_events(make):
    """B-37."""
    table = make()
    for hour in (1, 2):
        table.store.remember(TEXT, kind="episode", ended_at=f"2026-01-01T0{hour}:00:00Z")
    assert table.rows() == [TEXT, TEXT]


def test_a_confirmed_repeat_counts_fills_and_is_journaled(make):
    """B-38: no importance, no access, but aliases and an entry."""
    table = make()
    old = table.store.remember(TEXT, importance=0.3).memory
    table.clock.advance(days=2)
    result = table.store.remember("the export runs at night!", importance=0.9, tags=["ops"], source="wiki")
    held = table.store.get(old.id, touch=False)
    assert (held.confirmations, held.last_confirmed_at) == (1, table.clock())
    assert (held.importance, held.tags, held.source) == (0.3, ("ops",), "wiki")
    assert (held.access_count, held.last_accessed_at, held.stability) == (0, None, None)
    entry = table.store.journal()[-1]
    assert (entry.seq, entry.outcome, entry.dropped.content) == (result.entry, "duplicate", "the export runs at night!")
    again = table.store.remember("the export runs at night!")
    assert again.matches[0].stage == "content_hash"  # its letters are known now


@pytest.mark.parametrize("added", [{"title": "Nightly export"}, {"summary": "When the export runs"}])
def test_a_repeat_that_fills_in_a_title_or_summary_gets_a_new_vector(make, added):
    """B-38, S0-12: the vector stands for title, summary and text; undo brings the old one back."""
    table = make()
    old = table.store.remember(TEXT).memory
    result = table.store.remember(TEXT, **added)
    assert (result.outcome, result.memory.id) == ("duplicate", old.id)
    assert result.memory.embedding not in ("", old.embedding)
    assert verify(table.store._ctx) == ()
    table.store.undo(result.entry)
    assert table.store.get(old.id, touch=False).embedding == old.embedding


def test_without_an_embedder_such_a_repeat_is_marked_for_the_sweep(make):
    """I7: a vector of another text is worse than none."""
    table = make()
    table.store.remember(TEXT)
    table.fake.fail_with = ModelUnavailable("down", where="embedder", todo="Wait")
    held = table.store.remember(TEXT, title="Nightly export").memory
    assert (held.embedding, held.checked) == ("", False)
    assert [problem.todo for problem in verify(table.store._ctx)] == ["Run `wellkept sweep`"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"event_time": "2026-01-01"}, {"event_time": "2026-01-02"}),
        ({"polarity": 1}, {"polarity": -1}),
        ({"subject": "a"}, {"subject": "b"}),
        ({"agent": "a"}, {"agent": "b"}),
    ],
)
def test_the_same_words_about_something_else_are_no_repeat(make, first, second):
    """B-37, I2."""
    table = make()
    table.store.remember(TEXT, **first)
    assert table.store.remember(TEXT, **second).outcome == "created"


def test_a_star_in_the_policy_opens_the_set_of_kinds(make):
    """B-32."""
    table = make(policy=Policy.from_toml('[kinds."*"]\npreset = "insight"\n'))
    assert [table.store.remember(TEXT, kind="recipe").outcome for _ in range(2)] == ["created", "duplicate"]
    assert table.store.remember(TEXT, kind="rumour").outcome == "created"
    assert table.store.remember(TEXT, kind="recipe", on_conflict="ignore").outcome == "created"


def test_without_the_star_the_set_is_closed(make):
    """B-32."""
    table = make()
    with pytest.raises(UnknownKind):
        table.store.remember(TEXT, kind="recipe")


def test_a_row_written_before_a_field_existed_loads_with_its_default(make):
    """S2-1, S2-46, S2-54: no migration of rows; missing fields are neutral."""
    table = make()
    row = table.store.remember(TEXT).memory
    plain = to_plain(row)
    assert set(plain) == {"id", "namespace", "content", "created_at", "updated_at", "embedding", "chunks"}
    bare = {name: plain[name] for name in ("id", "namespace", "content", "created_at", "updated_at")}
    loaded = memory_from(bare)
    assert isinstance(loaded, Memory)
    assert (loaded.kind, loaded.polarity, loaded.superseded_by, loaded.updates, loaded.checked) == (
        "semantic", 0, "", (), True,
    )  # fmt: skip
    assert dumps(bare) == dumps(to_plain(loaded))
    assert table.store.neighbors(row.id) == ()


def test_the_hashes_of_a_revised_memory_follow_its_text(make):
    """B-8, I1: a former text of a revised memory is news when it is written again, not a duplicate."""
    table = make()
    row = table.store.remember("The port is 5433").memory
    table.store.remember("the port is 5433!")  # absorbed: one more hash
    entry = table.store.revise(row.id, content="The port is 5434") and table.store.journal()[-1].seq
    assert table.store.remember("the PORT is 5434").memory.id == row.id
    table.store.undo(table.store.journal()[-1].seq)
    for text in ("The port is 5433", "the port is 5433!"):
        assert table.store.check(text).outcome == "created"
    table.store.undo(entry)
    for text in ("The port is 5433", "the port is 5433!"):
        assert table.store.check(text).outcome == "duplicate"
    assert table.store.check("The port is 5434").outcome == "created"


@pytest.mark.parametrize("changes", [{"tags": ["x"]}, {"title": "Port"}, {"importance": 0.9}, {"kind": "note"}])
def test_a_revision_beside_the_text_keeps_its_hashes_and_its_vector_true(make, changes):
    """B-16: one builder of the embedded text, also here."""
    table = make()
    row = table.store.remember("The port is 5433").memory
    revised = table.store.revise(row.id, **changes)
    assert table.store.check("The port is 5433", kind=revised.kind).outcome == "duplicate"
    assert table.store.verify() == ()
    assert (revised.version, revised.id) == (2, row.id)


def test_what_is_hidden_automatically_is_journaled_and_can_be_taken_back(make):
    """B-23, I1."""
    table = make()
    table.store.remember("status PLANNED", kind="fact", subject="006")
    before = table.snapshot()[:3]
    result = table.store.remember("is shipped", kind="fact", subject="006")
    entry = table.store.journal()[-1]
    assert entry.seq == result.entry and [reason.rule for reason in entry.reasons] == ["same_subject"]
    table.store.undo(result.entry)
    assert table.snapshot()[:3] == before


def test_a_superseded_neighbour_by_vector_does_not_block(make):
    """B-9: decayed rows block, superseded and archived ones do not."""
    table = make()
    table.near("The export runs at night", "Exporting happens nightly", 0.99)
    row = table.store.remember(TEXT, kind="knowledge").memory
    table.store.forget(row.id)
    assert table.store.remember("Exporting happens nightly", kind="knowledge").outcome == "created"
    assert table.store.get(row.id).status == "archived"


@pytest.mark.parametrize("namespace", ["default", "acme/alice/coder"])
def test_a_store_is_bound_to_its_namespace(make, namespace):
    """I8."""
    table = make(namespace=namespace)
    assert table.store.remember(TEXT).memory.namespace == namespace == table.store.namespace
