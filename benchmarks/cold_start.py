"""CPU and time of `wellkept` commands from a cold shell, beside a Python that imports numpy and nothing else.

Every run is a process of its own. Runs of all commands alternate, so that other load slows all; the ratio of CPU time
to `import numpy` is what can be compared between machines. Run it with `python -m benchmarks.cold_start`; the goals are
.35 s for `recall` without a model and .8 s with it, and .2 s for a command that a daemon runs (`--daemon`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import wellkept
from benchmarks.corpus import texts
from benchmarks.report import machine

QUERY = "the port of the eastern database"
FLOOR = "python, import numpy"
BY_DAEMON = ", daemon"
"""What the name of a row ends with whose command is handed to a daemon."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process took, in seconds."""

    cpu: float
    clock: float


def cost_of(command: Sequence[str], folder: Path, switch: str = "off") -> Cost:
    """Run a command to its end.

    Args:
        command: Its words.
        folder: Where it runs.
        switch: Whether it uses a daemon.

    Raises:
        RuntimeError: It failed.
    """
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=_environment(folder, switch), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(command)}")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - begun)


def commands(folder: Path, sizes: Sequence[int], embedders: Sequence[str], *, daemon: bool) -> dict[str, list[str]]:
    """The commands by name; the stores they read are made here.

    Args:
        folder: Where the stores are made.
        sizes: Numbers of memories.
        embedders: Settings of the stores; `auto` is the packaged model.
        daemon: Whether each is run by a daemon too.
    """
    ours = [sys.executable, "-m", "wellkept.cli"]
    found = {FLOOR: [sys.executable, "-c", "import numpy"], "--help": [*ours, "--help"]}
    for embedder in embedders:
        for size in sizes:
            file = folder / f"{embedder}-{size}.db"
            with wellkept.open(file, embedder=embedder, relation_model="none") as store:
                store.remember_many(texts(size), on_conflict="ignore")
            on = [*ours, "--db", str(file), "--embedder", embedder]
            named = f"{embedder}, {size:,}"
            rows = {
                f"list -n 5 ({named})": [*on, "list", "-n", "5"],
                f"recall ({named})": [*on, "recall", QUERY],
                f"remember ({named})": [*on, "remember", "The eastern database listens on port 5433."],
            }
            found |= rows
            found |= {name + BY_DAEMON: row for name, row in rows.items() if daemon}
    return found


@contextmanager
def _daemon(folder: Path) -> Iterator[Callable[[], float]]:
    """A daemon; yields a function that says how much CPU its ended children have taken."""
    ours = [sys.executable, "-m", "wellkept.cli", "daemon"]

    def told(word: str) -> dict[str, int]:
        done = subprocess.run(
            [*ours, word, "--json"], cwd=folder, env=_environment(folder, "on"), stdout=subprocess.PIPE, check=True
        )
        return cast("dict[str, int]", json.loads(done.stdout))

    pid = told("start")["pid"]  # it ends by itself too, some time after a benchmark that is killed

    def used() -> float:
        told("status")  # it looks for ended children before it answers
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    try:
        yield used
    finally:
        told("stop")


def _environment(folder: Path, switch: str) -> dict[str, str]:
    """The environment in which the commands find this process's packages and no personal settings."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join(str(Path(part).absolute()) for part in sys.path if part)
    own = {"PYTHONPATH": path, "WELLKEPT_DAEMON": switch}
    return {**kept, **own, **dict.fromkeys(("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"), str(folder))}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=7, help="runs of each, after one that is not counted")
    parser.add_argument("--sizes", default="100,10000", help="numbers of memories")
    parser.add_argument("--embedders", default="hashing,auto", help="settings of the stores")
    parser.add_argument("--daemon", action="store_true", help="the same commands with a daemon too")
    given = parser.parse_args(arguments)
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="wellkept-bench-") as name:
        folder = Path(name)
        sizes = [int(size) for size in given.sizes.split(",")]
        rows = commands(folder, sizes, given.embedders.split(","), daemon=given.daemon)
        used = stack.enter_context(_daemon(folder)) if given.daemon else None

        def cost(name: str) -> Cost:
            if used is None or not name.endswith(BY_DAEMON):
                return cost_of(rows[name], folder)
            before = used()
            taken = cost_of(rows[name], folder, "on")
            return Cost(taken.cpu + used() - before, taken.clock)

        for name in rows:
            cost(name)  # writes bytecode, warms the file cache
        rounds = [{name: cost(name) for name in rows} for _ in range(given.runs)]
        stack.close()
        for key, value in machine(folder).items():
            print(f"{key}: {value}")
    for name in rows:
        cpu = statistics.median(taken[name].cpu for taken in rounds)
        clock = statistics.median(taken[name].clock for taken in rounds)
        ratio = statistics.median(taken[name].cpu / taken[FLOOR].cpu for taken in rounds)
        print(f"{name:40} CPU {cpu:.3f} s, clock {clock:.3f} s, {ratio:.1f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
