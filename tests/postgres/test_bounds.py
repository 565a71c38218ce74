"""Every wait is bounded: a lock that is held gives `Busy` for a writer and does not affect a reader."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

import wellkept
from postgres.sent import listening
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import Busy
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.server.inspection import Look
from wellkept.storage.postgres.shared.queue_ledger import TURN_LOCK
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types.jobs import Cadence

PATIENCE = 0.4
"""Seconds that a call of these tests waits for a lock."""
SOON = 5.0
"""Seconds in which a call that waits for nobody has ended on a busy machine; unbounded it would be there for ever."""


@contextmanager
def opened(url: str) -> Iterator[MemoryStore]:
    storage = PostgresStorage(url, busy_seconds=PATIENCE)
    with wellkept.open(storage, embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel()) as store:
        yield store
    storage.close()


@contextmanager
def holding(url: str, statement: str) -> Iterator[None]:
    with psycopg.connect(url) as holder:
        holder.execute(statement.encode())
        yield
        holder.rollback()


@contextmanager
def soon() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < SOON


READERS = [
    "LOCK TABLE wellkept.memory IN EXCLUSIVE MODE",
    "LOCK TABLE wellkept.memory IN SHARE MODE",
    "LOCK TABLE wellkept.namespace IN EXCLUSIVE MODE",
    "LOCK TABLE wellkept.waiting IN ACCESS EXCLUSIVE MODE",
    "LOCK TABLE wellkept.job IN ACCESS EXCLUSIVE MODE",
    "SELECT 1 FROM wellkept.memory FOR UPDATE",
    "SELECT 1 FROM wellkept.namespace FOR UPDATE",
]


@pytest.mark.parametrize("statement", READERS)
def test_who_opens_the_store_and_recalls_waits_for_nobody(url: str, statement: str) -> None:
    """E7: usage counts and the check for queued writes are postponed, and nothing is lost."""
    with opened(url) as store:
        made = store.remember("The boiler is in the cellar.").memory
        assert made is not None
        with holding(url, statement), soon(), opened(url) as other:
            assert [hit.memory.id for hit in other.recall("boiler cellar")] == [made.id]
            assert other.get(made.id).content == made.content
        store.recall("boiler cellar")
        assert store.get(made.id).access_count > 0


@pytest.mark.parametrize("table", ["memory", "namespace", "journal", "vector", "words", "alias"])
def test_a_table_that_stays_locked_is_told_as_busy_to_readers_and_writers(url: str, table: str) -> None:
    """E7."""
    with opened(url) as store:
        store.remember("The boiler is in the cellar.")
        with holding(url, f"LOCK TABLE wellkept.{table} IN ACCESS EXCLUSIVE MODE"):
            with soon(), pytest.raises(Busy, match="table lock"):
                store.remember("The boiler is on the roof.")
            if table in ("memory", "namespace"):
                with soon(), pytest.raises(Busy, match="table lock"):
                    store.recall("boiler cellar")
        assert store.remember("The boiler is on the roof.").memory is not None
        assert store.verify() == ()


def test_every_transaction_is_begun_with_both_bounds(url: str) -> None:
    with listening() as heard:
        with opened(url) as store:
            store.remember("The boiler is in the cellar.")
            store.recall("boiler cellar")
            store.queue.remember("waits", kind="thesis")
            store.queue.flush()
            assert store.verify() == ()
            storage = store._ctx.storage
            assert isinstance(storage, PostgresStorage)
            storage.queue().look([Cadence(kind="x", changes=1)])
            storage.queue().claim(["x"], holder="me", seconds=5)
            storage.tokens().rows()
            storage.mend(dry_run=True)
        look = Look(url)
        look.store()
        look.close()
    begun = [text for text in heard.first if text.startswith("BEGIN")]
    bounds = [re.findall(r"SET LOCAL (\w+) = (\d+)", text) for text in begun]
    assert {tuple(name for name, _ in found) for found in bounds} == {("lock_timeout", "statement_timeout")}
    assert all(int(value) > 0 for found in bounds for name, value in found if name == "lock_timeout")
    assert ("statement_timeout", "120000") in [pair for found in bounds for pair in found]


def test_no_advisory_lock_keeps_the_owner_from_writing_what_waits_or_finding_work(url: str) -> None:
    """Everybody who may log in can take an advisory lock of ours, and keep it."""
    with opened(url) as store, psycopg.connect(url, autocommit=True) as stranger:
        store.queue.remember("waits", kind="thesis")
        stranger.execute("SELECT pg_advisory_lock(%s)", (TURN_LOCK,))
        with soon():
            assert len(store.queue.flush().results) == 1
            storage = store._ctx.storage
            assert isinstance(storage, PostgresStorage)
            assert storage.queue().look([Cadence(kind="x", changes=1)]) == 1
