"""Servers that die and networks that break while many write: nothing acknowledged is lost, nothing is there twice.

The figures are printed; `pytest -s` shows them.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest

from postgres.proxy import At, Proxy
from postgres.server import Server, server
from postgres.standby import both, pair, promote
from postgres.writers import Writers, losses

CUTS: tuple[At, ...] = ("before", "unanswered", "unread")


@pytest.fixture
def servers() -> Iterator[tuple[Server, Server]]:
    primary, standby = pair()
    yield primary, standby
    standby.stop()
    primary.stop()


@pytest.mark.parametrize(
    "answers", [pytest.param(150, marks=pytest.mark.slow), pytest.param(1_500, marks=pytest.mark.soak)]
)
def test_a_primary_that_is_killed_under_load_loses_nothing_and_its_standby_goes_on(
    servers: tuple[Server, Server], answers: int
) -> None:
    """Every commit is on the synchronous standby before its answer, also one whose result had to be queried."""
    primary, standby = servers
    url = both(primary, standby, primary.bare())
    writers = Writers(url, processes=3, threads=3)
    try:
        writers.wait_for(answers)
        assert primary.process is not None
        killed = time.monotonic()
        primary.process.kill()
        primary.process.wait()
        promote(standby)
        promoted = time.monotonic()
        before = writers.count()
        writers.wait_for(before + answers)
        told = writers.stop()
    finally:
        writers.kill()
    flowing = min(at for at in told.times if at > promoted)
    lost, doubled, rows = losses(url, told)
    sys.stdout.write(
        f"\n{len(told.times)} answers, {told.errors.total()} errors; lost {lost}, doubled {doubled}, {rows} rows; "
        f"promoted {promoted - killed:.2f} s after the kill, writes flow again {flowing - killed:.2f} s after it\n"
    )
    # No error: every write got through within the patience of a store.
    assert (lost, doubled, dict(told.errors)) == (0, 0, {})


@pytest.mark.parametrize(
    ("seconds", "answers"),
    [pytest.param(4, 150, marks=pytest.mark.slow), pytest.param(60, 3_000, marks=pytest.mark.soak)],
)
def test_connections_cut_at_random_lose_nothing_and_double_nothing(seconds: int, answers: int) -> None:
    """By the server, by the network, and between a commit and its answer."""
    running = server()
    url = running.database()
    proxy = Proxy(url)
    chance = random.Random(7)
    proxy.at_commit = lambda: chance.choice(CUTS) if chance.random() < 0.02 else ""
    writers = Writers(proxy.url, processes=3, threads=3)
    cut = terminated = 0
    name = urlsplit(url).path[1:]

    def enough() -> bool:
        return proxy.cuts > seconds // 4 and cut > seconds // 6 and terminated > seconds // 2

    try:
        writers.wait_for(50)
        until = time.monotonic() + seconds
        with psycopg.connect(running.url, autocommit=True) as connection:
            while time.monotonic() < until or writers.count() < answers or not enough():
                threading.Event().wait(chance.uniform(0.05, 0.5))
                match chance.randrange(4):
                    case 0:
                        proxy.cut()
                        cut += 1
                    case 1:
                        proxy.refusing = True
                        proxy.cut()
                        threading.Event().wait(chance.uniform(0.1, 1.0))
                        proxy.refusing = False
                        cut += 1
                    case _:
                        done = connection.execute(
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s "
                            "ORDER BY random() LIMIT 3",
                            (name,),
                        )
                        terminated += len(done.fetchall())
        told = writers.stop()
        lost, doubled, rows = losses(url, told)
    finally:
        writers.kill()
        proxy.stop()
        running.release(url)
    sys.stdout.write(
        f"\n{len(told.times)} answers, {told.errors.total()} errors; lost {lost}, doubled {doubled}, {rows} rows; "
        f"{proxy.cuts} connections cut at a commit, all cut {cut} times, {terminated} ended by the server\n"
    )
    assert (lost, doubled, dict(told.errors)) == (0, 0, {})
    assert enough()
    assert len(told.times) >= answers
