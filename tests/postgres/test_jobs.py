"""The job queue in the database with many concurrent workers, some of which are killed (issue 7 §6)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg

import wellkept
from wellkept.engine.upkeep.job_queue import queue_of
from wellkept.engine.upkeep.jobs import Errand, Outcome, chosen, errands
from wellkept.engine.upkeep.worker import Pace, WorkReport, work
from wellkept.storage.port import JobQueue
from wellkept.storage.postgres import PostgresStorage
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import ALL_STATUSES, Filter
from wellkept.types.jobs import Cadence

ROOT = Path(__file__).parents[2]
SECONDS = 60
WORKERS, SPACES, ROUNDS = 8, 12, 3
KINDS = ("one", "two")


def sql(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.encode())
        return done.fetchall() if done.description else []


def opened(url: str, namespace: str = "default") -> wellkept.MemoryStore:
    return wellkept.open(url, embedder="hashing", relation_model=FakeRelationModel(), namespace=namespace)


def expired(url: str) -> None:
    """As if the time of every lease had passed."""
    sql(url, "UPDATE wellkept.job SET due = clock_timestamp() - interval '1 second' WHERE state = 'running'")


def until(what: Callable[[], bool]) -> None:
    """Look until it is so."""
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, "it never came to that"
        threading.Event().wait(0.01)


# --------------------------------------------------------------------------------------------
# Many workers


def test_two_workers_never_have_one_job_at_once_and_none_is_forgotten(storage: PostgresStorage) -> None:
    """Eight workers, each with its own look at the queue, over jobs that come back; each says when it has one."""
    names = [f"acme/{number}" for number in range(SPACES)]
    queue = storage.queue()
    held: set[tuple[str, str]] = set()
    done: Counter[tuple[str, str]] = Counter()
    lock, meant = threading.Lock(), {(name, kind) for name in names for kind in KINDS}
    for kind in KINDS:
        queue.put(kind, names)

    def run(number: int) -> None:
        mine = storage.queue()
        while (job := mine.claim(KINDS, holder=f"worker {number}", seconds=SECONDS)) is not None:
            key = (job.namespace, job.kind)
            with lock:
                assert key not in held, "two have it"
                held.add(key)
            assert mine.renew(job, seconds=SECONDS, progress="half"), (job, mine.jobs(namespace=job.namespace))
            with lock:
                done[key] += 1
                again = done[key] < ROUNDS
                held.remove(key)
            if again:
                assert mine.leave(job, counted=False)
            else:
                assert mine.finish(job, seq=1, report={})

    with ThreadPoolExecutor(WORKERS) as pool:
        for told in [pool.submit(run, number) for number in range(WORKERS)]:
            told.result(SECONDS)
    assert done == dict.fromkeys(meant, ROUNDS)
    assert {job.state for job in queue.jobs()} == {"idle"}


def test_there_is_one_open_job_of_a_kind_however_many_ask_for_it(storage: PostgresStorage, url: str) -> None:
    with opened(url) as store:
        store.remember("Tea is upstairs.")
    cadences = [Cadence(kind=kind, changes=1) for kind in KINDS]
    with ThreadPoolExecutor(WORKERS) as pool:
        for told in [pool.submit(storage.queue().look, cadences) for _ in range(4 * WORKERS)]:
            told.result(SECONDS)
        for told in [pool.submit(storage.queue().put, "one", ["default"]) for _ in range(4 * WORKERS)]:
            told.result(SECONDS)
    assert [(job.kind, job.state) for job in storage.queue().jobs()] == [("one", "due"), ("two", "due")]


def test_whoever_looks_while_another_one_looks_does_nothing(storage: PostgresStorage, url: str) -> None:
    with opened(url) as store:
        store.remember("Tea is upstairs.")
    with psycopg.connect(url) as other:
        other.execute(b"LOCK TABLE wellkept.migration IN SHARE UPDATE EXCLUSIVE MODE")
        assert storage.queue().look([Cadence(kind="one", changes=1)]) == 0
    assert storage.queue().look([Cadence(kind="one", changes=1)]) == 1


def test_work_is_found_while_autovacuum_reads_the_tables(storage: PostgresStorage, url: str) -> None:
    """A worker that does the due jobs and exits would otherwise miss this one."""
    with opened(url) as store:
        store.remember("Tea is upstairs.")
    with psycopg.connect(url) as other:
        other.execute(b"ANALYZE wellkept.job, wellkept.namespace")
        assert storage.queue().look([Cadence(kind="one", changes=1)]) == 1


def test_a_job_that_another_transaction_touches_is_passed_over(storage: PostgresStorage, url: str) -> None:
    """A worker that looks for a job skips locked ones."""
    storage.queue().put("one", ["a"])
    storage.queue().put("one", ["b"])
    with psycopg.connect(url) as other:
        other.execute(b"SELECT * FROM wellkept.job WHERE name = 'a' FOR UPDATE")
        job = storage.queue().claim(["one"], holder="me", seconds=9)
        assert job is not None and job.namespace == "b"
        assert storage.queue().claim(["one"], holder="me", seconds=9) is None


def test_no_worker_stands_in_the_way_of_a_writer(storage: PostgresStorage, url: str) -> None:
    """A job locks no namespace, so a writer does not wait for its worker."""
    with opened(url) as store:
        store.remember("Tea is upstairs.")
        storage.queue().put("one", ["default"])
        job = storage.queue().claim(["one"], holder="me", seconds=SECONDS)
        assert job is not None
        assert store.remember("The bell is downstairs.").outcome == "created"
        assert storage.queue().finish(job, seq=1, report={})


# --------------------------------------------------------------------------------------------
# What becomes due is found by one statement


def test_looking_reads_no_table_but_the_namespaces_and_the_jobs(storage: PostgresStorage, url: str) -> None:
    """Independent of the number of memories: the journal number alone shows changes."""
    for name in ("a", "b"):
        with opened(url, name) as store:
            store.remember("Tea is upstairs.")
    with storage._begun("begin.write") as session:
        plan = session.select("EXPLAIN (COSTS OFF) " + session._queries["job.look"], {
            "kind": "one", "changes": 1, "every": 1.0, "idle": True,
        })  # fmt: skip
    told = "\n".join(line for (line,) in plan)
    assert "namespace" in told and "job" in told
    assert not any(table in told for table in ("memory", "journal", "vector", "words"))


# --------------------------------------------------------------------------------------------
# A worker that is killed

PAIRS = 120


def fill(url: str, namespace: str = "default", pairs: int = PAIRS) -> None:
    with opened(url, namespace) as store:
        for number in range(pairs):
            for text in (f"The {_word(number)} gauge is upstairs.", f"the {_word(number)} gauge is upstairs"):
                store.remember(text, kind="note", on_conflict="ignore")


def _word(number: int) -> str:
    return "".join("aeiou"[number // 5**place % 5] + "bdfgklmnprst"[number % 12] for place in range(3))


def worker(url: str, *options: str) -> subprocess.Popen[str]:
    """`wellkept work` as a separate process."""
    command = [sys.executable, "-m", "wellkept.cli", "--db", url, "--embedder", "hashing", "work", "--json"]
    paths = str(ROOT / "src")
    return subprocess.Popen(
        [*command, "--execute", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": paths, "WELLKEPT_RELATION_MODEL": "none", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip


@contextlib.contextmanager
def working(url: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    process = worker(url, *options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def merges(store: wellkept.MemoryStore) -> dict[str, list[int]]:
    """By the memories that were merged, the entries that say so."""
    found: dict[str, list[int]] = defaultdict(list)
    for entry in store.journal():
        if entry.verb == "consolidate":
            found[" ".join(sorted(entry.memory_ids))].append(entry.seq)
    return found


def test_a_worker_killed_in_the_middle_loses_nothing_and_nothing_is_done_twice(url: str) -> None:
    """kill -9 while a plan is applied; another worker takes over after the lease, with the same result."""
    fill(url)
    with opened(url) as store:
        begun = len(store.journal())
        with working(url, "--jobs", "consolidate", "--lease", "1h") as process:
            until(lambda: store.stats().journal >= begun + 5)
            process.send_signal(signal.SIGKILL)
            process.wait(SECONDS)
        applied = len(merges(store))
        assert 0 < applied < PAIRS, "it was not killed in the middle"
        [job] = queue_of(store._ctx).jobs()
        assert (job.state, job.attempts) == ("running", 1)
        assert str(process.pid) in job.holder
        told = list(work(store._ctx, queue_of(store._ctx), only_kind("consolidate"), stop=threading.Event(), once=True))
        assert told == [], "the lease has not ended"
        expired(url)
        told = list(work(store._ctx, queue_of(store._ctx), only_kind("consolidate"), stop=threading.Event(), once=True))
        assert [(one.state, one.attempt, one.report["executed"]) for one in told] == [("done", 2, PAIRS - applied)]
        assert {len(entries) for entries in merges(store).values()} == {1}
        assert len(merges(store)) == PAIRS == len(store.list())
        assert len(store.list(Filter(statuses=ALL_STATUSES))) == 2 * PAIRS
        assert store.verify() == ()


def only_kind(kind: str) -> tuple[Errand, ...]:
    return chosen((kind,), among=errands())


def test_two_who_have_one_job_after_all_do_no_harm_to_each_other(url: str) -> None:
    """A worker that slept beyond its lease continues concurrently with its successor (I3, I5)."""
    fill(url, pairs=40)
    stores = [opened(url) for _ in range(2)]
    try:
        start = threading.Barrier(2)

        def run(store: wellkept.MemoryStore) -> list[int]:
            plan = store.plan()
            start.wait(SECONDS)
            return [store.execute(plan).executed]

        with ThreadPoolExecutor(2) as pool:
            counts = [told.result(SECONDS)[0] for told in [pool.submit(run, store) for store in stores]]
        assert sum(counts) == 40
        assert {len(entries) for entries in merges(stores[0]).values()} == {1}
        assert stores[0].verify() == ()
    finally:
        for store in stores:
            store.close()


def test_a_worker_told_to_end_gives_its_job_back_between_two_steps(url: str) -> None:
    """SIGTERM: exit code 0 at once; the job is due again without a counted attempt, and finished steps stay."""
    fill(url)
    with opened(url) as store:
        begun = store.stats().journal
        with working(url, "--jobs", "consolidate") as process:
            until(lambda: store.stats().journal >= begun + 5)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, err) == (0, "")
        [told] = [json.loads(line) for line in out.splitlines()]
        [job] = queue_of(store._ctx).jobs()
        applied = len(merges(store))
        assert told["state"] == "given_back" and 0 < applied < PAIRS
        assert (job.state, job.holder, job.attempts) == ("due", "", 0)
        told = list(work(store._ctx, queue_of(store._ctx), only_kind("consolidate"), stop=threading.Event(), once=True))
        assert [(one.state, one.report["executed"]) for one in told] == [("done", PAIRS - applied)]


def test_several_worker_processes_share_the_namespaces_and_end_together(url: str) -> None:
    """Each job is done once, and SIGTERM to the one that started them ends them all."""
    names = [f"acme/{number}" for number in range(6)]
    for name in names:
        fill(url, name, pairs=3)
    with working(url, "--jobs", "consolidate", "--workers", "2") as process:
        assert process.stdout is not None
        told = [json.loads(process.stdout.readline()) for _ in names]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err) == (0, "", "")
    assert sorted(one["namespace"] for one in told) == names
    assert {(one["state"], one["report"]["executed"]) for one in told} == {("done", 3)}


def test_workers_end_when_the_one_that_started_them_is_killed(url: str) -> None:
    """kill -9 leaves no process that continues the job."""
    names = [f"acme/{number}" for number in range(4)]
    for name in names:
        fill(url, name, pairs=2)
    with working(url, "--jobs", "consolidate", "--workers", "2") as process:
        assert process.stdout is not None
        for _ in names:
            process.stdout.readline()
        process.kill()
        assert process.stdout.read() == "", "the pipe is closed by the last of them"


# --------------------------------------------------------------------------------------------
# The server


def test_a_worker_that_loses_the_server_for_a_moment_goes_on(url: str) -> None:
    """Its connections are cut while a job is under way: the job is done, or tried again, and never forgotten."""
    with opened(url) as store:
        store.remember("Tea is upstairs.")
        cut = threading.Event()

        def run(ctx: Any, step: Callable[[str], None]) -> Outcome:
            if not cut.is_set():
                cut.set()
                sql(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()")  # fmt: skip
            with ctx.storage.begin(ctx.namespace, write=False) as tx:
                return Outcome({"seq": tx.seq})

        told: list[WorkReport] = []
        stop = threading.Event()
        quick = Pace(look=0.05, pause=0.05, retry=0.05)
        for one in work(store._ctx, queue_of(store._ctx), [Errand(Cadence(kind="x", changes=1), run)],
                        stop=stop, pace=quick):  # fmt: skip
            told.append(one)
            if one.state == "done":
                stop.set()
        assert told[-1].state == "done"
        [job] = queue_of(store._ctx).jobs()
        assert (job.state, job.seq) == ("idle", 1)


def test_hostile_words_of_an_error_are_kept_harmless(storage: PostgresStorage) -> None:
    queue: JobQueue = storage.queue()
    queue.put("one", ["x'; DROP TABLE wellkept.job; --"])
    job = queue.claim(["one"], holder="\0\ud800" + "h" * 5_000, seconds=9)
    assert job is not None
    assert queue.leave(job, after=None, error="\0 \ud800 %s '; DROP TABLE wellkept.job" + "x" * 5_000)
    [kept] = queue.jobs()
    assert kept.namespace.endswith("--") and kept.state == "failed"
    assert len(kept.error) <= 1_000 and "\0" not in kept.error
