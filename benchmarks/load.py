"""Load test: many clients and a server that is killed twice; measures requests and checks that nothing is lost.

A third of the writes repeats another one, a tenth contradicts another one. Each client retries until all its writes are
acknowledged. Then the store is checked: each acknowledged text is stored, none has a second row, and `verify` finds
nothing. For the ratio, the same writes are made in process, one after the other, into a separate store.
"""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx2

import wellkept
from benchmarks.report import Figure, plain
from wellkept.models.hashing import HashingEmbedder
from wellkept.types import ALL_STATUSES, Filter

CLIENTS = 16
KILLS = 2
_SECONDS = 120

Start = Callable[[int], tuple["subprocess.Popen[str]", str]]
"""Starts the server on a port (0 for any); returns its process and address."""


@dataclass(frozen=True, slots=True)
class Write:
    """A text to write, with its idempotency key."""

    content: str
    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class Told:
    """The result of a write.

    Attributes:
        write: The write.
        memory_id: Id of the memory in the answer.
        outcome: Outcome in the answer.
        seconds: Time of the request; None if the server was killed during it.
    """

    write: Write
    memory_id: str
    outcome: str
    seconds: float | None


def mixed(count: int, *, seed: int = 6) -> list[Write]:
    """Writes, of which a third repeats and a tenth contradicts an earlier one; a fifth are separate events."""
    rng = random.Random(seed)
    made: list[Write] = []
    said: list[Write] = []
    fresh = 0
    for place in range(count):
        key, chance = f"load-{place}", rng.random()
        if chance < 1 / 3 and said:
            made.append(Write(rng.choice(said).content, "lesson", key))
            continue
        if chance < 1 / 3 + 0.1 and fresh:
            number = rng.randrange(fresh)
            made.append(Write(f"Depot {number} of line {number} holds {count + place} crates.", "lesson", key))
        elif chance < 0.6:
            made.append(Write(f"Signal {place} was green.", "signal", key))
            continue
        else:
            made.append(Write(f"Depot {fresh} of line {fresh} holds {fresh} crates.", "lesson", key))
            fresh += 1
        said.append(made[-1])
    return made


@dataclass
class Load:
    """The clients and the answers they received."""

    headers: dict[str, str]
    address: str = ""
    up: threading.Event = field(default_factory=threading.Event)
    counted: threading.Condition = field(default_factory=threading.Condition)
    told: list[Told] = field(default_factory=list)
    felt: int = 0

    def client(self, part: Sequence[Write]) -> None:
        """Send some of the writes, one after the other."""
        with httpx2.Client(headers=self.headers, timeout=_SECONDS) as http:
            for write in part:
                told = self._sent(http, write)
                with self.counted:
                    self.told.append(told)
                    self.counted.notify_all()

    def wait_for(self, count: int) -> None:
        """Wait until `count` writes are acknowledged."""
        with self.counted:
            self.counted.wait_for(lambda: len(self.told) >= count)

    def _sent(self, http: httpx2.Client, write: Write) -> Told:
        body = {"content": write.content, "kind": write.kind}
        repeated = False
        while True:
            self.up.wait()
            began = time.perf_counter()
            try:
                answer = http.post(f"{self.address}/v1/memories", json=body, headers={"Idempotency-Key": write.key})
            except httpx2.TransportError:  # its result is unknown, so retry with the same key
                repeated = True
                with self.counted:
                    self.felt += 1
                continue
            seconds = time.perf_counter() - began
            assert answer.status_code in (200, 201), answer.text
            found: dict[str, Any] = answer.json()
            return Told(write, found["memory"]["id"], found["outcome"], None if repeated else seconds)


def under_load(db: Path, start: Start, headers: dict[str, str], *, namespace: str, count: int) -> list[Figure]:
    """Send `count` writes by many clients, kill the server in between, check the store, and compare."""
    given = mixed(count)
    load = Load(headers)
    process, load.address = start(0)
    port = int(load.address.rpartition(":")[2])
    began, down = time.perf_counter(), 0.0
    load.up.set()
    with ThreadPoolExecutor(CLIENTS) as pool:
        busy = [pool.submit(load.client, given[number::CLIENTS]) for number in range(CLIENTS)]
        for part in range(1, KILLS + 1):
            load.wait_for(part * count // (KILLS + 1))
            load.up.clear()
            process.send_signal(signal.SIGKILL)
            killed = time.perf_counter()
            process.communicate()
            process, load.address = start(port)
            down += time.perf_counter() - killed
            load.up.set()
        for client in busy:
            client.result()
    seconds = time.perf_counter() - began - down
    process.terminate()
    process.communicate()
    wrong = problems(db, load.told, given, namespace=namespace)
    assert not wrong, wrong
    return _figures(load, seconds, _in_process(db.with_name("alone.db"), given, namespace))


def problems(db: Path, told: Sequence[Told], given: Sequence[Write], *, namespace: str) -> list[str]:
    """Lost writes, duplicate rows and findings of `verify`; empty if there are none."""
    with wellkept.open(str(db), embedder=HashingEmbedder(), relation_model="none", namespace=namespace) as store:
        rows = {row.id: row.content for row in store.list(Filter(statuses=ALL_STATUSES))}
        found = [f"verify: {problem}" for problem in store.verify()]
        conflicts = len(store.conflicts(settled=True))
    found += [f"lost: {one.write.content}" for one in told if rows.get(one.memory_id) != one.write.content]
    twice = Counter(rows.values()) - Counter({write.content for write in given})
    found += [f"{number} rows too many: {content}" for content, number in twice.items()]
    if len(told) != len(given):
        found.append(f"{len(told)} of {len(given)} were acknowledged")
    if not conflicts:
        found.append("no contradiction was found")
    return found


def _in_process(db: Path, given: Sequence[Write], namespace: str) -> list[float]:
    """Seconds per write of one caller in process."""
    times = []
    with wellkept.open(str(db), embedder=HashingEmbedder(), relation_model="none", namespace=namespace) as store:
        for write in given:
            began = time.perf_counter()
            store.remember(write.content, kind=write.kind, idempotency_key=write.key)
            times.append(time.perf_counter() - began)
    return times


def _figures(load: Load, seconds: float, alone: list[float]) -> list[Figure]:
    times = [one.seconds for one in load.told if one.seconds is not None]
    outcomes = Counter(one.outcome for one in load.told)
    rate, own = len(load.told) / seconds, len(alone) / sum(alone)
    label = f"mixed writes, {CLIENTS} clients"
    return [
        plain("load_rate", label, [rate], unit="/s"),
        plain("load_own_rate", "the same in process, one caller", [own], unit="/s"),
        plain("load_rate_ratio", f"{label}: requests a second over calls a second", [rate / own], unit="x"),
        plain("load_p50", f"{label}, p50", [1e3 * median(times)], unit="ms"),
        plain("load_p99", f"{label}, p99", [1e3 * slowest(times)], unit="ms"),
        plain("load_ratio_p50", f"{label}: p50 over p50 in process", [median(times) / median(alone)], unit="x"),
        plain("load_ratio_p99", f"{label}: p99 over p99 in process", [slowest(times) / slowest(alone)], unit="x"),
        plain("load_repeats", f"{label}: told as repeats", [outcomes["duplicate"] / len(load.told)], unit="of all"),
        plain("load_felt", f"{label}: requests without an answer, of {KILLS} kills", [float(load.felt)], unit=""),
    ]


def slowest(times: Sequence[float]) -> float:
    """The 99th percentile."""
    return sorted(times)[min(len(times) - 1, int(0.99 * len(times)))]
