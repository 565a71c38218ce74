"""CPU of a write that is judged later, without a second reader, or by rules alone, beside one judged in the write.

    python -m benchmarks.judging_later [--stories STORIES.jsonl] [--limit 400] [--json]

The four stores write the same texts in turns of 20, in one process, each to a file of its own. Another one is the first
in each turn, since the first to read a text fills caches for the others. What waits is judged after each turn, and
counted apart. CPU time, all threads: other load on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import wellkept
from benchmarks.corpus import texts
from benchmarks.report import as_json, as_table, machine, plain
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.relation import PackagedRelationModel
from wellkept.policy import Policy

_TURN = 20
Write = tuple[str, Mapping[str, Any]]


def _written(stories: Path | None, limit: int) -> list[Write]:
    """Namespace and fields of each write."""
    return list(islice(_of_stories(stories) if stories is not None else _made(limit), limit))


def _made(limit: int) -> Iterator[Write]:
    yield from (("default", {"content": text, "kind": "fact"}) for text in texts(limit, seed=7))


def _of_stories(path: Path) -> Iterator[Write]:
    for line in path.read_text("utf-8").splitlines():
        story = json.loads(line)
        for one in story["writes"]:
            fields = {"content": one["text"], "kind": one["kind"], "subject": one.get("subject") or ""}
            yield story["id"], fields


def measure(folder: Path, writes: Sequence[Write], *, quick: bool) -> tuple[dict[str, list[float]], float, float]:
    """Milliseconds of CPU a write in each turn, the share of writes that waited, and of those that changed."""
    embedder: Any = HashingEmbedder() if quick else MiniLmEmbedder()
    model = None if quick else PackagedRelationModel()
    policies = {"later": Policy(judging="later"), "alone": Policy(second_reader="off")}
    stores = {
        name: wellkept.open(
            folder / f"{name}.db",
            embedder=embedder,
            policy=policies.get(name, Policy()),
            relation_model="none" if name == "rules" or model is None else model,
        )
        for name in ("now", "later", "alone", "rules")
    }
    for store in stores.values():  # loads the models
        for text in ("The relation model is loaded.", "The model is loaded.", "Das Modell ist geladen."):
            store.in_namespace("warm").remember(text, kind="fact")
        store.in_namespace("warm").judge_waiting()
    spent: dict[str, list[float]] = defaultdict(list)
    waited = changed = 0
    for start in range(0, len(writes), _TURN):
        turn = writes[start : start + _TURN]
        first = start // _TURN % len(stores)
        for name, store in [*stores.items()][first:] + [*stores.items()][:first]:
            began = time.process_time()
            for namespace, fields in turn:
                told = store.in_namespace(namespace).remember(**fields)
                waited += "judging" in told.degraded
            spent[name].append(1e3 * (time.process_time() - began) / len(turn))
        began = time.process_time()
        for namespace in dict.fromkeys(namespace for namespace, _ in turn):
            changed += stores["later"].in_namespace(namespace).judge_waiting().changed
        spent["judging"].append(1e3 * (time.process_time() - began) / len(turn))
    for store in stores.values():
        store.close()
    return spent, waited / len(writes), changed / len(writes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; nothing is left behind."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judging_later", description="Judged later, or at once.")
    parser.add_argument("--stories", type=Path, help="stories, one a line; made sentences by default")
    parser.add_argument("--limit", type=int, default=400, help="how many writes")
    parser.add_argument("--quick", action="store_true", help="few writes without models; shows that it runs")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    writes = _written(given.stories, 40 if given.quick else given.limit)
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as name:
        facts = machine(Path(name))
        spent, waited, changed = measure(Path(name), writes, quick=given.quick)
    over = {name: [a / b for a, b in zip(each, spent["now"], strict=True)] for name, each in spent.items()}
    figures = [
        plain("now", "judged in the write, CPU", spent["now"], unit="ms"),
        plain("later", "judged later, CPU of the write", spent["later"], unit="ms"),
        plain("judging", "judged later, CPU of the judging, a write", spent["judging"], unit="ms"),
        plain("alone", "judged in the write without a second reader, CPU", spent["alone"], unit="ms"),
        plain("rules", "rules alone, CPU", spent["rules"], unit="ms"),
        plain("later_over_now", "judged later over judged in the write", over["later"], unit="x"),
        plain("alone_over_now", "without a second reader over judged in the write", over["alone"], unit="x"),
        plain("rules_over_now", "rules alone over judged in the write", over["rules"], unit="x"),
        plain("waited", "share of writes that waited", [waited], unit="x"),
        plain("changed", "share of writes that became something else", [changed], unit="x"),
    ]
    print(as_json(facts, figures) if given.json else as_table(facts, figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
