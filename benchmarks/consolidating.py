"""Cost and results of a consolidation of a large store: time, CPU, memory, growth.

    python -m benchmarks.consolidating build STORE.db LINES.txt[.gz] … --rows 100000
    python -m benchmarks.consolidating run STORE.db [--execute] [--sizes 10000,30000,100000]
    python -m benchmarks.consolidating semhash STORE.db

`build` mixes lines of the files, reproducibly by seed, and stores them with vectors, without the gate. `run` plans over
the first rows of each size. With `--execute` it applies the plan over all of them, undoes the run, and compares a hash
of all rows before and after. `semhash` (installed separately) finds duplicates in the same vectors at the same cosine,
in the same process and run. Prints one JSON object per line.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wellkept
from wellkept import Filter
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.records.codec import dumps
from wellkept.engine.verbs.store import MemoryStore
from wellkept.storage.sqlite import SqliteStorage
from wellkept.types import ALL_STATUSES, Plan, Scope

SEED = 20261122
BATCH = 512
CLOSE = 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("act", choices=("build", "run", "semhash"))
    parser.add_argument("store", type=Path)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--kind", default="note")
    parser.add_argument("--sizes", default="10000,30000,100000")
    parser.add_argument("--execute", action="store_true")
    args = parser.parse_args()
    match args.act:
        case "build":
            _build(args)
        case "run":
            _run(args)
        case _:
            _semhash(args)


def _build(args: argparse.Namespace) -> None:
    lines = [line for path in args.files for line in _lines(path)]
    random.Random(SEED).shuffle(lines)
    with wellkept.open(SqliteStorage(args.store.resolve(), durability="relaxed")) as store:
        done = sum(store.stats().memories.values())
        started = time.perf_counter()
        for start in range(done, min(args.rows, len(lines)), BATCH):
            items = [{"content": line, "kind": args.kind} for line in lines[start : min(start + BATCH, args.rows)]]
            store.remember_many(items, on_conflict="ignore")
        _tell(act="build", rows=sum(store.stats().memories.values()), seconds=time.perf_counter() - started)


def _lines(path: Path) -> Iterator[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from (text for line in file if (text := line.strip()))


def _run(args: argparse.Namespace) -> None:
    with wellkept.open(f"sqlite:///{args.store.resolve()}") as store:
        rows = store.list()
        for size in (int(one) for one in args.sizes.split(",")):
            if size <= len(rows):
                scope = Scope(created_to=rows[size].created_at) if size < len(rows) else Scope()
                plan, told = _planned(store, scope)
                _tell(act="plan", rows=plan.detected.memories, **told)
                if args.execute and size == len(rows):
                    _execute(store, plan)


def _planned(store: MemoryStore, scope: Scope) -> tuple[Plan, dict[str, Any]]:
    steps: dict[str, float] = {}
    started, cpu = time.perf_counter(), time.process_time()

    def progress(step: str, done: int, whole: int) -> None:
        steps[step] = round(time.perf_counter() - started, 2)

    plan = store.plan(Consolidation(), scope, progress=progress)
    told = {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "steps": steps,
        "planned": plan.planned,
        "detected": json.loads(dumps(plan.detected)),
        "plan_id": plan.plan_id,
    }
    return plan, told


def _execute(store: MemoryStore, plan: Plan) -> None:
    before = _digest(store)
    started, cpu = time.perf_counter(), time.process_time()
    run = store.execute(plan)
    _tell(
        act="execute",
        actions=len(plan.actions),
        executed=run.executed,
        errors=run.errors,
        seconds=time.perf_counter() - started,
        cpu=time.process_time() - cpu,
    )
    again = store.execute(plan)
    _tell(act="execute again", executed=again.executed, skipped=again.skipped)
    started = time.perf_counter()
    undone = store.undo_run(run.run_id)
    _tell(
        act="undo",
        entries=len(undone.undone),
        seconds=time.perf_counter() - started,
        same_as_before=_digest(store) == before,
    )


def _digest(store: MemoryStore) -> str:
    found = hashlib.sha256()
    for row in store.list(Filter(statuses=ALL_STATUSES)):
        found.update(dumps(row).encode())
    for conflict in store.conflicts(settled=True):
        found.update(dumps(conflict).encode())
    return found.hexdigest()


def _semhash(args: argparse.Namespace) -> None:
    """Run semhash on the same vectors at the raw cosine of similarity .95."""
    import numpy as np
    from semhash import SemHash  # type: ignore[import-not-found]

    with wellkept.open(f"sqlite:///{args.store.resolve()}") as store:
        rows = store.list()
        with store._ctx.storage.begin(store.namespace, write=False) as tx:
            vectors = tx.vectors({row.embedding for row in rows})
        floor = store._ctx.scale.calibration.cosine(CLOSE)
        matrix = np.asarray([vectors[row.embedding] for row in rows], dtype=np.float32)
        records = [{"text": row.content, "id": row.id} for row in rows]
        started, cpu = time.perf_counter(), time.process_time()
        index = SemHash.from_embeddings(matrix, records, model=None, columns=["text"])
        result = index.self_deduplicate(threshold=floor)
        seconds, spent = time.perf_counter() - started, time.process_time() - cpu
        theirs = {record.record["id"]: record for record in result.filtered}
        started, cpu = time.perf_counter(), time.process_time()
        plan = store.plan()
        ours_seconds, ours_cpu = time.perf_counter() - started, time.process_time() - cpu
        ours = [set(action.targets) for action in plan.actions if action.type == "merge"]
    # semhash drops the later of two texts and Wellkept the older, so the comparison is by found pairs.
    merged = set().union(*ours)
    _tell(
        act="semhash",
        rows=len(rows),
        cosine=floor,
        seconds=seconds,
        cpu=spent,
        ours_seconds=ours_seconds,
        ours_cpu=ours_cpu,
        ratio=ours_cpu / spent,
        theirs=len(theirs),
        ours=sum(len(ids) - 1 for ids in ours),
        theirs_we_keep=len(theirs.keys() - merged),
        ours_they_keep=sum(1 for ids in ours if not ids & theirs.keys()),
    )
    by_id = {row.id: row.content for row in rows}
    kept = sorted(theirs.keys() - merged)
    for one in kept[:: max(1, len(kept) // 50)][:50]:
        near = theirs[one].duplicate_of
        _tell(only="semhash", text=by_id[one], near=near["text"] if near else "", score=float(theirs[one].score or 0))
    for ids in [ids for ids in ours if not ids & theirs.keys()][:50]:
        _tell(only="wellkept", texts=[by_id[one] for one in sorted(ids)])
    for ids in random.Random(SEED).sample(ours, min(100, len(ours))):
        _tell(merged=[by_id[one] for one in sorted(ids)])


def _tell(**figures: Any) -> None:
    print(
        json.dumps(
            {key: round(value, 3) if isinstance(value, float) else value for key, value in figures.items()},
            ensure_ascii=False,
        ),
        flush=True,
    )


if __name__ == "__main__":
    main()
