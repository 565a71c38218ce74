"""Unreadable rows: invalid data in one namespace blocks nothing in another one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg.types.json import Jsonb

import wellkept
from postgres.hostile import close, ground
from postgres.server import Server
from wellkept.engine.gate import write
from wellkept.engine.queue.flushing import flush_left
from wellkept.engine.upkeep.job_queue import queue_of
from wellkept.engine.upkeep.jobs import errands
from wellkept.engine.upkeep.worker import WorkReport, work
from wellkept.engine.verbs.store import MemoryStore
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.server import isolation
from wellkept.storage.postgres.sql import migrations, queries
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel

HERS, HIS = "hers", "his"


@contextmanager
def opened(url: str, namespace: str = HIS) -> Iterator[MemoryStore]:
    """The store as opened by its owner, with recovery of queued writes."""
    with wellkept.open(
        url, embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel(), namespace=namespace
    ) as store:
        yield store


def sql(url: str, statement: str, *values: object) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []


# -- what waits -------------------------------------------------------------------------------

WAITING = [
    {"at": "0001-01-01T00:00:00+14:00"},
    {"at": "0001-01-01T00:00:00Z"},
    {"at": "9999-12-31T23:59:59Z"},
    {"at": "9999-12-31T23:59:59-14:00"},
    {"at": 5},
    {"attempts": -1},
    {"statement": {"content": "x", "kind": []}},
    {"statement": {"content": "x", "recorded_at": "0001-01-01T00:00:00+14:00"}},
    {"statement": {"content": "x", "metadata": {"x": [[[1]]] * 3}, "tags": {"a": 1}}},
    {"statement": {"content": "x", "event_time": "9999-12-31T23:59:59-14:00"}},
    {"on_conflict": {}},
]


@pytest.mark.parametrize("odd", WAITING, ids=json.dumps)
def test_a_write_that_waits_and_cannot_be_read_stops_neither_an_open_nor_a_flush(
    url: str, odd: dict[str, object]
) -> None:
    """E1: it is listed as failed in its own namespace, and all others are written."""
    with opened(url) as his, opened(url, HERS) as hers:
        hers.queue.remember("hers, damaged", kind="thesis")
        hers.queue.remember("hers", kind="thesis")
        his.queue.remember("his", kind="thesis")
    sql(url, "UPDATE wellkept.waiting SET record = jsonb_set(record::jsonb, '{at}', '\"2026-01-01T00:00:00Z\"')::text")
    sql(
        url,
        "UPDATE wellkept.waiting SET record = (record::jsonb || %s)::text WHERE ns = %s AND place = 1",
        Jsonb(odd),
        number_of(HERS),
    )
    with opened(url) as his:
        assert [row.content for row in his.list()] == ["his"]
        hers = his.in_namespace(HERS)
        assert [row.content for row in hers.list()] == ["hers"]
        [failed] = hers.queue.failed()
        assert failed.error and failed.namespace == HERS
        hers.queue.drop(failed.id)
        assert his.queue.flush().failed == hers.queue.flush(again=True).failed == ()


@pytest.mark.parametrize("seq", ["0", "8796093022207"])
def test_a_namespace_whose_number_was_moved_keeps_no_other_from_being_written(url: str, seq: str) -> None:
    """E3: queued writes there are listed as failed, and those of other namespaces are written."""
    with opened(url, HERS) as hers:
        hers.remember("hers before", kind="thesis")
        hers.queue.remember("hers", kind="thesis")
        hers.in_namespace(HIS).queue.remember("his", kind="thesis")
    sql(url, "UPDATE wellkept.namespace SET seq = %s::bigint WHERE name = %s", seq, HERS)
    sql(url, "UPDATE wellkept.waiting SET record = jsonb_set(record::jsonb, '{at}', '\"2026-01-01T00:00:00Z\"')::text")
    with opened(url) as his:
        assert [row.content for row in his.list()] == ["his"]
        assert [one.error[:13] for one in his.in_namespace(HERS).queue.failed()] == ["StorageError:"]
        assert any(HERS in problem.what for problem in his.verify())
        worked(his)


def test_a_flush_lists_all_that_waits_behind_a_part_that_could_not_be_written(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the part that was tried counts an attempt."""
    monkeypatch.setattr(write, "CHUNK", 2)
    with opened(url, HERS) as hers:
        hers.remember("hers before", kind="thesis")
        sql(url, "UPDATE wellkept.namespace SET seq = 8796093022207 WHERE name = %s", HERS)
        for text in ("one", "two", "three", "four", "five"):
            hers.queue.remember(text, kind="thesis")
        told = hers.queue.flush()
        assert [one.statement["content"] for one in told.failed] == ["one", "two", "three", "four", "five"]
        assert [one.attempts for one in told.failed] == [1, 1, 0, 0, 0]
        assert {one.error[:13] for one in told.failed} == {"StorageError:"}
        assert told.results == ()
        assert sql(url, "SELECT attempts FROM wellkept.waiting ORDER BY place") == [(1,), (1,), (0,), (0,), (0,)]


@pytest.mark.parametrize("seq", ["-1", "8796093022208", "9223372036854775807", "-9223372036854775808"])
def test_a_namespace_cannot_hold_a_number_that_leaves_no_room(url: str, seq: str) -> None:
    with opened(url) as store:
        store.remember("x")
    with pytest.raises(psycopg.errors.CheckViolation):
        sql(url, "UPDATE wellkept.namespace SET seq = %s::bigint", seq)


def test_what_was_locked_waits_and_is_no_failure(url: str) -> None:
    """E3, E7: a lock on a namespace delays only its own queued writes."""
    with opened(url, HERS) as hers:
        hers.remember("hers before", kind="thesis")
        hers.queue.remember("hers", kind="thesis")
        hers.in_namespace(HIS).queue.remember("his", kind="thesis")
    sql(url, "UPDATE wellkept.waiting SET record = jsonb_set(record::jsonb, '{at}', '\"2026-01-01T00:00:00Z\"')::text")
    with psycopg.connect(url) as holder:
        holder.execute("SELECT 1 FROM wellkept.namespace WHERE name = %s FOR UPDATE", (HERS,))
        with opened(url) as his:
            assert [row.content for row in his.list()] == ["his"]
            assert [one.attempts for one in his.in_namespace(HERS).queue.pending()] == [0]
            holder.rollback()
            [told] = flush_left(his._ctx)
            assert [result.memory.content for result in told.results if result.memory] == ["hers"]


# -- jobs -------------------------------------------------------------------------------------

JOBS = [
    "turn = 9223372036854775807",
    "turn = -1",
    "attempts = 2147483647",
    "attempts = -2147483648",
    "due = 'infinity'",
    "due = '-infinity'",
    "due = '294276-12-31'",
    "finished = 'infinity'",
    "finished = '4713-01-01 BC'",
    "seq = -9223372036854775808",
    "seq = 9223372036854775807",
]


@pytest.mark.parametrize("odd", JOBS)
def test_a_job_cannot_hold_what_no_worker_can_read(url: str, odd: str) -> None:
    """E3."""
    with opened(url) as store:
        store.remember("x")
        queue_of(store._ctx).put("sweep", [HIS])
        with pytest.raises(psycopg.errors.CheckViolation):
            sql(url, f"UPDATE wellkept.job SET {odd}")
        assert [job.state for job in queue_of(store._ctx).jobs()] == ["due"]


def test_what_an_older_release_let_into_the_tables_is_gone_or_harmless_after_the_step(running: Server) -> None:
    """E3: the same tables, as version 5 left them."""
    url = running.bare()
    sql(url, "CREATE EXTENSION vector; CREATE SCHEMA wellkept")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(queries()["opening.migrations"].encode())
        for version, step in migrations()[:5]:
            connection.execute(step.encode())
            connection.execute(queries()["opening.applied"].encode(), {"version": version})
        job = "INSERT INTO wellkept.job (ns, kind, name, state, due) VALUES (1, 'KIND', 'his', 'due', now())"
        for number, odd in enumerate(JOBS):
            connection.execute(job.replace("KIND", f"k{number}").encode())
            connection.execute(f"UPDATE wellkept.job SET {odd} WHERE kind = 'k{number}'".encode())
        connection.execute(
            b"INSERT INTO wellkept.job (ns, kind, name, state, due) VALUES (1, 'k', 'his', 'due', now())"
        )
        connection.execute(b"INSERT INTO wellkept.namespace VALUES (2, 'hers', 9223372036854775807)")
        connection.execute(b"INSERT INTO wellkept.waiting VALUES (2, 'w', -9223372036854775808, -5, '', '[]')")
        token = "INSERT INTO wellkept.token VALUES ('h', 'n', '{x}', '{read}', now(), 'infinity')"
        connection.execute(token.encode())
    with opened(url) as store:
        assert [job.kind for job in queue_of(store._ctx).jobs()] == ["k"]
        storage = store._ctx.storage
        assert isinstance(storage, PostgresStorage)
        assert [token.expires_at for token in storage.tokens().rows()] == [None]
        store.remember("x")
        worked(store)
    running.drop(url)


def as_version_5(url: str) -> None:
    """Restore the tables of an earlier release, without bounds, to be migrated at the next open."""
    for table in ("job", "waiting", "namespace", "token"):
        sql(url, f"ALTER TABLE wellkept.{table} DROP CONSTRAINT {table}_sound")
    sql(url, "ALTER TABLE wellkept.namespace DROP COLUMN asking, DROP COLUMN moving, DROP COLUMN moved")
    sql(url, "ALTER TABLE wellkept.journal DROP COLUMN day")
    sql(url, "DELETE FROM wellkept.migration WHERE version > 5")


@pytest.mark.parametrize("seq", ["-1", "8796093022208", "9223372036854775807", "-9223372036854775808"])
def test_a_number_out_of_bounds_of_an_older_release_becomes_that_of_the_last_entry(url: str, seq: str) -> None:
    with opened(url, HERS) as hers:
        entries = [hers.remember(text, kind="thesis").entry for text in ("one", "two")]
        hers.in_namespace(HIS).remember("his")
    as_version_5(url)
    sql(url, "UPDATE wellkept.namespace SET seq = %s::bigint WHERE name = %s", seq, HERS)
    with opened(url, HERS) as hers:
        assert entries == [1, 2]
        assert hers.verify() == ()
        assert hers.remember("three", kind="thesis").entry == 3
        assert hers.in_namespace(HIS).remember("again", kind="thesis").entry == 2


QUEUED = [
    "attempts = -2147483648",
    "attempts = 2147483647",
    "error = repeat('x', 10001)",
    "place = place - 9223372036854775807",
    "place = 9223372036854775807 - 3 + place",
    "id = repeat('x', 1001) || place",
]


@pytest.mark.parametrize("odd", QUEUED)
def test_a_queued_write_out_of_bounds_of_an_older_release_keeps_its_order_and_counts_failures(
    url: str, odd: str
) -> None:
    with opened(url, HERS) as hers:
        for text in ("one", "two", "three"):
            hers.queue.remember(text, kind="thesis")
    as_version_5(url)
    sql(url, f"UPDATE wellkept.waiting SET {odd}")
    with opened(url) as his:
        hers = his.in_namespace(HERS)
        assert sql(url, "SELECT place FROM wellkept.waiting ORDER BY 1") == [(1,), (2,), (3,)]
        queued = [*hers.queue.pending(), *hers.queue.failed()]
        hers._ctx.ledger.settle((), {one.id: "no room" for one in queued}, namespace=HERS)
        counted = sql(url, "SELECT DISTINCT error, attempts BETWEEN 1 AND 1000000 FROM wellkept.waiting")
        assert counted == [("no room", True)]
        hers.queue.remember("four", kind="thesis")
        written = hers.queue.flush(again=True).results
        told = [result.memory.content for result in written if result.memory]
        assert told == (["four"] if odd.startswith("id") else ["one", "two", "three", "four"])
        assert len(hers.queue.failed()) == (3 if odd.startswith("id") else 0)


LIVES = {
    "expires_at = 'infinity'": (None, True),
    "expires_at = '10000-01-01Z'": (None, True),
    "expires_at = '9999-12-31T23:59:59Z'": (9999, True),
    "expires_at = '-infinity'": (1, False),
    "expires_at = '4713-01-01 BC'": (1, False),
    "created_at = 'infinity'": (None, True),
    "created_at = '-infinity'": (None, True),
    "revoked_at = 'infinity'": (None, False),
    "revoked_at = '-infinity'": (None, False),
}


@pytest.mark.parametrize(("odd", "ends", "usable"), [(odd, *told) for odd, told in LIVES.items()], ids=list(LIVES))
def test_a_token_of_an_older_release_is_listed_and_can_be_revoked(
    url: str, odd: str, ends: int | None, *, usable: bool
) -> None:
    with opened(url):
        pass
    as_version_5(url)
    sql(url, "INSERT INTO wellkept.token VALUES ('h', 'n', '{x}', '{read}', now())")
    sql(url, f"UPDATE wellkept.token SET {odd}")
    with opened(url) as store:
        storage = store._ctx.storage
        assert isinstance(storage, PostgresStorage)
        tokens = storage.tokens()
        [token] = tokens.rows()
        assert (token.expires_at.year if token.expires_at else None) == ends
        assert tokens.usable() is usable
        [revoked] = tokens.revoke("h", datetime(2026, 3, 1, tzinfo=UTC))
        assert revoked.revoked_at is not None
        assert not tokens.usable()


@pytest.mark.parametrize("column", ["created_at", "expires_at", "revoked_at"])
@pytest.mark.parametrize("time", ["infinity", "-infinity", "10000-01-01Z", "0001-01-01 BC"])
def test_a_token_cannot_hold_a_time_that_cannot_be_read(url: str, column: str, time: str) -> None:
    with opened(url):
        pass
    sql(url, "INSERT INTO wellkept.token VALUES ('h', 'n', '{x}', '{read}', now())")
    with pytest.raises(psycopg.errors.CheckViolation):
        sql(url, f"UPDATE wellkept.token SET {column} = %s", time)


def test_a_store_secured_by_an_older_release_gives_no_right_on_jobs_after_the_step(
    running: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E3: the owner runs nothing by hand; the first open takes the old rights and rules away."""
    with ground(running) as made:
        with monkeypatch.context() as older:
            older.setattr(isolation, "OWNED", frozenset())
            close(made)
        rights = f"SELECT has_table_privilege('{made.app}', 'wellkept.job', 'INSERT, UPDATE, DELETE, SELECT')"
        rules = "SELECT policyname FROM pg_policies WHERE schemaname = 'wellkept' AND tablename = 'job' ORDER BY 1"
        assert sql(made.owner, rights) == [(True,)]
        assert len(sql(made.owner, rules)) == 5
        as_version_5(made.owner)
        with opened(made.owner):
            pass
        assert sql(made.owner, rights) == [(False,)]
        assert sql(made.owner, rules) == [("wellkept_owner",)]


def worked(store: MemoryStore) -> list[WorkReport]:
    told = list(work(store._ctx, queue_of(store._ctx), errands(), stop=threading.Event(), once=True))
    assert [one for one in told if one.namespace == HIS and one.state == "done"]
    return [one for one in told if one.namespace == HIS]


@pytest.mark.parametrize("report", ["", "[", "[]", "[" * 300_000, "NaN"])
def test_a_report_that_cannot_be_read_is_none(url: str, report: str) -> None:
    with opened(url) as store:
        store.remember("x")
        queue_of(store._ctx).put("sweep", [HIS])
        sql(url, "UPDATE wellkept.job SET report = %s", report)
        assert [job.report for job in queue_of(store._ctx).jobs()] == [{}]
        worked(store)


# -- rows -------------------------------------------------------------------------------------

NESTED = "repeat('[', 300000)"
ROWS = {
    "a memory nested deeply": f"UPDATE wellkept.memory SET record = {NESTED}",
    "a memory of another type": "UPDATE wellkept.memory SET record = '[]'",
    "a content that is a number": "UPDATE wellkept.memory SET record = (record::jsonb || '{\"content\": 5}')::text",
    "a status nobody knows": 'UPDATE wellkept.memory SET record = (record::jsonb || \'{"status": "zombie"}\')::text',
    "a polarity of 99": "UPDATE wellkept.memory SET record = (record::jsonb || '{\"polarity\": 99}')::text",
    "a confidence that is a text": "UPDATE wellkept.memory SET record = (record::jsonb || "
    '\'{"confidence": "x"}\')::text',
    "tags that are numbers": "UPDATE wellkept.memory SET record = (record::jsonb || '{\"tags\": [1, {}]}')::text",
    "a time without room": "UPDATE wellkept.memory SET record = (record::jsonb || "
    '\'{"created_at": "0001-01-01T00:00:00+14:00"}\')::text',
    "a time of another column": "UPDATE wellkept.memory SET created = 4102444800000000",
    "a use at no time": "UPDATE wellkept.memory SET last_accessed_at = 'noon'",
    "very many uses": "UPDATE wellkept.memory SET access_count = 9223372036854775807",
    "a stability that is none": "UPDATE wellkept.memory SET stability = 'NaN'",
    "vectors of another length": "UPDATE wellkept.vector SET vec = '[1,2,3]'",
    "vectors without length": "UPDATE wellkept.vector SET vec = array_fill(0, ARRAY[64])::halfvec",
    "entries nested deeply": f"UPDATE wellkept.journal SET record = {NESTED}",
    "entries of another type": "UPDATE wellkept.journal SET record = '[]'",
    "effects that are none": "UPDATE wellkept.journal SET record = (record::jsonb || '{\"effects\": [3, {}]}')::text",
    "a conflict nested deeply": "INSERT INTO wellkept.conflict "
    f"SELECT ns, 'k', 'a', 'b', 0, {NESTED} FROM wellkept.memory",
    "a link at no time": "INSERT INTO wellkept.link SELECT ns, id, id, 'related', 'noon' FROM wellkept.memory",
    "words that are none": "UPDATE wellkept.words SET terms = ARRAY[NULL, '']",
    "an index of an embedder nobody has": "INSERT INTO wellkept.approximate SELECT ns, 99 FROM wellkept.namespace",
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_cannot_be_read_stops_nothing_in_another_namespace(url: str, name: str) -> None:
    """E3: an open, a worker, a flush, `verify` and `undo` go on, and `verify` tells of it."""
    with opened(url, HERS) as hers:
        hers.remember("The boiler is in the cellar.", kind="thesis")
    sql(url, ROWS[name])
    with opened(url) as his:
        made = his.remember("The ferns need water.")
        his.queue.remember("waits", kind="thesis")
        assert len(his.queue.flush().results) == 1
        assert {hit.memory.content for hit in his.recall("ferns")} >= {"The ferns need water."}
        worked(his)
        told = [problem.what for problem in his.verify()]
        assert all(HERS in what for what in told)
        assert told or name in HARMLESS
        his.undo(made.entry)
        for act in (hers_recall, hers_list, hers_verify):
            act(his.in_namespace(HERS))


HARMLESS = {"an index of an embedder nobody has", "very many uses"}


def hers_recall(hers: MemoryStore) -> None:
    with suppress(wellkept.WellkeptError):
        hers.recall("boiler cellar")


def hers_list(hers: MemoryStore) -> None:
    with suppress(wellkept.WellkeptError):
        hers.list()


def hers_verify(hers: MemoryStore) -> None:
    hers.verify()
