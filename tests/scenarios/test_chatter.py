"""Chatter on its way into a store: refused, journaled, brought back, and kept where somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import wellkept
from stores import Desk, desk
from wellkept.core.judging.chatter import Chatter
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import Vector

LUNCH, MAYBE, FACT = "off to lunch", "the kettle is on", "Invoices are sent on Mondays."
TOLD = {LUNCH: 0.97, MAYBE: 0.7}


class Told:
    """A head whose probabilities the test declares."""

    def read(self, text: str, _: Vector) -> Chatter:
        return Chatter(TOLD.get(text, 0.01), 0.9, 0.6)


@pytest.fixture
def make(backend: str, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Opens stores whose embedder knows chatter, or not."""
    with ExitStack() as stack:

        def another(*, knows: bool = True, **options: Any) -> Desk:
            fake = FakeEmbedder(dim=64)
            if knows:
                fake.chatter = Told()  # type: ignore[attr-defined]
            made = desk(backend, tmp_path, name=f"{len(list(tmp_path.iterdir()))}.db", fake=fake, **options)
            stack.callback(made.store.close)
            return made

        yield another


def test_chatter_is_refused_in_words_and_brought_back_whole(make):
    store = make().store
    checked, told = store.check(LUNCH, kind="note"), store.remember(LUNCH, kind="note")
    assert (checked.outcome, checked.reasons) == (told.outcome, told.reasons) == ("rejected", told.reasons)
    assert "it says nothing worth keeping (probability 0.9700)" in told.message
    entry = store.journal(newest=1)[0]
    assert (entry.outcome, entry.dropped.content, store.list()) == ("rejected", LUNCH, ())
    store.restore(told.dropped)
    assert [(row.content, row.importance) for row in store.list()] == [(LUNCH, 0.5)]


def test_likely_chatter_weighs_little_and_says_so(make):
    store = make().store
    told = store.remember(MAYBE, kind="note")
    assert (told.outcome, told.memory.importance) == ("created", 0.2)
    assert "low_importance" in [reason.rule for reason in told.reasons]
    assert store.check(MAYBE, kind="note").outcome == "duplicate"


def test_keep_stores_it_alone_and_in_a_batch(make):
    store = make().store
    assert store.remember(LUNCH, kind="note", keep=True).memory.importance == 0.5
    batch = store.remember_many(
        [{"content": MAYBE, "kind": "note", "keep": True}, {"content": LUNCH, "kind": "fact"}, FACT]
    )
    assert [one.outcome for one in batch.results] == ["created", "rejected", "created"]
    assert batch.results[0].memory.importance == 0.5
    assert store.remember("ok thanks", kind="note", keep=True).reasons[0].rule == "junk"


def test_without_a_head_nothing_is_refused_by_meaning(make):
    store = make(knows=False).store
    assert [store.remember(text, kind="note").memory.importance for text in (LUNCH, MAYBE)] == [0.5, 0.5]


def test_chatter_that_is_stored_is_known_and_not_judged_again(make):
    store = make().store
    kept = store.remember(LUNCH, kind="note", keep=True)
    assert store.remember(LUNCH, kind="note").id == kept.id
    store.revise(kept.id, content=MAYBE)
    assert store.get(kept.id).importance == 0.5


def test_an_outage_of_the_embedder_refuses_nothing(make):
    made = make()
    made.fake.fail_with = wellkept.errors.ModelError("down")
    assert made.store.remember(LUNCH, kind="note").outcome == "created"


def test_a_key_from_before_the_field_is_still_known(make):
    store = make().store
    first = store.remember(FACT, kind="note", idempotency_key="k")
    assert store.remember(FACT, kind="note", idempotency_key="k", keep=False).id == first.id
    with pytest.raises(wellkept.errors.IdempotencyMismatch):
        store.remember(FACT, kind="note", idempotency_key="k", keep=True)


def test_a_replay_under_the_same_policy_finds_nothing_changed(make):
    store = make().store
    for text, keep in ((LUNCH, True), (MAYBE, False), (FACT, False)):
        store.remember(text, kind="note", keep=keep)
    store.remember(LUNCH, kind="lesson")
    assert not store.replay(store._ctx.policy).differences
