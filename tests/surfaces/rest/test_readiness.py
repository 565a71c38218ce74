"""One thread checks the store's readiness, for any number of probes (B-27)."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import wellkept
from stores import scratch
from wellkept.errors import StorageError
from wellkept.server.rest import health

MANY = 50


def test_a_store_that_says_nothing_is_not_ready_and_takes_one_thread_however_often_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A probe needs no token, so it must not use a thread each; a late result is not reused."""
    asked: list[object] = []
    answers = threading.Event()

    def silent(store: wellkept.MemoryStore) -> None:
        asked.append(store)
        assert answers.wait(60)

    monkeypatch.setattr(health, "_ask", silent)

    async def probes(store: wellkept.MemoryStore) -> None:
        readiness = health.Readiness(store, seconds=0.05)
        told = [await asyncio.gather(*(readiness.trouble() for _ in range(MANY))) for _ in range(2)]
        assert told == [["no answer in time"] * MANY] * 2 and len(asked) == 1
        answers.set()
        while await readiness.trouble():  # the one that was asked comes to its end
            pass
        assert await readiness.trouble() == "" and len(asked) > 1  # and then it is asked anew

    with wellkept.open(scratch(tmp_path), embedder="hashing", relation_model="none") as store:
        asyncio.run(probes(store))


def test_what_fails_is_told_to_all_who_ask_at_that_time_and_asked_anew_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    troubles: list[Exception] = [StorageError("gone")]

    def failing(store: wellkept.MemoryStore) -> None:
        if troubles:
            raise troubles.pop()

    monkeypatch.setattr(health, "_ask", failing)

    async def probes(store: wellkept.MemoryStore) -> list[str]:
        readiness = health.Readiness(store)
        together = await asyncio.gather(*(readiness.trouble() for _ in range(3)))
        return [*together, await readiness.trouble()]

    with wellkept.open(scratch(tmp_path), embedder="hashing", relation_model="none") as store:
        assert asyncio.run(probes(store)) == ["StorageError"] * 3 + [""]
