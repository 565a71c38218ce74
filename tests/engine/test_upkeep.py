"""Upkeep: counts, self-checks that find each planted problem, and vectors made anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

import wellkept
from stores import desk
from wellkept.engine.acts import apply
from wellkept.errors import EmbedderMismatch, ModelUnavailable
from wellkept.policy import Policy
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import Link, LinkChange, MemoryChange

TEXTS = ("A text about apples", "A text about bridges")


def plant(table, *effects):
    """Write effects past the gate, as a fault in an older release might have."""
    ctx = table.store._ctx
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        apply(ctx, tx, effects, verb="planted", outcome="planted", memory_id="")


def change(table, row, **values):
    held = table.store.get(row.id, touch=False)
    plant(table, MemoryChange(held, replace(held, version=held.version + 1, **values)))


def test_a_sound_store_has_no_problems(table):
    table.near("Use ruff for linting", "Use flake8 for linting", 0.9)
    for text in (*TEXTS, "Use ruff for linting", "Use flake8 for linting"):
        table.store.remember(text)
    a, b, *_ = table.store.list()
    table.store.supersede(a.id, b.id)
    table.store.forget(b.id)
    assert table.store.verify() == ()


@pytest.mark.parametrize(
    ("planted", "what", "todo"),
    [
        ({"status": "superseded", "superseded_by": "00000000-gone"}, "by a memory that does not exist", "Restore"),
        ({"status": "superseded"}, "by a memory that does not exist", "Restore"),
        ({"checked": False}, "while a check could not run", "reembed"),
        ({"embedding": "0" * 32}, "no vector of the store's embedder", "reembed"),
        ({"content": "another text entirely"}, "a vector of another text", "reembed"),
    ],
)
def test_verify_finds_a_row_that_is_not_as_it_should_be(table, planted, what, todo):
    row = table.store.remember(TEXTS[0]).memory
    table.store.remember(TEXTS[1])
    change(table, row, **planted)
    found = table.store.verify()
    assert any(item.where == row.id and what in item.what and todo in item.todo for item in found)


def test_verify_finds_a_supersession_without_its_link(table):
    """S2-59: column and link are written together."""
    a, b = (table.store.remember(text).memory for text in TEXTS)
    change(table, a, status="superseded", superseded_by=b.id)
    assert [(item.where, item.what) for item in table.store.verify()] == [
        (a.id, "is superseded without a `supersedes` link")
    ]
    plant(table, LinkChange(None, Link(b.id, a.id, "supersedes", table.clock())))
    assert table.store.verify() == ()


def test_verify_finds_a_link_that_leads_nowhere(table):
    """S2-42."""
    row = table.store.remember(TEXTS[0]).memory
    table.store.link(row.id, "00000000-gone", "refines")
    (found,) = table.store.verify()
    assert found.where == f"link {row.id} -refines-> 00000000-gone" and "Unlink" in found.todo


# --------------------------------------------------------------------------------------------
# Counts


def test_the_counts_are_those_of_the_namespace(table):
    """S1-53, I8."""
    store = table.store
    table.near("Use ruff for linting", "Use flake8 for linting", 0.9)
    for text in ("Use ruff for linting", "Use flake8 for linting", "use ruff for linting"):
        store.remember(text)
    row = store.remember("A lesson about apples", kind="lesson").memory
    store.forget(store.remember("A lesson about bridges", kind="lesson").memory.id)
    store.link(row.id, store.list()[0].id)
    table.fake.fail_with = ModelUnavailable("down")
    store.remember("A lesson about candles", kind="lesson")
    store.in_namespace("elsewhere").remember("A text about apples")
    told = store.stats()
    assert told.memories == {"active": 4, "archived": 1}
    assert told.kinds == {"lesson": 2, "semantic": 2}
    assert told.outcomes == {"created": 5, "duplicate": 1, "archived": 1, "linked": 1}
    assert (told.links, told.open_conflicts, told.unchecked, told.without_vector) == (1, 1, 1, 1)
    assert (told.journal, told.embedder, told.policy) == (len(store.journal()), "fake/64", Policy().hash)
    assert told.namespace == "default"


# --------------------------------------------------------------------------------------------
# Another embedder


class Renamed(FakeEmbedder):
    """An embedder with another id: other vectors for the same texts."""

    def __init__(self, dim=64):
        super().__init__(dim=dim)
        self.id = "another/1"


def test_a_store_is_not_opened_with_another_embedder_and_the_command_is_named(tmp_path):
    """B-1, S0-9: vectors of two embedders are never mixed."""
    first = desk("sqlite", tmp_path)
    first.store.remember(TEXTS[0])
    first.store.close()
    with pytest.raises(EmbedderMismatch) as caught:
        wellkept.open(str(first.path), embedder=Renamed())
    assert "'fake/64'" in str(caught.value) and "'another/1'" in str(caught.value)
    assert "wellkept reembed" in str(caught.value)
    with wellkept.open(str(first.path), embedder=FakeEmbedder(dim=64)) as again:
        assert [row.content for row in again.list()] == [TEXTS[0]]


@pytest.mark.parametrize("dim", [64, 128])
def test_reembedding_makes_every_vector_anew(make, dim):
    """S0-55, B-8."""
    table = make()
    for text in TEXTS:
        table.store.remember(text)
    table.store.forget(table.store.remember("A text about candles").memory.id)
    other = Renamed(dim)
    table.store._ctx = replace(table.store._ctx, embedder=other)
    seen = []
    counts = table.store.reembed(lambda done, total: seen.append((done, total)))
    assert counts["embedded"] == 3
    assert seen[-1] == (3, 3)
    assert table.store.stats().embedder == "another/1"
    assert table.store.verify() == ()
    assert set(other.texts_seen) == {*TEXTS, "A text about candles"}
    hit = table.store.recall(TEXTS[0])[0]
    assert (hit.memory.content, hit.parts["cosine"]) == (TEXTS[0], pytest.approx(1.0, abs=1e-3))


def test_reembedding_again_does_nothing(make):
    """I5."""
    table = make()
    table.store.remember(TEXTS[0])
    before = table.snapshot()
    assert set(table.store.reembed().values()) == {0}
    assert table.snapshot() == before


def test_reembedding_with_a_broken_model_says_so_and_can_be_repeated(make):
    table = make()
    table.store.remember(TEXTS[0])
    other = Renamed()
    other.fail_with = ModelUnavailable("down")
    table.store._ctx = replace(table.store._ctx, embedder=other)
    with pytest.raises(ModelUnavailable, match="down"):
        table.store.reembed()
    other.fail_with = None
    assert table.store.reembed()["embedded"] == 1
    assert table.store.verify() == ()


def test_another_policy_is_noted_and_opens_all_the_same(tmp_path):
    first = desk("sqlite", tmp_path)
    first.store.remember(TEXTS[0])
    first.store.close()
    other = Policy().with_conflict("semantic", "raise")
    with wellkept.open(str(first.path), embedder=FakeEmbedder(dim=64), policy=other) as store:
        assert store.stats().policy == other.hash
