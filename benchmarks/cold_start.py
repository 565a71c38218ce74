"""CPU and time of `wellkept` commands from a cold shell, beside a Python that imports numpy and nothing else.

Every run is a process of its own. Runs of all commands alternate, so that other load slows all; the ratio of CPU time
to `import numpy` is what can be compared between machines. Run it with `python -m benchmarks.cold_start`; the goals are
.35 s for `recall` without a model and .8 s with it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import wellkept
from benchmarks.corpus import texts
from benchmarks.report import machine

QUERY = "the port of the eastern database"
FLOOR = "python, import numpy"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process took, in seconds."""

    cpu: float
    clock: float


def cost_of(command: Sequence[str], folder: Path) -> Cost:
    """Run a command to its end.

    Raises:
        RuntimeError: It failed.
    """
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(command)}")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - begun)


def commands(folder: Path, sizes: Sequence[int], embedders: Sequence[str]) -> dict[str, list[str]]:
    """The commands by name; the stores they read are made here.

    Args:
        folder: Where the stores are made.
        sizes: Numbers of memories.
        embedders: Settings of the stores; `auto` is the packaged model.
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
            found |= {
                f"list -n 5 ({named})": [*on, "list", "-n", "5"],
                f"recall ({named})": [*on, "recall", QUERY],
                f"remember ({named})": [*on, "remember", "The eastern database listens on port 5433."],
            }
    return found


def _environment(folder: Path) -> dict[str, str]:
    """The environment in which the commands find this process's packages and no personal settings."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join(str(Path(part).absolute()) for part in sys.path if part)
    return {**kept, "PYTHONPATH": path, "XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=7, help="runs of each, after one that is not counted")
    parser.add_argument("--sizes", default="100,10000", help="numbers of memories")
    parser.add_argument("--embedders", default="hashing,auto", help="settings of the stores")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as name:
        folder = Path(name)
        sizes = [int(size) for size in given.sizes.split(",")]
        rows = commands(folder, sizes, given.embedders.split(","))
        for command in rows.values():
            cost_of(command, folder)  # writes bytecode, warms the file cache
        rounds = [{name: cost_of(command, folder) for name, command in rows.items()} for _ in range(given.runs)]
        for key, value in machine(folder).items():
            print(f"{key}: {value}")
    for name in rows:
        cpu = statistics.median(taken[name].cpu for taken in rounds)
        clock = statistics.median(taken[name].clock for taken in rounds)
        ratio = statistics.median(taken[name].cpu / taken[FLOOR].cpu for taken in rounds)
        print(f"{name:32} CPU {cpu:.3f} s, clock {clock:.3f} s, {ratio:.1f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
