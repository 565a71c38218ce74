"""`split` of a wording, and all verbs on memories with wordings, on every backend."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import wellkept
from stores import EACH_BACKEND, place
from wellkept import AsyncMemoryStore, Filter, MemoryStore
from wellkept.engine.gate import acts
from wellkept.errors import IllegalTransition, NotFound
from wellkept.testing.clock import FrozenClock
from wellkept.types import ALL_STATUSES, MemoryChange

from .test_wordings import FOLDING, HEAD, NEW, OLD, WORDING, contents

ANOTHER = "It is Marta who sends the invoices."


@pytest.fixture(params=EACH_BACKEND)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    where = "memory:" if request.param == "memory" else str(place(tmp_path / "store.db"))
    with wellkept.open(where, policy=FOLDING, clock=FrozenClock(), actor="ana") as opened:
        yield opened


def folded(store: MemoryStore) -> tuple[str, str]:
    """The ids of a head and of its one wording."""
    head = store.remember(HEAD, kind="fact")
    return head.id, store.remember(WORDING, kind="fact").links[0].src


def rows(store: MemoryStore) -> list[tuple[object, ...]]:
    """What an undo gives back: everything but the version and the time of the change."""
    found = store.list(Filter(statuses=ALL_STATUSES))
    return [(row.content, row.status, row.superseded_by, row.confirmations, row.last_confirmed_at) for row in found]


def test_a_wording_becomes_a_memory_of_its_own_and_its_head_loses_the_confirmation(store):
    head, wording = folded(store)
    entry = store.split(wording[:-4])
    assert contents(store) == [HEAD, WORDING]
    assert contents(store, "wording") == []
    own, former = store.get(wording, touch=False), store.get(head, touch=False)
    assert (own.superseded_by, own.superseded_at, own.confirmations) == ("", None, 0)
    assert (former.confirmations, former.last_confirmed_at) == (0, None)
    assert store.neighbors(wording) == ()
    [told] = [line for line in store.journal() if line.seq == entry]
    assert (told.verb, told.outcome, told.actor, told.memory_id) == ("split", "split", "ana", wording)
    assert [(reason.rule, reason.detail) for reason in told.reasons] == [("split", f"it stood behind {head}")]
    assert store.verify() == ()


def test_undo_takes_the_split_back_and_the_undo_of_it_splits_again(store):
    _, wording = folded(store)
    before = rows(store)
    back = store.undo(store.split(wording))
    assert rows(store) == before
    assert store.conflicts(settled=True) == ()
    store.undo(back)
    assert contents(store) == [HEAD, WORDING]
    assert store.verify() == ()


def test_what_was_confirmed_by_others_stays_confirmed_since_then(store):
    head, wording = folded(store)
    since = store.get(head, touch=False).last_confirmed_at
    store._ctx.clock.advance(days=1)  # type: ignore[attr-defined]
    later = store.remember(ANOTHER, kind="fact")
    assert later.outcome == "restated"
    store.split(later.links[0].src)
    former = store.get(head, touch=False)
    assert (former.confirmations, former.last_confirmed_at) == (1, since)
    assert contents(store, "wording") == [WORDING]


def test_words_that_were_repeated_go_with_the_wording(store):
    _, wording = folded(store)
    assert store.remember(WORDING.upper(), kind="fact").outcome == "duplicate"
    store.split(wording)
    assert store.remember(WORDING.upper(), kind="fact").id == wording


def test_nothing_folds_or_merges_the_pair_again_by_itself(store):
    head, wording = folded(store)
    store.split(wording)
    [pair] = store.conflicts(settled=True)
    assert (pair.kind, pair.a, pair.b, pair.resolution) == ("duplicate", head, wording, "keep_both")
    assert store.conflicts() == ()
    assert store.plan().actions == ()
    _unchecked(store, wording)
    assert store.sweep().checked == 1
    store.revise(wording, content=WORDING, tags=["bills"])
    assert contents(store) == [HEAD, WORDING]
    assert store.conflicts() == ()


def test_without_a_split_the_same_pair_is_folded(store):
    """The result of the test above if splits were not remembered."""
    store.remember(HEAD, kind="fact")
    own = store.remember(WORDING, kind="fact", on_conflict="ignore").id
    assert [action.type for action in store.plan().actions] == ["fold"]
    _unchecked(store, own)
    store.sweep()
    assert (contents(store), contents(store, "wording")) == ([HEAD], [WORDING])
    assert store.verify() == ()


def _unchecked(store: MemoryStore, memory_id: str) -> None:
    """As after an outage."""
    with store._ctx.storage.begin(store.namespace, write=True) as tx:
        row = acts.fetch(tx, memory_id)
        missed = replace(row, checked=False, version=row.version + 1)
        acts.apply(store._ctx, tx, (MemoryChange(row, missed),), verb="t", outcome="t", memory_id=memory_id)


def test_both_are_found_and_packed_after_a_split(store):
    _, wording = folded(store)
    store.split(wording)
    assert {hit.memory.content for hit in store.recall(WORDING, grouped=True)} == {HEAD, WORDING}
    assert {group.shown.memory.content for group in store.pack("invoices").groups} == {HEAD, WORDING}


@pytest.mark.parametrize("status", ["active", "superseded", "archived", "erased"])
def test_what_is_no_wording_is_not_split(store, status):
    one, other = (store.remember(text, kind="fact").id for text in (HEAD, "The car is red."))
    if status != "active":
        {"superseded": lambda: store.supersede(one, other), "archived": lambda: store.forget(one),
         "erased": lambda: store.erase(one)}[status]()  # fmt: skip
    before = len(store.journal())
    with pytest.raises(IllegalTransition) as refused:
        store.split(one)
    assert refused.value.what == f"{one} is {status}, not a wording"
    assert (refused.value.where, refused.value.todo) == (
        "split", "List the memories with the status `wording`, and split one of those",
    )  # fmt: skip
    assert len(store.journal()) == before


def test_an_unknown_id_and_one_of_another_namespace_are_not_found(store):
    _, wording = folded(store)
    for where, name in ((store, "nobody"), (store.in_namespace("another"), wording)):
        with pytest.raises(NotFound, match="no memory"):
            where.split(name)
    assert contents(store, "wording") == [WORDING]


def test_the_asynchronous_store_splits_too():
    async def work() -> list[str]:
        opened = wellkept.open("memory:", policy=FOLDING)
        async with AsyncMemoryStore(opened) as store:
            await store.remember(HEAD, kind="fact")
            told = await store.remember(WORDING, kind="fact")
            await store.split(told.links[0].src)
            return [row.content for row in await store.list()]

    assert asyncio.run(work()) == [HEAD, WORDING]


@pytest.mark.parametrize("forward", [False, True])
def test_a_replay_decides_restatements_again_and_follows_the_split(store, forward):
    _, wording = folded(store)
    store.split(wording)
    assert store.remember(ANOTHER, kind="fact").outcome == "restated"
    report = store.replay(FOLDING, forward=forward)
    assert (report.decisions, report.same, report.differences, report.unreplayed) == (3, 3, (), ())
    assert report.active == ((2, 2) if forward else None)


# --------------------------------------------------------------------------------------------
# Other verbs where there are wordings


def test_a_revised_wording_stays_behind_its_head_and_is_found_by_its_new_words(store):
    head, wording = folded(store)
    store.revise(wording, content="Marta mails each bill to the customers.")
    hit = store.recall("Who mails each bill to the customers?")[0]
    assert (hit.memory.id, hit.wording.id) == (head, wording)
    assert store.conflicts() == ()
    assert store.verify() == ()


def test_a_revised_head_keeps_its_wordings_and_is_not_compared_with_them(store):
    head, _ = folded(store)
    store.revise(head, content=WORDING)
    assert (contents(store), contents(store, "wording")) == ([WORDING], [WORDING])
    assert store.conflicts() == ()
    assert store.verify() == ()


def test_a_memory_revised_into_a_restatement_is_listed_as_a_possible_repeat(store):
    first = store.remember(HEAD, kind="fact").id
    other = store.remember("The car is red.", kind="fact").id
    store.revise(other, content=WORDING)
    assert [(item.kind, item.a, item.b) for item in store.conflicts()] == [("duplicate", first, other)]
    assert contents(store) == [HEAD, WORDING]


def test_a_forgotten_head_hides_its_wordings_and_comes_back_with_them(store):
    head, wording = folded(store)
    store.forget(head)
    assert store.recall(WORDING) == ()
    assert store.remember(ANOTHER, kind="fact").outcome == "created"  # what is hidden folds nothing
    store.undo(store.journal(newest=1)[0].seq)
    store.restore(head)
    assert store.recall(WORDING)[0].wording.id == wording
    assert store.verify() == ()


def test_a_wording_is_not_forgotten_or_superseded_by_itself(store):
    head, wording = folded(store)
    with pytest.raises(IllegalTransition, match="is a wording of .* split it off first"):
        store.forget(wording)
    with pytest.raises(IllegalTransition, match="is wording by"):
        store.supersede(wording, head)
    assert contents(store, "wording") == [WORDING]


def test_the_wordings_of_a_replaced_value_go_with_their_head_and_one_may_be_split_off(store):
    old = store.remember(OLD, kind="fact").id
    again = store.remember("Our website is hosted at Heroku.", kind="fact")
    assert again.outcome == "restated"
    store.supersede(old, store.remember(NEW, kind="fact").id)
    assert [hit.memory.content for hit in store.recall("Heroku website")] == [NEW]
    store.split(again.links[0].src)
    assert store.get(old, touch=False).status == "superseded"
    assert store.verify() == ()


def test_an_erased_wording_leaves_no_words_and_its_head_as_it_was(store):
    head, wording = folded(store)
    store.erase(wording)
    gone = store.get(wording, touch=False)
    assert (gone.status, gone.content, gone.superseded_by) == ("erased", "", "")
    assert store.get(head, touch=False).confirmations == 1
    assert store.verify() == ()


def test_an_imported_wording_is_split_off_like_any_other(store, tmp_path):
    _, wording = folded(store)
    store.export(tmp_path / "all.jsonl")
    other = store.in_namespace("copy")
    other.import_(tmp_path / "all.jsonl")
    [row] = other.list(Filter(statuses=("wording",)))
    other.split(row.id)
    assert contents(other) == [HEAD, WORDING]
    assert [item.confirmations for item in other.list()] == [0, 0]
    other.export(tmp_path / "split.jsonl")
    third = store.in_namespace("third")
    third.import_(tmp_path / "split.jsonl")
    assert (contents(third), third.plan().actions) == ([HEAD, WORDING], ())
    assert other.verify() == third.verify() == ()
    assert contents(store, "wording") == [WORDING]


def test_a_merge_takes_the_wordings_of_what_it_hides_along(store):
    _, wording = folded(store)
    kept = store.remember(HEAD.upper(), kind="fact", on_conflict="ignore").id
    for _ in range(3):
        store.get(kept)
    run = store.execute(store.plan())
    [head] = store.list()
    assert store.get(wording, touch=False).superseded_by == head.id
    assert store.recall(WORDING)[0].wording.id == wording
    assert store.verify() == ()
    store.undo_run(run.run_id)
    assert store.verify() == ()
