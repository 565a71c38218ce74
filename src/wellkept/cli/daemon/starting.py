"""Starts a daemon as a process of its own, detached from the terminal and from whoever started it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

from wellkept.cli.daemon import environment

IDLE_MINUTES = 30.0
"""Minutes without a command after which a daemon ends."""
READY = "ready"
RUNNING = "another one runs, or is about to"


def start_unwaited(idle_minutes: float = IDLE_MINUTES) -> None:
    """Start a daemon for later commands; it ends at once if another one runs or starts."""
    _started(idle_minutes, told=subprocess.DEVNULL)


def start(idle_minutes: float) -> str:
    """Start a daemon and wait until it is ready.

    Args:
        idle_minutes: When it ends by itself.

    Returns:
        `READY`, `RUNNING`, or why it cannot start.
    """
    process = _started(idle_minutes, told=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        told = process.stdout.readline().decode("utf-8", "replace").strip()
    return told or "it ended"


def _started(idle_minutes: float, *, told: int) -> subprocess.Popen[bytes]:
    # -P: what lies in the working folder is no module of ours.
    command = [sys.executable, "-P", "-m", "wellkept.cli.warm_process", str(idle_minutes)]
    return unwaited(command, stdout=told, env=environment.for_the_daemon())


def unwaited(
    command: Sequence[str],
    *,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, which outlives this one."""
    process = subprocess.Popen(
        command, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, env=env, start_new_session=True
    )
    process.returncode = 0  # nobody waits for its end
    return process
