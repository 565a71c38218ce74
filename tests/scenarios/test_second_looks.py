"""A store written under an older policy: a consolidation folds and marks as the gate would; nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

import wellkept
from stores import embedded, place, snapshot
from wellkept import DEFAULT_RULES, Consolidation, Filter, MemoryStore, Policy
from wellkept.core.judging.list_head import FEATURES, ODDS_OF_THE_ACT, Head
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.policy import Risk
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import ALL_STATUSES, NewMemory

KEPT_APART = "[kinds.fact]\n{0}[kinds.note]\n{0}"
BEFORE = Policy.from_toml(KEPT_APART.format('repeats = "drop"\nupdates = "list"\n'))
AFTER = Policy.from_toml(KEPT_APART.format('repeats = "fold"\nupdates = "mark"\nfamily = "statements"\n'))
HEADS = {
    act: Head(tuple(float(place == ODDS_OF_THE_ACT) for place in range(count)), 0.0, english=0.6, other=0.6)
    for act, count in FEATURES.items()
}
"""The probability of the act is that of the opinion."""

HEAD = "The invoices are sent by Marta."
WORDINGS = ("Marta sends the invoices.", "Each bill goes out from Marta.", "It is Marta who mails the bills.")
OLD, NEW, AGAIN = "The office is at the harbour.", "They work from the old mill now.", "Work happens in the old mill."
OTHER = "The car is parked behind the house."
STORY = ((HEAD, "fact"), (WORDINGS[0], "fact"), (OLD, "fact"), (WORDINGS[1], "fact"), (NEW, "fact"), (OTHER, "note"),
         (WORDINGS[2], "note"), (AGAIN, "fact"))  # fmt: skip
SAME = ((HEAD, WORDINGS[0]), (WORDINGS[0], WORDINGS[1]), (HEAD, WORDINGS[2]), (NEW, AGAIN))
UPDATES = ((OLD, NEW),)


class WithHeads(FakeRelationModel):
    """A relation model that also decides over lists of candidates."""

    def bounds(self, risk: Risk) -> Bounds:
        return replace(super().bounds(risk), fold=HEADS["fold"], mark=HEADS["mark"])


def model() -> WithHeads:
    made = WithHeads()
    for old, new in combinations([text for text, _ in STORY], 2):
        made.declare(
            old, new, **({"same": 0.75} if (old, new) in SAME else {"conflict": 0.7} if (old, new) in UPDATES else {})
        )
    return made


def embedder() -> FakeEmbedder:
    made = FakeEmbedder(dim=64)
    kinds = dict(STORY)
    for group in ((HEAD, *WORDINGS), (OLD, NEW, AGAIN)):
        texts = [embedded(NewMemory(content=text, kind=kinds[text])) for text in group]
        for old, new in combinations(texts, 2):
            made.relate(old, new, 0.8)
    return made


Opens = Callable[[Policy], MemoryStore]


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Callable[[str], Opens]]:
    """Opens a store of a name under a policy; the one that was open before is closed."""
    clock, ids = FrozenClock(), CountingIds()
    with ExitStack() as stack:

        def named(name: str) -> Opens:
            where = str(place(tmp_path / f"{name}.db"))
            held: list[MemoryStore] = []

            def opened(policy: Policy) -> MemoryStore:
                for one in held:
                    one.close()
                store = wellkept.open(
                    where, policy=policy, clock=clock, new_id=ids, embedder=embedder(), relation_model=model()
                )
                held.append(stack.enter_context(store))
                return store

            return opened

        yield named


def written(store: MemoryStore) -> MemoryStore:
    for text, kind in STORY:
        store.remember(text, kind=kind)
        store._ctx.clock.advance(minutes=5)  # type: ignore[attr-defined]
    return store


def picture(store: MemoryStore) -> tuple[dict[str, tuple[str, str, int]], set[tuple[object, ...]]]:
    """The visible state: each text with its head and confirmations, and open conflicts."""
    rows = {row.id: row for row in store.list(Filter(statuses=ALL_STATUSES))}
    told = {
        row.content: (row.status, rows[row.superseded_by].content if row.superseded_by else "", row.confirmations)
        for row in rows.values()
    }
    listed = {
        (item.kind, rows[item.a].content, rows[item.b].content, item.probability, item.expires_at)
        for item in store.conflicts()
    }
    return told, listed


def test_an_older_store_is_unchanged_until_a_consolidation_makes_of_it_what_the_gate_would(opens):
    wanted = picture(written(opens("new")(AFTER)))
    reopen = opens("old")
    before = snapshot(written(reopen(BEFORE)))
    store = reopen(AFTER)
    assert snapshot(store) == before

    looked = store.consolidate()
    assert {name: count for name, count in looked.plan.planned.items() if count} == {"fold": 2, "mark": 1}
    assert snapshot(store) == before
    run = store.execute(looked.plan)
    assert (run.executed, run.skipped, run.errors) == (3, 0, 0)
    assert picture(store) == wanted
    assert store.verify() == ()
    assert store.plan().actions == ()

    store.undo_run(run.run_id)
    assert snapshot(store)[:3] == before[:3]
    assert store.plan() == looked.plan
    assert store.verify() == ()


def test_wordings_move_with_the_memory_they_stand_behind(opens):
    """A head that restates an older memory after all: with the older one gone for a while, two heads came to be."""
    reopen = opens("one")
    store = reopen(AFTER)
    head = store.remember(HEAD, kind="fact")
    store.forget(head.id)
    young = store.remember(WORDINGS[0], kind="fact")
    assert store.remember(WORDINGS[1], kind="fact").outcome == "restated"
    store.restore(head.id)
    run = store.consolidate(execute=True)
    assert [action.type for action in run.plan.actions] == ["fold"]
    told, _ = picture(store)
    assert told == {
        HEAD: ("active", "", 2), WORDINGS[0]: ("wording", HEAD, 1), WORDINGS[1]: ("wording", HEAD, 0),
    }  # fmt: skip
    assert store.verify() == () and store.plan().actions == ()
    assert store.get(young.id).superseded_by == head.id
    store.undo_run(run.run_id)
    assert picture(store)[0][WORDINGS[1]] == ("wording", WORDINGS[0], 0)
    assert store.verify() == ()


def test_equal_texts_are_merged_and_what_restates_them_is_folded_in_one_run(opens):
    reopen = opens("one")
    store = reopen(BEFORE)
    for text in (HEAD, HEAD, WORDINGS[0], WORDINGS[0]):
        store.remember(text, kind="fact", on_conflict="ignore")
        store._ctx.clock.advance(minutes=5)
    store = reopen(AFTER)
    run = store.consolidate(execute=True)
    assert run.plan.planned["merge"] == 2 and run.plan.planned["fold"] == 1 and run.executed == 3
    told = [(row.content, row.status, row.confirmations) for row in store.list(Filter(statuses=("active", "wording")))]
    assert sorted(told) == [(WORDINGS[0], "wording", 1), (HEAD, "active", 3)]
    assert store.verify() == () and store.plan().actions == ()
    store.undo_run(run.run_id)
    assert len(store.list()) == 4 and store.verify() == ()


def test_equal_texts_of_two_kinds_are_folded_as_the_gate_folds_them(opens):
    told = ((HEAD, "fact"), (OTHER, "note"), (HEAD, "note"), (HEAD.upper(), "note"), (OTHER.upper(), "fact"))
    store = opens("new")(AFTER)
    for text, kind in told:
        store.remember(text, kind=kind)
    wanted = {row.content: row.confirmations for row in store.list()}
    assert wanted == {HEAD: 2, OTHER: 1}
    reopen = opens("old")
    before = reopen(BEFORE)
    for text, kind in told:
        before.remember(text, kind=kind)
        before._ctx.clock.advance(minutes=5)
    store = reopen(AFTER)
    run = store.consolidate(execute=True)
    assert (run.plan.planned["fold"], run.executed, run.errors) == (2, 2, 0)
    assert {row.content: row.confirmations for row in store.list()} == wanted
    assert store.verify() == () and store.plan().actions == ()
    store.undo_run(run.run_id)
    assert len(store.list()) == 4 and store.verify() == ()


@pytest.mark.parametrize("resolution", ["keep_both", "dismissed"])
def test_a_pair_that_somebody_has_settled_is_left_alone(opens, resolution):
    reopen = opens("one")
    written(reopen(BEFORE))
    store = reopen(AFTER)
    for item in store.conflicts():
        store.resolve(item.key, resolution)
    assert {action.type for action in store.plan().actions} <= {"fold"}
    apart = {frozenset((item.a, item.b)) for item in store.conflicts(settled=True)}
    assert not any(
        frozenset(pair) in apart for action in store.plan().actions for pair in combinations(action.targets, 2)
    )


def test_without_rules_for_it_nothing_is_folded_or_marked(opens):
    reopen = opens("one")
    written(reopen(BEFORE))
    store = reopen(AFTER)
    rules = tuple(rule for rule in DEFAULT_RULES if rule.action not in ("fold", "mark"))
    assert not {"fold", "mark"} & {action.type for action in store.plan(Consolidation(rules=rules)).actions}


def test_a_wording_that_was_split_off_is_not_folded_again(opens):
    reopen = opens("one")
    written(reopen(BEFORE))
    store = reopen(AFTER)
    store.consolidate(execute=True)
    (wording,) = (row for row in store.list(Filter(statuses=("wording",))) if row.content == WORDINGS[2])
    store.split(wording.id)
    assert store.plan().actions == ()
