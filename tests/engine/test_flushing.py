"""Flushing the queue: one process at a time, in order, each write once, also when processes die (S0-45, I5)."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

import wellkept
import wellkept.engine.base.queue_ledger as lines_of_file
from postgres.server import server
from stores import Desk, desk
from wellkept.engine.base.queue_ledger import FileLedger
from wellkept.engine.models.no_embedder import Unloaded
from wellkept.engine.queue.flushing import IDLE, MAX_ATTEMPTS, flush_left, left, recover
from wellkept.errors import Busy
from wellkept.storage.postgres.shared.queue_ledger import PostgresLedger
from wellkept.types.queue import QueuedWrite

SAID = datetime(2026, 3, 1, tzinfo=UTC)
SECONDS = 60
pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are killed as POSIX does it")


def one(number: int, *, session: str = "", namespace: str = "n", minute: float = 0, attempts: int = 0) -> QueuedWrite:
    at = SAID + timedelta(minutes=minute)
    return QueuedWrite(
        id=str(number), store="s", namespace=namespace, session=session, at=at, statement={}, attempts=attempts
    )


@pytest.mark.parametrize(
    ("waiting", "minute", "expected"),
    [
        ([], 60, ""),
        ([one(1)], 4.9, ""),
        ([one(1)], 5, "1"),
        ([one(1), one(2, minute=3)], 7, ""),  # the conversation goes on
        ([one(1), one(2, minute=3)], 8, "12"),
        ([one(1, session="a"), one(2, session="b", minute=3)], 6, "1"),  # another one does not hold it back
        ([one(1), one(2, namespace="m", minute=3)], 6, "1"),  # nor another namespace
        ([one(1, minute=3), one(2)], 8, "12"),  # in the order in which they were put, whatever their clocks said
        ([one(1, attempts=1), one(2)], 9, "2"),  # what failed waits twice as long, and stops no other
        ([one(1, attempts=1), one(2)], 10, "12"),
        ([one(1, attempts=4)], 79, ""),
        ([one(1, attempts=4)], 80, "1"),
        ([one(1, attempts=MAX_ATTEMPTS)], 100_000, ""),  # and is given up in the end
    ],
)
def test_what_is_left_is_told_by_the_last_write_of_its_conversation(
    waiting: list[QueuedWrite], minute: float, expected: str
) -> None:
    found = left(waiting, idle=IDLE, now=SAID + timedelta(minutes=minute))
    assert "".join(item.id for item in found) == expected


# --------------------------------------------------------------------------------------------
# In one process


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Opens stores on each kind of queue: in the process, in a file, in the database."""
    opened: list[Desk] = []

    def factory(**options: object) -> Desk:
        made = desk(request.param, tmp_path, **options)
        opened.append(made)
        return made

    yield factory
    for made in opened:
        made.store.close()


def contents(store: wellkept.MemoryStore) -> list[str]:
    return [memory.content for memory in store.list()]


def test_what_a_conversation_has_left_is_written_and_what_goes_on_is_not(make: Callable[..., Desk]) -> None:
    """S0-45: the queue is flushed without an explicit call."""
    table = make()
    table.store.in_session("ended").queue.remember("one", kind="thesis")
    table.store.in_namespace("acme/bob").queue.remember("two", kind="thesis")
    table.clock.advance(minutes=5)
    table.store.in_session("goes on").queue.remember("three", kind="thesis")
    [told] = flush_left(table.store._ctx)
    assert sorted(result.memory.content for result in told.results if result.memory) == ["one", "two"]
    assert contents(table.store) == ["one"]
    assert contents(table.store.in_namespace("acme/bob")) == ["two"]  # I8
    assert [one.statement["content"] for one in table.store.queue.pending()] == ["three"]
    assert table.store.queue.depth == 1


def test_what_fails_by_itself_is_tried_five_times_ever_more_seldom_and_stays_listed(make: Callable[..., Desk]) -> None:
    """B-27: bounded, and nothing is lost."""
    table = make()
    queue = table.store.queue
    queue.remember("one", kind="thesis", links=["nobody"])
    minutes = []
    for minute in range(400):
        if any(part.failed for part in flush_left(table.store._ctx)):
            minutes.append(minute)
        table.clock.advance(minutes=1)
    assert minutes == [5, 10, 20, 40, 80]
    [failed] = queue.failed()
    assert (failed.attempts, failed.error.split(":")[0]) == (MAX_ATTEMPTS, "NotFound")
    assert queue.flush(again=True).failed[0].attempts == MAX_ATTEMPTS + 1
    queue.drop(failed.id)
    assert queue.pending() == ()


def test_whoever_comes_while_another_one_writes_leaves_it_to_him(make: Callable[..., Desk]) -> None:
    table = make()
    table.store.queue.remember("one", kind="thesis")
    table.clock.advance(minutes=10)
    done: list[int] = []
    with table.store._ctx.ledger.turn() as ours:
        assert ours
        thread = threading.Thread(target=lambda: done.append(len(list(flush_left(table.store._ctx)))))
        thread.start()
        thread.join(SECONDS)
    assert done == [0] and len(table.store.queue) == 1
    assert [len(part.results) for part in flush_left(table.store._ctx)] == [1]


def test_very_much_that_was_left_is_written_in_parts_and_all_of_it(make: Callable[..., Desk], monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Another process gets the turn between two parts of a flush."""
    monkeypatch.setattr("wellkept.engine.queue.flushing._MOST_AT_ONCE", 7)
    table = make()
    for number in range(20):
        table.store.queue.remember(f"thesis {number:02}", kind="thesis")
    table.clock.advance(minutes=10)
    assert [len(part.results) for part in flush_left(table.store._ctx)] == [7, 7, 6]
    assert contents(table.store) == [f"thesis {number:02}" for number in range(20)]


def test_between_two_parts_anybody_may_flush_or_drop_and_nothing_of_it_is_written_again(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S0-45, I5: further writes were queued after the flush read the queue."""
    monkeypatch.setattr("wellkept.engine.queue.flushing._MOST_AT_ONCE", 2)
    table = make()
    for number in range(8):
        table.store.in_session(f"chat {number}").queue.remember(f"thesis {number}", kind="thesis")
    table.clock.advance(minutes=10)
    parts = flush_left(table.store._ctx)
    first = next(parts)
    dropped = table.store.in_session("chat 4").queue.pending()[0]
    table.store.queue.drop(dropped.id)
    own = table.store.in_session("chat 5").queue.flush()
    said = [[result.memory.content for result in part.results if result.memory] for part in (first, own, *parts)]
    assert said == [["thesis 0", "thesis 1"], ["thesis 5"], ["thesis 2", "thesis 3"], [], ["thesis 6", "thesis 7"]]
    assert len(table.store.list()) == 7 and table.store.queue.pending() == ()


@pytest.mark.parametrize("number", [1, 5])
def test_much_that_was_left_is_read_as_often_as_little(
    make: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Its time grows linearly with the number of queued writes."""
    monkeypatch.setattr("wellkept.engine.queue.flushing._MOST_AT_ONCE", 2)
    read: list[object] = []
    whole, rows = lines_of_file._whole, PostgresLedger.waiting
    monkeypatch.setattr(lines_of_file, "_whole", lambda handle: read.append(handle) or whole(handle))
    monkeypatch.setattr(PostgresLedger, "waiting", lambda *given: read.append(given) or rows(*given))
    table = make()
    for each in range(2 * number):
        table.store.queue.remember(f"thesis {each}", kind="thesis")
    table.clock.advance(minutes=10)
    assert len(list(flush_left(table.store._ctx))) == number
    # A file is read for the choice, once to be kept, and once to take out what is done.
    times = {"ProcessLedger": 0, "FileLedger": 3, "PostgresLedger": 1}
    assert len(read) == times[type(table.store._ctx.ledger).__name__]


def test_what_another_process_did_to_the_file_between_two_parts_is_seen(tmp_path: Path) -> None:
    """I5: it has a ledger of its own, and the same file."""
    mine, other = FileLedger(tmp_path / "q"), FileLedger(tmp_path / "q")
    items = [one(number) for number in range(4)]
    mine.put(items)
    assert mine.still(items) == items
    mine.put([one(4)])
    other.settle(["0"], {"1": "no"}, namespace="n")
    assert [(item.id, item.attempts) for item in mine.still(items)] == [("1", 1), ("2", 0), ("3", 0)]
    other.tidy()
    other.settle(["1", "2", "3", "4"], {}, namespace="n")
    other.tidy()
    assert mine.still(items) == []


# --------------------------------------------------------------------------------------------
# Several processes


CHILD = """
import sys, wellkept
store = wellkept.open(sys.argv[1], embedder="hashing", relation_model="none")
"""
FILLS = """
for number in range(int(sys.argv[2])):
    store.in_session(f"chat {number % 2}").queue.remember(f"thesis {number:03}", kind="thesis")
"""
SAYS = """
print("ready", flush=True)
sys.stdin.readline()
"""
FLUSHES = """
told = store.queue.flush()
print(len(told.results), flush=True)
"""
TAKES = """
with store._ctx.ledger.turn() as ours:
    print(ours, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty store that several processes can open."""
    if request.param == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    made = server().database()
    yield made
    server().release(made)


def opened(url: str) -> wellkept.MemoryStore:
    return wellkept.open(url, embedder="hashing", relation_model="none")


@contextmanager
def child(*parts: str, url: str, count: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that opens the store and does these parts; killed by its own id where it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD + "".join(parts), url, str(count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def stored(url: str) -> int:
    """Number of memories, read from the tables, because opening the store would flush the queue."""
    if url.startswith("postgresql:"):
        with psycopg.connect(url) as server:
            return int(server.execute("SELECT count(*) FROM wellkept.memory").fetchone()[0])  # type: ignore[index]
    with sqlite3.connect(url) as file:
        return int(file.execute("SELECT count(*) FROM memory").fetchone()[0])


def in_order(count: int) -> list[str]:
    return [f"thesis {number:03}" for number in range(count)]


def test_a_process_that_is_killed_while_it_writes_loses_nothing_and_nothing_is_written_twice(url: str) -> None:
    """I1, I5: kill -9 in the middle of a flush, on files and on a server."""
    count = 240
    with child(FILLS, SAYS, FLUSHES, url=url, count=count) as process:
        assert heard(process) == "ready"
        go_on(process)
        while not stored(url):
            assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(SECONDS) == -signal.SIGKILL
    written = stored(url)
    assert 0 < written < count  # it was in the middle
    with opened(url) as store:  # of a file, this writes what was left; of a server others may still be at it
        store.queue.flush()
        assert sorted(contents(store)) == in_order(count)
        for session in (0, 1):  # in the order of each conversation
            said = [row.content for row in store.list() if int(row.content[-3:]) % 2 == session]
            assert said == sorted(said)
        assert [entry.outcome for entry in store.journal()] == ["created"] * count
        assert store.queue.pending() == ()
        assert store.verify() == ()


def test_processes_that_flush_at_once_write_everything_once_and_in_order(url: str) -> None:
    """I3, I5: each conversation's writes keep their order, whoever writes them."""
    count = 60
    with child(SAYS, FLUSHES, url=url) as first, child(SAYS, FLUSHES, url=url) as second:
        assert (heard(first), heard(second)) == ("ready", "ready")
        with opened(url) as store:
            for text in in_order(count):
                store.queue.remember(text, kind="thesis")
            go_on(first), go_on(second)
            assert int(heard(first)) + int(heard(second)) == count
            assert contents(store) == in_order(count)
            assert len(store.journal()) == count


DAMAGED_RECORDS = ["", "{", "[]", "3", '{"id": "bad"}', "null", "[" * 5000]


@pytest.mark.parametrize("record", DAMAGED_RECORDS, ids=range(len(DAMAGED_RECORDS)))
def test_a_row_that_cannot_be_read_is_listed_as_failed_stops_no_other_and_can_be_dropped(
    tmp_path: Path, record: str, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    """I1, B-27: an acknowledged write is never skipped silently, and none stays in the queue forever."""
    url = server().database()
    request.addfinalizer(lambda: server().release(url))
    table = desk(url, tmp_path)
    queue = table.store.queue
    for content in ("bad", "good"):
        queue.remember(content, kind="thesis")
    [bad, _] = queue.pending()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE wellkept.waiting SET record = %s WHERE id = %s", (record, bad.id))
    table.clock.advance(minutes=10)
    for _ in range(3):
        list(flush_left(table.store._ctx))
    assert contents(table.store) == ["good"]
    assert caplog.text.count("cannot be read") == 1  # whoever reads all namespaces tells it once
    [listed] = queue.failed()
    assert (listed.id, listed.namespace, listed.statement["content"]) == (bad.id, "default", record)
    assert listed.error.startswith("InvalidInput: cannot be read: ")
    assert [one.id for one in queue.flush(again=True).failed] == [bad.id]
    queue.drop(bad.id)
    assert queue.pending() == () and table.store.queue.depth == 0
    table.store.close()


def test_the_turn_of_a_process_ends_with_it(url: str) -> None:
    """The lock of a dead process ends by itself."""
    with opened(url) as store, child(TAKES, url=url) as process:
        assert heard(process) == "True"
        store.queue.remember("one", kind="thesis")
        with store._ctx.ledger.turn(wait=False) as ours:
            assert not ours
        assert list(flush_left(store._ctx, idle=timedelta())) == []
        os.kill(process.pid, signal.SIGKILL)
        process.wait(SECONDS)
        assert len(store.queue.flush().results) == 1


# --------------------------------------------------------------------------------------------
# On a server


@pytest.fixture
def database() -> Iterator[str]:
    made = server().database()
    yield made
    server().release(made)


def test_who_opens_the_store_leaves_what_another_one_may_still_be_at(database: str, tmp_path: Path) -> None:
    """S0-45: with other processes running, only writes that have waited long count as left by a dead one."""
    from wellkept.storage.postgres import PostgresStorage

    table = desk(PostgresStorage(database), tmp_path)
    table.store.queue.remember("one", kind="thesis")
    desk(PostgresStorage(database), tmp_path, clock=table.clock).store.close()
    assert len(table.store.queue) == 1
    table.clock.advance(minutes=5)
    desk(PostgresStorage(database), tmp_path, clock=table.clock).store.close()
    assert len(table.store.queue) == 0 and contents(table.store) == ["one"]
    table.store.close()


def test_many_who_put_writes_off_at_once_keep_the_order_of_each(database: str) -> None:
    """S0-45, whichever server a conversation's next request comes to."""
    with opened(database) as first, opened(database) as second:

        def say(who: int) -> None:
            for number in range(25):
                store = (first, second)[number % 2]
                store.in_session(f"chat {who}").queue.remember(f"{who} says {number:02}", kind="thesis")

        threads = [threading.Thread(target=say, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        waiting = [str(one.statement["content"]) for one in first.queue.pending()]
        assert len(waiting) == 100
        for who in range(4):
            assert [text for text in waiting if text[0] == str(who)] == [f"{who} says {n:02}" for n in range(25)]


def test_who_has_lost_its_turn_stops_and_what_is_not_marked_is_found_written(database: str) -> None:
    """After a network failure another server may have the turn, so the flush must stop."""
    with opened(database) as store:
        for text in in_order(3):
            store.queue.remember(text, kind="thesis")
        taken = store._ctx.ledger._taken  # type: ignore[attr-defined]

        def cut_off(session, *, wait):  # type: ignore[no-untyped-def]
            ours = taken(session, wait=wait)
            with psycopg.connect(database, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", (session.connection.info.backend_pid,))
            return ours

        store._ctx.ledger._taken = cut_off  # type: ignore[attr-defined]
        with pytest.raises(wellkept.WellkeptError):
            store.queue.flush()
        store._ctx.ledger._taken = taken  # type: ignore[attr-defined]
        assert len(store.queue) == 3
        told = store.queue.flush()
        assert len(told.results) == 3 and contents(store) == in_order(3)
        assert len(store.journal()) == 3


def test_who_waits_too_long_for_another_ones_turn_is_told_so_and_loses_nothing(database: str) -> None:
    from wellkept.storage.postgres import PostgresStorage

    with (
        opened(database) as holder,
        wellkept.open(PostgresStorage(database, busy_seconds=0.2), embedder="hashing", relation_model="none") as store,
    ):
        store.queue.remember("one", kind="thesis")
        with holder._ctx.ledger.turn():
            with pytest.raises(Busy, match="another process is writing what waits"):
                store.queue.flush()
        assert len(store.queue.flush().results) == 1


def test_a_row_that_nobody_can_read_keeps_no_other_from_being_written(database: str) -> None:
    """I1."""
    with opened(database) as store:
        for text in in_order(2):
            store.queue.remember(text, kind="thesis")
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("UPDATE wellkept.waiting SET record = '[]' WHERE place = 1")
        assert len(store.queue.flush().results) == 1
        assert contents(store) == in_order(2)[1:]


@pytest.mark.parametrize("text", ["Ünïcode 名前 😀", "'; DROP TABLE wellkept.waiting; --", "a\\u0000b", "%(ns)s %s"])
def test_every_text_comes_back_from_the_database_as_it_was_said(database: str, text: str) -> None:
    """S0-28, I10."""
    with opened(database) as store:
        store.queue.remember(text, kind="thesis", metadata={"k": [1, {"ä": None}]})
        [result] = store.queue.flush().results
        assert result.memory is not None
        assert (result.memory.content, result.memory.metadata["k"]) == (text, [1, {"ä": None}])


def test_one_who_only_reads_leaves_what_was_left_to_others(make: Callable[..., Desk]) -> None:
    """I7: without its embedder a store would keep it without a vector and unjudged."""
    table = make()
    table.store.remember("zero", kind="thesis")
    table.store.in_session("ended").queue.remember("one", kind="thesis")
    table.clock.advance(minutes=10)
    ctx = table.store._ctx
    recover(replace(ctx, embedder=Unloaded(ctx.storage.header())))
    assert contents(table.store) == ["zero"] and table.store.queue.depth == 1
    recover(ctx)
    assert contents(table.store) == ["zero", "one"] and table.store.queue.depth == 0
