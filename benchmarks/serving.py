"""`python -m benchmarks.serving`: cost of a request relative to the same operation in process.

The server is a separate process on loopback with a token, as in normal use. Both sides get the same texts in turns, so
that other load slows both; the result is the median of the ratios per turn. Several concurrent clients, whose server is
killed twice, are compared with one caller in process (see `load`). SQLite has one writer, so more clients only fill its
idle time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import httpx2

import wellkept
from benchmarks.corpus import texts
from benchmarks.load import slowest, under_load
from benchmarks.report import Figure, as_json, as_table, machine, plain
from wellkept.models.hashing import HashingEmbedder
from wellkept.server.access import Tokens, tokens_file

NAMESPACE = "bench/serving"
_TURN = 50


@contextmanager
def served(db: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A running server: its address, and the headers of a client."""
    headers = client_headers(db)
    process, address = started(db, 0)
    try:
        yield address, headers
    finally:
        process.terminate()
        process.communicate()


def client_headers(db: Path) -> dict[str, str]:
    """The request headers of a client with its own token."""
    _, secret = Tokens(tokens_file(db)).create(name="bench", namespaces=["bench/*"], scopes=["write"])
    return {"Authorization": f"Bearer {secret}", "Wellkept-Namespace": NAMESPACE}


def started(db: Path, port: int) -> tuple[subprocess.Popen[str], str]:
    """Start a server process; returns it with its address. The caller ends it."""
    sources = Path(wellkept.__file__).parents[1]
    paths = os.pathsep.join((str(sources), *sys.path))
    command = [sys.executable, "-m", "wellkept.cli", "--db", str(db), "--embedder", "hashing"]
    process = subprocess.Popen(
        [*command, "serve", "--port", str(port), "--rate", "0", "--drain", "0", "--json", "--quiet"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths, "WELLKEPT_RELATION_MODEL": "none"},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the server did not start"
    return process, str(json.loads(line)["address"])


def measure(folder: Path, count: int, writes: int) -> list[Figure]:
    """Remember and recall by one client, `count` each, and `writes` mixed writes by many, relative to the library."""
    given = texts(count, seed=6)
    figures: list[Figure] = []
    with (
        served(folder / "served.db") as (address, headers),
        httpx2.Client(base_url=address, headers=headers, timeout=60) as http,
        wellkept.open(
            str(folder / "own.db"), embedder=HashingEmbedder(), relation_model="none", namespace=NAMESPACE
        ) as store,
    ):

        def post(path: str, body: dict[str, object]) -> None:
            answer = http.post(path, json=body)
            assert answer.status_code in (200, 201), answer.text

        for name, over_http, in_process in (
            ("health", lambda _: http.get("/healthz"), lambda _: None),
            ("remember", lambda text: post("/v1/memories", {"content": text}), store.remember),
            ("recall", lambda text: post("/v1/recall", {"query": text}), store.recall),
        ):
            ours, own = _in_turns(given, over_http, in_process)
            figures += _figures(name, ours, own)
    busy = folder / "busy.db"
    headers = client_headers(busy)
    return figures + under_load(busy, partial(started, busy), headers, namespace=NAMESPACE, count=writes)


def _in_turns(
    given: Sequence[str], first: Callable[[str], object], second: Callable[[str], object]
) -> tuple[list[float], list[float]]:
    """Milliseconds of each call of the two sides, in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for start in range(0, len(given), _TURN):
        for side, call in enumerate((first, second)):
            for text in given[start : start + _TURN]:
                began = time.perf_counter()
                call(text)
                times[side].append(1e3 * (time.perf_counter() - began))
    return times


def _figures(name: str, ours: list[float], own: list[float]) -> list[Figure]:
    slow = [slowest(ours), slowest(own)]
    found = [
        plain(f"{name}_http_p50", f"{name} over HTTP, one client, p50", [median(ours)], unit="ms"),
        plain(f"{name}_http_p99", f"{name} over HTTP, one client, p99", [slow[0]], unit="ms"),
    ]
    if name == "health":  # the cost of an empty request, without a baseline
        return found
    turns = range(0, len(ours), _TURN)
    ratios = [median(ours[at : at + _TURN]) / median(own[at : at + _TURN]) for at in turns]
    return [
        *found,
        plain(f"{name}_own_p50", f"{name} in process, p50", [median(own)], unit="ms"),
        plain(f"{name}_own_p99", f"{name} in process, p99", [slow[1]], unit="ms"),
        plain(f"{name}_ratio_p50", f"{name}: HTTP over in process, p50", ratios, unit="x"),
        plain(f"{name}_ratio_p99", f"{name}: HTTP over in process, p99", [slow[0] / slow[1]], unit="x"),
        plain(f"{name}_rate_ratio", f"{name}: requests a second over calls a second", [sum(own) / sum(ours)], unit="x"),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; no files remain."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description="What a request costs.")
    parser.add_argument("--quick", action="store_true", help="small sizes; shows that it runs, not how fast")
    parser.add_argument("--writes", type=int, default=10_000, help="of all clients together")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as name:
        folder = Path(name)
        facts = machine(folder)
        figures = measure(folder, _TURN if given.quick else 20 * _TURN, 120 if given.quick else given.writes)
    print(as_json(facts, figures) if given.json else as_table(facts, figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
