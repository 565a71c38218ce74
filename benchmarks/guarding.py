"""`python -m benchmarks.guarding`: cost of the gate's guarantee on PostgreSQL, and growth with many namespaces.

Eight processes store the same facts in two wordings, in eight namespaces: through the gate and naively (search, then
insert, in one transaction with the default isolation level) on one server, and through the gate into one SQLite file.
Then it measures the search for nearest rows in one namespace among 200 others, and a write and a search with a growing
number of namespaces.

It starts a server whose data is in the same folder as the SQLite file; `WELLKEPT_TEST_POSTGRES` names another server.
It needs modules of the tests: `PYTHONPATH=tests`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import psycopg
from numpy.typing import NDArray

import wellkept
from benchmarks.report import Figure, as_json, as_table, machine, plain
from benchmarks.vectors import DIM, row, sentences
from postgres import facts
from postgres.given import URL
from postgres.server import Server, start
from wellkept.models.hashing import HashingEmbedder
from wellkept.storage.port import Storage
from wellkept.storage.postgres import PostgresStorage
from wellkept.types import JournalEntry, MemoryChange

DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on")
OTHERS, ROWS_OF_OTHERS = 200, 100
_AT_ONCE = 1000
_KIND = "fact"


@dataclass(frozen=True)
class Sizes:
    """Sizes of the measurements.

    Attributes:
        processes: Number of processes that store at the same time.
        facts: Facts per process.
        turns: Turns of each variant: gate, naive and SQLite.
        rows: Sizes of the searched namespace.
        namespaces: Numbers of namespaces, step by step.
        samples: Searches, and writes, per figure.
    """

    processes: int = 8
    facts: int = 500
    turns: int = 3
    rows: tuple[int, ...] = (1_000, 10_000, 100_000)
    namespaces: tuple[int, ...] = (10, 1_000, 10_000)
    samples: int = 200


FULL = Sizes()
QUICK = Sizes(processes=2, facts=16, turns=1, rows=(200, 400), namespaces=(5, 20), samples=10)


# -- storing the same facts -------------------------------------------------------------------


def storing(running: Server, folder: Path, sizes: Sizes) -> list[Figure]:
    """Rates and slowest calls of the three variants, measured in turns; ratios per turn."""
    told: dict[str, list[facts.Spread]] = {"guarded": [], "naive": [], "sqlite": []}
    second = 0
    for turn in range(sizes.turns):
        for way, done in told.items():
            match way:
                case "sqlite":
                    url = str(folder / f"facts-{turn}.db")
                    done.append(facts.spread("guarded", url, processes=sizes.processes, facts=sizes.facts))
                case _:
                    url = running.database() if way == "guarded" else running.bare()
                    done.append(_spread(way, url, sizes))
                    second += len(done[-1].times) and _second_rows(way, url, sizes)
                    running.drop(url) if way == "naive" else running.release(url)
    figures = []
    for way, label in (("guarded", "guarded"), ("naive", "naive"), ("sqlite", "guarded, SQLite")):
        figures += [
            plain(f"{way}_rate", f"stores a second, {label}", [one.rate for one in told[way]], unit="/s"),
            plain(f"{way}_p50", f"one store, {label}, p50", [1e3 * median(one.times) for one in told[way]], unit="ms"),
            plain(f"{way}_p99", f"one store, {label}, p99", [one.p99 for one in told[way]], unit="ms"),
        ]
    for way, label in (("naive", "the naive way"), ("sqlite", "SQLite")):
        pairs = list(zip(told["guarded"], told[way], strict=True))
        figures += [
            plain(f"rate_over_{way}", f"stores a second, guarded over {label}", _rates(pairs), unit="x"),
            plain(
                f"p99_over_{way}", f"p99, guarded over {label}", [ours.p99 / own.p99 for ours, own in pairs], unit="x"
            ),
        ]
    figures.append(plain("naive_second", "second rows, naive way, all turns", [second], unit="rows"))
    return figures


def _rates(pairs: Sequence[tuple[facts.Spread, facts.Spread]]) -> list[float]:
    return [ours.rate / own.rate for ours, own in pairs]


def _spread(way: str, url: str, sizes: Sizes) -> facts.Spread:
    if way == "naive":
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS vector; {facts.NAIVE}".encode())
    return facts.spread(way, url, processes=sizes.processes, facts=sizes.facts)


def _second_rows(way: str, url: str, sizes: Sizes) -> int:
    """Number of duplicate rows; 0 through the gate."""
    table = "naive" if way == "naive" else "wellkept.memory"
    with psycopg.connect(url) as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() or (0,)
    second = int(count) - sizes.facts
    assert second == 0 or way == "naive", f"{second} second rows through the gate"
    return second


# -- searching one namespace among others -----------------------------------------------------


def searching(running: Server, sizes: Sizes) -> list[Figure]:
    """Time of the ten nearest rows, through the port with its transaction, by size of the namespace."""
    url = running.database()
    store = PostgresStorage(url)
    store.configure(embedder="bench", dim=DIM, policy="bench")
    vectors = sentences(max(sizes.rows) + sizes.samples, seed=3)
    asked = vectors[-sizes.samples :]
    for other in range(OTHERS if sizes.rows[-1] > _AT_ONCE else 3):
        _append(store, f"other/{other}", 0, vectors[other : other + ROWS_OF_OTHERS])
    figures, first, filled = [], 0.0, 0
    for size in sizes.rows:
        for begin in range(filled, size, _AT_ONCE):
            _append(store, "searched", begin, vectors[begin : min(size, begin + _AT_ONCE)])
        filled = size
        _nearest(store, asked[0])  # loads the matrix of the namespace
        times = [_timed(partial(_nearest, store, query), clock=time.process_time) for query in asked]
        figures.append(plain(f"nearest_{size}", f"ten nearest of {size:,}, CPU of the caller", times, unit="ms"))
        first = first or median(times)
        figures.append(
            plain(f"nearest_growth_{size}", f"the same over {sizes.rows[0]:,}", [median(times) / first], unit="x")
        )
    store.close()
    running.release(url)
    return figures


def _append(store: Storage, namespace: str, first: int, vectors: NDArray[np.float32]) -> None:
    rows = [replace(row(first + number), namespace=namespace) for number in range(len(vectors))]
    effects = tuple(MemoryChange(None, one) for one in rows)
    ids = tuple(one.id for one in rows)
    entry = JournalEntry(at=rows[0].created_at, verb="remember", outcome="created", effects=effects, memory_ids=ids)
    with store.begin(namespace, write=True) as tx:
        tx.apply(entry, vectors={one.embedding: vector for one, vector in zip(rows, vectors, strict=True)})


def _nearest(store: Storage, query: NDArray[np.float32]) -> int:
    with store.begin("searched", write=False) as tx:
        return len(tx.nearest(query[None, :], limit=10, statuses=("active",))[0].ids)


# -- many namespaces --------------------------------------------------------------------------


def growing(running: Server, sizes: Sizes) -> list[Figure]:
    """Time of a write and a recall in existing namespaces, by number of namespaces."""
    url = running.database()
    storage = PostgresStorage(url)
    store = wellkept.open(storage, embedder=HashingEmbedder(), relation_model="none")
    figures, first, filled = [], (0.0, 0.0), 0
    for count in sizes.namespaces:
        for number in range(filled, count):
            store.in_namespace(f"team/{number}").remember(f"Gate {number} opens at six.", kind=_KIND)
        filled = count
        chosen = [store.in_namespace(f"team/{number * count // sizes.samples}") for number in range(sizes.samples)]
        texts = [f"Lamp {count} {at} is dim." for at in range(len(chosen))]
        writes = [_timed(partial(here.remember, text, kind=_KIND)) for here, text in zip(chosen, texts, strict=True)]
        reads = [_timed(partial(here.recall, "which gate", touch=False)) for here in chosen]
        # The fastest tenth of each, because other load only makes calls slower.
        best = (_fast(writes), _fast(reads))
        first = first if first[0] else best
        label = f"{count:,} namespaces"
        figures += [
            plain(f"write_{count}", f"a write, {label}, p10", [best[0]], unit="ms"),
            plain(f"write_growth_{count}", f"the same over {sizes.namespaces[0]}", [best[0] / first[0]], unit="x"),
            plain(f"read_{count}", f"a recall, {label}, p10", [best[1]], unit="ms"),
            plain(f"read_growth_{count}", f"the same over {sizes.namespaces[0]}", [best[1] / first[1]], unit="x"),
        ]
    store.close()
    storage.close()
    running.release(url)
    return figures


def _fast(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 10]


def _timed(work: Callable[[], object], *, clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    work()
    return 1e3 * (clock() - began)


# -- all of it --------------------------------------------------------------------------------


@contextmanager
def served() -> Iterator[tuple[Server, Path]]:
    """A server, and a folder next to its data."""
    running = Server(URL) if URL else start(*DURABLE)
    beside = running.folder.parent if running.folder is not None else None
    try:
        with tempfile.TemporaryDirectory(prefix="wellkept-bench-", dir=beside) as name:
            yield running, Path(name)
    finally:
        running.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; no files remain."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guarding", description="The guarantee on PostgreSQL.")
    parser.add_argument("--quick", action="store_true", help="small sizes; shows that it runs, not how fast")
    parser.add_argument("--only", action="append", choices=["storing", "searching", "growing"], help="may be repeated")
    parser.add_argument("--facts", type=int, help="how many, on a slow machine")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    sizes = QUICK if given.quick else FULL
    sizes = replace(sizes, facts=given.facts) if given.facts else sizes
    only = given.only or ["storing", "searching", "growing"]
    figures: list[Figure] = []
    with served() as (running, folder):
        about = machine(folder)
        if "storing" in only:
            figures += storing(running, folder, sizes)
        if "searching" in only:
            figures += searching(running, sizes)
        if "growing" in only:
            figures += growing(running, sizes)
    print(as_json(about, figures) if given.json else as_table(about, figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
