"""`python -m benchmarks.scaling`: what writing, recalling, consolidating and memory cost as a store grows.

    python -m benchmarks.scaling --sizes 1000,10000 --namespaces 10,1000
    python -m benchmarks.scaling --at FOLDER --sizes 10000,100000,1000000 [--lines FILE.txt.gz …] [--model]

Each size is a namespace in a file of its own. Files in a folder that is named stay there: a second run measures them
again, and one that was interrupted goes on filling. What is measured are the verbs of a store that is opened in a
process of its own, in CPU time with all threads. Rows come from `benchmarks.crowd`.
"""

from __future__ import annotations

import argparse
import gzip
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

import wellkept
from benchmarks.corpus import texts
from benchmarks.crowd import EMBEDDED, Crowd
from benchmarks.report import Figure, as_json, as_table, machine, most, plain
from wellkept.engine.verbs.store import MemoryStore
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.policy import Policy
from wellkept.storage.sqlite import SqliteStorage

SEED = 20261122
NAMESPACE = "default"
_WARM = 14
"""Recalls that are not measured: they load models and vectors, and make the first pass over the vectors."""


def given_texts(count: int, files: Sequence[Path]) -> list[str]:
    """Distinct lines of the files, mixed by seed; sentences of the corpus without files."""
    if not files:
        return texts(count, seed=SEED)
    lines = list(dict.fromkeys(line for path in files for line in _lines(path)))
    random.Random(SEED).shuffle(lines)
    if len(lines) < count:
        raise SystemExit(f"The files hold {len(lines)} lines; name more files, or sizes up to that number")
    return lines[:count]


def _lines(path: Path) -> Iterator[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from (text for line in file if (text := line.strip()))


def built(path: Path, crowd: Crowd, rows: int) -> None:
    """Fill a file with rows, if it does not hold them yet."""
    storage = SqliteStorage(path, durability="relaxed")
    try:
        embedder = MiniLmEmbedder()
        storage.configure(embedder=embedder.id, dim=embedder.dim, policy=Policy().hash)
        storage.bind(embedder.id)
        crowd.fill(storage, NAMESPACE, rows)
    finally:
        storage.close()


# --------------------------------------------------------------------------------------------
# One store, in a process of its own


def measured(path: Path, probes: Sequence[str], *, model: bool, consolidate: bool) -> dict[str, float]:
    """CPU milliseconds of one write and one recall (medians), and resident memory in MB.

    The writes are undone, so that the next run meets the same store.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_measure, path, list(probes), model=model, plan=consolidate).result()


def _measure(path: Path, probes: Sequence[str], *, model: bool, plan: bool) -> dict[str, float]:
    with wellkept.open(str(path), relation_model="auto" if model else "none") as store:
        opened = resident()
        for text in probes[:_WARM]:
            store.recall(text)
            store.check(text)
        recalls = [_cpu(partial(store.recall, text)) for text in probes[_WARM:]]
        entries: list[int] = []
        writes = [_cpu(partial(_written, store, text, entries)) for text in probes[_WARM:]]
        found = {"recall": 1e3 * median(recalls), "write": 1e3 * median(writes), "opened": opened, "used": resident()}
        for entry in reversed(entries):
            store.undo(entry)
        if plan:
            found["plan"] = _cpu(store.plan)
    return found


def _written(store: MemoryStore, text: str, entries: list[int]) -> None:
    result = store.remember(f"{text} That was said again today.")
    if result.entry and result.outcome != "rejected":  # what was refused changed nothing that could be undone
        entries.append(result.entry)


def resident() -> float:
    """Resident memory of this process in MB; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def _cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


# --------------------------------------------------------------------------------------------
# Figures


def sizes_of(
    sizes: Sequence[int], folder: Path, *, files: Sequence[Path] = (), probes: int = 40, model: bool = True,
    consolidate: bool = False, embedded: int = EMBEDDED,
) -> list[Figure]:  # fmt: skip
    """Write, recall and memory at each size, over the first one."""
    given = given_texts(max(sizes) + probes + _WARM, files)
    asked, rows = given[-probes - _WARM :], given[: max(sizes)]
    crowd = Crowd(rows, MiniLmEmbedder(), Policy(), embedded=embedded)
    figures: list[Figure] = []
    first: dict[str, float] = {}
    for size in sizes:
        path = folder / f"rows-{size}.db"
        built(path, crowd, size)
        found = measured(path, asked, model=model, consolidate=consolidate)
        first = first or found
        for verb in ("write", "recall"):
            figures.append(plain(f"{verb}_{size}", f"{verb} at {size:,}, CPU", [found[verb]], unit="ms"))
            if found is not first:
                label = f"{verb} at {size:,} over {sizes[0]:,}, CPU"
                figures.append(most(f"{verb}_growth_{size}", label, [found[verb] / first[verb]], goal=2.0))
        figures.append(plain(f"opened_{size}", f"memory after opening {size:,}", [found["opened"]], unit="MB"))
        figures.append(most(f"memory_{size}", f"memory in use at {size:,}", [found["used"]], goal=350.0, unit="MB"))
        if consolidate:
            figures.append(
                plain(f"plan_{size}", f"plan of a consolidation of {size:,}, CPU", [found["plan"]], unit="s")
            )
    return figures


def namespaces_of(counts: Sequence[int], folder: Path, *, probes: int = 100) -> list[Figure]:
    """A write and a recall in one namespace of a file with many, over the same with few; rules alone, hashing."""
    given = texts(20, seed=SEED)
    fresh = texts(probes, seed=SEED + 1)
    spent: dict[str, list[float]] = {"write": [], "recall": []}
    with wellkept.open(
        SqliteStorage(folder / "namespaces.db", durability="relaxed"), embedder=HashingEmbedder(), relation_model="none"
    ) as store:
        made = 0
        for count in counts:
            for number in range(made, count):
                store.in_namespace(f"bench/{number}").remember_many(given, on_conflict="ignore")
            made = count
            own = store.in_namespace(f"bench/measured-{count}")
            own.remember_many(given, on_conflict="ignore")
            own.recall(fresh[0])
            own.check(fresh[0])
            spent["write"].append(median(_cpu(partial(own.remember, text)) for text in fresh))
            spent["recall"].append(median(_cpu(partial(own.recall, text)) for text in fresh))
    label = f"with {counts[-1]:,} namespaces over {counts[0]:,}, CPU"
    return [
        plain(f"{verb}_namespaces", f"{verb} {label}", [times[-1] / times[0]], unit="x")
        for verb, times in spent.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; files stay only in a folder that is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description="Cost as a store grows.")
    parser.add_argument("--sizes", default="1000,10000", help="rows of each store; the first is the measure")
    parser.add_argument("--namespaces", default="", help="also numbers of namespaces, as in 10,10000")
    parser.add_argument("--at", type=Path, help="folder of the files, which stay there")
    parser.add_argument("--lines", type=Path, nargs="*", default=[], help="files of sentences, one a line")
    parser.add_argument("--probes", type=int, default=40, help="writes and recalls at each size")
    parser.add_argument("--model", action="store_true", help="with the relation model")
    parser.add_argument("--embedded", type=int, default=EMBEDDED, help="texts with vectors of their own, others mixed")
    parser.add_argument("--consolidate", action="store_true", help="also plan a consolidation of each size")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as name:
        folder = given.at or Path(name)
        facts = machine(Path(name))
        figures = sizes_of(
            [int(part) for part in given.sizes.split(",")],
            folder,
            files=given.lines,
            probes=given.probes,
            model=given.model,
            consolidate=given.consolidate,
            embedded=given.embedded,
        )
        if given.namespaces:
            figures += namespaces_of([int(part) for part in given.namespaces.split(",")], Path(name))
    print(as_json(facts, figures) if given.json else as_table(facts, figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
