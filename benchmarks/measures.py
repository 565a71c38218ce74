"""The measurements. Each takes its sizes and an empty folder, and returns figures.

Product and floor are measured in turns of a few hundred writes in one process, so that other load slows both. The
result is the median of the ratios per turn.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import wellkept
from benchmarks import batches, scaling
from benchmarks.corpus import texts
from benchmarks.floor import Floor
from benchmarks.report import Figure, least, missing, most, plain
from wellkept.core.judging.calibration import Calibration
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import ModelUnavailable
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.port import Embedded, Embedder


@dataclass(frozen=True)
class Sizes:
    """Sizes of the measurements.

    Attributes:
        turn: Writes per turn.
        writes: Texts written to each store in `writes`.
        gate: Texts written in batches with MiniLM, before its calls of `check`.
        checks: Calls of `check`.
        filled: Memories in the store of `check` with the hashing embedder.
        imports: Pairs of runs in `import_time`.
        grown: Memories at the end of `growth`, which starts at a fiftieth of them.
        samples: Turns measured in each tenth of `growth`.
        all_on: Texts written in each way of `batches`, with the relation model.
        all_on_turn: Texts per turn of those.
        contended: Writes beside another process.
        rows: Sizes of the stores of `scaling`.
        probes: Writes and recalls in each of those.
        namespaces: Numbers of namespaces in one file.
    """

    turn: int = 200
    writes: int = 4_000
    gate: int = 10_000
    checks: int = 300
    filled: int = 10_000
    imports: int = 15
    grown: int = 50_000
    samples: int = 5
    all_on: int = 300
    all_on_turn: int = 100
    contended: int = 300
    rows: tuple[int, ...] = (1_000, 10_000)
    probes: int = 40
    namespaces: tuple[int, ...] = (10, 1_000)


FULL = Sizes()
QUICK = Sizes(
    turn=10, writes=40, gate=20, checks=10, filled=100, imports=2, grown=300, samples=1, all_on=8, all_on_turn=4,
    contended=20, rows=(20, 40), probes=3, namespaces=(1, 3),
)  # fmt: skip


class TimedEmbedder:
    """Wraps an embedder and measures its time, so that the rest of a call is the time of Wellkept.

    Attributes:
        seconds: Time spent inside `embed`.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.seconds = 0.0

    @property
    def id(self) -> str:
        return self._inner.id

    @property
    def dim(self) -> int:
        return self._inner.dim

    @property
    def calibration(self) -> Calibration:
        return self._inner.calibration

    @property
    def lexical(self) -> bool:
        return self._inner.lexical

    def embed(self, given: Sequence[str]) -> list[Embedded]:
        started = time.perf_counter()
        try:
            return self._inner.embed(given)
        finally:
            self.seconds += time.perf_counter() - started


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _one_by_one(write: Callable[[str], object], part: Sequence[str]) -> Callable[[], None]:
    def run() -> None:
        for text in part:
            write(text)

    return run


def _turns(given: Sequence[str], size: int) -> list[Sequence[str]]:
    return [given[start : start + size] for start in range(0, len(given), size)]


# --------------------------------------------------------------------------------------------
# Writes


def writes(sizes: Sizes, folder: Path) -> list[Figure]:
    """Writes per second, single and in batches, relative to the floor."""
    embedder = HashingEmbedder()
    single: list[float] = []
    batch: list[float] = []
    floor: list[float] = []
    outcomes: Counter[str] = Counter()
    compared = 0

    def remember(text: str) -> None:
        nonlocal compared
        result = store.remember(text)
        outcomes[result.outcome] += 1
        compared += len(result.matches)

    with (
        wellkept.open(str(folder / "single.db"), embedder=embedder) as store,
        wellkept.open(str(folder / "batch.db"), embedder=embedder) as batches,
        Floor(folder / "floor.db", embedder) as rows,
    ):
        for turn, part in enumerate(_turns(texts(sizes.writes), sizes.turn)):
            jobs: list[tuple[list[float], Callable[[], object]]] = [
                (floor, _one_by_one(rows.add, part)),
                (single, _one_by_one(remember, part)),
                (batch, partial(batches.remember_many, part)),
            ]
            for times, job in jobs[turn % 3 :] + jobs[: turn % 3]:
                times.append(_seconds(job) / len(part))
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    told += f"; {compared / sizes.writes:.1f} stored texts compared for each new one"
    return [
        plain("floor_writes", "floor, one by one", [1 / one for one in floor], unit="/s"),
        plain("writes", "remember, one by one", [1 / one for one in single], unit="/s"),
        plain("batch_writes", "remember_many", [1 / one for one in batch], unit="/s"),
        _told(least("writes_ratio", "remember over the floor", _over(floor, single), goal=0.5), told),
        least("batch_ratio", "remember_many over the floor one by one", _over(floor, batch), goal=2.0),
    ]


def _over(first: Sequence[float], second: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(first, second, strict=True)]


def _told(figure: Figure, note: str) -> Figure:
    return replace(figure, note=note)


# --------------------------------------------------------------------------------------------
# The gate with a real model


def gate(sizes: Sizes, folder: Path) -> list[Figure]:
    """Time of the gate in addition to embedding with MiniLM, for batches and for `check`."""
    embedder = TimedEmbedder(MiniLmEmbedder())
    given = texts(sizes.gate + sizes.checks, seed=2)
    try:
        embedder.embed(given[:2])
    except ModelUnavailable as error:
        return [missing("gate_share", "gate over embedding, MiniLM, remember_many", str(error))]
    shares: list[float] = []
    speeds: list[float] = []
    with wellkept.open(str(folder / "gate.db"), embedder=embedder) as store:
        for part in _turns(given[: sizes.gate], sizes.turn):
            before = embedder.seconds
            total = _seconds(partial(store.remember_many, part))
            spent = embedder.seconds - before
            shares.append((total - spent) / spent)
            speeds.append(len(part) / spent)
        times = _checks(store, embedder, given[sizes.gate :])
    return [
        plain("embedding", "MiniLM alone, batches", speeds, unit="/s"),
        most("gate_share", "gate over embedding, MiniLM, remember_many", shares, goal=0.15),
        most("check_minilm", f"check at {sizes.gate:,} beyond embedding, MiniLM", times, goal=5.0, unit="ms"),
    ]


# --------------------------------------------------------------------------------------------
# Check


def check(sizes: Sizes, folder: Path) -> list[Figure]:
    """Time of one `check` without embedding."""
    embedder = TimedEmbedder(HashingEmbedder())
    given = texts(sizes.filled + sizes.checks, seed=3)
    with wellkept.open(str(folder / "check.db"), embedder=embedder) as store:
        store.remember_many(given[: sizes.filled], on_conflict="ignore")  # content for the searches
        times = _checks(store, embedder, given[sizes.filled :])
    slow = sorted(times)[int(0.95 * len(times))]
    return [
        _told(
            most("check", f"check at {sizes.filled:,} beyond embedding, hashing", times, goal=5.0, unit="ms"),
            f"95 of 100 calls within {slow:.1f} ms",
        )
    ]


def _checks(store: MemoryStore, embedder: TimedEmbedder, given: Sequence[str]) -> list[float]:
    store.check("The first call loads the matrix of vectors; it is not counted.")
    times = []
    for text in given:
        before = embedder.seconds
        total = _seconds(partial(store.check, text))
        times.append(1e3 * (total - (embedder.seconds - before)))
    return times


# --------------------------------------------------------------------------------------------
# Import

_PLAIN_IMPORT = "import sqlite3, json, dataclasses"
_EXTRA_MS = 60.0


def import_time(sizes: Sizes, folder: Path) -> list[Figure]:
    """Time of a Python process that imports the package, and of one that imports three standard modules."""
    ours: list[float] = []
    floor: list[float] = []
    surroundings = os.environ | {"PYTHONPATH": str(Path(wellkept.__file__).parents[1])}
    for turn in range(-1, sizes.imports):  # the first pair warms the caches
        for times, code in ((floor, _PLAIN_IMPORT), (ours, "import wellkept")):
            spent = 1e3 * _seconds(partial(subprocess.run, [sys.executable, "-c", code], check=True, env=surroundings))
            if turn >= 0:
                times.append(spent)
    bound = 1.5 * median(floor) + _EXTRA_MS
    told = f"the goal is 1.5 times the floor plus {_EXTRA_MS:g} ms; the ratio is {median(_over(ours, floor)):.2f} x"
    return [
        plain("import_floor", f"python -c '{_PLAIN_IMPORT}'", floor, unit="ms"),
        _told(most("import", "python -c 'import wellkept'", ours, goal=round(bound, 1), unit="ms"), told),
    ]


# --------------------------------------------------------------------------------------------
# Growth


def growth(sizes: Sizes, folder: Path) -> list[Figure]:
    """Growth of the write time with the size of the namespace: turns in its first and last tenth.

    The memories between the turns are only content for the searches: they are stored without judging, and the floor is
    filled without a scan.
    """
    embedder = HashingEmbedder()
    given = texts(sizes.grown, seed=4)
    start = sizes.grown // 50
    tenth = (sizes.grown - start) // 10
    single: dict[int, list[float]] = {0: [], 9: []}
    batch: dict[int, list[float]] = {0: [], 9: []}
    floor: dict[int, list[float]] = {0: [], 9: []}
    with (
        wellkept.open(str(folder / "growth.db"), embedder=embedder) as store,
        Floor(folder / "growth-floor.db", embedder) as rows,
    ):

        def fill(to: int) -> None:
            part = given[len(rows) : to]
            store.remember_many(part, on_conflict="ignore")
            for some in _turns(part, sizes.turn):
                rows.fill(some)

        for number in (0, 9):
            for sample in range(sizes.samples):
                fill(start + number * tenth + sample * tenth // sizes.samples)
                part = given[len(rows) : len(rows) + sizes.turn]
                floor[number].append(_seconds(_one_by_one(rows.add, part)) / len(part))
                single[number].append(_seconds(_one_by_one(store.remember, part)) / len(part))
                part = given[len(rows) : len(rows) + sizes.turn]
                batch[number].append(_seconds(partial(store.remember_many, part)) / len(part))
                rows.fill(part)
    label = f"{start:,} to {sizes.grown:,} memories"
    told = "; ".join(
        f"{name} {1e3 * median(times[0]):.2f} ms then {1e3 * median(times[9]):.2f} ms a write"
        for name, times in (("remember", single), ("remember_many", batch), ("floor", floor))
    )
    over = _over(single[9], floor[9])
    return [
        _told(most("growth", f"remember, last tenth over first, {label}", _last(single), goal=1.5), told),
        plain("growth_floor", "the same for the floor", _last(floor), unit="x"),
        plain("growth_batch", "the same for remember_many", _last(batch), unit="x"),
        plain("growth_end", f"remember over the floor near {sizes.grown:,}", [1 / one for one in over], unit="x"),
    ]


def _last(times: dict[int, list[float]]) -> list[float]:
    first = median(times[0])
    return [one / first for one in times[9]]


# --------------------------------------------------------------------------------------------
# Batches, two writers, sizes


def batches_over_floor(sizes: Sizes, folder: Path) -> list[Figure]:
    """Each way to write, with and without the relation model, over the floor one by one."""
    return batches.batches(sizes.all_on, sizes.all_on_turn, folder)


def contention(sizes: Sizes, folder: Path) -> list[Figure]:
    """A write while another process writes."""
    return batches.contention(sizes.contended, folder)


def sizes_and_namespaces(sizes: Sizes, folder: Path) -> list[Figure]:
    """Write, recall and memory at two sizes, and with many namespaces."""
    found = scaling.sizes_of(sizes.rows, folder, probes=sizes.probes)
    return found + scaling.namespaces_of(sizes.namespaces, folder)


MEASURES: dict[str, Callable[[Sizes, Path], list[Figure]]] = {
    "writes": writes,
    "gate": gate,
    "check": check,
    "import": import_time,
    "growth": growth,
    "batches": batches_over_floor,
    "contention": contention,
    "scaling": sizes_and_namespaces,
}
"""The measurements by name, for `--only`."""
