"""Several writers of one store: threads, processes, and one that is killed (I3, F-29)."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import pytest

import wellkept
from concurrency.near import NearEmbedder, facts, write_all
from stores import EACH_BACKEND, place
from wellkept.core.differences.find import differences
from wellkept.core.records.vectors import cosine
from wellkept.storage.memory import DictStorage
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import ALL_STATUSES, Filter

ROOT = Path(__file__).parents[2]


def test_the_texts_of_one_fact_say_the_same_and_lie_near() -> None:
    """Assumption of the tests below: no rule distinguishes the wordings, and only wordings of one fact are near."""
    embedder = NearEmbedder()
    groups = facts(300)
    assert len({text for group in groups for text in group}) == 1500
    for group in groups[::17]:
        for a, b in combinations(group, 2):
            left, right = embedder.embed([a, b])
            assert left.vector is not None and right.vector is not None
            assert differences(a, b) == differences(b, a) == ()
            assert cosine(left.vector, right.vector) >= 0.95
    vectors = [found.vector for found in embedder.embed([group[0] for group in groups])]
    assert max(cosine(a, b) for a, b in combinations(vectors[::7], 2)) < 0.5  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [20, pytest.param(300, marks=pytest.mark.soak)])
def test_two_processes_that_say_the_same_things_leave_one_row_for_each(tmp_path: Path, count: int) -> None:
    """F-29, I3: so many facts, ten texts for each, in two shuffled orders."""
    path = place(tmp_path / "shared.db")
    answers = [tmp_path / f"answers-{seed}" for seed in (1, 2)]
    spawn = multiprocessing.get_context("spawn")
    writers = [
        spawn.Process(target=write_all, args=(str(path), count, seed, str(answer)))
        for seed, answer in zip((1, 2), answers, strict=True)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(500)
        assert writer.exitcode == 0
    told = [line.split() for answer in answers for line in answer.read_text("utf-8").splitlines()]
    assert len(told) == 10 * count
    led_to = defaultdict(set)
    for number, _, memory_id in told:
        led_to[number].add(memory_id)
    assert {number: ids for number, ids in led_to.items() if len(ids) != 1} == {}
    # The other word order is a wording; the other spellings of both are verbatim repeats.
    assert Counter(outcome for _, outcome, _ in told) == {"created": count, "restated": count, "duplicate": 8 * count}
    with wellkept.open(str(path), embedder=NearEmbedder(), relation_model=FakeRelationModel()) as store:
        rows, wordings = store.list(), store.list(Filter(statuses=("wording",)))
        assert len(rows) == len(wordings) == count
        assert {row.confirmations for row in rows} == {9}
        assert {row.superseded_by for row in wordings} == {row.id for row in rows}
        assert len(store.list(Filter(statuses=ALL_STATUSES))) == 2 * count
        entries = store.journal()
        assert [entry.seq for entry in entries] == list(range(1, 10 * count + 1))
        assert {entry.actor for entry in entries} == {"writer 1", "writer 2"}
        assert store.verify() == ()


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_threads_that_say_the_same_things_leave_one_row_for_each(tmp_path: Path, backend: str) -> None:
    """F-29 inside one process: one store object, eight threads, reads in between."""
    groups = facts(12)
    texts = [text for round_ in range(5) for group in groups for text in (group[round_], group[-round_])]
    where = DictStorage() if backend == "memory" else str(place(tmp_path / "threads.db"))
    with (
        wellkept.open(where, embedder=NearEmbedder(), relation_model=FakeRelationModel()) as store,
        ThreadPoolExecutor(8) as pool,
    ):

        def write(text: str) -> tuple[str, str]:
            result = store.remember(text, kind="lesson")
            store.recall(text, limit=2)
            assert result.memory is not None
            return result.outcome, result.memory.id

        told = list(pool.map(write, texts))
        assert Counter(outcome for outcome, _ in told) == {
            "created": 12,
            "restated": 12,
            "duplicate": len(texts) - 24,
        }
        assert len({memory_id for _, memory_id in told}) == len(store.list()) == 12
        assert len(store.list(Filter(statuses=("wording",)))) == 12
        assert [entry.seq for entry in store.journal()] == list(range(1, len(texts) + 1))
        assert store.verify() == ()


def test_threads_that_contradict_each_other_record_every_conflict(tmp_path: Path) -> None:
    """I2, I3: of any two values one writer saw the other, so no pair goes unrecorded."""
    texts = [f"The API listens on port {port}." for port in range(8000, 8008)]

    class Same(NearEmbedder):
        def _vector(self, text: str):  # type: ignore[no-untyped-def]
            return super()._vector("all the same")

    with (
        wellkept.open(str(place(tmp_path / "ports.db")), embedder=Same(), relation_model=FakeRelationModel()) as store,
        ThreadPoolExecutor(8) as pool,
    ):
        results = list(pool.map(lambda text: store.remember(text, kind="lesson"), texts))
        assert {result.outcome for result in results} == {"created"}
        flagged = {frozenset((item.a, item.b)) for item in store.conflicts()}
        assert flagged == {frozenset(pair) for pair in combinations([row.id for row in store.list()], 2)}


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("after", [3, 25])
def test_a_killed_writer_leaves_a_sound_store_with_all_it_acknowledged(tmp_path: Path, after: int) -> None:
    """I1, I3: kill -9 in the middle of writing, three times on one file."""
    path = place(tmp_path / "killed.db")
    acknowledged: list[str] = []
    for round_ in range(3):
        command = [sys.executable, "-m", "concurrency.near", str(path), str(round_ * 1000)]
        paths = os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests")))
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}
        ) as writer:
            assert writer.stdout is not None
            for _ in range(after):
                acknowledged.append(writer.stdout.readline().strip())
            os.kill(writer.pid, signal.SIGKILL)
            acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
    with wellkept.open(str(path), embedder=NearEmbedder(), relation_model=FakeRelationModel()) as store:
        assert store.verify() == ()
        assert all(acknowledged)
        rows = {row.id for row in store.list()}
        assert set(acknowledged) <= rows
        # At most one memory of each round was written and not yet told.
        assert len(rows) - len(set(acknowledged)) <= 3
        assert [entry.seq for entry in store.journal()] == list(range(1, len(rows) + 1))
        assert store.remember("Ticket after all that belongs to nobody.", kind="lesson").outcome == "created"
