"""The embedder fails: texts are stored, marked, reported and swept later; or the call raises, by policy (I7)."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest

from letter import to_the_letter
from stores import EACH_BACKEND, desk
from wellkept.errors import ModelResponseInvalid, ModelUnavailable
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import Filter, NewMemory

OLD, NEW = "Never trade during low-volume weekends", "Avoid trading on weekends when volume is low"
K1, K2 = "Deploys are started by hand", "Releases go through the platform team"
DOWN = ModelUnavailable("connection refused")


@pytest.fixture(params=EACH_BACKEND)
def make(request, tmp_path):
    opened = []

    def factory(**options):
        made = desk(request.param, tmp_path, **options)
        opened.append(made)
        return made

    yield factory
    for made in opened:
        made.store.close()


def raising(kind):
    return Policy(kinds={**DEFAULT_KINDS, kind: replace(DEFAULT_KINDS[kind], on_error="raise")})


@pytest.mark.parametrize("error", [DOWN, ModelResponseInvalid("answered with a poem")])
@pytest.mark.parametrize("kind", ["lesson", "semantic", "knowledge", "fact"])
def test_a_text_is_stored_although_the_model_is_down(make, caplog, kind, error):
    """S0-17, S0-40, B-11, F-28: a duplicate is better than a lost memory."""
    table = make()
    table.near(NewMemory(content=OLD, kind=kind), NewMemory(content=NEW, kind=kind), 0.97)
    table.store.remember(OLD, kind=kind)
    table.fake.fail_with = error
    with caplog.at_level(logging.WARNING, logger="wellkept"):
        result = table.store.remember(NEW, kind=kind)
    assert (result.outcome, result.degraded, result.links, result.conflicts) == ("created", ("embedding",), (), ())
    assert [line for line in caplog.messages if line.startswith("Dedup check failed, creating normally: ")]
    held = table.store.get(result.memory.id)
    assert (held.checked, held.embedding) == (False, "")
    assert table.store.journal()[-1].degraded == ("embedding",)
    assert table.store.stats().unchecked == table.store.stats().without_vector == 1
    assert [item.where for item in table.store.verify()] == [result.memory.id]


def test_a_check_during_an_outage_says_so_and_writes_nothing(make):
    """S0-17, S0-18: reported instead of raised."""
    table = make()
    table.store.remember(OLD, kind="lesson")
    table.fake.fail_with = DOWN
    before = table.snapshot()
    result = table.store.check(NEW, kind="lesson")
    assert (result.outcome, result.degraded) == ("created", ("embedding",))
    assert table.snapshot() == before


@pytest.mark.parametrize("verb", ["remember", "check"])
def test_a_policy_may_ask_for_the_error_instead(make, verb):
    """B-11."""
    table = make(policy=raising("lesson"))
    table.store.remember(OLD, kind="lesson")
    table.fake.fail_with = DOWN
    before = table.snapshot()
    with pytest.raises(ModelUnavailable, match="connection refused"):
        getattr(table.store, verb)(NEW, kind="lesson")
    assert table.snapshot() == before
    assert getattr(table.store, verb)(OLD, kind="lesson").outcome == "duplicate"  # the hash decides without a model
    assert getattr(table.store, verb)(NEW, kind="semantic").outcome == "created"  # another kind stores


class FailingFrom:
    """An embedder that works for its first calls and fails from then on."""

    def __init__(self, inner, works):
        self._inner = inner
        self._left = works
        self.id, self.dim, self.calibration, self.lexical = inner.id, inner.dim, inner.calibration, inner.lexical

    def embed(self, texts):
        self._left -= 1
        if self._left < 0:
            raise DOWN
        return self._inner.embed(texts)


def test_an_outage_at_the_second_embedding_of_an_evolution_keeps_the_update(make):
    """B-8: the grown text needs a new vector; without one it is marked, not lost."""
    table = make()
    table.near(K1, K2, 0.8)
    old = table.store.remember(K1, kind="knowledge").memory
    ctx = table.store._ctx
    table.store._ctx = replace(ctx, embedder=FailingFrom(table.fake, 1))
    result = table.store.remember(K2, kind="knowledge")
    assert (result.outcome, result.memory.id) == ("evolved", old.id)
    held = table.store.get(old.id, touch=False)
    assert K1 in held.content and K2 in held.content
    assert (held.embedding, held.checked) == ("", False)
    table.store._ctx = ctx
    counts = table.store.reembed()
    assert counts["embedded"] == 1
    held = table.store.get(old.id, touch=False)
    assert held.embedding and held.checked
    assert table.store.verify() == ()
    assert table.store.remember(K2, kind="knowledge").outcome == "duplicate"


def test_an_outage_at_the_second_embedding_raises_where_the_policy_says_so(make):
    """B-11: then nothing at all is written."""
    table = make(policy=raising("knowledge"))
    table.near(K1, K2, 0.8)
    table.store.remember(K1, kind="knowledge")
    before = table.snapshot()
    table.store._ctx = replace(table.store._ctx, embedder=FailingFrom(table.fake, 1))
    with pytest.raises(ModelUnavailable):
        table.store.remember(K2, kind="knowledge")
    assert table.snapshot() == before


class Odd(FailingFrom):
    """An embedder whose answers only look like vectors."""

    def __init__(self, inner, how):
        super().__init__(inner, 0)
        self.how = how

    def embed(self, texts):
        made = self._inner.embed(texts)
        match self.how:
            case "too few":
                return made[1:]
            case "too many":
                return [*made, *made]
            case "shorter":
                return [replace(one, vector=one.vector[:10]) for one in made]
            case "zero":
                return [replace(one, vector=one.vector * 0) for one in made]
            case "not a number":
                return [replace(one, vector=one.vector * np.float32(np.nan)) for one in made]
            case "without end":
                return [replace(one, vector=np.full(one.vector.shape, np.inf, np.float32)) for one in made]


@pytest.mark.parametrize("how", ["too few", "too many", "shorter", "zero", "not a number", "without end"])
def test_an_answer_that_is_no_vector_is_an_outage_and_never_stored(make, how):
    """S0-17, S0-21, I7: stored unchecked, and recall uses words only."""
    table = make()
    table.store.remember("An old text about apples")
    ctx = table.store._ctx
    table.store._ctx = replace(ctx, embedder=Odd(table.fake, how))
    result = table.store.remember("A new text about bridges")
    assert (result.outcome, result.degraded, result.memory.checked) == ("created", ("embedding",), False)
    assert [hit.memory.content for hit in table.store.recall("bridges")] == ["A new text about bridges"]
    with pytest.raises(ModelResponseInvalid):
        table.store.reembed()
    table.store._ctx = ctx
    table.store.reembed()
    assert table.store.verify() == ()


@pytest.mark.parametrize(("verb", "policy"), [("revise", Policy()), ("merge", Policy()), ("restore", to_the_letter())])
def test_acts_that_change_a_text_work_during_an_outage(make, verb, policy):
    table = make(policy=policy)  # a dropped text, unlike a wording, has no vector yet
    table.near(NewMemory(content=OLD, kind="lesson"), NewMemory(content=NEW, kind="lesson"), 0.97)
    table.near("The build runs in a container", "A container is where the build runs", 0.96)
    row = table.store.remember(OLD, kind="lesson").memory
    dropped = table.store.remember(NEW, kind="lesson").dropped
    first = table.store.remember("The build runs in a container").memory
    table.store.remember("A container is where the build runs")
    table.fake.fail_with = DOWN
    match verb:
        case "revise":
            table.store.revise(row.id, content="Never trade on holidays")
            changed = row.id
        case "merge":
            table.store.resolve(table.store.conflicts()[0].key, "merge")
            changed = first.id
        case "restore":
            table.store.restore(dropped)
            changed = dropped
    assert table.store.get(changed, touch=False).checked is False
    table.fake.fail_with = None
    assert table.store.reembed()["embedded"] == 1
    assert table.store.verify() == ()


def test_a_batch_during_an_outage_stores_every_item(make):
    """S4-14."""
    table = make()
    table.fake.fail_with = DOWN
    batch = table.store.remember_many([f"Text about item{number}" for number in range(5)] + ["text about ITEM0"])
    assert dict(batch.counts) == {"created": 5, "duplicate": 1}
    assert table.fake.calls == 1  # one failure is enough to know
    table.fake.fail_with = None
    counts = table.store.reembed()
    assert (counts["embedded"], counts["checked"]) == (5, 5)
    assert table.store.verify() == ()


def test_a_batch_under_raise_fails_item_by_item(make):
    table = make(policy=raising("lesson"))
    table.fake.fail_with = DOWN
    batch = table.store.remember_many(
        [{"content": OLD, "kind": "lesson"}, {"content": K1, "kind": "semantic"}, {"content": NEW, "kind": "lesson"}]
    )
    assert [error.index for error in batch.errors] == [0, 2]
    assert {error.error for error in batch.errors} == {"ModelUnavailable"}
    assert table.rows() == [K1]


# --------------------------------------------------------------------------------------------
# The sweep


def test_a_repeat_stored_unchecked_is_found_by_the_sweep_and_hidden_not_removed(make):
    """F-28, I7."""
    table = make()
    table.near(NewMemory(content=OLD, kind="lesson"), NewMemory(content=NEW, kind="lesson"), 0.97)
    old = table.store.remember(OLD, kind="lesson").memory
    table.fake.fail_with = DOWN
    late = table.store.remember(NEW, kind="lesson").memory
    table.fake.fail_with = None
    counts = table.store.reembed()
    assert (counts["embedded"], counts["checked"], counts["superseded"]) == (1, 1, 1)
    assert table.rows("active") == [OLD]
    assert table.store.get(late.id).superseded_by == old.id
    assert table.store.verify() == ()
    assert table.store.restore(late.id) is True
    assert table.rows("active") == [OLD, NEW]


@pytest.mark.parametrize(
    ("old", "new", "cosine", "what"),
    [
        ("threshold 0.85", "threshold 0.95", 0.99, "conflicts"),
        ("Rotate the signing keys every quarter", "Signing keys are changed four times a year", 0.92, "links"),
    ],
)
def test_the_sweep_finds_conflicts_and_neighbours_too(make, old, new, cosine, what):
    """F-28, I2."""
    table = make()
    table.near(NewMemory(content=old, kind="lesson"), NewMemory(content=new, kind="lesson"), cosine)
    table.store.remember(old, kind="lesson")
    table.fake.fail_with = DOWN
    table.store.remember(new, kind="lesson")
    table.fake.fail_with = None
    counts = table.store.reembed()
    assert (counts[what], counts["superseded"]) == (1, 0)
    assert table.rows("active") == [old, new]
    assert (len(table.store.conflicts()) == 1) is (what == "conflicts")
    assert table.store.verify() == ()


def test_the_sweep_runs_once(make):
    """I5."""
    table = make()
    table.fake.fail_with = DOWN
    table.store.remember(OLD, kind="lesson")
    table.store.remember(NEW, kind="lesson")
    table.fake.fail_with = None
    table.store.reembed()
    before = table.snapshot()
    assert set(table.store.reembed().values()) == {0}
    assert table.snapshot() == before
    assert table.store.list(Filter(unchecked=True)) == ()


def test_the_sweep_can_be_taken_back(make):
    """I1."""
    table = make()
    table.near(NewMemory(content=OLD, kind="lesson"), NewMemory(content=NEW, kind="lesson"), 0.97)
    table.store.remember(OLD, kind="lesson")
    table.fake.fail_with = DOWN
    table.store.remember(NEW, kind="lesson")
    table.fake.fail_with = None
    table.store.reembed()
    table.store.undo(table.store.journal()[-1].seq)
    assert table.rows("active") == [OLD, NEW]


def test_a_fallback_embedder_marks_every_result_and_never_decides(make):
    """I7, B-30: letters alone make nothing the same."""
    from wellkept.testing.embedder import FakeEmbedder

    fake = FakeEmbedder(dim=64, lexical=True)
    table = make(fake=fake)
    table.near(NewMemory(content=OLD, kind="lesson"), NewMemory(content=NEW, kind="lesson"), 0.99)
    first = table.store.remember(OLD, kind="lesson")
    second = table.store.remember(NEW, kind="lesson")
    assert (first.degraded, second.degraded) == (("lexical",), ("lexical",))
    assert (second.outcome, second.links) == ("created", ())
    assert table.store.remember(OLD.upper(), kind="lesson").outcome == "duplicate"
