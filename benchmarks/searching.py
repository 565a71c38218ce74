"""`python -m benchmarks.searching`: speed of the nearest-neighbour search in one namespace.

Each query goes to all contenders in turns, so that other load slows all of them, and ratios are computed per query.
Prints one JSON object per line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders import NAMES, Search, contender
from benchmarks.vectors import DIM, NAMESPACE, append, fill, sentences
from wellkept.storage.sqlite import SqliteStorage
from wellkept.storage.vectors.index import Space
from wellkept.storage.vectors.rows import Block, Stamp

Told = dict[str, object]
TOP = 10
SMALL, GOAL = (10_000,), 1.5
_THREADS = 8


class Clocked:
    """Times of one contender.

    Attributes:
        wall: Elapsed seconds of each search.
        cpu: CPU seconds of each search, over all threads.
    """

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def run(self, work: Callable[[], object]) -> None:
        """Run once and record its times."""
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - wall)

    def told(self) -> Told:
        """Median and 99th percentile, in milliseconds."""
        return {"p50_ms": _ms(self.wall, 50), "p99_ms": _ms(self.wall, 99), "cpu_p50_ms": _ms(self.cpu, 50)}


def _ms(times: Sequence[float], percent: int) -> float:
    return round(1e3 * float(np.percentile(times, percent)), 3)


def _ratio(ours: Sequence[float], other: Sequence[float]) -> float:
    return round(median(one / max(two, 1e-9) for one, two in zip(ours, other, strict=True)), 3)


# --------------------------------------------------------------------------------------------
# One search at a time


def searches(
    rows: NDArray[np.float32], path: Path | None, folder: Path, *, queries: int, rivals: Sequence[str]
) -> Iterator[Told]:
    """Times and recall of a search through the port, of its scan alone, of reading memory, and of the baselines.

    Without a file, the search through the port is skipped.
    """
    asked = sentences(queries, seed=77)
    asked[::2] = rows[:: max(1, 2 * len(rows) // queries)][: len(asked[::2])] + 0.3 * asked[1::2][: len(asked[::2])]
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    store = None if path is None else SqliteStorage(path, index_bytes=1 << 33)
    space = _space(rows)
    others = dict(_others(rows, rivals, folder))
    first_part = np.ascontiguousarray(rows[:, : DIM // 3])
    jobs: dict[str, Callable[[NDArray[np.float32]], object]] = {
        "scan": lambda query: {int(one[-12:]) for one in space.nearest(query, limit=TOP)[0].ids},
        "read-all": lambda _: np.bitwise_or.reduce(rows.view(np.uint64), axis=None),
        "read-first": lambda _: np.bitwise_or.reduce(first_part.view(np.uint64), axis=None),
        **others,
    }
    if store is not None:
        jobs["search"] = lambda query: set(_ask(store, query))
    for _ in range(4 + len(rows) // 16_384):  # until the sieve is built
        assert store is None or jobs["search"](asked[0]) == jobs["scan"](asked[0])
        jobs["scan"](asked[0])
    times = {name: Clocked() for name in jobs}
    found: dict[str, float] = dict.fromkeys(jobs, 0.0)
    names = list(jobs)
    for turn, query in enumerate(asked):
        truth = _truth(rows, query)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            answer: list[object] = []
            times[name].run(lambda job=jobs[name], q=query, into=answer: into.append(job(q)))  # type: ignore[misc]
            if isinstance(answer[0], set):
                found[name] += len(truth & answer[0]) / TOP / queries
    for name, clocked in times.items():
        recall = {} if name.startswith("read") else {"recall": round(found[name], 4)}
        yield {"figure": name, "size": len(rows), "n": queries, **clocked.told(), **recall}
    found_by = "scan" if store is None else "search"
    for ours, other, goal in (
        ("scan", "read-all", GOAL),
        ("scan", "read-first", None),
        *((("scan" if o.startswith("int8") else found_by), o, None) for o in others),
    ):
        wall, cpu = _ratio(times[ours].wall, times[other].wall), _ratio(times[ours].cpu, times[other].cpu)
        told: Told = {"ratio": f"{ours} over {other}", "size": len(rows), "wall": wall, "cpu": cpu}
        yield told | ({} if goal is None else {"goal": goal, "met": cpu <= goal})
    yield {"figure": "index memory", "size": len(rows), "bytes_a_vector": round(space.nbytes / len(rows))}
    if store is not None:
        store.close()


def _ask(store: SqliteStorage, query: NDArray[np.float32]) -> list[int]:
    with store.begin(NAMESPACE, write=False) as tx:
        (found,) = tx.nearest(query[None, :], limit=TOP, statuses=("active",))
    return [int(one[-12:]) for one in found.ids]


def _space(rows: NDArray[np.float32]) -> Space:
    """A matrix as in a store."""
    space = Space()
    ids = [f"{number:012}" for number in range(len(rows))]
    blocks = (
        Block(ids[at : at + 4096], ["k"] * len(part), ["active"] * len(part), part.astype("<f2").tobytes())
        for at in range(0, len(rows), 4096)
        for part in (rows[at : at + 4096],)
    )
    space.load(Stamp("bench", 1, DIM), 1, blocks, room=len(rows))
    return space


def _truth(rows: NDArray[np.float32], query: NDArray[np.float32]) -> set[int]:
    """The exact nearest rows in stored form: half precision, scaled to length 1."""
    likely = np.argpartition(rows @ query, len(rows) - 20 * TOP)[-20 * TOP :]
    near = rows[likely].astype("<f2").astype(np.float64)
    scores = near @ query.astype(np.float64) / np.linalg.norm(near, axis=1)
    return set(likely[np.argsort(-scores)[:TOP]].tolist())


def _others(rows: NDArray[np.float32], rivals: Sequence[str], folder: Path) -> Iterator[tuple[str, Search]]:
    for name in ("numpy", *rivals):
        print(f"making {name} of {len(rows):,} …", file=sys.stderr, flush=True)
        try:
            yield name, contender(name, rows, top=TOP, folder=folder)
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)


# --------------------------------------------------------------------------------------------
# A process that opens the store and searches once; the floor reads and scans as many bytes


def opening(path: Path, size: int, *, runs: int) -> Iterator[Told]:
    """Opening and first search in a new process, with a cold and a warm file cache; memory per vector."""
    told: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    for _ in range(runs):
        for how, each in told.items():
            if how == "cold":
                _forget(path)
            each.append(json.loads(_child("--opens", str(path))))
    for how, each in told.items():
        middle = {key: round(median(one[key] for one in each), 3) for key in each[0]}
        yield {"figure": f"open, {how}", "size": size, "n": runs, **middle}


def _opens(path: Path) -> None:
    """In the new process: times of opening, of the first search and of the next one."""
    query = sentences(1, seed=78)[0]
    before = _resident()
    times, cpu = [time.perf_counter()], [time.process_time()]
    store = SqliteStorage(path)

    def lap() -> None:
        times.append(time.perf_counter())
        cpu.append(time.process_time())

    lap()
    _ask(store, query)
    lap()
    _ask(store, query)
    lap()
    first = _resident()
    for _ in range(200):
        _ask(store, query)
    with store.begin(NAMESPACE, write=False) as tx:
        rows = max(1, tx.census().statuses.get("active", 1))
    spent = [1e3 * (later - earlier) for earlier, later in zip(times, times[1:], strict=False)]
    worked = [1e3 * (later - earlier) for earlier, later in zip(cpu, cpu[1:], strict=False)]
    figures = {
        "open_ms": spent[0],
        "first_answer_ms": spent[1],
        "next_answer_ms": spent[2],
        "open_cpu_ms": worked[0],
        "first_answer_cpu_ms": worked[1],
        "bytes_a_vector_after_first": (first - before) / rows,
        "bytes_a_vector_after_many": (_resident() - before) / rows,
        "peak_bytes_a_vector": (_resident("VmHWM") - before) / rows,
    }
    print(json.dumps(figures))
    store.close()


def _resident(line: str = "VmRSS") -> int:
    """Resident memory of this process in bytes, current or peak; 0 if the system does not report it."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(one.split()[1]) for one in lines if one.startswith(line)), 0)


def _forget(path: Path) -> None:
    """Drop the file from the system's cache, if the system supports it."""
    if not hasattr(os, "posix_fadvise"):
        return
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# --------------------------------------------------------------------------------------------
# Eight reading threads with a concurrent process that writes, and with one that only computes


def beside(path: Path, size: int, *, rounds: int, seconds: float) -> Iterator[Told]:
    """Times of reads alone, with a concurrent computing process, and with a concurrent writing process.

    Both processes use the CPU to the same extent, so the difference between them is waiting.
    """
    asked = sentences(64, seed=79)
    store = SqliteStorage(path, index_bytes=1 << 33)
    for _ in range(8 + size // 16_384):
        _ask(store, asked[0])
    kinds = {"alone": (), "computing": ("--computes",), "writing": ("--writes", str(path))}
    times: dict[str, list[float]] = {name: [] for name in kinds}
    p99: dict[str, list[float]] = {name: [] for name in kinds}
    written = 0
    for _ in range(rounds):
        for name, arguments in kinds.items():
            with _companion(arguments) as said:
                some = _reading(store, asked, seconds)
            written += said[0] if name == "writing" else 0
            times[name] += some
            p99[name].append(float(np.percentile(some, 99)))
    store.close()
    for name, each in times.items():
        figure: Told = {"figure": f"{_THREADS} threads, {name}", "size": size, "n": len(each)}
        yield figure | {"p50_ms": _ms(each, 50), "p99_ms": _ms(each, 99), "max_ms": round(1e3 * max(each), 3)}
    yield {"figure": "writes meanwhile", "size": size, "per_second": round(written / rounds / seconds, 1)}
    for other in ("alone", "computing"):
        yield {"ratio": f"read p99, writing over {other}", "size": size, "wall": _ratio(p99["writing"], p99[other])}


def _reading(store: SqliteStorage, asked: NDArray[np.float32], seconds: float) -> list[float]:
    times: list[list[float]] = [[] for _ in range(_THREADS)]
    together = threading.Barrier(_THREADS)

    def read(mine: list[float], at: int) -> None:
        together.wait()
        until = time.perf_counter() + seconds
        started = 0.0
        while started < until:
            at += 1
            started = time.perf_counter()
            _ask(store, asked[at % len(asked)])
            mine.append(time.perf_counter() - started)

    threads = [threading.Thread(target=read, args=(mine, 8 * at)) for at, mine in enumerate(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [one for mine in times for one in mine]


@contextmanager
def _companion(arguments: Sequence[str]) -> Iterator[list[int]]:
    """Run a process within the block; at the end it reports the number of its writes."""
    said = [0]
    if not arguments:
        yield said
        return
    process = subprocess.Popen(_command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield said
    finally:
        told, _ = process.communicate(timeout=60)
    said[0] = int(told or 0)


def _until_told(work: Callable[[int], None]) -> None:
    """In the companion process: work until standard input is closed, then print the number of rounds."""
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    print("ready", flush=True)
    count = 0
    while not over.is_set():
        work(count)
        count += 1
    print(count)


def _computes(_: int) -> None:
    sum(range(20_000))


def _writes(path: Path) -> None:
    store = SqliteStorage(path, durability="full")
    vectors = sentences(500, seed=os.getpid())
    with store.begin(NAMESPACE, write=False) as tx:
        first = sum(tx.census().statuses.values())
    _until_told(lambda count: append(store, first + count, vectors[count % 500][None, :]))
    store.close()


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.searching", *arguments]


def _child(*arguments: str) -> str:
    done = subprocess.run(_command(*arguments), check=True, capture_output=True, text=True)
    return done.stdout


# --------------------------------------------------------------------------------------------


def measure(
    size: int, folder: Path, *, queries: int, rivals: Sequence[str], quick: bool = False, file: bool = True
) -> Iterator[Told]:
    """All figures of one size; without a file only those of the matrix, which does not take hours to fill."""
    rows = sentences(size, seed=1)
    if not file:
        yield from searches(rows, None, folder, queries=queries, rivals=rivals)
        return
    path = folder / f"store-{size}.db"
    started = time.process_time()
    if not path.exists():
        print(f"filling a store with {size:,} …", file=sys.stderr, flush=True)
        fill(path, rows)
        yield {"figure": "filling", "size": size, "cpu_s": round(time.process_time() - started, 1)}
    yield {"figure": "file", "size": size, "bytes_a_vector": round(path.stat().st_size / size)}
    yield from searches(rows, path, folder, queries=queries, rivals=rivals)
    del rows
    yield from opening(path, size, runs=1 if quick else 7)
    changing = path.with_suffix(".changing")
    shutil.copyfile(path, changing)  # keeps the given store unchanged
    yield from beside(changing, size, rounds=1 if quick else 5, seconds=0.3 if quick else 2.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected measurement, or act as one of its helper processes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.searching", description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SMALL)), help="rows of one namespace, e.g. 10000,100000")
    parser.add_argument("--queries", type=int, default=100, help="searches of each contender")
    parser.add_argument("--rivals", default=",".join(NAMES[1:]), help="other packages, if they are installed")
    parser.add_argument("--dir", type=Path, help="keep the stores in this folder, and use those that are there")
    parser.add_argument("--no-file", action="store_true", help="the matrix alone, for sizes that take long to store")
    parser.add_argument("--quick", action="store_true", help="shows that it runs, not how fast")
    for name in ("--opens", "--writes"):
        parser.add_argument(name, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--computes", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.opens or given.writes or given.computes:
        if given.opens:
            _opens(given.opens)
        elif given.writes:
            _writes(given.writes)
        else:
            _until_told(_computes)
        return 0
    rivals = [name for name in given.rivals.split(",") if name]
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as name:
        for size in (int(part) for part in given.sizes.split(",")):
            folder = given.dir or Path(name)
            options = {"quick": given.quick, "file": not given.no_file}
            for told in measure(size, folder, queries=given.queries, rivals=rivals, **options):
                print(json.dumps(told), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
