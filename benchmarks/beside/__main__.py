"""`python -m benchmarks.beside STORIES.jsonl`: the figures of Wellkept and of every installed system, as a table.

The other systems are installed by hand, in an environment of their own that also holds Wellkept's dependencies:

    pip install mem0ai memvara yantrikdb ai-houkai mcp-memory-service pysqlite3-binary

`pysqlite3` takes the place of a `sqlite3` that is too old for memvara or loads no extensions. A system that is missing
is left out and named.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from benchmarks.beside import systems
from benchmarks.beside.playing import play
from benchmarks.beside.system import Vectors
from benchmarks.beside.table import markdown, row
from wellkept.evaluation.labelled_files import read_stories
from wellkept.evaluation.run import Setup, Warm, run_stories
from wellkept.models.registry import load_embedder
from wellkept.types.showing import count_of

WELLKEPT = "wellkept"
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the file through every system and print the table."""
    names = [*(entry.name for entry in systems.SYSTEMS), WELLKEPT]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__.splitlines()[0])
    parser.add_argument("stories", type=Path, help="file of stories, as for `wellkept eval stories`")
    parser.add_argument("--only", action="append", choices=names, help="one system; may be repeated")
    parser.add_argument("--limit", type=int, help="at most so many stories, spread over the file")
    given = parser.parse_args(arguments)
    chosen = given.only or names
    with given.stories.open("rb") as lines:
        stories = read_stories(given.stories.name, lines, limit=given.limit)
    vectors = Vectors(load_embedder("minilm"))
    rows, missing = {}, []
    for entry in systems.SYSTEMS:
        if entry.name not in chosen:
            continue
        if entry.version is None:
            missing.append(f"{entry.package} is not installed")
            continue
        started = time.perf_counter()
        rows[entry.title] = row(play(stories, entry.opening, vectors))
        print(f"{entry.title}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    if WELLKEPT in chosen:
        setup = Setup(embedder=Warm(load_embedder("minilm")))
        rows["**Wellkept**"] = row(run_stories(stories, setup))
        if any(write.subject for story in stories for write in story.writes):
            rows["Wellkept, given the subjects too"] = row(run_stories(stories, replace(setup, with_subject=True)))
    writes, queries = (sum(len(getattr(story, part)) for story in stories) for part in ("writes", "queries"))
    print(f"{count_of(len(stories), 'story')}, {writes} writes, {queries} queries of {given.stories.name}\n")
    print(markdown(rows))
    print("".join(f"\nLeft out: {reason}." for reason in dict.fromkeys(missing)), end="\n" if missing else "")
    return 0


def _prepare() -> None:
    """No downloads, no foreign log lines, and pysqlite3 for `import sqlite3`; before a system is imported."""
    os.environ.update(_OFFLINE)
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    if find_spec("pysqlite3") is not None:
        for name in ("", ".dbapi2"):
            sys.modules["sqlite3" + name] = import_module("pysqlite3" + name)


if __name__ == "__main__":
    _prepare()
    sys.exit(main())
