"""The journal as a reader and an undoer see it: log, history, undo (I1, I6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stores import EVERYTHING, Desk
from wellkept.errors import IdempotencyMismatch, IllegalTransition, ModelUnavailable, NotFound, UndoBlocked
from wellkept.types import Memory, WriteResult

Make = Callable[..., Desk]
BRANCH, AGAIN = "Deploys run from the main branch.", "The main branch is where deploys run from."
RUFF, FLAKE8, BLACK = "Use ruff for linting", "Use flake8 for linting", "Use black for linting"


def stored(result: WriteResult) -> Memory:
    assert result.memory is not None
    return result.memory


def contents(desk: Desk) -> tuple[Any, ...]:
    """All but the journal."""
    store = desk.store
    rows = store.list(EVERYTHING)
    graph = store.subgraph([row.id for row in rows], depth=1).edges if rows else ()
    return rows, sorted(graph), store.conflicts(settled=True)


# -- log -------------------------------------------------------------------------------------


def test_each_decision_is_one_entry_that_says_who_why_and_under_which_policy(make: Make) -> None:
    """I6."""
    desk = make(actor="ada")
    result = desk.store.remember(BRANCH, kind="lesson")
    desk.store.remember(BRANCH.upper(), kind="lesson")
    first, second = desk.store.journal()
    assert (first.seq, first.verb, first.outcome, first.actor) == (1, "remember", "created", "ada")
    assert (first.memory_id, first.at, first.dropped) == (stored(result).id, desk.clock(), None)
    assert first.policy == desk.store.stats().policy
    assert (second.outcome, second.reasons[0].rule, second.memory_id) == (
        "duplicate",
        "canonical_hash",
        first.memory_id,
    )
    assert second.dropped is not None
    assert second.dropped.content == BRANCH.upper()  # I1


@pytest.mark.parametrize(
    ("options", "seqs"),
    [
        ({}, [1, 2, 3, 4]),
        ({"newest": 2}, [3, 4]),
        ({"after": 3}, [4]),
        ({"after": 1, "newest": 2}, [3, 4]),
        ({"after": 4}, []),
        ({"newest": 9}, [1, 2, 3, 4]),
    ],
)
def test_the_log_is_read_oldest_first_and_in_parts(table: Desk, options: dict[str, int], seqs: list[int]) -> None:
    for text in ("oats", "rye", "barley", "maize"):
        table.store.remember(f"The field grows {text}.")
    assert [entry.seq for entry in table.store.journal(**options)] == seqs


def test_entries_of_another_namespace_are_not_shown_and_cannot_be_undone(table: Desk) -> None:
    """I8: each namespace counts for itself."""
    table.store.remember(BRANCH)
    table.store.remember(RUFF)
    other = table.store.in_namespace("other")
    other.remember(BRANCH)
    assert [entry.seq for entry in other.journal()] == [1]
    with pytest.raises(NotFound):
        other.undo(2)
    other.undo(1)
    assert len(table.store.list()) == 2


# -- history ---------------------------------------------------------------------------------


def test_history_tells_every_state_with_the_decision_that_made_it(make: Make) -> None:
    desk = make()
    desk.near(BRANCH, AGAIN, 0.8)
    store = desk.store
    memory = stored(store.remember(BRANCH, kind="knowledge"))
    store.remember(AGAIN, kind="knowledge")
    store.revise(memory.id, tags=["deploy"])
    store.forget(memory.id)
    store.restore(memory.id)
    told = store.history(memory.id)
    assert [(version.seq, version.verb, version.outcome) for version in told] == [
        (1, "remember", "created"),
        (2, "remember", "evolved"),
        (3, "revise", "revised"),
        (4, "forget", "archived"),
        (5, "restore", "restored"),
    ]
    states = [version.memory for version in told if version.memory is not None]
    assert [state.version for state in states] == [1, 2, 3, 4, 5]
    assert [state.status for state in states] == ["active", "active", "active", "archived", "active"]
    assert states[0].content == BRANCH
    assert states[1].content == f"{BRANCH}\n\n[{desk.clock().date().isoformat()}] {AGAIN}"
    assert states[-1] == store.get(memory.id, touch=False)


def test_history_of_both_ends_shows_the_supersession(make: Make) -> None:
    store = make().store
    old = stored(store.remember("status PLANNED", kind="fact", subject="006"))
    new = stored(store.remember("is shipped", kind="fact", subject="006"))
    last = store.history(old.id)[-1]
    assert last.memory is not None
    assert (last.outcome, last.memory.status, last.memory.superseded_by) == ("superseded", "superseded", new.id)
    assert last.reasons[0].rule == "same_subject"
    assert [version.seq for version in store.history(new.id)] == [2]


def test_history_after_an_undo_shows_that_the_memory_went(table: Desk) -> None:
    memory = stored(table.store.remember(BRANCH))
    table.store.undo(1)
    assert [version.memory and version.memory.content for version in table.store.history(memory.id)] == [BRANCH, None]


def test_history_of_an_erased_memory_tells_that_and_nothing_it_said(table: Desk) -> None:
    """I1: `erase` is the one verb that removes content, from history too."""
    memory = stored(table.store.remember(BRANCH, title="Deploys", kind="lesson"))
    table.store.remember(BRANCH, kind="lesson")
    table.store.revise(memory.id, content=RUFF)
    table.store.erase(memory.id)
    told = table.store.history(memory.id)
    assert [version.verb for version in told] == ["remember", "remember", "revise", "erase"]
    for word in ("Deploys", "branch", "ruff"):
        assert word not in repr(told)
        assert word not in repr(table.store.journal())


def test_history_of_an_unknown_id_is_not_found(table: Desk) -> None:
    with pytest.raises(NotFound, match="no memory 'nobody'"):
        table.store.history("nobody")


# -- undo ------------------------------------------------------------------------------------

Step = Callable[[Desk, str, str], object]
STEPS: tuple[tuple[str, Step], ...] = (
    ("remember", lambda desk, a, b: desk.store.remember("A third text.")),
    ("a duplicate", lambda desk, a, b: desk.store.remember(RUFF, tags=["new"])),
    ("evolve", lambda desk, a, b: desk.store.remember(AGAIN, kind="knowledge")),
    ("a conflict", lambda desk, a, b: desk.store.remember(BLACK, on_conflict="supersede")),
    ("supersede", lambda desk, a, b: desk.store.supersede(a, b)),
    ("forget", lambda desk, a, b: desk.store.forget(a)),
    ("revise", lambda desk, a, b: desk.store.revise(a, content="Another text.", tags=["x"])),
    ("link", lambda desk, a, b: desk.store.link(a, b, "refines")),
    ("unlink", lambda desk, a, b: desk.store.unlink(b, a, "related")),
    *(
        (f"resolve by {word}", lambda desk, a, b, word=word: desk.store.resolve(desk.store.conflicts()[0].key, word))
        for word in ("keep_old", "keep_new", "keep_both", "merge", "dismissed")
    ),
)


@pytest.mark.parametrize(("name", "step"), STEPS, ids=[name for name, _ in STEPS])
def test_every_act_can_be_undone_and_the_undo_too(make: Make, name: str, step: Step) -> None:
    """I1: contents are the same to the byte, and the words find what they found before."""
    desk = make()
    for old, new, near in ((RUFF, FLAKE8, 0.9), (BRANCH, AGAIN, 0.8), (RUFF, BLACK, 0.85), (FLAKE8, BLACK, 0.85)):
        desk.near(old, new, near)
    a, b = stored(desk.store.remember(RUFF)).id, stored(desk.store.remember(FLAKE8)).id
    desk.store.remember(BRANCH, kind="knowledge")
    desk.store.link(b, a)
    before, count = contents(desk), len(desk.store.journal())
    desk.clock.advance(days=1)
    step(desk, a, b)
    after = contents(desk)
    assert after != before
    desk.clock.advance(days=1)
    undone = desk.store.undo(count + 1)
    assert contents(desk) == before
    assert desk.store.check(AGAIN.upper(), kind="knowledge").outcome == "created"  # no alias was left behind
    desk.clock.advance(days=1)
    redone = desk.store.undo(undone)
    assert contents(desk) == after
    assert [(entry.verb, entry.undoes) for entry in desk.store.journal(after=count + 1)] == [
        ("undo", count + 1),
        ("undo", undone),
    ]
    desk.store.undo(redone)
    assert contents(desk) == before
    assert desk.store.verify() == ()


def test_an_entry_is_taken_back_once_and_again_only_after_it_was_given_back(table: Desk) -> None:
    table.store.remember(BRANCH)
    undone = table.store.undo(1)
    with pytest.raises(IllegalTransition, match=f"taken back by entry {undone}"):
        table.store.undo(1)
    redone = table.store.undo(undone)
    with pytest.raises(IllegalTransition, match=f"taken back by entry {redone}"):
        table.store.undo(undone)
    table.store.undo(1)
    assert table.store.list() == ()


def test_later_changes_of_the_same_memory_stand_in_the_way_newest_first(table: Desk) -> None:
    store = table.store
    memory = stored(store.remember(BRANCH))
    store.remember(RUFF)
    store.revise(memory.id, tags=["a"])
    store.forget(memory.id)
    with pytest.raises(UndoBlocked, match=r"4 \(forget: archived\), 3 \(revise: revised\)") as blocked:
        store.undo(1)
    assert blocked.value.entries == (4, 3)
    store.undo(4)
    with pytest.raises(UndoBlocked) as blocked:
        store.undo(1)
    assert blocked.value.entries == (3,)  # an entry that was taken back, and its undo, cancel out
    store.undo(3)
    store.undo(1)
    assert [row.content for row in store.list()] == [RUFF]


@pytest.mark.parametrize("use", ["recall", "get"])
def test_reading_a_memory_does_not_stand_in_the_way(table: Desk, use: str) -> None:
    """Usage is no change: it is neither journaled nor taken back."""
    memory = stored(table.store.remember(BRANCH))
    table.store.revise(memory.id, tags=["a"])
    if use == "get":
        table.store.get(memory.id)
    else:
        table.store.recall(BRANCH)
    assert len(table.store.journal()) == 2
    table.store.undo(2)
    (row,) = table.store.list()
    assert (row.tags, row.access_count) == ((), 1)
    table.store.undo(1)
    assert table.store.list() == ()


def test_a_use_is_no_act(table: Desk) -> None:
    """E10: reading counts, and leaves journal, version and verdict of `verify` as they were."""
    made = table.store.remember("Tea is upstairs.").memory
    assert made is not None
    journal = table.store.journal()
    table.clock.advance(days=1)
    table.store.get(made.id)
    table.store.recall("tea")
    read = table.store.get(made.id, touch=False)
    assert (read.access_count, read.last_accessed_at) == (2, table.clock())
    assert (read.version, read.updated_at) == (made.version, made.updated_at)
    assert table.store.journal() == journal
    assert table.store.verify() == ()


def test_what_changed_no_memory_cannot_be_undone_and_says_what_to_do(table: Desk) -> None:
    result = table.store.remember("ok", kind="lesson")
    assert result.outcome == "rejected"
    with pytest.raises(IllegalTransition, match=result.dropped):
        table.store.undo(result.entry)
    assert table.store.restore(result.dropped)
    assert [row.content for row in table.store.list()] == ["ok"]


def test_an_erasure_is_final(table: Desk) -> None:
    """I1: neither the erasure nor anything before it can bring the content back."""
    memory = stored(table.store.remember(BRANCH))
    table.store.revise(memory.id, tags=["a"])
    entry = table.store.erase(memory.id)
    before = contents(table)
    for seq in (1, 2, entry):
        with pytest.raises(IllegalTransition):
            table.store.undo(seq)
    assert contents(table) == before
    with pytest.raises(IllegalTransition):
        table.store.restore(memory.id)


@pytest.mark.parametrize("seq", [0, -1, 2, 10**12])
def test_an_unknown_number_is_not_found(table: Desk, seq: int) -> None:
    table.store.remember(BRANCH)
    with pytest.raises(NotFound):
        table.store.undo(seq)


def test_the_text_is_new_again_after_its_creation_was_undone(table: Desk) -> None:
    """B-8 the other way round: no alias of a memory that went is left."""
    first = table.store.remember(BRANCH, kind="lesson")
    table.store.undo(first.entry)
    again = table.store.remember(BRANCH, kind="lesson")
    assert again.outcome == "created"
    assert stored(again).id != stored(first).id


@pytest.mark.parametrize("outage", [False, True])
def test_a_text_that_comes_back_has_its_vector_though_another_memory_with_it_was_erased(
    table: Desk, *, outage: bool
) -> None:
    """I1, I7: an erasure takes the vector of its words along; undo makes it anew, or `verify` names the row."""
    first = table.store.remember(BRANCH, kind="fact")
    undone = table.store.undo(first.entry)
    other = stored(table.store.remember(BRANCH, kind="lesson"))
    table.store.erase(other.id)
    table.fake.fail_with = ModelUnavailable("no model") if outage else None
    table.store.undo(undone)
    assert [row.content for row in table.store.list()] == [BRANCH]
    table.fake.fail_with = None
    if outage:
        (problem,) = table.store.verify()
        assert "reembed" in problem.todo
        table.store.reembed()
    assert table.store.verify() == ()


def test_an_undo_of_an_older_entry_stands_in_the_way_of_its_redo(table: Desk) -> None:
    """Undo, redo, undo the redo: each step names the one after it, and never leaves it unnamed."""
    table.store.remember(BRANCH)
    table.store.undo(1)  # 2
    table.store.undo(2)  # 3 gives 1 again
    table.store.undo(1)  # 4 takes 1 again, past its redo
    with pytest.raises(UndoBlocked) as blocked:
        table.store.undo(3)
    assert blocked.value.entries == (4,)
    table.store.undo(4)
    assert [row.content for row in table.store.list()] == [BRANCH]


def test_a_row_whose_successor_was_erased_is_no_damage(table: Desk) -> None:
    """An erasure takes the link along; the row stays hidden, and can be restored."""
    old = stored(table.store.remember("status PLANNED", kind="fact", subject="006"))
    new = stored(table.store.remember("is shipped", kind="fact", subject="006"))
    table.store.erase(new.id)
    assert table.store.verify() == ()
    assert table.store.restore(old.id)
    assert [row.content for row in table.store.list()] == ["status PLANNED"]


def test_a_key_whose_entry_was_taken_back_is_free_again(make):
    """I5: the same batch after an undo stores the text again, and once more changes nothing."""
    table = make()
    first = table.store.remember_many(["Tea is upstairs."]).results[0]
    table.store.undo(first.entry)
    again = table.store.remember_many(["Tea is upstairs."]).results[0]
    assert (again.outcome, table.rows("active")) == ("created", ["Tea is upstairs."])
    assert table.store.remember_many(["Tea is upstairs."]).results[0].reasons[0].rule == "replay"
    assert table.store.check("Tea is upstairs.", idempotency_key="k").outcome == "duplicate"


def test_a_check_answers_for_keys_and_links_as_the_write_would(make):
    """§4: `check` is the write without the writing."""
    table = make()
    table.store.remember("Tea is upstairs.", idempotency_key="k1")
    assert table.store.check("Tea is upstairs.", idempotency_key="k1").reasons[0].rule == "replay"
    with pytest.raises(IdempotencyMismatch):
        table.store.check("Cups are downstairs.", idempotency_key="k1")
    with pytest.raises(NotFound):
        table.store.check("Cups are downstairs.", links=["nobody"])
