"""Upkeep: counts, self-checks that find each planted problem, and vectors made anew."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import wellkept
from stores import desk
from wellkept.engine.gate.acts import apply
from wellkept.engine.upkeep.reembed import reembed, sweep
from wellkept.errors import EmbedderMismatch, ModelUnavailable
from wellkept.policy import Policy
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
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
        ({"checked": False}, "while a check could not run", "sweep"),
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


# --------------------------------------------------------------------------------------------
# In batches, stopped in the middle, with others at work


MANY = [f"A text about thing{number}" for number in range(25)]
SOURCES = Path(__file__).parents[2] / "src"


class Dying(Renamed):
    """Dies in the middle: an outage, or the whole process killed."""

    def __init__(self, calls, *, kill=False):
        super().__init__()
        self.calls_left = calls
        self.kill = kill

    def embed(self, texts):
        self.calls_left -= 1
        if self.calls_left < 0:
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ModelUnavailable("down")
        return super().embed(texts)


def opened(path, embedder):
    return wellkept.open(str(path), embedder=embedder, relation_model=FakeRelationModel())


def moving(store, embedder):
    """The store as `reembed` sees it: opened with another embedder than its vectors come from."""
    return replace(store._ctx, embedder=embedder)


def test_reembedding_goes_in_batches_and_tells_how_far_it_is(make):
    table = make()
    for text in MANY:
        table.store.remember(text)
    told = []
    ctx = moving(table.store, Renamed())
    counts = reembed(ctx, lambda done, whole: told.append((done, whole)), batch=10)
    assert (counts["embedded"], told) == (25, [(10, 25), (20, 25), (25, 25)])
    entries = [entry for entry in table.store.journal() if entry.verb == "reembed"]
    assert [len(entry.memory_ids) for entry in entries] == [10, 10, 5]
    assert all(row.version == 1 for row in table.store.list()), "nothing but the vectors changes"


def test_an_outage_in_the_middle_keeps_what_was_done_and_the_next_run_goes_on(make):
    """I7."""
    table = make()
    for text in MANY:
        table.store.remember(text)
    with pytest.raises(ModelUnavailable):
        reembed(moving(table.store, Dying(2)), batch=10)
    rest = Renamed()
    assert reembed(moving(table.store, rest), batch=10)["embedded"] == 5
    assert len(rest.texts_seen) == 5, "nothing is embedded twice"
    table.store._ctx = moving(table.store, rest)
    assert table.store.verify() == ()


KILLED = """
import sys
sys.path[:0] = [sys.argv[2], sys.argv[3]]
from engine.test_upkeep import Dying, MANY, moving, opened
from wellkept.engine.upkeep.reembed import reembed
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
store = opened(sys.argv[1], FakeEmbedder(dim=64))
reembed(moving(store, Dying(2, kill=True)), batch=10)
"""


def test_a_kill_in_the_middle_is_gone_on_with_by_running_it_again(tmp_path):
    """I1, I3: the killed process has done whole batches; the store is sound and usable all the time."""
    table = desk("sqlite", tmp_path)
    for text in MANY:
        table.store.remember(text)
    other = table.store.in_namespace("elsewhere")
    other.remember(MANY[0])
    table.store.close()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(table.path), str(SOURCES), str(Path(__file__).parents[1])],
        capture_output=True, timeout=120, check=False, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    fresh = Renamed()
    with opened(table.path, fresh) as store:
        waiting = [problem for problem in store.verify() if "no vector of the store's embedder" in problem.what]
        assert len(waiting) == len(store.verify()) == 5
        hit = store.recall(MANY[24], limit=1, touch=False)[0]
        assert (hit.memory.content, "cosine" in hit.parts) == (MANY[24], False), "found by its words"
        assert "cosine" in store.recall(MANY[3], limit=1, touch=False)[0].parts
        assert store.remember("A text about something else").outcome == "created"
        assert store.remember(MANY[24].upper()).outcome == "duplicate", "hashes need no vector"
        fresh.texts_seen.clear()
        assert store.reembed()["embedded"] == 5
        assert sorted(fresh.texts_seen) == sorted(MANY[20:])
        assert store.verify() == ()
        assert store.in_namespace("elsewhere").reembed()["embedded"] == 1
        assert store.in_namespace("elsewhere").verify() == ()
    with sqlite3.connect(table.path) as connection:
        left = connection.execute("SELECT count(DISTINCT model) FROM vector").fetchone()
    assert left == (1,), "the former vectors are gone"


class Meddling(Renamed):
    """Another process writes to the store while it embeds."""

    def __init__(self, act):
        super().__init__()
        self.act = act

    def embed(self, texts):
        act, self.act = self.act, None
        if act is not None:
            act()
        return super().embed(texts)


def test_what_others_write_meanwhile_is_neither_lost_nor_overwritten(tmp_path):
    """I3: a row that is rewritten between the reading and the writing of a batch keeps its new text and vector."""
    table = desk("sqlite", tmp_path)
    rows = [table.store.remember(text).memory for text in MANY]

    def act():
        with opened(table.path, Renamed()) as beside:
            beside.revise(rows[0].id, content="Quite another text")
            beside.forget(rows[1].id)
            beside.remember("A text about a newcomer")
            beside.erase(rows[2].id)

    meddling = Meddling(act)
    counts = reembed(moving(table.store, meddling), batch=10)
    table.store.close()
    assert counts["embedded"] == 23
    with opened(table.path, Renamed()) as store:
        assert store.verify() == ()
        assert store.get(rows[0].id).content == "Quite another text"
        assert "A text about a newcomer" in [row.content for row in store.list()]


def test_a_process_that_still_has_the_former_embedder_mixes_nothing(tmp_path, caplog):
    """B-1, I8: it goes on by words, says so once, and a write that would bring a foreign vector is refused."""
    table = desk("sqlite", tmp_path)
    for text in MANY[:5]:
        table.store.remember(text)
    assert "cosine" in table.store.recall(MANY[0], touch=False)[0].parts
    with wellkept.open(str(table.path), embedder=FakeEmbedder(dim=64)) as mover:
        reembed(moving(mover, Renamed()))
    hit = table.store.recall(MANY[0], touch=False)[0]
    assert (hit.memory.content, "cosine" in hit.parts) == (MANY[0], False)
    assert caplog.text.count("moved to another embedder") == 1
    rows = table.rows()
    with pytest.raises(EmbedderMismatch, match="Open it again"):
        table.store.remember("A text nobody knows")
    assert table.rows() == rows
    assert table.store.remember(MANY[0].upper()).outcome == "duplicate"
    table.store.close()
    with opened(table.path, Renamed()) as store:
        assert store.verify() == ()


def test_going_back_to_the_former_embedder_is_a_move_like_any_other(make):
    table = make()
    for text in MANY[:5]:
        table.store.remember(text)
    reembed(moving(table.store, Renamed()))
    assert reembed(table.store._ctx)["embedded"] == 5
    assert table.store.verify() == ()


def test_a_move_stands_in_no_undos_way(make):
    """I1: vectors are no decision; whatever was done before can still be taken back."""
    table = make()
    entry = table.store.remember(MANY[0]).entry
    reembed(moving(table.store, Renamed()))
    table.store.undo(entry)
    assert table.rows() == []


def test_a_text_only_one_of_two_embedders_reads_is_marked_so(make):
    """B-34."""
    table = make()
    table.store.remember(MANY[0])
    blind = Renamed()
    blind.unreadable = {MANY[0]}
    assert reembed(moving(table.store, blind))["embedded"] == 0
    assert (table.store.list()[0].embedding, table.store.verify()) == ("", ())
    assert sweep(moving(table.store, blind)).left == 0
    assert len(blind.texts_seen) == 1, "the sweep does not ask again and again"
    assert reembed(table.store._ctx)["embedded"] == 1


# --------------------------------------------------------------------------------------------
# The sweep


def test_an_outage_ends_the_sweep_with_counts_and_the_next_one_goes_on(make):
    """I7, F-28."""
    table = make()
    table.fake.fail_with = ModelUnavailable("down")
    for text in MANY:
        table.store.remember(text)
    table.fake.fail_with = None
    real, left = table.fake.embed, [2]

    def embed(texts):
        left[0] -= 1
        if left[0] < 0:
            raise ModelUnavailable("down again")
        return real(texts)

    table.fake.embed = embed
    first = sweep(table.store._ctx, batch=10)
    assert (first.embedded, first.checked, first.left) == (20, 0, 25)
    assert "down again" in first.outage
    left[0] = 100
    second = sweep(table.store._ctx, batch=10)
    assert (second.embedded, second.checked, second.left, second.outage) == (5, 25, 0, "")
    assert table.store.verify() == ()
    before = table.snapshot()
    assert sweep(table.store._ctx).embedded == 0
    assert table.snapshot() == before


def test_the_sweep_never_moves_a_store_to_another_embedder(make):
    table = make()
    table.store.remember(MANY[0])
    with pytest.raises(EmbedderMismatch, match="reembed"):
        sweep(moving(table.store, Renamed()))
    assert table.store.stats().embedder == "fake/64"


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_rows_with_the_same_text_get_their_vector_together(backend, tmp_path):
    """A kill between two batches must not leave one of them out of the index."""
    table = desk(backend, tmp_path)
    for _ in range(3):
        table.store.remember(MANY[0], on_conflict="ignore", kind="episodic")
    table.store.remember(MANY[1])
    told = []
    reembed(moving(table.store, Renamed()), lambda done, whole: told.append((done, whole)), batch=1)
    assert told[-1] == (len(table.rows()), len(table.rows()))
    assert len(told) == 2
