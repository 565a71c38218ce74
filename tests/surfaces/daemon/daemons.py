"""A daemon of a test's own, and commands that it must run, or must not."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "src"
ONLY_HANDED_OVER = """
import sys
sys.modules["typer"] = None  # so this process cannot run a command itself
from wellkept.cli import main
from wellkept.cli.daemon import handover
handover.PATIENCE = 60.0  # the machine of a test may be busy
sys.exit(main())
"""
SECONDS = 180
"""How long anything may take before a test gives up; nothing waits this long when all is well."""
Done = subprocess.CompletedProcess[bytes]


@dataclass(frozen=True)
class Place:
    """Where commands of a test run.

    Attributes:
        folder: Their working folder.
        runtime: The folder of run-time files, where their daemon is found.
    """

    folder: Path
    runtime: Path

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        own = {name: str(self.folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        return {**inherited, **own, "XDG_RUNTIME_DIR": str(self.runtime), "PYTHONPATH": str(SOURCES), **more}

    def run(self, *words: str | bytes, stdin: bytes = b"", **environment: str) -> Done:
        """A command as a shell runs it."""
        return self._done([sys.executable, "-m", "wellkept.cli", *words], stdin, environment)

    def alone(self, *words: str | bytes, stdin: bytes = b"", **environment: str) -> Done:
        """A command that uses no daemon."""
        return self.run(*words, stdin=stdin, WELLKEPT_DAEMON="off", **environment)

    def handed_over(self, *words: str | bytes, stdin: bytes = b"", **environment: str) -> Done:
        """A command that fails unless a daemon runs it."""
        return self._done([sys.executable, "-c", ONLY_HANDED_OVER, *words], stdin, environment)

    @contextmanager
    def reading(self, *words: str, text: bytes = b"half a sentence") -> Iterator[subprocess.Popen[bytes]]:
        """A command that a daemon runs and that has read a text and waits for more."""
        with subprocess.Popen(
            [sys.executable, "-c", ONLY_HANDED_OVER, *words],
            cwd=self.folder,
            env=self.environment({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A test run that was started in the background ignores the signal, and so would its child.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:
            pipe = process.stdin
            assert pipe is not None
            pipe.write(text)
            pipe.flush()
            until(lambda: not any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))))
            yield process

    def socket(self) -> Path | None:
        """The socket of the daemon, if there is one."""
        return next(self.runtime.glob("wellkept/*.sock"), None)

    def asked(self, kind: bytes) -> list[str]:
        """What the daemon answers; nothing when there is none."""
        path = self.socket()
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.settimeout(SECONDS)
            connection.sendall((len(kind) + 2).to_bytes(4, "big") + kind + b"\0x")
            return connection.recv(4096).decode().split("\0")
        return []

    def pid(self) -> int:
        """The process of the daemon; 0 when none runs."""
        told = self.asked(b"status")
        return int(told[0]) if told else 0

    def start(self, *options: str, **environment: str) -> None:
        """Start a daemon if none runs; if the tests are killed, it soon ends by itself."""
        done = self.run("daemon", "start", *(options or ("--idle", "5")), **environment)
        assert done.returncode == 0, done.stderr

    def stop(self) -> None:
        """End the daemon, if one runs."""
        if self.asked(b"stop"):
            until(lambda: not self.socket())

    def end(self) -> None:
        """End the daemon, whatever a test did to it."""
        if pid := self.pid():
            os.kill(pid, signal.SIGKILL)

    def _done(self, command: list[str | bytes], stdin: bytes, environment: Mapping[str, str]) -> Done:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(environment),
            input=stdin,
            capture_output=True,
            timeout=SECONDS,
        )


def children_of(pid: int) -> list[int]:
    """The processes that a process has forked and that have not ended."""
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split())
    return [child for child in children if runs(child)]


def runs(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def until(so: Callable[[], object]) -> None:
    """Wait until it is so, at most as long as a busy machine may take."""
    end = time.monotonic() + SECONDS
    while not so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def without_chance(output: bytes) -> bytes:
    """An output without ids and times, which differ between two writes of the same text."""
    output = re.sub(rb"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{6,16}\b", b"ID", output)
    return re.sub(rb"\d{4}-\d\d-\d\dT[\d:.]+Z?", b"TIME", output)
