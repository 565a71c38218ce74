"""CPU of a consolidation's plan over memories that the gate has judged, with and without what the journal keeps of it.

    python -m benchmarks.planning_again [--stories STORIES.jsonl] [--limit 400] [--json]

One store is written with all models, one by one, and planned twice, each time by a store opened anew: under the
policy of the writes, whose readings are used, and under one that differs only in `conflict_days`, so that none is.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import wellkept
from benchmarks.corpus import texts
from wellkept.policy import Policy

_KEPT = """SELECT count(*), sum(json_extract(record, '$.reading') IS NOT NULL), sum(length(record)),
    sum(length(json_remove(record, '$.reading'))) FROM journal"""


def _written(stories: Path | None, limit: int) -> Iterator[dict[str, Any]]:
    if stories is None:
        yield from ({"content": text, "kind": "fact"} for text in texts(limit, seed=7))
        return
    told = (one for line in stories.read_text("utf-8").splitlines() for one in json.loads(line)["writes"])
    for one in islice(told, limit):
        yield {"content": one["text"], "kind": one["kind"], "subject": one.get("subject") or ""}


def measure(file: Path, writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figures, by name."""
    with wellkept.open(file) as store:
        for one in writes:
            store.remember(**one)
    found: dict[str, Any] = {"writes": len(writes)}
    plans = {}
    for name, policy in (
        ("kept", Policy()),
        ("read again", replace(Policy(), conflict_days=Policy().conflict_days + 1)),
    ):
        with wellkept.open(file, policy=policy) as store:
            begun = time.process_time()
            plan = store.plan()
            found[f"plan, {name}, CPU s"] = round(time.process_time() - begun, 2)
        found[f"plan, {name}, pairs asked"] = plan.detected.asked
        plans[name] = [(action.type, action.target_ids, action.canonical_id) for action in plan.actions]
        found["memories"] = plan.detected.memories
    found["plan, kept / read again"] = round(found["plan, kept, CPU s"] / found["plan, read again, CPU s"], 3)
    found["actions are the same"] = plans["kept"] == plans["read again"]
    with sqlite3.connect(file) as db:
        entries, kept, whole, without = db.execute(_KEPT).fetchone()
    found |= {"entries": entries, "entries with a reading": kept, "bytes an entry": round(whole / entries)}
    found["journal over one without readings"] = round(whole / without, 3)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planning_again", description=__doc__)
    parser.add_argument("--stories", type=Path)
    parser.add_argument("--limit", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder) / "store.db", list(_written(chosen.stories, chosen.limit)))
    print(
        json.dumps(found, indent=1)
        if chosen.json
        else "\n".join(f"{name:>38}  {value}" for name, value in found.items())
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
