"""Time of the hooks of an agent, through a daemon, relative to a Python process that does nothing.

    python -m benchmarks.hooks [--memories 200] [--runs 15]

Each round runs the bare process and each hook, so that other load slows all alike. The goal is a median of at most
200 ms on a quiet machine; on a busy one the ratio to the bare process and the CPU seconds say more.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import machine

GOAL = 0.2
HOOKS = ("session-start", "pre-compact", "session-end")
_COMMAND = "import sys; from wellkept.cli import main; sys.exit(main())"


@dataclass(frozen=True)
class Took:
    """Wall and CPU seconds of one process."""

    wall: float
    cpu: float


def timed(command: Sequence[str], folder: Path, environment: dict[str, str], stdin: str = "") -> Took:
    """Run a process to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True, text=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _told(command: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
    """Start or stop the daemon; on a busy machine it answers late, which is tried again."""
    for _ in range(20):
        if subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode == 0:
            return
    raise RuntimeError("the daemon does not answer")


def _until_taken_in(folder: Path, times: int) -> None:
    """Wait for what runs in the background, which would slow the next round."""
    while (folder / "wellkept" / "hooks.log").read_text("utf-8").count("\n") < times:
        time.sleep(0.05)


def transcript(folder: Path, count: int) -> Path:
    """A session log whose statements fill the memory."""
    file = folder / "session.jsonl"
    lines = (
        {
            "type": "user", "sessionId": "bench", "uuid": f"u{number}", "timestamp": "2026-05-01T10:00:00Z",
            "message": {"content": f"Service {number} listens on port {5000 + number} of host {number % 7}."},
        }
        for number in range(count)
    )  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=200)
    parser.add_argument("--runs", type=int, default=15, help="rounds, after one that is not counted")
    parser.add_argument("--embedder", default="auto")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wk-") as name:
        folder = Path(name)
        places = {
            key: name for key in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
        }
        sources = os.pathsep.join(str(Path(part).absolute()) for part in sys.path if part)
        environment = {**os.environ, **places, "PYTHONPATH": sources}
        ours = [sys.executable, "-c", _COMMAND, "--embedder", given.embedder, "--db", "bench.db"]
        call = json.dumps({"session_id": "bench", "transcript_path": str(transcript(folder, given.memories))})
        try:
            _told([*ours, "daemon", "start"], folder, environment)
            timed([*ours, "--quiet", "hook", "take-in"], folder, environment, call)
            rounds = []
            for _ in range(given.runs + 1):
                bare = timed([sys.executable, "-c", "pass"], folder, environment)
                rounds.append((bare, {hook: timed([*ours, "hook", hook], folder, environment, call) for hook in HOOKS}))
                _until_taken_in(folder, 2 * len(rounds) + 1)
        finally:
            _told([*ours, "daemon", "stop"], folder, environment)
        for key, value in machine(folder).items():
            print(f"{key}: {value}")
    counted = rounds[1:]
    print(f"bare process: {1000 * statistics.median(bare.wall for bare, _ in counted):.0f} ms")
    for hook in HOOKS:
        wall = statistics.median(took[hook].wall for _, took in counted)
        cpu = statistics.median(took[hook].cpu for _, took in counted)
        ratio = statistics.median(took[hook].wall / bare.wall for bare, took in counted)
        best = min(took[hook].wall for _, took in counted)
        print(
            f"{hook}: {1000 * wall:.0f} ms (goal: at most {1000 * GOAL:.0f}), best {1000 * best:.0f} ms, "
            f"{1000 * cpu:.0f} ms of CPU in the process itself, {ratio:.1f} times the bare process"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
