"""Backends against the dict backend after each call: equal answers and contents, valid invariants (I1, I4, I9)."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from examples import examples
from properties import acts
from properties.acts import COSINES, Act, perform, stored, world
from scenarios.world import Snapshot, found_anywhere, snapshot
from wellkept.core.records.merge import segments
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import Filter, MemoryChange, WriteResult

SHELF = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # durability is tested elsewhere


class Lockstep(RuleBasedStateMachine):
    """Two stores with the same clock and ids; whatever is done to one is done to the other."""

    backends = ("memory", "sqlite")

    @initialize(near=st.lists(acts.pairs, min_size=1, max_size=3))
    def open(self, near: list[list[Act]]) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=SHELF)
        embedder = FakeEmbedder(COSINES)  # one, so that a text nobody declared has one vector
        self.worlds = [world(name, Path(self.folder.name), embedder=embedder) for name in self.backends]
        self.said: set[str] = set()
        self.picture = Snapshot((), (), (), (), ())
        for pair in near:
            self.remember_two_near_texts(pair)

    def both(self, act: Act) -> Any:
        first, second = (perform(here.store, act) for here in self.worlds)
        assert first == second
        for here in self.worlds:
            here.clock.advance(minutes=7)
        pictures = [snapshot(here.store) for here in self.worlds]
        assert pictures[0] == pictures[1]
        self.picture = pictures[0]
        return first

    @rule(act=acts.remembers)
    def remember(self, act: Act) -> None:
        if isinstance(self.both(act), WriteResult):
            self.said.add(act.text)

    @rule(pair=acts.pairs)
    def remember_two_near_texts(self, pair: list[Act]) -> None:
        for act in pair:
            self.remember(act)

    @rule(act=acts.repeats)
    def say_again(self, act: Act) -> None:
        self.both(act)

    @rule(act=acts.remembers)
    def check(self, act: Act) -> None:
        before = self.picture
        results = [perform(here.store, replace(act, verb="check")) for here in self.worlds]
        assert results[0] == results[1]
        assert [snapshot(here.store) for here in self.worlds] == [before, before]

    @rule(act=st.one_of(acts.supersedes, acts.restores, acts.forgets, acts.resolves))
    def change_a_status(self, act: Act) -> None:
        self.both(act)

    @rule(act=st.one_of(acts.links, acts.unlinks, acts.revises))
    def edit(self, act: Act) -> None:
        self.both(act)

    @rule(act=acts.undos)
    def undo(self, act: Act) -> None:
        self.both(act)

    @rule(act=st.one_of(acts.recalls, acts.gets))
    def read(self, act: Act) -> None:
        self.both(act)

    @rule(which=acts.picks)
    def bring_back_a_dropped_text(self, which: int) -> None:
        """I1: a dropped text can be stored by `restore`."""
        for here in self.worlds:
            dropped = [entry.dropped.id for entry in here.store.journal() if entry.dropped and entry.dropped.content]
            if dropped and dropped[which % len(dropped)] not in {row.id for row in stored(here.store)}:
                assert here.store.restore(dropped[which % len(dropped)])
            here.clock.advance(minutes=7)
        assert snapshot(self.worlds[0].store) == snapshot(self.worlds[1].store)
        self.picture = snapshot(self.worlds[0].store)

    @rule()
    def wait(self) -> None:
        for here in self.worlds:
            here.clock.advance(days=100)

    @precondition(lambda self: bool(self.picture.memories))
    @rule(act=acts.erases)
    def erase(self, act: Act) -> None:
        store = self.worlds[0].store
        rows = stored(store)
        gone = rows[act.a % len(rows)].id
        # With a memory go its former texts, its wordings, and the repeats of it that were refused.
        self.said -= _texts_about(store, gone)
        self.both(act)

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "said"):
            assert {text for text in self.said if not found_anywhere(self.worlds[0].store, text)} == set()

    @invariant()
    def every_chain_ends_at_a_row_that_is_there(self) -> None:
        rows = {row.id: row for row in self.picture.memories} if hasattr(self, "picture") else {}
        for row in rows.values():
            assert (row.status in ("superseded", "wording")) == bool(row.superseded_by)
            step, seen = row, {row.id}
            while step.superseded_by:
                assert step.superseded_by in rows
                step = rows[step.superseded_by]
                assert step.id not in seen
                seen.add(step.id)

    @invariant()
    def an_erased_memory_says_nothing(self) -> None:
        for row in self.picture.memories if hasattr(self, "picture") else ():
            if row.status == "erased":
                assert (row.content, row.title, row.subject, row.tags) == ("", "", "", ())

    def teardown(self) -> None:
        if not hasattr(self, "worlds"):
            return
        problems = [here.store.verify() for here in self.worlds]
        journals = [[entry.seq for entry in here.store.journal()] for here in self.worlds]
        for here in self.worlds:
            here.store.close()
        self.folder.cleanup()
        assert problems == [(), ()]
        assert journals[0] == journals[1] == list(range(1, len(journals[0]) + 1))


def _texts_about(store: Any, memory_id: str) -> set[str]:
    ctx = store._ctx
    texts: set[str] = set()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        for entry in tx.journal(memory_ids=(memory_id,)):
            if entry.dropped is not None:
                texts.add(entry.dropped.content)
            for effect in entry.effects:
                sides = (effect.before, effect.after) if isinstance(effect, MemoryChange) else ()
                texts.update(text for side in sides if side and side.id == memory_id for text in segments(side))
        wordings = [row.id for row in tx.find(Filter(statuses=("wording",))) if row.superseded_by == memory_id]
    return texts.union(*(_texts_about(store, wording) for wording in wordings))


class PostgresLockstep(Lockstep):
    """The same with PostgreSQL."""

    backends = ("memory", "postgres")


def test_both_backends_answer_alike() -> None:
    run_state_machine_as_test(Lockstep, settings=examples(9, 15, stateful_step_count=20))


def test_postgresql_answers_like_the_plain_dicts() -> None:
    run_state_machine_as_test(PostgresLockstep, settings=examples(5, 8, stateful_step_count=20))


@pytest.mark.soak
def test_both_backends_answer_alike_for_long() -> None:
    run_state_machine_as_test(Lockstep, settings=settings(max_examples=60, stateful_step_count=50))
