"""Laws of every sequence of acts: undo, order, replay, isolation, judged pairs (I1, I2, I5, I8)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from properties import acts
from properties.acts import TEXTS, Act, Raised, few, perform, some, stored, world
from scenarios.world import World, found_anywhere, snapshot
from stores import BACKENDS, EACH_BACKEND, LIGHT
from wellkept.core.gate.admit import allowed
from wellkept.core.judging.evidence import Evidence, Judged, in_scope
from wellkept.core.records.vectors import cosine
from wellkept.errors import UndoBlocked
from wellkept.policy import Policy
from wellkept.types import Candidate, Memory, NewMemory, Statement

# What is tested here is content, not durability: files in memory spare a wait at every commit.
SHELF = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
each_backend = pytest.mark.parametrize("backend", EACH_BACKEND)


@contextmanager
def fresh(backend: str, names: int = 1) -> Iterator[Any]:
    """One world or several, of a run's own."""
    with tempfile.TemporaryDirectory(dir=SHELF) as folder, ExitStack() as stack:
        worlds = [world(backend, Path(folder), f"store-{number}.db") for number in range(names)]
        for here in worlds:
            stack.callback(here.store.close)
        yield worlds[0] if names == 1 else worlds


def run(here: World, prefix: list[Act]) -> None:
    for act in prefix:
        perform(here.store, act)
        here.clock.advance(minutes=7)


# -- undo ------------------------------------------------------------------------------------


@each_backend
@some
@given(prefix=acts.stories(acts.acts, 8), act=acts.writes)
def test_undo_restores_to_the_byte_and_the_undo_of_the_undo_too(backend: str, prefix: list[Act], act: Act) -> None:
    """I1: whatever was done before, the last write can be taken back and given again."""
    with fresh(backend) as here:
        run(here, prefix)
        before, entries = snapshot(here.store).without_journal(), here.store.journal()
        perform(here.store, act)
        now = here.store.journal()
        assert now[: len(entries)] == entries  # append-only
        assume(len(now) == len(entries) + 1 and now[-1].effects)
        after = snapshot(here.store).without_journal()
        here.clock.advance(hours=1)
        undone = here.store.undo(now[-1].seq)
        assert snapshot(here.store).without_journal() == before
        here.clock.advance(hours=1)
        here.store.undo(undone)
        assert snapshot(here.store).without_journal() == after


@each_backend
@some
@given(prefix=acts.stories(acts.writes, 8))
def test_undoing_everything_newest_first_leaves_nothing(backend: str, prefix: list[Act]) -> None:
    with fresh(backend) as here:
        run(here, prefix)
        for entry in reversed(here.store.journal()):
            if entry.effects:
                here.store.undo(entry.seq)
        picture = snapshot(here.store)
        assert (picture.memories, picture.links, picture.conflicts, picture.aliases) == ((), (), (), ())
        assert here.store.verify() == ()


@each_backend
@some
@given(prefix=acts.stories(acts.writes, 8), pick=acts.picks)
def test_a_blocked_undo_names_what_stands_in_the_way(backend: str, prefix: list[Act], pick: int) -> None:
    """The named entries are later, newest first, and once they are taken back the undo goes through."""
    with fresh(backend) as here:
        run(here, prefix)
        entries = [entry for entry in here.store.journal() if entry.effects]
        assume(entries)
        entry = entries[pick % len(entries)]
        before = snapshot(here.store)
        blocked = perform(here.store, Act("undo", a=len(here.store.journal()) - entry.seq))
        if not isinstance(blocked, Raised):
            return
        assert snapshot(here.store) == before
        assert blocked.kind == "UndoBlocked"
        assert blocked.entries
        assert list(blocked.entries) == sorted(blocked.entries, reverse=True)
        assert min(blocked.entries) > entry.seq
        assert all(str(seq) in blocked.message for seq in blocked.entries)
        _take_back(here, entry.seq)


def _take_back(here: World, seq: int) -> None:
    """Undo an entry after the later entries that block it."""
    for _ in range(40):
        try:
            here.store.undo(seq)
        except UndoBlocked as blocked:
            _take_back(here, blocked.entries[0])
        else:
            return
    raise AssertionError(f"entry {seq} is still blocked")


# -- nothing is lost, whatever the order -----------------------------------------------------


@pytest.mark.parametrize(
    ("backend", "kind"),
    [(backend, kind) if backend == LIGHT or kind == "lesson" else pytest.param(backend, kind, marks=pytest.mark.soak)
     for backend in BACKENDS for kind in acts.KINDS],
)  # fmt: skip
def test_the_order_of_two_texts_loses_neither(backend: str, kind: str) -> None:
    """I1: every ordered pair of the alphabet."""
    with fresh(backend) as here:
        for number, (first, second) in enumerate(permutations(TEXTS, 2)):
            store = here.store.in_namespace(f"pair/{number}")
            for text in (first, second):
                store.remember(text, kind=kind)
            assert found_anywhere(store, first)
            assert found_anywhere(store, second)


@each_backend
@few
@given(items=st.lists(acts.items, min_size=2, max_size=6), seed=st.randoms(use_true_random=False))
def test_no_order_of_a_batch_loses_a_text(backend: str, items: list[dict[str, Any]], seed: Any) -> None:
    with fresh(backend) as here:
        shuffled = list(items)
        seed.shuffle(shuffled)
        for name, order in (("given", items), ("shuffled", shuffled)):
            store = here.store.in_namespace(name)
            store.remember_many(order)
            assert [item["content"] for item in items if not found_anywhere(store, item["content"])] == []


# -- replay ----------------------------------------------------------------------------------


@each_backend
@some
@given(prefix=acts.stories(acts.acts, 3), items=st.lists(acts.items, min_size=1, max_size=8))
def test_the_same_batch_again_changes_nothing(backend: str, prefix: list[Act], items: list[dict[str, Any]]) -> None:
    """I5: also the same items in the file of an import."""
    with fresh(backend) as here:
        run(here, prefix)
        first = here.batch(items)
        after = snapshot(here.store)
        here.clock.advance(days=40)
        again = here.batch(items)
        assert snapshot(here.store) == after
        assert [result.memory.id for result in again.results if result and result.memory] == [
            result.memory.id for result in first.results if result and result.memory
        ]
        path = here.file(items)
        here.store.import_(path)
        after = snapshot(here.store)
        here.clock.advance(days=40)
        report = here.store.import_(path)
        assert snapshot(here.store) == after
        assert dict(report.counts) == {"replayed": len(items)}


@each_backend
@few
@given(items=st.lists(acts.items, min_size=1, max_size=8))
def test_a_batch_decides_as_single_writes_do(backend: str, items: list[dict[str, Any]]) -> None:
    """S4-15, I4: each item sees those before it; only the keys of the batch differ."""
    with fresh(backend, 2) as (one, many):
        singles = [one.write(item) for item in items]
        batch = many.batch(items)
        assert [result.outcome for result in singles] == [result.outcome for result in batch.results if result]
        first, second = (snapshot(here.store, journal=False) for here in (one, many))
        shape = [
            [(row.content, row.kind, row.status, row.confirmations, row.version) for row in picture.memories]
            for picture in (first, second)
        ]
        assert shape[0] == shape[1]
        assert sorted(item.kind for item in first.conflicts) == sorted(item.kind for item in second.conflicts)


@each_backend
@few
@given(prefix=acts.stories(acts.acts, 8))
def test_an_export_brought_back_is_the_same_namespace(backend: str, prefix: list[Act]) -> None:
    """I5: rows, links, conflicts; and once more changes nothing."""
    with fresh(backend, 2) as (here, there):
        run(here, prefix)
        path = here.folder / "export.jsonl"
        here.store.export(path)
        there.store.import_(path)
        wanted, brought = (snapshot(one.store) for one in (here, there))
        assert (brought.memories, brought.links, brought.conflicts) == (wanted.memories, wanted.links, wanted.conflicts)
        there.store.import_(path)
        assert snapshot(there.store) == brought


# -- isolation -------------------------------------------------------------------------------


@each_backend
@some
@given(prefix=acts.stories(acts.writes, 3), later=acts.stories(acts.acts, 4))
def test_no_act_in_one_namespace_shows_in_another(backend: str, prefix: list[Act], later: list[Act]) -> None:
    """I8: and the other namespace decides as if it were alone."""
    with fresh(backend, 2) as (here, alone):
        run(here, prefix)
        before = snapshot(here.store)
        other, sole = here.store.in_namespace("other"), alone.store.in_namespace("other")
        for act in later:
            beside, single = perform(other, act), perform(sole, act)
            here.clock.advance(minutes=7)
            alone.clock.advance(minutes=7)
            assert getattr(beside, "outcome", type(beside)) == getattr(single, "outcome", type(single))
        assert snapshot(here.store) == before
        assert [row.content for row in stored(other)] == [row.content for row in stored(sole)]


# -- judged pairs ----------------------------------------------------------------------------


@each_backend
@some
@given(items=st.lists(acts.items, min_size=2, max_size=8))
@example(items=[{"content": text, "kind": "semantic"} for text in TEXTS])
@example(items=[{"content": text, "kind": "fact"} for text in TEXTS])
def test_every_pair_of_active_rows_has_been_judged(backend: str, items: list[dict[str, Any]]) -> None:
    """I2: no two active rows say the same where the policy drops repeats; no conflict goes unrecorded."""
    policy = Policy()
    with fresh(backend) as here:
        for item in items:
            here.write(item)
        flagged = {frozenset((item.a, item.b)) for item in here.store.conflicts(settled=True)}
        rows = [row for row in here.rows() if not row.updates]
        for number, newer in enumerate(rows):
            for older in rows[:number]:
                found = _judged(here, newer, older, policy)
                if found is None:
                    continue
                assert allowed(found, policy.for_kind(newer.kind), Evidence()) not in ("skip", "merge")
                if (
                    found.comparison.relation == "conflict"
                    and found.similarity >= policy.for_kind(newer.kind).conflict_at
                ):
                    assert frozenset((newer.id, older.id)) in flagged


def _judged(here: World, newer: Memory, older: Memory, policy: Policy) -> Judged | None:
    from wellkept.core.judging.compare import compare

    rules = policy.for_kind(newer.kind)
    statement = NewMemory(**{name: getattr(newer, name) for name in Statement.__dataclass_fields__})
    if "vector" not in rules.stages or not in_scope(statement, older, rules):
        return None
    left, right = here.embedder.embed([newer.content, older.content])
    assert left.vector is not None and right.vector is not None
    near = round(cosine(left.vector, right.vector), 4)
    return Judged(Candidate(older, "vector", near), compare(statement, older, cosine=near, similarity=near))


@pytest.mark.soak
@each_backend
@settings(max_examples=300)
@given(prefix=acts.stories(acts.acts, 16), act=acts.writes)
def test_undo_restores_to_the_byte_after_long_stories(backend: str, prefix: list[Act], act: Act) -> None:
    """The same law as above, searched further."""
    with fresh(backend) as here:
        run(here, prefix)
        before, count = snapshot(here.store).without_journal(), len(here.store.journal())
        perform(here.store, act)
        now = here.store.journal()
        assume(len(now) == count + 1 and now[-1].effects)
        here.store.undo(now[-1].seq)
        assert snapshot(here.store).without_journal() == before
