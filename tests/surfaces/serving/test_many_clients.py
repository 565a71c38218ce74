"""Many clients, one file, and a server that is killed twice: acknowledged writes are stored once (I1, I3, F-29)."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

import wellkept
from stores import place
from surfaces.serving.running import SECONDS, Server, serving, token
from wellkept.types import ALL_STATUSES, Filter

CLIENTS = 16
NAMESPACE = "acme/load"


@dataclass(frozen=True)
class Write:
    """A text to be written, and under which key."""

    content: str
    kind: str
    key: str


def writes(count: int) -> list[Write]:
    """Mixed writes: a third repeats another one, a tenth contradicts another one, some are point-in-time."""
    rng = random.Random(6)
    made: list[Write] = []
    fresh = 0
    while len(made) < count:
        key, chance = f"key-{len(made)}", rng.random()
        if chance < 1 / 3 and made:
            before = rng.choice(made)
            made.append(Write(before.content, before.kind, key) if before.kind == "lesson" else before)
        elif chance < 1 / 3 + 0.1 and fresh:
            number = rng.randrange(fresh)
            made.append(Write(f"Depot {number} of line {number} holds {9_000 + len(made)} crates.", "lesson", key))
        elif chance < 0.5:
            made.append(Write(f"Signal {len(made)} was green.", "signal", key))
        else:
            made.append(Write(f"Depot {fresh} of line {fresh} holds {fresh} crates.", "lesson", key))
            fresh += 1
    return made


@dataclass
class Load:
    """Clients that retry until each write is acknowledged, also while the server is down."""

    headers: dict[str, str]
    address: str = ""
    up: threading.Event = field(default_factory=threading.Event)
    counted: threading.Condition = field(default_factory=threading.Condition)
    told: list[tuple[Write, dict[str, Any]]] = field(default_factory=list)
    refused: int = 0

    def client(self, part: list[Write]) -> None:
        """Send a part of the writes, one after the other."""
        with httpx2.Client(headers=self.headers, timeout=SECONDS) as http:
            for write in part:
                self._acknowledge(write, self._sent(http, write))

    def wait_for(self, count: int) -> None:
        """Until so many writes were acknowledged."""
        self.wait_until(lambda: len(self.told) >= count)

    def wait_until(self, fits: Callable[[], bool]) -> None:
        """Wait until the clients have this many acknowledgements."""
        with self.counted:
            assert self.counted.wait_for(fits, timeout=10 * SECONDS)

    def _sent(self, http: httpx2.Client, write: Write) -> dict[str, Any]:
        while True:
            assert self.up.wait(SECONDS)
            try:
                answer = http.post(
                    f"{self.address}/v1/memories",
                    json={"content": write.content, "kind": write.kind},
                    headers={"Idempotency-Key": write.key},
                )
            except httpx2.TransportError:  # killed in the middle: nobody knows what became of it, so once more
                with self.counted:
                    self.refused += 1
                    self.counted.notify_all()
                continue
            assert answer.status_code in (200, 201), answer.text
            found: dict[str, Any] = answer.json()
            return found

    def _acknowledge(self, write: Write, answer: dict[str, Any]) -> None:
        with self.counted:
            self.told.append((write, answer))
            self.counted.notify_all()


def lives(db: Path, stack: ExitStack, load: Load) -> Iterator[Server]:
    """Starts the server again at each call, always at the same address."""
    port = 0
    while True:
        server = stack.enter_context(serving(db, "--rate", "0", port=port))
        port, load.address = server.port, server.address
        load.up.set()
        yield server


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("count", [160, pytest.param(10_000, marks=pytest.mark.soak)])
def test_what_was_acknowledged_is_there_once_although_the_server_was_killed_twice(tmp_path: Path, count: int) -> None:
    """Issue 6: 16 clients, a third repeats, a tenth conflicts, two kill -9 with restarts in between."""
    db = place(tmp_path / "a.db")
    secret = token(db, "acme/*", name="load")
    asked = writes(count)
    headers = {"Authorization": f"Bearer {secret}", "Wellkept-Namespace": NAMESPACE}
    load = Load(headers)
    with ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as pool:
        servers = lives(db, stack, load)
        server = next(servers)
        busy: list[Future[None]] = [pool.submit(load.client, asked[number::CLIENTS]) for number in range(CLIENTS)]
        for part in (1, 2):
            load.wait_for(part * count // 3)
            felt = load.refused
            server.signal(signal.SIGKILL)
            server.process.wait(SECONDS)
            load.wait_until(lambda felt=felt: load.refused > felt)
            load.up.clear()
            server = next(servers)
        for client in busy:
            client.result(10 * SECONDS)
        server.signal(signal.SIGTERM)
        assert server.end()[0] == 0
    assert len(load.told) == count
    kinds = Counter(answer["outcome"] for _, answer in load.told)
    assert kinds["duplicate"] > count / 6
    with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace=NAMESPACE) as store:
        assert store.verify() == ()
        rows = store.list(Filter(statuses=ALL_STATUSES))
        assert Counter(row.content for row in rows) == Counter({write.content for write in asked})
        ids = {row.id: row.content for row in rows}
        for write, answer in load.told:
            assert ids[answer["memory"]["id"]] == write.content
        conflicts = store.conflicts(settled=True)
        assert len(conflicts) >= count / 20
        entries = store.journal()
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert {entry.actor for entry in entries} == {"load"}


def test_the_writes_are_as_mixed_as_they_are_said_to_be() -> None:
    asked = writes(10_000)
    contents = Counter(write.content for write in asked)
    repeated = sum(count - 1 for count in contents.values()) / len(asked)
    contradicting = sum("holds 9" in write.content and len(write.content.split()[-2]) == 4 for write in asked)
    assert 0.25 < repeated < 0.4
    assert contradicting > 0
    assert {write.kind for write in asked} == {"lesson", "signal"}
