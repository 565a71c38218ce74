"""Facts that many processes store concurrently in different wordings: through the gate, or naively.

The naive way ignores concurrency: search, and insert if nothing was found, in one transaction with the default
isolation level. Used by the tests and by `benchmarks.guarding`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

import wellkept
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel

FACTS, WORDINGS, PROCESSES = 500, 2, 8
SPACES = tuple(f"acme/team-{number}" for number in range(8))
COSINE, DIM = 0.98, 128
ROOT = Path(__file__).parents[2]
PATHS = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)]
NAIVE = "CREATE TABLE naive (ns text, content text, vec halfvec(128)); CREATE INDEX naive_ns ON naive (ns)"


@dataclass(frozen=True)
class Spread:
    """Results of several processes.

    Attributes:
        outcomes: How often each outcome was told.
        ids: By namespace, the rows that were named.
        times: Seconds of each call.
        seconds: From the first begin to the last end.
    """

    outcomes: Counter[str]
    ids: dict[str, set[str]]
    times: list[float]
    seconds: float

    @property
    def rate(self) -> float:
        """Calls a second, of all processes together."""
        return len(self.times) / self.seconds

    @property
    def p99(self) -> float:
        """Milliseconds that 99 of 100 calls stay below."""
        return 1e3 * sorted(self.times)[int(0.99 * (len(self.times) - 1))]


def wordings(number: int) -> tuple[str, str]:
    """Two sentences that say one thing."""
    name = f"{_letters(number)} gauge"
    return f"Close the {name} when it turns hot.", f"When the {name} turns hot, close it."


def _letters(number: int) -> str:
    # No digits: two numbers would be told apart by their values, not by their vectors.
    return "".join("aeiou"[number // 5**place % 5] + "bdfgklmnprst"[number % 12] for place in range(3))


def embedder(at: int, facts: int = FACTS) -> FakeEmbedder:
    """One that knows which sentences of a namespace say one thing; any others lie far from each other."""
    numbers = range(at, facts, len(SPACES))
    made = FakeEmbedder({wordings(number): COSINE for number in numbers}, dim=DIM)
    made.embed([text for number in numbers for text in wordings(number)])  # each has its place now
    return made


def spread(way: str, url: str, *, processes: int = PROCESSES, facts: int = FACTS) -> Spread:
    """Every process says every fact in one of its wordings, all of them in the same order: they meet at every one.

    Args:
        way: `guarded` or `naive`.
        url: Of the store, or of the database with the naive table.
        processes: How many.
        facts: How many.
    """
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "postgres.facts", way, url, str(number), str(facts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={"PYTHONPATH": ":".join(PATHS), "OPENBLAS_NUM_THREADS": "1"},
        )
        for number in range(processes)
    ]
    try:
        for one in running:
            assert one.stdout is not None and one.stdout.readline() == "ready\n"
        for one in running:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        told: list[dict[str, Any]] = [json.loads(one.communicate(timeout=1800)[0]) for one in running]
    finally:
        for one in running:
            if one.poll() is None:
                one.kill()
                one.communicate()
    outcomes: Counter[str] = Counter()
    ids: dict[str, set[str]] = {name: set() for name in SPACES}
    for part in told:
        outcomes.update(part["outcomes"])
        for name, named in part["ids"].items():
            ids[name].update(named)
    begun, ended = min(part["begun"] for part in told), max(part["ended"] for part in told)
    return Spread(outcomes, ids, [one for part in told for one in part["times"]], ended - begun)


class Guarded:
    """A store of ours: a database, or where the URL is none a file."""

    def __init__(self, url: str, embedders: dict[str, FakeEmbedder]) -> None:
        self._storage = PostgresStorage(url) if "://" in url else SqliteStorage(url)
        reader = FakeRelationModel()
        self._stores = {
            name: wellkept.open(self._storage, embedder=embedders[name], relation_model=reader, namespace=name)
            for name in SPACES
        }

    def store(self, namespace: str, text: str) -> tuple[str, str]:
        """Outcome and row."""
        told = self._stores[namespace].remember(text, kind="lesson")
        assert told.memory is not None, told
        return told.outcome, told.memory.id

    def close(self) -> None:
        """Let go of everything."""
        for one in self._stores.values():
            one.close()
        self._storage.close()


class Naive:
    """Search, then insert."""

    def __init__(self, url: str, embedders: dict[str, FakeEmbedder]) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._embedders = embedders

    def store(self, namespace: str, text: str) -> tuple[str, str]:
        """Outcome and, for a row, its text."""
        (made,) = self._embedders[namespace].embed([text])
        assert made.vector is not None
        vector = "[" + ",".join(map(str, np.asarray(made.vector).tolist())) + "]"
        with self._connection.transaction():
            row = self._connection.execute(
                "SELECT vec <=> %s::halfvec FROM naive WHERE ns = %s ORDER BY 1 LIMIT 1", (vector, namespace)
            ).fetchone()
            if row is not None and row[0] < 1 - COSINE + 0.01:
                return "duplicate", text
            self._connection.execute("INSERT INTO naive VALUES (%s, %s, %s::halfvec)", (namespace, text, vector))
        return "created", text

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


def main(way: str, url: str, writer: str, facts: str) -> None:
    """One of the processes: says that it is ready, waits for a line, works, and tells."""
    embedders = {name: embedder(at, int(facts)) for at, name in enumerate(SPACES)}
    one = (Guarded if way == "guarded" else Naive)(url, embedders)
    outcomes: Counter[str] = Counter()
    ids: dict[str, set[str]] = {name: set() for name in SPACES}
    times = []
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    begun = time.monotonic()
    for number in range(int(facts)):
        namespace = SPACES[number % len(SPACES)]
        text = wordings(number)[int(writer) % WORDINGS]
        started = time.monotonic()
        outcome, row = one.store(namespace, text)
        times.append(time.monotonic() - started)
        outcomes[outcome] += 1
        ids[namespace].add(row)
    told = {"outcomes": outcomes, "ids": {name: sorted(rows) for name, rows in ids.items()}, "times": times}
    sys.stdout.write(json.dumps({**told, "begun": begun, "ended": time.monotonic()}))
    one.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
