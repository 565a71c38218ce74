"""Laws of every consolidation, after any acts: nothing lost, once is enough, all of it can be taken back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from properties import acts
from properties.acts import BRANCH, BRANCH_AGAIN, BRANCH_NEAR, COSINES, Act, few, perform, some
from properties.test_stories import SHELF, run
from scenarios.tidy import all_the_same
from scenarios.world import World, make, snapshot
from stores import EACH_BACKEND
from wellkept.core.consolidation.rules import DEFAULT_RULES, Consolidation, Rule, When
from wellkept.core.records.merge import segments
from wellkept.core.text.forms import canonical
from wellkept.engine.history.journal import refuse_if_blocked
from wellkept.errors import IllegalTransition, NotFound, UndoBlocked
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import AliasChange, ConflictChange, JournalEntry, Link, LinkChange, MemoryChange, Plan

TRIO = (BRANCH, BRANCH_AGAIN, BRANCH_NEAR)
each_backend = pytest.mark.parametrize("backend", EACH_BACKEND)

LAX = Rule(id="lax", trigger="always", action="merge", when=When(min_similarity=0.9))
HIDING = replace(LAX, id="hiding", winner="oldest", older="supersede")
GREEDY = Rule(id="greedy", trigger="always", action="archive", when=When(max_importance=0.5))
CONFIGS = {
    "default": Consolidation(),
    "lax": Consolidation(rules=(LAX, *DEFAULT_RULES)),
    "hiding": Consolidation(rules=(HIDING, *DEFAULT_RULES)),
    "greedy": Consolidation(rules=(LAX, *DEFAULT_RULES, GREEDY)),
}
configs = st.sampled_from(sorted(CONFIGS))


@contextmanager
def grown(backend: str, prefix: list[Act], days: float = 0) -> Iterator[World]:
    """A store after some acts, whose relation model now knows which texts say the same."""
    with tempfile.TemporaryDirectory(dir=SHELF) as folder, ExitStack() as stack:
        here = acts.world(backend, Path(folder))
        stack.callback(here.store.close)
        run(here, prefix)
        here.clock.advance(days=days)
        all_the_same(here, TRIO)
        yield here


@each_backend
@some
@given(prefix=acts.stories(acts.acts, 10), config=configs, days=st.sampled_from([0, 40]))
def test_a_plan_writes_nothing_and_its_execution_loses_nothing_and_is_done_once(
    backend: str, prefix: list[Act], config: str, days: float
) -> None:
    """S1-5, S1-10, I1, I5, F-26: and the next plan finds nothing of the kind to do."""
    with grown(backend, prefix, days) as here:
        before = snapshot(here.store)
        plan = here.store.plan(CONFIGS[config])
        assert here.store.plan(CONFIGS[config]) == plan
        assert snapshot(here.store) == before
        sound = here.store.verify()
        report = here.store.execute(plan)
        event(f"executed {report.executed}")
        assert [result.state for result in report.results if result.state not in ("executed", "done")] == []
        after = snapshot(here.store)
        kept = [(row.id, row.content, row.updates, row.embedding) for row in after.memories]
        assert kept == [(row.id, row.content, row.updates, row.embedding) for row in before.memories]
        assert here.store.verify() == sound
        again = here.store.execute(plan)
        assert again.executed == again.errors == 0
        assert {result.state for result in again.results} <= {"done"}
        assert snapshot(here.store) == after
        later = here.store.plan(CONFIGS[config])
        assert [action.type for action in later.actions if action.type in ("merge", "flag_contradiction")] == []


@each_backend
@some
@given(prefix=acts.stories(acts.acts, 10), config=configs)
def test_only_what_says_the_same_becomes_one(backend: str, prefix: list[Act], config: str) -> None:
    """I2, B-6: every two of a cluster; none of them held apart by a conflict."""
    with grown(backend, prefix) as here:
        rows = {row.id: row for row in snapshot(here.store).memories}
        conflicts = {
            frozenset((item.a, item.b))
            for item in here.store.conflicts(settled=True)
            if item.resolution == "keep_both" or (item.kind == "contradiction" and item.resolution is None)
        }
        touched: set[str] = set()
        for action in here.store.plan(CONFIGS[config]).actions:
            if action.type == "flag_contradiction":
                continue
            assert touched.isdisjoint(action.targets)  # E-2.3: one action for each memory
            touched.update(action.targets)
            for a, b in combinations(action.targets, 2):
                one, two = rows[a], rows[b]
                assert one.kind == two.kind or action.type == "fold"  # a restatement is one across a family
                parts = [set(segments(row)) for row in (one, two)]  # a memory that grew says each of its parts
                same = {canonical(text) for text in parts[0]} & {canonical(text) for text in parts[1]}
                assert same or parts[0] | parts[1] <= set(TRIO)
                assert frozenset((a, b)) not in conflicts
                assert not (one.event_time and two.event_time and one.event_time != two.event_time)
                assert one.polarity * two.polarity != -1


@each_backend
@some
@given(prefix=acts.stories(acts.acts, 10), config=configs)
def test_undo_of_a_run_restores_every_row_to_the_byte(backend: str, prefix: list[Act], config: str) -> None:
    """I1: usage, links, conflicts and aliases as well; and the same plan can be executed again."""
    with grown(backend, prefix) as here:
        plan = here.store.plan(CONFIGS[config])
        before = snapshot(here.store).without_journal()
        report = here.store.execute(plan)
        assume(report.executed)
        after = snapshot(here.store).without_journal()
        here.clock.advance(hours=1)
        here.store.undo_run(report.run_id)
        assert snapshot(here.store).without_journal() == before
        assert here.store.plan(CONFIGS[config]) == plan
        here.store.undo_run(f"undo-{report.run_id}")
        assert snapshot(here.store).without_journal() == after


@each_backend
@some
@given(prefix=acts.stories(acts.acts, 6), later=st.lists(acts.acts, min_size=1, max_size=4), config=configs)
def test_what_stands_on_a_run_is_named_and_the_rest_can_be_taken_back(
    backend: str, prefix: list[Act], later: list[Act], config: str
) -> None:
    """The same entries stand in the way as for an undo of one entry alone."""
    with grown(backend, prefix) as here:
        report = here.store.execute(here.store.plan(CONFIGS[config]))
        assume(report.executed)
        run(here, later)
        before, sound = snapshot(here.store), here.store.verify()
        try:
            here.store.undo_run(report.run_id)
        except NotFound:  # everything was undone by hand
            assert snapshot(here.store) == before
            return
        except UndoBlocked as blocked:
            event("blocked")
            assert blocked.entries and min(blocked.entries) > min(result.entry for result in report.results)
            assert all(str(seq) in str(blocked) for seq in blocked.entries)
            assert snapshot(here.store) == before
            _rest(here, report.run_id)
            assert here.store.verify() == sound
            return
        assert here.store.verify() == sound


def _rest(here: World, run_id: str) -> None:
    told = here.store.undo_run(run_id, force_except=True)
    ctx = here.store._ctx
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        for entry in tx.journal(run_id=run_id):
            if entry.seq not in told.blocked:
                continue
            try:
                refuse_if_blocked(tx, entry)
            except (UndoBlocked, IllegalTransition):
                continue
            raise AssertionError(f"entry {entry.seq} was left and nothing stands on it")


# -- determinism -----------------------------------------------------------------------------


def _transplanted(picture: Any, order: Any, backend: str, folder: Path, name: str, clock: Any) -> World:
    """The same rows, links, conflicts and hashes, written in another physical order."""
    here = make(backend, folder, embedder=FakeEmbedder(COSINES), name=name)
    here.clock.advance(seconds=(clock() - here.clock()).total_seconds())
    ctx = here.store._ctx
    rows = list(picture.memories)
    order.shuffle(rows)
    vectors = {}
    for row in rows:
        if row.embedding:
            (made,) = here.embedder.embed([row.content])
            vectors[row.embedding] = made.vector
    others: list[Any] = [AliasChange(one, digest, present=True) for digest, ids in picture.aliases for one in ids]
    others += [ConflictChange(None, item) for item in picture.conflicts]
    others += [LinkChange(None, Link(*edge)) for edge in picture.links]
    order.shuffle(others)
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        for row in rows:
            entry = JournalEntry(at=here.clock(), verb="import", outcome="created", effects=(MemoryChange(None, row),))
            tx.apply(entry, vectors={row.embedding: vectors[row.embedding]} if row.embedding else None)
        tx.apply(JournalEntry(at=here.clock(), verb="import", outcome="created", effects=tuple(others)))
    return here


@few
@given(prefix=acts.stories(acts.writes, 12), order=st.randoms(use_true_random=False), config=configs)
def test_the_physical_order_of_rows_and_the_backend_decide_nothing(prefix: list[Act], order: Any, config: str) -> None:
    """S1-5, S1-24, I4, I9: fixed ids and times, four orders, one plan_id."""
    with grown("memory", prefix) as first, tempfile.TemporaryDirectory(dir=SHELF) as folder, ExitStack() as stack:
        picture = snapshot(first.store, journal=False)
        plans: list[Plan] = []
        for number, backend in enumerate(("memory", "sqlite", "memory", "sqlite")):
            here = _transplanted(picture, order, backend, Path(folder), f"{number}.db", first.clock)
            stack.callback(here.store.close)
            all_the_same(here, TRIO)
            plans.append(here.store.plan(CONFIGS[config]))
        assert {plan.plan_id for plan in plans} == {first.store.plan(CONFIGS[config]).plan_id}
        assert all(plan == plans[0] for plan in plans)


@pytest.mark.soak
@each_backend
@settings(max_examples=250)
@given(prefix=acts.stories(acts.acts, 24), config=configs)
def test_undo_of_a_run_restores_everything_after_long_stories(backend: str, prefix: list[Act], config: str) -> None:
    """The same law as above, searched further."""
    with grown(backend, prefix) as here:
        before, sound = snapshot(here.store).without_journal(), here.store.verify()
        report = here.store.execute(here.store.plan(CONFIGS[config]))
        assume(report.executed)
        assert here.store.verify() == sound
        perform(here.store, Act("recall", text=BRANCH))
        here.store.undo_run(report.run_id)
        left = snapshot(here.store).without_journal()
        assert [row.id for row in left.memories] == [row.id for row in before.memories]
        assert (left.links, left.conflicts, left.aliases) == (before.links, before.conflicts, before.aliases)
