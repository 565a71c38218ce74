"""Over the floor: writes, imports and recall, by rules alone and with the relation model; and two writers.

They are measured in CPU time of the process with all its threads, in turns with the floor, which embeds with the
same MiniLM and writes one by one. What a second process does to a write is measured on the clock.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import wellkept
from benchmarks.corpus import texts
from benchmarks.floor import Floor
from benchmarks.report import Figure, missing, most, plain
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import ModelUnavailable
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.relation import PackagedRelationModel

_WAIT = 60.0


def batches(count: int, turn: int, folder: Path) -> list[Figure]:
    """CPU of each way to write and of a recall over the floor one by one, all with MiniLM."""
    embedder, model = MiniLmEmbedder(), PackagedRelationModel()
    try:
        embedder.embed(["The first call loads the model."])
        model.read([("The first call", "loads the model")])
    except ModelUnavailable as error:
        return [missing("rules_ratio", "writes over the floor, MiniLM", str(error))]
    names = ("floor", "rules", "rules_many", "all", "all_many", "import")
    spent: dict[str, list[float]] = {name: [] for name in names}

    def opened(name: str) -> MemoryStore:
        path, reader = str(folder / f"{name}.db"), "none" if name.startswith("rules") else model
        return wellkept.open(path, embedder=embedder, relation_model=reader)

    stores = {name: opened(name) for name in names[1:]}
    for store in stores.values():
        store.check("What each process loads once is loaded before anything is measured.")
    with Floor(folder / "floor.db", embedder) as rows:
        given = texts(count, seed=9)
        for start in range(0, count, turn):
            part = given[start : start + turn]
            lines = folder / f"{start}.jsonl"
            lines.write_text("".join(json.dumps({"content": text}) + "\n" for text in part), encoding="utf-8")
            jobs: dict[str, Callable[[], object]] = {
                "floor": partial(_each, rows.add, part),
                "rules": partial(_each, stores["rules"].remember, part),
                "rules_many": partial(stores["rules_many"].remember_many, part),
                "all": partial(_each, stores["all"].remember, part),
                "all_many": partial(stores["all_many"].remember_many, part),
                "import": partial(stores["import"].import_, lines),
            }
            for name, job in jobs.items():
                spent[name].append(_cpu(job) / len(part))
        asked = texts(count, seed=11)
        finds: dict[str, Callable[[str], object]] = {"floor": rows.search, "rules": stores["rules"].recall}
        finds["all"] = stores["all"].recall
        found: dict[str, list[float]] = {name: [] for name in finds}
        for text in asked:
            for name, find in finds.items():
                found[name].append(_cpu(partial(find, text)))
    for store in stores.values():
        store.close()
    over = {name: _over(spent[name], spent["floor"]) for name in names}
    over_search = {name: _over(found[name], found["floor"]) for name in finds}
    return [
        plain("floor_cpu", "floor, one by one, MiniLM, CPU", [1e3 * one for one in spent["floor"]], unit="ms"),
        most("rules_ratio", "remember, rules only, over the floor, CPU", over["rules"], goal=1.2),
        plain("rules_many_ratio", "remember_many, rules only, over the floor, CPU", over["rules_many"], unit="x"),
        most("all_ratio", "remember, all on, over the floor, CPU", over["all"], goal=1.7),
        most("all_many_ratio", "remember_many, all on, over the floor, CPU", over["all_many"], goal=1.0),
        most("import_ratio", "import, all on, over the floor, CPU", over["import"], goal=1.0),
        plain("search_cpu", "search of the floor, MiniLM, CPU", [1e3 * one for one in found["floor"]], unit="ms"),
        plain("recall_rules_ratio", "recall, rules only, over the floor's search, CPU", over_search["rules"], unit="x"),
        most("recall_ratio", "recall, all on, over the floor's search, CPU", over_search["all"], goal=1.3),
    ]


def contention(count: int, folder: Path) -> list[Figure]:
    """The 95th percentile of a write over its median while another process writes to the same file."""
    path = folder / "contention.db"
    given = texts(2 * count, seed=10)
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Event(), context.Event()
    with _hashed(path) as store:
        store.remember("The file is there before the other process opens it.")
        other = context.Process(target=_write_on, args=(path, given[count:], ready, stop))
        other.start()
        try:
            if not ready.wait(_WAIT):
                raise TimeoutError("the other writer did not start")
            times = [_clock(partial(store.remember, text)) for text in given[:count]]
        finally:
            stop.set()
            other.join()
        seq = store.stats().journal
        alone = [_clock(partial(store.remember, f"{text} Once more.")) for text in given[:count]]
    slow, usual = _slowest(times), median(times)
    told = (
        f"median {1e3 * usual:.1f} ms, 95 of 100 within {1e3 * slow:.1f} ms; alone {1e3 * median(alone):.1f} and "
        f"{1e3 * _slowest(alone):.1f} ms; the other process wrote {seq - count - 1} meanwhile"
    )
    figure = most("contention", "p95 of a write beside another writer, over its median", [slow / usual], goal=3.0)
    return [replace(figure, n=len(times), note=told)]


def _write_on(path: Path, given: Sequence[str], ready: Any, stop: Any) -> None:
    with _hashed(path) as store:
        store.remember(given[0])
        ready.set()
        for text in given[1:]:
            if stop.is_set():
                return
            store.remember(text)
        place = 0
        while not stop.is_set():
            place += 1
            store.remember(f"Line {place} was written while the other process still wrote.")


def _hashed(path: Path) -> MemoryStore:
    return wellkept.open(str(path), embedder=HashingEmbedder(), relation_model="none")


def _slowest(times: Sequence[float]) -> float:
    return sorted(times)[int(0.95 * len(times))]


def _each(write: Callable[[str], object], part: Sequence[str]) -> None:
    for text in part:
        write(text)


def _cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _clock(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _over(first: Sequence[float], second: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(first, second, strict=True)]
