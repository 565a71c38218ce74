"""Moving a store to another embedder by many workers, while the former one answers (issue 7 §6, B-1, I8)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

import wellkept
from surfaces.command_line import Cli
from wellkept.engine.upkeep.job_queue import queue_of
from wellkept.engine.upkeep.prepare_embedder import making_ahead
from wellkept.engine.upkeep.worker import WorkReport, work
from wellkept.errors import EmbedderMismatch, ModelUnavailable, StorageError
from wellkept.models.port import PartUnavailable
from wellkept.storage.postgres import PostgresStorage
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel

SPACES = tuple(f"acme/{number}" for number in range(4))
TEXTS = tuple(f"The {word} gauge is upstairs." for word in ("oil", "gas", "water", "steam", "air"))


def opened(url: str | PostgresStorage, embedder: FakeEmbedder, namespace: str = SPACES[0]) -> wellkept.MemoryStore:
    return wellkept.open(url, embedder=embedder, relation_model=FakeRelationModel(), namespace=namespace)


def embedders() -> tuple[FakeEmbedder, FakeEmbedder]:
    former, coming = FakeEmbedder(dim=16), FakeEmbedder(dim=24)
    return former, coming


def fill(store: wellkept.MemoryStore) -> None:
    for name in SPACES:
        for text in TEXTS:
            store.in_namespace(name).remember(text, kind="thesis")


def vectors(url: str) -> dict[tuple[str, int], int]:
    """Number of vectors by namespace and size."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT n.name, vector_dims(v.vec), count(*) FROM wellkept.vector AS v "
            "JOIN wellkept.namespace AS n USING (ns) GROUP BY 1, 2"
        ).fetchall()
    return {(name, dim): count for name, dim, count in rows}


def made(store: wellkept.MemoryStore, coming: FakeEmbedder) -> list[WorkReport]:
    ctx = store._ctx
    return list(work(ctx, queue_of(ctx), [making_ahead(ctx, coming)], stop=threading.Event(), once=True))


def test_many_workers_make_the_vectors_ahead_and_nobody_notices(url: str) -> None:
    """The former embedder answers until the move; then the coming one does, and nothing is embedded twice."""
    former, coming = embedders()
    with opened(url, former) as store:
        fill(store)
        journal = [store.in_namespace(name).stats().journal for name in SPACES]
        best = [hit.memory.content for hit in store.recall(TEXTS[2], touch=False)]
        workers = [opened(url, former) for _ in range(3)]
        with ThreadPoolExecutor(3) as pool:
            told = [one for done in pool.map(lambda mine: made(mine, coming), workers) for one in done]
        for one in workers:
            one.close()
        assert sorted((one.namespace, one.state, one.report["embedded"]) for one in told) == [
            (name, "done", len(TEXTS)) for name in SPACES
        ]
        assert vectors(url) == {(name, dim): len(TEXTS) for name in SPACES for dim in (16, 24)}
        assert [store.in_namespace(name).stats().journal for name in SPACES] == journal
        assert [hit.memory.content for hit in store.recall(TEXTS[2], touch=False)] == best
        assert store.remember("A new one.", kind="thesis").outcome == "created"
        assert store.verify() == ()
        assert [one.namespace for one in made(store, coming)] == [SPACES[0]], "where something was written since"
    asked = len(coming.texts_seen)
    assert asked == len(SPACES) * len(TEXTS) + 1
    storage = PostgresStorage(url)
    storage.configure(embedder=coming.id, dim=coming.dim, policy="")
    with opened(storage, coming) as store:
        assert [store.in_namespace(name).reembed()["embedded"] for name in SPACES] == [0] * len(SPACES)
        assert len(coming.texts_seen) == asked
        assert store.recall(TEXTS[2], mode="semantic", touch=False)[0].memory.content == TEXTS[2]
        assert store.verify() == ()
    storage.close()
    assert vectors(url) == {(name, 24): len(TEXTS) + (name == SPACES[0]) for name in SPACES}


def test_what_was_written_after_the_last_look_is_made_by_the_move(url: str) -> None:
    former, coming = embedders()
    with opened(url, former) as store:
        fill(store)
        made(store, coming)
        store.remember("Late.", kind="thesis")
    storage = PostgresStorage(url)
    storage.configure(embedder=coming.id, dim=coming.dim, policy="")
    with opened(storage, coming) as store:
        assert store.reembed()["embedded"] == 1
        assert store.stats().without_vector == 0
    storage.close()


def test_a_text_that_is_cut_into_other_parts_is_left_to_the_move(url: str) -> None:
    """How many parts a text was embedded in is part of the memory, and memories change by the journal alone."""
    former, coming = embedders()
    with opened(url, former) as store:
        fill(store)
        [row, *_] = store.list()
        coming.chunks = {wellkept.engine.models.embedding.text_of(row): 3}  # type: ignore[attr-defined]
        told = {one.namespace: one.report for one in made(store, coming)}
        assert told[SPACES[0]] == {"embedded": len(TEXTS) - 1, "left": 1}
    storage = PostgresStorage(url)
    storage.configure(embedder=coming.id, dim=coming.dim, policy="")
    with opened(storage, coming) as store:
        assert store.reembed()["embedded"] == 1
        assert store.get(row.id).chunks == 3
        assert store.verify() == ()
    storage.close()


def test_what_is_erased_meanwhile_leaves_no_vector_behind(url: str) -> None:
    """The vector of a text that is erased between embedding and storing is discarded."""
    former, coming = embedders()
    with opened(url, former) as store:
        memory = store.remember(TEXTS[0], kind="thesis").memory
        assert memory is not None
        embed = coming.embed

        def erasing(texts: Any) -> Any:
            store.erase(memory.id)
            return embed(texts)

        coming.embed = erasing  # type: ignore[method-assign]
        [told] = made(store, coming)
        assert (told.state, told.report["embedded"]) == ("done", 0)
        assert vectors(url) == {}
        assert store.verify() == ()


def test_what_is_erased_later_takes_its_coming_vector_along(url: str) -> None:
    former, coming = embedders()
    with opened(url, former) as store:
        memory = store.remember(TEXTS[0], kind="thesis").memory
        made(store, coming)
        assert len(vectors(url)) == 2
        store.erase(memory.id)  # type: ignore[union-attr]
        assert vectors(url) == {}


def test_an_outage_of_the_coming_embedder_is_tried_again_and_goes_on_where_it_was(url: str) -> None:
    """I7."""
    former, coming = embedders()
    with opened(url, former) as store:
        store.remember(TEXTS[0], kind="thesis")
        coming.fail_with = ModelUnavailable("down", where="coming")
        [told] = made(store, coming)
        assert told.state == "failed" and "down" in told.error
        coming.fail_with = None
        queue_of(store._ctx).again()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("UPDATE wellkept.job SET due = clock_timestamp()")
        assert made(store, coming)[0].report["embedded"] == 1


def test_what_a_broken_part_of_the_coming_embedder_cannot_read_is_left(url: str) -> None:
    """The job has failed and is tried again; the other vectors are there."""
    former, coming = embedders()
    with opened(url, former) as store:
        for text in TEXTS[:3]:
            store.remember(text, kind="thesis")
        embed, lost = coming.embed, True

        def without_a_part(texts: Any) -> Any:
            places = [place for place, text in enumerate(texts) if lost and TEXTS[1] in text]
            if places:
                raise PartUnavailable(ModelUnavailable("a part is lost"), places)
            return embed(texts)

        coming.embed = without_a_part  # type: ignore[method-assign]
        [told] = made(store, coming)
        assert (told.state, "a part is lost" in told.error, told.report["embedded"]) == ("failed", True, 2)
        lost = False
        queue_of(store._ctx).again()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("UPDATE wellkept.job SET due = clock_timestamp()")
        assert made(store, coming)[0].report["embedded"] == 1


def test_the_embedder_in_force_and_a_backend_that_holds_one_are_refused(url: str) -> None:
    former, coming = embedders()
    with opened(url, former) as store, pytest.raises(EmbedderMismatch):
        making_ahead(store._ctx, former)
    other = FakeEmbedder(dim=24)
    with wellkept.open("memory:", embedder=former) as store, pytest.raises(StorageError, match="one embedder"):
        making_ahead(store._ctx, coming)
    with opened(url, former) as store:
        making_ahead(store._ctx, other)
        other.dim = 32
        with pytest.raises(EmbedderMismatch, match="24"):
            making_ahead(store._ctx, other)


def test_the_command_line_makes_them_ahead_and_moves_the_store(url: str, tmp_path: Path) -> None:
    cli = Cli(tmp_path, tmp_path / "no file", url)
    cli.remember(TEXTS[0])
    assert "omit --jobs, --execute" in cli("work", "--ahead", "--execute", code=2).stderr
    assert "already" in cli("work", "--ahead", "--once", code=1).stderr
    minilm = ("--embedder", "minilm")
    [told] = cli.rows("work", "--ahead", "--once", *minilm)
    assert (told["state"], told["report"]["embedded"]) == ("done", 1)
    assert cli.json("recall", TEXTS[0])["hits"], "the former one still answers"
    assert cli.json("reembed", *minilm)["embedded"] == 0
    assert cli.json("recall", "gauge for oil", *minilm)["hits"]
    assert "reembed" in cli("recall", TEXTS[0], code=1).stderr
