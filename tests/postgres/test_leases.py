"""One upkeep of a store at a time, on whatever machines, when the store is in a database (D2)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import wellkept
from postgres.hostile import ALICE, SECRETS, Client, close, ground
from postgres.sent import listening
from postgres.server import server
from surfaces.command_line import Cli
from wellkept.engine.base.context import Uuid7, utc_now
from wellkept.engine.upkeep.job_queue import queue_of
from wellkept.engine.upkeep.jobs import chosen, errands
from wellkept.engine.upkeep.queue_lease import KIND, QueueLease, lease_of
from wellkept.engine.upkeep.rounds import Job, JobResult, Round, maintain
from wellkept.engine.upkeep.worker import work
from wellkept.errors import Busy, NotPermitted
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.rows import number_of
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types.jobs import WHOLE_STORE

ROOT = Path(__file__).parents[2]
SECONDS = 60
MANY = 10_000
HOSTILE = ["x'; DROP TABLE wellkept.job; --", "%s %(name)s", "名前/å", "a b", "*", "\\x1b[31m", "z" * 200]
HOLDING = """
import sys
from wellkept.engine.base.context import Uuid7, utc_now
from wellkept.engine.upkeep.queue_lease import QueueLease
from wellkept.storage.postgres import PostgresStorage

storage = PostgresStorage(sys.argv[1])
lease = QueueLease(storage.queue(), clock=utc_now, new_id=Uuid7(), seconds=float(sys.argv[2]))
print("ready", flush=True)
for line in sys.stdin:
    match line.split():
        case ["take"]:
            print(lease.take(), flush=True)
        case ["ran", name]:
            print(lease.advance(f"sweep {name}", utc_now()), flush=True)
"""
"""A process that does with a lease what it is told."""


@pytest.fixture
def store(url: str) -> Iterator[wellkept.MemoryStore]:
    with wellkept.open(url, embedder="hashing", relation_model=FakeRelationModel()) as made:
        made.remember("Tea is upstairs.")
        yield made


def sql(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.encode())
        return done.fetchall() if done.description else []


def lease(storage: PostgresStorage, **options: Any) -> QueueLease:
    return QueueLease(storage.queue(), clock=utc_now, new_id=Uuid7(), **options)


def passed(url: str, span: str) -> None:
    """As if so much time had passed since."""
    sql(url, f"UPDATE wellkept.job SET due = due - interval '{span}', finished = finished - interval '{span}'")


class Process:
    """Another process, which keeps a lease."""

    def __init__(self, url: str, seconds: float) -> None:
        paths = str(ROOT / "src")
        self.running = subprocess.Popen(
            [sys.executable, "-c", HOLDING, url, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self._answer() == "ready"

    def __call__(self, said: str) -> str:
        """Send a command to the process and return its answer."""
        self.tell(said)
        return self._answer()

    def tell(self, said: str) -> None:
        """Tell it something."""
        assert self.running.stdin is not None
        self.running.stdin.write(said + "\n")
        self.running.stdin.flush()

    def _answer(self) -> str:
        assert self.running.stdout is not None
        return self.running.stdout.readline().rstrip("\n")

    def kill(self) -> None:
        """kill -9."""
        self.running.kill()
        self.running.communicate()


@contextlib.contextmanager
def processes(url: str, count: int, seconds: float) -> Iterator[list[Process]]:
    made: list[Process] = []
    try:
        for _ in range(count):
            made.append(Process(url, seconds))
        yield made
    finally:
        for one in made:
            one.kill()


# --------------------------------------------------------------------------------------------
# Processes


def test_of_two_processes_one_has_it_and_the_other_is_told_who(url: str) -> None:
    with processes(url, 2, SECONDS) as (one, two):
        for process in (one, two):
            process.tell("take")
        told = [one._answer(), two._answer()]
        assert told.count("") == 1
        winner = (one, two)[told.index("")]
        assert max(told).startswith(f"held by process {winner.running.pid} on ")


def test_the_lease_of_a_killed_holder_ends_by_itself_and_what_ran_is_still_known(
    url: str, storage: PostgresStorage
) -> None:
    """kill -9: no manual step is needed, and no finished job is lost."""
    mine = lease(storage)
    with processes(url, 1, 3.0) as (other,):
        assert other("take") == ""
        for name in ("acme", "default"):
            other(f"ran {name}")
        other.kill()
        assert f"held by process {other.running.pid} on " in mine.take(), "it does not end before its time"
    until(lambda: mine.take() == "")
    assert sorted(mine.ran()) == ["sweep acme", "sweep default"]


def until(what: Callable[[], bool]) -> None:
    """Look until it is so."""
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, "it never came to that"
        threading.Event().wait(0.02)


def test_a_process_that_slept_beyond_its_lease_sees_that_it_lost_it(url: str, storage: PostgresStorage) -> None:
    one, two = lease(storage), lease(storage)
    assert one.take() == ""
    passed(url, "1 hour")
    assert two.take() == ""
    assert "held by" in one.take()
    one.release()
    assert two.take() == "", "who lost it gives up nothing"


def test_a_statement_that_locks_the_row_for_a_moment_is_waited_for(url: str, storage: PostgresStorage) -> None:
    """A claim skips a locked row; whether the lease is free shows only when the other statement has ended."""
    one = lease(storage)
    one.take()
    one.release()
    storage.queue().put(KIND, [WHOLE_STORE])
    with psycopg.connect(url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT 1 FROM wellkept.job FOR UPDATE")
        told = pool.submit(one.take)
        time.sleep(0.3)
        assert not told.done()
        other.rollback()
        assert told.result() == ""


def test_many_who_ask_at_once_get_it_once_again_and_again(storage: PostgresStorage) -> None:
    holders = [lease(storage) for _ in range(8)]
    for _ in range(10):
        with ThreadPoolExecutor(len(holders)) as pool:
            told = list(pool.map(QueueLease.take, holders))
        assert told.count("") == 1
        holders[told.index("")].release()


# --------------------------------------------------------------------------------------------
# Rounds


def rounds(store: wellkept.MemoryStore, told: list[str], **options: Any) -> list[Round]:
    def run(ctx: Any) -> JobResult:
        told.append(ctx.namespace)
        return JobResult()

    options = {"stop": threading.Event(), "every": timedelta(hours=6), "lease": lease_of(store._ctx)} | options
    return list(maintain(store._ctx, jobs=[Job("sweep", run)], **options))


def test_a_second_upkeep_is_refused_and_one_from_cron_does_only_what_is_due(
    store: wellkept.MemoryStore, url: str
) -> None:
    told: list[str] = []
    rounds(store, told, once=True)
    [done] = rounds(store, told, once=True)
    assert (told, done.jobs, done.held) == (["default"], (), "")
    passed(url, "6 hours")
    rounds(store, told, once=True)
    assert told == ["default"] * 2
    other = lease_of(store._ctx)
    assert other is not None and other.take() == ""
    with pytest.raises(Busy, match="held by process"):
        rounds(store, told)
    [done] = rounds(store, told, once=True)
    assert "held by process" in done.held and len(told) == 2


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_a_namespace_is_taken_for_anything_else(store: wellkept.MemoryStore, name: str) -> None:
    store.in_namespace(name).remember("Tea is downstairs.")
    told: list[str] = []
    rounds(store, told, once=True)
    [done] = rounds(store, told, once=True)
    assert (sorted(told), done.jobs) == (sorted(["default", name]), ())


def test_workers_do_what_is_due_beside_an_upkeep_and_never_its_rows(store: wellkept.MemoryStore, url: str) -> None:
    """A retry, a list and a worker for all namespaces exclude jobs of the store itself."""
    mine = lease_of(store._ctx)
    assert mine is not None and mine.take() == ""
    mine.advance("expire default", utc_now())
    queue = queue_of(store._ctx)
    kinds = chosen(("expire", "sweep"), among=errands())
    told = list(work(store._ctx, queue, kinds, stop=threading.Event(), once=True))
    assert [(one.job, one.namespace, one.state) for one in told] == [
        ("expire", "default", "done"), ("sweep", "default", "done"),
    ]  # fmt: skip
    assert [(job.namespace, job.kind) for job in queue.jobs()] == [("default", "expire"), ("default", "sweep")]
    assert queue.again() == 0
    assert queue.claim([KIND], holder="me", seconds=9) is None
    assert list(mine.ran()) == ["expire default"]
    assert store.verify() == (), "rows of no namespace are no damage here"


# --------------------------------------------------------------------------------------------
# What it costs, and who may


def test_when_everything_ran_is_asked_in_one_statement_however_many_namespaces_there_are(
    storage: PostgresStorage, url: str
) -> None:
    sql(
        url,
        "INSERT INTO wellkept.job (ns, kind, name, state, due, finished) "
        "SELECT wellkept.number_of('/'), 'ran ' || k || ' acme/' || n, '/', 'idle', now(), now() "
        f"FROM generate_series(1, {MANY}) AS n, unnest(ARRAY['expire', 'verify']) AS k",
    )
    mine = lease(storage)
    with listening() as heard:
        found = mine.ran()
    assert len(found) == 2 * MANY
    assert len([text for text in heard.first if "wellkept.job" in text]) == 1
    mine.advance(f"verify acme/{MANY}", utc_now())
    assert len(mine.ran()) == 2 * MANY, "what ran is noted in the row that is there"
    assert [row for row in sql(url, "SELECT DISTINCT ns = wellkept.number_of('/') FROM wellkept.job")] == [(True,)]


def test_an_application_is_told_that_upkeep_is_the_owners() -> None:
    """Under row-level security, a login of one namespace cannot hold the lease of the store."""
    with ground(server()) as made:
        made.own(ALICE).close()
        close(made)
        made.give(ALICE, ("*",), ("admin",))
        with (
            wellkept.open(made.tenant, token=SECRETS[ALICE], namespace=ALICE, embedder=FakeEmbedder(dim=64)) as store,
            pytest.raises(NotPermitted, match="the owner's"),
        ):
            lease_of(store._ctx)
        with made.own(ALICE) as store:
            mine = lease_of(store._ctx)
            assert mine is not None and mine.take() == ""
            mine.advance(f"sweep {ALICE}", utc_now())
            assert list(mine.ran()) == [f"sweep {ALICE}"]
            assert queue_of(store._ctx).jobs(namespace=WHOLE_STORE)


@pytest.mark.parametrize("said", [WHOLE_STORE, ALICE])
def test_no_token_opens_what_is_the_stores_own(said: str) -> None:
    """I8: a client with SQL and a token for all namespaces can neither keep the lease nor see its holder."""
    number = number_of(WHOLE_STORE)
    row = f"({number}, '{KIND}', '{WHOLE_STORE}', 'running', now() + interval '9 years')"
    with ground(server()) as made:
        with made.own(ALICE) as store:
            mine = lease_of(store._ctx)
            assert mine is not None and mine.take() == ""
        close(made)
        made.give("all", ("*",), ("admin",))
        client = Client(made, SECRETS["all"])
        entered = f"SELECT wellkept.enter('{said}', '{client.key}')"
        for refused in (
            f"SELECT count(*) FROM wellkept.job WHERE ns = {number}",
            f"UPDATE wellkept.job SET due = now() + interval '9 years' WHERE ns = {number} RETURNING 1",
            f"DELETE FROM wellkept.job WHERE ns = {number} RETURNING 1",
            f"INSERT INTO wellkept.job (ns, kind, name, state, due) VALUES {row} RETURNING 1",
            "LOCK TABLE wellkept.job",
        ):
            assert "permission denied for table job" in str(client.ask(entered, refused)), refused


def test_the_command_line_refuses_an_application_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Cli(tmp_path, tmp_path / "none.db")
    with ground(server()) as made:
        wellkept.open(made.owner, embedder="hashing").close()
        close(made)
        made.give(ALICE, ("*",), ("admin",))
        monkeypatch.setenv("WELLKEPT_TOKEN", SECRETS[ALICE])
        refused = cli("maintain", "--once", "--db", made.tenant, "--namespace", ALICE, code=1)
        assert "the owner's" in refused.stderr and "Log in as the owner" in refused.stderr
        assert refused.stdout == ""
