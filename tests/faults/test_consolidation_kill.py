"""An execution that is killed: every cluster is merged wholly or not at all, and a second one finishes (S1-44, I3)."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from faults.killed_run import CLUSTERS, executed, filled, opened, texts, written_to
from scenarios.world import snapshot
from wellkept.types import ALL_STATUSES, Filter, Memory

SECONDS = 300
"""How long anything may take before the test gives up."""
SHELF = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


# Processes that come from one that has loaded everything: two hundred kills cost two hundred runs and no more.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["faults.killed_run", "wellkept.engine.verbs.store", "wellkept.storage.sqlite"])


@contextmanager
def started(
    path: Path, what: Callable[[Path, Connection], None] = executed
) -> Iterator[tuple[BaseProcess, Connection]]:
    """A process that has looked at the store and now begins, and the wire to it."""
    here, there = FORKS.Pipe()
    worker = FORKS.Process(target=what, args=(path, there))
    worker.start()
    there.close()
    with here:
        assert here.poll(SECONDS) and here.recv() == "go"
        yield worker, here


def let_do(wire: Connection, actions: int) -> None:
    """Wait until so many actions are done, and let the process go on to the next."""
    for _ in range(actions):
        assert wire.poll(SECONDS) and wire.recv() == "done"
        wire.send("on")


def ended(worker: BaseProcess) -> int | None:
    """Wait for its end; its exit code."""
    worker.join(SECONDS)
    return worker.exitcode


def whole_or_not(rows: tuple[Memory, ...]) -> int:
    """How many clusters are merged; fails where one is neither merged nor untouched."""
    by_text = {row.content: row for row in rows}
    merged = 0
    for number in range(CLUSTERS):
        first, second, last = (by_text[text] for text in texts(number))
        old = by_text[f"Nothing was in place {number} before."]
        state = [row.status for row in (first, second, last)]
        if state == ["active"] * 3:
            assert "merged_from" not in last.metadata and old.superseded_by == first.id
            continue
        assert state == ["archived", "archived", "active"]
        assert last.metadata["merged_from"] == [first.id, second.id] and old.superseded_by == last.id
        merged += 1
    return merged


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.soak)])
def test_a_killed_execution_leaves_whole_clusters_and_a_second_one_finishes(kills: int) -> None:
    """S1-44: kill -9 at a random moment of a random action."""
    chance = random.Random(7)
    partly: list[int] = []
    with tempfile.TemporaryDirectory(dir=SHELF) as folder:
        fresh, path = Path(folder, "fresh.db"), Path(folder, "store.db")
        filled(fresh)
        shutil.copy(fresh, path)
        with started(path) as (whole, wire):
            began = time.monotonic()
            let_do(wire, CLUSTERS)
            assert ended(whole) == 0
            lasts = (time.monotonic() - began) / CLUSTERS
        with opened(path) as here:
            finished = snapshot(here, journal=False)
        for _ in range(kills):
            for leftover in Path(folder).glob("store.db*"):
                leftover.unlink()
            shutil.copy(fresh, path)
            before = chance.randrange(CLUSTERS)
            with started(path) as (worker, wire):
                let_do(wire, before)
                time.sleep(chance.uniform(0, lasts))
                worker.kill()
                assert ended(worker) == -signal.SIGKILL
            with opened(path) as here:
                assert here.verify() == ()
                partly.append(whole_or_not(here.list(Filter(statuses=ALL_STATUSES))))
                assert before <= partly[-1] <= before + 1
                run = here.execute(here.plan())
                assert run.executed == CLUSTERS - partly[-1] and run.errors == 0
                assert whole_or_not(here.list(Filter(statuses=ALL_STATUSES))) == CLUSTERS
                assert here.verify() == ()
                after = snapshot(here, journal=False)
                assert [row.content for row in here.list()] == [
                    row.content for row in finished.memories if row.status == "active"
                ]
                assert [edge[:3] for edge in after.links] == [edge[:3] for edge in finished.links]
                assert after.aliases == finished.aliases
    assert any(0 < count < CLUSTERS for count in partly)  # some were caught in the middle


def test_a_writer_in_another_process_is_not_lost_and_its_rows_are_not_run_over(tmp_path: Path) -> None:
    """I3, B-22: actions on rows that the writer changed are stale, the rest is merged, and its writes stay."""
    path = tmp_path / "store.db"
    filled(path)
    with opened(path) as here:
        plan = here.plan()
        with started(path, written_to) as (worker, _):
            report = here.execute(plan)
            assert ended(worker) == 0
        rows = {row.content: row for row in here.list(Filter(statuses=ALL_STATUSES))}
        assert report.errors == 0 and {result.state for result in report.results} <= {"executed", "stale"}
        for number in range(0, CLUSTERS, 3):
            assert rows[f"Somebody came in while {number} was sorted."].status == "active"
            assert rows[texts(number)[1]].tags == (f"by hand {number}",)
        by_id = {row.id: row for row in rows.values()}
        for action, result in zip(plan.actions, report.results, strict=True):
            gone = {by_id[one].status for one in action.targets[:-1]}
            assert gone == ({"archived"} if result.state == "executed" else {"active"})
        assert here.verify() == ()
        here.execute(here.plan())
        assert whole_or_not(here.list(Filter(statuses=ALL_STATUSES))) == CLUSTERS
