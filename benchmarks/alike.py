"""`python -m benchmarks.alike STORIES`: checks that every backend gives the same results for the same stories.

Each story is written into its own namespace in memory, in a file and in PostgreSQL, at the same times and with the same
ids. Then its questions are asked, and a consolidation is planned, executed and undone. All results are compared
completely: outcomes, reasons, conflicts, ranked answers with scores, plan ids, applied actions, and at the end the
stored data byte by byte. The exit code is 1 on any difference.

Stories are in the format of `wellkept eval stories`. It needs modules of the tests: `PYTHONPATH=tests`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import wellkept
from benchmarks.report import Figure, as_json, as_table, machine
from postgres.server import server, stop
from stores import snapshot
from wellkept.evaluation.labelled_files import Story, read_stories
from wellkept.evaluation.run import Warm
from wellkept.models.port import RelationModel
from wellkept.models.registry import load_embedder, load_relation_model
from wellkept.testing.clock import CountingIds, FrozenClock

ASKED = 10
SHOWN = 300


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; no files remain."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alike", description="The same on every backend.")
    parser.add_argument("stories", type=Path, help="a file of stories, as `wellkept eval stories` takes it")
    parser.add_argument("--embedder", default="auto", help="as everywhere; `hashing` is quick")
    parser.add_argument("--relation-model", choices=["packaged", "none"], default="packaged")
    parser.add_argument("--limit", type=int, help="so many stories")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    with given.stories.open("rb") as lines:
        stories = read_stories(given.stories.name, lines, limit=given.limit)
    embedder = Warm(load_embedder(given.embedder))
    relations = None if given.relation_model == "none" else load_relation_model("packaged")
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as folder, ExitStack() as stack:
        stack.callback(stop)
        places = {"memory": "memory:", "sqlite": str(Path(folder, "store.db")), "postgres": server().database()}
        lives = {name: iter(life(place, stories, embedder, relations)) for name, place in places.items()}
        compared, different = compare(lives)
        about = machine(Path(folder))
    figures = [
        Figure(f"{kind}_differences", f"{count:,} compared: {kind}", float(different[kind]), "", count, "0",
               different[kind] == 0)
        for kind, count in compared.items()
    ]  # fmt: skip
    print(as_json(about, figures) if given.json else as_table(about, figures))
    return 1 if different.total() else 0


def life(
    place: str, stories: Sequence[Story], embedder: Warm, relations: RelationModel | None
) -> Iterator[tuple[str, Any]]:
    """The results of a store in order, each with its kind."""
    clock = FrozenClock()
    options: dict[str, Any] = {"embedder": embedder, "relation_model": relations or "none"}
    with wellkept.open(place, clock=clock, new_id=CountingIds(), **options) as opened:
        for number, story in enumerate(stories):
            yield from _told(story, opened.in_namespace(f"story/{number}"), clock)
        yield "namespaces", opened.namespaces()
        yield "flaws found", opened.verify()


def _told(story: Story, store: wellkept.MemoryStore, clock: FrozenClock) -> Iterator[tuple[str, Any]]:
    for write in story.writes:
        _put(clock, write.at)
        fields: dict[str, Any] = {} if write.event_time is None else {"event_time": write.event_time}
        yield "writes", store.remember(write.text, kind=write.kind, subject=write.subject, **fields)
    for query in story.queries:
        yield "answers", store.recall(query.text, limit=ASKED, explain=True)
        yield "packs", store.pack(query.text, budget_tokens=200)
    plan = store.plan()
    yield "plans", plan
    before = snapshot(store)
    done = store.execute(plan)
    yield "actions applied", [(result.state, result.entry) for result in done.results]
    yield "stores after a pass", snapshot(store)
    if done.executed:
        store.undo_run(done.run_id)
        yield "stores after it was undone", (snapshot(store)[0] == before[0], snapshot(store))


def _put(clock: FrozenClock, at: datetime) -> None:
    """Set the clock; a late line of a story does not turn it back."""
    clock.advance(seconds=max(0.0, (at - clock()).total_seconds()))


def compare(lives: dict[str, Iterator[tuple[str, Any]]]) -> tuple[Counter[str], Counter[str]]:
    """Counts of compared and of different results, by kind; prints the first difference of each kind."""
    compared: Counter[str] = Counter()
    different: Counter[str] = Counter()
    for told in zip(*lives.values(), strict=True):
        [kind] = {kind for kind, _ in told}
        compared[kind] += 1
        first = told[0][1]
        for name, (_, answer) in zip(lives, told, strict=True):
            if answer == first:
                continue
            different[kind] += 1
            if different[kind] == 1:
                print(f"{kind}, {name}: {str(answer)[:SHOWN]} instead of {str(first)[:SHOWN]}", file=sys.stderr)
    return compared, different


if __name__ == "__main__":
    sys.exit(main())
